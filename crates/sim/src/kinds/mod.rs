//! Runs of locks with kinds: entries in modes, upgrades and downgrades, over an algorithm as the inner lock.

mod report;
mod run;

use skeptron_core::mutex::Usage;
use skeptron_core::mutex::sharing::SharingFlaw;

pub use report::{Concurrency, KindsReport, Upgrades, UsageReport};
pub use run::{KindsOutcome, run_kinds};

/// What the users of a lock with kinds do, besides a [`crate::Scenario`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// What the requests of each node are for; each is drawn from its node's list.
    pub usages: Vec<Vec<Usage>>,
    /// How many entries of a node may be inside at once.
    pub at_once: usize,
    /// Which rule of kinds is left out.
    pub flaw: Option<SharingFlaw>,
}
