//! Links: what one node sends another arrives exactly once and in order, over connections that may
//! break at any time.

use std::sync::Arc;

use skeptron_core::NodeId;

use crate::report::MemberStatus;
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
