//! Deadlock and starvation freedom: whoever wants in gets in, in finite time (spec 1, GA2 and GA2').

use serde::{Deserialize, Serialize};

use crate::NodeId;

/// Watches who waits, how often others pass by, and whether anything still happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// For each node the number of entries so far when it asked; `None` when it does not wait.
    since: Vec<Option<u64>>,
    waiting: usize,
    entries: u64,
    /// Messages since the last entry or the first request, whichever came later.
    fruitless: u64,
    patience: u64,
}

/// How a system got stuck.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stall {
    /// Nothing can happen any more and these wait.
    Deadlock(Vec<NodeId>),
    /// Messages go on and on but these do not get in.
    Livelock(Vec<NodeId>),
    /// Something goes on and on, perhaps only faults or clients that ask crashed nodes, and nobody
    /// gets in. These wait, if anybody does.
    Barren(Vec<NodeId>),
}

impl Progress {
    /// For a system of `n` nodes. A livelock is called after far more messages without an entry than
    /// any algorithm here needs: every node's request may cost a few messages per node.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let n = n as u64;
        Progress {
            since: vec![None; n as usize],
            waiting: 0,
            entries: 0,
            fruitless: 0,
            patience: 100_000 + 20 * n * n,
        }
    }

    /// `node` makes a request.
    pub fn request(&mut self, node: NodeId) {
        if self.since[node.index()].replace(self.entries).is_none() {
            self.waiting += 1;
        }
        if self.waiting == 1 {
            self.fruitless = 0;
        }
    }

    /// `node` enters. Returns how many entries of others passed while it waited.
    pub fn enter(&mut self, node: NodeId) -> u64 {
        let since = self.withdraw(node);
        let bypass = since.map_or(0, |since| self.entries - since);
        self.entries += 1;
        self.fruitless = 0;
        bypass
    }

    /// The request of `node` is gone with its node.
    pub fn forget(&mut self, node: NodeId) {
        self.withdraw(node);
    }

    fn withdraw(&mut self, node: NodeId) -> Option<u64> {
        let since = self.since[node.index()].take();
        self.waiting -= usize::from(since.is_some());
        since
    }

    /// A message was delivered. True if that was one too many without an entry.
    pub fn message(&mut self) -> bool {
        self.fruitless += 1;
        self.fruitless > self.patience && self.waiting > 0
    }

    /// Whether `node` waits.
    #[must_use]
    pub fn is_waiting(&self, node: NodeId) -> bool {
        self.since[node.index()].is_some()
    }

    /// How many others have entered since `node` asked; 0 if it does not wait.
    #[must_use]
    pub fn bypass(&self, node: NodeId) -> u64 {
        self.since[node.index()].map_or(0, |since| self.entries - since)
    }

    /// How many nodes wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Who waits.
    #[must_use]
    pub fn who_waits(&self) -> Vec<NodeId> {
        NodeId::all(self.since.len()).filter(|&node| self.is_waiting(node)).collect()
    }

    /// Nothing can happen any more: a deadlock if somebody waits.
    #[must_use]
    pub fn at_rest(&self) -> Option<Stall> {
        (self.waiting > 0).then(|| Stall::Deadlock(self.who_waits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_who_passes_by() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let mut monitor = Progress::new(2);
        monitor.request(a);
        for _ in 0..3 {
            monitor.request(b);
            monitor.enter(b);
        }
        assert_eq!((monitor.bypass(a), monitor.bypass(b)), (3, 0));
        assert_eq!(monitor.enter(a), 3);
        assert_eq!(monitor.waiting(), 0);
    }

    #[test]
    fn rest_with_somebody_waiting_is_a_deadlock() {
        let a = NodeId::new(0);
        let mut monitor = Progress::new(1);
        assert_eq!(monitor.at_rest(), None);
        monitor.request(a);
        assert_eq!(monitor.at_rest(), Some(Stall::Deadlock(vec![a])));
        monitor.forget(a);
        assert_eq!(monitor.at_rest(), None);
    }

    #[test]
    fn messages_without_an_entry_end_in_a_livelock() {
        let a = NodeId::new(0);
        let mut monitor = Progress::new(1);
        let idle: u64 = 1_000_000;
        assert!(!(0..idle).any(|_| monitor.message()), "nobody waits");
        monitor.request(a);
        assert!((0..idle).any(|_| monitor.message()));
    }
}
