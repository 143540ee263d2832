//! What travels between two nodes: a frame is a length and a postcard body.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use skeptron_core::mutex::sharing::{Presence, Register, SharingMessage};

use crate::query::{PeerAnswer, PeerQuery};
use crate::{Broken, Fence};

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
        /// Who is inside, as far as the sender knows.
        register: Register,
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
    /// I have entered this view and keep rights from before to these locks, whose home you are, or have
    /// entries inside that tolerate others.
    Announce {
        /// Some of them, each with the counter of its last fence; and what is inside, if that is all.
        #[serde(borrow)]
        kept: Vec<(&'a str, u64, Option<Presence>)>,
        /// Whether these are the last ones.
        last: bool,
    },
    /// Somebody wants a lock that you announced: give your right up when its holder lets go.
    Wanted {
        /// Which lock.
        lock: &'a str,
    },
    /// I have given up my right to a lock that I had announced.
    Freed {
        /// Which lock.
        lock: &'a str,
        /// The counter of its last fence.
        counter: u64,
        /// What stays inside here and tolerates others.
        here: Presence,
    },
    /// About those inside, besides the algorithm's messages.
    Sharing {
        /// Of which lock.
        lock: &'a str,
        /// The sender's fence counter for it.
        fence: u64,
        /// What it says.
        word: SharingMessage,
    },
    /// May this lock be entered in this view? For algorithms whose quorums may leave its home out.
    Ask {
        /// Which lock.
        lock: &'a str,
    },
    /// It may: nobody keeps a right from before.
    Pass {
        /// Which lock.
        lock: &'a str,
        /// The counter of the last fence that its home knows of.
        counter: u64,
        /// Who is inside from before.
        register: Register,
    },
    /// What do you know of this?
    Query {
        /// To be repeated in the answer.
        id: u64,
        /// What is asked.
        #[serde(borrow)]
        question: PeerQuery<'a>,
    },
    /// That is what I know.
    Answer {
        /// Of the query.
        id: u64,
        /// What the sender knows.
        told: PeerAnswer,
    },
    /// Of a client whose session is at another member than the one it can reach.
    Relay(#[serde(borrow)] Relay<'a>),
    /// An administrator breaks a lock: whoever holds it with this fence at your place has lost it.
    Break {
        /// To be repeated in the answer.
        id: u64,
        /// Which lock.
        lock: &'a str,
        /// The fence of the entry.
        fence: Fence,
        /// Whether it goes to the next one although its holder may not know yet.
        at_once: bool,
    },
    /// That is what came of it.
    Broken {
        /// Of the order.
        id: u64,
        /// What.
        outcome: Broken,
    },
    /// I watch these elections in this view: tell me who leads, and of every change.
    Watch {
        /// Each with the number of the watch, to be repeated in whatever I am told.
        #[serde(borrow)]
        locks: Vec<(&'a str, u64)>,
    },
    /// I watch this election no longer.
    Unwatch {
        /// Which lock.
        lock: &'a str,
    },
    /// A session of mine leads this election that you watch.
    Leads {
        /// Which lock.
        lock: &'a str,
        /// The number of your watch.
        number: u64,
        /// The fence of its entry.
        term: Fence,
        /// Rises with each value of the term.
        version: u64,
        /// What the leader calls itself.
        owner: &'a str,
        /// What the leader says of itself.
        value: &'a str,
    },
    /// No session of mine leads this election that you watch.
    Vacant {
        /// Which lock.
        lock: &'a str,
        /// The number of your watch.
        number: u64,
        /// The last term that was led here and is over for good, if there is one.
        ended: Option<Fence>,
    },
    /// I have seen your leader of this term.
    Seen {
        /// Which lock.
        lock: &'a str,
        /// The term.
        term: Fence,
    },
}

/// A request of a client on its way to the member where its session is, or what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relay<'a> {
    /// Perform this for a client of mine.
    Request {
        /// To be repeated in the answer; the sender never uses it again.
        id: u64,
        /// What it asks, in the words of the drivers.
        request: &'a [u8],
    },
    /// What came of it.
    Answer {
        /// Of the request.
        id: u64,
        /// In the words of the drivers; empty if nobody performs requests here.
        answer: &'a [u8],
    },
    /// Nobody waits for the answer any more.
    Cancel {
        /// Of the request.
        id: u64,
    },
}

impl Payload<'_> {
    /// An answer or an announcement lists no more than this.
    pub const MOST_LISTED: usize = 500;
}

/// The bytes that say how long a frame's body is: little-endian, the body alone.
pub const LENGTH_BYTES: usize = 4;

/// Why bytes are not a frame. Whoever sent them is broken or no node at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Longer than allowed.
    #[error("a frame of {length} bytes, but at most {most} are allowed")]
    TooLong {
        /// How long it is, or says it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// The body says nothing.
    #[error("a frame with an unknown message")]
    Garbage,
}

/// Adds `value` as a frame whose body has at most `most` bytes; `out` is unchanged if it is longer.
pub fn append_frame(
    out: &mut Vec<u8>,
    value: &impl Serialize,
    most: usize,
) -> Result<(), FrameError> {
    let begin = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    let mut encoded = postcard::to_extend(value, std::mem::take(out))
        .expect("what travels has a known length and goes into memory");
    let length = encoded.len() - begin - LENGTH_BYTES;
    let fits = length <= most;
    match u32::try_from(length) {
        Ok(prefix) if fits => {
            encoded[begin..begin + LENGTH_BYTES].copy_from_slice(&prefix.to_le_bytes());
        }
        _ => encoded.truncate(begin),
    }
    *out = encoded;
    if fits { Ok(()) } else { Err(FrameError::TooLong { length, most }) }
}

/// What the body of a frame says; not a byte may be left over.
pub fn decode<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Ok(value),
        _ => Err(FrameError::Garbage),
    }
}

/// Cuts a stream of bytes into frames. Holds no more than one read and one frame of the allowed
/// length, whatever the stream says.
#[derive(Debug)]
pub struct Unframer {
    buffer: Vec<u8>,
    /// Where the first byte not yet cut off is.
    begin: usize,
    /// Where the next byte goes.
    end: usize,
    /// How long a body may be.
    most: usize,
}

impl Unframer {
    /// Room for one read.
    const READ_BYTES: usize = 64 << 10;

    /// For bodies of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        let room = Self::READ_BYTES.min(LENGTH_BYTES + most);
        Unframer { buffer: vec![0; room], begin: 0, end: 0, most }
    }

    /// Where the next bytes are to be read to; never empty once all frames have been cut off.
    pub fn room(&mut self) -> &mut [u8] {
        if self.begin == self.end {
            self.begin = 0;
            self.end = 0;
            if self.buffer.len() > Self::READ_BYTES {
                self.buffer.truncate(Self::READ_BYTES);
                self.buffer.shrink_to_fit();
            }
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
            if self.end == self.buffer.len() {
                // The frame that began is longer than a read; its length has been checked.
                self.buffer.resize((2 * self.end).min(LENGTH_BYTES + self.most), 0);
            }
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes have been read to the room.
    pub fn filled(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// From now on bodies of at most `most` bytes.
    pub fn allow(&mut self, most: usize) {
        self.most = most;
        let room = Self::READ_BYTES.min(LENGTH_BYTES + most).max(self.end);
        self.buffer.resize(room, 0);
    }

    /// Cuts bytes off that are no frame, if there are so many.
    pub fn next_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.buffer[self.begin..self.end].first_chunk()?;
        self.begin += N;
        Some(bytes)
    }

    /// Cuts the next body off, if it is complete.
    pub fn next_body(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let here = &self.buffer[self.begin..self.end];
        let Some((prefix, rest)) = here.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*prefix) as usize;
        if length > self.most {
            return Err(FrameError::TooLong { length, most: self.most });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let body = self.begin + LENGTH_BYTES;
        self.begin = body + length;
        Ok(Some(&self.buffer[body..body + length]))
    }
}

#[cfg(test)]
mod tests;
