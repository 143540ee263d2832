//! The agenda: what happens next. Two implementations with one order: by time, and within one tick
//! as pushed. The same seed gives the same trace on both.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use crate::trace::Ticks;

/// Which implementation to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueKind {
    /// One slot per tick of the near future: constant time, whatever its size.
    #[default]
    Wheel,
    /// The textbook's binary heap.
    Heap,
}

/// Things to happen, ordered by time and then by when they were pushed.
#[derive(Debug)]
pub struct Queue<E>(Implementation<E>);

#[derive(Debug)]
enum Implementation<E> {
    Wheel(Wheel<E>),
    Heap(Heap<E>),
}

// Always inlined, as is the path from an effect to the queue in the event loop: that saves copying
// the event from call to call, a fifth of all instructions of a run.
impl<E> Queue<E> {
    /// An empty queue at time 0.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Queue(match kind {
            QueueKind::Wheel => Implementation::Wheel(Wheel::new()),
            QueueKind::Heap => Implementation::Heap(Heap { entries: BinaryHeap::new(), pushed: 0 }),
        })
    }

    /// Adds something to happen at `at`, which must not lie before what was popped last.
    #[inline(always)]
    pub fn push(&mut self, at: Ticks, event: E) {
        match &mut self.0 {
            Implementation::Wheel(wheel) => wheel.push(at, event),
            Implementation::Heap(heap) => heap.push(at, event),
        }
    }

    /// When the next thing happens.
    #[must_use]
    pub fn next_at(&self) -> Option<Ticks> {
        match &self.0 {
            Implementation::Wheel(wheel) => wheel.next_at(),
            Implementation::Heap(heap) => heap.entries.peek().map(|entry| entry.at),
        }
    }

    /// Takes out what happens next, with its time.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Ticks, E)> {
        match &mut self.0 {
            Implementation::Wheel(wheel) => wheel.pop(),
            Implementation::Heap(heap) => heap.entries.pop().map(|entry| (entry.at, entry.event)),
        }
    }
}

impl<E> Queue<E> {
    /// Everything that is to happen, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        let (wheel, heap) = match &self.0 {
            Implementation::Wheel(wheel) => (Some(wheel.iter()), None),
            Implementation::Heap(heap) => {
                (None, Some(heap.entries.iter().map(|entry| &entry.event)))
            }
        };
        wheel.into_iter().flatten().chain(heap.into_iter().flatten())
    }

    /// Takes out everything that is `wanted`, with its time, asking in the order in which things
    /// happen. The rest keeps its order.
    pub fn take(&mut self, wanted: impl FnMut(&E) -> bool) -> Vec<(Ticks, E)> {
        match &mut self.0 {
            Implementation::Wheel(wheel) => wheel.take(wanted),
            Implementation::Heap(heap) => heap.take(wanted),
        }
    }
}

#[derive(Debug)]
struct Heap<E> {
    entries: BinaryHeap<Entry<E>>,
    pushed: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Ticks,
    number: u64,
    event: E,
}

impl<E> Heap<E> {
    fn push(&mut self, at: Ticks, event: E) {
        self.entries.push(Entry { at, number: self.pushed, event });
        self.pushed += 1;
    }

    fn take(&mut self, mut wanted: impl FnMut(&E) -> bool) -> Vec<(Ticks, E)> {
        // The greatest is the next to happen.
        let entries = std::mem::take(&mut self.entries).into_sorted_vec().into_iter().rev();
        let (taken, rest): (Vec<_>, Vec<_>) = entries.partition(|entry| wanted(&entry.event));
        self.entries = rest.into();
        taken.into_iter().map(|entry| (entry.at, entry.event)).collect()
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed: the heap's greatest is the next to happen.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// Slots of the wheel: 16 units of time ahead, whose heads and tails fit the second-level cache.
const SLOTS: usize = 1 << 14;
const WORDS: usize = SLOTS / 64;
const NONE: u32 = u32::MAX;

/// A timing wheel with one slot per tick. Each slot is a list through one slab, so pushing and
/// popping touch no allocator once the slab has grown to the largest number of events in flight.
/// What lies beyond the wheel's reach waits in a map and moves in before its slot can be pushed to,
/// which keeps the order of pushes within a tick.
#[derive(Debug)]
struct Wheel<E> {
    now: Ticks,
    slots: Vec<Slot>,
    /// Which slots are not empty, and which words of that are not zero.
    used: Box<[u64; WORDS]>,
    used_words: [u64; WORDS / 64],
    slab: Vec<Cell<E>>,
    free: u32,
    /// How many events are in the slots.
    near: usize,
    far: BTreeMap<Ticks, Vec<E>>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct Cell<E> {
    event: Option<E>,
    next: u32,
}

impl<E> Wheel<E> {
    fn new() -> Self {
        Wheel {
            now: 0,
            slots: vec![Slot { first: NONE, last: NONE }; SLOTS],
            used: Box::new([0; WORDS]),
            used_words: [0; WORDS / 64],
            slab: Vec::new(),
            free: NONE,
            near: 0,
            far: BTreeMap::new(),
        }
    }

    #[inline(always)]
    fn push(&mut self, at: Ticks, event: E) {
        debug_assert!(at >= self.now, "the past is over");
        if at - self.now < SLOTS as Ticks {
            self.push_near(at, event);
        } else {
            self.far.entry(at).or_default().push(event);
        }
    }

    #[inline(always)]
    fn push_near(&mut self, at: Ticks, event: E) {
        let index = match self.free {
            NONE => {
                self.slab.push(Cell { event: Some(event), next: NONE });
                (self.slab.len() - 1) as u32
            }
            index => {
                let cell = &mut self.slab[index as usize];
                self.free = cell.next;
                *cell = Cell { event: Some(event), next: NONE };
                index
            }
        };
        let place = at as usize % SLOTS;
        let slot = &mut self.slots[place];
        if slot.first == NONE {
            slot.first = index;
            self.used[place / 64] |= 1 << (place % 64);
            self.used_words[place / 4096] |= 1 << (place / 64 % 64);
        } else {
            self.slab[slot.last as usize].next = index;
        }
        slot.last = index;
        self.near += 1;
    }

    fn next_at(&self) -> Option<Ticks> {
        match self.near {
            0 => self.far.first_key_value().map(|(&at, _)| at),
            _ => Some(self.now + self.next_used()),
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(Ticks, E)> {
        if self.near == 0 {
            let (&at, _) = self.far.first_key_value()?;
            self.advance(at);
        } else if self.slots[self.now as usize % SLOTS].first == NONE {
            let ahead = self.next_used();
            self.advance(self.now + ahead);
        }
        self.pop_near(self.now).map(|event| (self.now, event))
    }

    /// Takes out the first event of a tick that is within reach.
    #[inline(always)]
    fn pop_near(&mut self, at: Ticks) -> Option<E> {
        let place = at as usize % SLOTS;
        let index = self.slots[place].first;
        let cell = &mut self.slab[index as usize];
        let event = cell.event.take();
        let next = std::mem::replace(&mut cell.next, self.free);
        self.free = index;
        self.slots[place].first = next;
        if next == NONE {
            self.used[place / 64] &= !(1 << (place % 64));
            if self.used[place / 64] == 0 {
                self.used_words[place / 4096] &= !(1 << (place / 64 % 64));
            }
        }
        self.near -= 1;
        event
    }

    fn iter(&self) -> impl Iterator<Item = &E> {
        let near = self.slab.iter().filter_map(|cell| cell.event.as_ref());
        near.chain(self.far.values().flatten())
    }

    fn take(&mut self, mut wanted: impl FnMut(&E) -> bool) -> Vec<(Ticks, E)> {
        let mut taken = Vec::new();
        for at in self.now..self.now + SLOTS as Ticks {
            let mut rest = Vec::new();
            while self.slots[at as usize % SLOTS].first != NONE {
                rest.extend(self.pop_near(at));
            }
            for event in rest {
                if wanted(&event) {
                    taken.push((at, event));
                } else {
                    self.push_near(at, event);
                }
            }
        }
        for (&at, events) in &mut self.far {
            taken.extend(events.extract_if(.., |event| wanted(event)).map(|event| (at, event)));
        }
        self.far.retain(|_, events| !events.is_empty());
        taken
    }

    /// Moves the present to `at` and takes in what has come into reach.
    fn advance(&mut self, at: Ticks) {
        self.now = at;
        while let Some(entry) = self.far.first_entry() {
            let time = *entry.key();
            if time - at >= SLOTS as Ticks {
                break;
            }
            for event in entry.remove() {
                self.push_near(time, event);
            }
        }
    }

    /// How many ticks ahead the next event in a slot is; there must be one.
    fn next_used(&self) -> Ticks {
        let start = self.now as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.used[word] >> bit;
        if rest != 0 {
            return Ticks::from(rest.trailing_zeros());
        }
        // From the following word on, once around; the last look is at the first word's low bits.
        let mut ahead = 64 - bit;
        let mut word = (word + 1) % WORDS;
        loop {
            let group = self.used_words[word / 64] >> (word % 64);
            if group != 0 {
                let skip = group.trailing_zeros() as usize;
                let bits = self.used[word + skip];
                return (ahead + skip * 64 + bits.trailing_zeros() as usize) as Ticks;
            }
            let skip = 64 - word % 64;
            ahead += skip * 64;
            word = (word + skip) % WORDS;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pops come in the same order from both, whatever is pushed and taken out when.
        #[test]
        fn wheel_and_heap_agree(steps in prop::collection::vec((0u8..9, 0u8..6, 0u64..70_000), 0..400)) {
            let mut wheel = Queue::new(QueueKind::Wheel);
            let mut heap = Queue::new(QueueKind::Heap);
            let mut now = 0;
            for (number, (step, scale, delay)) in steps.into_iter().enumerate() {
                if step == 8 {
                    let share = 1 + usize::from(scale);
                    let is_wanted = |event: &usize| event.is_multiple_of(share);
                    let mut all: Vec<usize> = heap.iter().copied().collect();
                    let taken = heap.take(is_wanted);
                    prop_assert!(taken.iter().map(|(at, _)| at).is_sorted());
                    prop_assert_eq!(&wheel.take(is_wanted), &taken);
                    all.retain(|event| !is_wanted(event));
                    all.sort_unstable();
                    let mut rest: Vec<usize> = wheel.iter().copied().collect();
                    rest.sort_unstable();
                    prop_assert_eq!(rest, all);
                } else if step < 4 {
                    let at = now + delay / [1, 10, 100, 1000, 20_000, 70_000][scale as usize];
                    wheel.push(at, number);
                    heap.push(at, number);
                } else {
                    let next = heap.next_at();
                    prop_assert_eq!(wheel.next_at(), next);
                    let popped = heap.pop();
                    prop_assert_eq!(popped.map(|(at, _)| at), next);
                    prop_assert_eq!(wheel.pop(), popped);
                    now = popped.map_or(now, |(at, _)| at);
                }
            }
            while let Some(popped) = heap.pop() {
                prop_assert_eq!(wheel.pop(), Some(popped));
            }
            prop_assert_eq!(wheel.pop(), None);
        }
    }
}
