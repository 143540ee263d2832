//! What is measured of a lock with kinds.

use serde::Serialize;

use crate::metrics::{Summary, Violation, as_map};

/// The report of one run. All times in units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindsReport {
    /// The algorithm that is the inner lock.
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
    /// Messages sent between nodes while measuring.
    pub messages: u64,
    /// Divided by entries.
    pub messages_per_entry: f64,
    /// By kind: those of the inner lock, then those about who is inside.
    #[serde(serialize_with = "as_map")]
    pub by_type: Vec<(&'static str, u64)>,
    /// Their contents in the wire encoding, the register included.
    pub bytes: u64,
    /// What came of requests for each purpose.
    pub usages: Vec<UsageReport>,
    /// What came of wishes to be exclusive.
    pub upgrades: Upgrades,
    /// How many were inside together.
    pub concurrency: Concurrency,
    /// Entries per unit of time.
    pub throughput: f64,
    /// The most entries of others during one wait.
    pub longest_bypass: u64,
    /// Requests and wishes to upgrade that stopped waiting.
    pub given_up: u64,
    /// What was violated, the first hundred.
    pub violations: Vec<Violation>,
    /// Whether somebody waited for ever.
    pub stalled: bool,
    /// Inputs that a node refused, in the whole run.
    pub refused: u64,
    /// Events of the whole run.
    pub events: u64,
    /// Mixes every event of the whole run: equal for equal runs.
    pub trace_hash: String,
}

impl KindsReport {
    /// Whether every property held.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.violations.is_empty() && !self.stalled
    }
}

/// Requests for one purpose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsageReport {
    /// Which one, as it is written in `--modes`.
    pub usage: String,
    /// How many entered while measuring.
    pub entries: u64,
    /// Messages on account of these requests: sent when one was made, changed or ended, or in answer to
    /// such a message. Whose account a message is on says nothing about who waits for it.
    pub messages_per_entry: f64,
    /// Request to entry.
    pub client_delay: Summary,
    /// The most entries of others during one wait.
    pub longest_bypass: u64,
}

/// Wishes to be exclusive, while measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Upgrades {
    /// How many were granted.
    pub upgraded: u64,
    /// How many were denied because somebody else upgraded first.
    pub denied: u64,
    /// How many exclusive entries became shared again.
    pub downgraded: u64,
    /// Wish to exclusive.
    pub delay: Summary,
}

/// How many were inside together, while measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Concurrency {
    /// On average over time.
    pub mean: f64,
    /// The most.
    pub most: usize,
}
