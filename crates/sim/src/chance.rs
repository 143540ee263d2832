//! All chance of a run: one generator per purpose, every one seeded from the run's seed alone.
//!
//! A purpose never draws from another's generator, so turning on loss does not shift the workload.
//! What a node's application does is drawn from a generator of that node alone, so a crash does not
//! shift what the others do either.

use rand_core::Rng as _;
use rand_pcg::Mcg128Xsl64;
use skeptron_core::NodeId;

/// What a generator is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Latency = 1,
    Loss,
    Duplication,
    Arrival,
    Crash,
    Pause,
    Partition,
    Think,
    Section,
    Shuffle,
    Suspicion,
    Usage,
    Draw,
    Beginning,
}

/// A stream of chance: PCG with 128 bits of state (`Mcg128Xsl64`).
#[derive(Clone, Debug)]
pub(crate) struct Chance(Mcg128Xsl64);

impl Chance {
    /// The generator for a purpose.
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        Self::of_node(seed, purpose, 0)
    }

    /// The generator for a purpose at one node.
    pub(crate) fn of_node(seed: u64, purpose: Purpose, node: u64) -> Self {
        let mut mix = SplitMix(seed);
        let mut state = u128::from(mix.next()) ^ (purpose as u128) << 96;
        mix = SplitMix(
            mix.next() ^ node.wrapping_mul(0xD1B5_4A32_D192_ED03) ^ (purpose as u64) << 48,
        );
        state ^= u128::from(mix.next()) << 64 | u128::from(mix.next());
        Chance(Mcg128Xsl64::new(state))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0 ≤ x < 1`, a multiple of 2⁻⁵³.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0 … n−1`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub(crate) fn happens(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Exponentially distributed with mean 1. `libm` and not the platform's logarithm, so that a
    /// seed means the same run on every machine.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

/// All nodes of a system of `n` in an order drawn at random.
#[must_use]
pub fn shuffled(n: usize, seed: u64) -> Vec<NodeId> {
    let mut chance = Chance::new(seed, Purpose::Shuffle);
    let mut order: Vec<NodeId> = NodeId::all(n).collect();
    for last in (1..n).rev() {
        order.swap(last, chance.below(last as u64 + 1) as usize);
    }
    order
}

/// The usual way to spread a small seed over many bits.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_and_nodes_have_streams_of_their_own() {
        let mut firsts: Vec<u64> =
            (0..50).map(|i| Chance::of_node(7, Purpose::Think, i).bits()).collect();
        firsts.push(Chance::new(7, Purpose::Loss).bits());
        firsts.push(Chance::new(8, Purpose::Loss).bits());
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 52);
    }

    #[test]
    fn a_seed_means_the_same_on_every_machine() {
        let mut chance = Chance::new(1, Purpose::Latency);
        let drawn = [chance.bits(), chance.below(1000), (chance.exponential() * 1e15) as u64];
        assert_eq!(drawn, GOLDEN);
    }

    #[test]
    fn every_order_is_as_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            *counts.entry(shuffled(3, seed)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    const GOLDEN: [u64; 3] = [3_831_402_248_810_443_536, 715, 57_578_295_476_932];

    #[test]
    fn chances_are_what_they_say() {
        let mut chance = Chance::new(3, Purpose::Loss);
        let hits = (0..100_000).filter(|_| chance.happens(0.25)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        let mean = (0..100_000).map(|_| chance.exponential()).sum::<f64>() / 1e5;
        assert!((0.98..1.02).contains(&mean), "{mean}");
        assert!((0..1000).all(|_| chance.below(3) < 3));
    }
}
