//! The environment: everything that a node reads from the machine it runs on besides its sockets.
//! Nothing else in this crate reads a clock, sets a timer or draws a number; clippy sees to it.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;

use skeptron_types::clock::MonoTime;

/// Now, on a clock that is never set back and also runs while the machine sleeps: whoever wakes up
/// after its right ended must know at once.
#[cfg(target_os = "linux")]
pub fn now() -> MonoTime {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME);
    let time: Duration = time.expect("every Linux that runs this has the clock").into();
    MonoTime::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Now. Where the system's monotonic clock stands still during sleep, so does this one.
#[cfg(not(target_os = "linux"))]
pub fn now() -> MonoTime {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    MonoTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The time from now until then; nothing if it has passed.
pub fn until(moment: MonoTime) -> Duration {
    moment.since(now())
}

/// Returns after that long.
pub async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Returns then, or a moment later; never if that is never.
pub async fn sleep_until(moment: MonoTime) {
    // A timer stands still while the machine sleeps, so one look may be too early.
    while now() < moment {
        if moment == MonoTime::NEVER {
            return std::future::pending().await;
        }
        tokio::time::sleep(until(moment)).await;
    }
}

/// The result, if it comes within that time.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(duration, future).await.ok()
}

/// Bits that nobody can guess; none if the system gives none.
pub fn random<const BYTES: usize>() -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).ok()?;
    Some(bytes)
}
