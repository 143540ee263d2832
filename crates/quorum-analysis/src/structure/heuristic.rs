//! The heuristic: the best starts are annealed and improved until no single change helps, then the best
//! of all that is led away and back again and again.

use super::anneal::{Schedule, anneal};
use super::climb::{improve, wander};
use super::moves::Chance;
use super::problem::{Family, Problem, SLACK, Score};
use super::starts;
use super::state::{Penalty, State};

/// How many of the starts are followed for each of two reasons.
const KEPT_STARTS: usize = 4;

/// Every start is annealed so gently that a plane, of which little is to be changed, does not melt, and
/// so that demands that are nearly met are met in the end.
const GENTLE: Schedule = Schedule { heat: 1.0, penalty: [1.0, 8.0] };

/// And with these in turn: where rates differ a lot it must be hot to find another shape, and some
/// shapes are only found by way of missed demands.
const HOT: [Schedule; KEPT_STARTS] = [
    Schedule { heat: 8.0, penalty: [1.0, 1.0] },
    Schedule { heat: 4.0, penalty: [0.125, 1.0] },
    Schedule { heat: 3.0, penalty: [1.0, 1.0] },
    Schedule { heat: 4.0, penalty: [0.125, 1.0] },
];

/// How many results of annealing are led on.
const LED_ON: u64 = 2;

/// The best family found with about so many looks at one, and what it achieves. It ends earlier if the
/// lower bound is reached.
pub(super) fn search(problem: &Problem, looks: u64, lower_bound: f64) -> (Family, Score) {
    let mut search = Search { problem, lower_bound, chance: Chance::new(), found: Vec::new() };
    let starts = kept_starts(problem);
    let each = looks / starts.len() as u64;
    // Perhaps one of them is the best already.
    for start in &starts {
        search.remember(start.clone());
    }
    for start in &starts {
        search.improve(start.clone(), each / 4);
    }
    for (start, hot) in starts.into_iter().zip(HOT.into_iter().cycle()) {
        search.anneal(start.clone(), GENTLE, each / 4);
        search.anneal(start, hot, each / 3);
    }
    let best: Vec<Family> = search.best().take(LED_ON as usize).cloned().collect();
    for family in best {
        search.wander(family, looks / 4 / LED_ON);
    }
    search.found.swap_remove(0)
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

struct Search<'a> {
    problem: &'a Problem,
    lower_bound: f64,
    chance: Chance,
    /// What was found, the best first.
    found: Vec<(Family, Score)>,
}

impl<'a> Search<'a> {
    fn best(&self) -> impl Iterator<Item = &Family> {
        self.found.iter().map(|(family, _)| family)
    }

    fn improve(&mut self, family: Family, looks: u64) {
        self.follow(family, |state, _| improve(state, looks));
    }

    fn anneal(&mut self, start: Family, schedule: Schedule, looks: u64) {
        self.follow(start, |state, chance| {
            anneal(state, chance, schedule, looks);
            improve(state, looks / 2);
        });
    }

    fn wander(&mut self, family: Family, looks: u64) {
        self.follow(family, |state, chance| {
            wander(state, chance, looks);
            improve(state, looks / 2);
        });
    }

    fn follow(&mut self, family: Family, method: impl Fn(&mut State<'a>, &mut Chance)) {
        if !self.is_done() {
            let mut state = State::new(self.problem, family);
            method(&mut state, &mut self.chance);
            self.remember(state.inform().clone());
        }
    }

    fn is_done(&self) -> bool {
        self.found.first().is_some_and(|(_, score)| {
            score.is_allowed() && score.messages <= self.lower_bound + SLACK
        })
    }

    fn remember(&mut self, family: Family) {
        let score = self.problem.score(&family);
        let place = self.found.partition_point(|(_, other)| !score.is_better_than(*other));
        self.found.insert(place, (family, score));
    }
}
