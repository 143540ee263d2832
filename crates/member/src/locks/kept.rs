//! What becomes of rights from an earlier view: whoever keeps one is told once somebody wants the lock, gives
//! it up, and the home then lets the lock begin.

use std::sync::Arc;

use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::Presence;

use super::home::{HeldBack, Shut};
use super::rules::Act;
use crate::Flaw;
use crate::wire::Payload;

impl<W> Act<'_, W> {
    pub(super) fn tell_wanted(&mut self, keeper: NodeId) {
        if keeper == self.current.me {
            self.wanted();
        } else {
            let lock = Arc::clone(&self.lock.name);
            self.send(keeper, Payload::Wanted { lock: &lock });
        }
    }

    /// Somebody wants the lock to which this member keeps a right.
    pub(super) fn wanted(&mut self) {
        if let Some(kept) = &mut self.state.kept {
            kept.wanted = true;
            self.free_if_wanted();
        }
    }

    /// Gives a kept right up if somebody wants it and nobody here is in. Whether it did.
    pub(super) fn free_if_wanted(&mut self) -> bool {
        let for_others = self.locks.has(Flaw::AdoptedHandedOn);
        // Only exclusive entries are let in by a right from before.
        let shares = !self.state.is_exclusive() || self.state.upgrade.is_some();
        let wanted = self
            .state
            .kept
            .is_some_and(|kept| kept.wanted || shares || kept.adopted && !for_others);
        // The session may have gone to several members, and one of them may be away: its word is needed.
        let is_adopted = self.state.kept.is_some_and(|kept| kept.adopted);
        if is_adopted && !self.current.view.away.is_empty() {
            return false;
        }
        // A member that halted hands nothing on: its clients may still believe.
        if !wanted || self.state.holder.is_some() || self.locks.halted().is_some() {
            return false;
        }
        self.state.kept = self.state.kept.filter(|_| self.locks.has(Flaw::FreedButKept));
        let (counter, here) = (self.state.counter.attach(), self.state.presence());
        if self.is_home() {
            self.freed(self.current.me, counter, here);
        } else {
            let (home, lock) = (self.state.home, Arc::clone(&self.lock.name));
            self.send(home, Payload::Freed { lock: &lock, counter, here });
        }
        self.serve();
        true
    }

    /// At the home: a member has given up its right.
    pub(super) fn freed(&mut self, by: NodeId, counter: u64, here: Presence) {
        let freed = self.current.home().freed(by, &self.lock.name, counter, here);
        if !freed {
            let why = "it frees a lock that it had not announced";
            self.refuse(by, why);
            return;
        }
        self.open_if_free();
    }

    /// At the home: lets the lock begin if it may. What was held back comes before anything else.
    pub(super) fn open_if_free(&mut self) {
        let opened = self.current.home().open(&self.lock.name, self.state.own);
        let Some(shut) = opened else { return };
        let rows = shut.rows();
        if !rows.is_empty() && !self.locks.has(Flaw::RegisterNotInherited) {
            self.sharing().begin(rows);
        }
        let Shut { counter, held_back, .. } = shut;
        self.state.own = !self.current.view.away.is_empty();
        if !self.locks.has(Flaw::FenceNotInherited) {
            self.state.counter.receive(counter);
        }
        for HeldBack { from, sequence, payload } in held_back {
            if self.locks.has(Flaw::HeldBackDropped) {
                break;
            }
            let payload = postcard::from_bytes(&payload).expect("it was encoded here");
            self.deliver(from, sequence, &payload);
        }
        self.serve();
    }
}
