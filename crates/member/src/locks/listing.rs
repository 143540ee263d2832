//! What a member tells of its locks.

use std::sync::{Arc, PoisonError};

use super::{Lock, Locks};
use crate::clock::MonoTime;
use crate::report::{Cause, Holder, LockStatus, milliseconds};

impl<W> Locks<W> {
    /// The first locks in use at this member after that name, by name, and whether there are more.
    pub(crate) fn listing(
        &self,
        now: MonoTime,
        prefix: &str,
        after: &str,
        most: usize,
    ) -> (Vec<LockStatus>, bool) {
        let is_meant = |lock: &&Arc<Lock<W>>| {
            lock.is_busy() && lock.name.starts_with(prefix) && *lock.name > *after
        };
        let mut busy: Vec<Arc<Lock<W>>> = Vec::new();
        for shard in &self.shards {
            let names = shard.names.read().unwrap_or_else(PoisonError::into_inner);
            busy.extend(names.all().filter(is_meant).cloned());
        }
        busy.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut in_use = busy.iter().filter_map(|lock| self.status_of(now, lock));
        let first = in_use.by_ref().take(most).collect();
        (first, in_use.next().is_some())
    }

    /// The lock of this name, if it is in use at this member.
    pub(crate) fn status(&self, now: MonoTime, name: &str) -> Option<LockStatus> {
        self.status_of(now, &*self.find(name)?)
    }

    fn status_of(&self, now: MonoTime, lock: &Lock<W>) -> Option<LockStatus> {
        let algorithm = self.current().layouts[lock.plan].algorithm;
        let state = lock.state();
        // Who does not know yet that it leads still waits.
        let known = state.entries().filter(|_| !state.is_unseen());
        let holder = known.clone().max_by_key(|hold| hold.fence).map(|hold| Holder {
            node: self.id,
            owner: shortened(&hold.owner),
            fence: hold.fence,
            mode: hold.mode,
            held_ms: milliseconds(now.since(hold.since)),
        });
        let inside = u32::try_from(known.count()).unwrap_or(u32::MAX);
        state.in_use().then(|| LockStatus {
            name: lock.name.to_string(),
            algorithm: algorithm.to_string(),
            node: self.id,
            holder,
            inside,
            waiters: u32::try_from(state.waiters.len()).unwrap_or(u32::MAX),
        })
    }

    /// Why this member, being the home of the lock, does not let it begin.
    pub(crate) fn obstacles(&self, now: MonoTime, name: &str) -> Vec<Cause> {
        let current = self.current();
        let home = current.home();
        if current.home_of(name) != current.me || !home.is_shut(name) {
            return Vec::new();
        }
        let missing = home.missing().iter().map(|rank| current.view.members[rank.index()].id);
        let missing = missing.map(|member| Cause::not_met(self.id, member));
        let since = current.away_since.map(|since| milliseconds(now.since(since)));
        let away = current.view.away.iter().filter(|_| home.is_withheld(name));
        missing.chain(away.map(|life| Cause::away(life.id, since))).collect()
    }
}

/// What is told of an owner's name, which may be of any length.
pub(super) fn shortened(owner: &str) -> String {
    owner.chars().take(200).collect()
}
