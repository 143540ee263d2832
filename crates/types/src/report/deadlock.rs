//! Sessions that wait for each other for ever, as far as their listing shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::SessionSummary;
use crate::MemberId;
use crate::session::SessionHandle;

/// Sessions of which each waits for a lock that only others of them hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlock {
    /// By handle.
    pub sessions: Vec<Stuck>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// What it may be called.
    pub session: SessionHandle,
    /// Where it is.
    pub node: MemberId,
    /// What its client is called.
    pub owner: String,
    /// What it holds that another of them waits for.
    pub holds: Vec<String>,
    /// What it waits for that only others of them hold.
    pub waits: Vec<String>,
    /// How long ago its last wait began.
    pub waited_ms: u64,
}

impl Deadlock {
    /// Whose wait began last.
    #[must_use]
    pub fn youngest(&self) -> Option<&Stuck> {
        self.sessions.iter().min_by_key(|stuck| (stuck.waited_ms, stuck.session))
    }
}

/// All deadlocks among these sessions. A lock that several hold counts only if all of them wait: one that does
/// not may leave, and then others come in. So nobody is named who could still go on; but a session whose program
/// does several things at once may be able to.
#[must_use]
pub fn deadlocks(sessions: &[SessionSummary]) -> Vec<Deadlock> {
    let mut holders: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (number, session) in sessions.iter().enumerate() {
        for held in &session.held {
            holders.entry(held.lock.as_str()).or_default().insert(number);
        }
    }
    // Who waits for a lock that somebody may give back is not stuck, and so on.
    let mut stuck: BTreeSet<usize> = (0..sessions.len()).collect();
    let blocks = |stuck: &BTreeSet<usize>, waiter: usize, lock: &str| {
        let held_by = holders.get(lock);
        held_by.is_some_and(|held_by| {
            held_by.iter().all(|holder| *holder != waiter && stuck.contains(holder))
        })
    };
    loop {
        let waits = |&number: &usize| {
            sessions[number].waiting.iter().any(|lock| blocks(&stuck, number, lock))
        };
        let still: BTreeSet<usize> = stuck.iter().copied().filter(waits).collect();
        if still == stuck {
            break;
        }
        stuck = still;
    }
    let mut left = stuck.clone();
    let mut found = Vec::new();
    while let Some(&first) = left.first() {
        let group = connected(first, sessions, &holders, &stuck);
        left.retain(|number| !group.contains(number));
        let told = |&number: &usize| {
            let session = &sessions[number];
            let waits = session.waiting.iter().filter(|lock| blocks(&stuck, number, lock));
            let is_waited = |lock: &str| {
                group.iter().any(|&other| {
                    other != number && sessions[other].waiting.iter().any(|it| it == lock)
                })
            };
            let holds = session.held.iter().map(|held| held.lock.clone());
            Stuck {
                session: session.session,
                node: session.node,
                owner: session.owner.clone(),
                holds: holds.filter(|lock| is_waited(lock)).collect(),
                waits: waits.cloned().collect(),
                waited_ms: session.waited_ms,
            }
        };
        found.push(Deadlock { sessions: group.iter().map(told).collect() });
    }
    found
}

/// Those of `stuck` that wait for each other, whoever for whom.
fn connected(
    first: usize,
    sessions: &[SessionSummary],
    holders: &BTreeMap<&str, BTreeSet<usize>>,
    stuck: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let waits_for = |waiter: usize, holder: usize| {
        let waiting = sessions[waiter].waiting.iter();
        waiting.filter_map(|lock| holders.get(lock.as_str())).any(|it| it.contains(&holder))
    };
    let mut group = BTreeSet::from([first]);
    loop {
        let joins = |&other: &usize| {
            group.iter().any(|&known| waits_for(known, other) || waits_for(other, known))
        };
        let more: BTreeSet<usize> = stuck.iter().copied().filter(joins).collect();
        if more.is_subset(&group) {
            return group;
        }
        group.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fence;
    use crate::session::Held;

    fn session(number: u64, held: &[&str], waiting: &[&str]) -> SessionSummary {
        let held = held
            .iter()
            .map(|lock| Held { lock: (*lock).into(), fence: Fence::from_number(number) });
        SessionSummary {
            session: SessionHandle(number),
            node: MemberId::at(0),
            owner: format!("owner {number}"),
            ttl_ms: 10_000,
            heard_ms: 0,
            moving: false,
            holds: held.len() as u64,
            held: held.collect(),
            waiting: waiting.iter().map(ToString::to_string).collect(),
            waits: waiting.len() as u64,
            waited_ms: 10 * number,
        }
    }

    fn found(sessions: &[SessionSummary]) -> Vec<Vec<u64>> {
        let each = deadlocks(sessions).into_iter();
        each.map(|it| it.sessions.iter().map(|stuck| stuck.session.0).collect()).collect()
    }

    #[test]
    fn whoever_waits_in_a_circle_is_named() {
        let sessions = [
            session(1, &["a"], &["b"]),
            session(2, &["b", "x"], &["c"]),
            session(3, &["c"], &["a"]),
            session(4, &["d"], &["e"]),
            session(5, &["e"], &[]),
        ];
        let told = deadlocks(&sessions);
        assert_eq!(found(&sessions), [[1, 2, 3]]);
        assert_eq!(told[0].youngest().map(|stuck| stuck.session.0), Some(1));
        let second = &told[0].sessions[1];
        assert_eq!((&second.holds, &second.waits), (&vec!["b".into()], &vec!["c".into()]));
    }

    #[test]
    fn whoever_waits_for_the_circle_is_part_of_it_and_two_circles_are_two() {
        let sessions = [
            session(1, &["a"], &["b"]),
            session(2, &["b"], &["a"]),
            session(3, &[], &["a"]),
            session(4, &["c"], &["d"]),
            session(5, &["d"], &["c"]),
        ];
        assert_eq!(found(&sessions), [vec![1, 2, 3], vec![4, 5]]);
    }

    /// Of a semaphore, or of readers, one that does not wait may leave.
    #[test]
    fn a_lock_that_somebody_may_still_give_back_is_no_deadlock() {
        let mut sessions = vec![
            session(1, &["pool"], &["b"]),
            session(2, &["b"], &["pool"]),
            session(3, &["pool"], &[]),
        ];
        assert_eq!(found(&sessions), Vec::<Vec<u64>>::new());
        sessions[2].waiting.push("b".into());
        assert_eq!(found(&sessions), [[1, 2, 3]]);
    }

    #[test]
    fn who_waits_for_itself_does_several_things_at_once() {
        assert_eq!(found(&[session(1, &["a"], &["a"])]), Vec::<Vec<u64>>::new());
    }
}
