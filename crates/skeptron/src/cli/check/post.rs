//! The network of a counterexample: what is in flight, and the record of all that happens.

use std::collections::BTreeMap;

use skeptron_check::Which;
use skeptron_core::{Message, NodeId};
use skeptron_sim::trace::{Loss, Record, Ticks, What};

use super::trace::Letter;

/// A message in flight, with what its sender or the network ties to it.
pub(super) struct Flight<M, T> {
    pub(super) id: u64,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) message: M,
    pub(super) tag: T,
}

/// Carries messages and keeps the record.
pub(super) struct PostOffice<M, T> {
    /// In the order of sending; a copy stands behind its original.
    in_flight: Vec<Flight<M, T>>,
    sent: u64,
    pub(super) now: Ticks,
    pub(super) records: Vec<Record>,
    /// What the network does after the present step.
    later: Vec<Record>,
    pub(super) letters: BTreeMap<u64, Letter>,
}

impl<M: Message, T: Copy> PostOffice<M, T> {
    pub(super) fn new() -> Self {
        PostOffice {
            in_flight: Vec::new(),
            sent: 0,
            now: 0,
            records: Vec::new(),
            later: Vec::new(),
            letters: BTreeMap::new(),
        }
    }

    pub(super) fn record(&mut self, node: NodeId, what: What) {
        self.records.push(Record { t: self.now, node, what });
    }

    /// Takes a message on its way. Without a tag it gets nowhere: its receiver is down for good.
    pub(super) fn send(&mut self, from: NodeId, to: NodeId, message: M, tag: Option<T>) {
        self.sent += 1;
        let (t, id, label) = (self.now, self.sent, message.label());
        self.letters.insert(id, Letter { from, to, label, content: format!("{message:?}"), t });
        let content = json(&message);
        self.record(from, What::Send { id, to, label: label.into(), message: content });
        match tag {
            Some(tag) => self.in_flight.push(Flight { id, from, to, message, tag }),
            None => self.later.push(Record { t, node: from, what: lost(id, Loss::Down) }),
        }
    }

    /// A node has done all that an input makes it do: now the network does its part.
    pub(super) fn end_turn(&mut self) {
        self.records.append(&mut self.later);
    }

    pub(super) fn deliver(&mut self, which: Which) -> Flight<M, T> {
        let flight = self.in_flight.remove(self.place(which));
        self.record(flight.to, What::Deliver { id: flight.id });
        flight
    }

    pub(super) fn lose(&mut self, which: Which) {
        let Flight { id, from, .. } = self.in_flight.remove(self.place(which));
        self.record(from, lost(id, Loss::Chance));
    }

    /// Loses what cannot reach its receiver.
    pub(super) fn lose_if(&mut self, is_lost: impl Fn(&Flight<M, T>) -> bool) {
        for Flight { id, from, .. } in self.in_flight.extract_if(.., |flight| is_lost(flight)) {
            self.records.push(Record { t: self.now, node: from, what: lost(id, Loss::Down) });
        }
    }

    pub(super) fn duplicate(&mut self, which: Which) {
        let place = self.place(which);
        self.sent += 1;
        let id = self.sent;
        let Flight { id: of, from, to, ref message, tag } = self.in_flight[place];
        let copy = Flight { id, from, to, message: message.clone(), tag };
        self.in_flight.insert(place + 1, copy);
        let original = self.letters[&of].clone();
        self.letters.insert(id, original);
        self.record(from, What::Duplicate { id, of });
    }

    /// Ties the same to all that is in flight.
    pub(super) fn tag_all(&mut self, tag: T) {
        self.in_flight.iter_mut().for_each(|flight| flight.tag = tag);
    }

    /// Where a message stands among those in flight.
    fn place(&self, which: Which) -> usize {
        let places = self.in_flight.iter().enumerate();
        let mut on_link =
            places.filter(|(_, flight)| (flight.from, flight.to) == (which.from, which.to));
        on_link.nth(which.nth).expect("a step names a message that is in flight").0
    }
}

fn lost(id: u64, cause: Loss) -> What {
    What::Lose { id, cause }
}

/// Messages and timers are plain data: they always have a JSON form.
pub(super) fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
