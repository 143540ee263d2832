//! Locks with kinds: shared and exclusive entries, semaphores, upgrades and downgrades.

mod check;
mod counterexample;
mod scenario;
mod state;
mod world;

pub use check::check_kinds;
pub use scenario::{KindsError, KindsScenario};
