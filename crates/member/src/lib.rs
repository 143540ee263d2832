//! One member of a cluster, without I/O: what it does about locks, views, leases, sessions and links
//! is decided here, as state machines that get the time as an argument and leave what they want done
//! to [`Effects`]. `skeptron-net` performs it on real networks, `skeptron-world` in a simulated one.
//!
//! From below: [`wire`] says what travels, [`link`] makes it arrive exactly once and in order between
//! two lives of members, [`view`] says who belongs to the cluster, [`plan`] which algorithm guards
//! which lock, `locks` runs one instance of it for each name, [`session`] is what clients have,
//! [`election`] is what observers of leaders are told, and [`MemberCore`] is all of it but the links.

mod effects;
pub mod election;
mod flaw;
mod limits;
pub mod link;
mod locks;
mod member;
pub mod plan;
pub mod query;
pub mod session;
pub mod view;
pub mod wire;

pub use effects::{Effects, Event, Halt, NeedView, NotServed, Timer};
pub use flaw::Flaw;
pub use limits::{Limits, Pace};
pub use locks::{Acquired, Broken, Lock, LockError, Settings, Turn, Withheld};
pub use member::{Load, MemberCore};
// What a driver hands to the core and gets from it, so that it needs no second crate.
pub use skeptron_types::{Fence, MemberId, clock, fnv1a, report};
