//! The local search: starts that are good at something are annealed and then changed for the better until
//! no change helps; the best of that is led away and back again and again.

use super::Demands;
use super::moves::{Chance, Move, near};
use super::problem::{Family, Problem, SLACK, Score};
use super::starts;
use super::state::{Penalty, State};

/// How many of the starts are followed for each of two reasons.
const KEPT_STARTS: usize = 4;

/// How many results are led on.
const LED_ON: usize = 2;

/// At most so many random moves lead away from where no change helps.
const KICKS: usize = 4;

/// By which factor a run cools down, as the exponent of e.
const COOLING: f64 = 4.6;

/// After so many looks what was is valued anew, because penalties rise.
const VALUED_ANEW: u64 = 64;

/// A change for the better by less is none: a missed demand weighs so much that its last digits, which
/// depend on the order of changes, would make it go on for ever.
const PROGRESS: f64 = 1e-6;

/// How annealing begins and ends.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    /// How much worse a move may be at first: so many messages of one node of average rate.
    heat: f64,
    /// How many times the soft penalty is due at first, and in the end.
    penalty: [f64; 2],
}

/// So gently that a plane, of which little is to be changed, does not melt, and so that demands that are
/// nearly met are met in the end.
const GENTLE: Schedule = Schedule { heat: 1.0, penalty: [1.0, 8.0] };

/// Where rates differ a lot it must be hot to find another shape, and some shapes are only found by way
/// of missed demands.
const HOT: [Schedule; KEPT_STARTS] = [
    Schedule { heat: 8.0, penalty: [1.0, 1.0] },
    Schedule { heat: 4.0, penalty: [0.125, 1.0] },
    Schedule { heat: 3.0, penalty: [1.0, 1.0] },
    Schedule { heat: 4.0, penalty: [0.125, 1.0] },
];

/// What is done before the last changes for the better.
enum Way {
    Straight,
    Annealed(Schedule),
    LedOn,
}

/// The best family found with about so many looks at one, and what it achieves. It ends earlier if the
/// lower bound is reached.
pub(super) fn search(problem: &Problem, looks: u64, lower_bound: f64) -> (Family, Score) {
    let starts = kept_starts(problem);
    let each = looks / starts.len() as u64;
    let mut chance = Chance::new();
    // The best first. Perhaps one of the starts is.
    let mut found: Vec<(Family, Score)> = Vec::new();
    starts.iter().for_each(|start| remember(problem, start.clone(), &mut found));
    let mut follow = |start: &Family, way: Way, looks: u64, found: &mut Vec<(Family, Score)>| {
        let best = found[0].1;
        if best.is_allowed() && best.messages <= lower_bound + SLACK {
            return;
        }
        let mut state = State::new(problem, start.clone());
        match way {
            Way::Straight => {}
            Way::Annealed(schedule) => anneal(&mut state, &mut chance, schedule, looks),
            Way::LedOn => wander(&mut state, &mut chance, looks),
        }
        improve(&mut state, looks / 2);
        remember(problem, state.inform().clone(), found);
    };
    for start in &starts {
        follow(start, Way::Straight, each / 4 * 2, &mut found);
    }
    for (start, hot) in starts.iter().zip(HOT.into_iter().cycle()) {
        follow(start, Way::Annealed(GENTLE), each / 4, &mut found);
        follow(start, Way::Annealed(hot), each / 3, &mut found);
    }
    let best: Vec<Family> = found.iter().take(LED_ON).map(|(family, _)| family.clone()).collect();
    for family in best {
        follow(&family, Way::LedOn, looks / 4 / LED_ON as u64, &mut found);
    }
    found.swap_remove(0)
}

fn remember(problem: &Problem, family: Family, found: &mut Vec<(Family, Score)>) {
    let score = problem.score(&family);
    let place = found.partition_point(|(_, other)| !score.is_better_than(*other));
    found.insert(place, (family, score));
}

/// The cheapest starts of those that come nearest to the demands, and the cheapest where a missed
/// demand is worth some messages: annealing makes good what they lack.
fn kept_starts(problem: &Problem) -> Vec<Family> {
    let states: Vec<State<'_>> =
        starts::families(problem).into_iter().map(|family| State::new(problem, family)).collect();
    let mut kept: Vec<Family> = Vec::new();
    for penalty in [Penalty::STRICT, Penalty::soft(problem.nodes(), 1.0)] {
        let mut order: Vec<(f64, &Family)> =
            states.iter().map(|state| (state.value(penalty), state.inform())).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        // What costs the same is most often the same under other names.
        order.dedup_by(|a, b| a.0 - b.0 < SLACK);
        order.retain(|(_, family)| !kept.contains(family));
        kept.extend(order.into_iter().take(KEPT_STARTS).map(|(_, family)| family.clone()));
    }
    kept
}

/// Makes random moves, of which those for the worse are made ever more rarely.
fn anneal(state: &mut State<'_>, chance: &mut Chance, schedule: Schedule, looks: u64) {
    let nodes = state.inform().len();
    let hot = schedule.heat / nodes as f64;
    let [first, last] = schedule.penalty;
    let (mut value, mut chosen) = (f64::INFINITY, Move::default());
    for look in 0..looks {
        let progress = look as f64 / looks as f64;
        let penalty = Penalty::soft(nodes, first + (last - first) * progress);
        if look % VALUED_ANEW == 0 {
            value = state.value(penalty);
        }
        chance.choose(state.inform(), &mut chosen);
        chosen.make(state);
        let changed = state.value(penalty);
        let worse = (changed - value) / (hot * libm::exp(-COOLING * progress));
        if worse <= 0.0 || chance.fraction() < libm::exp(-worse) {
            value = changed;
        } else {
            chosen.make(state);
        }
    }
}

/// Leaves the place where no change helps by a few random moves, descends again, and stays if that is no
/// worse, with about so many looks.
fn wander(state: &mut State<'_>, chance: &mut Chance, most_looks: u64) {
    let (mut looks, mut kick) = (0, Move::default());
    while looks < most_looks {
        let mut next = state.clone();
        for _ in 0..=chance.below(KICKS) {
            chance.choose(next.inform(), &mut kick);
            kick.make(&mut next);
        }
        let first = chance.below(state.inform().len());
        looks += improve_sets(&mut next, first, most_looks - looks, PROGRESS, |_| true);
        if next.value(Penalty::STRICT) <= state.value(Penalty::STRICT) + PROGRESS {
            state.clone_from(&next);
        }
    }
}

/// Takes every change that is for the better until none is, or until it took about so many looks.
fn improve(state: &mut State<'_>, most_looks: u64) {
    let (mut looks, mut before) = (0, f64::INFINITY);
    while looks < most_looks && state.value(Penalty::STRICT) < before - PROGRESS {
        before = state.value(Penalty::STRICT);
        looks += improve_sets(state, 0, most_looks - looks, PROGRESS, |_| true);
        looks += improve_places(state, most_looks.saturating_sub(looks));
    }
}

/// Improves the inform sets of one node after the other, from `first` on, by what `is_possible`, until none
/// can be, or until it took about so many looks. Returns how many it took.
fn improve_sets(
    state: &mut State<'_>,
    first: usize,
    most_looks: u64,
    progress: f64,
    is_possible: impl Fn(&State<'_>) -> bool,
) -> u64 {
    let nodes = state.inform().len();
    let (mut looks, mut quiet) = (0, 0);
    for i in (0..nodes).cycle().skip(first) {
        if quiet == nodes || looks >= most_looks {
            break;
        }
        let inform = state.inform().clone();
        let (mut best, mut value) = (inform[i], state.value(Penalty::STRICT));
        for set in near(i, &inform) {
            state.change(i, set);
            let changed = state.value(Penalty::STRICT);
            if changed < value - progress && is_possible(state) {
                (best, value) = (set, changed);
            }
            looks += 1;
        }
        state.change(i, best);
        quiet = if best == inform[i] { quiet + 1 } else { 0 };
    }
    looks
}

/// Any two nodes change their places if that helps, with about so many looks at most. Returns how many
/// it took.
fn improve_places(state: &mut State<'_>, most_looks: u64) -> u64 {
    let nodes = state.inform().len();
    let (mut looks, mut exchange) = (0, Move::default());
    let mut value = state.value(Penalty::STRICT);
    for (a, b) in (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))) {
        if looks >= most_looks || state.are_alike(a, b) {
            continue;
        }
        exchange.exchange(state.inform(), a, b);
        exchange.make(state);
        looks += 2 * exchange.len() as u64;
        let exchanged = state.value(Penalty::STRICT);
        if exchanged < value - PROGRESS {
            value = exchanged;
        } else {
            exchange.make(state);
        }
    }
    looks
}

/// A family that costs no more and that would cost less, if possible, were everybody to ask equally
/// often. So a node that never asks, whose inform set costs nothing, still gets one that makes sense.
pub(super) fn settle(problem: &Problem, family: Family) -> Family {
    let nodes = problem.nodes();
    let cost = |family: &Family| State::new(problem, family.clone()).value(Penalty::STRICT);
    let most = cost(&family) + SLACK;
    let even = Problem::new(&vec![1.0 / nodes as f64; nodes], &Demands::default());
    let mut even = State::new(&even, family);
    improve_sets(&mut even, 0, u64::MAX, SLACK, |even| cost(even.inform()) <= most);
    even.inform().clone()
}
