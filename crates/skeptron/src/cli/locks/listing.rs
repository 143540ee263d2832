//! The locks of a cluster, put together from what each member knows.

use std::collections::BTreeMap;

use serde::Serialize;
use skeptron_net::report::LockStatus;
use skeptron_net::{Fence, MemberId};

/// What is held or waited for anywhere.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Listing {
    /// By name.
    pub(crate) locks: Vec<Lock>,
    /// The members that did not answer in time.
    pub(crate) silent: Vec<MemberId>,
}

/// One lock in the whole cluster.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Lock {
    /// Its name.
    pub(crate) name: String,
    /// The algorithm that guards it.
    pub(crate) algorithm: String,
    /// Whoever holds it; none while it is on its way.
    pub(crate) holder: Option<Holder>,
    /// How many wait for it in all.
    pub(crate) waiters: u64,
    /// Where they wait.
    pub(crate) waiting: Vec<Queue>,
}

/// How many wait at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Queue {
    /// At which.
    pub(crate) node: MemberId,
    /// How many.
    pub(crate) waiters: u32,
}

/// Whoever holds a lock, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Holder {
    /// At which node.
    pub(crate) node: MemberId,
    /// What it calls itself.
    pub(crate) owner: String,
    /// The fence of its entry.
    pub(crate) fence: Fence,
    /// For how long, in milliseconds.
    pub(crate) held_ms: u64,
}

impl Listing {
    /// From what the members say. They do not say it at the same moment: if a lock went from one to
    /// the other meanwhile, the later holder, of the larger fence, counts.
    pub(crate) fn new(seen: Vec<LockStatus>, silent: Vec<MemberId>) -> Self {
        let mut locks: BTreeMap<String, Lock> = BTreeMap::new();
        for status in seen {
            let LockStatus { name, algorithm, node, holder, waiters } = status;
            let lock = locks.entry(name.clone()).or_insert_with(|| Lock {
                name,
                algorithm,
                holder: None,
                waiters: 0,
                waiting: Vec::new(),
            });
            if let Some(holder) = holder
                && lock.holder.as_ref().is_none_or(|known| known.fence < holder.fence)
            {
                let (fence, held_ms, owner) = (holder.fence, holder.held_ms, holder.owner);
                lock.holder = Some(Holder { node, owner, fence, held_ms });
            }
            if waiters > 0 {
                lock.waiters += u64::from(waiters);
                lock.waiting.push(Queue { node, waiters });
            }
        }
        Listing { locks: locks.into_values().collect(), silent }
    }
}

#[cfg(test)]
mod tests {
    use skeptron_net::report;

    use super::*;

    fn seen(name: &str, node: usize, fence: Option<u64>, waiters: u32) -> LockStatus {
        let holder = fence.map(|fence| report::Holder {
            fence: Fence::from_number(fence),
            held_ms: 5,
            owner: "somebody".into(),
        });
        let (name, algorithm) = (name.to_string(), "raymond".to_string());
        LockStatus { name, algorithm, node: MemberId::at(node), holder, waiters }
    }

    #[test]
    fn what_the_members_say_becomes_one_line_for_each_lock() {
        let all = vec![seen("b", 0, Some(7), 1), seen("a", 1, None, 2), seen("b", 2, Some(8), 3)];
        let listing = Listing::new(all, vec![MemberId::at(3)]);
        let [a, b] = listing.locks.as_slice() else { panic!("{listing:?}") };
        assert_eq!((a.name.as_str(), a.waiters, &a.holder), ("a", 2, &None));
        let queue = |node, waiters| Queue { node: MemberId::at(node), waiters };
        assert_eq!(b.waiting, [queue(0, 1), queue(2, 3)]);
        let holder = b.holder.as_ref().unwrap();
        assert_eq!((b.waiters, holder.node, holder.fence.number()), (4, MemberId::at(2), 8));
        assert_eq!(listing.silent, [MemberId::at(3)]);
    }
}
