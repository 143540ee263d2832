//! Whole members in a simulated world: the cores, links and sessions of `skeptron-member`, unchanged,
//! on a network, clocks and clients that go wrong in every way a seed can think of.
//!
//! One seed determines a run. First come the faults, while judges watch safety; then everything is
//! healed, and everybody must be served; then nothing may be left behind. [`run`] is all of it.

mod chance;
mod clients;
mod clock;
mod faults;
mod judge;
mod links;
mod network;
mod options;
mod oracle;
mod outcome;
mod queue;
mod recorder;
mod sessions;
mod site;
mod storm;
mod trace_hash;
mod world;

pub use faults::{FaultKind, Faults};
pub use options::Options;
pub use outcome::{Outcome, Property, Survived, Violation};
pub use world::{run, run_recorded};
