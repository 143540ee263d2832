//! The heuristic: the best starts are annealed, then improved until no single change helps.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Mcg128Xsl64;

use super::problem::{Family, Problem, SLACK, Score, members};
use super::starts;
use super::state::{Penalty, State};

/// How many of the starts are followed for each of two reasons.
const KEPT_STARTS: usize = 4;

/// The best family found with about so many looks at one, and what it achieves. It ends earlier if the
/// lower bound is reached.
pub(super) fn search(problem: &Problem, looks: u64, lower_bound: f64) -> (Family, Score) {
    // Chance without a seed to choose: the same rates always give the same structure.
    let mut climb = Climb {
        problem,
        chance: Mcg128Xsl64::seed_from_u64(1),
        best: Family::new(),
        score: Score::NONE,
    };
    let starts = kept_starts(problem);
    let each = looks / (2 * starts.len() as u64);
    // Perhaps one of them is the best already.
    for start in &starts {
        climb.remember(&State::new(problem, start.clone()));
    }
    let (mut followed, mut round) = (0, 0);
    while followed < looks && !climb.has_reached(lower_bound) {
        // Each start once, then what has become of the best.
        let start = starts.get(round).unwrap_or(&climb.best).clone();
        let mut state = State::new(problem, start);
        if round < starts.len() {
            followed += climb.improve(&mut state, each);
        }
        followed += climb.anneal(&mut state, each) + climb.improve(&mut state, each);
        round += 1;
    }
    (climb.best, climb.score)
}

/// The cheapest starts of those that come nearest to the demands, and the cheapest where a missed
/// demand is worth some messages: annealing makes good what they lack.
fn kept_starts(problem: &Problem) -> Vec<Family> {
    let states: Vec<State<'_>> =
        starts::families(problem).into_iter().map(|family| State::new(problem, family)).collect();
    let mut kept = Vec::new();
    for penalty in [Penalty::STRICT, penalty(problem, 1.0)] {
        let mut order: Vec<(f64, &State<'_>)> =
            states.iter().map(|state| (state.value(penalty), state)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.extend(order.into_iter().take(KEPT_STARTS).map(|(_, state)| state.inform().clone()));
    }
    kept
}

/// One message more or less changes the load by a share where it changes the delay by a share of all
/// pairs; the penalties make both worth several messages.
fn penalty(problem: &Problem, weight: f64) -> Penalty {
    Penalty { load: 10.0 * weight, delay: 3.0 * weight * problem.nodes() as f64 }
}

struct Climb<'a> {
    problem: &'a Problem,
    chance: Mcg128Xsl64,
    best: Family,
    score: Score,
}

impl<'a> Climb<'a> {
    fn has_reached(&self, lower_bound: f64) -> bool {
        self.score.is_allowed() && self.score.messages <= lower_bound + SLACK
    }

    /// Random changes, of which those for the worse are taken ever more rarely.
    fn anneal(&mut self, state: &mut State<'a>, looks: u64) -> u64 {
        let hot = 4.0 / self.problem.nodes() as f64;
        let mut value = f64::INFINITY;
        for look in 0..looks {
            let progress = look as f64 / looks as f64;
            let penalty = penalty(self.problem, 0.5 + 3.5 * progress);
            if look % 64 == 0 {
                // Penalties rise, so what was is valued anew from time to time.
                value = state.value(penalty);
            }
            let (i, set) = self.random_change(state.inform());
            let before = state.inform()[i];
            state.change(i, set);
            let changed = state.value(penalty);
            let worse = (changed - value) / (hot * libm::exp(-4.6 * progress));
            if worse <= 0.0 || self.fraction() < libm::exp(-worse) {
                value = changed;
            } else {
                state.change(i, before);
            }
        }
        looks
    }

    /// Another inform set for somebody: one member more, less or other, or the set of another node.
    fn random_change(&mut self, inform: &Family) -> (usize, u64) {
        let nodes = inform.len();
        let (i, j, k) = (self.below(nodes), self.below(nodes), self.below(nodes));
        let own = inform[i];
        let set = match self.below(4) {
            0 => inform[j] & !(1 << j),
            1 if own >> j & 1 == 1 => own & !(1 << j) | 1 << k,
            _ => own ^ 1 << j,
        };
        (i, set | 1 << i)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.chance.next_u64() % end as u64) as usize
    }

    fn fraction(&mut self) -> f64 {
        (self.chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Takes every change that is for the better until none is; remembers the result if it is the
    /// best. Returns how many it looked at.
    fn improve(&mut self, state: &mut State<'a>, most_looks: u64) -> u64 {
        let (mut looks, mut value) = (0, f64::INFINITY);
        let mut now = state.value(Penalty::STRICT);
        while now < value - SLACK && looks < most_looks {
            value = now;
            for i in 0..self.problem.nodes() {
                looks += improve_set(i, state);
            }
            looks += self.exchange_nodes(state);
            now = state.value(Penalty::STRICT);
        }
        self.remember(state);
        looks
    }

    fn remember(&mut self, state: &State<'_>) {
        let score = self.problem.score(state.inform());
        if score.is_better_than(self.score) {
            (self.best, self.score) = (state.inform().clone(), score);
        }
    }

    /// Two nodes change their places in everything.
    fn exchange_nodes(&self, state: &mut State<'a>) -> u64 {
        let nodes = self.problem.nodes();
        for a in 0..nodes {
            for b in a + 1..nodes {
                let mut family = state.inform().clone();
                exchange(&mut family, a, b);
                let exchanged = State::new(self.problem, family);
                if exchanged.value(Penalty::STRICT) < state.value(Penalty::STRICT) - SLACK {
                    state.clone_from(&exchanged);
                }
            }
        }
        (nodes * nodes * nodes / 2) as u64
    }
}

/// Tries all inform sets for `i` that are near its own, and those of others.
fn improve_set(i: usize, state: &mut State<'_>) -> u64 {
    let (inform, own) = (state.inform().clone(), state.inform()[i]);
    let everyone = u64::MAX >> (64 - inform.len());
    let toggled = (0..inform.len()).map(|k| own ^ 1 << k);
    let swapped = members(own)
        .flat_map(|out| members(everyone & !own).map(move |into| own ^ 1 << out ^ 1 << into));
    let copied = inform.iter().enumerate().map(|(j, set)| set & !(1 << j) | 1 << i);
    let mut looks = 0;
    let (mut best, mut value) = (own, state.value(Penalty::STRICT));
    for set in toggled.chain(swapped).chain(copied).filter(|set| set >> i & 1 == 1) {
        state.change(i, set);
        let changed = state.value(Penalty::STRICT);
        if changed < value - SLACK {
            (best, value) = (set, changed);
        }
        looks += 1;
    }
    state.change(i, best);
    looks
}

fn exchange(family: &mut Family, a: usize, b: usize) {
    family.swap(a, b);
    for set in family {
        // The two bits change places where they differ.
        let differ = (*set >> a ^ *set >> b) & 1;
        *set ^= differ << a | differ << b;
    }
}
