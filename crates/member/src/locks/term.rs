//! How long one life of a member may act. Many threads ask, some of them with a clock that they read a
//! while ago: once one of them has seen the end, it is the end for all.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock::MonoTime;
use crate::view::Lease;

/// The end of a lease that has been seen to be over.
const OVER: u64 = 0;

/// The term of one life.
#[derive(Debug)]
pub(super) struct Term {
    /// When the lease ends, in nanoseconds; never before the first word on it.
    end: AtomicU64,
    /// Everything was given up: no word on the lease counts any more.
    given_up: AtomicBool,
}

impl Term {
    pub(super) fn new() -> Self {
        Term { end: AtomicU64::new(MonoTime::NEVER.nanos()), given_up: AtomicBool::new(false) }
    }

    /// Whether this life may act now.
    pub(super) fn runs(&self, now: MonoTime) -> bool {
        let is_over = |end: u64| now.nanos() >= end;
        if !is_over(self.end.load(Ordering::SeqCst)) {
            return true;
        }
        let end = |end| is_over(end).then_some(OVER);
        self.end.fetch_update(Ordering::SeqCst, Ordering::SeqCst, end).is_err()
    }

    /// A word on the lease. Whether it still runs: what is over stays over, and nothing shortens a lease
    /// but its end.
    pub(super) fn renew(&self, now: MonoTime, lease: Lease) -> bool {
        let until = match lease {
            Lease::Forever => MonoTime::NEVER,
            Lease::Until(until) => until,
            Lease::Over => MonoTime::from_nanos(OVER),
        };
        let renewed = |end: u64| {
            if now.nanos() >= end || now >= until {
                Some(OVER)
            } else if end == MonoTime::NEVER.nanos() {
                Some(until.nanos())
            } else {
                Some(end.max(until.nanos()))
            }
        };
        let _ = self.end.fetch_update(Ordering::SeqCst, Ordering::SeqCst, renewed);
        self.end.load(Ordering::SeqCst) != OVER || self.given_up.load(Ordering::SeqCst)
    }

    /// Nothing is entered any more, and nobody has to be told why.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        self.end.store(OVER, Ordering::SeqCst);
    }

    pub(super) fn end(&self) -> MonoTime {
        MonoTime::from_nanos(self.end.load(Ordering::SeqCst))
    }

    pub(super) fn copy(&self) -> Self {
        Term {
            end: AtomicU64::new(self.end.load(Ordering::SeqCst)),
            given_up: AtomicBool::new(self.given_up.load(Ordering::SeqCst)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> MonoTime {
        MonoTime::from_nanos(nanos)
    }

    #[test]
    fn an_older_word_does_not_shorten_a_lease() {
        let term = Term::new();
        assert!(term.renew(at(1), Lease::Until(at(50))));
        assert!(term.renew(at(2), Lease::Until(at(30))));
        assert!(term.runs(at(49)) && term.end() == at(50));
    }

    #[test]
    fn whoever_saw_the_end_is_not_contradicted_by_a_thread_with_an_older_clock() {
        let term = Term::new();
        assert!(term.renew(at(1), Lease::Until(at(50))));
        assert!(!term.runs(at(50)));
        assert!(!term.renew(at(40), Lease::Until(at(90))), "its clock was read before the end");
        assert!(!term.runs(at(40)));
    }

    #[test]
    fn no_word_counts_after_everything_was_given_up() {
        let term = Term::new();
        term.give_up();
        assert!(term.renew(at(1), Lease::Until(at(50))), "not an end that anybody must hear of");
        assert!(!term.runs(at(1)));
    }
}
