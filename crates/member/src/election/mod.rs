//! Elections: a leader is a session that holds a lock with a value, and the fence of its entry is its
//! term. Whoever observes an election is told the present leader, then every change.
//!
//! A member with observers *watches* the election: it tells every member of its view, each answers with
//! the leader it has, if any, and from then on tells each later one. A campaign that was granted is told
//! to its client only when every member that watches has seen it, so that no leader is missed. Watches
//! belong to a view: they are told anew before a member announces itself, and nobody leads anew before
//! all have announced themselves.

mod watches;

pub use skeptron_types::election::{Leader, Leadership, Proclaimed, Seen};
pub(crate) use watches::{Unwatched, WatchReport, Watches};

/// The longest value of a leader, in bytes.
pub const MOST_VALUE_BYTES: usize = 4096;

/// The elections that one member watches at most.
pub const MOST_WATCHED: usize = 1000;

/// How an observer begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What it is told at once.
    pub told: Option<Leadership>,
    /// That nobody leads, it is told only after this round of answers.
    pub round: u64,
}
