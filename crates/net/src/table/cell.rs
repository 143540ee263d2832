//! One lock at one node: its algorithm's node, whoever holds it here, and who waits here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use skeptron_core::NodeId;
use skeptron_core::monitor::Fence;
use skeptron_core::mutex::Phase;
use tokio::sync::oneshot;

use super::instance::Instance;
use crate::guard::Guard;

/// One lock at one node.
#[derive(Debug)]
pub(crate) struct Cell {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Which of the plans is for it.
    pub(super) plan: usize,
    state: Mutex<State>,
}

/// What changes of a lock.
#[derive(Default)]
pub(super) struct State {
    /// The algorithm's node; none before its first use in this view.
    pub(super) instance: Option<Box<dyn Instance>>,
    /// Where the algorithm's node is.
    pub(super) phase: Phase,
    /// The counter of its fences.
    pub(super) fence: Fence,
    /// Whoever holds it here.
    pub(super) holder: Option<Hold>,
    /// Who waits here, the first first.
    pub(super) waiters: VecDeque<Waiter>,
    /// The last ticket given to a waiter.
    pub(super) tickets: u64,
    /// Hand-overs in a row between waiters of this node.
    pub(super) handed: u32,
    /// Whoever holds it since an earlier view: the algorithm does not begin before that ends.
    pub(super) carried: Option<NodeId>,
    /// An idle token of a restless algorithm, kept for a while.
    pub(super) parked: Option<Parked>,
    /// Visits of an idle token in a row.
    pub(super) idle_visits: u32,
    /// Somebody elsewhere waits: the token's next visit is a short one.
    pub(super) hurry: bool,
}

/// An entry of this node.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) fence: u64,
    pub(super) since: Instant,
    pub(super) owner: Box<str>,
}

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) ticket: u64,
    pub(super) since: Instant,
    pub(super) owner: Box<str>,
    pub(super) reply: oneshot::Sender<Guard>,
}

/// A message that is not handed to the algorithm yet.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) from: NodeId,
    pub(super) sequence: u64,
    pub(super) message: Vec<u8>,
}

impl Cell {
    pub(super) fn new(name: Arc<str>, plan: usize) -> Self {
        Cell { name, plan, state: Mutex::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Every rule leaves the state whole, also one that panicked half way in a peer's test.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether anybody here has to do with it.
    pub(super) fn in_use(&self) -> bool {
        self.holder.is_some() || !self.waiters.is_empty()
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("phase", &self.phase)
            .field("holder", &self.holder)
            .field("waiters", &self.waiters.len())
            .finish_non_exhaustive()
    }
}
