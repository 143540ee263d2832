//! Chance for the tests of the contract.

/// The one seed to play, if the environment names one.
pub(crate) fn chosen_seed() -> Option<u64> {
    std::env::var("SKEPTRON_SEED").ok().map(|seed| seed.parse().expect("a seed is a number"))
}

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Mostly small, since those bytes mean something: a kind, a node, a count.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => self.next() as u8,
            1 => 0xff,
            _ => self.below(6) as u8,
        }
    }
}
