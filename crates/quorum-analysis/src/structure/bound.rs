//! What no structure can undercut.

use super::problem::{Problem, SLACK};

impl Problem {
    /// Whether `i` can have this inform set without making somebody too busy.
    ///
    /// `R_j` meets `I_i` for every `j`: their inform sets meet, or `j` asks `i`. So the members of `I_i`
    /// together are asked for every entry of the nodes outside it, and all but `i` for those of `i`.
    pub(super) fn admits(&self, i: usize, size: usize, share: f64) -> bool {
        let others = size as f64 - 1.0;
        1.0 - share + others * self.shares[i] <= size as f64 * self.busiest + SLACK
    }

    /// Fewer messages per entry are impossible; none if the demand on the busiest node is impossible.
    pub(super) fn lower_bound(&self) -> Option<f64> {
        let sizes: Option<Vec<usize>> = (0..self.nodes()).map(|i| self.least_size(i)).collect();
        Some(self.bound_by_sizes(&sizes?).max(self.bound_by_delay()))
    }

    /// The size of the smallest inform set that `i` can have. For a size nothing is easier than the
    /// members that ask most.
    fn least_size(&self, i: usize) -> Option<usize> {
        let mut share = self.shares[i];
        let mut others = (0..self.nodes()).filter(|&j| j != i);
        (1..=self.nodes()).find(|&size| {
            let admits = self.admits(i, size, share);
            share += others.next().map_or(0.0, |j| self.shares[j]);
            admits
        })
    }

    /// Telling `a` others costs `3a`. Of the `k` nodes that tell nobody else each pays `2(k − 1)`, for
    /// asking the others among them.
    fn bound_by_sizes(&self, sizes: &[usize]) -> f64 {
        let told = |size: usize| 3.0 * (size.max(2) - 1) as f64;
        let all: f64 = self.shares.iter().zip(sizes).map(|(share, &size)| share * told(size)).sum();
        let alone: Vec<f64> = self
            .shares
            .iter()
            .zip(sizes)
            .filter(|(_, size)| **size == 1)
            .map(|(share, _)| *share)
            .collect();
        // Those that may tell nobody else would pay 3; the ones that ask most gain most.
        let with_alone = |k: usize| {
            let each = 3.0 - 2.0 * (k as f64 - 1.0);
            all - each * alone[..k].iter().sum::<f64>()
        };
        (1..=alone.len()).map(with_alone).fold(all, f64::min).max(0.0)
    }

    /// A hand-over within one latency is between two of whom one tells the other, for 3 messages, or
    /// who ask each other, for 2 each. The cheapest pairs, up to a fraction of the last, bound what it
    /// takes to have enough of them.
    fn bound_by_delay(&self) -> f64 {
        let mut wanted = ((2.0 - self.delay) * self.hand_overs - SLACK).max(0.0);
        let mut messages = 0.0;
        // A pair gains twice the product of its shares for 3 times the smaller one: in order of the
        // greater share, which is the order of the nodes.
        for (i, greater) in self.shares.iter().enumerate() {
            for smaller in &self.shares[i + 1..] {
                let gain = 2.0 * greater * smaller;
                if gain >= wanted {
                    let fraction = if gain > 0.0 { wanted / gain } else { 0.0 };
                    return messages + fraction * 3.0 * smaller;
                }
                wanted -= gain;
                messages += 3.0 * smaller;
            }
        }
        messages
    }
}
