//! Chance for tests, from a seed.

/// All chance of a test, from its seed.
pub(crate) struct Chance(skeptron_testing::Chance);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(skeptron_testing::Chance::new(seed))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next()
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
        let on_panic = SeedOnPanic(seed);
        test(seed);
        std::mem::forget(on_panic);
    }
}

/// Says which seed a panic came from.
struct SeedOnPanic(u64);

impl Drop for SeedOnPanic {
    fn drop(&mut self) {
        println!("to see this again: SKEPTRON_SEED={}", self.0);
    }
}
