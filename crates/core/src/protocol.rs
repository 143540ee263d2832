//! The contract between an algorithm and whatever drives it.

use std::fmt::{self, Debug};
use std::hash::Hash;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// One node of a distributed algorithm: no clock, no chance, no I/O.
///
/// A driver (simulator, checker, network runtime) owns the nodes and runs this loop:
///
/// ```
/// use skeptron_core::{Effect, Input, Lock, NodeId, Outbox, Protocol, Setup};
/// use skeptron_core::mutex::{Mutex, ricart_agrawala::RicartAgrawala};
///
/// let mut nodes = RicartAgrawala::build("ricart-agrawala", &Setup::new(2).unwrap()).unwrap();
/// let mut out = Outbox::new();
/// let mut inputs = vec![(NodeId::new(0), Input::Command(Lock::Request))];
/// let mut entered = Vec::new();
/// while let Some((node, input)) = inputs.pop() {
///     nodes[node.index()].step(input, &mut out).unwrap();
///     for effect in out.drain() {
///         match effect {
///             Effect::Send { to, message } =>
///                 inputs.push((to, Input::Deliver { from: node, message })),
///             Effect::Broadcast { message } => {
///                 for to in NodeId::all(2).filter(|&to| to != node) {
///                     inputs.push((to, Input::Deliver { from: node, message: message.clone() }));
///                 }
///             }
///             Effect::Emit(_event) => entered.push(node),
///             Effect::Arm { .. } | Effect::Disarm(_) => unreachable!("it has no timers"),
///         }
///     }
/// }
/// assert_eq!(entered, [NodeId::new(0)]);
/// ```
///
/// Nothing pending hides in the node: whatever it wants done is in the outbox when `step` returns,
/// so `Eq + Hash` is exactly the protocol state.
pub trait Protocol:
    Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// What the application asks for.
    type Command: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned;
    /// What travels between nodes.
    type Message: Message;
    /// Which alarm rang; [`Never`] where there is none.
    type Timer: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync;
    /// What the application is told.
    type Event: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned;

    /// Takes one input.
    ///
    /// # Errors
    /// [`Refused`] means that neither the node nor the outbox has changed.
    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused>;

    /// Whether it makes no difference if `message` is taken now or after whatever else may come to
    /// this node before: taking it sends nothing, and nothing sent meanwhile depends on it. The
    /// checker then need not try both; it never takes this on trust but proves it for each system
    /// that it explores. Saying `false` is always right.
    fn absorbs(&self, _from: NodeId, _message: &Self::Message) -> bool {
        false
    }

    /// Shows every [`Counter`] of the node, in a fixed order, so that a checker can tell states apart by
    /// what follows from them and not by how long ago the run began. Whatever is shown may be changed.
    fn counters(&mut self, _each: &mut dyn FnMut(Counter, &mut u64)) {}
}

/// A number that grows for as long as a system runs, and means something only beside others like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Logical time: compared by everybody, and counted on from the highest that was heard of.
    Clock,
    /// How often a node has asked: that node counts on, others compare.
    Requests(NodeId),
}

impl Counter {
    /// Shows how often each node has asked.
    pub(crate) fn of_requests(numbers: &mut [u64], each: &mut dyn FnMut(Counter, &mut u64)) {
        let numbers = numbers.iter_mut().enumerate();
        numbers.for_each(|(j, number)| each(Counter::Requests(NodeId::new(j)), number));
    }
}

/// What travels between nodes: a small closed set of kinds, counted and drawn by name.
pub trait Message: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync {
    /// The names of all kinds, as the papers write them.
    const KINDS: &'static [&'static str];

    /// Which of [`Self::KINDS`] this message is.
    fn kind(&self) -> usize;

    /// The name of its kind, for diagrams and counters.
    fn label(&self) -> &'static str {
        Self::KINDS[self.kind()]
    }

    /// What a diagram writes beside the name, as the lectures do: the stamp of a request, whom a message is
    /// about; empty where the name says enough.
    fn payload(&self) -> String {
        String::new()
    }

    /// Shows every [`Counter`] of a message from `from`, as [`Protocol::counters`] does.
    fn counters(&mut self, _from: NodeId, _each: &mut dyn FnMut(Counter, &mut u64)) {}
}

/// The part of a [`Message`] that follows from the variants of its type and the names that the papers give them, in order.
macro_rules! kinds {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        const KINDS: &'static [&'static str] = &[$($name),+];

        fn kind(&self) -> usize {
            enum Kind {
                $($variant),+
            }
            match self {
                $(Self::$variant { .. } => Kind::$variant as usize),+
            }
        }
    };
}
pub(crate) use kinds;

/// Everything that can happen to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Input<P: Protocol> {
    /// The system begins. Comes once, before every other input of the node.
    Start,
    /// The application wants something.
    Command(P::Command),
    /// A message arrived.
    Deliver {
        /// Who sent it.
        from: NodeId,
        /// What it says.
        message: P::Message,
    },
    /// An alarm that the node armed has rung.
    Expire(P::Timer),
}

/// Everything a node can want done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Effect<P: Protocol> {
    /// Send `message` to one other node.
    Send {
        /// The receiver; never the node itself, since a node's word to itself is a local step.
        to: NodeId,
        /// What to send.
        message: P::Message,
    },
    /// Send `message` to every other node, in ascending order of ids. One effect rather than
    /// N − 1, so that a driver with a network multicast can use it and a metric can count it.
    Broadcast {
        /// What to send.
        message: P::Message,
    },
    /// Ring `timer` after a while, in multiples of the assumed bound on message delay.
    /// Arming an armed timer starts it anew.
    Arm {
        /// Which alarm.
        timer: P::Timer,
        /// How many times the bound.
        after: u32,
    },
    /// Do not ring `timer` after all.
    Disarm(P::Timer),
    /// Tell the application.
    Emit(P::Event),
}

/// Collects what a step wants done; owned and reused by the driver, so a warm step allocates
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbox<P: Protocol> {
    effects: Vec<Effect<P>>,
}

impl<P: Protocol> Outbox<P> {
    /// An empty outbox.
    #[must_use]
    pub fn new() -> Self {
        Outbox { effects: Vec::new() }
    }

    /// Adds [`Effect::Send`].
    pub fn send(&mut self, to: NodeId, message: P::Message) {
        self.effects.push(Effect::Send { to, message });
    }

    /// Adds [`Effect::Broadcast`].
    pub fn broadcast(&mut self, message: P::Message) {
        self.effects.push(Effect::Broadcast { message });
    }

    /// Adds [`Effect::Arm`].
    pub fn arm(&mut self, timer: P::Timer, after: u32) {
        self.effects.push(Effect::Arm { timer, after });
    }

    /// Adds [`Effect::Disarm`].
    pub fn disarm(&mut self, timer: P::Timer) {
        self.effects.push(Effect::Disarm(timer));
    }

    /// Adds [`Effect::Emit`].
    pub fn emit(&mut self, event: P::Event) {
        self.effects.push(Effect::Emit(event));
    }

    /// Takes all effects out, in the order in which they were added.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Effect<P>> {
        self.effects.drain(..)
    }

    /// The effects so far.
    #[must_use]
    pub fn effects(&self) -> &[Effect<P>] {
        &self.effects
    }
}

impl<P: Protocol> Default for Outbox<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Why an input was not taken. The node and the outbox are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Refused {
    /// The caller's fault: a request while one is being served.
    #[error("a request of this node is already being served")]
    Busy,
    /// The caller's fault: a release by a node that is not inside.
    #[error("this node is not inside the section")]
    NotHeld,
    /// The peer's fault: a message that no correct node would have sent now.
    #[error("unexpected message: {0}")]
    Unexpected(&'static str),
}

/// Refuses a message that cannot have come from another node of a system of `n`.
pub(crate) fn known_peer(from: NodeId, me: NodeId, n: usize) -> Result<(), Refused> {
    if from.index() < n && from != me {
        Ok(())
    } else {
        Err(Refused::Unexpected("the sender is no other node of this system"))
    }
}

/// The timer of a protocol that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Never {}

/// A node's identity. Code counts from 0, everything a person reads counts from 1: `Display` and
/// human-readable serialisation (JSON) add one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The node with this index, counted from 0.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        assert!(index < u32::MAX as usize, "a node index is below 2^32 - 1");
        NodeId(index as u32)
    }

    /// Its index, counted from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// All nodes of a system of `n`, in ascending order.
    pub fn all(n: usize) -> impl ExactSizeIterator<Item = NodeId> + Clone + DoubleEndedIterator {
        (0..n).map(NodeId::new)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", u64::from(self.0) + 1)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shift = u32::from(serializer.is_human_readable());
        // By its name a serializer can tell it from a number.
        serializer.serialize_newtype_struct("NodeId", &(self.0 + shift))
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shift = u32::from(deserializer.is_human_readable());
        let raw = u32::deserialize(deserializer)?;
        match raw.checked_sub(shift) {
            Some(index) if index < u32::MAX => Ok(NodeId(index)),
            _ => Err(D::Error::custom(format!("{raw} is no node; nodes are counted from 1"))),
        }
    }
}

/// One step of one of these nodes, with what is promised of it: who refuses has changed nothing. Broadcasts come out as the
/// messages that they stand for.
#[cfg(test)]
pub(crate) fn checked_step<P: Protocol>(
    nodes: &mut [P],
    node: usize,
    input: Input<P>,
) -> Result<Vec<Effect<P>>, Refused> {
    let mut out = Outbox::new();
    let before = nodes[node].clone();
    let result = nodes[node].step(input, &mut out);
    if result.is_err() {
        assert_eq!(nodes[node], before, "refused means unchanged");
        assert!(out.effects().is_empty(), "refused means nothing to do");
    }
    let mut effects = Vec::new();
    for effect in out.drain() {
        if let Effect::Broadcast { message } = effect {
            let others = NodeId::all(nodes.len()).filter(|to| to.index() != node);
            effects.extend(others.map(|to| Effect::Send { to, message: message.clone() }));
        } else {
            effects.push(effect);
        }
    }
    let to_itself =
        |effect: &Effect<P>| matches!(effect, Effect::Send { to, .. } if to.index() == node);
    assert!(!effects.iter().any(to_itself), "a node's word to itself is a local step");
    result.map(|()| effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_count_from_one() {
        let node = NodeId::new(0);
        assert_eq!(node.to_string(), "P1");
        assert_eq!(serde_json::to_string(&node).unwrap(), "1");
        assert_eq!(serde_json::from_str::<NodeId>("1").unwrap(), node);
        assert!(serde_json::from_str::<NodeId>("0").is_err());
    }
}
