//! Who may believe to hold what, by true time.

use std::collections::BTreeSet;

use skeptron_core::NodeId;
use skeptron_core::monitor::FenceMonitor;
use skeptron_core::mutex::Mode;
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
pub(crate) struct Believers(Vec<Belief>);

#[derive(Clone, Copy, Debug)]
struct Belief {
    who: NodeId,
    fence: Fence,
    mode: Mode,
    until: Time,
}

impl Believers {
    /// Somebody enters; returns who else believes to be inside if that is more than one of them tolerates.
    pub(crate) fn enter(
        &mut self,
        who: NodeId,
        (fence, mode): (Fence, Mode),
        now: Time,
        until: Time,
    ) -> Option<NodeId> {
        self.0.retain(|belief| belief.until > now);
        self.0.push(Belief { who, fence, mode, until });
        self.crowded(fence)
    }

    /// Somebody else beside the entry with this fence, if there are more than one of them tolerates.
    fn crowded(&self, fence: Fence) -> Option<NodeId> {
        let least = self.0.iter().map(|belief| belief.mode).min()?;
        let other = || self.0.iter().find(|belief| belief.fence != fence).map(|belief| belief.who);
        if self.0.len() > least.most() as usize { other() } else { None }
    }

    /// An entry is another one from now on, which may have another fence; as [`Believers::enter`].
    pub(crate) fn change(
        &mut self,
        before: Fence,
        (fence, mode): (Fence, Mode),
        now: Time,
    ) -> Option<NodeId> {
        self.0.retain(|belief| belief.until > now);
        let belief = self.0.iter_mut().find(|belief| belief.fence == before)?;
        (belief.fence, belief.mode) = (fence, mode);
        self.crowded(fence)
    }

    /// Whether somebody believes to be inside.
    pub(crate) fn believes(&self, who: NodeId, now: Time) -> bool {
        self.0.iter().any(|belief| belief.who == who && belief.until > now)
    }

    /// Somebody who is inside believes until then. What ended stays ended.
    pub(crate) fn extend(&mut self, who: NodeId, now: Time, until: Time) {
        for belief in self.0.iter_mut().filter(|it| it.who == who && it.until > now) {
            belief.until = belief.until.max(until);
        }
    }

    /// Somebody who is inside believes until then, and no longer.
    pub(crate) fn set(&mut self, who: NodeId, now: Time, until: Time) {
        for belief in self.0.iter_mut().filter(|it| it.who == who && it.until > now) {
            belief.until = until;
        }
    }

    /// Somebody is out, whatever it held.
    pub(crate) fn leave(&mut self, who: NodeId) {
        self.0.retain(|belief| belief.who != who);
    }

    /// The entry with this fence is over.
    pub(crate) fn end(&mut self, fence: Fence) {
        self.0.retain(|belief| belief.fence != fence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(counter: u64, mode: Mode) -> (Fence, Mode) {
        (Fence::new(1, counter).unwrap(), mode)
    }

    #[test]
    fn belief_ends_by_itself() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let (first, second) = (entry(1, Mode::EXCLUSIVE), entry(2, Mode::EXCLUSIVE));
        let mut believers = Believers::default();
        assert_eq!(believers.enter(a, first, 0, 10), None);
        assert_eq!(believers.clone().enter(b, second, 9, 20), Some(a));
        assert_eq!(believers.clone().enter(b, second, 10, 20), None);
        believers.extend(a, 5, 15);
        assert_eq!(believers.clone().enter(b, second, 14, 20), Some(a));
        believers.extend(a, 15, 30);
        assert_eq!(believers.clone().enter(b, second, 16, 20), None, "it was over");
        believers.leave(a);
        assert_eq!(believers.enter(b, second, 1, 20), None);
    }

    #[test]
    fn each_entry_tolerates_what_its_mode_says() {
        let (a, b, c) = (NodeId::new(0), NodeId::new(1), NodeId::new(2));
        let two = Mode::permits(2).unwrap();
        let mut believers = Believers::default();
        assert_eq!(believers.enter(a, entry(1, Mode::SHARED), 0, 10), None);
        assert_eq!(believers.enter(b, entry(2, two), 0, 10), None);
        assert_eq!(believers.clone().enter(c, entry(3, Mode::SHARED), 0, 10), Some(a));
        let exclusive = entry(4, Mode::EXCLUSIVE);
        assert_eq!(believers.clone().change(entry(2, two).0, exclusive, 0), Some(a));
        believers.end(entry(1, two).0);
        assert_eq!(believers.change(entry(2, two).0, exclusive, 0), None);
    }
}
