//! What is measured (spec 1, "What is measured"), and the report of a run.

use serde::Serialize;
use skeptron_core::NodeId;

use crate::trace::{TICKS_PER_UNIT, Ticks};

/// The report of one run. All times in units; 1 is the mean latency when that is the constant 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// How many nodes.
    pub nodes: usize,
    /// How many of them asked.
    pub requesters: usize,
    /// The run's seed.
    pub seed: u64,
    /// How many entries were made before measuring began.
    pub warmup: u64,
    /// How many entries were measured.
    pub entries: u64,
    /// How long measuring lasted.
    pub duration: f64,
    /// Messages sent between nodes.
    pub messages: Messages,
    /// Request to entry.
    pub client_delay: Summary,
    /// Request to exit.
    pub response_time: Summary,
    /// Exit to the next entry, where the next one already waited at that exit.
    pub sync_delay: Summary,
    /// Entries per unit of time.
    pub throughput: f64,
    /// How even-handed it was.
    pub fairness: Fairness,
    /// Waits that had not ended when measuring did, and by then were longer, or were passed by more
    /// entries of others, than any that had: they count in the figures above.
    pub unended: Vec<Unended>,
    /// How evenly the work was spread.
    pub load: Load,
    /// How it recovered, where a self-stabilising algorithm began in a state that is not legitimate, or a node
    /// came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What was violated, the first hundred.
    pub violations: Vec<Violation>,
    /// Whether somebody waited for ever.
    pub stalled: bool,
    /// Inputs that a node refused, in the whole run.
    pub refused: u64,
    /// Messages that the network lost, in the whole run.
    pub lost: u64,
    /// Messages that the network delivered twice, in the whole run.
    pub duplicated: u64,
    /// Events of the whole run.
    pub events: u64,
    /// Mixes every event of the whole run: equal for equal runs.
    pub trace_hash: String,
}

impl Report {
    /// Whether every property held.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.violations.is_empty() && !self.stalled
    }
}

/// Messages sent between nodes while measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Messages {
    /// All of them.
    pub total: u64,
    /// Divided by entries.
    pub per_entry: f64,
    /// By kind, in the order of the algorithm.
    #[serde(serialize_with = "as_map")]
    pub by_type: Vec<(&'static str, u64)>,
    /// Their contents in the wire encoding, without the envelope.
    pub bytes: u64,
    /// If a message to everybody is counted as one.
    pub multicast: Multicast,
}

/// Counts for a network with multicast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Multicast {
    /// All messages.
    pub total: u64,
    /// Divided by entries.
    pub per_entry: f64,
}

/// How even-handed a run was while measuring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Entries that overtook a request that happened before; `None` beyond 1024 nodes, where that is
    /// not watched.
    pub inversions: Option<u64>,
    /// Whether the algorithm claims that there are none.
    pub order_claimed: bool,
    /// Jain's index over the entries of each requester: 1 is even.
    pub jain: f64,
    /// Entries that overtook a request that was made before.
    pub overtakings: u64,
    /// The most entries of others during one wait.
    pub longest_bypass: u64,
    /// Whose wait that was.
    pub longest_bypass_of: Option<NodeId>,
    /// How many the algorithm claims at most, if it claims a bound.
    pub bypass_claimed: Option<f64>,
}

/// A wait that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unended {
    /// Whose.
    pub node: NodeId,
    /// How long it has lasted.
    pub delay: f64,
    /// How many others have entered meanwhile.
    pub bypass: u64,
}

/// How a self-stabilising algorithm recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Recovery {
    /// Since when its state was legitimate, in units; `None` if it never was.
    pub legitimate_since: Option<f64>,
    /// How many entries there were before.
    pub entries: u64,
    /// How many of them were made while somebody was inside, as is not forbidden yet.
    pub crowded: u64,
}

/// How evenly messages were spread over the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Messages sent and received by the busiest node over the mean of all nodes.
    pub max_over_mean: f64,
}

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// Which one: `exclusion`, `progress`, `starvation`, `order`, `fence`, `refused`, `convergence`; of an election `agreement`,
    /// `validity`, `termination`, `refused`.
    pub property: &'static str,
    /// When, in units.
    pub at: f64,
    /// What happened.
    pub detail: String,
}

/// Mean and quantiles of a set of times, in units; zero if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// How many values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Half of them are at most this.
    pub p50: f64,
    /// 99 % of them are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Times in ticks, all of them, so that quantiles are exact. Kept as counts of equal values once
/// they are many: with constant latencies a long run has few different ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// As they came, each with how often in a row.
    fresh: Vec<(Ticks, u64)>,
    sorted: Vec<(Ticks, u64)>,
}

const FRESH_LIMIT: usize = 1 << 16;

impl Samples {
    pub(crate) fn add(&mut self, value: Ticks) {
        match self.fresh.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => self.fresh.push((value, 1)),
        }
        if self.fresh.len() == FRESH_LIMIT {
            self.settle();
        }
    }

    /// The largest; 0 if there is none.
    pub(crate) fn max(&self) -> Ticks {
        let settled = self.sorted.last().map_or(0, |&(value, _)| value);
        self.fresh.iter().map(|&(value, _)| value).max().unwrap_or(0).max(settled)
    }

    fn settle(&mut self) {
        self.fresh.sort_unstable();
        let mut merged: Vec<(Ticks, u64)> = Vec::with_capacity(self.sorted.len());
        let mut old = self.sorted.drain(..).peekable();
        let mut new = self.fresh.drain(..).peekable();
        loop {
            let next = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) if a.0 <= b.0 => old.next(),
                (Some(_), None) => old.next(),
                _ => new.next(),
            };
            let Some((value, count)) = next else { break };
            match merged.last_mut() {
                Some(last) if last.0 == value => last.1 += count,
                _ => merged.push((value, count)),
            }
        }
        drop((old, new));
        self.sorted = merged;
    }

    pub(crate) fn summary(mut self) -> Summary {
        self.settle();
        let Some(&(max, _)) = self.sorted.last() else { return Summary::default() };
        let count: u64 = self.sorted.iter().map(|&(_, count)| count).sum();
        let sum: u128 = self.sorted.iter().map(|&(v, c)| u128::from(v) * u128::from(c)).sum();
        let quantile = |share: f64| {
            let rank = ((share * count as f64).ceil() as u64).max(1);
            let mut seen = 0;
            let found = self.sorted.iter().find(|&&(_, count)| {
                seen += count;
                seen >= rank
            });
            units(found.map_or(max, |&(value, _)| value))
        };
        Summary {
            count,
            mean: sum as f64 / count as f64 / TICKS_PER_UNIT as f64,
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: units(max),
        }
    }
}

/// Counts kept while measuring.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) messages: u64,
    pub(crate) multicast: u64,
    pub(crate) bytes: u64,
    pub(crate) by_kind: Vec<u64>,
    /// Messages sent and received by each node.
    handled: Vec<u64>,
    entries_of: Vec<u64>,
    pub(crate) inversions: u64,
    pub(crate) overtakings: u64,
    pub(crate) longest_bypass: u64,
    pub(crate) longest_bypass_of: Option<NodeId>,
    pub(crate) unended: Vec<Unended>,
    pub(crate) client: Samples,
    pub(crate) response: Samples,
    pub(crate) sync: Samples,
}

impl Tally {
    pub(crate) fn new(nodes: usize, kinds: usize) -> Self {
        Tally {
            messages: 0,
            multicast: 0,
            bytes: 0,
            by_kind: vec![0; kinds],
            handled: vec![0; nodes],
            entries_of: vec![0; nodes],
            inversions: 0,
            overtakings: 0,
            longest_bypass: 0,
            longest_bypass_of: None,
            unended: Vec::new(),
            client: Samples::default(),
            response: Samples::default(),
            sync: Samples::default(),
        }
    }

    pub(crate) fn handled(&mut self, node: NodeId) {
        self.handled[node.index()] += 1;
    }

    pub(crate) fn entered(&mut self, node: NodeId) {
        self.entries_of[node.index()] += 1;
    }

    /// A wait was passed by so many entries of others.
    pub(crate) fn bypassed(&mut self, node: NodeId, bypass: u64) {
        if bypass > self.longest_bypass || self.longest_bypass_of.is_none() {
            (self.longest_bypass, self.longest_bypass_of) = (bypass, Some(node));
        }
    }

    /// Waits that have not ended count if they are longer already than any that has: others would only
    /// make the mean look better than it is.
    pub(crate) fn count_unended(&mut self, waits: impl Iterator<Item = (NodeId, Ticks, u64)>) {
        let (longest, bypass) = (self.client.max(), self.longest_bypass);
        for (node, delay, passed) in waits {
            if delay <= longest && passed <= bypass {
                continue;
            }
            if delay > longest {
                self.client.add(delay);
                self.response.add(delay);
            }
            self.bypassed(node, passed);
            self.unended.push(Unended { node, delay: units(delay), bypass: passed });
        }
    }

    pub(crate) fn max_over_mean(&self) -> f64 {
        let (max, sum) = self.handled.iter().fold((0, 0), |(max, sum), &x| (x.max(max), sum + x));
        if sum == 0 { 1.0 } else { max as f64 * self.handled.len() as f64 / sum as f64 }
    }

    /// Jain's index over `requesters`: `(Σx)² / (k·Σx²)`.
    pub(crate) fn jain(&self, requesters: &[NodeId]) -> f64 {
        let counts = requesters.iter().map(|node| self.entries_of[node.index()] as f64);
        let (sum, squares) =
            counts.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        if squares == 0.0 { 1.0 } else { sum * sum / (requesters.len() as f64 * squares) }
    }
}

/// Ticks as units.
pub(crate) fn units(ticks: Ticks) -> f64 {
    ticks as f64 / TICKS_PER_UNIT as f64
}

pub(crate) fn as_map<S: serde::Serializer>(
    pairs: &[(&'static str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact() {
        let mut samples = Samples::default();
        for value in (1..=200_000u64).rev() {
            samples.add(value % 1000 * 1000);
        }
        let summary = samples.summary();
        assert_eq!(summary.count, 200_000);
        assert_eq!((summary.p50, summary.p99, summary.max), (499.0, 989.0, 999.0));
        assert_eq!(summary.mean, 499.5);
        assert_eq!(Samples::default().summary(), Summary::default());
    }

    #[test]
    fn jain_tells_even_from_uneven() {
        let nodes = [NodeId::new(0), NodeId::new(1)];
        let mut tally = Tally::new(2, 1);
        tally.entered(nodes[0]);
        assert_eq!(tally.jain(&nodes), 0.5);
        tally.entered(nodes[1]);
        assert_eq!(tally.jain(&nodes), 1.0);
        tally.handled(nodes[0]);
        assert_eq!(tally.max_over_mean(), 2.0);
    }
}
