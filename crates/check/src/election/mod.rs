//! Elections: every interleaving of a small system in which messages, alarms and failure detectors keep
//! their times, unless they may not.

mod check;
mod counterexample;
mod memory;
mod moves;
mod persistent;
mod prefix;
mod scenario;
mod state;
#[cfg(test)]
mod tests;
mod world;

pub use check::check_election;
pub use scenario::{ElectionFaults, ElectionScenario};
