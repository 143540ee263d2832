//! Sets of quorums, 64 in a word.

/// A set of quorums by their numbers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Set(Box<[u64]>);

impl Set {
    /// Those of so many quorums for which it holds.
    pub(super) fn of(quorums: usize, is_in: impl FnMut(&usize) -> bool) -> Self {
        let mut words = vec![0; quorums.div_ceil(64)];
        for quorum in (0..quorums).filter(is_in) {
            words[quorum / 64] |= 1 << (quorum % 64);
        }
        Set(words.into())
    }

    /// How many words it takes.
    pub(super) fn words(&self) -> usize {
        self.0.len()
    }

    pub(super) fn contains(&self, quorum: usize) -> bool {
        self.0[quorum / 64] >> (quorum % 64) & 1 == 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub(super) fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }
}
