//! Views: who belongs to the cluster, decided once for all members. A view is an epoch and its
//! members; every envelope carries the epoch, and one of another epoch is never taken for one of this.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use tokio::sync::watch;

/// One member of a view. Its place in the list is its [`NodeId`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Where it listens for other nodes, `HOST:PORT`.
    pub address: String,
    /// Which life of the node is meant; none if whoever comes first is.
    pub incarnation: Option<u64>,
}

/// Who belongs to the cluster from this epoch to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct View {
    /// Its number, from 1.
    pub epoch: u64,
    /// Its members, by node.
    pub members: Vec<Member>,
}

impl View {
    /// How many members there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.members.len()
    }

    /// All members but `me`.
    pub fn others(&self, me: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        NodeId::all(self.nodes()).filter(move |&node| node != me)
    }
}

/// Decides the one sequence of views, and for how long a member may act on the last one it saw.
pub trait ViewService: Send + Sync + 'static {
    /// The latest view, and every later one.
    fn views(&self) -> watch::Receiver<Arc<View>>;

    /// Until when a member of the latest view may enter anything. Asked at every entry.
    fn lease(&self) -> Lease;
}

/// Until when a member may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// Membership never changes behind its back.
    Forever,
    /// Until then, on the monotonic clock.
    Until(std::time::Instant),
    /// It has run out: whatever is held is lost.
    Over,
}

/// A membership that never changes: one view, no leases. A member that dies is waited for.
#[derive(Debug)]
pub struct Fixed {
    view: watch::Sender<Arc<View>>,
}

impl Fixed {
    /// Members at these addresses, P1 first, in epoch 1.
    #[must_use]
    pub fn new(addresses: Vec<String>) -> Self {
        let members =
            addresses.into_iter().map(|address| Member { address, incarnation: None }).collect();
        Fixed { view: watch::Sender::new(Arc::new(View { epoch: 1, members })) }
    }
}

impl ViewService for Fixed {
    fn views(&self) -> watch::Receiver<Arc<View>> {
        self.view.subscribe()
    }

    fn lease(&self) -> Lease {
        Lease::Forever
    }
}
