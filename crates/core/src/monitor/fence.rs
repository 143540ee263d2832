//! Fences: one counter per lock in the driver's envelope, strictly increasing from entry to entry
//! whatever the algorithm, because consecutive entries are causally ordered by its messages.

use serde::{Deserialize, Serialize};

use crate::NodeId;

/// The counter of one node. The driver attaches it to every message the node sends, hands it every
/// value that arrives, and asks it for a new one at each entry.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Fence(u64);

impl Fence {
    /// The value to attach to a message.
    #[must_use]
    pub fn attach(self) -> u64 {
        self.0
    }

    /// A message with this value arrived: take the maximum.
    pub fn receive(&mut self, attached: u64) {
        self.0 = self.0.max(attached);
    }

    /// The node enters: add one. The result is the entry's fence.
    pub fn enter(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// Checks that fences strictly increase from entry to entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FenceMonitor {
    highest: u64,
}

impl FenceMonitor {
    /// An entry got `fence`. Returns the highest one given out before if that is not lower.
    pub fn enter(&mut self, fence: u64) -> Option<u64> {
        let before = self.highest;
        self.highest = before.max(fence);
        (fence <= before).then_some(before)
    }
}

/// Checks fences where algorithms go on without nodes that have crashed: with those of the nodes that are left they
/// strictly increase. What only the crashed had entered with may be given out again, and so may lower ones: nobody may
/// have heard of it, and they write nothing any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurvivorFences {
    monitor: FenceMonitor,
    /// With which fence each node entered last; empty where crashes change nothing.
    last: Vec<u64>,
}

impl SurvivorFences {
    /// For so many nodes; `forgets` says whether the algorithm goes on without those that have crashed.
    #[must_use]
    pub fn new(nodes: usize, forgets: bool) -> Self {
        let last = if forgets { vec![0; nodes] } else { Vec::new() };
        SurvivorFences { monitor: FenceMonitor::default(), last }
    }

    /// `node` entered with `fence`. Returns the highest one that counts if that is not lower.
    pub fn enter(&mut self, node: NodeId, fence: u64) -> Option<u64> {
        if let Some(last) = self.last.get_mut(node.index()) {
            *last = fence;
        }
        self.monitor.enter(fence)
    }

    /// A node has crashed.
    pub fn crash(&mut self, node: NodeId) {
        if let Some(last) = self.last.get_mut(node.index()) {
            *last = 0;
            self.monitor.highest = self.last.iter().copied().max().unwrap_or(0);
        }
    }

    /// What was given out until now is not promised to be lower.
    pub fn begin_anew(&mut self) {
        self.monitor = FenceMonitor::default();
        self.last.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_the_fence_to_the_next_holder() {
        let (mut a, mut b, mut monitor) =
            (Fence::default(), Fence::default(), FenceMonitor::default());
        assert_eq!(monitor.enter(a.enter()), None);
        b.receive(a.attach());
        assert_eq!(monitor.enter(b.enter()), None);
        // `a` did not hear of b's entry.
        assert_eq!(monitor.enter(a.enter()), Some(2));
    }

    #[test]
    fn crashed_holders_take_their_fences_with_them() {
        let [a, b, c] = [0, 1, 2].map(NodeId::new);
        let mut fences = SurvivorFences::new(3, true);
        assert_eq!(
            (fences.enter(a, 1), fences.enter(b, 2), fences.enter(c, 3)),
            (None, None, None)
        );
        fences.crash(b);
        assert_eq!(fences.enter(a, 3), Some(3), "another one has entered with it and lives");
        fences.crash(a);
        fences.crash(c);
        assert_eq!(fences.enter(b, 1), None, "nobody is left who entered");
    }

    #[test]
    fn a_crash_changes_nothing_where_others_do_not_go_on() {
        let node = NodeId::new(0);
        let mut fences = SurvivorFences::new(2, false);
        assert_eq!(fences.enter(node, 1), None);
        fences.crash(node);
        assert_eq!(fences.enter(NodeId::new(1), 1), Some(1));
    }
}
