//! Alarms: what the nodes have set and when it rings.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use skeptron_core::NodeId;

use crate::trace::Ticks;

/// All alarms of a run. They have an agenda of their own: at one tick everything else comes before
/// them, also what is planned for that tick only then, at no latency.
#[derive(Debug)]
pub(crate) struct Alarms<T> {
    /// By time, then as set. An alarm that was stopped or set anew stays here until its time, and its
    /// number is found nowhere then.
    agenda: BinaryHeap<Reverse<(Ticks, u64, NodeId)>>,
    /// What each node has set, with its number.
    set: Vec<Vec<(T, u64)>>,
    /// Numbers of alarms whose time came while the node was paused.
    missed: Vec<Vec<u64>>,
    count: u64,
}

impl<T: Eq> Alarms<T> {
    pub(crate) fn new(nodes: usize) -> Self {
        Alarms {
            agenda: BinaryHeap::new(),
            set: (0..nodes).map(|_| Vec::new()).collect(),
            missed: vec![Vec::new(); nodes],
            count: 0,
        }
    }

    /// Sets an alarm, anew if it is set.
    pub(crate) fn arm(&mut self, node: NodeId, timer: T, at: Ticks) {
        self.disarm(node, &timer);
        self.count += 1;
        self.set[node.index()].push((timer, self.count));
        self.agenda.push(Reverse((at, self.count, node)));
    }

    /// Stops an alarm, if it is set.
    pub(crate) fn disarm(&mut self, node: NodeId, timer: &T) {
        self.set[node.index()].retain(|(set, _)| set != timer);
    }

    /// Stops all alarms of a node.
    pub(crate) fn forget(&mut self, node: NodeId) {
        self.set[node.index()].clear();
        self.missed[node.index()].clear();
    }

    /// When the next one rings.
    pub(crate) fn next_at(&mut self) -> Option<Ticks> {
        while let Some(&Reverse((at, number, node))) = self.agenda.peek() {
            if self.set[node.index()].iter().any(|&(_, set)| set == number) {
                return Some(at);
            }
            self.agenda.pop();
        }
        None
    }

    /// Whose alarm is the next, its number, and when it rings.
    pub(crate) fn pop(&mut self) -> Option<(Ticks, NodeId, u64)> {
        self.next_at()?;
        self.agenda.pop().map(|Reverse((at, number, node))| (at, node, number))
    }

    /// It rings: from now on it is not set any more.
    pub(crate) fn ring(&mut self, node: NodeId, number: u64) -> Option<T> {
        let set = &mut self.set[node.index()];
        let place = set.iter().position(|&(_, set)| set == number)?;
        Some(set.remove(place).0)
    }

    /// Its node is paused, so it rings when the node goes on.
    pub(crate) fn miss(&mut self, node: NodeId, number: u64) {
        self.missed[node.index()].push(number);
    }

    /// `node` goes on: what it has missed rings now.
    pub(crate) fn resume(&mut self, node: NodeId, now: Ticks) {
        let missed = self.missed[node.index()].drain(..);
        self.agenda.extend(missed.map(|number| Reverse((now, number, node))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_set_anew_rings_once_and_one_that_is_stopped_never() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let mut alarms = Alarms::new(2);
        alarms.arm(a, "answer", 5);
        alarms.arm(b, "answer", 6);
        alarms.arm(a, "answer", 7);
        alarms.arm(a, "other", 6);
        alarms.disarm(a, &"other");
        alarms.disarm(a, &"unknown");
        let (at, node, number) = alarms.pop().unwrap();
        assert_eq!((at, node, alarms.ring(node, number)), (6, b, Some("answer")));
        let (at, node, number) = alarms.pop().unwrap();
        assert_eq!((at, node, alarms.ring(node, number)), (7, a, Some("answer")));
        assert_eq!(alarms.pop(), None);
    }

    #[test]
    fn what_a_paused_node_misses_rings_when_it_goes_on_in_the_same_order() {
        let node = NodeId::new(0);
        let mut alarms = Alarms::new(1);
        for (timer, at) in [("first", 5), ("second", 4), ("third", 6)] {
            alarms.arm(node, timer, at);
        }
        while let Some((_, node, number)) = alarms.pop() {
            alarms.miss(node, number);
        }
        alarms.disarm(node, &"third");
        alarms.resume(node, 9);
        let rings: Vec<_> = std::iter::from_fn(|| {
            let (at, node, number) = alarms.pop()?;
            Some((at, alarms.ring(node, number)?))
        })
        .collect();
        assert_eq!(rings, [(9, "first"), (9, "second")]);
        alarms.arm(node, "gone", 10);
        alarms.forget(node);
        assert_eq!(alarms.next_at(), None);
    }
}
