//! Fences: one counter per lock in the driver's envelope, strictly increasing from entry to entry
//! whatever the algorithm, because consecutive entries are causally ordered by its messages.

use serde::{Deserialize, Serialize};

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

    /// A node has crashed whose fence was this. If it was the highest, it may be given out again: nobody may have heard
    /// that the node had entered with it, and it writes nothing any more.
    pub fn crash(&mut self, fence: u64) {
        if fence == self.highest {
            self.highest = self.highest.saturating_sub(1);
        }
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
    fn a_crashed_holder_takes_its_fence_with_it() {
        let mut monitor = FenceMonitor::default();
        assert_eq!((monitor.enter(1), monitor.enter(2)), (None, None));
        monitor.crash(1);
        assert_eq!(monitor.enter(2), Some(2));
        monitor.crash(2);
        assert_eq!(monitor.enter(2), None);
    }
}
