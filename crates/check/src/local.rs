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
use skeptron_core::{Effect, Input, NodeId, Outbox, Protocol};

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

/// The node states and messages that exist, for all threads.
pub(crate) struct Locals<P: Protocol> {
    nodes: usize,
    tables: RwLock<Tables<P>>,
}

struct Tables<P: Protocol> {
    cells: Numbered<Cell<P>>,
    letters: Numbered<Letter<P>>,
}

impl<P: Explorable> Locals<P> {
    pub(crate) fn new(nodes: usize) -> Self {
        Locals {
            nodes,
            tables: RwLock::new(Tables { cells: Numbered::new(), letters: Numbered::new() }),
        }
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

    fn letter_number(&self, letter: Letter<P>) -> LetterId {
        self.write().letters.number(letter)
    }

    /// Says something of each cell from a number on.
    pub(crate) fn describe<T>(&self, from: usize, say: impl Fn(&Cell<P>) -> T, said: &mut Vec<T>) {
        said.extend(self.read().cells.things[from..].iter().map(say));
    }

    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        let tables = self.read();
        // The vectors inside a node are some hundred bytes; each thing is kept twice.
        let cell = 2 * (size_of::<Cell<P>>() + 100) + 24;
        let letter = 2 * (size_of::<Letter<P>>() + 30) + 24;
        tables.cells.things.len() * cell + tables.letters.things.len() * letter
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Tables<P>> {
        self.tables.read().expect("no thread panics while it holds this lock")
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tables<P>> {
        self.tables.write().expect("no thread panics while it holds this lock")
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
    deeds: Range<u32>,
}

/// One thread's memory of what it has looked up.
pub(crate) struct Memory<'a, P: Protocol> {
    locals: &'a Locals<P>,
    outcomes: FxHashMap<(CellId, Event), Outcome>,
    /// What really happened to nodes, apart from what was only looked up.
    taken: FxHashSet<(CellId, Event)>,
    records: bool,
    deeds: Vec<Deed<P::Event>>,
    cell_hashes: Vec<u64>,
    letter_hashes: Vec<u64>,
    out: Outbox<P>,
    pub(crate) normal: Known,
    /// What nodes know, for predicates.
    values: FxHashMap<CellId, Arc<Value>>,
}

impl<'a, P: Explorable> Memory<'a, P> {
    /// `records` what really happens, for [`Memory::into_taken`].
    pub(crate) fn new(locals: &'a Locals<P>, records: bool) -> Self {
        Memory {
            locals,
            outcomes: FxHashMap::default(),
            taken: FxHashSet::default(),
            records,
            deeds: Vec::new(),
            cell_hashes: Vec::new(),
            letter_hashes: Vec::new(),
            out: Outbox::new(),
            normal: Known::default(),
            values: FxHashMap::default(),
        }
    }

    /// What a node in state `cell` does when `event` happens to it.
    pub(crate) fn step(&mut self, cell: CellId, event: Event) -> Outcome {
        if let Some(known) = self.outcomes.get(&(cell, event)) {
            return known.clone();
        }
        let outcome = self.compute(cell, event);
        self.outcomes.insert((cell, event), outcome.clone());
        outcome
    }

    /// The same, and it really happens.
    pub(crate) fn take(&mut self, cell: CellId, event: Event) -> Outcome {
        if self.records {
            self.taken.insert((cell, event));
        }
        self.step(cell, event)
    }

    /// A node's state.
    pub(crate) fn cell(&self, id: CellId) -> Cell<P> {
        self.locals.cell(id)
    }

    /// What a node knows, as plain data.
    pub(crate) fn value(&mut self, id: CellId) -> Arc<Value> {
        let known = self.values.entry(id);
        // States are plain data: they always have a JSON form.
        let read = || serde_json::to_value(&self.locals.cell(id).node).unwrap_or_default();
        Arc::clone(known.or_insert_with(|| Arc::new(read())))
    }

    /// The number of a node's state.
    pub(crate) fn cell_number(&self, cell: Cell<P>) -> CellId {
        self.locals.cell_number(cell)
    }

    /// A message.
    pub(crate) fn letter(&self, id: LetterId) -> Letter<P> {
        self.locals.letter(id)
    }

    /// The number of a message.
    pub(crate) fn letter_number(&self, letter: Letter<P>) -> LetterId {
        self.locals.letter_number(letter)
    }

    /// What really happened to nodes.
    pub(crate) fn into_taken(self) -> FxHashSet<(CellId, Event)> {
        self.taken
    }

    /// Who sent it.
    pub(crate) fn sender(&self, letter: LetterId) -> NodeId {
        self.locals.read().letters.things[letter as usize].from
    }

    /// What the node does, in order.
    pub(crate) fn deed(&self, index: u32) -> Deed<P::Event> {
        self.deeds[index as usize]
    }

    /// Where the deeds of an outcome are.
    pub(crate) fn deeds(outcome: &Outcome) -> Range<u32> {
        outcome.deeds.clone()
    }

    /// The same in every run, unlike its number.
    pub(crate) fn cell_hash(&mut self, cell: CellId) -> u64 {
        if cell as usize >= self.cell_hashes.len() {
            let known = self.cell_hashes.len();
            self.cell_hashes.extend_from_slice(&self.locals.read().cells.hashes[known..]);
        }
        self.cell_hashes[cell as usize]
    }

    /// The same in every run, unlike its number.
    pub(crate) fn letter_hash(&mut self, letter: LetterId) -> u64 {
        if letter as usize >= self.letter_hashes.len() {
            let known = self.letter_hashes.len();
            self.letter_hashes.extend_from_slice(&self.locals.read().letters.hashes[known..]);
        }
        self.letter_hashes[letter as usize]
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.outcomes.capacity() * (size_of::<((CellId, Event), Outcome)>() + 1)
            + self.deeds.capacity() * size_of::<Deed<P::Event>>()
            + (self.cell_hashes.capacity() + self.letter_hashes.capacity()) * 8
    }

    fn compute(&mut self, id: CellId, event: Event) -> Outcome {
        let (mut cell, input, me) = {
            let tables = self.locals.read();
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
            drop(tables);
            let me = cell.me;
            (cell, input, me)
        };
        match event {
            Event::Expire(nth) => drop(cell.armed.remove(nth as usize)),
            Event::Tick => cell.armed.iter_mut().for_each(|alarm| alarm.left -= 1),
            _ => {}
        }
        let start = self.deeds.len() as u32;
        let may_absorb = match &input {
            Some(Input::Deliver { from, message }) => cell.node.absorbs(*from, message),
            _ => false,
        };
        let refused = input.is_some_and(|input| cell.node.step(input, &mut self.out).is_err());
        let mut tables = self.locals.write();
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    let letter = tables.letters.number(Letter { from: me, message });
                    self.deeds.push(Deed::Send { to: to.index() as u8, letter });
                }
                Effect::Broadcast { message } => {
                    let letter = tables.letters.number(Letter { from: me, message });
                    let others =
                        (0..self.locals.nodes as u8).filter(|&to| to as usize != me.index());
                    self.deeds.extend(others.map(|to| Deed::Send { to, letter }));
                }
                Effect::Emit(event) => self.deeds.push(Deed::Emit(event)),
                Effect::Arm { timer, after } => {
                    cell.armed.retain(|alarm| alarm.timer != timer);
                    cell.armed.push(Alarm { timer, left: after });
                    cell.armed.sort_by_key(|alarm| format!("{:?}", alarm.timer));
                }
                Effect::Disarm(timer) => cell.armed.retain(|alarm| alarm.timer != timer),
            }
        }
        let cell = tables.cells.number(cell);
        let silent = self.deeds[start as usize..].iter().all(|deed| matches!(deed, Deed::Emit(_)));
        let absorbed = may_absorb && silent && !refused;
        Outcome { cell, refused, absorbed, deeds: start..self.deeds.len() as u32 }
    }
}
