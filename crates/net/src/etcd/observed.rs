//! When the other lives were seen to renew.

use std::collections::BTreeMap;
use std::time::Duration;

use skeptron_member::clock::MonoTime;

/// What one observer has seen of the members' lives, by its own clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    lives: BTreeMap<u64, Sight>,
    has_looked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sight {
    revision: u64,
    /// When this revision was first seen.
    since: MonoTime,
    /// It was written while this observer looked, so somebody lives.
    is_alive: bool,
}

impl Observed {
    /// Takes note of where each life of the view stands now; of others nothing is remembered.
    pub(super) fn see(&mut self, now: MonoTime, lives: impl Iterator<Item = (u64, u64)>) {
        let former = std::mem::take(&mut self.lives);
        for (life, revision) in lives {
            let sight = match former.get(&life) {
                Some(sight) if sight.revision == revision => *sight,
                known => {
                    let is_alive = revision > 0 && (known.is_some() || self.has_looked);
                    Sight { revision, since: now, is_alive }
                }
            };
            self.lives.insert(life, sight);
        }
        self.has_looked = true;
    }

    /// The revision at which the life stands, and since when it has been seen there.
    pub(super) fn standing(&self, life: u64) -> Option<(u64, MonoTime)> {
        self.lives.get(&life).map(|sight| (sight.revision, sight.since))
    }

    /// Whether the life was seen to renew within that time.
    pub(super) fn is_fresh(&self, now: MonoTime, life: u64, within: Duration) -> bool {
        self.lives.get(&life).is_some_and(|sight| sight.is_alive && now < sight.since.after(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_revision_counts_from_when_it_was_first_seen() {
        let mut observed = Observed::default();
        observed.see(at(10), [(1, 5)].into_iter());
        observed.see(at(20), [(1, 5)].into_iter());
        assert_eq!(observed.standing(1), Some((5, at(10))));
        observed.see(at(30), [(1, 6)].into_iter());
        assert_eq!(observed.standing(1), Some((6, at(30))));
        observed.see(at(40), [].into_iter());
        assert_eq!(observed.standing(1), None);
    }

    #[test]
    fn a_life_is_fresh_only_if_it_was_seen_to_renew() {
        let within = Duration::from_millis(100);
        let mut observed = Observed::default();
        observed.see(at(10), [(1, 5)].into_iter());
        assert!(!observed.is_fresh(at(10), 1, within), "it may have been dead for long");
        observed.see(at(20), [(1, 6), (2, 7)].into_iter());
        assert!(observed.is_fresh(at(119), 1, within) && !observed.is_fresh(at(120), 1, within));
        assert!(observed.is_fresh(at(20), 2, within), "it began while this one looked");
        observed.see(at(30), [(1, 0)].into_iter());
        assert!(!observed.is_fresh(at(30), 1, within), "its key is gone");
    }
}
