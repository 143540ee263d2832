//! Links: what one node sends another arrives exactly once and in order, over connections that may
//! break at any time.

mod connect;
mod handshake;
mod session;
mod shared;
mod task;
mod transport;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{Chance, for_seeds};

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustls::crypto::ring;
use skeptron_core::NodeId;
use tokio::task::AbortHandle;

use self::connect::Protection;
use self::shared::{End, Link, Shared};

use crate::config::{Config, Security};
use crate::node::StartError;
use crate::observe::Observer;
use crate::report::MemberStatus;
use crate::tls::Callers;
use crate::view::View;
use crate::wire::Envelope;

/// Takes what is to be sent. Implemented by [`Links`]; the table's tests have one in memory.
pub(crate) trait Post: Send + Sync + 'static {
    /// Puts it at the end of the link's queue, and says which number it has there; 0 if it cannot be
    /// sent. Never blocks; nothing is on its way before [`Post::flush`]. To be called under the lock's
    /// own mutex, so that the order of steps is the order on the link.
    fn send(&self, to: NodeId, envelope: &Envelope<'_>) -> u64;

    /// Sends what is queued on all links, as far as they take it now; the rest follows by itself.
    /// To be called without holding any lock's mutex.
    fn flush(&self);

    /// Whether this peer is connected.
    fn is_up(&self, peer: NodeId) -> bool;

    /// Whether a peer is so far behind that no new request should be begun.
    fn congested(&self) -> bool;

    /// Waits until no peer is that far behind.
    fn relieved(&self) -> BoxFuture<'_, ()>;
}

/// Takes what has arrived, in order, each exactly once.
pub(crate) trait Inbox: Send + Sync + 'static {
    /// `from` sent this with that number on the link. A message that no correct node would have sent is dropped and counted by
    /// the receiver of it.
    fn receive(&self, from: NodeId, sequence: u64, envelope: &Envelope<'_>);
}

/// The links of one node to all other members.
///
/// The inbox is held weakly, since it usually owns the links; dropping them ends their tasks and
/// closes their sockets, as does [`Links::stop`].
pub(crate) struct Links {
    shared: Arc<Shared>,
    /// Until [`Links::start`].
    listener: Mutex<Option<tokio::net::TcpListener>>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Links {
    /// Links between the members of `view`; nothing happens before [`Links::start`]. To be called
    /// inside a tokio runtime.
    ///
    /// # Errors
    /// If the listener or the certificates cannot be used.
    pub(crate) fn new(
        config: &Config,
        view: Arc<View>,
        listener: std::net::TcpListener,
        observer: Arc<Observer>,
    ) -> Result<Arc<Links>, StartError> {
        let own = view.members[config.node.index()].incarnation;
        let protection = match &config.security {
            Security::Insecure => Protection::None,
            Security::Tls(identity) => Protection::Tls {
                client: identity.client_config()?,
                server: identity.server_config(Callers::Certified)?,
            },
        };
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| tokio::net::TcpListener::from_std(listener))
            .map_err(|source| {
                let address = config.listen_address().to_string();
                StartError::Listen { address, source }
            })?;
        let incarnation = own.unwrap_or_else(draw_incarnation);
        let shared = Shared::new(config, view, protection, incarnation, observer);
        Ok(Arc::new(Links {
            shared: Arc::new(shared),
            listener: Mutex::new(Some(listener)),
            tasks: Mutex::default(),
        }))
    }

    /// Begins to listen and to connect; a second call does nothing. To be called inside a tokio
    /// runtime.
    pub(crate) fn start(&self, inbox: &Arc<dyn Inbox>) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(listener) = listener else { return };
        self.shared.inbox.get_or_init(|| Arc::downgrade(inbox));
        let shared = || Arc::clone(&self.shared);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(tokio::spawn(task::listen(shared(), listener)).abort_handle());
        for link in self.shared.links() {
            tasks.push(tokio::spawn(task::keep(shared(), link.peer)).abort_handle());
        }
    }

    /// All members as this node sees them, itself included.
    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        self.shared.members()
    }

    /// Cuts the connection to a peer, if there is one; it is connected anew.
    pub(crate) fn cut(&self, peer: NodeId) {
        if let Some(link) = self.shared.link(peer) {
            link.end(End::Cut);
        }
    }

    /// Waits until all links are up at once.
    pub(crate) async fn all_up(&self) {
        self.until(|shared| shared.links().iter().all(Link::is_up)).await;
    }

    /// Waits until every peer that is connected has acknowledged everything.
    pub(crate) async fn drained(&self) {
        self.until(|shared| shared.links().iter().all(Link::is_drained)).await;
    }

    /// From now on handshakes are of this epoch.
    pub(crate) fn set_epoch(&self, epoch: u64) {
        self.shared.set_epoch(epoch);
    }

    /// Ends all tasks and closes all sockets. Nothing is sent or received any more.
    pub(crate) fn stop(&self) {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
        self.shared.links().iter().for_each(Link::stop);
    }

    async fn until(&self, holds: impl Fn(&Shared) -> bool) {
        loop {
            let changed = self.shared.changed.notified();
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

impl Post for Links {
    fn send(&self, to: NodeId, envelope: &Envelope<'_>) -> u64 {
        self.shared.send(to, envelope)
    }

    fn flush(&self) {
        self.shared.flush();
    }

    fn is_up(&self, peer: NodeId) -> bool {
        self.shared.link(peer).is_some_and(Link::is_up)
    }

    fn congested(&self) -> bool {
        self.shared.is_congested()
    }

    fn relieved(&self) -> BoxFuture<'_, ()> {
        self.until(|shared| !shared.is_congested()).boxed()
    }
}

/// A number that no other life of any node has.
fn draw_incarnation() -> u64 {
    let mut bytes = [0; 8];
    ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .expect("the system has a source of randomness");
    u64::from_le_bytes(bytes)
}
