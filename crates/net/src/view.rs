//! Where views come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use skeptron_member::clock::Drift;
use skeptron_member::plan::Plans;
pub use skeptron_member::report::{ServiceReport, VoterStatus};
pub use skeptron_member::view::{Lease, Member, View};
use thiserror::Error;
use tokio::sync::{oneshot, watch};

/// Decides the one sequence of views, and for how long a member may act on the last one it saw.
pub trait ViewService: Send + Sync + 'static {
    /// Begins a new life of the member, once the former one is certainly over; ready when it is a
    /// member.
    fn enter(self: Arc<Self>) -> BoxFuture<'static, Result<Admission, NotAdmitted>>;

    /// This life has given up every right. Ready when nobody waits for its lease any more; false if
    /// nobody can be told.
    fn leave(self: Arc<Self>) -> BoxFuture<'static, bool>;

    /// The member needs a later view.
    fn ask_for_view(&self, why: &str);

    /// These lives, and no others, cannot be reached by the member at present.
    fn suspect(&self, _lives: Vec<u64>) {}

    /// Ends at once, telling nobody.
    fn stop(&self) {}

    /// The bound on every clock's rate error, once it is known.
    fn drift(&self) -> Option<Drift> {
        self.report().drift_ppm.map(|ppm| Drift { ppm })
    }

    /// How it stands.
    fn report(&self) -> ServiceReport;
}

/// The answer to what `ask` sends to the task of a view service. If the task is gone, so is the node, and no answer comes.
pub(crate) async fn answer<T>(ask: impl FnOnce(oneshot::Sender<T>)) -> T {
    let (reply, answer) = oneshot::channel();
    ask(reply);
    match answer.await {
        Ok(answer) => answer,
        Err(_) => future::pending().await,
    }
}

/// The algorithms of a member in a few words, for whoever compares two of them.
pub(crate) fn algorithms(plans: &Plans) -> String {
    let prefixes = plans.prefixes().map(|(prefix, name)| format!(", {prefix} by {name}"));
    std::iter::once(plans.default_algorithm().to_string()).chain(prefixes).collect()
}

/// A life that is a member.
#[derive(Debug)]
pub struct Admission {
    /// Which life.
    pub incarnation: u64,
    /// The latest view, and every later one; all of them include this life.
    pub views: watch::Receiver<Arc<View>>,
    /// Until when this life may enter anything, and every later word on it. Once it is over it stays
    /// over.
    pub lease: watch::Receiver<Lease>,
}

/// Why a life does not become a member, whatever happens; repeating it does not help.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NotAdmitted(pub String);

/// A membership that never changes: one view, no leases. A member that dies is waited for.
#[derive(Debug)]
pub struct Fixed {
    view: watch::Sender<Arc<View>>,
    lease: watch::Sender<Lease>,
    incarnation: u64,
    has_entered: AtomicBool,
}

impl Fixed {
    /// Members at these addresses, P1 first, in epoch 1; this life of one of them.
    #[must_use]
    pub fn new(addresses: Vec<String>, incarnation: u64) -> Self {
        let view = View::of_addresses(1, addresses);
        Fixed {
            view: watch::Sender::new(Arc::new(view)),
            lease: watch::Sender::new(Lease::Forever),
            incarnation,
            has_entered: AtomicBool::new(false),
        }
    }
}

impl ViewService for Fixed {
    fn enter(self: Arc<Self>) -> BoxFuture<'static, Result<Admission, NotAdmitted>> {
        if self.has_entered.swap(true, Ordering::Relaxed) {
            self.ask_for_view("this incarnation of the member has ended");
            return future::pending().boxed();
        }
        let (views, lease) = (self.view.subscribe(), self.lease.subscribe());
        future::ready(Ok(Admission { incarnation: self.incarnation, views, lease })).boxed()
    }

    fn leave(self: Arc<Self>) -> BoxFuture<'static, bool> {
        future::ready(false).boxed()
    }

    fn ask_for_view(&self, why: &str) {
        tracing::error!(
            why,
            "a new view is needed, but this membership is fixed; restart all nodes"
        );
    }

    fn report(&self) -> ServiceReport {
        ServiceReport { kind: "fixed".to_string(), ..ServiceReport::default() }
    }
}
