//! A deterministic discrete-event simulator for the algorithms of `skeptron-core`.
//!
//! A [`Scenario`] and an algorithm determine a run: time is counted in whole ticks, all chance comes
//! from one seed through one generator per purpose, and two events of one tick happen in the order in
//! which they were planned. [`run()`] judges and measures it.

mod alarms;
mod applications;
mod beginning;
mod chance;
pub mod claims;
mod distribution;
pub mod driver;
pub mod election;
mod engine;
mod environment;
mod faults;
mod hand;
pub mod kinds;
mod metrics;
mod network;
mod queue;
mod recorder;
pub mod replay;
mod run;
mod scenario;
pub mod trace;
mod trace_hash;
mod troubles;
pub mod value;
mod workload;

pub use beginning::begun_anywhere;
pub use chance::shuffled;
pub use distribution::{Distribution, DistributionError};
pub use faults::{Cut, Fault, Faults, PlannedFault, RandomFault};
pub use hand::{Act, Deed, Hand, Impossible};
pub use metrics::{
    Fairness, Load, Messages, Multicast, Recovery, Report, Summary, Unended, Violation,
};
pub use network::{Latency, LatencyError, PRESETS as LATENCY_PRESETS};
pub use queue::{Queue, QueueKind};
pub use run::{Options, Outcome, run};
pub use scenario::{Scenario, ScenarioError};
pub use workload::Workload;
