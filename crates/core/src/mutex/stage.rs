//! A stage on which tests play scenes with the nodes of one algorithm, by hand, message by message.
//! All scenes at once are the checker's business.

use std::collections::{BTreeSet, VecDeque};

use super::{Lock, Mutex};
use crate::protocol::checked_step;
use crate::{Effect, Input, NodeId, Refused, Setup};

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
        for effect in checked_step(&mut self.nodes, node, input)? {
            match effect {
                Effect::Send { to, message } => self.post(node, to.index(), message),
                Effect::Broadcast { .. } => unreachable!("it comes as single messages"),
                Effect::Emit(_) => {
                    self.entries.push(node);
                    assert!(self.inside.insert(node), "a node enters once per request");
                }
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        Ok(())
    }

    fn post(&mut self, from: usize, to: usize, message: P::Message) {
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

    /// These applications want in, and everything is delivered.
    pub(crate) fn ask<const N: usize>(&mut self, nodes: [usize; N]) {
        nodes.into_iter().for_each(|node| self.request(node));
        self.flush();
    }

    /// The application of `node` leaves, and everything is delivered.
    pub(crate) fn leave(&mut self, node: usize) {
        self.release(node);
        self.flush();
    }

    /// `node` enters, leaves and enters again, while nobody else asks.
    pub(crate) fn enter_twice(&mut self, node: usize) {
        self.ask([node]);
        self.release(node);
        self.request(node);
    }

    /// P2 was served; P3 has the token from it, and P2's REQUEST is still on its way there.
    pub(crate) fn token_before_request(&mut self) {
        self.request(1);
        self.deliver(1, 0);
        self.deliver(0, 1);
        self.release(1);
        self.request(2);
        self.deliver(2, 1);
        self.deliver_nth(1, 2, 1).unwrap();
    }

    /// P2's REQUEST is overtaken by its next one, which counts.
    pub(crate) fn keeps_the_latest_request(mut self) {
        self.token_before_request();
        self.request(1);
        self.deliver_nth(1, 2, 1).unwrap();
        self.deliver(1, 2);
        self.release(2);
        self.deliver(2, 1);
        assert_eq!(self.entries(), [1, 2, 1]);
    }

    /// Requests are counted from 1, and no number comes before the last one is served, nor again. P3's first one is left.
    pub(crate) fn refuses_wrong_numbers(&mut self, request: impl Fn(u64) -> P::Message) {
        self.refuses([(1, 0, request(0)), (1, 0, request(2)), (1, 2, request(u64::MAX))]);
        self.request(2);
        let first = self.oldest(2, 0);
        self.deliver(2, 0);
        self.refuses([(2, 0, first)]);
    }

    /// P3 does not take the token of P1 twice.
    pub(crate) fn refuses_the_token_again(&mut self) {
        let token = self.oldest(0, 2);
        self.deliver(0, 2);
        self.release(2);
        self.refuses([(0, 2, token)]);
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

    /// Each of these messages is refused, for a reason that lies with its sender.
    pub(crate) fn refuses<const N: usize>(&mut self, messages: [(usize, usize, P::Message); N]) {
        for (from, to, message) in messages {
            let refused = self.inject(from, to, message.clone());
            assert!(matches!(refused, Err(Refused::Unexpected(_))), "{from} {to} {message:?}");
        }
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
