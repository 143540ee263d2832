//! Links: what one member sends another arrives exactly once and in order, over connections that may
//! break at any time. The rules are [`skeptron_member::link`]; here are the sockets.

pub(crate) mod block;
pub(crate) mod connect;
pub(crate) mod listen;
mod peer;
mod shared;
mod task;
pub(crate) mod transport;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use skeptron_member::MemberId;
use skeptron_member::report::MemberStatus;
use skeptron_member::view::View;
use skeptron_member::wire::Envelope;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use self::listen::Listener;
use self::peer::{End, Peer};
use self::shared::{Change, Shared};
use crate::config::Config;
use crate::env;
use crate::observe::Observer;
use crate::supervise::supervised;
use crate::tls::TlsError;

/// Takes what is to be sent. Implemented by [`Links`]; the shell's tests have one in memory.
pub(crate) trait LinkSender: Send + Sync + 'static {
    /// Puts it at the end of the link's queue, and says which number it has there; 0 if there is no
    /// such link, or if it is too long, of which [`LinkSender::flush`] tells the inbox. Never blocks; nothing
    /// is on its way before [`LinkSender::flush`]. To be called under the lock's own mutex, so that the order
    /// of steps is the order on the link.
    fn send(&self, to: MemberId, envelope: &Envelope<'_>) -> u64;

    /// Sends what is queued on all links, as far as they take it now; the rest follows by itself.
    /// To be called without holding any lock's mutex.
    fn flush(&self);

    /// Whether this peer is connected.
    fn is_up(&self, peer: MemberId) -> bool;

    /// For how long this peer has not been connected; none if it is, or is no peer.
    fn down_for(&self, peer: MemberId) -> Option<Duration>;

    /// Whether this peer is so far behind that no new request to it should be begun.
    fn is_congested(&self, peer: MemberId) -> bool;

    /// Whether any peer is.
    fn congested(&self) -> bool;

    /// Waits until this peer is not that far behind, or has left.
    fn relieved(&self, peer: MemberId) -> BoxFuture<'_, ()>;
}

/// Takes what has arrived, in order, each exactly once.
pub(crate) trait Inbox: Send + Sync + 'static {
    /// `from` sent this with that number on the link. It may have left the view, or begun another life
    /// in it, a moment ago. A message that no correct node would have sent is dropped and counted by
    /// the receiver of it.
    fn receive(&self, from: MemberId, sequence: u64, envelope: &Envelope<'_>);

    /// A message could not be sent and is lost, which may have been a token. Called by
    /// [`LinkSender::flush`].
    fn cannot_go_on(&self, why: String);
}

/// Why there can be no links.
#[derive(Debug, Error)]
pub enum LinksError {
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// It cannot listen.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
}

/// The links of one member, in this life, to all other members of the view.
///
/// The inbox is held weakly, since it usually owns the links; dropping them ends their tasks and
/// closes their sockets, as does [`Links::stop`].
pub(crate) struct Links {
    shared: Arc<Shared>,
    /// Held while links begin and end, never by their tasks.
    tasks: Mutex<Tasks>,
    /// Callers must be heard as long as anybody uses the links.
    _listener: Arc<Listener>,
}

#[derive(Default)]
struct Tasks {
    /// From [`Links::start`] to [`Links::stop`].
    runtime: Option<Handle>,
    keeping: BTreeMap<MemberId, AbortHandle>,
}

impl Links {
    /// Links to the other members of `view`; nothing happens before [`Links::start`]. To be called
    /// inside a tokio runtime.
    pub(crate) fn new(
        config: &Config,
        incarnation: u64,
        view: Arc<View>,
        listener: &Arc<Listener>,
        observer: Arc<Observer>,
    ) -> Arc<Links> {
        let guarded = (listener.protection(), listener.blocked());
        let shared = Arc::new(Shared::new(config, incarnation, view, guarded, observer));
        Arc::new(Links { shared, tasks: Mutex::default(), _listener: Arc::clone(listener) })
    }

    /// Begins to connect; a second call does nothing. Callers come by way of
    /// [`listen::Listener::serve`]. To be called inside a tokio runtime.
    pub(crate) fn start(&self, inbox: &Arc<dyn Inbox>) {
        let mut tasks = self.tasks();
        if tasks.runtime.is_some() {
            return;
        }
        self.shared.inbox.get_or_init(|| Arc::downgrade(inbox));
        tasks.runtime = Some(Handle::current());
        for peer in &*self.shared.peers() {
            tasks.keep(&self.shared, peer);
        }
    }

    /// From now on these are the members: links to new ones begin, those to others end, and where the
    /// view names another life of a member its link begins anew. An older view changes nothing.
    ///
    /// A life that is neither in the view nor away must never come back.
    pub(crate) fn set_view(&self, view: &Arc<View>) {
        let mut tasks = self.tasks();
        let Some(Change { joined, left }) = self.shared.set_view(view) else { return };
        for peer in &left {
            if let Some(task) = tasks.keeping.remove(&peer.id) {
                task.abort();
            }
            peer.close(&End::Left);
        }
        for peer in &joined {
            tasks.keep(&self.shared, peer);
        }
        self.shared.signals.changed.notify_waiters();
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All members as this node sees them, itself included.
    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        self.shared.members()
    }

    /// Cuts the connection to a peer, if there is one; it is connected anew.
    pub(crate) fn cut(&self, peer: MemberId) {
        if let Some(peer) = self.shared.peer(peer) {
            peer.end(End::Cut);
        }
    }

    /// Connects to all peers anew.
    pub(crate) fn cut_all(&self) {
        self.shared.peers().iter().for_each(|peer| peer.end(End::Cut));
    }

    /// Waits until all links are up at once.
    pub(crate) async fn all_up(&self) {
        self.until(|shared| shared.peers().iter().all(|peer| peer.is_up())).await;
    }

    /// Whether they have been started and not stopped.
    pub(crate) fn are_running(&self) -> bool {
        self.tasks().runtime.is_some()
    }

    /// Waits until a link comes up or goes down, or there are other links.
    pub(crate) async fn changed(&self) {
        self.shared.signals.changed.notified().await;
    }

    /// The lives to which there is no connection now.
    pub(crate) fn unreachable(&self) -> Vec<u64> {
        self.shared.unreachable()
    }

    /// Waits until every peer that is connected has acknowledged everything.
    pub(crate) async fn drained(&self) {
        self.until(|shared| shared.peers().iter().all(|peer| peer.is_drained())).await;
    }

    /// Ends all tasks and closes all sockets. Nothing is sent or received any more.
    pub(crate) fn stop(&self) {
        let Tasks { keeping, .. } = std::mem::take(&mut *self.tasks());
        keeping.values().for_each(AbortHandle::abort);
        for peer in &*self.shared.peers() {
            peer.close(&End::Stopped);
        }
    }

    async fn until(&self, holds: impl Fn(&Shared) -> bool) {
        loop {
            let changed = self.shared.signals.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed, so looking comes second.
            changed.as_mut().enable();
            if holds(&self.shared) {
                return;
            }
            changed.await;
        }
    }
}

impl Tasks {
    fn keep(&mut self, shared: &Arc<Shared>, peer: &Arc<Peer>) {
        if let Some(runtime) = &self.runtime {
            let keeping = task::keep(Arc::clone(shared), Arc::clone(peer));
            let observer = Arc::clone(&shared.signals.observer);
            let task = runtime.spawn(supervised(observer, "a link", keeping));
            self.keeping.insert(peer.id, task.abort_handle());
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").field("node", &self.shared.me).finish_non_exhaustive()
    }
}

impl LinkSender for Links {
    fn send(&self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        self.shared.send(to, envelope)
    }

    fn flush(&self) {
        self.shared.flush();
    }

    fn is_up(&self, peer: MemberId) -> bool {
        self.shared.peer(peer).is_some_and(|peer| peer.is_up())
    }

    fn down_for(&self, peer: MemberId) -> Option<Duration> {
        self.shared.peer(peer)?.down_for()
    }

    fn is_congested(&self, peer: MemberId) -> bool {
        self.shared.peer(peer).is_some_and(|peer| peer.is_congested())
    }

    fn congested(&self) -> bool {
        self.shared.signals.congested.load(Ordering::Relaxed) > 0
    }

    fn relieved(&self, id: MemberId) -> BoxFuture<'_, ()> {
        self.until(move |shared| shared.peer(id).is_none_or(|peer| !peer.is_congested())).boxed()
    }
}

/// A number that no other life of any member has.
pub(crate) fn draw_incarnation() -> u64 {
    u64::from_le_bytes(env::random().expect("the system has a source of randomness"))
}
