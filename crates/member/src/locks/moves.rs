//! What becomes of an entry whose session moves.

use std::sync::Arc;

use skeptron_core::mutex::Mode;

use super::lock::Kept;
use super::rules::Act;
use crate::Fence;
use crate::effects::Event;
use crate::election::Proclaimed;
use crate::session::Session;

impl<W> Act<'_, W> {
    /// Keeps the lock for a session that came from a life which is gone. Whether it does: not if somebody
    /// here has it, so that the session must have lost it before.
    pub(super) fn adopt(
        &mut self,
        (fence, mode): (Fence, Mode),
        session: Arc<Session>,
        leads: Option<Proclaimed>,
    ) -> bool {
        let is_kept = self.state.kept.is_some_and(|kept| !kept.adopted || !mode.is_exclusive());
        let is_shared = !self.state.sharers.is_empty() && mode.is_exclusive();
        if is_kept || is_shared || self.state.holder.is_some() {
            return false;
        }
        if mode.is_exclusive() {
            self.state.kept = Some(Kept { wanted: false, adopted: true });
        }
        self.hold((fence, mode), session.owner().into(), Some(session), leads);
        self.effects.tell(Event::Adopted { lock: &self.lock.name, fence });
        true
    }

    /// The entry's session has moved away, and this member leaves.
    pub(super) fn hold_until_gone(&mut self, fence: Fence) {
        if let Some(hold) = self.state.entry(fence).filter(|hold| !hold.moved) {
            hold.moved = true;
            self.locks.counts.held.remove(1);
        }
    }
}
