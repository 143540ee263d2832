//! Why a lock cannot be acquired.

use thiserror::Error;

use crate::MemberId;
use crate::effects::Halt;
use crate::report::NotGranted;

/// Why a lock cannot be acquired.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// The name cannot be one.
    #[error("invalid lock name `{0}`: a name has 1 to 255 bytes and no control characters")]
    Name(String),
    /// The member leaves.
    #[error("{0} is shutting down and accepts no more requests; use another node")]
    Leaving(MemberId),
    /// The member cannot go on.
    #[error("{member} cannot grant locks any more: {why}")]
    Halted {
        /// Which member.
        member: MemberId,
        /// Why.
        why: Halt,
    },
    /// The cluster cannot grant it now, although no member says that it holds it.
    #[error("`{name}` was not granted: {why}")]
    Unavailable {
        /// Which lock.
        name: String,
        /// Why.
        why: Box<NotGranted>,
    },
    /// Too many names.
    #[error("{member} already knows {most} lock names; {}", room(*forgets))]
    TooManyLocks {
        /// Which member.
        member: MemberId,
        /// How many it may know.
        most: usize,
        /// Whether idle ones will be forgotten.
        forgets: bool,
    },
    /// Too many waiters.
    #[error("{most} clients already wait at {member} for `{name}`; raise `limits.waiters`")]
    TooManyWaiters {
        /// Which member.
        member: MemberId,
        /// Which lock.
        name: String,
        /// How many may wait.
        most: usize,
    },
    /// Too many elections are observed.
    #[error("{most} elections are already observed at {member}; observe at another node")]
    TooManyWatched {
        /// Which member.
        member: MemberId,
        /// How many may be.
        most: usize,
    },
    /// It is not held any more.
    #[error("`{0}` is not held any more")]
    NotHeld(String),
    /// Another entry upgrades.
    #[error(
        "`{0}` was not upgraded: another holder is upgrading and waits for this one to release it"
    )]
    UpgradeDenied(String),
    /// Those that hold it wait for what the waiter holds.
    #[error("`{0}` would cause a deadlock: its holder waits for a lock that this session holds")]
    Deadlock(String),
    /// The observer knows of a view that has not begun here.
    #[error("{0} has not installed the observer's view yet; try again, or use another node")]
    Behind(MemberId),
}

fn room(forgets: bool) -> &'static str {
    if forgets {
        "idle ones are forgotten in the next view: try again, or raise `limits.locks`"
    } else {
        "with fixed members none is ever forgotten: raise `limits.locks` and restart the node"
    }
}
