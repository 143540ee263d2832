//! What single nodes do, each thing computed once.
//!
//! A system has millions of states, but its nodes have only thousands, and in one of them a message
//! always has the same effect. So node states and messages are numbered, a world's state is a row of
//! numbers, and a step of a node is looked up.

use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::ops::Range;
use std::sync::RwLock;

use rustc_hash::FxHashMap;
use serde_json::Value;
use skeptron_core::election::Notice;
use skeptron_core::mutex::Lock;
use skeptron_core::{Counter, Effect, Input, Message as _, NodeId, Outbox, Protocol};

/// An algorithm that can be explored.
pub(crate) trait Explorable: Protocol<Command: Numbers, Event: Copy + Send + Sync> {}
impl<P: Protocol<Command: Numbers, Event: Copy + Send + Sync>> Explorable for P {}

/// Commands that have numbers.
pub(crate) trait Numbers: Sized {
    /// The command of that number.
    fn of_number(number: u8) -> Self;
}

/// The number of [`Lock::Request`].
pub(crate) const REQUEST: Event = Event::Command(0);
/// The number of [`Lock::Release`].
pub(crate) const RELEASE: Event = Event::Command(1);

/// The number of [`Lock::Suspect`].
pub(crate) fn missed(whom: usize) -> Event {
    Event::Command(2 + whom as u8)
}

impl Numbers for Lock {
    fn of_number(number: u8) -> Self {
        match number {
            0 => Lock::Request,
            1 => Lock::Release,
            _ => Lock::Suspect(NodeId::new(usize::from(number - 2))),
        }
    }
}

/// The number of [`Notice::Call`].
pub(crate) const CALL: Event = Event::Command(0);

/// The number of [`Notice::Suspect`].
pub(crate) fn suspect(whom: usize) -> Event {
    Event::Command(1 + 2 * whom as u8)
}

/// The number of [`Notice::Trust`].
pub(crate) fn trust(whom: usize) -> Event {
    Event::Command(2 + 2 * whom as u8)
}

/// The number of [`Notice::Drawn`]; smaller ones are enough for the other notices.
pub(crate) fn drawn(number: u8) -> Event {
    Event::Command(FIRST_DRAWN + number)
}

const FIRST_DRAWN: u8 = 64;

impl Numbers for Notice {
    fn of_number(number: u8) -> Self {
        let whom = || NodeId::new(usize::from(number - 1) / 2);
        match number {
            0 => Notice::Call,
            FIRST_DRAWN.. => Notice::Drawn(u32::from(number - FIRST_DRAWN)),
            odd if odd % 2 == 1 => Notice::Suspect(whom()),
            _ => Notice::Trust(whom()),
        }
    }
}

/// Number of a [`LocalState`].
pub(crate) type LocalId = u32;
/// Number of a [`SentMessage`].
pub(crate) type MessageId = u32;

/// A node's state and its armed alarms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LocalState<P: Protocol> {
    pub(crate) me: NodeId,
    pub(crate) node: P,
    /// By name: it does not matter which was armed first.
    pub(crate) armed: Vec<Alarm<P::Timer>>,
}

/// An alarm that is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Alarm<T> {
    pub(crate) timer: T,
    /// In how many bounds it rings.
    pub(crate) left: u32,
}

/// A message and who sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SentMessage<P: Protocol> {
    pub(crate) from: NodeId,
    pub(crate) message: P::Message,
}

/// Things with numbers, and their hashes by content: those are the same in every run.
pub(crate) struct Numbered<T> {
    pub(crate) things: Vec<T>,
    numbers: FxHashMap<T, u32>,
    pub(crate) hashes: Vec<u64>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    pub(crate) fn new() -> Self {
        Numbered { things: Vec::new(), numbers: FxHashMap::default(), hashes: Vec::new() }
    }

    pub(crate) fn number(&mut self, thing: T) -> u32 {
        match self.numbers.entry(thing) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let number = self.things.len() as u32;
                self.things.push(new.key().clone());
                self.hashes.push(content_hash(new.key()));
                new.insert(number);
                number
            }
        }
    }
}

fn content_hash(thing: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(thing)
}

/// The nodes of a system, their states and messages numbered for all threads. A search knows an algorithm only
/// as this, so it is compiled once for all of them; they are asked only for steps that nobody has taken before.
pub(crate) trait Nodes<E>: Send + Sync {
    /// How many nodes there are. They begin in the states 0, 1, 2 …
    fn len(&self) -> usize;

    /// What a node does when something happens to it. Appends its actions.
    fn step(&self, local: LocalId, event: Event, actions: &mut Vec<Action<E>>) -> Outcome;

    /// What a node knows, as plain data.
    fn value(&self, local: LocalId) -> Value;

    /// Who sent it.
    fn sender(&self, message: MessageId) -> NodeId;

    /// Appends the hashes of states that are not among those known. They are the same in every run, unlike numbers.
    fn local_hashes(&self, known: &mut Vec<u64>);

    /// The same for messages.
    fn message_hashes(&self, known: &mut Vec<u64>);

    /// The counters of a node.
    fn local_counters(&self, local: LocalId) -> Counters;

    /// The counters of a message.
    fn message_counters(&self, message: MessageId) -> Counters;

    /// The node with other values of its counters.
    fn local_with(&self, local: LocalId, values: &[u64]) -> LocalId;

    /// The message with other values of its counters.
    fn message_with(&self, message: MessageId, values: &[u64]) -> MessageId;

    /// About how many bytes they take.
    fn bytes(&self) -> usize;

    /// Appends what first led to states or messages with new numbers, in the order of numbers, from an entry on.
    /// The same things happening in that order after [`Nodes::reset`] give the same numbers.
    fn log(&self, from: usize, log: &mut Vec<Cause>);

    /// Forgets all but the states in which nodes begin.
    fn reset(&self);

    /// How many states and messages there are.
    fn counts(&self) -> (usize, usize);

    /// Whether a node in that state can be given that event: both exist.
    fn has(&self, local: LocalId, event: Event) -> bool;

    /// In how many other states each node may begin.
    fn beginnings(&self) -> u16;

    /// One of them.
    fn beginning(&self, node: usize, nth: u16) -> LocalId;

    /// Whether nodes and messages in flight are in a state from which on the algorithm keeps its promises.
    fn is_legitimate(&self, nodes: &[LocalId], in_flight: &[(u8, u8, MessageId)]) -> bool;
}

/// What led to something new: an event at a node, or its return after a crash.
pub(crate) type Cause = (LocalId, Option<Event>);

/// Counters and their values.
pub(crate) type Counters = Box<[(Counter, u64)]>;

/// The nodes of one algorithm.
pub(crate) struct NodeTable<P: Protocol> {
    pub(crate) nodes: usize,
    /// In which other states nodes may begin: one row for each number of a state.
    pub(crate) beginnings: Vec<Vec<LocalId>>,
    pub(crate) legitimacy: Option<Legitimacy<P>>,
    tables: RwLock<Tables<P>>,
}

/// Tells legitimate states, by the nodes and what is in flight between them.
pub(crate) type Legitimacy<P> = fn(&[&P], &[(NodeId, NodeId, &<P as Protocol>::Message)]) -> bool;

struct Tables<P: Protocol> {
    local_states: Numbered<LocalState<P>>,
    sent_messages: Numbered<SentMessage<P>>,
    log: Vec<Cause>,
}

impl<P: Protocol> Tables<P> {
    fn counts(&self) -> (usize, usize) {
        (self.local_states.things.len(), self.sent_messages.things.len())
    }
}

impl<P: Explorable> NodeTable<P> {
    pub(crate) fn new(nodes: Vec<P>) -> Self {
        let count = nodes.len();
        let mut local_states = Numbered::new();
        for (me, node) in NodeId::all(count).zip(nodes) {
            local_states.number(LocalState { me, node, armed: Vec::new() });
        }
        let tables = Tables { local_states, sent_messages: Numbered::new(), log: Vec::new() };
        let tables = RwLock::new(tables);
        NodeTable { nodes: count, beginnings: Vec::new(), legitimacy: None, tables }
    }

    /// How many states there are before anything happens.
    fn first_states(&self) -> usize {
        let begun = self.beginnings.iter().flatten().map(|&id| id as usize + 1);
        begun.max().unwrap_or_default().max(self.nodes)
    }

    pub(crate) fn local_number(&self, local: LocalState<P>) -> LocalId {
        self.write().local_states.number(local)
    }

    /// The number of what a node is after its return from `before`.
    pub(crate) fn returned(&self, before: LocalId, local: LocalState<P>) -> LocalId {
        let mut tables = self.write();
        let known = tables.counts();
        let number = tables.local_states.number(local);
        if tables.counts() != known {
            tables.log.push((before, None));
        }
        number
    }

    pub(crate) fn local(&self, id: LocalId) -> LocalState<P> {
        self.read().local_states.things[id as usize].clone()
    }

    fn message(&self, id: MessageId) -> SentMessage<P> {
        self.read().sent_messages.things[id as usize].clone()
    }

    /// Says something of each local from a number on.
    pub(crate) fn describe<T>(&self, say: impl Fn(&LocalState<P>) -> T, said: &mut Vec<T>) {
        let known = said.len();
        said.extend(self.read().local_states.things[known..].iter().map(say));
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Tables<P>> {
        self.tables.read().expect("no thread panics while it holds this lock")
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tables<P>> {
        self.tables.write().expect("no thread panics while it holds this lock")
    }
}

impl<P: Explorable> Nodes<P::Event> for NodeTable<P> {
    fn len(&self) -> usize {
        self.nodes
    }

    fn step(&self, id: LocalId, event: Event, actions: &mut Vec<Action<P::Event>>) -> Outcome {
        let (mut local, input) = {
            let tables = self.read();
            let local = tables.local_states.things[id as usize].clone();
            let input = match event {
                Event::Start => Some(Input::Start),
                Event::Command(number) => Some(Input::Command(P::Command::of_number(number))),
                Event::Deliver(message) => {
                    let message = tables.sent_messages.things[message as usize].clone();
                    Some(Input::Deliver { from: message.from, message: message.message })
                }
                Event::Expire(nth) => Some(Input::Expire(local.armed[nth as usize].timer.clone())),
                Event::Tick => None,
            };
            (local, input)
        };
        match event {
            Event::Expire(nth) => drop(local.armed.remove(nth as usize)),
            // In a search no bound passes while one is due; in a run before it a paused node may sleep on.
            Event::Tick => {
                local.armed.iter_mut().for_each(|alarm| alarm.left = alarm.left.saturating_sub(1));
            }
            _ => {}
        }
        let me = local.me;
        let start = actions.len();
        let may_absorb = match &input {
            Some(Input::Deliver { from, message }) => local.node.absorbs(*from, message),
            _ => false,
        };
        let mut out = Outbox::new();
        let refused = input.is_some_and(|input| local.node.step(input, &mut out).is_err());
        let mut tables = self.write();
        let known = tables.counts();
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    let message = tables.sent_messages.number(SentMessage { from: me, message });
                    actions.push(Action::Send { to: to.index() as u8, message });
                }
                Effect::Broadcast { message } => {
                    let message = tables.sent_messages.number(SentMessage { from: me, message });
                    let others = (0..self.nodes as u8).filter(|&to| to as usize != me.index());
                    actions.extend(others.map(|to| Action::Send { to, message }));
                }
                Effect::Emit(event) => actions.push(Action::Emit(event)),
                Effect::Arm { timer, after } => {
                    local.armed.retain(|alarm| alarm.timer != timer);
                    local.armed.push(Alarm { timer, left: after });
                    local.armed.sort_by_key(|alarm| format!("{:?}", alarm.timer));
                }
                Effect::Disarm(timer) => local.armed.retain(|alarm| alarm.timer != timer),
            }
        }
        let local = tables.local_states.number(local);
        if tables.counts() != known {
            tables.log.push((id, Some(event)));
        }
        let silent = actions[start..].iter().all(|action| matches!(action, Action::Emit(_)));
        let absorbed = may_absorb && silent && !refused;
        Outcome { local, refused, absorbed, actions: start as u32..actions.len() as u32 }
    }

    fn value(&self, local: LocalId) -> Value {
        // States are plain data: they always have a JSON form.
        serde_json::to_value(&self.local(local).node).unwrap_or_default()
    }

    fn sender(&self, message: MessageId) -> NodeId {
        self.read().sent_messages.things[message as usize].from
    }

    fn local_hashes(&self, known: &mut Vec<u64>) {
        let from = known.len();
        known.extend_from_slice(&self.read().local_states.hashes[from..]);
    }

    fn message_hashes(&self, known: &mut Vec<u64>) {
        let from = known.len();
        known.extend_from_slice(&self.read().sent_messages.hashes[from..]);
    }

    fn local_counters(&self, local: LocalId) -> Counters {
        let mut found = Vec::new();
        self.local(local).node.counters(&mut |counter, value| found.push((counter, *value)));
        found.into()
    }

    fn message_counters(&self, message: MessageId) -> Counters {
        let mut found = Vec::new();
        let SentMessage { from, mut message } = self.message(message);
        message.counters(from, &mut |counter, value| found.push((counter, *value)));
        found.into()
    }

    fn local_with(&self, local: LocalId, values: &[u64]) -> LocalId {
        let mut local = self.local(local);
        let mut values = values.iter();
        local.node.counters(&mut |_, value| *value = *values.next().expect("as many"));
        self.local_number(local)
    }

    fn message_with(&self, message: MessageId, values: &[u64]) -> MessageId {
        let mut message = self.message(message);
        let mut values = values.iter();
        message.message.counters(message.from, &mut |_, value| {
            *value = *values.next().expect("as many");
        });
        self.write().sent_messages.number(message)
    }

    fn bytes(&self) -> usize {
        let tables = self.read();
        // The vectors inside a node are some hundred bytes; each thing is kept twice.
        let local = 2 * (size_of::<LocalState<P>>() + 100) + 24;
        let message = 2 * (size_of::<SentMessage<P>>() + 30) + 24;
        tables.local_states.things.len() * local
            + tables.sent_messages.things.len() * message
            + tables.log.capacity() * size_of::<Cause>()
    }

    fn log(&self, from: usize, log: &mut Vec<Cause>) {
        log.extend_from_slice(&self.read().log[from..]);
    }

    fn reset(&self) {
        let mut tables = self.write();
        let mut local_states = Numbered::new();
        for local in &tables.local_states.things[..self.first_states()] {
            local_states.number(local.clone());
        }
        *tables = Tables { local_states, sent_messages: Numbered::new(), log: Vec::new() };
    }

    fn counts(&self) -> (usize, usize) {
        self.read().counts()
    }

    fn has(&self, local: LocalId, event: Event) -> bool {
        let tables = self.read();
        let state = tables.local_states.things.get(local as usize);
        state.is_some_and(|state| match event {
            Event::Deliver(message) => (message as usize) < tables.sent_messages.things.len(),
            Event::Expire(nth) => (nth as usize) < state.armed.len(),
            _ => true,
        })
    }

    fn beginnings(&self) -> u16 {
        self.beginnings.len() as u16
    }

    fn beginning(&self, node: usize, nth: u16) -> LocalId {
        self.beginnings[usize::from(nth)][node]
    }

    fn is_legitimate(&self, nodes: &[LocalId], in_flight: &[(u8, u8, MessageId)]) -> bool {
        let Some(legitimacy) = self.legitimacy else { return true };
        let tables = self.read();
        let node = |&id: &LocalId| &tables.local_states.things[id as usize].node;
        let nodes: Vec<&P> = nodes.iter().map(node).collect();
        let message = |&(from, to, id): &(u8, u8, MessageId)| {
            let [from, to] = [from, to].map(|node| NodeId::new(node.into()));
            (from, to, &tables.sent_messages.things[id as usize].message)
        };
        let in_flight: Vec<_> = in_flight.iter().map(message).collect();
        legitimacy(&nodes, &in_flight)
    }
}

/// What a node does about an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action<E> {
    /// It sends a message.
    Send { to: u8, message: MessageId },
    /// It tells its application.
    Emit(E),
}

/// What happens to a node, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Start,
    Command(u8),
    Deliver(MessageId),
    Expire(u32),
    /// One bound passes.
    Tick,
}

/// Where a step leads.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) local: LocalId,
    pub(crate) refused: bool,
    /// Whether it is a message that the node absorbs: see [`crate::reduction`].
    pub(crate) absorbed: bool,
    /// Where its actions are among those of the thread's memory.
    pub(crate) actions: Range<u32>,
}
