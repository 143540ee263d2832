//! What one thread has looked up of the nodes.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::local::{Action, Event, LocalId, MessageId, Nodes, Outcome};
use crate::normal::Known;

/// One thread's memory of what it has looked up.
pub(crate) struct Memory<'a, E> {
    nodes: &'a dyn Nodes<E>,
    outcomes: FxHashMap<(LocalId, Event), Outcome>,
    /// What really happened to nodes, apart from what was only looked up.
    taken: FxHashSet<(LocalId, Event)>,
    records: bool,
    /// To whom nodes sent what, in the order of sending, if somebody wants to know.
    sent: Option<Vec<(u8, MessageId)>>,
    actions: Vec<Action<E>>,
    local_hashes: Vec<u64>,
    message_hashes: Vec<u64>,
    pub(crate) normal: Known,
    /// What nodes know, for predicates.
    values: FxHashMap<LocalId, Arc<Value>>,
}

impl<'a, E: Copy> Memory<'a, E> {
    /// `records` what really happens, for [`Memory::into_taken`].
    pub(crate) fn new(nodes: &'a dyn Nodes<E>, records: bool) -> Self {
        Memory {
            nodes,
            outcomes: FxHashMap::default(),
            taken: FxHashSet::default(),
            records,
            sent: None,
            actions: Vec::new(),
            local_hashes: Vec::new(),
            message_hashes: Vec::new(),
            normal: Known::default(),
            values: FxHashMap::default(),
        }
    }

    /// The nodes themselves.
    pub(crate) fn nodes(&self) -> &'a dyn Nodes<E> {
        self.nodes
    }

    /// What a node in state `local` does when `event` happens to it.
    pub(crate) fn step(&mut self, local: LocalId, event: Event) -> Outcome {
        let computed = || self.nodes.step(local, event, &mut self.actions);
        self.outcomes.entry((local, event)).or_insert_with(computed).clone()
    }

    /// The same, and it really happens.
    pub(crate) fn take(&mut self, local: LocalId, event: Event) -> Outcome {
        if self.records {
            self.taken.insert((local, event));
        }
        let outcome = self.step(local, event);
        if let Some(sent) = &mut self.sent {
            let actions =
                &self.actions[outcome.actions.start as usize..outcome.actions.end as usize];
            sent.extend(actions.iter().filter_map(|&action| match action {
                Action::Send { to, message } => Some((to, message)),
                Action::Emit(_) => None,
            }));
        }
        outcome
    }

    /// Notes from now on what is sent, for [`Memory::drain_sent`].
    pub(crate) fn note_sent(&mut self) {
        self.sent = Some(Vec::new());
    }

    /// What was sent since the last time: to whom, and in which order.
    pub(crate) fn drain_sent(&mut self) -> impl Iterator<Item = (u8, MessageId)> + '_ {
        self.sent.iter_mut().flat_map(|sent| sent.drain(..))
    }

    /// What a node knows, as plain data.
    pub(crate) fn value(&mut self, id: LocalId) -> Arc<Value> {
        let read = || Arc::new(self.nodes.value(id));
        Arc::clone(self.values.entry(id).or_insert_with(read))
    }

    /// The same, and it starts anew.
    pub(crate) fn drain_taken(&mut self) -> impl Iterator<Item = (LocalId, Event)> + '_ {
        self.taken.drain()
    }

    /// Notes what really happened to nodes earlier.
    pub(crate) fn recall(&mut self, taken: impl Iterator<Item = (LocalId, Event)>) {
        self.taken.extend(taken);
    }

    /// What really happened to nodes.
    pub(crate) fn into_taken(self) -> FxHashSet<(LocalId, Event)> {
        self.taken
    }

    /// What the node does, in order.
    pub(crate) fn actions(&self, outcome: &Outcome) -> &[Action<E>] {
        &self.actions[outcome.actions.start as usize..outcome.actions.end as usize]
    }

    /// One of the actions of an outcome.
    pub(crate) fn action(&self, index: u32) -> Action<E> {
        self.actions[index as usize]
    }

    /// The same in every run, unlike its number.
    pub(crate) fn local_hash(&mut self, local: LocalId) -> u64 {
        if local as usize >= self.local_hashes.len() {
            self.nodes.local_hashes(&mut self.local_hashes);
        }
        self.local_hashes[local as usize]
    }

    /// The same in every run, unlike its number.
    pub(crate) fn message_hash(&mut self, message: MessageId) -> u64 {
        if message as usize >= self.message_hashes.len() {
            self.nodes.message_hashes(&mut self.message_hashes);
        }
        self.message_hashes[message as usize]
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.outcomes.capacity() * (size_of::<((LocalId, Event), Outcome)>() + 1)
            + self.actions.capacity() * size_of::<Action<E>>()
            + (self.local_hashes.capacity() + self.message_hashes.capacity()) * 8
            + self.taken.capacity() * (size_of::<(LocalId, Event)>() + 1)
    }
}
