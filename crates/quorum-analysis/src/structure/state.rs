//! A family under change: what it costs is kept up to date set by set, in time linear in the nodes.

use super::problem::{Family, Problem, least_requests, members};

/// What a message is worth against missing a demand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Penalty {
    /// For nodes that are too busy.
    pub(super) load: f64,
    /// For the delay above the demand.
    pub(super) delay: f64,
}

impl Penalty {
    /// No number of messages is worth a missed demand.
    pub(super) const STRICT: Penalty = Penalty { load: 1e6, delay: 1e6 };

    /// A missed demand is worth so many times some messages. One message more or less changes the load by a share
    /// where it changes the delay by a share of all pairs.
    pub(super) fn soft(nodes: usize, times: f64) -> Penalty {
        Penalty { load: 40.0 * times, delay: 12.0 * times * nodes as f64 }
    }
}

#[derive(Clone)]
pub(super) struct State<'a> {
    problem: &'a Problem,
    inform: Family,
    request: Vec<u64>,
    load: Vec<f64>,
    /// From whom a hand-over to each node takes two latencies.
    slow_to: Vec<u64>,
    /// The weight of those hand-overs.
    slow: f64,
    messages: f64,
}

impl<'a> State<'a> {
    pub(super) fn new(problem: &'a Problem, inform: Family) -> Self {
        let nodes = inform.len();
        let mut state = State {
            problem,
            request: least_requests(&inform),
            inform,
            load: vec![0.0; nodes],
            slow_to: vec![0; nodes],
            slow: 0.0,
            messages: 0.0,
        };
        for i in 0..nodes {
            state.count_requests(i, 0, state.request[i]);
            state.messages += f64::from(state.inform[i].count_ones() - 1) * problem.shares[i];
            state.judge_hand_overs_to(i);
        }
        state
    }

    pub(super) fn inform(&self) -> &Family {
        &self.inform
    }

    /// Whether it makes no difference that two nodes change their places.
    pub(super) fn are_alike(&self, a: usize, b: usize) -> bool {
        self.problem.shares[a] == self.problem.shares[b]
    }

    /// Messages, and what the missed demands cost.
    pub(super) fn value(&self, penalty: Penalty) -> f64 {
        let busy = self.problem.overload(&self.load);
        let late = match self.problem.hand_overs {
            all if all > 0.0 => (1.0 + self.slow / all - self.problem.delay).max(0.0),
            _ => 0.0,
        };
        self.messages + penalty.load * busy + penalty.delay * late
    }

    /// Gives `i` another inform set; with the set of before everything is as before.
    pub(super) fn change(&mut self, i: usize, set: u64) {
        let before = std::mem::replace(&mut self.inform[i], set);
        let told = f64::from(set.count_ones()) - f64::from(before.count_ones());
        self.messages += told * self.problem.shares[i];
        let (mut asked, mut turned) = (set, 0);
        for (j, other) in self.inform.iter().enumerate().filter(|&(j, _)| j != i) {
            let (was_apart, is_apart) = (other & before == 0, other & set == 0);
            asked |= u64::from(is_apart) << j;
            turned |= u64::from(was_apart != is_apart) << j;
        }
        for j in members(turned) {
            let request = self.request[j] ^ 1 << i;
            // Whoever tells i asks it anyway.
            let request = request | self.inform[j];
            let before = std::mem::replace(&mut self.request[j], request);
            self.count_requests(j, before, request);
        }
        let before = std::mem::replace(&mut self.request[i], asked);
        self.count_requests(i, before, asked);
        if self.problem.delay.is_finite() {
            for j in 0..self.inform.len() {
                if turned >> j & 1 == 1 || j == i {
                    self.judge_hand_overs_to(j);
                } else {
                    self.judge_hand_over(i, j);
                }
            }
        }
    }

    /// Who is asked by `i` has changed.
    fn count_requests(&mut self, i: usize, before: u64, after: u64) {
        let share = self.problem.shares[i];
        for (gone, sign) in [(before & !after, -1.0), (after & !before, 1.0)] {
            for asked in members(gone & !(1 << i)) {
                self.load[asked] += sign * share;
                self.messages += sign * 2.0 * share;
            }
        }
    }

    fn judge_hand_overs_to(&mut self, j: usize) {
        for i in 0..self.inform.len() {
            self.judge_hand_over(i, j);
        }
    }

    fn judge_hand_over(&mut self, i: usize, j: usize) {
        let both = 1 << i | 1 << j;
        let is_slow = i != j && self.inform[i] & self.request[j] & !both != 0;
        if is_slow != (self.slow_to[j] >> i & 1 == 1) {
            self.slow_to[j] ^= 1 << i;
            let weight = self.problem.shares[i] * self.problem.shares[j];
            self.slow += if is_slow { weight } else { -weight };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::structure::Demands;

    proptest! {
        /// Whatever was changed, the state is that of its family.
        #[test]
        fn changes_keep_count(
            shares in prop::collection::vec(0.0..1.0, 2..9),
            changes in prop::collection::vec((any::<usize>(), any::<u64>()), 1..40),
        ) {
            let demands = Demands { busiest: Some(0.3), delay: Some(1.2) };
            let problem = Problem::new(&shares, &demands);
            let nodes = shares.len();
            let mut state = State::new(&problem, (0..nodes).map(|i| 1 << i).collect());
            for (node, set) in changes {
                let i = node % nodes;
                state.change(i, set & ((1 << nodes) - 1) | 1 << i);
                let fresh = State::new(&problem, state.inform().clone());
                prop_assert_eq!(&state.request, &fresh.request);
                for penalty in [Penalty { load: 0.0, delay: 0.0 }, Penalty { load: 1.0, delay: 2.0 }] {
                    prop_assert!((state.value(penalty) - fresh.value(penalty)).abs() < 1e-9);
                }
                let score = problem.score(state.inform());
                let unpunished = state.value(Penalty { load: 0.0, delay: 0.0 });
                prop_assert!((unpunished - score.messages).abs() < 1e-9);
                let excess = state.value(Penalty { load: 1.0, delay: 1.0 }) - unpunished;
                prop_assert!((excess - score.excess).abs() < 1e-9);
            }
        }
    }
}
