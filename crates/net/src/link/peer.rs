//! One link as the rest of the node sees it: the member core's [`Link`] and the connection that it has
//! at the moment.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use skeptron_member::clock::MonoTime;
use skeptron_member::link::handshake::Hello;
use skeptron_member::link::session::{Frame, Taken};
use skeptron_member::link::{Link, LinkError};
use skeptron_member::report::{LinkState, MemberStatus, milliseconds};
use skeptron_member::view::Member;
use skeptron_member::wire::{Envelope, FrameError};
use skeptron_member::{Limits, MemberId};
use tokio::sync::Notify;

use super::connect::Connection;
use super::transport::{Receiving, Sending, Sent};
use crate::env;
use crate::observe::{Observer, PeerLabels, What};

/// Another member, and the link to it.
pub(crate) struct Peer {
    pub(crate) id: MemberId,
    /// Never held while the inbox takes anything, so that it may send.
    state: Mutex<State>,
    /// Whether something is not yet on the connection.
    is_dirty: AtomicBool,
    is_congested: AtomicBool,
    /// Calls the link's task: there is a newer connection or another life of the peer, the current
    /// connection is to be cut or has broken, or it took no more.
    pub(crate) wake: Notify,
    signals: Arc<Signals>,
    connects: Counter,
    unacknowledged_bytes: Gauge,
}

/// How long the first connection with a new member may take before the log warns.
const FIRST_UP_WITHIN: Duration = Duration::from_secs(1);

/// What the links of a node tell the rest of it.
pub(crate) struct Signals {
    pub(crate) observer: Arc<Observer>,
    /// How many links are congested.
    pub(crate) congested: AtomicUsize,
    /// A link came up, went down, was relieved or drained, or there are other links.
    pub(crate) changed: Notify,
}

struct State {
    link: Link,
    /// Where the peer listens.
    address: String,
    /// The connection, if there is one.
    sending: Option<Sending>,
    /// Whether the system took no more when last asked.
    is_blocked: bool,
    /// A newer connection that the peer has made.
    offered: Option<Box<Connection>>,
    /// Why the connection is to be given up.
    end: Option<End>,
    /// Why the link is down.
    trouble: Option<String>,
    /// Since when it has been.
    down: MonoTime,
    /// What of that the log says already.
    logged: Option<String>,
    connects: u64,
    /// Whether the node has stopped or the peer has left: no more connections.
    is_closed: bool,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    /// The network's doing, or the peer's.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The peer's fault.
    #[error("it sent {0}")]
    Frame(#[from] FrameError),
    /// The rules of the link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// There is a newer connection.
    #[error("the peer has reconnected")]
    Replaced,
    /// The view names another life of the peer.
    #[error("the peer has been restarted")]
    Restarted,
    /// Somebody wanted it so.
    #[error("cut on request")]
    Cut,
    /// The view names the peer no longer.
    #[error("the peer has left")]
    Left,
    /// The node stops.
    #[error("this node stops")]
    Stopped,
}

/// What the link's task is to do.
pub(crate) enum Call {
    /// Give the connection up.
    End(End),
    /// Wait until the system takes more.
    Blocked,
    Nothing,
}

impl Signals {
    pub(crate) fn new(observer: Arc<Observer>) -> Self {
        Signals { observer, congested: AtomicUsize::new(0), changed: Notify::new() }
    }
}

impl Peer {
    pub(crate) fn new(
        me: MemberId,
        member: &Member,
        limits: &Limits,
        signals: Arc<Signals>,
    ) -> Self {
        let link = Link::new(me, member.id, member.incarnation, limits);
        let trouble = if link.dials() { "not connected yet" } else { "it has not connected yet" };
        let labels = labels(member.id);
        let connects = signals.observer.connects.get_or_create(&labels).clone();
        let unacknowledged_bytes = &signals.observer.unacknowledged_bytes;
        let unacknowledged_bytes = unacknowledged_bytes.get_or_create(&labels).clone();
        Peer {
            id: member.id,
            state: Mutex::new(State {
                link,
                address: member.address.clone(),
                sending: None,
                is_blocked: false,
                offered: None,
                end: None,
                trouble: Some(trouble.to_string()),
                down: env::now(),
                logged: None,
                connects: 0,
                is_closed: false,
            }),
            is_dirty: AtomicBool::new(false),
            is_congested: AtomicBool::new(false),
            wake: Notify::new(),
            signals,
            connects,
            unacknowledged_bytes,
        }
    }

    /// A panic elsewhere leaves the state as it was between two steps.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> MemberStatus {
        let state = self.lock();
        MemberStatus {
            node: self.id,
            address: state.address.clone(),
            api: Vec::new(),
            life: None,
            link: if state.sending.is_some() { LinkState::Up } else { LinkState::Down },
            trouble: state.trouble.clone(),
            down_ms: state.down_for().map(milliseconds),
            connects: state.connects,
            unacknowledged: state.link.unacknowledged() as u64,
        }
    }

    /// Where the peer listens.
    pub(crate) fn address(&self) -> String {
        self.lock().address.clone()
    }

    /// Whether this end dials.
    pub(crate) fn dials(&self) -> bool {
        self.lock().link.dials()
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        self.lock().sending.is_some()
    }

    /// For how long there has been none.
    pub(crate) fn down_for(&self) -> Option<Duration> {
        self.lock().down_for()
    }

    /// Whether there is no connection, or everything is acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        let state = self.lock();
        state.sending.is_none() || state.link.unacknowledged() == 0
    }

    /// Whether the peer is so far behind that no new request should be begun.
    pub(crate) fn is_congested(&self) -> bool {
        self.is_congested.load(Ordering::Relaxed)
    }

    /// The accepted life of the peer, and how much was received from it: of the same moment, since a
    /// hello that counts what one life sent must not be believed by another.
    pub(crate) fn known(&self) -> (Option<u64>, u64) {
        let state = self.lock();
        (state.link.incarnation(), state.link.received())
    }

    /// Puts it at the end of the queue; returns its number.
    ///
    /// # Errors
    /// If it is too long.
    pub(crate) fn send(&self, envelope: &Envelope<'_>) -> Result<u64, FrameError> {
        let mut state = self.lock();
        let sequence = state.link.send(envelope)?;
        self.weigh(&state);
        self.is_dirty.store(true, Ordering::Release);
        Ok(sequence)
    }

    /// Sends what is queued since it was last called, as far as the system takes it now.
    pub(crate) fn flush(&self) {
        // Looking is cheaper than swapping.
        if self.is_dirty.load(Ordering::Acquire) && self.is_dirty.swap(false, Ordering::AcqRel) {
            self.flush_state(&mut self.lock());
        }
    }

    /// The system takes more again.
    pub(crate) fn flush_on(&self) {
        self.flush_state(&mut self.lock());
    }

    fn flush_state(&self, state: &mut State) {
        let Some(sending) = &mut state.sending else { return };
        let sent = sending.send(&mut state.link);
        state.is_blocked = matches!(sent, Ok(Sent::Some));
        if let Err(error) = sent {
            state.end.get_or_insert(End::Io(error));
        }
        if state.is_blocked || state.end.is_some() {
            self.wake.notify_one();
        }
    }

    /// Takes note of how much is unacknowledged.
    fn weigh(&self, state: &State) {
        let bytes = state.link.unacknowledged_bytes();
        self.unacknowledged_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        // Changed only under the mutex of the state.
        let is_congested = state.link.is_congested() && !state.is_closed;
        if is_congested == self.is_congested.load(Ordering::Relaxed) {
            return;
        }
        self.is_congested.store(is_congested, Ordering::Relaxed);
        if is_congested {
            self.signals.congested.fetch_add(1, Ordering::Relaxed);
        } else {
            self.signals.congested.fetch_sub(1, Ordering::Relaxed);
            self.signals.changed.notify_waiters();
        }
    }

    /// When to dial the peer.
    pub(crate) fn next_dial(&self) -> MonoTime {
        self.lock().link.next_dial()
    }

    /// Dialling failed.
    pub(crate) fn dial_failed(&self, now: MonoTime, why: String) {
        self.lock().link.dial_failed(now);
        self.complain(now, why);
    }

    /// Says why the link is down, unless it is up; in the log only if that is news. A view reaches one
    /// member before another: a link that has never been up is not worth a warning at once.
    pub(crate) fn complain(&self, now: MonoTime, why: String) {
        let mut state = self.lock();
        if state.sending.is_some() {
            return;
        }
        let is_new = state.connects == 0 && now.since(state.down) < FIRST_UP_WITHIN;
        if is_new {
            tracing::debug!(peer = %self.id, why, "link not up yet");
        } else if state.logged.as_ref() != Some(&why) {
            tracing::warn!(peer = %self.id, why, "link down");
            state.logged = Some(why.clone());
        }
        state.trouble = Some(why);
    }

    /// A connection has been made: puts it in place of whatever there was.
    ///
    /// # Errors
    /// If its other end is not the one that we have spoken to before.
    pub(crate) fn install(
        &self,
        now: MonoTime,
        sending: Sending,
        hello: &Hello,
    ) -> Result<(), End> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(End::Stopped);
        }
        state.link.connected(now, hello)?;
        state.end = None;
        (state.trouble, state.logged) = (None, None);
        state.connects += 1;
        state.sending = Some(sending);
        self.flush_state(&mut state);
        self.weigh(&state);
        drop(state);
        self.connects.inc();
        tracing::info!(peer = %self.id, "link up");
        self.signals.observer.tell(|| What::LinkUp { peer: self.id });
        self.signals.changed.notify_waiters();
        Ok(())
    }

    /// The connection is no more.
    pub(crate) fn uninstall(&self, now: MonoTime, why: End) {
        let mut state = self.lock();
        let why = match (why, state.end.take()) {
            (End::Link(LinkError::NotConnected), Some(cause)) => cause,
            (why, _) => why,
        };
        // A new life is dialled at once.
        if !matches!(why, End::Restarted) {
            state.link.disconnected(now);
        }
        let had_one = state.disconnect(now);
        drop(state);
        self.complain(now, why.to_string());
        if had_one {
            self.tell_down(&why);
        }
    }

    fn tell_down(&self, why: &End) {
        self.signals.observer.tell(|| What::LinkDown { peer: self.id, why: why.to_string() });
        self.signals.changed.notify_waiters();
    }

    /// Takes what a frame says of the link itself.
    ///
    /// # Errors
    /// If the connection cannot go on.
    pub(crate) fn take(
        &self,
        now: MonoTime,
        frame: &Frame<'_>,
        bytes: usize,
    ) -> Result<Taken, End> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(End::Stopped);
        }
        let had = state.link.unacknowledged();
        let taken = state.link.take(now, frame, bytes)?;
        let has = state.link.unacknowledged();
        if has != had {
            self.weigh(&state);
            if has == 0 {
                self.signals.changed.notify_waiters();
            }
        }
        Ok(taken)
    }

    /// After a batch was taken, or at the deadline that this returned before: sends what is due, and
    /// says when to be called next.
    ///
    /// # Errors
    /// If the peer is silent or deaf for too long.
    pub(crate) fn poll(&self, now: MonoTime) -> Result<MonoTime, End> {
        let mut state = self.lock();
        let State { link, sending: Some(sending), is_blocked, .. } = &mut *state else {
            return Ok(MonoTime::NEVER);
        };
        if *is_blocked {
            link.poll_blocked(now)?;
        } else {
            link.poll(now, sending.outgoing())?;
            // TLS itself may have something to say, too.
            if !sending.outgoing().is_empty() || sending.tls().is_some() {
                self.flush_state(&mut state);
            }
        }
        Ok(state.link.deadline())
    }

    /// Bytes have arrived.
    pub(crate) fn heard(&self) {
        self.lock().link.heard();
    }

    /// The peer has made a newer connection.
    pub(crate) fn offer(&self, connection: Connection) {
        let mut state = self.lock();
        if !state.is_closed {
            state.offered = Some(Box::new(connection));
            self.wake.notify_one();
        }
    }

    /// Waits for a connection that the peer makes.
    pub(crate) async fn offered(&self) -> Connection {
        loop {
            if let Some(connection) = self.lock().offered.take() {
                return *connection;
            }
            self.wake.notified().await;
        }
    }

    /// Gives the connection up, if there is one.
    pub(crate) fn end(&self, why: End) {
        let mut state = self.lock();
        if state.sending.is_some() {
            state.end.get_or_insert(why);
            self.wake.notify_one();
        }
    }

    /// Why the link's task was called.
    pub(crate) fn call(&self) -> Call {
        let mut state = self.lock();
        if let Some(why) = state.end.take() {
            Call::End(why)
        } else if state.offered.is_some() {
            Call::End(End::Replaced)
        } else if state.is_blocked {
            Call::Blocked
        } else {
            Call::Nothing
        }
    }

    /// Deciphers some more of what was read, if TLS is used; `false` if nothing is left.
    ///
    /// # Errors
    /// If it was not written by the peer.
    pub(crate) fn decipher(&self, receiving: &mut Receiving) -> Result<bool, End> {
        let mut state = self.lock();
        let sending = state.sending.as_mut().ok_or(LinkError::NotConnected)?;
        Ok(receiving.decipher(sending.tls())?)
    }

    /// A later view says this of the peer. If it is another life, the link begins anew.
    pub(crate) fn update(&self, member: &Member) {
        let mut state = self.lock();
        state.address.clone_from(&member.address);
        if !state.link.replace(member.incarnation) {
            return;
        }
        // Nothing of the new session may get onto the old connection.
        let had_one = state.disconnect(env::now());
        state.end = had_one.then_some(End::Restarted);
        state.is_blocked = false;
        self.weigh(&state);
        drop(state);
        // Its task may also wait to dial: now is the time.
        self.wake.notify_one();
        if had_one {
            self.tell_down(&End::Restarted);
        }
    }

    /// Closes the socket for good; the link's task must be ended, too.
    pub(crate) fn close(&self, why: &End) {
        let mut state = self.lock();
        state.is_closed = true;
        state.offered = None;
        let had_one = state.disconnect(env::now());
        self.weigh(&state);
        drop(state);
        if matches!(why, End::Left) {
            self.signals.observer.unacknowledged_bytes.remove(&labels(self.id));
        }
        if had_one {
            self.tell_down(why);
        }
    }
}

impl State {
    /// Whether there was a connection until now.
    fn disconnect(&mut self, now: MonoTime) -> bool {
        let had_one = self.sending.take().is_some();
        if had_one {
            self.down = now;
        }
        had_one
    }

    fn down_for(&self) -> Option<Duration> {
        self.sending.is_none().then(|| env::now().since(self.down))
    }
}

fn labels(id: MemberId) -> PeerLabels {
    PeerLabels { peer: id.to_string() }
}
