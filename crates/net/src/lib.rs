//! Real nodes on real networks: the algorithms of [`skeptron_core`], unchanged, behind locks that
//! programs on different machines take.
//!
//! From below: [`wire`] says what travels, `link` makes it arrive exactly once and in order between
//! two nodes, [`view`] says who belongs to the cluster, `table` holds one instance of an algorithm
//! for each lock and the waiters of this node, [`Node`] is all of it in one program, `api` and
//! [`client`] let other programs in.

pub mod api;
pub mod client;
mod config;
mod guard;
mod link;
mod node;
pub mod observe;
mod plan;
mod prompt;
pub mod report;
mod socket;
mod table;
pub mod tls;
pub mod view;
pub mod wire;

pub use config::{Config, ConfigError, Limits, Pace, Security, is_loopback};
pub use guard::{Guard, ReleaseError};
pub use node::{Cluster, LockError, Node, StartError};
pub use plan::{Plan, PlanError, Plans};

/// A mutex is poisoned by a panic under it; where this is said nothing under it can panic.
pub(crate) const UNPOISONED: &str = "nothing panics under this lock";
