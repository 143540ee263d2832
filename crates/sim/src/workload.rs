//! Who wants in, and when.

use skeptron_core::NodeId;

use crate::distribution::Distribution;
use crate::trace::Ticks;

/// How requests come about. A request at a node that waits or is inside queues at that node.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Nobody asks of its own accord.
    None,
    /// Each requester thinks, asks, is served, thinks again. Without thinking: saturation.
    Closed {
        /// From exit to the next request.
        think: Distribution,
    },
    /// One request at a time: after each exit a uniformly chosen requester thinks and asks.
    Sequential {
        /// From exit to the next request.
        think: Distribution,
    },
    /// Requests arrive by chance at uniformly chosen requesters.
    Poisson {
        /// Requests per unit of time, in all.
        rate: f64,
    },
    /// Several different requesters ask at once, again and again.
    Bursts {
        /// How many ask.
        size: usize,
        /// From burst to burst.
        every: Ticks,
    },
    /// Like `Poisson`, but a few requesters get most of the requests.
    Hot {
        /// Requests per unit of time, in all.
        rate: f64,
        /// How many are hot: the first ones of the requesters.
        hot: usize,
        /// The share of requests that goes to them.
        share: f64,
    },
    /// A list of requests, ordered by time.
    List(Vec<(Ticks, NodeId)>),
}

impl Workload {
    /// Everybody always wants in.
    #[must_use]
    pub fn saturated() -> Self {
        Workload::Closed { think: Distribution::constant(0.0) }
    }
}
