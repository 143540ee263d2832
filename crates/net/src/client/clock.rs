//! The clock by which a client knows for how long its session is good.

use std::time::Duration;

/// A moment on a clock that is never set back and also runs while the machine sleeps: a client that
/// wakes up after its session ended must know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(Duration);

impl Moment {
    /// Right now.
    #[cfg(target_os = "linux")]
    pub(super) fn now() -> Self {
        use nix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::CLOCK_BOOTTIME);
        Moment(time.expect("every Linux that runs this has the clock").into())
    }

    /// Right now. Where the system's monotonic clock stands still during sleep, so does this one.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn now() -> Self {
        use std::sync::OnceLock;
        use std::time::Instant;
        static FIRST: OnceLock<Instant> = OnceLock::new();
        Moment(FIRST.get_or_init(Instant::now).elapsed())
    }

    /// That much later.
    pub(super) fn after(self, duration: Duration) -> Self {
        Moment(self.0.saturating_add(duration))
    }

    /// How long it is until then; nothing if it has passed.
    pub(super) fn left(self) -> Duration {
        self.0.saturating_sub(Moment::now().0)
    }
}
