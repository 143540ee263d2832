//! Exactly once and in order between two incarnations, over connections that may break at any time.
//! No clock, no I/O: the driver moves bytes and says when time has passed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Limits;
use crate::wire::{Envelope, FrameError, append_frame};

/// What travels on a connection once its handshake is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame<'a> {
    /// Something for the peer's inbox.
    Data {
        /// Its number on this link, from 1.
        sequence: u64,
        /// The number of the last one that the sender has taken from the peer.
        acknowledged: u64,
        /// What it says.
        #[serde(borrow)]
        envelope: Envelope<'a>,
    },
    /// A sign of life and an acknowledgement.
    Beat {
        /// The number of the last [`Frame::Data`] that was sent before.
        sent: u64,
        /// The number of the last one that the sender has taken from the peer.
        acknowledged: u64,
    },
}

/// One end of a link: numbers what is sent, keeps it until it is acknowledged, and takes what arrives
/// once and in order.
///
/// The driver of a connection calls [`Session::resume`] when its handshake is over, puts what
/// [`Session::next_bytes`] gives on it, and hands it to the peer's [`Session::take`] frame by frame.
/// On [`Broken`] it connects anew: what was lost or not taken is then sent again.
#[derive(Debug)]
pub struct Session {
    limits: SessionLimits,
    /// Frames sent and not yet acknowledged, one after the other as they travel. One buffer, so that a
    /// warm link allocates nothing and several frames go out in one write.
    unacknowledged: VecDeque<u8>,
    /// The bytes of each of them.
    lengths: VecDeque<u32>,
    /// How many of them, and of their bytes, are on the current connection already.
    on_connection: (usize, usize),
    /// Where a frame is encoded.
    scratch: Vec<u8>,
    /// The number of the last one sent.
    sent: u64,
    /// The number of the last one taken.
    received: u64,
    /// Frames and bytes taken since the peer was last told so.
    owed: (u32, usize),
    /// While the peer is too far behind: how many frames are still taken from it.
    credit: u32,
    /// Whether frames have been turned away, so that the next ones cannot be taken in order.
    turned_away: bool,
}

/// How much a session may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// The longest frame.
    pub frame_bytes: usize,
    /// Above this no new request should be begun.
    pub congested_bytes: usize,
    /// Above this the peer is listened to only as far as it listens itself.
    pub resend_bytes: usize,
}

impl From<&Limits> for SessionLimits {
    fn from(limits: &Limits) -> Self {
        let &Limits { frame_bytes, congested_bytes, resend_bytes, .. } = limits;
        SessionLimits { frame_bytes, congested_bytes, resend_bytes }
    }
}

/// What is to be done with a frame of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Deliver it.
    Now,
    /// Nothing: it has been delivered before.
    Before,
    /// Nothing: the sender does not listen itself, and will send it again.
    Later,
}

/// Why a connection cannot go on. Nothing is lost: the next one goes on where this one was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    /// Something between is missing.
    #[error("message {got} came where {expected} was due")]
    Gap {
        /// Which came, or was said to have been sent.
        got: u64,
        /// Which was due.
        expected: u64,
    },
    /// It acknowledges what was never sent.
    #[error("message {acknowledged} was acknowledged, but only {sent} were sent")]
    NeverSent {
        /// Up to which it acknowledges.
        acknowledged: u64,
        /// How many were sent.
        sent: u64,
    },
    /// It has forgotten what it had taken: it is not the one that this session was with.
    #[error("it has received {received} messages, but had acknowledged {acknowledged}")]
    Forgotten {
        /// How many it says to have received.
        received: u64,
        /// How many it had acknowledged before.
        acknowledged: u64,
    },
    /// It has listened again: what was turned away can now be taken.
    #[error("it had fallen behind and has caught up; what it sent meanwhile is sent again")]
    CaughtUp,
}

impl Session {
    /// Frames taken after which the peer is told without delay.
    const OWED_FRAMES: u32 = 64;
    /// Bytes taken after which the peer is told without delay.
    const OWED_BYTES: usize = 256 << 10;
    /// Frames taken from a peer that is too far behind before it has to take some itself. Each frame
    /// taken is credit for the other side, so two that are both behind never wait for each other.
    const CREDIT_FRAMES: u32 = 2 * Self::OWED_FRAMES;
    /// A buffer that large is given back once it is empty.
    const KEPT_BYTES: usize = 1 << 20;

    /// Nothing sent, nothing received.
    pub fn new(limits: SessionLimits) -> Self {
        Session {
            limits,
            unacknowledged: VecDeque::new(),
            lengths: VecDeque::new(),
            on_connection: (0, 0),
            scratch: Vec::new(),
            sent: 0,
            received: 0,
            owed: (0, 0),
            credit: Self::CREDIT_FRAMES,
            turned_away: false,
        }
    }

    /// The number of the last one taken: what the handshake tells the peer.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The number of the last one that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.sent - self.lengths.len() as u64
    }

    /// How many were sent and not yet acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.lengths.len()
    }

    /// How many bytes were sent and not yet acknowledged.
    pub fn unacknowledged_bytes(&self) -> usize {
        self.unacknowledged.len()
    }

    /// Whether the peer is so far behind that no new request should be begun.
    pub fn is_congested(&self) -> bool {
        self.unacknowledged.len() > self.limits.congested_bytes
    }

    /// Whether something is not yet on the connection.
    pub fn has_next(&self) -> bool {
        self.on_connection.0 < self.lengths.len()
    }

    /// Whether the peer has not yet been told of everything that was taken.
    pub fn owes(&self) -> bool {
        self.owed.0 > 0
    }

    /// Whether it should be told without delay.
    pub fn owes_much(&self) -> bool {
        self.owed.0 >= Self::OWED_FRAMES || self.owed.1 >= Self::OWED_BYTES
    }

    /// Puts `envelope` at the end of what is to be sent; returns its number.
    ///
    /// # Errors
    /// If it is too long; it is not sent then.
    pub fn send(&mut self, envelope: &Envelope<'_>) -> Result<u64, FrameError> {
        let frame = DataRef { sequence: self.sent + 1, acknowledged: self.received, envelope };
        self.scratch.clear();
        append_frame(&mut self.scratch, &FrameRef::Data(frame), self.limits.frame_bytes)?;
        let was_behind = self.is_behind();
        self.unacknowledged.extend(&self.scratch);
        let length = u32::try_from(self.scratch.len()).expect("a frame's length fits 32 bits");
        self.lengths.push_back(length);
        self.sent += 1;
        self.owed = (0, 0);
        if self.is_behind() && !was_behind {
            self.credit = self.credit.max(Self::CREDIT_FRAMES);
        }
        Ok(self.sent)
    }

    /// A new connection begins; the peer's handshake says what it has received.
    ///
    /// # Errors
    /// If that was never sent, or is less than what was acknowledged before: then the peer means
    /// another session.
    pub fn resume(&mut self, received: u64) -> Result<(), Broken> {
        // A hello is said after the former connection was given up: an honest one counts at least what
        // was acknowledged there.
        let acknowledged = self.acknowledged();
        if received < acknowledged {
            return Err(Broken::Forgotten { received, acknowledged });
        }
        self.on_connection = (0, 0);
        self.turned_away = false;
        self.acknowledge(received)
    }

    /// Moves frames that are not yet on the connection to `out`, until that has `most` bytes or more.
    pub fn next_bytes(&mut self, out: &mut Vec<u8>, most: usize) {
        let (frames, begin) = self.on_connection;
        let mut end = begin;
        let mut next = frames;
        while next < self.lengths.len() && out.len() + (end - begin) < most {
            end += self.lengths[next] as usize;
            next += 1;
        }
        out.extend(self.unacknowledged.range(begin..end));
        self.on_connection = (next, end);
    }

    /// Adds a sign of life, which acknowledges all that was taken.
    pub fn beat(&mut self, out: &mut Vec<u8>) {
        let still_here = self.lengths.len() - self.on_connection.0;
        let sent = self.sent - still_here as u64;
        let beat = Frame::Beat { sent, acknowledged: self.received };
        append_frame(out, &beat, usize::MAX).expect("no frame is longer than memory");
        self.owed = (0, 0);
    }

    /// Takes what a frame says of the link itself. On [`Taken::Now`] its envelope is to be delivered.
    ///
    /// # Errors
    /// If the connection cannot go on.
    pub fn take(&mut self, frame: &Frame<'_>, bytes: usize) -> Result<Taken, Broken> {
        match *frame {
            Frame::Data { sequence, acknowledged, .. } => {
                self.acknowledge(acknowledged)?;
                self.take_data(sequence, bytes)
            }
            Frame::Beat { sent, acknowledged } => {
                self.acknowledge(acknowledged)?;
                let expected = self.received + 1;
                if self.turned_away && self.may_take_again() {
                    Err(Broken::CaughtUp)
                } else if sent >= expected && !self.turned_away {
                    Err(Broken::Gap { got: sent, expected })
                } else {
                    Ok(Taken::Before)
                }
            }
        }
    }

    fn take_data(&mut self, sequence: u64, bytes: usize) -> Result<Taken, Broken> {
        let expected = self.received + 1;
        if sequence < expected {
            // It seems not to know that we have it.
            self.owed.0 = self.owed.0.saturating_add(1);
            return Ok(Taken::Before);
        }
        if self.turned_away {
            return if self.may_take_again() { Err(Broken::CaughtUp) } else { Ok(Taken::Later) };
        }
        if sequence > expected {
            return Err(Broken::Gap { got: sequence, expected });
        }
        if self.is_behind() {
            if self.credit == 0 {
                self.turned_away = true;
                return Ok(Taken::Later);
            }
            self.credit -= 1;
        }
        self.received = sequence;
        self.owed = (self.owed.0.saturating_add(1), self.owed.1.saturating_add(bytes));
        Ok(Taken::Now)
    }

    /// Whether the peer has taken so little that more requests of it would fill our memory.
    fn is_behind(&self) -> bool {
        self.unacknowledged.len() > self.limits.resend_bytes
    }

    /// Whether it is worth a new connection to have sent again what was turned away.
    fn may_take_again(&self) -> bool {
        !self.is_behind() || self.credit >= Self::CREDIT_FRAMES
    }

    /// The peer has everything up to this number. What it had said before may arrive again.
    fn acknowledge(&mut self, acknowledged: u64) -> Result<(), Broken> {
        if acknowledged > self.sent {
            return Err(Broken::NeverSent { acknowledged, sent: self.sent });
        }
        let frames = acknowledged.saturating_sub(self.acknowledged()) as usize;
        let bytes = self.lengths.drain(..frames).map(|length| length as usize).sum::<usize>();
        self.unacknowledged.drain(..bytes);
        let (had_frames, had_bytes) = self.on_connection;
        self.on_connection = (had_frames.saturating_sub(frames), had_bytes.saturating_sub(bytes));
        let credit = u32::try_from(frames).unwrap_or(u32::MAX);
        self.credit = self.credit.saturating_add(credit).min(2 * Self::CREDIT_FRAMES);
        self.give_back_memory();
        Ok(())
    }

    /// A link that once was far behind should not keep that memory for ever.
    fn give_back_memory(&mut self) {
        if self.unacknowledged.is_empty() && self.unacknowledged.capacity() > Self::KEPT_BYTES {
            self.unacknowledged = VecDeque::new();
            self.lengths = VecDeque::new();
        }
    }
}

/// [`Frame::Data`] around a borrowed envelope: the same bytes without a copy.
#[derive(Serialize)]
struct DataRef<'a, 'b> {
    sequence: u64,
    acknowledged: u64,
    envelope: &'b Envelope<'a>,
}

/// [`Frame`] as it is written.
#[derive(Serialize)]
enum FrameRef<'a, 'b> {
    Data(DataRef<'a, 'b>),
}
