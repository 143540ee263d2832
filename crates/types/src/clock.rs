//! Time as the member core sees it: handed in, never read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time on one machine's clock, which is never set back and also runs while the machine sleeps.
/// Those of different machines are not comparable.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct MonoTime(u64);

impl MonoTime {
    /// Later than every other.
    pub const NEVER: MonoTime = MonoTime(u64::MAX);

    /// So many nanoseconds after the clock began.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        MonoTime(nanos)
    }

    /// Nanoseconds since the clock began.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// That much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        MonoTime(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: MonoTime) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// How far a clock's rate may be off, in parts per million: within it, nobody believes in a right
/// for longer than its grantor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Drift {
    /// Parts per million.
    pub ppm: u32,
}

impl Default for Drift {
    fn default() -> Self {
        Drift { ppm: 1000 }
    }
}

impl Drift {
    /// For how long a holder may believe in what its grantor promises for `granted`, each by its own
    /// clock: `granted (1 − ρ) / (1 + ρ)`, rounded down.
    #[must_use]
    pub fn believed(self, granted: Duration) -> Duration {
        let million = 1_000_000u128;
        let rho = u128::from(self.ppm).min(million);
        let nanos = granted.as_nanos() * (million - rho) / (million + rho);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn belief_ends_before_the_grant_on_any_two_clocks_within_the_bound() {
        let drift = Drift { ppm: 1000 };
        let granted = Duration::from_secs(10);
        let believed = drift.believed(granted);
        // The holder's clock is as slow, and the grantor's as fast, as they may be.
        let holder = believed.as_nanos() as f64 / (1.0 - 0.001);
        let grantor = granted.as_nanos() as f64 / (1.0 + 0.001);
        assert!(holder <= grantor && holder > grantor - 2.0);
        assert_eq!(Drift { ppm: 0 }.believed(granted), granted);
    }
}
