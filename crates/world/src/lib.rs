//! Whole members in a simulated world: the cores, links and sessions of `skeptron-member` and the voters
//! and leases of `skeptron-views`, unchanged, on a network, disks, clocks and clients that go wrong in
//! every way a seed can think of.
//!
//! One seed determines a run. First come the faults, while judges watch safety; then everything is
//! healed, and everybody must be served; then nothing may be left behind. [`run`] is all of it.

mod chance;
mod clients;
mod clock;
mod faults;
mod history;
mod judge;
mod kinds;
mod links;
mod machine;
mod membership;
mod moves;
mod names;
mod network;
mod observers;
mod options;
mod outcome;
mod queue;
mod recorder;
mod relay;
mod service;
mod sessions;
mod storm;
mod trace_hash;
mod world;

pub use faults::{FaultKind, Faults};
pub use options::{Mutant, Options, OptionsError};
pub use outcome::{Figures, Outcome, Property, Span, Survived, Violation};
pub use world::{run, run_recorded};
