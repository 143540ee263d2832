//! One level of the search: the states that so many steps lead to, each once.

use std::sync::Mutex;

use crate::model::{Model, Row as _};

/// How many parts a level's table has, so that threads rarely meet.
const SHARDS: usize = 64;

/// How many numbers a block of rows has; a block never moves, so growth copies nothing.
const BLOCK: usize = 1 << 18;

/// How a state was reached. Of several ways the one from the parent with the smallest fingerprint
/// counts, so that the result does not depend on which thread was first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) parent_fingerprint: u64,
    pub(crate) step: u16,
    /// The parent's number in the level before.
    pub(crate) parent: u32,
}

#[derive(Default)]
struct Shard {
    /// Numbers of states plus one, by fingerprint; 0 is empty.
    slots: Vec<u32>,
    fingerprints: Vec<u64>,
    origins: Vec<Origin>,
}

impl Shard {
    fn insert(&mut self, fingerprint: u64, origin: Origin) -> Option<u32> {
        if 10 * (self.fingerprints.len() + 1) > 7 * self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = fingerprint as usize & mask;
        loop {
            match self.slots[slot] {
                0 => {
                    self.fingerprints.push(fingerprint);
                    self.origins.push(origin);
                    self.slots[slot] = self.fingerprints.len() as u32;
                    return Some(self.fingerprints.len() as u32 - 1);
                }
                number if self.fingerprints[number as usize - 1] == fingerprint => {
                    let known = &mut self.origins[number as usize - 1];
                    *known = (*known).min(origin);
                    return None;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(64);
        let mut slots = vec![0; size];
        for (number, &fingerprint) in self.fingerprints.iter().enumerate() {
            let mut slot = fingerprint as usize & (size - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = number as u32 + 1;
        }
        self.slots = slots;
    }

    fn bytes(&self) -> usize {
        4 * self.slots.capacity()
            + 8 * self.fingerprints.capacity()
            + size_of::<Origin>() * self.origins.capacity()
    }
}

/// The fingerprints of a level, for all threads.
pub(crate) struct Table {
    shards: Vec<Mutex<Shard>>,
}

/// Where a state stands in a [`Table`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    shard: u8,
    slot: u32,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table { shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect() }
    }

    /// Adds a state, or another way to it. `None` if it is known.
    pub(crate) fn insert(&self, fingerprint: u64, origin: Origin) -> Option<Place> {
        // The low bits choose the slot within the shard.
        let shard = (fingerprint >> 58) as u8;
        let slot = self.lock(shard as usize).insert(fingerprint, origin)?;
        Some(Place { shard, slot })
    }

    pub(crate) fn bytes(&self) -> usize {
        (0..SHARDS).map(|shard| self.lock(shard).bytes()).sum()
    }

    fn lock(&self, shard: usize) -> std::sync::MutexGuard<'_, Shard> {
        self.shards[shard].lock().expect("no thread panics while it holds this lock")
    }

    /// Closes the level: every state gets its number.
    pub(crate) fn close(self) -> (Numbering, Links, Vec<u64>) {
        let mut links = Links::default();
        let mut numbering = Numbering { first: Vec::with_capacity(SHARDS) };
        let mut fingerprints = Vec::new();
        for shard in self.shards {
            let shard = shard.into_inner().expect("no thread panics while it holds this lock");
            numbering.first.push(links.parents.len() as u32);
            links.parents.extend(shard.origins.iter().map(|origin| origin.parent));
            links.steps.extend(shard.origins.iter().map(|origin| origin.step));
            fingerprints.extend(shard.fingerprints);
        }
        links.parents.shrink_to_fit();
        links.steps.shrink_to_fit();
        (numbering, links, fingerprints)
    }
}

/// The numbers of a closed level's states.
#[derive(Default)]
pub(crate) struct Numbering {
    first: Vec<u32>,
}

impl Numbering {
    pub(crate) fn number(&self, place: Place) -> u32 {
        self.first[place.shard as usize] + place.slot
    }
}

/// What is kept of a level for ever: how each of its states was reached.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) parents: Vec<u32>,
    pub(crate) steps: Vec<u16>,
}

impl Links {
    pub(crate) fn bytes(&self) -> usize {
        4 * self.parents.capacity() + 2 * self.steps.capacity()
    }
}

/// States to expand, as rows of numbers.
#[derive(Default)]
pub(crate) struct Rows {
    blocks: Vec<Vec<u32>>,
    entries: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    block: u32,
    offset: u32,
    length: u32,
    place: Place,
    fingerprint: u64,
}

impl Rows {
    pub(crate) fn push<G: Model>(
        &mut self,
        model: &G,
        state: &G::State,
        place: Place,
        fingerprint: u64,
    ) {
        let length = state.row_length(model.nodes());
        let fits = self.blocks.last().is_some_and(|block| block.len() + length <= BLOCK);
        if !fits {
            // The first block of a level grows as it needs, for most levels are small.
            let capacity = if self.blocks.is_empty() { 0 } else { BLOCK };
            self.blocks.push(Vec::with_capacity(capacity));
        }
        let block = self.blocks.len() - 1;
        let offset = self.blocks[block].len() as u32;
        state.encode(model.nodes(), &mut self.blocks[block]);
        let (block, length) = (block as u32, length as u32);
        self.entries.push(Row { block, offset, length, place, fingerprint });
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The row, where its state stands, and its fingerprint.
    pub(crate) fn get(&self, index: usize) -> (&[u32], Place, u64) {
        let Row { block, offset, length, place, fingerprint } = self.entries[index];
        let row = &self.blocks[block as usize][offset as usize..][..length as usize];
        (row, place, fingerprint)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| 4 * block.capacity()).sum::<usize>()
            + size_of::<Row>() * self.entries.capacity()
    }
}
