//! What happens next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::clock::Time;

/// Events by time; those of one time in the order in which they were planned.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Planned<E>>,
    planned: u64,
}

#[derive(Debug)]
struct Planned<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<E> Eq for Planned<E> {}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Planned<E> {
    /// The heap gives the greatest first: the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Queue { heap: BinaryHeap::with_capacity(256), planned: 0 }
    }
}

impl<E> Queue<E> {
    pub(crate) fn plan(&mut self, at: Time, event: E) {
        self.planned += 1;
        self.heap.push(Planned { at, number: self.planned, event });
    }

    pub(crate) fn next(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|planned| (planned.at, planned.event))
    }
}
