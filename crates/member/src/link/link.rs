//! One end of a link between two lives of members: what is sent, whom it is for, and when to dial, to
//! acknowledge and to give up. No clock, no I/O.

use std::time::Duration;

use thiserror::Error;

use super::handshake::Hello;
use super::session::{Broken, Frame, Session, Taken};
use crate::clock::MonoTime;
use crate::wire::{Envelope, FrameError};
use crate::{Limits, MemberId};

/// One end of a link: a [`Session`] with one life of a peer, and the rules of its connections.
///
/// Its driver
/// 1. dials the peer at [`Link::next_dial`], and calls [`Link::dial_failed`] if that comes to nothing;
/// 2. does the handshake: [`Link::received`] and [`Link::incarnation`] are read together, before the
///    own hello is sent, and the peer's hello is checked against that incarnation;
/// 3. calls [`Link::connected`], writes what [`Link::next_bytes`] gives whenever there is something,
///    and hands each frame that arrives to [`Link::take`];
/// 4. calls [`Link::poll`] at [`Link::deadline`] and after each batch of frames, and writes what it
///    adds;
/// 5. calls [`Link::disconnected`] when the connection breaks or any of these calls fails.
///
/// What was sent and not acknowledged goes out again on the next connection. A peer that loses its
/// state must come back as another life: [`Link::replace`] is how a view says so.
#[derive(Debug)]
pub struct Link {
    peer: MemberId,
    dials: bool,
    limits: Limits,
    session: Session,
    /// The only life of the peer that is accepted, once one is chosen.
    incarnation: Option<u64>,
    backoff: Backoff,
    dial_at: MonoTime,
    /// While there is a connection.
    connection: Option<Connection>,
}

/// Why a connection is given up. Nothing is lost: the next one resumes where this one was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// Something is missing, or was never sent.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// Nothing heard.
    #[error("nothing was heard from it for {0:?}")]
    Silent(Duration),
    /// It does not read.
    #[error("it acknowledged nothing for {0:?}")]
    Deaf(Duration),
    /// The hello came from another life of the peer than the accepted one.
    #[error("{0} has been restarted, and this link is with its former life")]
    OtherLife(MemberId),
    /// There is no connection that a frame could have arrived on.
    #[error("not connected")]
    NotConnected,
}

/// A handshake that takes longer is given up.
#[must_use]
pub fn handshake_limit(limits: &Limits) -> Duration {
    limits.silence / 2
}

impl Link {
    /// After so long the peer is told what was taken, if nothing was to be sent meanwhile.
    pub const ACKNOWLEDGE_DELAY: Duration = Duration::from_millis(20);

    /// So many beats fit into the time after which a silent peer is given up.
    pub const BEATS: u32 = 3;

    /// The end at `me` of a link to `peer`; only this incarnation of it is accepted, or whichever
    /// comes first.
    #[must_use]
    pub fn new(me: MemberId, peer: MemberId, incarnation: Option<u64>, limits: &Limits) -> Self {
        Link {
            peer,
            dials: peer < me,
            limits: *limits,
            session: Session::new(limits.into()),
            incarnation,
            backoff: Backoff::new(limits),
            dial_at: MonoTime::default(),
            connection: None,
        }
    }

    /// The other end.
    #[must_use]
    pub fn peer(&self) -> MemberId {
        self.peer
    }

    /// Whether this end dials: the higher id dials the lower, so that two never dial each other.
    #[must_use]
    pub fn dials(&self) -> bool {
        self.dials
    }

    /// When to dial the peer: never while there is a connection, or if the peer dials.
    #[must_use]
    pub fn next_dial(&self) -> MonoTime {
        if self.dials && self.connection.is_none() { self.dial_at } else { MonoTime::NEVER }
    }

    /// Dialling or the handshake failed: the next try comes later.
    pub fn dial_failed(&mut self, now: MonoTime) {
        self.dial_at = now.after(self.backoff.next());
    }

    /// The only life of the peer that is accepted, once one is chosen.
    #[must_use]
    pub fn incarnation(&self) -> Option<u64> {
        self.incarnation
    }

    /// The number of the last message taken: what the own hello tells the peer.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.session.received()
    }

    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// A handshake is over, in which the peer said this. Takes the place of the connection that there
    /// was.
    ///
    /// # Errors
    /// If the hello is of another life of the peer, or its numbers are of another session. The
    /// connection must be closed.
    pub fn connected(&mut self, now: MonoTime, hello: &Hello) -> Result<(), LinkError> {
        if self.incarnation.is_some_and(|known| known != hello.incarnation) {
            return Err(LinkError::OtherLife(self.peer));
        }
        self.session.resume(hello.received)?;
        self.incarnation = Some(hello.incarnation);
        self.connection = Some(Connection::new(now, self));
        Ok(())
    }

    /// The connection is gone, or could not be used.
    pub fn disconnected(&mut self, now: MonoTime) {
        self.connection = None;
        self.dial_failed(now);
    }

    /// A view names this incarnation of the peer; none if whichever came first will do. If that is
    /// another one than before, the session starts anew: what the former life had not acknowledged is
    /// dropped, and the connection must be closed. Returns whether it is.
    pub fn replace(&mut self, incarnation: Option<u64>) -> bool {
        let is_other = incarnation.is_some() && incarnation != self.incarnation;
        if is_other && self.incarnation.is_some() {
            self.session = Session::new((&self.limits).into());
            self.incarnation = incarnation;
            self.connection = None;
            // The new life is up, however long the former one was not.
            self.backoff.reset();
            self.dial_at = MonoTime::default();
            return true;
        }
        // Nobody has been spoken to yet: what is queued is for whoever belongs to the view.
        self.incarnation = incarnation.or(self.incarnation);
        false
    }

    /// Puts `envelope` at the end of what is to be sent; returns its number.
    ///
    /// # Errors
    /// If it is too long; it is not sent then.
    pub fn send(&mut self, envelope: &Envelope<'_>) -> Result<u64, FrameError> {
        let sequence = self.session.send(envelope)?;
        if let Some(connection) = &mut self.connection {
            // It acknowledges what was taken.
            connection.acknowledge_at = MonoTime::NEVER;
        }
        Ok(sequence)
    }

    /// Whether something is not yet on the connection.
    #[must_use]
    pub fn has_next(&self) -> bool {
        self.session.has_next()
    }

    /// Moves frames that are not yet on the connection to `out`, until that has `most` bytes or more.
    pub fn next_bytes(&mut self, out: &mut Vec<u8>, most: usize) {
        self.session.next_bytes(out, most);
    }

    /// Whether the peer is so far behind that no new request should be begun.
    #[must_use]
    pub fn is_congested(&self) -> bool {
        self.session.is_congested()
    }

    /// How many messages were sent and not yet acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.session.unacknowledged()
    }

    /// How many bytes were sent and not yet acknowledged.
    #[must_use]
    pub fn unacknowledged_bytes(&self) -> usize {
        self.session.unacknowledged_bytes()
    }

    /// Bytes have arrived, maybe less than a frame: the peer is there.
    pub fn heard(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.heard = true;
        }
    }

    /// Takes a frame that arrived, with a body of so many bytes. On [`Taken::Now`] its envelope is to
    /// be delivered.
    ///
    /// # Errors
    /// If the connection cannot go on.
    pub fn take(
        &mut self,
        now: MonoTime,
        frame: &Frame<'_>,
        bytes: usize,
    ) -> Result<Taken, LinkError> {
        let connection = self.connection.as_mut().ok_or(LinkError::NotConnected)?;
        let taken = self.session.take(frame, bytes)?;
        connection.heard = true;
        connection.owe(now, &self.session);
        self.backoff.reset();
        Ok(taken)
    }

    /// Adds the beat or acknowledgement that is due to `out`, if one is. Does nothing without a
    /// connection.
    ///
    /// # Errors
    /// If the peer has been silent or deaf for too long.
    pub fn poll(&mut self, now: MonoTime, out: &mut Vec<u8>) -> Result<(), LinkError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if connection.is_due(now, &self.session, self.limits.silence)? {
            connection.acknowledge_at = MonoTime::NEVER;
            self.session.beat(out);
        }
        Ok(())
    }

    /// As [`Link::poll`] while the connection takes no more bytes: those that wait are a sign of life
    /// once they move, so nothing is added to them.
    ///
    /// # Errors
    /// If the peer has been silent or deaf for too long.
    pub fn poll_blocked(&mut self, now: MonoTime) -> Result<(), LinkError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if connection.is_due(now, &self.session, self.limits.silence)? {
            connection.acknowledge_at = now.after(Self::ACKNOWLEDGE_DELAY);
        }
        Ok(())
    }

    /// When [`Link::poll`] has something to do; never without a connection.
    #[must_use]
    pub fn deadline(&self) -> MonoTime {
        let Some(connection) = &self.connection else { return MonoTime::NEVER };
        match self.session.owes() {
            true => connection.acknowledge_at.min(connection.beat_at),
            false => connection.beat_at,
        }
    }
}

/// What is due on a connection, and whether the peer still speaks and listens: looked at with each
/// beat.
#[derive(Debug)]
struct Connection {
    beat_at: MonoTime,
    acknowledge_at: MonoTime,
    /// Whether anything was heard since the last beat.
    heard: bool,
    /// Beats in a row before which nothing was heard.
    silent: u32,
    /// Up to which of our messages the peer had acknowledged at the last beat.
    acknowledged: u64,
    /// Beats in a row before which it acknowledged nothing, though it had something to.
    deaf: u32,
}

impl Connection {
    fn new(now: MonoTime, link: &Link) -> Self {
        let mut connection = Connection {
            beat_at: now.after(beat_interval(link.limits.silence)),
            acknowledge_at: MonoTime::NEVER,
            heard: true,
            silent: 0,
            acknowledged: link.session.acknowledged(),
            deaf: 0,
        };
        connection.owe(now, &link.session);
        connection
    }

    /// Sees to it that what was taken is acknowledged in time.
    fn owe(&mut self, now: MonoTime, session: &Session) {
        if session.owes() {
            let delay = if session.owes_much() { Duration::ZERO } else { Link::ACKNOWLEDGE_DELAY };
            self.acknowledge_at = self.acknowledge_at.min(now.after(delay));
        }
    }

    /// Whether a beat is to be sent.
    fn is_due(
        &mut self,
        now: MonoTime,
        session: &Session,
        silence: Duration,
    ) -> Result<bool, LinkError> {
        let beats = now >= self.beat_at;
        if beats {
            // Counted from now: whoever was asleep gives the peer the time to speak.
            self.beat_at = now.after(beat_interval(silence));
            self.check(session, silence)?;
        }
        Ok(beats || session.owes() && now >= self.acknowledge_at)
    }

    fn check(&mut self, session: &Session, silence: Duration) -> Result<(), LinkError> {
        self.silent = if self.heard { 0 } else { self.silent + 1 };
        self.heard = false;
        let acknowledged = session.acknowledged();
        let listens = session.unacknowledged() == 0 || acknowledged > self.acknowledged;
        self.deaf = if listens { 0 } else { self.deaf + 1 };
        self.acknowledged = acknowledged;
        if self.silent >= Link::BEATS {
            Err(LinkError::Silent(silence))
        } else if self.deaf > Link::BEATS {
            // One more than for silence: what was sent just before a beat is acknowledged after it.
            Err(LinkError::Deaf(silence))
        } else {
            Ok(())
        }
    }
}

fn beat_interval(silence: Duration) -> Duration {
    (silence / Link::BEATS).max(Duration::from_millis(1))
}

/// How long to wait before the next dial: twice as long each time.
#[derive(Debug)]
struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    fn new(limits: &Limits) -> Self {
        let longest = limits.backoff_longest;
        let first = limits.backoff_first.min(longest);
        Backoff { first, longest, next: first }
    }

    fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = (2 * wait).min(self.longest);
        wait
    }

    /// The peer is there and makes sense: the next loss is news.
    fn reset(&mut self) {
        self.next = self.first;
    }
}
