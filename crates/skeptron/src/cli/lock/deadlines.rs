//! When the command must be asked to end, and when it must be dead: before anybody else can be granted
//! its lock.

use std::time::Duration;

use anyhow::{Result, bail};
use nix::time::{ClockId, clock_gettime};
use skeptron_member::clock::MonoTime;

use super::super::duration;

/// The longest time between TERM and KILL that nobody has to ask for.
const USUAL_GRACE: Duration = Duration::from_secs(5);
/// KILL comes so long before the validity ends, or a tenth of it: a process takes a moment to die, and
/// a busy machine a moment to send the signal.
const MARGIN: Duration = Duration::from_millis(250);
/// How closely the point of no return is met.
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// Now, on the clock of the lock's validity, which also runs while the machine sleeps.
pub(super) fn now() -> MonoTime {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;
    let time: Duration = clock_gettime(CLOCK).expect("every system has the clock").into();
    MonoTime::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// How long the command has between TERM and KILL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grace {
    asked: Option<Duration>,
    ttl: Duration,
    /// The longest validity that the node has promised so far. The last one would be wrong: it
    /// shrinks while the node itself is in trouble.
    promised: Duration,
}

impl Grace {
    /// # Errors
    /// If what was asked for leaves no time to run.
    pub(super) fn new(ttl: Duration, asked: Option<Duration>) -> Result<Self> {
        if let Some(asked) = asked.filter(|&asked| asked >= ttl) {
            let (asked, ttl) = (duration::written(asked), duration::written(ttl));
            bail!(
                "--kill-after {asked} is not shorter than --ttl {ttl}, so CMD would be terminated \
                 as soon as it starts; shorten --kill-after or lengthen --ttl"
            );
        }
        Ok(Grace { asked, ttl, promised: Duration::ZERO })
    }

    /// Takes note of what the node promises.
    pub(super) fn learn(&mut self, promised: Duration) {
        self.promised = self.promised.max(promised).min(self.ttl);
    }

    /// What was asked for, up to two fifths of the validity, or a third of the validity: most of it
    /// must be left for signs of life that are late.
    pub(super) fn length(&self) -> Duration {
        match self.asked {
            Some(asked) => asked.min(self.promised / 5 * 2),
            None => (self.promised / 3).min(USUAL_GRACE),
        }
    }

    /// What was asked for, if it cannot be had.
    pub(super) fn shortened(&self) -> Option<Duration> {
        self.asked.filter(|&asked| asked > self.length())
    }

    /// For a lock that is valid for that long from `now` on.
    pub(super) fn deadlines(&self, now: MonoTime, valid: Duration) -> Deadlines {
        let kill = earlier(now.after(valid), MARGIN.min(self.promised / 10));
        Deadlines { term: earlier(kill, self.length()), kill }
    }
}

fn earlier(moment: MonoTime, by: Duration) -> MonoTime {
    let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
    MonoTime::from_nanos(moment.nanos().saturating_sub(by))
}

/// When what happens, if no further sign of life gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadlines {
    /// The command is asked to end: the point of no return.
    pub(super) term: MonoTime,
    pub(super) kill: MonoTime,
}

/// What to do with the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Let it run, and look again after that long.
    Nothing(Duration),
    /// Ask it to end.
    Term,
    Kill,
}

impl Deadlines {
    /// From when on the watchdog asks the command to end, because nobody else did: this process was
    /// stopped. Signs of life that get through later change nothing.
    pub(super) fn overdue(&self) -> MonoTime {
        self.term.after(self.kill.since(self.term) / 4)
    }

    /// What is due at `now`, when the newest sign of life would allow `newest`.
    pub(super) fn look(&mut self, now: MonoTime, newest: Deadlines) -> Due {
        if now < self.overdue() {
            *self = newest;
        }
        if now >= self.kill {
            Due::Kill
        } else if now >= self.term {
            Due::Term
        } else {
            Due::Nothing((self.term.since(now) / 4).max(SHORTEST_LOOK))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);

    fn grace(ttl: u32, asked: Option<Duration>, promised: Duration) -> Grace {
        let mut grace = Grace::new(SECOND * ttl, asked).unwrap();
        grace.learn(promised);
        grace
    }

    #[test]
    fn kill_comes_before_the_validity_ends_whatever_was_asked_for() {
        let asked = [None, Some(Duration::ZERO), Some(SECOND / 2), Some(SECOND * 9)];
        for asked in asked {
            for promised in [SECOND / 10, SECOND, SECOND * 3, SECOND * 10] {
                let grace = grace(10, asked, promised);
                let Deadlines { term, kill } = grace.deadlines(START, promised);
                assert!(START < term && term <= kill, "{asked:?} {promised:?}");
                assert!(kill < START.after(promised), "{asked:?} {promised:?}");
                assert!(kill.since(term) <= promised / 2);
            }
        }
    }

    #[test]
    fn the_usual_grace_follows_from_the_ttl_or_the_shorter_lease() {
        assert_eq!(grace(3, None, SECOND * 9).length(), SECOND);
        assert_eq!(grace(10, None, SECOND * 3).length(), SECOND);
        assert_eq!(grace(60, None, SECOND * 60).length(), USUAL_GRACE);
        assert_eq!(grace(60, Some(SECOND * 9), SECOND * 60).shortened(), None);
        assert_eq!(grace(60, Some(SECOND * 9), SECOND * 3).shortened(), Some(SECOND * 9));
    }

    #[test]
    fn a_promise_that_shrinks_does_not_shorten_the_grace() {
        let mut grace = grace(10, None, SECOND * 3);
        grace.learn(SECOND / 10);
        assert_eq!(grace.length(), SECOND);
    }

    #[test]
    fn to_ask_for_as_much_as_the_ttl_is_an_error() {
        let error = Grace::new(SECOND * 5, Some(SECOND * 5)).unwrap_err().to_string();
        assert!(error.contains("--kill-after 5s") && error.contains("--ttl 5s"), "{error}");
        assert!(Grace::new(SECOND * 5, Some(SECOND * 4)).is_ok());
    }

    #[test]
    fn a_sign_of_life_in_time_postpones_everything() {
        let grace = grace(10, None, SECOND * 3);
        let mut given = grace.deadlines(START, SECOND * 3);
        let later = START.after(Duration::from_millis(1_800));
        let renewed = grace.deadlines(later, SECOND * 2);
        assert!(matches!(given.look(later, renewed), Due::Nothing(_)));
        assert_eq!(given, renewed);
        // Without another it is asked to end at the point of no return, not before.
        let just_before = earlier(renewed.term, Duration::from_millis(1));
        assert!(matches!(given.look(just_before, renewed), Due::Nothing(_)));
        assert_eq!(given.look(renewed.term, renewed), Due::Term);
        assert_eq!(given.look(renewed.kill, renewed), Due::Kill);
    }

    #[test]
    fn a_sign_of_life_does_not_undo_what_the_watchdog_has_done() {
        let grace = grace(10, None, SECOND * 3);
        let mut given = grace.deadlines(START, SECOND * 3);
        let awake = given.overdue();
        let renewed = grace.deadlines(awake, SECOND * 3);
        assert_eq!(given.look(awake, renewed), Due::Term);
        assert_eq!(given.look(given.kill, renewed), Due::Kill);
    }

    #[test]
    fn what_is_not_valid_any_more_is_killed_at_once() {
        let grace = grace(10, None, SECOND * 3);
        let mut given = grace.deadlines(START, SECOND * 3);
        let none = grace.deadlines(START, Duration::ZERO);
        assert_eq!(given.look(START, none), Due::Kill);
    }
}
