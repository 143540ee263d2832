//! The locks in recent use: what a view change has to look at. All others have nothing that would
//! outlive the view, and are converted when they are next touched.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::lock::Lock;
use crate::clock::MonoTime;

/// Locks by the period in which they were last used.
pub(super) struct Recent<W> {
    period: u64,
    present: Vec<Arc<Lock<W>>>,
    before: Vec<Arc<Lock<W>>>,
}

/// A right that was not used for so long is given up at a view change.
const PERIOD_NANOS: u64 = 10_000_000_000;

pub(super) fn period(now: MonoTime) -> u64 {
    now.nanos() / PERIOD_NANOS
}

impl<W> Default for Recent<W> {
    fn default() -> Self {
        Recent { period: 0, present: Vec::new(), before: Vec::new() }
    }
}

impl<W> Recent<W> {
    /// Adds a lock that is used in this period and is not listed in it yet.
    pub(super) fn add(&mut self, period: u64, lock: &Arc<Lock<W>>) {
        if period > self.period {
            self.period = period;
            std::mem::swap(&mut self.present, &mut self.before);
            // What somebody holds or waits for stays, however long.
            let (present, before) = (&mut self.present, &mut self.before);
            // What was used in both periods is listed once.
            let mut listed: FxHashSet<*const Lock<W>> = before.iter().map(Arc::as_ptr).collect();
            present.retain(|lock| lock.is_busy() && listed.insert(Arc::as_ptr(lock)));
            before.shrink_to(1024.max(before.len()));
        }
        self.present.push(Arc::clone(lock));
    }

    /// Takes all of them out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Arc<Lock<W>>> + '_ {
        self.before.drain(..).chain(self.present.drain(..))
    }

    /// The same list of other locks: `find` says which stands for which.
    pub(super) fn copy(&self, find: impl Fn(&str) -> Option<Arc<Lock<W>>>) -> Self {
        let copies = |locks: &[Arc<Lock<W>>]| locks.iter().filter_map(|l| find(&l.name)).collect();
        Recent { period: self.period, present: copies(&self.present), before: copies(&self.before) }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.present.len() + self.before.len()
    }
}
