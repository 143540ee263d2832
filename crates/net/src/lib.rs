//! Real nodes on real networks: members of a cluster ([`skeptron_member`]) behind locks that programs
//! on different machines take.
//!
//! From below: `env` is what a node reads from its machine, `link` moves bytes between members,
//! [`view`] says who belongs to the cluster, `shell` performs what the member core decides, [`Node`] is
//! all of it in one program, and [`api`] lets other programs in, whose side is `skeptron-client`.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Library;

pub mod api;
mod cluster;
mod config;
mod error;
pub mod etcd;
mod link;
mod node;
pub mod observe;
mod pause;
pub mod service;
mod shell;
mod supervise;
pub mod tls;
pub mod view;

pub use cluster::Cluster;
pub use config::{
    Config, ConfigError, Deadlocks, EtcdConfig, EtcdTls, Init, LeaseSettings, Limits, Membership,
    Pace, Security, VoterConfig,
};
pub use error::{NotEntered, StartError};
pub use link::LinksError;
pub use node::{DrainRefused, Node};
pub use shell::Guard;
pub use skeptron_client::ReleaseError;
pub(crate) use skeptron_client::{eager_poll, env, http, messages, socket};
pub use skeptron_member::clock::Drift;
pub use skeptron_member::election::{Leader, Leadership};
pub use skeptron_member::plan::{Plan, PlanError, Plans};
pub use skeptron_member::{Fence, LockError, MemberId, report};

/// A mutex is poisoned by a panic under it; where this is said nothing under it can panic.
pub(crate) const UNPOISONED: &str = "nothing panics under this lock";
