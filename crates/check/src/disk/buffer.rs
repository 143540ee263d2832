//! Successors in memory, each once, until they are written to disk in the order of their fingerprints.

use super::format::put_row;

/// A state that was reached.
#[derive(Clone, Copy)]
struct Entry {
    fingerprint: u64,
    /// See [`origin`].
    origin: u64,
    /// In which chunk of rows, where in it, and how long.
    row: u64,
}

/// How a state was reached, as one number: the parent's place in its level, and the step. Levels are sorted
/// by fingerprint, so the smallest one is that which a search in memory takes.
pub(super) fn origin(parent: u64, step: u16) -> u64 {
    debug_assert!(parent < 1 << 48);
    parent << 16 | u64::from(step)
}

/// The parent's place, and the step.
pub(super) fn parent_and_step(origin: u64) -> (u64, u16) {
    (origin >> 16, origin as u16)
}

/// How many entries a chunk has, and how many bytes of rows; chunks never move, so growth copies nothing.
const ENTRIES: usize = 1 << 10;
const ROWS: usize = 1 << 15;

/// The table has so many slots more than fingerprints choose from, for those that find theirs taken.
const OVERFLOW: usize = 1 << 9;

/// A table of states. A slot is chosen by the high bits of the fingerprint, so that reading the slots in order
/// gives the states almost sorted.
pub(super) struct Buffer {
    /// Numbers of entries plus one; 0 is empty.
    slots: Vec<u32>,
    bits: u32,
    entries: Vec<Vec<Entry>>,
    rows: Vec<Vec<u8>>,
    row: Vec<u32>,
    len: usize,
}

impl Buffer {
    pub(super) fn new() -> Self {
        let bits = 10;
        Buffer {
            slots: vec![0; (1 << bits) + OVERFLOW],
            bits,
            entries: Vec::new(),
            rows: Vec::new(),
            row: Vec::new(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a state, or another way to it.
    pub(super) fn insert(
        &mut self,
        fingerprint: u64,
        origin: u64,
        encode: impl FnOnce(&mut Vec<u32>),
    ) {
        while 10 * (self.len + 1) > 7 << self.bits {
            self.grow();
        }
        loop {
            let mut slot = self.home(fingerprint);
            while let Some(&number) = self.slots.get(slot) {
                if number == 0 {
                    let row = self.keep(encode);
                    if self.len.is_multiple_of(ENTRIES) {
                        self.entries.push(Vec::with_capacity(ENTRIES));
                    }
                    let last = self.entries.last_mut().expect("there is one now");
                    last.push(Entry { fingerprint, origin, row });
                    self.len += 1;
                    self.slots[slot] = self.len as u32;
                    return;
                }
                let known = self.entry_mut(number);
                if known.fingerprint == fingerprint {
                    known.origin = known.origin.min(origin);
                    return;
                }
                slot += 1;
            }
            self.grow();
        }
    }

    fn home(&self, fingerprint: u64) -> usize {
        (fingerprint >> (64 - self.bits)) as usize
    }

    fn entry(&self, number: u32) -> &Entry {
        let index = number as usize - 1;
        &self.entries[index / ENTRIES][index % ENTRIES]
    }

    fn entry_mut(&mut self, number: u32) -> &mut Entry {
        let index = number as usize - 1;
        &mut self.entries[index / ENTRIES][index % ENTRIES]
    }

    /// Keeps a row. Returns where it is.
    fn keep(&mut self, encode: impl FnOnce(&mut Vec<u32>)) -> u64 {
        self.row.clear();
        encode(&mut self.row);
        let most = 5 * self.row.len();
        if self.rows.last().is_none_or(|chunk| chunk.len() + most > ROWS) {
            self.rows.push(Vec::with_capacity(ROWS.max(most)));
        }
        let chunk = self.rows.len() - 1;
        let offset = self.rows[chunk].len();
        put_row(&mut self.rows[chunk], &self.row);
        let length = self.rows[chunk].len() - offset;
        (chunk as u64) << 32 | (offset as u64) << 16 | length as u64
    }

    fn row(&self, place: u64) -> &[u8] {
        let (offset, length) = (place >> 16 & 0xFFFF, place & 0xFFFF);
        &self.rows[(place >> 32) as usize][offset as usize..][..length as usize]
    }

    fn grow(&mut self) {
        loop {
            self.bits += 1;
            // The old one goes first: the entries say all.
            self.slots = Vec::new();
            self.slots = vec![0; (1 << self.bits) + OVERFLOW];
            if self.fill() {
                break;
            }
        }
    }

    /// Finds a slot for every entry. False if there is none for some.
    fn fill(&mut self) -> bool {
        for number in 1..=self.len as u32 {
            let home = self.home(self.entry(number).fingerprint);
            let Some(free) = self.slots[home..].iter().position(|&slot| slot == 0) else {
                return false;
            };
            self.slots[home + free] = number;
        }
        true
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        4 * self.slots.capacity()
            + size_of::<Entry>() * ENTRIES * self.entries.len()
            + self.rows.iter().map(Vec::capacity).sum::<usize>()
    }

    /// How many bytes it takes at most after `more` states were added.
    pub(super) fn bytes_with(&self, more: usize) -> usize {
        let grows = 10 * (self.len + more) > 7 << self.bits;
        self.bytes() + if grows { 4 * self.slots.len() } else { 0 }
    }

    /// Empties it. The table stays as large as it was if it takes no more than `keep` bytes.
    pub(super) fn clear(&mut self, keep: usize) {
        if 4 * self.slots.capacity() > keep {
            *self = Buffer::new();
            return;
        }
        self.slots.fill(0);
        self.entries.clear();
        self.rows.clear();
        self.len = 0;
    }
}

/// Reads the states of a buffer in the order of their fingerprints.
pub(super) struct BufferCursor<'a> {
    buffer: &'a Buffer,
    /// Up to where slots have been read.
    slot: usize,
    /// Neighbours, sorted, the next one last.
    cluster: Vec<u32>,
}

impl<'a> BufferCursor<'a> {
    pub(super) fn new(buffer: &'a Buffer) -> Self {
        let mut cursor = BufferCursor { buffer, slot: 0, cluster: Vec::new() };
        cursor.read_cluster();
        cursor
    }

    /// The fingerprint and origin of the next state.
    pub(super) fn head(&self) -> Option<(u64, u64)> {
        let entry = self.buffer.entry(*self.cluster.last()?);
        Some((entry.fingerprint, entry.origin))
    }

    /// The row of the next state.
    pub(super) fn row(&self) -> &[u8] {
        let next = *self.cluster.last().expect("whoever asks has seen its head");
        self.buffer.row(self.buffer.entry(next).row)
    }

    pub(super) fn advance(&mut self) {
        self.cluster.pop();
        if self.cluster.is_empty() {
            self.read_cluster();
        }
    }

    /// Reads full slots up to the next empty one. Nothing before them can have found its slot among them, so
    /// only neighbours can be out of order.
    fn read_cluster(&mut self) {
        let slots = &self.buffer.slots;
        while self.slot < slots.len() && slots[self.slot] == 0 {
            self.slot += 1;
        }
        while self.slot < slots.len() && slots[self.slot] != 0 {
            self.cluster.push(slots[self.slot]);
            self.slot += 1;
        }
        let buffer = self.buffer;
        self.cluster
            .sort_unstable_by_key(|&number| std::cmp::Reverse(buffer.entry(number).fingerprint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_once_in_order_with_their_smallest_origin() {
        for spread in [1u64, 1 << 40, 0x9E37_79B9_7F4A_7C15] {
            let mut buffer = Buffer::new();
            for round in [3u64, 1, 2] {
                for i in 0..20_000u64 {
                    let fingerprint = i.wrapping_mul(spread);
                    buffer.insert(fingerprint, origin(round, 7), |row| row.extend([i as u32, 9]));
                }
            }
            assert_eq!(buffer.len(), 20_000);
            let mut cursor = BufferCursor::new(&buffer);
            let mut read = Vec::new();
            while let Some((fingerprint, from)) = cursor.head() {
                assert_eq!(parent_and_step(from), (1, 7));
                let mut row = Vec::new();
                super::super::format::get_row(cursor.row(), &mut row).unwrap();
                assert_eq!(u64::from(row[0]).wrapping_mul(spread), fingerprint);
                read.push(fingerprint);
                cursor.advance();
            }
            assert_eq!(read.len(), 20_000);
            assert!(read.is_sorted());
            buffer.clear(0);
            assert!(BufferCursor::new(&buffer).head().is_none() && buffer.bytes() < 10_000);
        }
    }
}
