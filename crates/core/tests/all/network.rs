//! The nodes of one algorithm and the messages between them, for the tests of the contract.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;
use skeptron_core::catalogue::Order;
use skeptron_core::{Effect, Input, NodeId, Outbox, Protocol, Refused};

use crate::chance::{Chance, chosen_seed};

/// How many sent messages and armed alarms are remembered for replays.
const MEMORY: usize = 32;

/// Who else is on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// Nodes, applications and detectors that keep the contract, on the channel that is declared.
    Honest,
    /// Also somebody who replays, misdirects and forges, on a channel that keeps no order.
    Hostile,
}

/// Plays so many seeds, or the chosen one; a failure names its seed.
pub(crate) fn play_seeds(seeds: u64, name: &str, company: Company, mut play: impl FnMut(u64)) {
    for seed in chosen_seed().map_or(0..=seeds - 1, |seed| seed..=seed) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| play(seed))) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let why = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            panic!("{name} in {company:?} company, SKEPTRON_SEED={seed}: {why}");
        }
    }
}

/// A message with its sender and receiver.
pub(crate) type Sent<P> = (NodeId, NodeId, <P as Protocol>::Message);

pub(crate) struct Network<P: Protocol> {
    pub(crate) nodes: Vec<P>,
    order: Order,
    pub(crate) in_flight: Vec<Sent<P>>,
    /// What was sent of late, delivered or not.
    sent: Vec<Sent<P>>,
    /// Every input with its result, for the report of a failure.
    pub(crate) story: Vec<String>,
    /// How many random bytes meant something.
    pub(crate) garbage: u64,
}

impl<P: Protocol> Network<P> {
    /// Between nodes that have not started, with the channel that this company sees where `order` is declared.
    pub(crate) fn new(nodes: Vec<P>, order: Order, company: Company) -> Self {
        let order = if company == Company::Honest { order } else { Order::Any };
        let (in_flight, sent, story) = (Vec::new(), Vec::new(), Vec::new());
        Network { nodes, order, in_flight, sent, story, garbage: 0 }
    }

    pub(crate) fn anybody(&self, chance: &mut Chance) -> NodeId {
        NodeId::new(chance.below(self.nodes.len()))
    }

    /// The node itself, or one that does not exist.
    pub(crate) fn stranger(&self, to: NodeId, chance: &mut Chance) -> NodeId {
        let n = self.nodes.len();
        *chance.pick(&[to, NodeId::new(n), NodeId::new(n + 7), NodeId::new(u32::MAX as usize - 1)])
    }

    /// Takes a message from the network: the oldest of its link where the channel is ordered.
    pub(crate) fn next_message(&mut self, chance: &mut Chance) -> Option<Sent<P>> {
        if self.in_flight.is_empty() {
            return None;
        }
        let mut at = chance.below(self.in_flight.len());
        if self.order == Order::Fifo {
            let link = |sent: &Sent<P>| (sent.0, sent.1);
            let drawn = link(&self.in_flight[at]);
            at = self.in_flight.iter().position(|sent| link(sent) == drawn).unwrap_or(at);
        }
        Some(self.in_flight.remove(at))
    }

    /// A message that was sent some time: as it was, from a stranger, to somebody else, or with a bit, a byte or a number of
    /// it changed; or whatever random bytes, `most` at the most, happen to mean.
    pub(crate) fn forged_message(
        &mut self,
        chance: &mut Chance,
        numbers: &[u64],
        most: usize,
    ) -> Option<Sent<P>> {
        let node = self.anybody(chance);
        let kind = chance.below(6);
        if kind == 0 {
            let bytes: Vec<u8> = (0..1 + chance.below(most)).map(|_| chance.byte()).collect();
            return Some((self.anybody(chance), node, self.decode(&bytes)?));
        }
        if self.sent.is_empty() {
            return None;
        }
        let (from, to, message) = chance.pick(&self.sent).clone();
        match kind {
            1 | 2 => Some((from, to, message)),
            3 => Some((self.stranger(to, chance), to, message)),
            4 => Some((from, node, message)),
            _ => {
                let mut bytes = encode(&message);
                let at = chance.below(bytes.len());
                match chance.below(3) {
                    0 => bytes[at] ^= 1 << chance.below(8),
                    1 => bytes[at] = chance.byte(),
                    // The largest numbers take many bytes, which no change of one byte makes.
                    _ => drop(bytes.splice(at..=at, encode(chance.pick(numbers)))),
                }
                Some((from, to, self.decode(&bytes)?))
            }
        }
    }

    fn decode<T: DeserializeOwned>(&mut self, bytes: &[u8]) -> Option<T> {
        let message = postcard::take_from_bytes(bytes).ok().map(|(message, _rest)| message);
        self.garbage += u64::from(message.is_some());
        message
    }

    /// One step of one node, with all that is promised of it; `before` stands in its outbox already. Returns the effects that
    /// are no messages.
    pub(crate) fn step(
        &mut self,
        node: NodeId,
        input: Input<P>,
        before: P::Event,
    ) -> Result<Vec<Effect<P>>, Refused> {
        let old = self.nodes[node.index()].clone();
        let mut out = Outbox::new();
        out.emit(before.clone());
        self.story.push(format!("{node} {input:?}"));
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            let result = self.nodes[node.index()].step(input, &mut out);
            (result, out)
        }));
        let Ok((result, mut out)) = stepped else { panic!("a step panicked\n{}", self.report()) };
        if let Err(refused) = result {
            self.story.push(format!("  {refused}"));
            let new = &self.nodes[node.index()];
            assert_eq!(*new, old, "a refusal changed the node\n{}", self.report());
            assert_eq!(out.effects().len(), 1, "a refusal added effects\n{}", self.report());
        }
        let mut effects = out.drain();
        let first = effects.next();
        assert_eq!(first, Some(Effect::Emit(before)), "what was in the outbox stays there");
        let mut others = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.post(node, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone());
                    }
                }
                other => others.push(other),
            }
        }
        result.map(|()| others)
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        let known = to.index() < self.nodes.len() && to != from;
        assert!(known, "{from} sends to {to}, which is no other node\n{}", self.report());
        remember(&mut self.sent, (from, to, message.clone()));
        self.in_flight.push((from, to, message));
    }

    pub(crate) fn report(&self) -> String {
        format!("after:\n{}", self.story.join("\n"))
    }
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("it can be written")
}

/// Keeps the latest few.
pub(crate) fn remember<T>(memory: &mut Vec<T>, new: T) {
    if memory.len() == MEMORY {
        memory.remove(0);
    }
    memory.push(new);
}
