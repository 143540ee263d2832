//! From any state to a legitimate one: what a self-stabilising algorithm promises instead of a right beginning.

use skeptron_core::catalogue::Info;

use crate::metrics::{Recovery, units};
use crate::trace::Ticks;

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovering {
    is_awaited: bool,
    so_far: Recovery,
    /// After how many events of the run it is late.
    late_after: u64,
}

impl Recovering {
    /// Of a run that begins.
    pub(super) fn new(info: &Info) -> Self {
        let is_awaited = info.is_stabilising();
        Recovering { is_awaited, so_far: Recovery::default(), late_after: u64::MAX }
    }

    /// A node has come back, in whatever state.
    pub(super) fn begin(&mut self, info: &Info) {
        self.is_awaited = info.is_stabilising();
        self.so_far.legitimate_since = None;
    }

    #[inline(always)]
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// Somebody enters. Whether anything is promised of that.
    pub(super) fn enter(&mut self, is_crowded: bool) -> bool {
        if self.is_awaited {
            self.so_far.entries += 1;
            self.so_far.crowded += u64::from(is_crowded);
        }
        !self.is_awaited
    }

    /// The state is legitimate now.
    pub(super) fn end(&mut self, now: Ticks) {
        self.is_awaited = false;
        self.so_far.legitimate_since = Some(units(now));
    }

    /// Nobody asks any more. The bottom of a ring hears each of N messages on each of up to N rounds; a message takes
    /// N steps, and this is some times as many.
    pub(super) fn limit(&mut self, events: u64, nodes: usize) {
        self.late_after = events + 1000 + 16 * (nodes as u64).pow(3);
    }

    /// Whether it is still waited for when nobody asks any more.
    pub(super) fn goes_on(&self, events: u64) -> bool {
        self.is_awaited && events < self.late_after
    }

    /// How it went, if there was something to recover from.
    pub(super) fn report(&self) -> Option<Recovery> {
        let is_plain = self.so_far.legitimate_since == Some(0.0) && self.so_far.entries == 0;
        (self.is_awaited || self.so_far.legitimate_since.is_some() && !is_plain)
            .then_some(self.so_far)
    }
}
