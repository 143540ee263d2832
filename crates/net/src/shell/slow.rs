//! Locks whose last request went to a peer that is far behind. The next one waits; other locks do not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use skeptron_member::MemberId;
use skeptron_member::wire::{Envelope, Payload};

use crate::link::LinkSender;

/// Which peer holds up which lock. As many entries at most as there are locks.
#[derive(Default)]
pub(super) struct Slow(Mutex<FxHashMap<Arc<str>, MemberId>>);

impl Slow {
    fn held_up(&self) -> MutexGuard<'_, FxHashMap<Arc<str>, MemberId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message is about to be sent while some peer is far behind.
    pub(super) fn note(&self, links: &dyn LinkSender, to: MemberId, envelope: &Envelope<'_>) {
        if let Payload::Message { lock, .. } = envelope.payload
            && links.is_congested(to)
        {
            self.held_up().insert(Arc::from(lock), to);
        }
    }

    /// Waits until the peer that holds up this lock, if one does, has caught up or left.
    pub(super) async fn relieved(&self, links: &dyn LinkSender, name: &str) {
        let Some(peer) = self.held_up().get(name).copied() else { return };
        links.relieved(peer).await;
        self.held_up().remove(name);
    }
}
