//! The locks and sessions of a whole cluster, put together from what each member knows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Holder, LockStatus};
use crate::MemberId;
use crate::session::{Held, SessionHandle};

/// What is held or waited for anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockListing {
    /// By name.
    pub locks: Vec<ListedLock>,
    /// The members that did not answer in time: what is held and waited for there is missing.
    pub silent: Vec<MemberId>,
    /// There are others after this name.
    pub next: Option<String>,
    /// Whether nothing is missing: everybody has answered, and there are no others.
    pub complete: bool,
}

/// One lock in the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedLock {
    /// Its name.
    pub name: String,
    /// The algorithm that guards it.
    pub algorithm: String,
    /// Whoever holds it; of several that tolerate each other, the last to enter. None while it is on its
    /// way.
    pub holder: Option<Holder>,
    /// How many hold it.
    #[serde(default)]
    pub inside: u64,
    /// How many wait for it in all.
    pub waiters: u64,
    /// Where they wait.
    pub waiting: Vec<LockQueue>,
}

/// How many wait at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockQueue {
    /// At which.
    pub node: MemberId,
    /// How many.
    pub waiters: u32,
}

impl LockListing {
    /// From what the members say; `more` if one of them has more to say. At most `most` locks.
    #[must_use]
    pub fn new(seen: Vec<LockStatus>, silent: Vec<MemberId>, more: bool, most: usize) -> Self {
        let mut locks = gathered(seen);
        let more = more || locks.len() > most;
        locks.truncate(most);
        let next = locks.last().filter(|_| more).map(|last| last.name.clone());
        LockListing { locks, complete: silent.is_empty() && !more, silent, next }
    }

    /// Adds the following page.
    pub fn append(&mut self, page: LockListing) {
        self.locks.extend(page.locks);
        self.silent = joined(&self.silent, &page.silent);
        self.next = page.next;
        self.complete = self.silent.is_empty() && page.complete;
    }
}

/// One entry for each lock. Members do not speak at the same moment: if a lock went from one to the other
/// meanwhile, the later holder, of the larger fence, counts.
pub(super) fn gathered(seen: Vec<LockStatus>) -> Vec<ListedLock> {
    let mut locks: BTreeMap<String, ListedLock> = BTreeMap::new();
    for status in seen {
        let LockStatus { name, algorithm, node, holder, inside, waiters } = status;
        let lock = locks.entry(name.clone()).or_insert_with(|| ListedLock {
            name,
            algorithm,
            holder: None,
            inside: 0,
            waiters: 0,
            waiting: Vec::new(),
        });
        lock.inside += u64::from(inside);
        if let Some(holder) = holder
            && lock.holder.as_ref().is_none_or(|known| known.fence < holder.fence)
        {
            lock.holder = Some(holder);
        }
        if waiters > 0 {
            lock.waiters += u64::from(waiters);
            lock.waiting.push(LockQueue { node, waiters });
            lock.waiting.sort_by_key(|queue| queue.node);
        }
    }
    locks.into_values().collect()
}

/// The sessions that are open anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionListing {
    /// By handle.
    pub sessions: Vec<SessionSummary>,
    /// The members that did not answer in time: their sessions are missing.
    pub silent: Vec<MemberId>,
    /// There are others after this handle.
    pub next: Option<SessionHandle>,
    /// Whether nothing is missing: everybody has answered, and there are no others.
    pub complete: bool,
}

/// A session as others may see it. Its id is its key, and is not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// What it may be called.
    pub session: SessionHandle,
    /// Where it is.
    pub node: MemberId,
    /// What its client is called; empty if it has not said.
    pub owner: String,
    /// How long after its last sign of life it ends.
    pub ttl_ms: u64,
    /// How long ago that was.
    pub heard_ms: u64,
    /// Whether it comes from another node that may still act.
    pub moving: bool,
    /// What it holds, by name; of many, the first ones.
    pub held: Vec<Held>,
    /// How many it holds.
    pub holds: u64,
    /// What it waits for, by name; of many, the first ones.
    pub waiting: Vec<String>,
    /// For how many locks it waits.
    pub waits: u64,
    /// How long ago the last of these waits began; 0 if there is none.
    pub waited_ms: u64,
}

impl SessionListing {
    /// From what the members say; `more` if one of them has more to say. At most `most` sessions.
    #[must_use]
    pub fn new(
        mut sessions: Vec<SessionSummary>,
        silent: Vec<MemberId>,
        more: bool,
        most: usize,
    ) -> Self {
        sessions.sort_by_key(|it| (it.session, it.node));
        let more = more || sessions.len() > most;
        sessions.truncate(most);
        let next = sessions.last().filter(|_| more).map(|last| last.session);
        SessionListing { sessions, complete: silent.is_empty() && !more, silent, next }
    }

    /// Adds the following page.
    pub fn append(&mut self, page: SessionListing) {
        self.sessions.extend(page.sessions);
        self.silent = joined(&self.silent, &page.silent);
        self.next = page.next;
        self.complete = self.silent.is_empty() && page.complete;
    }
}

fn joined(some: &[MemberId], others: &[MemberId]) -> Vec<MemberId> {
    let all: BTreeSet<MemberId> = some.iter().chain(others).copied().collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fence, Mode};

    fn seen(name: &str, node: usize, fence: Option<u64>, waiters: u32) -> LockStatus {
        let node = MemberId::at(node);
        let holder = fence.map(|fence| Holder {
            node,
            owner: "somebody".into(),
            fence: Fence::from_number(fence),
            mode: Mode::EXCLUSIVE,
            held_ms: 5,
        });
        let inside = u32::from(holder.is_some());
        LockStatus { name: name.into(), algorithm: "raymond".into(), node, holder, inside, waiters }
    }

    #[test]
    fn what_the_members_say_becomes_one_line_for_each_lock() {
        let all = vec![seen("b", 0, Some(7), 1), seen("a", 1, None, 2), seen("b", 2, Some(8), 3)];
        let listing = LockListing::new(all.clone(), vec![MemberId::at(3)], false, 10);
        let [a, b] = listing.locks.as_slice() else { panic!("{listing:?}") };
        assert_eq!((a.name.as_str(), a.waiters, &a.holder), ("a", 2, &None));
        let queue = |node, waiters| LockQueue { node: MemberId::at(node), waiters };
        assert_eq!(b.waiting, [queue(0, 1), queue(2, 3)]);
        let holder = b.holder.as_ref().unwrap();
        assert_eq!((b.waiters, holder.node, holder.fence.number()), (4, MemberId::at(2), 8));
        assert_eq!((listing.complete, listing.next), (false, None));
        assert_eq!(listing.silent, [MemberId::at(3)]);
    }

    #[test]
    fn a_page_says_where_the_next_one_begins() {
        let all = vec![seen("b", 0, Some(7), 1), seen("a", 1, None, 2), seen("b", 2, Some(8), 3)];
        let whole = LockListing::new(all.clone(), vec![], false, 2);
        assert_eq!((whole.complete, &whole.next), (true, &None));
        let mut first = LockListing::new(all.clone(), vec![], false, 1);
        assert_eq!((first.locks.len(), first.complete), (1, false));
        assert_eq!(first.next.as_deref(), Some("a"));
        let told = LockListing::new(all.clone(), vec![], true, 2);
        assert!(!told.complete && told.next.is_some(), "a member has more to say");
        first.append(LockListing::new(vec![all[0].clone(), all[2].clone()], vec![], false, 1));
        assert_eq!(first, whole);
    }
}
