//! Chance for tests, from a seed.

/// All chance of a test, from its seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// 64 random bits (SplitMix64).
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Uniform in `0 … n−1`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// True so many times in a thousand.
    pub(crate) fn happens(&mut self, per_mille: usize) -> bool {
        self.below(1000) < per_mille
    }
}

/// Runs `test` with many seeds, or with the one in `SKEPTRON_SEED`; a panic is preceded by its seed.
pub(crate) fn for_seeds(seeds: u64, mut test: impl FnMut(u64)) {
    let chosen = std::env::var("SKEPTRON_SEED").ok().and_then(|seed| seed.parse().ok());
    let range = chosen.map_or(0..seeds, |seed: u64| seed..seed + 1);
    for seed in range {
        let told = Told(seed);
        test(seed);
        std::mem::forget(told);
    }
}

/// Says which seed a panic came from.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        println!("to see this again: SKEPTRON_SEED={}", self.0);
    }
}
