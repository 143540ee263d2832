//! Whether clocks keep to the bound that leases rely on. Members send their clock with each renewal, and
//! the leader compares how far both went.

use std::collections::BTreeMap;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::{Drift, MonoTime};

/// Messages take time, so rates are compared over no less than this.
const LEAST: Duration = Duration::from_secs(300);
/// How much of a difference may be due to messages that took longer than others.
const DELAY: Duration = Duration::from_millis(100);
/// After so long the comparison begins anew, so that a clock that went wrong is noticed.
const MOST: Duration = Duration::from_secs(3600);

/// The clocks of members, as a leader sees them.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Our clock and theirs when the comparison began.
    began: BTreeMap<MemberId, (MonoTime, MonoTime)>,
    /// How much faster each runs than ours, in parts per million.
    rates: BTreeMap<MemberId, i64>,
}

impl Clocks {
    /// A member's clock showed `theirs` a moment before ours showed `ours`. Its rate, if it is certainly
    /// beyond what two clocks within the bound may differ by, and was not before.
    pub(super) fn heard(
        &mut self,
        from: MemberId,
        (ours, theirs): (MonoTime, MonoTime),
        bound: Drift,
    ) -> Option<i64> {
        let (first, their_first) = *self.began.entry(from).or_insert((ours, theirs));
        let passed = ours.since(first);
        if theirs < their_first {
            // It was restarted with another machine's clock.
            self.began.insert(from, (ours, theirs));
            return None;
        }
        if passed < LEAST {
            return None;
        }
        let micros = |duration: Duration| duration.as_micros() as i64;
        let (passed, their_passed) = (micros(passed), micros(theirs.since(their_first)));
        let rate = (their_passed - passed).saturating_mul(1_000_000) / passed;
        let uncertain = micros(DELAY) * 1_000_000 / passed;
        let allowed = 2 * i64::from(bound.ppm) + uncertain;
        let was_off = self.rates.insert(from, rate).is_some_and(|former| former.abs() > allowed);
        if ours.since(first) > MOST {
            self.began.insert(from, (ours, theirs));
        }
        (rate.abs() > allowed && !was_off).then_some(rate)
    }

    /// By how much the rate of any member's clock differs from ours, at most, in parts per million.
    pub(super) fn largest(&self) -> Option<u64> {
        self.rates.values().map(|rate| rate.unsigned_abs()).max()
    }

    /// Only these are members now.
    pub(super) fn keep(&mut self, members: impl Fn(MemberId) -> bool) {
        self.began.retain(|&id, _| members(id));
        self.rates.retain(|&id, _| members(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a clock that runs `ppm` faster, and was late by up to 50 ms.
    fn said(ppm: i64) -> Vec<i64> {
        let mut clocks = Clocks::default();
        let id = MemberId::new(2).unwrap();
        let at = |second: i64| {
            let late = 50_000 * (second % 2);
            let ours = MonoTime::from_nanos(((second * 1_000_000 + late) * 1000) as u64);
            let theirs = MonoTime::from_nanos((second * (1_000_000 + ppm) * 1000) as u64);
            clocks.heard(id, (ours, theirs), Drift { ppm: 1000 })
        };
        (1..4000).filter_map(at).collect()
    }

    #[test]
    fn a_clock_beyond_the_bound_is_told_once_an_hour_at_most() {
        for ppm in [0, 1900, -1900] {
            assert!(said(ppm).is_empty(), "{ppm}");
        }
        for ppm in [5000, -5000] {
            let told = said(ppm);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!((told[0] - ppm).abs() < 500, "{told:?}");
        }
    }
}
