//! What goes between a session and whoever speaks for its client.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::locks::LockError;
use crate::{Fence, MemberId};

/// What an acquire is for. The same claim again is the same acquire, tried again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// Which lock.
    pub lock: String,
    /// A number of the client's choice for this acquire.
    pub request: Option<u64>,
}

/// Why a session gets nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// It is over.
    #[error("this session has ended, or never was")]
    Over,
    /// The acquire was withdrawn before it arrived, or is a late second try of one that was released.
    #[error("this acquire of `{0}` was withdrawn or released")]
    Withdrawn(String),
    /// It does not hold the lock.
    #[error("this session does not hold `{0}`")]
    NotHeld(String),
    /// It holds another entry of the lock.
    #[error("this session holds `{lock}` with fence {held:#}, not {given:#}")]
    OtherFence {
        /// Which lock.
        lock: String,
        /// What it holds.
        held: Fence,
        /// What was named.
        given: Fence,
    },
    /// The lock had been lost before.
    #[error("`{0}` had been lost before it was released; what was done since may clash")]
    Lost(String),
    /// There are too many sessions.
    #[error("{0} sessions are open already")]
    TooMany(usize),
    /// The member opens no more sessions.
    #[error("{0} is shutting down")]
    Closing(MemberId),
    /// The lock cannot be acquired.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// A lock in the hands of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Held {
    /// Which lock.
    pub lock: String,
    /// The fence of the entry.
    pub fence: Fence,
}

/// What is known of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionReport {
    /// What its client is called.
    pub owner: String,
    /// How long after its last sign of life it ends.
    pub ttl: Duration,
    /// What it holds, by name.
    pub held: Vec<Held>,
    /// The names of the locks it waits for, sorted.
    pub waiting: Vec<String>,
}

/// How an acquire of a session begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The session holds it.
    Held(Held),
    /// It waits; the place is left with [`crate::MemberCore::leave_place`].
    Waiting(Place),
}

/// The place of an acquire among the waits of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) claim: Claim,
    pub(super) serial: u64,
}
