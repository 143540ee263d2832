//! All tests from outside, in one binary: each one more is linked once more.

mod core;
mod elections;
mod views;

use skeptron_member::plan::{Plan, Plans};
use skeptron_member::{Limits, Pace, Settings};

/// Members whose locks this algorithm guards.
fn settings(algorithm: &str) -> Settings {
    Settings {
        plans: Plans::new(Plan::named(algorithm).unwrap()),
        handovers: 0,
        pace: Pace::default(),
        limits: Limits::default(),
        flaw: None,
    }
}
