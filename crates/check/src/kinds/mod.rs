//! Locks with kinds: shared and exclusive entries, semaphores, upgrades and downgrades.

mod check;
mod scenario;
mod state;
mod story;
mod world;

pub use check::check_kinds;
pub use scenario::{KindsError, KindsScenario};
