//! What single nodes do, each thing computed once.
//!
//! A system has millions of states, but its nodes have only thousands, and in one of them a message
//! always has the same effect. So node states and messages are numbered, a world's state is a row of
//! numbers, and a step of a node is looked up.

use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::ops::Range;
use std::sync::{Arc, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use skeptron_core::election::Notice;
use skeptron_core::mutex::Lock;
use skeptron_core::{Counter, Effect, Input, Message as _, NodeId, Outbox, Protocol};

use crate::normal::Known;

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

impl Numbers for Lock {
    fn of_number(number: u8) -> Self {
        if number == 0 { Lock::Request } else { Lock::Release }
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

impl Numbers for Notice {
    fn of_number(number: u8) -> Self {
        let whom = || NodeId::new(usize::from(number - 1) / 2);
        match number {
            0 => Notice::Call,
            odd if odd % 2 == 1 => Notice::Suspect(whom()),
            _ => Notice::Trust(whom()),
        }
    }
}

/// Number of a [`Cell`].
pub(crate) type CellId = u32;
/// Number of a [`Letter`].
pub(crate) type LetterId = u32;

/// A node's state and its armed alarms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cell<P: Protocol> {
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
pub(crate) struct Letter<P: Protocol> {
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

    /// What a node does when something happens to it. Appends its deeds.
    fn step(&self, cell: CellId, event: Event, deeds: &mut Vec<Deed<E>>) -> Outcome;

    /// What a node knows, as plain data.
    fn value(&self, cell: CellId) -> Value;

    /// Who sent it.
    fn sender(&self, letter: LetterId) -> NodeId;

    /// Appends the hashes of states that are not among those known. They are the same in every run, unlike numbers.
    fn cell_hashes(&self, known: &mut Vec<u64>);

    /// The same for messages.
    fn letter_hashes(&self, known: &mut Vec<u64>);

    /// The counters of a node.
    fn cell_counters(&self, cell: CellId) -> Counters;

    /// The counters of a message.
    fn letter_counters(&self, letter: LetterId) -> Counters;

    /// The node with other values of its counters.
    fn cell_with(&self, cell: CellId, values: &[u64]) -> CellId;

    /// The message with other values of its counters.
    fn letter_with(&self, letter: LetterId, values: &[u64]) -> LetterId;

    /// About how many bytes they take.
    fn bytes(&self) -> usize;
}

/// Counters and their values.
pub(crate) type Counters = Box<[(Counter, u64)]>;

/// The nodes of one algorithm.
pub(crate) struct Locals<P: Protocol> {
    nodes: usize,
    tables: RwLock<Tables<P>>,
}

struct Tables<P: Protocol> {
    cells: Numbered<Cell<P>>,
    letters: Numbered<Letter<P>>,
}

impl<P: Explorable> Locals<P> {
    pub(crate) fn new(nodes: Vec<P>) -> Self {
        let count = nodes.len();
        let mut cells = Numbered::new();
        for (me, node) in NodeId::all(count).zip(nodes) {
            cells.number(Cell { me, node, armed: Vec::new() });
        }
        let tables = Tables { cells, letters: Numbered::new() };
        Locals { nodes: count, tables: RwLock::new(tables) }
    }

    pub(crate) fn cell_number(&self, cell: Cell<P>) -> CellId {
        self.write().cells.number(cell)
    }

    pub(crate) fn cell(&self, id: CellId) -> Cell<P> {
        self.read().cells.things[id as usize].clone()
    }

    fn letter(&self, id: LetterId) -> Letter<P> {
        self.read().letters.things[id as usize].clone()
    }

    /// Says something of each cell from a number on.
    pub(crate) fn describe<T>(&self, say: impl Fn(&Cell<P>) -> T, said: &mut Vec<T>) {
        let known = said.len();
        said.extend(self.read().cells.things[known..].iter().map(say));
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Tables<P>> {
        self.tables.read().expect("no thread panics while it holds this lock")
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tables<P>> {
        self.tables.write().expect("no thread panics while it holds this lock")
    }
}

impl<P: Explorable> Nodes<P::Event> for Locals<P> {
    fn len(&self) -> usize {
        self.nodes
    }

    fn step(&self, id: CellId, event: Event, deeds: &mut Vec<Deed<P::Event>>) -> Outcome {
        let (mut cell, input) = {
            let tables = self.read();
            let cell = tables.cells.things[id as usize].clone();
            let input = match event {
                Event::Start => Some(Input::Start),
                Event::Command(number) => Some(Input::Command(P::Command::of_number(number))),
                Event::Deliver(letter) => {
                    let letter = tables.letters.things[letter as usize].clone();
                    Some(Input::Deliver { from: letter.from, message: letter.message })
                }
                Event::Expire(nth) => Some(Input::Expire(cell.armed[nth as usize].timer.clone())),
                Event::Tick => None,
            };
            (cell, input)
        };
        match event {
            Event::Expire(nth) => drop(cell.armed.remove(nth as usize)),
            Event::Tick => cell.armed.iter_mut().for_each(|alarm| alarm.left -= 1),
            _ => {}
        }
        let me = cell.me;
        let start = deeds.len();
        let may_absorb = match &input {
            Some(Input::Deliver { from, message }) => cell.node.absorbs(*from, message),
            _ => false,
        };
        let mut out = Outbox::new();
        let refused = input.is_some_and(|input| cell.node.step(input, &mut out).is_err());
        let mut tables = self.write();
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    let letter = tables.letters.number(Letter { from: me, message });
                    deeds.push(Deed::Send { to: to.index() as u8, letter });
                }
                Effect::Broadcast { message } => {
                    let letter = tables.letters.number(Letter { from: me, message });
                    let others = (0..self.nodes as u8).filter(|&to| to as usize != me.index());
                    deeds.extend(others.map(|to| Deed::Send { to, letter }));
                }
                Effect::Emit(event) => deeds.push(Deed::Emit(event)),
                Effect::Arm { timer, after } => {
                    cell.armed.retain(|alarm| alarm.timer != timer);
                    cell.armed.push(Alarm { timer, left: after });
                    cell.armed.sort_by_key(|alarm| format!("{:?}", alarm.timer));
                }
                Effect::Disarm(timer) => cell.armed.retain(|alarm| alarm.timer != timer),
            }
        }
        let cell = tables.cells.number(cell);
        let silent = deeds[start..].iter().all(|deed| matches!(deed, Deed::Emit(_)));
        let absorbed = may_absorb && silent && !refused;
        Outcome { cell, refused, absorbed, deeds: start as u32..deeds.len() as u32 }
    }

    fn value(&self, cell: CellId) -> Value {
        // States are plain data: they always have a JSON form.
        serde_json::to_value(&self.cell(cell).node).unwrap_or_default()
    }

    fn sender(&self, letter: LetterId) -> NodeId {
        self.read().letters.things[letter as usize].from
    }

    fn cell_hashes(&self, known: &mut Vec<u64>) {
        let from = known.len();
        known.extend_from_slice(&self.read().cells.hashes[from..]);
    }

    fn letter_hashes(&self, known: &mut Vec<u64>) {
        let from = known.len();
        known.extend_from_slice(&self.read().letters.hashes[from..]);
    }

    fn cell_counters(&self, cell: CellId) -> Counters {
        let mut found = Vec::new();
        self.cell(cell).node.counters(&mut |counter, value| found.push((counter, *value)));
        found.into()
    }

    fn letter_counters(&self, letter: LetterId) -> Counters {
        let mut found = Vec::new();
        let Letter { from, mut message } = self.letter(letter);
        message.counters(from, &mut |counter, value| found.push((counter, *value)));
        found.into()
    }

    fn cell_with(&self, cell: CellId, values: &[u64]) -> CellId {
        let mut cell = self.cell(cell);
        let mut values = values.iter();
        cell.node.counters(&mut |_, value| *value = *values.next().expect("as many"));
        self.cell_number(cell)
    }

    fn letter_with(&self, letter: LetterId, values: &[u64]) -> LetterId {
        let mut letter = self.letter(letter);
        let mut values = values.iter();
        letter.message.counters(letter.from, &mut |_, value| {
            *value = *values.next().expect("as many");
        });
        self.write().letters.number(letter)
    }

    fn bytes(&self) -> usize {
        let tables = self.read();
        // The vectors inside a node are some hundred bytes; each thing is kept twice.
        let cell = 2 * (size_of::<Cell<P>>() + 100) + 24;
        let letter = 2 * (size_of::<Letter<P>>() + 30) + 24;
        tables.cells.things.len() * cell + tables.letters.things.len() * letter
    }
}

/// What a node does about an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed<E> {
    /// It sends a message.
    Send { to: u8, letter: LetterId },
    /// It tells its application.
    Emit(E),
}

/// What happens to a node, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Start,
    Command(u8),
    Deliver(LetterId),
    Expire(u32),
    /// One bound passes.
    Tick,
}

/// Where a step leads.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) cell: CellId,
    pub(crate) refused: bool,
    /// Whether it is a message that the node absorbs: see [`crate::reduction`].
    pub(crate) absorbed: bool,
    /// Where its deeds are among those of the thread's memory.
    pub(crate) deeds: Range<u32>,
}

/// One thread's memory of what it has looked up.
pub(crate) struct Memory<'a, E> {
    nodes: &'a dyn Nodes<E>,
    outcomes: FxHashMap<(CellId, Event), Outcome>,
    /// What really happened to nodes, apart from what was only looked up.
    taken: FxHashSet<(CellId, Event)>,
    records: bool,
    deeds: Vec<Deed<E>>,
    cell_hashes: Vec<u64>,
    letter_hashes: Vec<u64>,
    pub(crate) normal: Known,
    /// What nodes know, for predicates.
    values: FxHashMap<CellId, Arc<Value>>,
}

impl<'a, E: Copy> Memory<'a, E> {
    /// `records` what really happens, for [`Memory::into_taken`].
    pub(crate) fn new(nodes: &'a dyn Nodes<E>, records: bool) -> Self {
        Memory {
            nodes,
            outcomes: FxHashMap::default(),
            taken: FxHashSet::default(),
            records,
            deeds: Vec::new(),
            cell_hashes: Vec::new(),
            letter_hashes: Vec::new(),
            normal: Known::default(),
            values: FxHashMap::default(),
        }
    }

    /// The nodes themselves.
    pub(crate) fn nodes(&self) -> &'a dyn Nodes<E> {
        self.nodes
    }

    /// What a node in state `cell` does when `event` happens to it.
    pub(crate) fn step(&mut self, cell: CellId, event: Event) -> Outcome {
        let computed = || self.nodes.step(cell, event, &mut self.deeds);
        self.outcomes.entry((cell, event)).or_insert_with(computed).clone()
    }

    /// The same, and it really happens.
    pub(crate) fn take(&mut self, cell: CellId, event: Event) -> Outcome {
        if self.records {
            self.taken.insert((cell, event));
        }
        self.step(cell, event)
    }

    /// What a node knows, as plain data.
    pub(crate) fn value(&mut self, id: CellId) -> Arc<Value> {
        let read = || Arc::new(self.nodes.value(id));
        Arc::clone(self.values.entry(id).or_insert_with(read))
    }

    /// What really happened to nodes.
    pub(crate) fn into_taken(self) -> FxHashSet<(CellId, Event)> {
        self.taken
    }

    /// What the node does, in order.
    pub(crate) fn deeds(&self, outcome: &Outcome) -> &[Deed<E>] {
        &self.deeds[outcome.deeds.start as usize..outcome.deeds.end as usize]
    }

    /// One of the deeds of an outcome.
    pub(crate) fn deed(&self, index: u32) -> Deed<E> {
        self.deeds[index as usize]
    }

    /// The same in every run, unlike its number.
    pub(crate) fn cell_hash(&mut self, cell: CellId) -> u64 {
        if cell as usize >= self.cell_hashes.len() {
            self.nodes.cell_hashes(&mut self.cell_hashes);
        }
        self.cell_hashes[cell as usize]
    }

    /// The same in every run, unlike its number.
    pub(crate) fn letter_hash(&mut self, letter: LetterId) -> u64 {
        if letter as usize >= self.letter_hashes.len() {
            self.nodes.letter_hashes(&mut self.letter_hashes);
        }
        self.letter_hashes[letter as usize]
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.outcomes.capacity() * (size_of::<((CellId, Event), Outcome)>() + 1)
            + self.deeds.capacity() * size_of::<Deed<E>>()
            + (self.cell_hashes.capacity() + self.letter_hashes.capacity()) * 8
    }
}
