//! All chance of a run comes from its seed, through one generator for each purpose: a fault more does
//! not change what the clients do.

use rand_core::Rng as _;
use rand_pcg::Mcg128Xsl64;

use crate::clock::Time;

/// What a generator is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    World = 1,
    Network,
    Storm,
    Views,
    Interleaving,
    Client,
    Observers,
}

/// A stream of chance.
#[derive(Clone, Debug)]
pub(crate) struct Chance(Mcg128Xsl64);

impl Chance {
    pub(crate) fn new(seed: u64, purpose: Purpose, place: usize) -> Self {
        let mut mixed = seed;
        let mut next = || {
            mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ z >> 31
        };
        let (high, low) = (next(), next());
        let stream = (purpose as u64) << 56 ^ (place as u64).wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut chance =
            Chance(Mcg128Xsl64::new(u128::from(high ^ stream) << 64 | u128::from(low)));
        // The first draws of streams that differ in few bits resemble each other.
        for _ in 0..4 {
            chance.bits();
        }
        chance
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0 … n−1`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `0 … n−1`.
    pub(crate) fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// Uniform in `low ≤ t ≤ high`.
    pub(crate) fn between(&mut self, low: Time, high: Time) -> Time {
        low + self.below(high - low + 1)
    }

    /// True in so many of a million cases.
    pub(crate) fn happens(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.below(1_000_000) < u64::from(ppm)
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}
