//! What a session holds. Of a lock that tolerates others it may hold several entries.

use std::collections::BTreeMap;

use skeptron_core::mutex::Mode;

use super::Claim;
use crate::Fence;

/// One entry of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    pub(super) fence: Fence,
    pub(super) mode: Mode,
    /// The number of the acquire, if it had one.
    pub(super) request: Option<u64>,
}

/// All entries of a session, by lock and fence.
#[derive(Clone, Debug, Default)]
pub(super) struct Holdings(BTreeMap<(String, Fence), Holding>);

impl Holdings {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries of a lock, by fence.
    fn of<'a>(&'a self, lock: &'a str) -> impl Iterator<Item = &'a Holding> {
        let first = (lock.to_string(), Fence::from_number(0));
        let from = self.0.range(first..).take_while(move |((name, _), _)| name == lock);
        from.map(|(_, holding)| holding)
    }

    /// What came of an acquire, if that was granted.
    pub(super) fn claimed(&self, claim: &Claim) -> Option<Holding> {
        self.of(&claim.lock).find(|holding| holding.request == claim.request).copied()
    }

    /// The entry of a lock with this fence, or the fence of another one.
    pub(super) fn find(&self, lock: &str, fence: Fence) -> Result<Holding, Option<Fence>> {
        let newest = || self.of(lock).last().map(|holding| holding.fence);
        let found = self.of(lock).find(|holding| holding.fence == fence).copied();
        found.ok_or_else(newest)
    }

    /// One more. An exclusive one is alone: whatever else is noted of the lock has been lost, and is
    /// returned.
    pub(super) fn insert(&mut self, lock: &str, holding: Holding) -> Vec<Holding> {
        let lost = match holding.mode.is_exclusive() {
            true => self.of(lock).copied().collect(),
            false => Vec::new(),
        };
        for Holding { fence, .. } in &lost {
            self.remove(lock, *fence);
        }
        self.0.insert((lock.to_string(), holding.fence), holding);
        lost
    }

    pub(super) fn remove(&mut self, lock: &str, fence: Fence) -> Option<Holding> {
        self.0.remove(&(lock.to_string(), fence))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Holding)> {
        self.0.iter().map(|((lock, _), holding)| (lock.as_str(), holding))
    }
}

impl IntoIterator for Holdings {
    type Item = (String, Holding);
    type IntoIter = std::iter::Map<
        std::collections::btree_map::IntoIter<(String, Fence), Holding>,
        fn(((String, Fence), Holding)) -> (String, Holding),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|((lock, _), holding)| (lock, holding))
    }
}
