//! How much the tests test: the usual tier draws samples of large matrices and makes long runs short, the full
//! one (`SKEPTRON_TESTS=full`, as `scripts/test --full` sets it) leaves nothing out.

use std::env::VarError;
use std::fmt::Debug;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, RandomState};
use std::ops::Range;
use std::str::FromStr;
use std::sync::LazyLock;

const TIER: &str = "SKEPTRON_TESTS";
const SAMPLE: &str = "SKEPTRON_SAMPLE";

/// Whether everything is tested, whatever it takes.
pub fn is_full() -> bool {
    match variable::<String>(TIER).as_deref() {
        Some("full") => true,
        None | Some("usual") => false,
        Some(other) => panic!("{TIER} is `usual` or `full`, not `{other}`"),
    }
}

/// How many: what the environment says in `name`, or what is right for the tier.
pub fn amount<T: FromStr<Err: Debug>>(name: &str, usual: T, full: T) -> T {
    variable(name).unwrap_or_else(|| if is_full() { full } else { usual })
}

/// A variable of the environment.
///
/// # Panics
/// If it is set to something else than a `T`.
pub fn variable<T: FromStr<Err: Debug>>(name: &str) -> Option<T> {
    match std::env::var(name) {
        Ok(text) => Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error:?}"))),
        Err(VarError::NotPresent) => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

/// So many of these cases, in their order; all of them in the full tier.
///
/// Which ones is drawn by `SKEPTRON_SAMPLE`, or anew in every process. It is printed, so that a test that fails
/// shows how to draw the same again. `what` tells apart what is drawn in different places.
pub fn sample<T>(what: &str, cases: impl IntoIterator<Item = T>, count: usize) -> Vec<T> {
    let mut cases: Vec<T> = cases.into_iter().collect();
    if is_full() || cases.len() <= count {
        return cases;
    }
    let mut chance = drawn(what, &format!("{count} of {} cases", cases.len()));
    let mut left = count as u64;
    for place in (0..cases.len()).rev() {
        // Of those before and at this place, as many as are still wanted.
        if chance.below(place as u64 + 1) < left {
            left -= 1;
        } else {
            cases.remove(place);
        }
    }
    cases
}

/// So many seeds in a row, somewhere in this range; the whole range in the full tier.
pub fn sample_seeds(what: &str, seeds: Range<u64>, count: u64) -> Range<u64> {
    let spare = (seeds.end - seeds.start).saturating_sub(count);
    if is_full() || spare == 0 {
        return seeds;
    }
    let mut chance = drawn(what, &format!("{count} of the seeds {seeds:?}"));
    let start = seeds.start + chance.below(spare + 1);
    start..start + count
}

fn drawn(what: &str, share: &str) -> Chance {
    static SEED: LazyLock<u64> = LazyLock::new(|| {
        variable(SAMPLE).unwrap_or_else(|| RandomState::new().hash_one(0) % 100_000)
    });
    let seed = *SEED;
    println!("{what}: {share}; the same again: {SAMPLE}={seed}, all: {TIER}=full");
    let name = BuildHasherDefault::<DefaultHasher>::default().hash_one(what);
    Chance::new(seed ^ name)
}

/// Chance from a seed (SplitMix64): small, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    #[expect(missing_docs)]
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// 64 random bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// From 0 up to, but not including, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_their_size_and_their_order_and_reach_every_case() {
        let mut seen = [false; 10];
        for name in 0..100 {
            let cases = sample(&name.to_string(), 0..10, 3);
            assert!(is_full() || cases.len() == 3);
            assert!(cases.is_sorted());
            cases.iter().for_each(|&case| seen[case] = true);
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(sample("few", 0..2, 3), [0, 1]);
    }

    #[test]
    fn sampled_seeds_lie_within_their_range() {
        for name in 0..100 {
            let seeds = sample_seeds(&name.to_string(), 5..25, 4);
            assert!(5 <= seeds.start && seeds.end <= 25, "{seeds:?}");
            assert!(is_full() || seeds.end - seeds.start == 4, "{seeds:?}");
        }
        assert_eq!(sample_seeds("few", 1..3, 4), 1..3);
    }
}
