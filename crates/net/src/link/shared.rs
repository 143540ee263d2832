//! What all links of a node share: who the members are, and what it takes to connect to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, Weak};

use skeptron_member::link::handshake::{HandshakeRefusal, Hello, Terms};
use skeptron_member::report::{LinkState, MemberStatus};
use skeptron_member::view::{Member, View};
use skeptron_member::wire::Envelope;
use skeptron_member::{Limits, MemberId};

use super::Inbox;
use super::block::Blocked;
use super::connect::Protection;
use super::peer::{Peer, Signals};
use crate::config::Config;
use crate::observe::Observer;

/// What all links of a node share.
pub(crate) struct Shared {
    pub(crate) me: MemberId,
    pub(crate) limits: Limits,
    pub(crate) protection: Protection,
    pub(crate) blocked: Blocked,
    pub(crate) signals: Arc<Signals>,
    /// Who takes what arrives; weak, since it usually owns the links.
    pub(crate) inbox: OnceLock<Weak<dyn Inbox>>,
    terms: Terms,
    membership: RwLock<Membership>,
    /// Whether any link has something that is not yet on its connection, or something is to be told.
    is_dirty: AtomicBool,
    /// Why a message could not be sent, until the inbox is told.
    unsendable: Mutex<Option<String>>,
    has_unsendable: AtomicBool,
}

/// The view, and a link to each other member of it.
#[derive(Clone)]
struct Membership {
    view: Arc<View>,
    /// By ascending id, this node left out. Behind an `Arc`, so that flushing holds no lock.
    peers: Arc<[Arc<Peer>]>,
}

/// Whose links began and ended with a view.
pub(crate) struct Change {
    pub(crate) joined: Vec<Arc<Peer>>,
    pub(crate) left: Vec<Arc<Peer>>,
}

impl Shared {
    pub(crate) fn new(
        config: &Config,
        incarnation: u64,
        view: Arc<View>,
        (protection, blocked): (Protection, Blocked),
        observer: Arc<Observer>,
    ) -> Self {
        let shared = Shared {
            me: config.node,
            limits: config.limits,
            protection,
            blocked,
            signals: Arc::new(Signals::new(observer)),
            inbox: OnceLock::new(),
            terms: Terms::new(&config.cluster, config.node, incarnation, &config.plans),
            membership: RwLock::new(Membership { view: Arc::clone(&view), peers: Arc::new([]) }),
            is_dirty: AtomicBool::new(false),
            unsendable: Mutex::default(),
            has_unsendable: AtomicBool::new(false),
        };
        let others = shared.others(&view).into_iter();
        let peers = others.map(|member| shared.new_peer(member)).collect();
        *shared.membership.write().unwrap_or_else(PoisonError::into_inner) =
            Membership { view, peers };
        shared
    }

    /// Whoever may be at the other end of a link, by ascending id. A life that is away keeps its link:
    /// it may come back, and then nothing of what was said may be missing.
    fn others<'a>(&self, view: &'a View) -> Vec<&'a Member> {
        let lives = view.members.iter().chain(&view.away);
        let mut others: Vec<&Member> = lives.filter(|life| life.id != self.me).collect();
        others.sort_by_key(|life| life.id);
        others
    }

    fn new_peer(&self, member: &Member) -> Arc<Peer> {
        Arc::new(Peer::new(self.me, member, &self.limits, Arc::clone(&self.signals)))
    }

    fn membership(&self) -> RwLockReadGuard<'_, Membership> {
        self.membership.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// All links at the moment.
    pub(crate) fn peers(&self) -> Arc<[Arc<Peer>]> {
        Arc::clone(&self.membership().peers)
    }

    /// The link to that member; none to oneself or a stranger.
    pub(crate) fn peer(&self, id: MemberId) -> Option<Arc<Peer>> {
        self.membership().peer(id).cloned()
    }

    /// From now on these are the members; none changed if the view is not a later one.
    pub(crate) fn set_view(&self, view: &Arc<View>) -> Option<Change> {
        let mut membership = self.membership.write().unwrap_or_else(PoisonError::into_inner);
        if view.epoch <= membership.view.epoch {
            return None;
        }
        let mut joined = Vec::new();
        let mut peers = Vec::with_capacity(view.members.len());
        for member in self.others(view) {
            if let Some(peer) = membership.peer(member.id) {
                // Before anybody can send in the new view: not a message may get into the session of
                // a former life.
                peer.update(member);
                peers.push(Arc::clone(peer));
            } else {
                let peer = self.new_peer(member);
                joined.push(Arc::clone(&peer));
                peers.push(peer);
            }
        }
        let stays = |peer: &&Arc<Peer>| view.life(peer.id).is_some();
        let left = membership.peers.iter().filter(|peer| !stays(peer)).cloned().collect();
        *membership = Membership { view: Arc::clone(view), peers: peers.into() };
        Some(Change { joined, left })
    }

    /// What this node says of itself to a peer, and the only life of the peer that may answer.
    pub(crate) fn hello(&self, peer: &Peer) -> (Hello, Option<u64>) {
        let view = Arc::clone(&self.membership().view);
        let (known, received) = peer.known();
        (self.terms.hello(peer.id, &view, received), known)
    }

    /// Whether whoever says this is the other end of one of our links.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn check(&self, hello: &Hello, known: Option<u64>) -> Result<(), HandshakeRefusal> {
        let view = Arc::clone(&self.membership().view);
        self.terms.check(hello, &view, known)
    }

    /// The lives to which there is no connection now.
    pub(crate) fn unreachable(&self) -> Vec<u64> {
        let membership = self.membership().clone();
        let down = membership.peers.iter().filter(|peer| !peer.is_up());
        down.filter_map(|peer| membership.view.life(peer.id)?.incarnation).collect()
    }

    /// All members, this node included.
    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        let membership = self.membership().clone();
        let status = |member: &Member| match membership.peer(member.id) {
            Some(peer) => peer.status(),
            None => MemberStatus {
                node: member.id,
                address: member.address.clone(),
                api: Vec::new(),
                life: None,
                link: LinkState::Own,
                trouble: None,
                down_ms: None,
                connects: 0,
                unacknowledged: 0,
            },
        };
        membership.view.members.iter().map(status).collect()
    }

    pub(crate) fn send(&self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        let sent = match self.membership().peer(to) {
            Some(peer) => peer.send(envelope),
            None => return 0,
        };
        let sequence = sent.unwrap_or_else(|error| {
            let why = format!(
                "a message to {to} could not be sent: {error}; raise `limits.frame_bytes` on all \
                 members"
            );
            tracing::error!(peer = %to, why);
            *self.unsendable.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            self.has_unsendable.store(true, Ordering::Release);
            0
        });
        self.is_dirty.store(true, Ordering::Release);
        sequence
    }

    pub(crate) fn flush(&self) {
        // Looking is cheaper than swapping, and most often there is nothing.
        if !self.is_dirty.load(Ordering::Acquire) || !self.is_dirty.swap(false, Ordering::AcqRel) {
            return;
        }
        self.peers().iter().for_each(|peer| peer.flush());
        if self.has_unsendable.load(Ordering::Acquire) {
            self.tell_unsendable();
        }
    }

    /// A message that is lost may be a token: the node cannot go on.
    fn tell_unsendable(&self) {
        let Some(inbox) = self.inbox.get() else {
            // Not started yet: the first flush after that tells it.
            self.is_dirty.store(true, Ordering::Release);
            return;
        };
        self.has_unsendable.store(false, Ordering::Release);
        let why = self.unsendable.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(inbox), Some(why)) = (inbox.upgrade(), why) {
            inbox.cannot_go_on(why);
        }
    }
}

impl Membership {
    fn peer(&self, id: MemberId) -> Option<&Arc<Peer>> {
        let place = self.peers.binary_search_by_key(&id, |peer| peer.id).ok()?;
        Some(&self.peers[place])
    }
}
