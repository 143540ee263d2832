//! What travels between two nodes: a frame is a length and a postcard body.

use serde::{Deserialize, Serialize};

use crate::report::LockStatus;

/// Everything above the links: who it is for is the link's business, which view it is of stands first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope<'a> {
    /// The view in which it was sent.
    pub epoch: u64,
    /// What it says.
    #[serde(borrow)]
    pub payload: Payload<'a>,
}

/// What one node tells another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload<'a> {
    /// A message of the algorithm of one lock.
    Message {
        /// Which lock.
        lock: &'a str,
        /// The sender's fence counter for it.
        fence: u64,
        /// The algorithm's message, as postcard.
        message: &'a [u8],
    },
    /// Somebody wants this lock for the first time, or waits for its idle token: begin, or hurry.
    Wake {
        /// Which lock.
        lock: &'a str,
    },
    /// I leave and the token of this lock rests with me: fetch it.
    Take {
        /// Which lock.
        lock: &'a str,
    },
    /// In the view that begins I hold these locks from before.
    Announce {
        /// Some of them.
        #[serde(borrow)]
        held: Vec<&'a str>,
        /// Whether these are the last ones.
        last: bool,
    },
    /// I let go of a lock that I had announced.
    Freed {
        /// Which lock.
        lock: &'a str,
        /// The counter of its last fence.
        fence: u64,
    },
    /// What do you know of the locks whose names begin like this?
    Query {
        /// To be repeated in the answer.
        id: u64,
        /// How the names begin; the whole name if `exact`.
        prefix: &'a str,
        /// Whether only the lock of exactly this name is meant.
        exact: bool,
    },
    /// That is what I know.
    Answer {
        /// Of the query.
        id: u64,
        /// The locks that are held or waited for at the sender, at most [`Payload::MOST_LISTED`].
        locks: Vec<LockStatus>,
    },
}

impl Payload<'_> {
    /// An answer lists no more locks than this.
    pub const MOST_LISTED: usize = 500;
}
