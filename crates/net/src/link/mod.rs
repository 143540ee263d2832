//! Links: what one node sends another arrives exactly once and in order, over connections that may
//! break at any time.

use std::sync::Arc;

use skeptron_core::NodeId;

use crate::config::Config;
use crate::node::StartError;
use crate::observe::Observer;
use crate::report::MemberStatus;
use crate::view::View;
use crate::wire::Envelope;

/// Takes what is to be sent. Implemented by [`Links`]; the table's tests have one in memory.
pub(crate) trait Post: Send + Sync + 'static {
    /// Puts it at the end of the link's queue. Never blocks; nothing is on its way before
    /// [`Post::flush`]. To be called under the lock's own mutex, so that the order of steps is the
    /// order on the link.
    fn send(&self, to: NodeId, envelope: &Envelope<'_>);

    /// Sends what is queued on all links, as far as they take it now; the rest follows by itself.
    /// To be called without holding any lock's mutex.
    fn flush(&self);

    /// Whether this peer is connected.
    fn is_up(&self, peer: NodeId) -> bool;

    /// Whether a peer is so far behind that no new request should be begun.
    fn congested(&self) -> bool;

    /// Waits until no peer is that far behind.
    fn relieved(&self) -> futures_util::future::BoxFuture<'_, ()>;
}

/// Takes what has arrived, in order, each exactly once.
pub(crate) trait Inbox: Send + Sync + 'static {
    /// `from` sent this. A message that no correct node would have sent is dropped and counted by
    /// the receiver of it.
    fn receive(&self, from: NodeId, envelope: &Envelope<'_>);
}

/// The links of one node to all other members.
///
/// The inbox is held weakly, since it usually owns the links; dropping them ends their tasks and
/// closes their sockets, as does [`Links::stop`].
#[derive(Debug)]
pub(crate) struct Links {}

impl Links {
    /// Links between the members of `view`; nothing happens before [`Links::start`].
    ///
    /// # Errors
    /// If the listener or the certificates cannot be used.
    pub(crate) fn new(
        config: &Config,
        view: Arc<View>,
        listener: std::net::TcpListener,
        observer: Arc<Observer>,
    ) -> Result<Arc<Links>, StartError> {
        let _ = (config, view, listener, observer);
        todo!()
    }

    /// Begins to listen and to connect. To be called once, inside a tokio runtime.
    pub(crate) fn start(&self, inbox: &Arc<dyn Inbox>) {
        let _ = inbox;
        todo!()
    }

    /// All members as this node sees them, itself included.
    pub(crate) fn members(&self) -> Vec<MemberStatus> {
        todo!()
    }

    /// Cuts the connection to a peer, if there is one; it is connected anew.
    pub(crate) fn cut(&self, peer: NodeId) {
        let _ = peer;
        todo!()
    }

    /// Waits until all links are up at once.
    pub(crate) async fn all_up(&self) {
        todo!()
    }

    /// Waits until every peer that is connected has acknowledged everything.
    pub(crate) async fn drained(&self) {
        todo!()
    }

    /// From now on handshakes are of this epoch.
    pub(crate) fn set_epoch(&self, epoch: u64) {
        let _ = epoch;
        todo!()
    }

    /// Ends all tasks and closes all sockets. Nothing is sent or received any more.
    pub(crate) fn stop(&self) {
        todo!()
    }
}

impl Post for Links {
    fn send(&self, to: NodeId, envelope: &Envelope<'_>) {
        let _ = (to, envelope);
        todo!()
    }

    fn flush(&self) {
        todo!()
    }

    fn is_up(&self, peer: NodeId) -> bool {
        let _ = peer;
        todo!()
    }

    fn congested(&self) -> bool {
        todo!()
    }

    fn relieved(&self) -> futures_util::future::BoxFuture<'_, ()> {
        todo!()
    }
}
