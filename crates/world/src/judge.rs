//! Who may believe to hold what, by true time.

use std::collections::BTreeSet;

use skeptron_core::NodeId;
use skeptron_core::monitor::{Exclusion, FenceMonitor};
use skeptron_member::Fence;

use crate::clock::Time;

/// Watches one lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judge {
    fences: FenceMonitor,
    given: BTreeSet<Fence>,
    /// The members in whose cores it is held.
    pub(crate) members: Believers,
    /// The clients that believe to hold it.
    pub(crate) clients: Believers,
}

impl Judge {
    /// An entry begins; the highest fence before if that is not lower.
    pub(crate) fn fence(&mut self, fence: Fence) -> Option<Fence> {
        self.fences.enter(fence.number()).map(Fence::from_number)
    }

    /// Whether no entry had this fence before; to be asked for each of them.
    pub(crate) fn is_unique(&mut self, fence: Fence) -> bool {
        self.given.insert(fence)
    }
}

/// Those who believe to hold a lock, each until some time unless it leaves before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Believers {
    inside: Exclusion,
    until: Vec<(NodeId, Time)>,
}

impl Believers {
    /// Somebody enters; returns who believes to be inside already.
    pub(crate) fn enter(&mut self, who: NodeId, now: Time, until: Time) -> Option<NodeId> {
        self.until.retain(|&(other, until)| {
            if until <= now {
                self.inside.leave(other);
            }
            until > now
        });
        self.until.push((who, until));
        self.inside.enter(who)
    }

    /// Whether somebody believes to be inside.
    pub(crate) fn believes(&self, who: NodeId, now: Time) -> bool {
        self.until.iter().any(|&(other, until)| other == who && until > now)
    }

    /// Somebody who is inside believes until then. What ended stays ended.
    pub(crate) fn extend(&mut self, who: NodeId, now: Time, until: Time) {
        for entry in self.until.iter_mut().filter(|entry| entry.0 == who && entry.1 > now) {
            entry.1 = entry.1.max(until);
        }
    }

    /// Somebody who is inside believes until then, and no longer.
    pub(crate) fn set(&mut self, who: NodeId, now: Time, until: Time) {
        for entry in self.until.iter_mut().filter(|entry| entry.0 == who && entry.1 > now) {
            entry.1 = until;
        }
    }

    /// Somebody is out.
    pub(crate) fn leave(&mut self, who: NodeId) {
        self.inside.leave(who);
        self.until.retain(|entry| entry.0 != who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn belief_ends_by_itself() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let mut believers = Believers::default();
        assert_eq!(believers.enter(a, 0, 10), None);
        assert_eq!(believers.clone().enter(b, 9, 20), Some(a));
        assert_eq!(believers.clone().enter(b, 10, 20), None);
        believers.extend(a, 5, 15);
        assert_eq!(believers.clone().enter(b, 14, 20), Some(a));
        believers.extend(a, 15, 30);
        assert_eq!(believers.clone().enter(b, 16, 20), None, "it was over");
        believers.leave(a);
        assert_eq!(believers.enter(b, 1, 20), None);
    }
}
