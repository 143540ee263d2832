//! A stage on which tests play scenes with the nodes of one algorithm, by hand, message by message.
//! All scenes at once are the checker's business.

use std::collections::{BTreeSet, VecDeque};

use super::{Lock, Mutex};
use crate::{Effect, Input, NodeId, Outbox, Refused, Setup};

/// Nodes, the messages in flight between them, and what happened so far. Nodes are numbered from 0,
/// as in the spec's traces.
#[derive(Clone)]
pub(crate) struct Stage<P: Mutex> {
    pub(crate) nodes: Vec<P>,
    /// In flight from `i` to `j` at `i * n + j`, oldest first.
    links: Vec<VecDeque<P::Message>>,
    inside: BTreeSet<usize>,
    down: BTreeSet<usize>,
    entries: Vec<usize>,
    sent: usize,
}

impl<P: Mutex> Stage<P> {
    /// A system in its initial state, started.
    pub(crate) fn new(name: &str, setup: &Setup) -> Self {
        let nodes = P::build(name, setup).unwrap();
        let links = vec![VecDeque::new(); nodes.len() * nodes.len()];
        let (inside, down) = (BTreeSet::new(), BTreeSet::new());
        let mut stage = Stage { nodes, links, inside, down, entries: Vec::new(), sent: 0 };
        for node in 0..stage.nodes.len() {
            stage.step(node, Input::Start).unwrap();
        }
        stage
    }

    fn step(&mut self, node: usize, input: Input<P>) -> Result<(), Refused> {
        let mut out = Outbox::new();
        let before = self.nodes[node].clone();
        let result = self.nodes[node].step(input, &mut out);
        if result.is_err() {
            assert_eq!(self.nodes[node], before, "refused means unchanged");
            assert!(out.effects().is_empty(), "refused means nothing to do");
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.post(node, to.index(), message),
                Effect::Broadcast { message } => {
                    for to in (0..self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone());
                    }
                }
                Effect::Emit(_) => {
                    self.entries.push(node);
                    assert!(self.inside.insert(node), "a node enters once per request");
                }
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        result
    }

    fn post(&mut self, from: usize, to: usize, message: P::Message) {
        assert_ne!(from, to, "a node's word to itself is a local step");
        self.sent += 1;
        let n = self.nodes.len();
        if !self.down.contains(&to) {
            self.links[from * n + to].push_back(message);
        }
    }

    /// The application of `node` wants in.
    pub(crate) fn request(&mut self, node: usize) {
        self.step(node, Input::Command(Lock::Request)).unwrap();
    }

    /// The application of `node` leaves.
    pub(crate) fn release(&mut self, node: usize) {
        assert!(self.inside.remove(&node), "P{} is not inside", node + 1);
        self.step(node, Input::Command(Lock::Release)).unwrap();
    }

    /// `node` stops for ever: what is on its way to it is lost.
    pub(crate) fn crash(&mut self, node: usize) {
        self.inside.remove(&node);
        self.down.insert(node);
        let n = self.nodes.len();
        (0..n).for_each(|from| self.links[from * n + node].clear());
    }

    /// The failure detector of `node` tells that `whom` has crashed.
    pub(crate) fn suspect(&mut self, node: usize, whom: usize) {
        self.step(node, Input::Command(Lock::Suspect(NodeId::new(whom)))).unwrap();
    }

    /// Delivers the oldest message from `from` to `to`.
    pub(crate) fn deliver(&mut self, from: usize, to: usize) {
        self.deliver_nth(from, to, 0).unwrap();
    }

    /// Delivers a message out of order: the `k`-th oldest one.
    pub(crate) fn deliver_nth(&mut self, from: usize, to: usize, k: usize) -> Result<(), Refused> {
        let n = self.nodes.len();
        let message = self.links[from * n + to].remove(k).expect("a message is in flight there");
        self.inject(from, to, message)
    }

    /// Delivers a message that was never sent.
    pub(crate) fn inject(
        &mut self,
        from: usize,
        to: usize,
        message: P::Message,
    ) -> Result<(), Refused> {
        self.step(to, Input::Deliver { from: NodeId::new(from), message })
    }

    /// The oldest message in flight from `from` to `to`.
    pub(crate) fn oldest(&self, from: usize, to: usize) -> P::Message {
        self.links[from * self.nodes.len() + to]
            .front()
            .expect("a message is in flight there")
            .clone()
    }

    /// How many messages are in flight from `from` to `to`.
    pub(crate) fn in_flight(&self, from: usize, to: usize) -> usize {
        self.links[from * self.nodes.len() + to].len()
    }

    /// Delivers everything, in rounds over the links, until nothing is in flight (or, where a token
    /// circulates for ever, for a good while).
    pub(crate) fn flush(&mut self) {
        for _ in 0..100 {
            for link in 0..self.links.len() {
                if !self.links[link].is_empty() {
                    self.deliver(link / self.nodes.len(), link % self.nodes.len());
                }
            }
        }
    }

    /// Who entered, in order.
    pub(crate) fn entries(&self) -> &[usize] {
        &self.entries
    }

    pub(crate) fn inside(&self) -> Vec<usize> {
        self.inside.iter().copied().collect()
    }

    /// How many messages were sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }
}
