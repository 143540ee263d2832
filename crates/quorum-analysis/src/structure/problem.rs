//! The search problem in the form in which it is searched: inform sets as words of bits.

use skeptron_core::topology::Structure;
use skeptron_core::{NodeId, NodeSet};

use super::Demands;

/// Sums of shares that are equal on paper differ by less.
pub(super) const SLACK: f64 = 1e-9;

/// One inform set for each node, which contains that node.
pub(super) type Family = Vec<u64>;

/// What a family of inform sets must achieve, with nodes renumbered: the one that asks most is first.
#[derive(Debug)]
pub(super) struct Problem {
    /// Which share of all requests comes from each node, falling.
    pub(super) shares: Vec<f64>,
    /// The greatest load that a node may have.
    pub(super) busiest: f64,
    /// The greatest mean synchronisation delay.
    pub(super) delay: f64,
    /// The weight of all hand-overs between different nodes.
    pub(super) hand_overs: f64,
    /// The number that each node has outside.
    original: Vec<usize>,
}

/// What a family achieves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// By how much the demands are missed; 0 if they are met.
    pub(super) excess: f64,
    /// Expected messages per entry.
    pub(super) messages: f64,
}

impl Score {
    /// Whether it meets the demands better, or as well with fewer messages.
    pub(super) fn is_better_than(self, other: Score) -> bool {
        self.excess < other.excess - SLACK
            || self.excess <= other.excess + SLACK && self.messages < other.messages - SLACK
    }

    /// Whether the demands are met.
    pub(super) fn is_allowed(self) -> bool {
        self.excess <= SLACK
    }
}

impl Problem {
    pub(super) fn new(shares: &[f64], demands: &Demands) -> Self {
        let mut original: Vec<usize> = (0..shares.len()).collect();
        original.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        let shares: Vec<f64> = original.iter().map(|&node| shares[node]).collect();
        let others = |i: usize| shares[..i].iter().chain(&shares[i + 1..]).sum::<f64>();
        Problem {
            hand_overs: shares.iter().enumerate().map(|(i, share)| share * others(i)).sum(),
            shares,
            busiest: demands.busiest.unwrap_or(f64::INFINITY),
            delay: demands.delay.unwrap_or(f64::INFINITY),
            original,
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.shares.len()
    }

    pub(super) fn score(&self, inform: &[u64]) -> Score {
        let request = least_requests(inform);
        Score {
            excess: self.overload(&self.loads(&request))
                + (self.delay_of(inform, &request) - self.delay).max(0.0),
            messages: self.messages_of(inform, &request),
        }
    }

    /// By how much the busiest node is too busy, and all of them together, so that relieving any of
    /// them is progress.
    pub(super) fn overload(&self, loads: &[f64]) -> f64 {
        let over = |load: &f64| (load - self.busiest).max(0.0);
        let (most, sum) = loads
            .iter()
            .map(over)
            .fold((0.0_f64, 0.0), |(most, sum), over| (most.max(over), sum + over));
        most + sum
    }

    fn messages_of(&self, inform: &[u64], request: &[u64]) -> f64 {
        let low = |(own, asked): (&u64, &u64)| own.count_ones() + 2 * asked.count_ones() - 3;
        let all = inform.iter().zip(request).map(low).zip(&self.shares);
        all.map(|(low, share)| f64::from(low) * share).sum()
    }

    /// For each node the share of entries for which others ask it. Like the delay it only grows with
    /// the request sets, so that of the first few nodes is a bound.
    pub(super) fn loads(&self, request: &[u64]) -> Vec<f64> {
        let mut load = vec![0.0; self.nodes()];
        for (i, (asked, share)) in request.iter().zip(&self.shares).enumerate() {
            for node in members(asked & !(1 << i)) {
                load[node] += share;
            }
        }
        load
    }

    /// The mean exact delay, where whatever is not known yet takes one latency.
    pub(super) fn delay_of(&self, inform: &[u64], request: &[u64]) -> f64 {
        if self.hand_overs == 0.0 {
            return 0.0;
        }
        let mut slow = 0.0;
        for (i, tells) in inform.iter().enumerate() {
            let beyond_i = tells & !(1 << i);
            let to =
                request.iter().enumerate().filter(|&(j, asks)| beyond_i & asks & !(1 << j) != 0);
            let share: f64 = to.filter(|&(j, _)| j != i).map(|(j, _)| self.shares[j]).sum();
            slow += self.shares[i] * share;
        }
        1.0 + slow / self.hand_overs
    }

    /// The structure of a family, with the numbers that nodes have outside.
    pub(super) fn structure(&self, inform: &[u64]) -> Structure {
        let mut sets = vec![NodeSet::new(); self.nodes()];
        for (own, &node) in inform.iter().zip(&self.original) {
            sets[node] = members(*own).map(|member| NodeId::new(self.original[member])).collect();
        }
        Structure::of_inform(sets).expect("every inform set contains its own node")
    }
}

/// `R_i = I_i ∪ { j : I_i ∩ I_j = ∅ }`.
pub(super) fn least_requests(inform: &[u64]) -> Vec<u64> {
    let least = |own: &u64| {
        let apart = inform.iter().enumerate().filter(|(_, other)| *other & own == 0);
        apart.fold(*own, |asked, (j, _)| asked | 1 << j)
    };
    inform.iter().map(least).collect()
}

/// The nodes of a set.
pub(super) fn members(set: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(set), |rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|&rest| rest != 0)
        .map(|rest| rest.trailing_zeros() as usize)
}
