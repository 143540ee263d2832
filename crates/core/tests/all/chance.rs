//! Chance for the tests of the contract.

/// The one seed to play, if the environment names one.
pub(crate) fn chosen_seed() -> Option<u64> {
    std::env::var("SKEPTRON_SEED").ok().map(|seed| seed.parse().expect("a seed is a number"))
}

/// What happens in a system, from its seed.
pub(crate) struct Chance(skeptron_testing::Chance);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(skeptron_testing::Chance::new(seed))
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit as u64) as usize
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Mostly small, since those bytes mean something: a kind, a node, a count.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => self.0.next() as u8,
            1 => 0xff,
            _ => self.below(6) as u8,
        }
    }
}
