//! Logical time: Lamport clocks, the total order of requests, vector clocks (spec 1, "Logical time").

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::{Counter, NodeId, Refused};

/// The clock value beyond which a message is refused: far above anything a run can reach, and far
/// enough below the type's limit that counting on never overflows.
const CLOCK_LIMIT: u64 = 1 << 62;

/// A Lamport clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LamportClock(u64);

impl LamportClock {
    /// One that begins there.
    pub(crate) fn at(t: u64) -> Self {
        LamportClock(t)
    }

    /// A local or send action: counts on and returns the new value.
    pub fn tick(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    /// A receive action: `C = max(C, t + 1)`, later than the send. Not `max(C, t) + 1`, which would
    /// count receipts that teach nothing as well: then the order of any two receipts shows in every
    /// later stamp, and a checker meets 25 times as many states. Check `t` with [`plausible`] first.
    pub fn receive(&mut self, t: u64) {
        self.0 = self.0.max(t + 1);
    }

    /// A receive action of an algorithm that stamps only its requests: `C = max(C, t)`. The next
    /// request counts on, so stamps still follow happened-before, and fewer distinct states remain
    /// for the checker.
    pub fn witness(&mut self, t: u64) {
        self.0 = self.0.max(t);
    }

    /// Shows the value, for [`crate::Protocol::counters`].
    pub(crate) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        each(Counter::Clock, &mut self.0);
    }

    /// Shows the value and a stamp that it gave.
    pub(crate) fn counters_with(
        &mut self,
        stamp: &mut u64,
        each: &mut dyn FnMut(Counter, &mut u64),
    ) {
        self.counters(each);
        each(Counter::Clock, stamp);
    }

    /// The present value.
    #[must_use]
    pub fn now(self) -> u64 {
        self.0
    }
}

/// Refuses a clock value that no correct peer can have reached.
///
/// # Errors
/// [`Refused::Unexpected`] if `t` is out of range.
pub fn plausible(t: u64) -> Result<(), Refused> {
    if t < CLOCK_LIMIT { Ok(()) } else { Err(Refused::Unexpected("clock value out of range")) }
}

/// When a request was made: clock first, id second. (Comparing the id first is a classic mistake:
/// low ids starve the others.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp {
    /// The requester's Lamport clock.
    pub clock: u64,
    /// The requester.
    pub node: NodeId,
}

impl Timestamp {
    /// The request that `node` made at `clock`.
    #[must_use]
    pub fn new(clock: u64, node: NodeId) -> Self {
        Timestamp { clock, node }
    }
}

/// A vector clock, for traces and diagrams; no algorithm uses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VectorClock(Vec<u64>);

impl VectorClock {
    /// The clock of a node of a system of `n` before anything happened.
    #[must_use]
    pub fn new(n: usize) -> Self {
        VectorClock(vec![0; n])
    }

    /// An action of `node`.
    pub fn tick(&mut self, node: NodeId) {
        self.0[node.index()] += 1;
    }

    /// Takes over what `other` knows.
    pub fn merge(&mut self, other: &VectorClock) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// How many actions of each node are known.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// Happened-before: `Less` and `Greater` are causal, `None` is concurrent.
impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let mut pairs = self.0.iter().zip(&other.0);
        pairs.try_fold(Ordering::Equal, |so_far, (a, b)| match (so_far, a.cmp(b)) {
            (order, Ordering::Equal) | (Ordering::Equal, order) => Some(order),
            (x, y) if x == y => Some(x),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_ordered_by_clock_before_id() {
        let early = Timestamp::new(1, NodeId::new(9));
        let late = Timestamp::new(2, NodeId::new(0));
        assert!(early < late);
        assert!(Timestamp::new(2, NodeId::new(0)) < Timestamp::new(2, NodeId::new(1)));
    }

    #[test]
    fn a_receipt_is_later_than_the_send() {
        let mut clock = LamportClock::default();
        clock.receive(7);
        assert_eq!(clock.now(), 8);
        clock.receive(3);
        assert_eq!(clock.now(), 8, "that was later already");
        assert_eq!(clock.tick(), 9);
    }

    #[test]
    fn vector_clocks_tell_causality_from_concurrency() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let mut first = VectorClock::new(2);
        first.tick(a);
        let mut second = first.clone();
        second.tick(b);
        assert!(first < second);
        first.tick(a);
        assert_eq!(first.partial_cmp(&second), None);
        second.merge(&first);
        assert!(first < second);
    }
}
