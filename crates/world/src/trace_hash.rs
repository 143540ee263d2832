//! One number for a whole run.

/// Two runs with the same hash are the same, event for event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceHash(u64);

impl TraceHash {
    pub(crate) fn new(seed: u64) -> Self {
        TraceHash(seed)
    }

    /// Mixes in what happens and a detail of it.
    pub(crate) fn mix(&mut self, what: u64, detail: u64) {
        let mixed = (self.0 ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ detail;
        self.0 = mixed.rotate_left(29).wrapping_mul(0xD1B5_4A32_D192_ED03);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}
