//! Watches every entry, and says when two were inside at once or a fence did not rise.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use skeptron_net::{Fence, MemberId};

/// So many violations are kept in words.
const MOST_TOLD: usize = 10;

/// Sees all entries of all clients of this process.
#[derive(Default)]
pub(super) struct Judge {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    locks: BTreeMap<String, Record>,
    account: Account,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    pub(super) entries: u64,
    /// Entries that were lost before they were over.
    pub(super) lost: u64,
    pub(super) violations: u64,
    /// The first of them.
    pub(super) told: Vec<String>,
}

#[derive(Default)]
struct Record {
    highest: Option<Fence>,
    inside: Vec<Holder>,
}

struct Holder {
    node: MemberId,
    fence: Fence,
    /// Whether the holder still believes in its lock; once it does not, it never does again.
    believes: Box<dyn Fn() -> bool + Send>,
}

impl Judge {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody has been let in.
    pub(super) fn enter(
        &self,
        lock: &str,
        node: MemberId,
        fence: Fence,
        believes: impl Fn() -> bool + Send + 'static,
    ) {
        let mut seen = self.seen();
        let Seen { locks, account } = &mut *seen;
        account.entries += 1;
        let record = locks.entry(lock.to_string()).or_default();
        for other in &record.inside {
            // Belief ends but once: whoever has it after the other was asked had it then, too.
            if (other.believes)() && believes() {
                let (Holder { node: there, fence: first, .. }, second) = (other, fence);
                account.violated(format!(
                    "{there} (fence {first}) and {node} (fence {second}) were both inside `{lock}`"
                ));
            }
        }
        // One that lost its lock before it could say that it had it may come late.
        if let Some(highest) = record.highest
            && (fence == highest || fence < highest && believes())
        {
            account.violated(format!(
                "{node} got `{lock}` with fence {fence} after fence {highest} was given"
            ));
        }
        record.highest = record.highest.max(Some(fence));
        record.inside.push(Holder { node, fence, believes: Box::new(believes) });
    }

    /// It is about to let go.
    pub(super) fn leave(&self, lock: &str, node: MemberId, fence: Fence) {
        let mut seen = self.seen();
        let Seen { locks, account } = &mut *seen;
        let Some(record) = locks.get_mut(lock) else { return };
        let is_it = |holder: &Holder| (holder.node, holder.fence) == (node, fence);
        let Some(place) = record.inside.iter().position(is_it) else { return };
        if !(record.inside.swap_remove(place).believes)() {
            account.lost += 1;
        }
    }

    pub(super) fn account(&self) -> Account {
        self.seen().account.clone()
    }
}

impl Account {
    /// Something that must not be.
    pub(super) fn violated(&mut self, what: String) {
        self.violations += 1;
        if self.told.len() < MOST_TOLD {
            self.told.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn fence(number: u64) -> Fence {
        serde_json::from_value(serde_json::json!(number.to_string())).unwrap()
    }

    /// P1 enters with 5 and believes as long as told, then P2 with `second`.
    fn judged(first_believes: bool, leaves: bool, second: u64, second_believes: bool) -> Account {
        let judge = Judge::default();
        let belief = Arc::new(AtomicBool::new(true));
        let believes = Arc::clone(&belief);
        judge.enter("a", MemberId::at(0), fence(5), move || believes.load(Ordering::Relaxed));
        belief.store(first_believes, Ordering::Relaxed);
        if leaves {
            judge.leave("a", MemberId::at(0), fence(5));
        }
        judge.enter("a", MemberId::at(1), fence(second), move || second_believes);
        judge.account()
    }

    #[test]
    fn one_after_the_other_is_fine() {
        let account = judged(true, true, 6, true);
        assert_eq!((account.entries, account.lost, account.violations), (2, 0, 0));
    }

    #[test]
    fn who_lost_its_lock_is_not_inside() {
        assert_eq!(judged(false, false, 6, true).violations, 0);
        assert_eq!(judged(false, true, 6, true).lost, 1);
    }

    #[test]
    fn two_that_both_believe_are_a_violation() {
        let account = judged(true, false, 6, true);
        assert_eq!(account.violations, 1);
        assert!(account.told[0].contains("both inside"), "{account:?}");
    }

    #[test]
    fn fences_rise_unless_the_entry_was_lost_before() {
        assert_eq!(judged(true, true, 4, true).violations, 1);
        assert_eq!(judged(true, true, 4, false).violations, 0);
        assert_eq!(judged(true, true, 5, false).violations, 1, "no fence is given twice");
    }
}
