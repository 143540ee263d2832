//! A resource that only the lock protects, and whoever notices if it does not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the locks of one row protect, and the first thing that went wrong with it.
#[derive(Debug)]
pub(crate) struct Judge {
    resources: Vec<Resource>,
    violation: Mutex<Option<String>>,
}

/// One resource, to be touched only by the holder of its lock.
#[derive(Debug, Default)]
struct Resource {
    occupied: AtomicBool,
    /// Read and written, never added to at once: two holders lose increments.
    entries: AtomicU64,
    last_fence: AtomicU64,
    /// The last holder, counted from 1.
    last_client: AtomicU64,
    handovers: AtomicU64,
}

impl Judge {
    /// Of that many locks.
    pub(crate) fn new(locks: usize) -> Self {
        let resources = (0..locks).map(|_| Resource::default()).collect();
        Judge { resources, violation: Mutex::new(None) }
    }

    /// What the holder does with the resource. Fences are compared where the service has any.
    pub(super) fn visit(&self, lock: usize, client: usize, fence: Option<u64>) {
        let resource = &self.resources[lock];
        if resource.occupied.swap(true, Ordering::AcqRel) {
            self.object(|| format!("client {client} entered while another one was inside"));
        }
        let entries = resource.entries.load(Ordering::Acquire);
        if let Some(fence) = fence {
            let last = resource.last_fence.swap(fence, Ordering::AcqRel);
            if last >= fence {
                self.object(|| format!("fence {fence} came after fence {last}"));
            }
        }
        let visitor = client as u64 + 1;
        if resource.last_client.swap(visitor, Ordering::AcqRel) != visitor {
            resource.handovers.fetch_add(1, Ordering::AcqRel);
        }
        resource.entries.store(entries + 1, Ordering::Release);
        resource.occupied.store(false, Ordering::Release);
    }

    /// Compares with what the clients say they did in all.
    pub(super) fn compare(&self, entries: u64) {
        let counted = self.entries();
        if counted != entries {
            self.object(|| format!("{entries} increments, but the counters say {counted}"));
        }
    }

    /// What the unprotected counters say.
    pub(super) fn entries(&self) -> u64 {
        self.resources.iter().map(|resource| resource.entries.load(Ordering::Acquire)).sum()
    }

    /// Entries by another client than the one before.
    pub(super) fn handovers(&self) -> u64 {
        self.resources.iter().map(|resource| resource.handovers.load(Ordering::Acquire)).sum()
    }

    /// The first thing that went wrong.
    pub(crate) fn violation(&self) -> Option<String> {
        self.violation.lock().expect("nobody panics while writing a sentence").clone()
    }

    fn object(&self, what: impl FnOnce() -> String) {
        let mut violation = self.violation.lock().expect("nobody panics while writing a sentence");
        violation.get_or_insert_with(what);
    }
}

#[cfg(test)]
mod tests {
    use super::Judge;

    #[test]
    fn rising_fences_and_full_counters_are_fine() {
        let judge = Judge::new(2);
        judge.visit(0, 0, Some(1));
        judge.visit(0, 1, Some(2));
        judge.visit(1, 1, None);
        judge.compare(3);
        assert_eq!((judge.entries(), judge.handovers(), judge.violation()), (3, 3, None));
    }

    #[test]
    fn a_fence_twice_a_lost_increment_and_company_are_violations() {
        let twice = Judge::new(1);
        twice.visit(0, 0, Some(7));
        twice.visit(0, 1, Some(7));
        assert!(twice.violation().is_some_and(|text| text.contains("fence 7 came after fence 7")));

        let lost = Judge::new(1);
        lost.visit(0, 0, None);
        lost.compare(2);
        assert!(lost.violation().is_some_and(|text| text.contains("2 increments")));

        let company = Judge::new(1);
        company.resources[0].occupied.store(true, super::Ordering::Release);
        company.visit(0, 0, None);
        assert!(company.violation().is_some_and(|text| text.contains("another one was inside")));
    }
}
