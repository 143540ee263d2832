//! What came of an election.

use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_core::election::Epoch;

use crate::metrics::{Violation, as_map};

/// The report of one run. All times in units; 1 is the mean latency when that is the constant 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// How many nodes.
    pub nodes: usize,
    /// The run's seed.
    pub seed: u64,
    /// Whom all live nodes name at the end; `None` if they do not agree. A node that has named nobody
    /// takes the highest for the leader, unless it has come back after a crash.
    pub leader: Option<NodeId>,
    /// Who was named in which epoch, by epoch; two of one epoch are a disagreement.
    pub leaders: Vec<Reign>,
    /// Whether nobody was named in an epoch in which another was.
    pub agreement: bool,
    /// How many nodes are alive at the end.
    pub live: usize,
    /// How often somebody called an election.
    pub calls: u64,
    /// When the first one called.
    pub first_call: Option<f64>,
    /// From the first call until the last live node named the leader of the end; `None` if they do
    /// not agree or somebody never named it.
    pub time: Option<f64>,
    /// Messages sent between nodes.
    pub messages: Messages,
    /// Each node's neighbour towards the leader, where the election built a tree.
    pub tree: Option<Vec<Option<NodeId>>>,
    /// How many alarms rang.
    pub alarms: u64,
    /// How often a node was told that another has crashed.
    pub suspicions: u64,
    /// How often that was wrong.
    pub false_suspicions: u64,
    /// What was violated, the first hundred.
    pub violations: Vec<Violation>,
    /// Inputs that a node refused.
    pub refused: u64,
    /// Messages that the network lost.
    pub lost: u64,
    /// Messages that the network delivered twice.
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
        self.violations.is_empty()
    }
}

/// A leader that was named in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reign {
    /// Since which election.
    pub epoch: Epoch,
    /// Who.
    pub leader: NodeId,
    /// When it was first named.
    pub at: f64,
    /// By how many nodes.
    pub named_by: usize,
}

/// Messages sent between nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Messages {
    /// All of them.
    pub total: u64,
    /// By kind, in the order of the algorithm.
    #[serde(serialize_with = "as_map")]
    pub by_type: Vec<(&'static str, u64)>,
    /// Their contents in the wire encoding, without the envelope.
    pub bytes: u64,
    /// If a message to everybody is counted as one.
    pub multicast: u64,
}

impl Messages {
    /// How many there are of these kinds; all if none is named.
    #[must_use]
    pub fn counted(&self, kinds: &[&str]) -> u64 {
        let of_kind = |(kind, count): &(&str, u64)| {
            if kinds.is_empty() || kinds.contains(kind) { *count } else { 0 }
        };
        self.by_type.iter().map(of_kind).sum()
    }
}
