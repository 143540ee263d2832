//! What goes between a session and whoever speaks for its client.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use skeptron_types::session::{Held, MovedHold, SessionId};

use crate::election::MOST_VALUE_BYTES;
use crate::locks::LockError;
use crate::view::View;
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
    #[error("this session has ended or does not exist")]
    Over,
    /// The acquire was withdrawn before it arrived, or is a late second try of one that was released.
    #[error("this acquire of `{0}` was cancelled or released")]
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
    /// It holds the lock without leading.
    #[error("this session holds `{0}` but does not lead: it was acquired without a campaign")]
    NotLeading(String),
    /// It holds the lock, but not so that it could tolerate others from now on.
    #[error("this session cannot hold `{0}` in another mode: it is shared already, or led")]
    NotExclusive(String),
    /// The value of a leader is too long.
    #[error("a leader's value has at most {MOST_VALUE_BYTES} bytes, not {0}")]
    LongValue(usize),
    /// The lock had been lost before.
    #[error(
        "`{0}` was lost before it was released; work done since then may conflict with another holder"
    )]
    Lost(String),
    /// There are too many sessions.
    #[error("{0} sessions are already open")]
    TooMany(usize),
    /// The member leaves: sessions can only release here, and move to another member.
    #[error("{0} is shutting down")]
    Closing(MemberId),
    /// The session comes from another life and waits until that is gone.
    #[error("this session is still moving here from {0}, which may be alive")]
    Moving(MemberId),
    /// The session comes from a life that this member does not know yet.
    #[error("{0} has not installed the session's view yet")]
    Behind(MemberId),
    /// The session claims more than one can.
    #[error("a session can move with at most {0} locks")]
    BringsTooMany(usize),
    /// The session claims what cannot be.
    #[error("`{lock}` cannot have been granted with fence {fence:#}")]
    NeverGranted {
        /// Which lock.
        lock: String,
        /// The fence that it claims.
        fence: Fence,
    },
    /// The lock cannot be acquired.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// One life of a member, as its sessions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Life {
    /// Which member.
    pub member: MemberId,
    /// Which of its lives.
    pub incarnation: u64,
    /// A view in which it was a member.
    pub epoch: u64,
}

impl Life {
    /// Whether it may still act in this view, as a member or while it is away.
    #[must_use]
    pub fn is_in(&self, view: &View) -> bool {
        view.life(self.member).is_some_and(|life| life.incarnation == Some(self.incarnation))
    }
}

/// A session whose client cannot use the life any more where it was, with what it still holds there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which session.
    pub id: SessionId,
    /// Where it was.
    pub from: Life,
    /// Larger than at every earlier try of this session to move: one that arrives late is ignored.
    pub number: u64,
    /// How long after its last sign of life it ends.
    pub ttl: Duration,
    /// What its client is called.
    pub owner: String,
    /// Acquires with numbers up to this come to nothing any more, wherever they arrive: what still waits
    /// gets a new number.
    pub requests: u64,
    /// What the client believes to hold.
    pub held: Vec<MovedHold>,
}

/// What a sign of life is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alive {
    /// For how long the session is certainly valid without another sign, as far as this member can tell:
    /// never longer than this member may act.
    pub valid: Duration,
    /// The session moves here and the life where it was may still act. Until that is gone, it may end
    /// the session by itself: the client believes no longer than its last sign there lets it.
    pub pending: bool,
    /// What it held and the member has lost since.
    pub lost: Vec<Held>,
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
