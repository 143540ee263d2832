//! What the algorithm's node wants done, and tokens that never rest.

use std::sync::Arc;

use skeptron_core::NodeId;
use skeptron_core::mutex::Phase;

use super::instance::{Outcome, Said, Turn};
use super::lock::Parked;
use super::rules::Act;
use crate::effects::{Event, Timer};
use crate::wire::{Envelope, Payload};
use crate::{Flaw, MemberId};

impl<W> Outcome for Act<'_, W> {
    fn received(&mut self, from: NodeId, sequence: u64, said: Said<'_>) {
        let (plan, kind, payload) = (self.lock.plan, said.kind, &*self.payload(said));
        let message = self.layout().kinds[kind];
        let from = self.member(self.rank(from));
        let lock = &self.lock.name;
        self.effects.tell(Event::Received { lock, plan, kind, message, payload, from, sequence });
    }

    fn send(&mut self, to: NodeId, said: Said<'_>, message: &[u8]) {
        let to = self.member(self.rank(to));
        let (lock, mut fence) = (&*self.lock.name, self.state.counter.attach());
        if self.locks.has(Flaw::FenceNotSent) {
            fence = 0;
        }
        let content = Payload::Message { lock, fence, register: self.register(), message };
        let envelope = Envelope { epoch: self.current.view.epoch, payload: content };
        let sequence = self.effects.send(to, &envelope);
        let (plan, kind, payload) = (self.lock.plan, said.kind, &*self.payload(said));
        let message = self.layout().kinds[kind];
        self.effects.tell(Event::Sent { lock, plan, kind, message, payload, to, sequence });
    }

    fn entered(&mut self) {
        self.state.phase = Phase::Inside;
        self.state.counter.enter();
    }
}

impl<W> Act<'_, W> {
    /// What a message says, with the members' names; nothing if nobody wants to know.
    fn payload(&self, said: Said<'_>) -> String {
        if !self.effects.is_heard() {
            return String::new();
        }
        let members = self.current.view.members.len();
        let name = |part| (part < members).then(|| self.member(self.rank(NodeId::new(part))));
        renamed(&(said.payload)(), name)
    }

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

/// What is said of nodes as the algorithm counts them, `P2`, said of the members that play them.
fn renamed(payload: &str, name: impl Fn(usize) -> Option<MemberId>) -> String {
    let mut words = payload.split('P');
    let mut all = words.next().unwrap_or_default().to_string();
    for word in words {
        let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (number, rest) = word.split_at(digits);
        let node = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match node.and_then(&name) {
            Some(member) => all.push_str(&member.to_string()),
            None => {
                all.push('P');
                all.push_str(number);
            }
        }
        all.push_str(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_name_members() {
        // Part 1 is played by member 3, part 2 by member 7.
        let name = |part: usize| [3, 7].get(part).map(|&id| MemberId::new(id).unwrap());
        let said = |payload| renamed(payload, name);
        assert_eq!(said("P2"), "P7");
        assert_eq!(said("P1,P2, then P1"), "P3,P7, then P3");
        assert_eq!(said("≤41"), "≤41");
        assert_eq!(said("P9 P PREVIOUS"), "P9 P PREVIOUS");
        assert_eq!(said(""), "");
    }
}
