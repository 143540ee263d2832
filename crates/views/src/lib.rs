//! The view service: who belongs to the cluster, decided by consensus, and until when each member may act.
//!
//! State machines without I/O and clock, as in `skeptron-member`: they get `now` as an argument and leave
//! what they want done to a list of effects. [`voter::Voter`] is one of the 1, 3 or 5 that decide, and its doc
//! comment is the manual for drivers; [`member::Membership`] is the side of everybody who has a lease. [`log`]
//! is how a voter's state is kept in a file, behind the trait [`disk::Disk`].
//!
//! Consensus is on views and the length of leases only. Leases themselves are granted by the leader alone and
//! are not in the log: a renewal costs one round of heartbeats for all that wait, and no write.

pub mod disk;
pub mod file;
#[doc(hidden)]
pub mod flaw;
pub mod log;
pub mod member;
pub mod protocol;
mod store;
pub mod views;
pub mod voter;
mod wire;

pub use store::{Contradiction, Hard, Record};
pub use wire::{LogEntry, LogSnapshot, Packet, RaftMessage};
