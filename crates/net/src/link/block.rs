//! Peers that a node neither hears nor speaks to: for trying out what a partition does.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skeptron_member::MemberId;

/// Shared by everything in a node that has connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocked(Arc<Peers>);

#[derive(Debug, Default)]
struct Peers {
    /// Looked at for every batch of messages, and nearly always false.
    any: AtomicBool,
    peers: Mutex<BTreeSet<MemberId>>,
}

impl Blocked {
    /// From now on these, and no others.
    pub(crate) fn set(&self, peers: BTreeSet<MemberId>) {
        let mut blocked = self.peers();
        self.0.any.store(!peers.is_empty(), Ordering::Release);
        *blocked = peers;
    }

    pub(crate) fn contains(&self, peer: MemberId) -> bool {
        self.0.any.load(Ordering::Acquire) && self.peers().contains(&peer)
    }

    fn peers(&self) -> MutexGuard<'_, BTreeSet<MemberId>> {
        self.0.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
