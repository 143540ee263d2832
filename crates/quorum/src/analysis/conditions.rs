//! The conditions of spec 3 on one set for each node, and whether sets are a coterie. They are asked of
//! any family of sets, also of one that turns out to be no quorum system.

mod sizes;

use std::cmp::Ordering;

use skeptron_core::NodeId;

pub use sizes::{Sizes, sizes};

/// What holds of `S_1 … S_N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Condition 1, `S_i ∩ S_j ≠ ∅`: the first two sets that do not meet. An empty set does not even
    /// meet itself.
    pub disjoint: Option<(usize, usize)>,
    /// Condition 2, `i ∈ S_i`: the first node that is not in its own set.
    pub without_self: Option<NodeId>,
    /// Condition 3: all sets have the same size.
    pub equal_size: bool,
    /// Condition 4: every node is in equally many sets.
    pub equal_degree: bool,
}

/// Checks the conditions on a set for each of `nodes` nodes. Which members a set has counts, not in what
/// order or how often they are written.
///
/// # Panics
/// If a set names a node beyond `nodes`.
#[must_use]
pub fn conditions<S: AsRef<[NodeId]>>(assignment: &[S], nodes: usize) -> Conditions {
    let family = Family::new(assignment, nodes);
    let mut of_node = NodeId::all(nodes).zip(&family.sets);
    Conditions {
        disjoint: family.disjoint(),
        without_self: of_node
            .find(|(node, set)| set.binary_search(node).is_err())
            .map(|(node, _)| node),
        equal_size: all_equal(family.sets.iter().map(Vec::len)),
        equal_degree: all_equal(family.through.iter().map(Vec::len)),
    }
}

/// Two sets of which the second contains the first: then they are no coterie. Equal sets count too.
/// The first such pair, as (inner, outer).
#[must_use]
pub fn contained<S: AsRef<[NodeId]>>(sets: &[S]) -> Option<(usize, usize)> {
    let family = Family::new(sets, nodes_of(sets));
    (0..sets.len()).find_map(|inner| Some((inner, family.around(inner).next()?)))
}

/// The sets that contain no other, each once, members in ascending order.
pub(crate) fn minimal<S: AsRef<[NodeId]>>(sets: &[S]) -> Vec<Vec<NodeId>> {
    let family = Family::new(sets, nodes_of(sets));
    let mut is_minimal = vec![true; sets.len()];
    for inner in 0..sets.len() {
        for outer in family.around(inner) {
            // Of equal sets the first one stays.
            if outer > inner || family.sets[outer].len() > family.sets[inner].len() {
                is_minimal[outer] = false;
            }
        }
    }
    let sets = family.sets.into_iter().zip(is_minimal);
    sets.filter_map(|(set, is_minimal)| is_minimal.then_some(set)).collect()
}

/// Sets, and through each node the sets it is in.
struct Family {
    sets: Vec<Vec<NodeId>>,
    through: Vec<Vec<usize>>,
}

impl Family {
    fn new<S: AsRef<[NodeId]>>(sets: &[S], nodes: usize) -> Self {
        let sorted = |set: &S| {
            let mut set = set.as_ref().to_vec();
            set.sort_unstable();
            set.dedup();
            set
        };
        let sets: Vec<Vec<NodeId>> = sets.iter().map(sorted).collect();
        let through = through(&sets, nodes);
        Family { sets, through }
    }

    fn disjoint(&self) -> Option<(usize, usize)> {
        // Whom a set meets is the union of the sets through its members, 64 in a word.
        let words = self.sets.len().div_ceil(64);
        let mut met_through = vec![0_u64; words * self.through.len()];
        for (through, met) in self.through.iter().zip(met_through.chunks_mut(words.max(1))) {
            for set in through {
                met[set / 64] |= 1 << (set % 64);
            }
        }
        let mut met = vec![0; words];
        self.sets.iter().enumerate().find_map(|(index, set)| {
            met.fill(0);
            for member in set {
                let through = &met_through[member.index() * words..][..words];
                met.iter_mut().zip(through).for_each(|(met, through)| *met |= through);
            }
            let is_unmet = |other: &usize| met[other / 64] >> (other % 64) & 1 == 0;
            Some((index, (0..self.sets.len()).find(is_unmet)?))
        })
    }

    /// The other sets that contain this one.
    fn around(&self, inner: usize) -> impl Iterator<Item = usize> {
        let set = &self.sets[inner];
        // Whoever contains it contains its rarest member, and few do.
        let rarest = set.iter().map(|member| &self.through[member.index()]).min_by_key(|t| t.len());
        let everybody = if rarest.is_none() { 0..self.sets.len() } else { 0..0 };
        let candidates = rarest.into_iter().flatten().copied().chain(everybody);
        candidates.filter(move |&outer| outer != inner && is_subset(set, &self.sets[outer]))
    }
}

/// For each node the sets it is in, ascending.
pub(crate) fn through(sets: &[Vec<NodeId>], nodes: usize) -> Vec<Vec<usize>> {
    let mut through = vec![Vec::new(); nodes];
    for (index, set) in sets.iter().enumerate() {
        for member in set {
            through[member.index()].push(index);
        }
    }
    through
}

fn nodes_of<S: AsRef<[NodeId]>>(sets: &[S]) -> usize {
    let members = sets.iter().flat_map(AsRef::as_ref);
    members.map(|member| member.index() + 1).max().unwrap_or(0)
}

/// Both in ascending order.
fn is_subset(inner: &[NodeId], outer: &[NodeId]) -> bool {
    match inner.len().cmp(&outer.len()) {
        Ordering::Less => inner.iter().all(|member| outer.binary_search(member).is_ok()),
        Ordering::Equal => inner == outer,
        Ordering::Greater => false,
    }
}

fn all_equal(mut numbers: impl Iterator<Item = usize>) -> bool {
    let first = numbers.next();
    numbers.all(|number| Some(number) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members counted from 1.
    fn sets(lists: &[&[usize]]) -> Vec<Vec<NodeId>> {
        lists.iter().map(|list| list.iter().map(|&i| NodeId::new(i - 1)).collect()).collect()
    }

    #[test]
    fn violations_are_named() {
        let good = conditions(&sets(&[&[1, 2], &[3, 2, 3], &[1, 3]]), 3);
        assert_eq!(
            good,
            Conditions { disjoint: None, without_self: None, equal_size: true, equal_degree: true }
        );
        let bad = conditions(&sets(&[&[1, 2], &[1, 2], &[1], &[3, 2]]), 4);
        assert_eq!(
            bad,
            Conditions {
                disjoint: Some((2, 3)),
                without_self: Some(NodeId::new(2)),
                equal_size: false,
                equal_degree: false,
            }
        );
        assert_eq!(conditions(&sets(&[&[], &[2]]), 2).disjoint, Some((0, 0)));
    }

    #[test]
    fn containment_is_found_in_either_order() {
        assert_eq!(contained(&sets(&[&[1, 2], &[2, 3], &[1, 3]])), None);
        assert_eq!(contained(&sets(&[&[3, 1, 2], &[2, 3]])), Some((1, 0)));
        assert_eq!(contained(&sets(&[&[1, 2], &[3], &[2, 1]])), Some((0, 2)));
        assert_eq!(contained(&sets(&[&[1, 2], &[]])), Some((1, 0)));
        let minimal = minimal(&sets(&[&[3, 1, 2], &[2, 3], &[3, 2], &[1]]));
        assert_eq!(minimal, sets(&[&[2, 3], &[1]]));
    }
}
