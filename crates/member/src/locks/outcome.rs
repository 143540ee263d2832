//! What the algorithm's node wants done, and tokens that never rest.

use std::sync::Arc;

use skeptron_core::NodeId;
use skeptron_core::mutex::Phase;

use super::instance::{Outcome, Turn};
use super::lock::Parked;
use super::rules::Act;
use crate::Flaw;
use crate::effects::{Event, Timer};
use crate::wire::{Envelope, Payload};

impl<W> Outcome for Act<'_, W> {
    fn received(&mut self, from: NodeId, sequence: u64, kind: usize) {
        let (plan, message) = (self.lock.plan, self.layout().kinds[kind]);
        let from = self.member(self.rank(from));
        let lock = &self.lock.name;
        self.effects.tell(Event::Received { lock, plan, kind, message, from, sequence });
    }

    fn send(&mut self, to: NodeId, kind: usize, message: &[u8]) {
        let to = self.member(self.rank(to));
        let (lock, mut fence) = (&*self.lock.name, self.state.counter.attach());
        if self.locks.has(Flaw::FenceNotSent) {
            fence = 0;
        }
        let payload = Payload::Message { lock, fence, register: self.register(), message };
        let envelope = Envelope { epoch: self.current.view.epoch, payload };
        let sequence = self.effects.send(to, &envelope);
        let (plan, message) = (self.lock.plan, self.layout().kinds[kind]);
        self.effects.tell(Event::Sent { lock, plan, kind, message, to, sequence });
    }

    fn entered(&mut self) {
        self.state.phase = Phase::Inside;
        self.state.counter.enter();
    }
}

impl<W> Act<'_, W> {
    pub(super) fn wake_others(&mut self) {
        let lock = Arc::clone(&self.lock.name);
        for to in self.current.others() {
            self.send(to, Payload::Wake { lock: &lock });
        }
    }

    /// Somebody elsewhere waits for a token that never rests: begin, and do not keep it.
    pub(super) fn wake(&mut self) {
        self.begin();
        self.state.idle_visits = 0;
        if self.state.parked.is_some() {
            self.fetch_parked();
        } else {
            self.state.hurry = true;
        }
    }

    pub(super) fn should_park(&mut self) -> bool {
        if !self.layout().restless || self.state.phase != Phase::Idle {
            return false;
        }
        self.state.parked.is_none() && !std::mem::take(&mut self.state.hurry)
    }

    /// Keeps an idle token for a while, twice as long at each idle visit.
    pub(super) fn park(&mut self, from: NodeId, sequence: u64, message: &[u8]) {
        self.state.parked = Some(Parked { from, sequence, message: message.to_vec() });
        let wait = self.locks.settings.pace.after(self.state.idle_visits);
        self.state.idle_visits = self.state.idle_visits.saturating_add(1);
        self.effects.arm(Timer::Unpark(Arc::clone(&self.lock.name)), wait);
    }

    /// The algorithm gets what was kept from it.
    pub(super) fn fetch_parked(&mut self) {
        let Some(Parked { from, sequence, message }) = self.state.parked.take() else { return };
        let part = self.part(from);
        if let Err(refused) = self.step(Turn::Deliver { from: part, sequence, message: &message }) {
            self.refuse(from, &refused.to_string());
        }
    }
}
