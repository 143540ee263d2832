//! Sets of quorums, 64 in a word: on the heap only if there are many.

use std::hash::Hash;

/// A set of quorums by their numbers.
pub(super) trait Set: Clone + Eq + Hash {
    /// The empty set of so many quorums.
    fn none(quorums: usize) -> Self;

    fn words(&self) -> &[u64];

    fn words_mut(&mut self) -> &mut [u64];

    fn of(quorums: usize, is_in: impl FnMut(&usize) -> bool) -> Self {
        let mut set = Self::none(quorums);
        for quorum in (0..quorums).filter(is_in) {
            set.words_mut()[quorum / 64] |= 1 << (quorum % 64);
        }
        set
    }

    fn contains(&self, quorum: usize) -> bool {
        self.words()[quorum / 64] >> (quorum % 64) & 1 == 1
    }

    fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    fn meets(&self, other: &Self) -> bool {
        self.words().iter().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    fn remove(&mut self, other: &Self) {
        self.words_mut().iter_mut().zip(other.words()).for_each(|(word, other)| *word &= !other);
    }
}

impl<const WORDS: usize> Set for [u64; WORDS] {
    fn none(_quorums: usize) -> Self {
        [0; WORDS]
    }

    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self
    }
}

impl Set for Vec<u64> {
    fn none(quorums: usize) -> Self {
        vec![0; quorums.div_ceil(64)]
    }

    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self
    }
}
