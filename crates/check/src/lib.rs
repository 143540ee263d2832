//! Explores every interleaving of a small system, over the same nodes that the simulator and the
//! runtime drive, and shows the shortest way to whatever goes wrong.
//!
//! ```
//! use skeptron_check::{Options, Scenario, check};
//! use skeptron_core::{Setup, catalogue};
//! use skeptron_core::catalogue::Order;
//!
//! let info = catalogue::find("ricart-agrawala").unwrap();
//! let scenario = Scenario::new(Setup::new(3).unwrap(), 1, Order::Any);
//! let report = check(info, &scenario, &Options::default()).unwrap();
//! assert!(report.complete && report.holds());
//!
//! let info = catalogue::find("ricart-agrawala-no-tie-break").unwrap();
//! let report = check(info, &scenario, &Options::default()).unwrap();
//! assert!(!report.holds());
//! ```

mod admission;
mod beginning;
mod check;
mod counterexample;
mod crashes;
mod cycles;
mod disk;
mod election;
mod expand;
mod explorer;
mod extreme;
mod flight;
mod graph;
mod kinds;
mod level;
mod local;
pub mod machine;
pub mod members;
mod memory;
mod model;
mod normal;
mod predicate;
mod prefix;
mod property;
mod reduction;
mod scenario;
mod searches;
mod starvation;
mod state;
#[cfg(test)]
mod tests;
mod walk;
mod world;

pub use check::{Judging, Options, Report, Verdict, check};
pub use counterexample::Counterexample;
pub use disk::{Disk, DiskError};
pub use election::{ElectionFaults, ElectionScenario, check_election};
pub use explorer::Progress;
pub use extreme::{Extreme, Goal, Measure, extreme};
pub use kinds::{KindsError, KindsScenario, check_kinds};
pub use predicate::{Operator, Predicate, PredicateError, Snapshot};
pub use property::{Property, Step, Which};
pub use scenario::{CrashWhen, Faults, Scenario, ScenarioError};
pub use walk::{Walked, Walks};
