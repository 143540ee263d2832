//! True time, and the clocks that measure it.

use skeptron_member::clock::MonoTime;

/// True time: nanoseconds since the run began.
pub(crate) type Time = u64;

/// Later than everything.
pub(crate) const NEVER: Time = Time::MAX;

pub(crate) const MICROSECOND: Time = 1_000;
pub(crate) const MILLISECOND: Time = 1_000_000;
pub(crate) const SECOND: Time = 1_000_000_000;

const MILLION: u64 = 1_000_000;

/// A clock that began some time ago and runs a little too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: u64,
    /// Nanoseconds of this clock in a millisecond.
    rate: u64,
}

impl Clock {
    /// It shows `began` at the beginning and is off by so many parts per million.
    pub(crate) fn new(began: u64, ppm: i64) -> Self {
        Clock { began, rate: MILLION.saturating_add_signed(ppm) }
    }

    /// What it shows.
    pub(crate) fn read(&self, now: Time) -> MonoTime {
        MonoTime::from_nanos(
            self.began + now / MILLION * self.rate + now % MILLION * self.rate / MILLION,
        )
    }

    /// When it shows this moment, or one later: never if that is far away.
    pub(crate) fn when(&self, moment: MonoTime) -> Time {
        if moment >= MonoTime::from_nanos(u64::MAX / 4) {
            return NEVER;
        }
        let shown = moment.nanos().saturating_sub(self.began);
        let mut time = shown / self.rate * MILLION + shown % self.rate * MILLION / self.rate;
        while self.read(time) < moment {
            time += 1;
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_each_moment_when_it_says_so() {
        for ppm in [-20_000, -7, 0, 13, 20_000] {
            let clock = Clock::new(77 * SECOND, ppm);
            for time in [0, 1, 999_999, 1_000_001, 3 * SECOND + 17] {
                let moment = clock.read(time);
                let when = clock.when(moment);
                assert!(when <= time && clock.read(when) >= moment, "{ppm} {time}");
                assert!(when == 0 || clock.read(when - 1) < moment);
            }
            assert_eq!(clock.when(MonoTime::NEVER), NEVER);
        }
    }
}
