//! How a family is changed: one inform set at a time, or two nodes change their places.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Mcg128Xsl64;

use super::problem::members;
use super::state::State;

/// One in so many random moves is that two nodes change their places. Rates that differ leave the
/// shape of a structure and only move who has which role, and no short way of single sets leads there.
const PLACES_ONE_IN: usize = 10;

/// New inform sets for some nodes. Once it is made it holds what was before, so that making it again
/// takes it back.
#[derive(Debug, Default)]
pub(super) struct Move(Vec<(usize, u64)>);

impl Move {
    pub(super) fn make(&mut self, state: &mut State<'_>) {
        for (i, set) in &mut self.0 {
            let before = state.inform()[*i];
            state.change(*i, *set);
            *set = before;
        }
    }

    /// How many sets it changes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Two nodes change their places in everything.
    pub(super) fn exchange(&mut self, inform: &[u64], a: usize, b: usize) {
        self.0.clear();
        for (i, &set) in inform.iter().enumerate() {
            let role = if i == a {
                inform[b]
            } else if i == b {
                inform[a]
            } else {
                set
            };
            // The two bits change places where they differ.
            let differ = (role >> a ^ role >> b) & u64::from(a != b);
            let role = role ^ (differ << a | differ << b);
            if role != set {
                self.0.push((i, role));
            }
        }
    }
}

/// The inform sets for `i` that are near its own, and those of others.
pub(super) fn near(i: usize, inform: &[u64]) -> impl Iterator<Item = u64> {
    let (own, everyone) = (inform[i], u64::MAX >> (64 - inform.len()));
    let toggled = (0..inform.len()).map(move |k| own ^ 1 << k);
    let swapped = members(own)
        .flat_map(move |out| members(everyone & !own).map(move |into| own ^ 1 << out ^ 1 << into));
    let copied = inform.iter().enumerate().map(move |(j, set)| set & !(1 << j) | 1 << i);
    toggled.chain(swapped).chain(copied).filter(move |set| set >> i & 1 == 1)
}

/// Chance without a seed to choose: the same rates always give the same structure.
pub(super) struct Chance(Mcg128Xsl64);

impl Chance {
    pub(super) fn new() -> Self {
        Chance(Mcg128Xsl64::seed_from_u64(1))
    }

    pub(super) fn choose(&mut self, inform: &[u64], chosen: &mut Move) {
        let nodes = inform.len();
        let (i, j, k) = (self.below(nodes), self.below(nodes), self.below(nodes));
        if self.below(PLACES_ONE_IN) == 0 {
            return chosen.exchange(inform, i, j);
        }
        let own = inform[i];
        // One member more, less or other, or the set of another node.
        let set = match self.below(4) {
            0 => inform[j] & !(1 << j),
            1 if own >> j & 1 == 1 => own & !(1 << j) | 1 << k,
            _ => own ^ 1 << j,
        };
        chosen.0.clear();
        chosen.0.push((i, set | 1 << i));
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// From 0 up to 1.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
