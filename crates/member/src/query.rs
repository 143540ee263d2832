//! What members ask each other, so that each can tell of the whole cluster.

use serde::{Deserialize, Serialize};

use crate::report::{Cause, LockStatus, SessionSummary};

/// What a member asks another one. What does not fit into one answer is asked for again, after the last
/// that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerQuery<'a> {
    /// Who holds this lock, who waits for it, and what keeps you from granting it?
    Lock {
        /// Which.
        name: &'a str,
    },
    /// Which locks are in use?
    Locks {
        /// How their names begin.
        prefix: &'a str,
        /// Only names after this one.
        after: &'a str,
    },
    /// Which sessions are open?
    Sessions {
        /// Only those after the one of this handle.
        after: u64,
    },
}

/// What a member answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerAnswer {
    /// Of one lock.
    Lock {
        /// Who holds it and who waits for it there; none if nobody does.
        lock: Option<LockStatus>,
        /// Why the member, being its home, does not let it begin.
        causes: Vec<Cause>,
    },
    /// The locks in use, by name.
    Locks {
        /// The first ones.
        locks: Vec<LockStatus>,
        /// Whether there are others after the last.
        more: bool,
    },
    /// The sessions, by handle.
    Sessions {
        /// The first ones.
        sessions: Vec<SessionSummary>,
        /// Whether there are others after the last.
        more: bool,
    },
}
