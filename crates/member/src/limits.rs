//! What may take how much.

use std::time::Duration;

/// How fast an idle token goes round: each idle visit waits twice as long as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The first wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

/// What may take how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest frame between nodes, in bytes.
    pub frame_bytes: usize,
    /// Unacknowledged bytes on one link above which a lock that needs that peer begins no new request.
    pub congested_bytes: usize,
    /// Unacknowledged bytes on one link above which the peer is not listened to until it acknowledges.
    pub resend_bytes: usize,
    /// Lock names that one node knows at most.
    pub locks: usize,
    /// Waiters of one lock at one node at most.
    pub waiters: usize,
    /// The shortest wait between two tries to connect.
    pub backoff_first: Duration,
    /// The longest wait between two tries to connect.
    pub backoff_longest: Duration,
    /// A link on which nothing was heard for so long is connected anew.
    pub silence: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { first: Duration::from_millis(1), longest: Duration::from_millis(500) }
    }
}

impl Pace {
    /// How long an idle token waits after so many idle visits in a row.
    #[must_use]
    pub fn after(&self, idle_visits: u32) -> Duration {
        self.first.saturating_mul(1 << idle_visits.min(20)).min(self.longest)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes: 1 << 20,
            congested_bytes: 4 << 20,
            resend_bytes: 32 << 20,
            locks: 1_000_000,
            waiters: 100_000,
            backoff_first: Duration::from_millis(10),
            backoff_longest: Duration::from_secs(2),
            silence: Duration::from_secs(10),
        }
    }
}
