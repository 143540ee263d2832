//! What every driver of a protocol shares: the loop over what a node wants done, and what tells families of
//! algorithms apart.

use skeptron_core::election::{Elected, Election, Epoch, Notice};
use skeptron_core::mutex::Mutex;
use skeptron_core::mutex::shared::Shared;
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::{Effect, Entered, Input, Lock, NodeId, Outbox, Protocol, Refused, Setup};

/// The nodes of a system.
#[derive(Clone, Debug)]
pub struct Nodes<P: Protocol> {
    nodes: Vec<P>,
    out: Outbox<P>,
}

/// Does what nodes want done.
pub trait EffectSink<P: Protocol> {
    /// `node` does not take its input.
    fn refuse(&mut self, node: NodeId, refused: Refused);

    /// `from` sends a message.
    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message);

    /// `from` sends a message to all other of so many nodes.
    fn broadcast(&mut self, from: NodeId, nodes: usize, message: P::Message) {
        for to in NodeId::all(nodes).filter(|&to| to != from) {
            self.send(from, to, message.clone());
        }
    }

    /// `node` sets an alarm.
    fn arm(&mut self, node: NodeId, timer: P::Timer, after: u32);

    /// `node` stops an alarm.
    fn disarm(&mut self, node: NodeId, timer: P::Timer);

    /// `node` tells its application something.
    fn emit(&mut self, node: NodeId, event: P::Event);
}

impl<P: Protocol> Nodes<P> {
    /// Nodes that have not been given anything.
    #[must_use]
    pub fn new(nodes: Vec<P>) -> Self {
        Nodes { nodes, out: Outbox::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn get(&self, node: NodeId) -> &P {
        &self.nodes[node.index()]
    }

    pub(crate) fn all(&self) -> Vec<&P> {
        self.nodes.iter().collect()
    }

    pub(crate) fn replace(&mut self, node: NodeId, by: P) {
        self.nodes[node.index()] = by;
    }

    /// Gives a node an input and does what it wants done. False if it refuses the input.
    #[inline(always)]
    pub fn step(&mut self, node: NodeId, input: Input<P>, sink: &mut impl EffectSink<P>) -> bool {
        let nodes = self.nodes.len();
        let result = self.nodes[node.index()].step(input, &mut self.out);
        if let Err(refused) = result {
            sink.refuse(node, refused);
        }
        // Most steps want nothing done, and even an empty drain has its price.
        if self.out.effects().is_empty() {
            return result.is_ok();
        }
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message } => sink.send(node, to, message),
                Effect::Broadcast { message } => sink.broadcast(node, nodes, message),
                Effect::Arm { timer, after } => sink.arm(node, timer, after),
                Effect::Disarm(timer) => sink.disarm(node, timer),
                Effect::Emit(event) => sink.emit(node, event),
            }
        }
        result.is_ok()
    }
}

/// Algorithms with the same commands and events: they share applications and judges.
pub(crate) trait Family {
    /// What an application asks of a node.
    type Command: Clone;
    /// What a node tells its application.
    type Event: Send;
    /// What else a judge sees of a node.
    type View;
}

/// An algorithm of a family.
pub(crate) trait Driven<F: Family>:
    Protocol<Command = F::Command, Event = F::Event>
{
    /// The node as it begins again after a crash.
    fn restarted(&self, node: NodeId, name: &str, setup: &Setup) -> Self;

    /// What a judge sees of it.
    fn view(&self) -> F::View;

    /// Whether nodes and messages, those of a link in the order of sending, are in a state from which on the
    /// algorithm keeps its promises.
    fn is_legitimate(_nodes: &[&Self], _in_flight: &[(NodeId, NodeId, &Self::Message)]) -> bool {
        true
    }
}

/// Sections for one at a time.
#[derive(Debug)]
pub(crate) enum MutualExclusion {}

impl Family for MutualExclusion {
    type Command = Lock;
    type Event = Entered;
    type View = ();
}

impl<P: Mutex> Driven<MutualExclusion> for P {
    fn restarted(&self, node: NodeId, name: &str, setup: &Setup) -> Self {
        // It was built once already, so it can be built again.
        P::build(name, setup).map_or_else(|_| self.clone(), |mut all| all.swap_remove(node.index()))
    }

    fn view(&self) {}

    fn is_legitimate(nodes: &[&Self], in_flight: &[(NodeId, NodeId, &Self::Message)]) -> bool {
        <P as Mutex>::is_legitimate(nodes, in_flight)
    }
}

/// One leader for all.
#[derive(Debug)]
pub(crate) enum Elections {}

impl Family for Elections {
    type Command = Notice;
    type Event = Elected;
    type View = Standing;
}

/// Where a node is in an election.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// The highest epoch that it knows of.
    pub(crate) epoch: Epoch,
    /// Its neighbour towards the leader, where the election builds a tree.
    pub(crate) parent: Option<NodeId>,
    /// From how many numbers it waits for a random one, if it does.
    pub(crate) draws: Option<u32>,
}

impl<P: Election> Driven<Elections> for P {
    fn restarted(&self, _node: NodeId, _name: &str, _setup: &Setup) -> Self {
        self.recovered()
    }

    fn view(&self) -> Standing {
        Standing { epoch: self.epoch(), parent: self.parent(), draws: self.draws() }
    }
}

/// Sections for several, in modes. Nobody crashes.
#[derive(Debug)]
pub(crate) enum SharedSections {}

impl Family for SharedSections {
    type Command = Access;
    type Event = AccessEvent;
    type View = ();
}

impl<P: Mutex> Driven<SharedSections> for Shared<P> {
    fn restarted(&self, _node: NodeId, _name: &str, _setup: &Setup) -> Self {
        self.clone()
    }

    fn view(&self) {}
}
