//! Members: every interleaving of a small cluster whose views change and whose members crash, over the
//! same [`skeptron_member::MemberCore`] that the runtime drives. Time stands still: that a lease ends is
//! an event of its own.
//!
//! ```
//! use skeptron_check::Options;
//! use skeptron_check::members::{Scenario, check};
//! use skeptron_member::plan::Plan;
//!
//! let plan = Plan::named("naimi-trehel").unwrap();
//! let scenario = Scenario { views: 1, ..Scenario::new(plan, 2, 1) };
//! let report = check(&scenario, &Options::default()).unwrap();
//! assert!(report.complete && report.holds(), "{report}");
//! ```

mod check;
mod counterexample;
mod local;
mod moves;
mod scenario;
mod state;
mod world;

pub use check::{Report, Verdict, check};
pub use counterexample::Counterexample;
pub use scenario::{Scenario, ScenarioError};
