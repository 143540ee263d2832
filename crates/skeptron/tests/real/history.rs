//! What clients did to a counter, in the order in which it happened there, and whether a lock that keeps
//! its promises allows it.

use std::collections::BTreeMap;

/// What a client did while it held the lock, or believed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    /// When it happened, in nanoseconds of the machine's clock.
    pub(crate) at: u64,
    pub(crate) client: usize,
    pub(crate) fence: u64,
    /// Until when the client was sure to hold the lock, by its own clock and before it acted.
    pub(crate) valid_until: u64,
    pub(crate) what: What,
}

/// The counter has two values: a plain one that takes what comes, and a fenced one that refuses whoever
/// has a smaller fence than somebody before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Read { plain: u64, fenced: Option<u64> },
    Write { plain: u64, fenced: Option<u64> },
}

/// What a lock must never allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation<'a> {
    /// Two entries had the same fence.
    FenceTwice { first: &'a Op, second: &'a Op },
    /// Two held the lock at once, both valid by their own clocks.
    TwoHolders { earlier: &'a Op, later: &'a Op },
    /// An update of the fenced value was lost.
    FencedLost { before: u64, op: &'a Op },
    /// An update of the plain value was lost though nobody wrote late.
    PlainLost { before: u64, op: &'a Op },
    /// The fenced value took a smaller fence after a larger one: the counter itself is broken.
    Unfenced(&'a Op),
}

/// What was counted in a history without a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Updates of the fenced value.
    pub(crate) updates: u64,
    /// Updates that were refused by their fence.
    pub(crate) refused: u64,
    /// Writes that happened when their client could no longer be sure: it was stopped between check and
    /// act. Only the fence helps there.
    pub(crate) late: u64,
    /// Updates of the plain value that such writes have cost.
    pub(crate) plain_lost: u64,
}

impl Op {
    /// Whether its client could be sure to hold the lock when it happened.
    fn is_in_time(&self) -> bool {
        self.at <= self.valid_until
    }
}

/// Looks at a whole history.
pub(crate) fn check(history: &[Op]) -> Result<Counted, Violation<'_>> {
    each_fence_is_given_once(history)?;
    one_holds_at_a_time(history)?;
    fences_save_every_update(history)?;
    plain_updates_are_lost_to_late_writes_only(history)
}

/// Whoever is granted the lock reads once.
fn each_fence_is_given_once(history: &[Op]) -> Result<(), Violation<'_>> {
    let mut reads = BTreeMap::new();
    for op in history.iter().filter(|op| matches!(op.what, What::Read { .. })) {
        if let Some(first) = reads.insert(op.fence, op) {
            return Err(Violation::FenceTwice { first, second: op });
        }
    }
    Ok(())
}

/// A client that is valid now was valid at every moment since its grant. So if it acts in time after one
/// with a larger fence did, both were valid when that one acted.
fn one_holds_at_a_time(history: &[Op]) -> Result<(), Violation<'_>> {
    let mut largest: Option<&Op> = None;
    for op in history.iter().filter(|op| op.is_in_time()) {
        match largest {
            Some(earlier) if earlier.fence > op.fence => {
                return Err(Violation::TwoHolders { earlier, later: op });
            }
            _ => largest = Some(op),
        }
    }
    Ok(())
}

fn fences_save_every_update(history: &[Op]) -> Result<(), Violation<'_>> {
    let (mut value, mut largest) = (0, 0);
    for op in history {
        let (What::Read { fenced, .. } | What::Write { fenced, .. }) = op.what;
        if fenced.is_some() && op.fence < largest {
            return Err(Violation::Unfenced(op));
        }
        largest = largest.max(op.fence);
        if let What::Write { fenced: Some(fenced), .. } = op.what {
            if fenced != value + 1 {
                return Err(Violation::FencedLost { before: value, op });
            }
            value = fenced;
        }
    }
    Ok(())
}

fn plain_updates_are_lost_to_late_writes_only(history: &[Op]) -> Result<Counted, Violation<'_>> {
    let (mut value, mut counted) = (0, Counted::default());
    // Of the last late write, and of the last read of each entry.
    let (mut late_at, mut reads) = (None, BTreeMap::new());
    for (place, op) in history.iter().enumerate() {
        let What::Write { plain, fenced } = op.what else {
            reads.insert(op.fence, place);
            continue;
        };
        counted.updates += u64::from(fenced.is_some());
        counted.refused += u64::from(fenced.is_none());
        if !op.is_in_time() {
            counted.late += 1;
            late_at = Some(place);
        }
        if plain != value + 1 {
            let read_at = reads.get(&op.fence).copied();
            if late_at.is_none() || late_at < read_at {
                return Err(Violation::PlainLost { before: value, op });
            }
            counted.plain_lost += 1;
        }
        value = plain;
    }
    Ok(counted)
}

/// A counter that keeps its own history.
#[derive(Debug, Default)]
pub(crate) struct Register {
    plain: u64,
    fenced: u64,
    largest_fence: u64,
    pub(crate) history: Vec<Op>,
}

impl Register {
    /// Reads both values; the fenced one only if nobody came with a larger fence.
    pub(crate) fn read(&mut self, op: Op) -> What {
        let is_fenced = self.fence(op.fence);
        let what = What::Read { plain: self.plain, fenced: is_fenced.then_some(self.fenced) };
        self.history.push(Op { what, ..op });
        what
    }

    /// Writes both values; the fenced one only if nobody came with a larger fence.
    pub(crate) fn write(&mut self, op: Op, plain: u64, fenced: Option<u64>) -> What {
        let fenced = fenced.filter(|_| self.fence(op.fence));
        self.plain = plain;
        self.fenced = fenced.unwrap_or(self.fenced);
        let what = What::Write { plain, fenced };
        self.history.push(Op { what, ..op });
        what
    }

    fn fence(&mut self, fence: u64) -> bool {
        self.largest_fence = self.largest_fence.max(fence);
        fence == self.largest_fence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Client and fence are the same here.
    fn op(at: u64, fence: u64, valid_until: u64) -> Op {
        let what = What::Read { plain: 0, fenced: None };
        Op { at, client: fence as usize, fence, valid_until, what }
    }

    /// One after the other adds one, each in ten ticks, of which it has eight.
    fn sound(entries: u64) -> Register {
        let mut register = Register::default();
        for fence in 1..=entries {
            add_one(&mut register, fence, fence * 10, fence * 10 + 5);
        }
        register
    }

    fn add_one(register: &mut Register, fence: u64, reads_at: u64, writes_at: u64) {
        let valid_until = fence * 10 + 8;
        let What::Read { plain, fenced } = register.read(op(reads_at, fence, valid_until)) else {
            unreachable!("it was read")
        };
        let fenced = fenced.map(|fenced| fenced + 1);
        register.write(op(writes_at, fence, valid_until), plain + 1, fenced);
    }

    #[test]
    fn what_happens_one_after_the_other_is_allowed() {
        let counted = Counted { updates: 5, ..Counted::default() };
        assert_eq!(check(&sound(5).history), Ok(counted));
        assert_eq!(check(&[]), Ok(Counted::default()));
    }

    /// Two read the same value, and the first writes when it could no longer be sure.
    #[test]
    fn a_late_write_costs_a_plain_update_and_no_fenced_one() {
        let mut register = sound(1);
        let late = register.read(op(20, 2, 28));
        assert_eq!(late, What::Read { plain: 1, fenced: Some(1) });
        add_one(&mut register, 3, 30, 35);
        register.write(op(36, 2, 28), 2, Some(2));
        let counted = Counted { updates: 2, refused: 1, late: 1, plain_lost: 1 };
        assert_eq!(check(&register.history), Ok(counted));
        // Whoever read before the late write loses its update, too, or overwrites that one.
        register.read(op(40, 4, 48));
        register.write(op(41, 2, 28), 2, Some(2));
        register.write(op(42, 4, 48), 3, Some(3));
        assert!(check(&register.history).is_ok());
    }

    #[test]
    fn two_holders_at_once_are_caught() {
        let mut register = sound(1);
        register.read(op(20, 2, 28));
        add_one(&mut register, 3, 24, 25);
        register.write(op(26, 2, 28), 2, Some(2));
        let caught = check(&register.history);
        assert!(matches!(caught, Err(Violation::TwoHolders { .. })), "{caught:?}");
    }

    #[test]
    fn a_smaller_fence_after_a_larger_one_is_caught() {
        let mut history = sound(3).history;
        history.swap(2, 4);
        history.swap(3, 5);
        assert!(matches!(check(&history), Err(Violation::TwoHolders { .. })));
    }

    #[test]
    fn a_fence_given_twice_is_caught() {
        let mut history = sound(3).history;
        history[4].fence = 2;
        assert!(matches!(check(&history), Err(Violation::FenceTwice { .. })));
    }

    /// Each write of a sound history is changed in turn: the checker sees every one of them.
    #[test]
    fn every_lost_update_is_caught() {
        let history = sound(4).history;
        for place in (1..history.len()).step_by(2) {
            let What::Write { plain, fenced } = history[place].what else { unreachable!() };
            let mut changed = history.clone();
            changed[place].what = What::Write { plain, fenced: fenced.map(|fenced| fenced - 1) };
            assert!(matches!(check(&changed), Err(Violation::FencedLost { .. })), "{place}");
            let mut changed = history.clone();
            changed[place].what = What::Write { plain: plain - 1, fenced };
            assert!(matches!(check(&changed), Err(Violation::PlainLost { .. })), "{place}");
        }
    }

    #[test]
    fn a_counter_that_does_not_mind_fences_is_caught() {
        let mut register = sound(2);
        register.write(op(99, 1, 18), 3, None);
        register.history.last_mut().unwrap().what = What::Write { plain: 3, fenced: Some(3) };
        assert!(matches!(check(&register.history), Err(Violation::Unfenced(_))));
    }
}
