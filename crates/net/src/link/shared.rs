//! What all links of a node share, and each link as others see it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use skeptron_core::NodeId;
use tokio::sync::Notify;

use super::Inbox;
use super::connect::{Connection, Protection};
use super::handshake::{Hello, Refusal, Terms};
use super::session::{Broken, Frame, Session, SessionLimits, Taken};
use super::transport::{Receiving, Sending, Sent};
use crate::config::Limits;
use crate::observe::{Observer, PeerLabels, What};
use crate::report::{LinkState, MemberStatus};
use crate::view::View;
use crate::wire::Envelope;

/// What all links of a node share.
pub(crate) struct Shared {
    pub(crate) me: NodeId,
    pub(crate) limits: Limits,
    pub(crate) protection: Protection,
    pub(crate) observer: Arc<Observer>,
    /// Who takes what arrives; weak, since it usually owns the links.
    pub(crate) inbox: OnceLock<Weak<dyn Inbox>>,
    view: Arc<View>,
    terms: Terms,
    epoch: AtomicU64,
    /// By peer, this node left out.
    links: Vec<Link>,
    /// Whether any link has something that is not yet on its connection.
    is_dirty: AtomicBool,
    /// How many links are congested.
    congested: AtomicUsize,
    /// A link came up, went down, was relieved or drained.
    pub(crate) changed: Notify,
}

/// One link.
pub(crate) struct Link {
    pub(crate) peer: NodeId,
    /// Never held while the inbox takes anything, so that it may send.
    state: Mutex<State>,
    /// Whether something is not yet on the connection.
    is_dirty: AtomicBool,
    /// Calls the link's task: there is a newer connection, the current one is to be cut or has
    /// broken, or it took no more.
    pub(crate) wake: Notify,
    connects: Counter,
    unacknowledged_bytes: Gauge,
}

struct State {
    session: Session,
    /// The connection, if there is one.
    sending: Option<Sending>,
    /// Whether the system took no more when last asked.
    is_blocked: bool,
    /// A newer connection that the peer has made.
    offered: Option<Box<Connection>>,
    /// Why the connection is to be given up.
    end: Option<End>,
    /// The only life of the peer that is accepted, once one is chosen.
    incarnation: Option<u64>,
    /// Why the link is down.
    trouble: Option<String>,
    connects: u64,
    is_congested: bool,
    /// Whether the node has stopped: no more connections.
    is_stopped: bool,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    /// The network's doing, or the peer's.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The peer's fault.
    #[error("it sent {0}")]
    Frame(#[from] crate::wire::FrameError),
    /// Something was lost or turned away.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// Nothing heard.
    #[error("nothing was heard from it for {0:?}")]
    Silent(std::time::Duration),
    /// It does not read.
    #[error("it acknowledged nothing for {0:?}")]
    Deaf(std::time::Duration),
    /// There is a newer connection.
    #[error("the peer has connected anew")]
    Replaced,
    /// Somebody wanted it so.
    #[error("cut on request")]
    Cut,
    /// Another life of the peer came first.
    #[error("{0}")]
    Refused(Refusal),
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
    /// Nothing.
    Nothing,
}

impl Shared {
    pub(crate) fn new(
        config: &crate::config::Config,
        view: Arc<View>,
        protection: Protection,
        incarnation: u64,
        observer: Arc<Observer>,
    ) -> Self {
        let me = config.node;
        let others = view.others(me);
        let link = |peer: NodeId| {
            let known = view.members[peer.index()].incarnation;
            Link::new(me, peer, known, (&config.limits).into(), &observer)
        };
        Shared {
            me,
            limits: config.limits,
            protection,
            inbox: OnceLock::new(),
            terms: Terms::new(config, &view, incarnation),
            epoch: AtomicU64::new(view.epoch),
            links: others.map(link).collect(),
            is_dirty: AtomicBool::new(false),
            congested: AtomicUsize::new(0),
            changed: Notify::new(),
            view,
            observer,
        }
    }

    /// Where a member listens.
    pub(crate) fn address(&self, member: NodeId) -> &str {
        &self.view.members[member.index()].address
    }

    /// All links.
    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    /// The link to that member; none to oneself or a stranger.
    pub(crate) fn link(&self, peer: NodeId) -> Option<&Link> {
        match peer.index() {
            _ if peer == self.me => None,
            index if peer > self.me => self.links.get(index - 1),
            index => self.links.get(index),
        }
    }

    /// What this node says of itself to `peer`.
    pub(crate) fn hello(&self, peer: NodeId) -> Hello {
        let received = self.link(peer).map_or(0, |link| link.lock().session.received());
        self.terms.hello(peer, self.epoch.load(Ordering::Relaxed), received)
    }

    /// Whether whoever says this is the other end of one of our links.
    pub(crate) fn check(&self, hello: &Hello) -> Result<(), Refusal> {
        let known = |peer| self.link(peer).and_then(|link| link.lock().incarnation);
        self.terms.check(hello, self.epoch.load(Ordering::Relaxed), known)
    }

    pub(crate) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// All members, this node included.
    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        let member = |node: NodeId| {
            let address = self.address(node).to_string();
            match self.link(node) {
                Some(link) => link.status(address),
                None => MemberStatus {
                    node,
                    address,
                    link: LinkState::Own,
                    trouble: None,
                    connects: 0,
                    unacknowledged: 0,
                },
            }
        };
        NodeId::all(self.view.nodes()).map(member).collect()
    }

    pub(crate) fn send(&self, to: NodeId, envelope: &Envelope<'_>) -> u64 {
        let Some(link) = self.link(to) else { return 0 };
        let mut state = link.lock();
        let sequence = match state.session.send(envelope) {
            Ok(sequence) => sequence,
            Err(error) => {
                tracing::error!(
                    peer = %to, %error,
                    "a message could not be sent; raise `limits.frame_bytes` on all nodes"
                );
                return 0;
            }
        };
        self.weigh(link, &mut state);
        link.is_dirty.store(true, Ordering::Release);
        self.is_dirty.store(true, Ordering::Release);
        sequence
    }

    pub(crate) fn flush(&self) {
        // Looking is cheaper than swapping, and most often there is nothing.
        if !self.is_dirty.load(Ordering::Acquire) || !self.is_dirty.swap(false, Ordering::AcqRel) {
            return;
        }
        for link in &self.links {
            if link.is_dirty.load(Ordering::Acquire) && link.is_dirty.swap(false, Ordering::AcqRel)
            {
                link.flush(&mut link.lock());
            }
        }
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.congested.load(Ordering::Relaxed) > 0
    }

    /// Takes note of how much is unacknowledged.
    fn weigh(&self, link: &Link, state: &mut State) {
        let bytes = state.session.unacknowledged_bytes();
        link.unacknowledged_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        let is_congested = state.session.is_congested();
        if is_congested == state.is_congested {
            return;
        }
        state.is_congested = is_congested;
        if is_congested {
            self.congested.fetch_add(1, Ordering::Relaxed);
        } else {
            self.congested.fetch_sub(1, Ordering::Relaxed);
            self.changed.notify_waiters();
        }
    }

    /// A connection has been made: puts it in place of whatever there was.
    ///
    /// # Errors
    /// If its other end is not the one that we have spoken to before.
    pub(crate) fn install(&self, link: &Link, sending: Sending, hello: &Hello) -> Result<(), End> {
        let mut state = link.lock();
        if state.is_stopped {
            return Err(End::Stopped);
        }
        if state.incarnation.is_some_and(|known| known != hello.incarnation) {
            return Err(End::Refused(Refusal::Restarted { you: link.peer }));
        }
        state.session.resume(hello.received)?;
        state.incarnation = Some(hello.incarnation);
        state.end = None;
        state.trouble = None;
        state.connects += 1;
        state.sending = Some(sending);
        link.flush(&mut state);
        self.weigh(link, &mut state);
        drop(state);
        link.connects.inc();
        tracing::info!(peer = %link.peer, "link up");
        self.observer.tell(|| What::LinkUp { peer: link.peer });
        self.changed.notify_waiters();
        Ok(())
    }

    /// The connection is no more.
    pub(crate) fn uninstall(&self, link: &Link, why: &End) {
        let had_one = link.lock().sending.take().is_some();
        link.complain(why.to_string());
        if had_one {
            self.observer.tell(|| What::LinkDown { peer: link.peer, why: why.to_string() });
        }
        self.changed.notify_waiters();
    }

    /// Takes what a frame says of the link itself.
    pub(crate) fn take(&self, link: &Link, frame: &Frame<'_>, bytes: usize) -> Result<Taken, End> {
        let mut state = link.lock();
        if state.is_stopped {
            return Err(End::Stopped);
        }
        let had = state.session.unacknowledged();
        let taken = state.session.take(frame, bytes)?;
        let has = state.session.unacknowledged();
        if has != had {
            self.weigh(link, &mut state);
            if has == 0 {
                self.changed.notify_waiters();
            }
        }
        Ok(taken)
    }
}

impl Link {
    fn new(
        me: NodeId,
        peer: NodeId,
        incarnation: Option<u64>,
        limits: SessionLimits,
        observer: &Observer,
    ) -> Self {
        let labels = PeerLabels { peer: peer.to_string() };
        let waiting = if peer > me { "it has not connected yet" } else { "not connected yet" };
        Link {
            peer,
            state: Mutex::new(State {
                session: Session::new(limits),
                sending: None,
                is_blocked: false,
                offered: None,
                end: None,
                incarnation,
                trouble: Some(waiting.to_string()),
                connects: 0,
                is_congested: false,
                is_stopped: false,
            }),
            is_dirty: AtomicBool::new(false),
            wake: Notify::new(),
            connects: observer.connects.get_or_create(&labels).clone(),
            unacknowledged_bytes: observer.unacknowledged_bytes.get_or_create(&labels).clone(),
        }
    }

    /// A panic elsewhere leaves the state as it was between two steps.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, address: String) -> MemberStatus {
        let state = self.lock();
        MemberStatus {
            node: self.peer,
            address,
            link: if state.sending.is_some() { LinkState::Up } else { LinkState::Down },
            trouble: state.trouble.clone(),
            connects: state.connects,
            unacknowledged: state.session.unacknowledged() as u64,
        }
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        self.lock().sending.is_some()
    }

    /// Whether there is no connection, or everything is acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        let state = self.lock();
        state.sending.is_none() || state.session.unacknowledged() == 0
    }

    /// Up to which message the peer has acknowledged, and whether that is all.
    pub(crate) fn acknowledged(&self) -> (u64, bool) {
        let state = self.lock();
        (state.session.acknowledged(), state.session.unacknowledged() == 0)
    }

    /// Says why the link is down, unless it is up; in the log only if that is news.
    pub(crate) fn complain(&self, why: String) {
        let mut state = self.lock();
        if state.sending.is_some() || state.trouble.as_ref() == Some(&why) {
            return;
        }
        tracing::warn!(peer = %self.peer, why, "link down");
        state.trouble = Some(why);
    }

    /// Sends what is queued, as far as the system takes it now.
    fn flush(&self, state: &mut State) {
        let Some(sending) = &mut state.sending else { return };
        let sent = sending.send(&mut state.session);
        self.sent(state, sent);
    }

    fn sent(&self, state: &mut State, sent: io::Result<Sent>) {
        state.is_blocked = matches!(sent, Ok(Sent::Some));
        if let Err(error) = sent {
            state.end.get_or_insert(End::Io(error));
        }
        if state.is_blocked || state.end.is_some() {
            self.wake.notify_one();
        }
    }

    /// The system takes more again.
    pub(crate) fn flush_on(&self) {
        self.flush(&mut self.lock());
    }

    /// After a batch was taken: acknowledges it if it was large, and says whether that is still to be
    /// done.
    pub(crate) fn settle(&self) -> bool {
        let mut state = self.lock();
        if state.sending.as_mut().is_some_and(|sending| sending.tls().is_some()) {
            // TLS itself may have something to say.
            self.flush(&mut state);
        }
        if state.session.owes_much() {
            self.beat(&mut state);
        }
        state.session.owes()
    }

    /// Acknowledges what was taken, if that has not been done; says whether it is still to be done.
    pub(crate) fn acknowledge(&self) -> bool {
        let mut state = self.lock();
        if state.session.owes() {
            self.beat(&mut state);
        }
        state.session.owes()
    }

    /// Gives a sign of life.
    pub(crate) fn give_sign(&self) {
        self.beat(&mut self.lock());
    }

    fn beat(&self, state: &mut State) {
        let Some(sending) = &mut state.sending else { return };
        // Whatever is stuck there is a sign of life, too, once it moves.
        if !state.is_blocked {
            state.session.beat(sending.outgoing());
            let sent = sending.write();
            self.sent(state, sent);
        }
    }

    /// The peer has made a newer connection.
    pub(crate) fn offer(&self, connection: Connection) {
        self.lock().offered = Some(Box::new(connection));
        self.wake.notify_one();
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
    pub(crate) fn decipher(&self, receiving: &mut Receiving) -> Result<bool, End> {
        let mut state = self.lock();
        let sending = state.sending.as_mut().ok_or(End::Stopped)?;
        Ok(receiving.decipher(sending.tls())?)
    }

    /// Closes the socket for good: no task is left to do it.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.sending = None;
        state.offered = None;
    }
}
