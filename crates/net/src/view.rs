//! Where views come from.

use std::sync::Arc;

pub use skeptron_member::view::{Lease, Member, View};
use tokio::sync::watch;

/// Decides the one sequence of views, and for how long a member may act on the last one it saw.
pub trait ViewService: Send + Sync + 'static {
    /// The latest view, and every later one.
    fn views(&self) -> watch::Receiver<Arc<View>>;

    /// Until when this life of the member may enter anything, and every later word on it. Once it is
    /// over it stays over.
    fn lease(&self) -> watch::Receiver<Lease>;

    /// The member cannot go on in this view, or needs a later one: somebody has to decide it.
    fn ask_for_view(&self, why: &str);
}

/// A membership that never changes: one view, no leases. A member that dies is waited for.
#[derive(Debug)]
pub struct Fixed {
    view: watch::Sender<Arc<View>>,
    lease: watch::Sender<Lease>,
}

impl Fixed {
    /// Members at these addresses, P1 first, in epoch 1.
    #[must_use]
    pub fn new(addresses: Vec<String>) -> Self {
        let view = View::of_addresses(1, addresses);
        Fixed {
            view: watch::Sender::new(Arc::new(view)),
            lease: watch::Sender::new(Lease::Forever),
        }
    }
}

impl ViewService for Fixed {
    fn views(&self) -> watch::Receiver<Arc<View>> {
        self.view.subscribe()
    }

    fn lease(&self) -> watch::Receiver<Lease> {
        self.lease.subscribe()
    }

    fn ask_for_view(&self, why: &str) {
        tracing::error!(
            why,
            "a new view is needed, but this membership is fixed; restart all nodes"
        );
    }
}
