//! The failure probability by chance: a block of words of samples at once, a bit for each.

use rand_core::Rng as _;
use rand_pcg::Mcg128Xsl64;
use skeptron_core::NodeId;

use super::{Failure, Method, Sampling};

/// Up to so many steps: about two seconds.
const STEPS: u64 = 1_500_000_000;

/// About so many random words decide who fails in 64 samples.
const WORDS_PER_NODE: usize = 8;

/// A bit for each sample, as many as the machine's vectors take at a time.
type Block = [u64; BLOCK];
const BLOCK: usize = 4;

/// After so many members of a quorum it is looked whether it is dead in every sample.
const LOOK_AFTER: usize = 8;

/// The quantile of the normal distribution that leaves 0.5 % on each side.
const Z: f64 = 2.575_829_303_548_901;

pub(super) fn failure(
    quorums: &[Vec<NodeId>],
    nodes: usize,
    p: f64,
    sampling: &Sampling,
) -> Failure {
    // How many samples there are must not depend on what they show.
    let steps = nodes * WORDS_PER_NODE + quorums.iter().map(Vec::len).sum::<usize>();
    let words = sampling.samples.div_ceil(64).clamp(1, 1 + STEPS / steps as u64);
    let mut chance = Chance::new(sampling.seed);
    let mut alive = vec![[0; BLOCK]; nodes];
    let mut failed = 0;
    let mut left = words;
    while left > 0 {
        let block = left.min(BLOCK as u64) as usize;
        for word in 0..block {
            alive.iter_mut().for_each(|alive| alive[word] = !chance.happens(p));
        }
        let live = live(quorums, &alive);
        failed += live[..block].iter().map(|live| u64::from(live.count_zeros())).sum::<u64>();
        left -= block as u64;
    }
    let samples = words * 64;
    let interval = wilson(failed, samples);
    let method = Method::Sampled { samples, seed: sampling.seed };
    Failure { p, value: failed as f64 / samples as f64, method, interval: Some(interval) }
}

/// In which samples a quorum is alive.
fn live(quorums: &[Vec<NodeId>], alive: &[Block]) -> Block {
    let mut live = [0; BLOCK];
    for quorum in quorums {
        // Only samples without a live quorum are of interest.
        let mut complete = live.map(|live: u64| !live);
        for members in quorum.chunks(LOOK_AFTER) {
            for member in members {
                let alive = &alive[member.index()];
                complete.iter_mut().zip(alive).for_each(|(complete, alive)| *complete &= alive);
            }
            if complete == [0; BLOCK] {
                break;
            }
        }
        live.iter_mut().zip(complete).for_each(|(live, complete)| *live |= complete);
        if live == [u64::MAX; BLOCK] {
            break;
        }
    }
    live
}

struct Chance(Mcg128Xsl64);

impl Chance {
    fn new(seed: u64) -> Self {
        // Small seeds differ in few bits; the first words after them are alike.
        let mut chance = Mcg128Xsl64::new(u128::from(seed) << 64 | 0x9E37_79B9_7F4A_7C15);
        for _ in 0..16 {
            chance.next_u64();
        }
        Chance(chance)
    }

    /// Each bit is 1 with probability `p`: that of a random number below `p`, compared digit by digit
    /// until the first difference. That takes about eight words however many digits `p` has.
    fn happens(&mut self, mut p: f64) -> u64 {
        let (mut below, mut equal) = (0, u64::MAX);
        while equal != 0 && p > 0.0 {
            let digits = self.0.next_u64();
            p *= 2.0;
            if p >= 1.0 {
                p -= 1.0;
                below |= equal & !digits;
                equal &= digits;
            } else {
                equal &= !digits;
            }
        }
        below
    }
}

/// Wilson's interval: it is sensible also where nothing was seen.
fn wilson(hits: u64, samples: u64) -> (f64, f64) {
    let (n, share) = (samples as f64, hits as f64 / samples as f64);
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let low = if hits == 0 { 0.0 } else { (centre - spread) / scale };
    let high = if hits == samples { 1.0 } else { (centre + spread) / scale };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_as_often_as_they_should() {
        let mut chance = Chance::new(7);
        for p in [0.5, 0.1, 1e-3, 0.999, 0.0, 1.0] {
            let words = 40_000;
            let hits: u32 = (0..words).map(|_| chance.happens(p).count_ones()).sum();
            let (low, high) = wilson(hits.into(), words * 64);
            assert!((low..=high).contains(&p), "{p}: {low} … {high}");
        }
    }

    #[test]
    fn nothing_seen_still_bounds_the_probability() {
        let (low, high) = wilson(0, 1_000_000);
        assert!(low == 0.0 && (6e-6..7e-6).contains(&high), "{high}");
        assert_eq!(wilson(64, 64).1, 1.0);
    }
}
