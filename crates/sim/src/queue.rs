//! The agenda: what happens next. Two implementations with one order: by time, and within one tick
//! as pushed. The same seed gives the same trace on both.

use std::cmp::Reverse;
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
///
/// They are kept in a slab, and only their places are ordered: so the order is compiled once, whatever
/// happens, and no event is moved but in and out.
#[derive(Debug)]
pub struct Queue<E> {
    slab: Vec<Option<E>>,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Wheel(Wheel),
    Heap(Heap),
}

// Always inlined, as is the path from an effect to the queue in the event loop: that saves copying
// the event from call to call, a fifth of all instructions of a run.
impl<E> Queue<E> {
    /// An empty queue at time 0.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        let order = match kind {
            QueueKind::Wheel => Order::Wheel(Wheel::new()),
            QueueKind::Heap => Order::Heap(Heap::default()),
        };
        Queue { slab: Vec::new(), order }
    }

    /// Adds something to happen at `at`, which must not lie before what was popped last.
    #[inline(always)]
    pub fn push(&mut self, at: Ticks, event: E) {
        let place = match &mut self.order {
            Order::Wheel(wheel) => wheel.push(at),
            Order::Heap(heap) => heap.push(at),
        };
        match self.slab.get_mut(place as usize) {
            Some(empty) => *empty = Some(event),
            None => self.slab.push(Some(event)),
        }
    }

    /// When the next thing happens.
    #[must_use]
    pub fn next_at(&self) -> Option<Ticks> {
        match &self.order {
            Order::Wheel(wheel) => wheel.next_at(),
            Order::Heap(heap) => heap.entries.peek().map(|Reverse(entry)| entry.at),
        }
    }

    /// Takes out what happens next, with its time.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Ticks, E)> {
        let (at, place) = match &mut self.order {
            Order::Wheel(wheel) => wheel.pop(),
            Order::Heap(heap) => heap.pop(),
        }?;
        self.slab[place as usize].take().map(|event| (at, event))
    }

    /// Everything that is to happen, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.slab.iter().flatten()
    }

    /// Takes out everything that is `wanted`, with its time, asking in the order in which things
    /// happen. The rest keeps its order.
    pub fn take(&mut self, wanted: &mut dyn FnMut(&E) -> bool) -> Vec<(Ticks, E)> {
        let slab = &self.slab;
        let mut is_wanted = |place: u32| slab[place as usize].as_ref().is_some_and(&mut *wanted);
        let taken = match &mut self.order {
            Order::Wheel(wheel) => wheel.take(&mut is_wanted),
            Order::Heap(heap) => heap.take(&mut is_wanted),
        };
        let mut event = |(at, place): (Ticks, u32)| Some((at, self.slab[place as usize].take()?));
        taken.into_iter().filter_map(&mut event).collect()
    }
}

/// A thing in the heap: when it happens, and the how-manieth it was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Ticks,
    number: u64,
    place: u32,
}

#[derive(Debug, Default)]
struct Heap {
    entries: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
    free: Vec<u32>,
}

impl Heap {
    fn push(&mut self, at: Ticks) -> u32 {
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        self.entries.push(Reverse(Entry { at, number: self.pushed, place }));
        self.pushed += 1;
        place
    }

    fn pop(&mut self) -> Option<(Ticks, u32)> {
        let Reverse(Entry { at, place, .. }) = self.entries.pop()?;
        self.free.push(place);
        Some((at, place))
    }

    fn take(&mut self, is_wanted: &mut dyn FnMut(u32) -> bool) -> Vec<(Ticks, u32)> {
        // The greatest is the next to happen.
        let entries = std::mem::take(&mut self.entries).into_sorted_vec().into_iter().rev();
        let (taken, rest): (Vec<_>, Vec<_>) =
            entries.partition(|Reverse(entry)| is_wanted(entry.place));
        self.entries = rest.into();
        self.free.extend(taken.iter().map(|Reverse(entry)| entry.place));
        taken.into_iter().map(|Reverse(entry)| (entry.at, entry.place)).collect()
    }
}

/// Slots of the wheel: 16 units of time ahead, whose heads and tails fit the second-level cache.
const SLOTS: usize = 1 << 14;
const WORDS: usize = SLOTS / 64;
const NONE: u32 = u32::MAX;

/// A timing wheel with one slot per tick. Each slot is a list of places in the slab, so pushing and
/// popping touch no allocator once the slab has grown to the largest number of events in flight.
/// What lies beyond the wheel's reach waits in a map and moves in before its slot can be pushed to,
/// which keeps the order of pushes within a tick.
#[derive(Debug)]
struct Wheel {
    now: Ticks,
    slots: Box<[List; SLOTS]>,
    /// Which slots are not empty, and which words of that are not zero.
    used: Box<[u64; WORDS]>,
    used_words: [u64; WORDS / 64],
    /// After each place the next one of its list.
    next: Vec<u32>,
    /// The first free place.
    free: u32,
    /// How many events are in the slots.
    near: usize,
    far: BTreeMap<Ticks, List>,
}

/// Places of one tick, as pushed.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: List = List { first: NONE, last: NONE };

    #[inline(always)]
    fn push(&mut self, place: u32, next: &mut [u32]) {
        match self.first {
            NONE => self.first = place,
            _ => next[self.last as usize] = place,
        }
        self.last = place;
    }

    /// Takes out the first place; there must be one. What stands after the last place means nothing.
    #[inline(always)]
    fn pop(&mut self, next: &[u32]) -> u32 {
        let place = self.first;
        self.first = if place == self.last { NONE } else { next[place as usize] };
        place
    }
}

impl Wheel {
    fn new() -> Self {
        Wheel {
            now: 0,
            slots: Box::new([List::EMPTY; SLOTS]),
            used: Box::new([0; WORDS]),
            used_words: [0; WORDS / 64],
            next: Vec::new(),
            free: NONE,
            near: 0,
            far: BTreeMap::new(),
        }
    }

    #[inline(always)]
    fn push(&mut self, at: Ticks) -> u32 {
        debug_assert!(at >= self.now, "the past is over");
        let place = match self.free {
            NONE => {
                self.next.push(NONE);
                (self.next.len() - 1) as u32
            }
            place => {
                self.free = self.next[place as usize];
                place
            }
        };
        if at - self.now < SLOTS as Ticks {
            self.push_near(at, place);
        } else {
            self.push_far(at, place);
        }
        place
    }

    #[inline(always)]
    fn push_near(&mut self, at: Ticks, place: u32) {
        let at = at as usize % SLOTS;
        let slot = &mut self.slots[at];
        if slot.first == NONE {
            self.used[at / 64] |= 1 << (at % 64);
            self.used_words[at / 4096] |= 1 << (at / 64 % 64);
        }
        slot.push(place, &mut self.next);
        self.near += 1;
    }

    #[cold]
    fn push_far(&mut self, at: Ticks, place: u32) {
        self.far.entry(at).or_insert(List::EMPTY).push(place, &mut self.next);
    }

    fn next_at(&self) -> Option<Ticks> {
        match self.near {
            0 => self.far.first_key_value().map(|(&at, _)| at),
            _ => Some(self.now + self.next_used()),
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(Ticks, u32)> {
        if self.near == 0 {
            let (&at, _) = self.far.first_key_value()?;
            self.advance(at);
        } else if self.slots[self.now as usize % SLOTS].first == NONE {
            let ahead = self.next_used();
            self.advance(self.now + ahead);
        }
        let place = self.pop_near(self.now);
        self.next[place as usize] = self.free;
        self.free = place;
        Some((self.now, place))
    }

    /// Takes the first place out of a slot that is not empty.
    #[inline(always)]
    fn pop_near(&mut self, at: Ticks) -> u32 {
        let at = at as usize % SLOTS;
        let slot = &mut self.slots[at];
        let place = slot.pop(&self.next);
        if slot.first == NONE {
            self.used[at / 64] &= !(1 << (at % 64));
            if self.used[at / 64] == 0 {
                self.used_words[at / 4096] &= !(1 << (at / 64 % 64));
            }
        }
        self.near -= 1;
        place
    }

    fn take(&mut self, is_wanted: &mut dyn FnMut(u32) -> bool) -> Vec<(Ticks, u32)> {
        let mut taken = Vec::new();
        for at in self.now..self.now + SLOTS as Ticks {
            let mut rest = Vec::new();
            while self.slots[at as usize % SLOTS].first != NONE {
                rest.push(self.pop_near(at));
            }
            for place in rest {
                if is_wanted(place) {
                    taken.push((at, place));
                } else {
                    self.push_near(at, place);
                }
            }
        }
        for (at, mut list) in std::mem::take(&mut self.far) {
            let mut rest = List::EMPTY;
            while list.first != NONE {
                let place = list.pop(&self.next);
                if is_wanted(place) {
                    taken.push((at, place));
                } else {
                    rest.push(place, &mut self.next);
                }
            }
            if rest.first != NONE {
                self.far.insert(at, rest);
            }
        }
        for &(_, place) in &taken {
            self.next[place as usize] = self.free;
            self.free = place;
        }
        taken
    }

    /// Moves the present to `at` and takes in what has come into reach.
    #[inline]
    fn advance(&mut self, at: Ticks) {
        self.now = at;
        while let Some(entry) = self.far.first_entry() {
            let time = *entry.key();
            if time - at >= SLOTS as Ticks {
                break;
            }
            let mut list = entry.remove();
            while list.first != NONE {
                let place = list.pop(&self.next);
                self.push_near(time, place);
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
                    let taken = heap.take(&mut |event| is_wanted(event));
                    prop_assert!(taken.iter().map(|(at, _)| at).is_sorted());
                    prop_assert_eq!(&wheel.take(&mut |event| is_wanted(event)), &taken);
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
