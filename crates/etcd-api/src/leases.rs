//! The leases that live at this member: each is a session of its API.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skeptron_member::session::SessionId;
use skeptron_net::MemberId;
use skeptron_net::api::unguessable;
use tokio::sync::OwnedMutexGuard;

/// Names of which a lease remembers how often it gave them back; beyond, it remembers the largest number only.
const MOST_RELEASED: usize = 1024;

/// All leases of this member, also some that are over.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    by_id: BTreeMap<i64, Arc<Lease>>,
    /// With so many it is looked which of them are over.
    look_at: usize,
}

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) id: i64,
    pub(crate) session: SessionId,
    /// What it was granted, in seconds.
    pub(crate) ttl: i64,
    names: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    /// How many entries into each lock are over.
    released: BTreeMap<String, u64>,
    /// The same of names that are not listed, at most.
    floor: u64,
    /// Who acquires: others of the same lease wait for it.
    acquiring: BTreeMap<String, Arc<tokio::sync::Mutex<()>>>,
}

impl Leases {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, id: i64) -> Option<Arc<Lease>> {
        self.state().by_id.get(&id).cloned()
    }

    /// A lease was granted. `is_alive` says of others whether they are over.
    pub(crate) fn insert(&self, lease: Lease, is_alive: impl Fn(&Lease) -> bool) -> Arc<Lease> {
        let state = &mut *self.state();
        if state.by_id.len() >= state.look_at {
            state.by_id.retain(|_, lease| is_alive(lease));
            state.look_at = 2 * state.by_id.len() + 64;
        }
        let lease = Arc::new(lease);
        state.by_id.insert(lease.id, Arc::clone(&lease));
        lease
    }

    pub(crate) fn remove(&self, id: i64) {
        self.state().by_id.remove(&id);
    }

    /// The first leases after this one.
    pub(crate) fn after(&self, id: Option<i64>, most: usize) -> Vec<Arc<Lease>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let state = self.state();
        let rest = state.by_id.range((id.map_or(Unbounded, Excluded), Unbounded));
        rest.take(most).map(|(_, lease)| Arc::clone(lease)).collect()
    }
}

impl Lease {
    pub(crate) fn new(id: i64, session: SessionId, ttl: i64) -> Self {
        Lease { id, session, ttl, names: Mutex::default() }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the present or the next entry into a lock, from 1.
    pub(crate) fn entry(&self, name: &str) -> u64 {
        let names = self.names();
        names.released.get(name).unwrap_or(&names.floor) + 1
    }

    /// The entry is over.
    pub(crate) fn released(&self, name: &str) {
        let names = &mut *self.names();
        if names.released.len() >= MOST_RELEASED && !names.released.contains_key(name) {
            names.floor = names.released.values().copied().max().unwrap_or(0);
            names.released.clear();
        }
        *names.released.entry(name.to_string()).or_insert(names.floor) += 1;
    }

    /// Waits until no other request of this lease acquires the lock: two of them are one owner, and the
    /// second gets what the first has.
    pub(crate) async fn turn<'a>(self: &'a Arc<Self>, name: &'a str) -> Turn<'a> {
        let turn = Arc::clone(self.names().acquiring.entry(name.to_string()).or_default());
        // Before it waits: whoever stops waiting leaves nothing behind.
        let mut taken = Turn { lease: self, name, turn: None };
        taken.turn = Some(turn.lock_owned().await);
        taken
    }
}

/// The right to acquire a lock for a lease.
pub(crate) struct Turn<'a> {
    lease: &'a Lease,
    name: &'a str,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turn = None;
        let mut names = self.lease.names();
        if names.acquiring.get(self.name).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            names.acquiring.remove(self.name);
        }
    }
}

/// Where the parts of a lease's number lie: 16 bits of its member's life, 16 of the member's number, 31
/// random ones.
const LIFE_AT: u32 = 47;
const MEMBER_AT: u32 = 31;

/// A number for a lease that lives in this life of a member; none if there is no randomness.
pub(crate) fn number(member: MemberId, life: Option<u64>) -> Option<i64> {
    let random = (unguessable()? as i64 & ((1 << MEMBER_AT) - 1)).max(1);
    let member = i64::from(member.number() & 0xffff);
    let life = (life.unwrap_or(0) & 0xffff) as i64;
    Some(life << LIFE_AT | member << MEMBER_AT | random)
}

/// Whether a lease with this number was made in that life.
pub(crate) fn is_made_by(id: i64, (member, life): (MemberId, u64)) -> bool {
    let field = |at: u32| (id >> at & 0xffff) as u64;
    id > 0
        && field(MEMBER_AT) == u64::from(member.number() & 0xffff)
        && field(LIFE_AT) == life & 0xffff
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn lease() -> Arc<Lease> {
        Arc::new(Lease::new(7, SessionId(1), 60))
    }

    #[test]
    fn a_number_says_where_the_lease_lives() {
        let (p2, p3) = (MemberId::at(1), MemberId::at(2));
        for life in [0, 1, 0xffff, 0x1_0000, u64::MAX] {
            let id = number(p2, Some(life)).unwrap();
            assert!(id > 0 && is_made_by(id, (p2, life)), "{id:x}");
            assert!(!is_made_by(id, (p3, life)) && !is_made_by(id, (p2, life.wrapping_add(1))));
        }
        assert!(!is_made_by(100, (p2, 0)) && !is_made_by(-3, (p2, 0xffff)));
    }

    #[test]
    fn an_entry_never_has_the_number_of_an_earlier_one() {
        let lease = lease();
        assert_eq!(lease.entry("a"), 1);
        for number in 1..5 {
            assert_eq!(lease.entry("a"), number);
            lease.released("a");
        }
        for name in 0..3000 {
            lease.released(&name.to_string());
            assert!(lease.names().released.len() <= MOST_RELEASED);
        }
        assert!(lease.entry("a") >= 5);
        assert!(lease.entry("0") >= 2);
    }

    #[tokio::test]
    async fn nothing_is_left_of_turns() {
        let lease = lease();
        let first = lease.turn("a").await;
        assert!(lease.turn("a").now_or_never().is_none(), "it waits");
        drop(first);
        assert!(lease.names().acquiring.is_empty());
    }
}
