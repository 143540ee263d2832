//! The conditions of spec 3 on one set for each node, and whether sets are a coterie. They are asked of
//! any family of sets, also of one that turns out to be no quorum system.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use skeptron_core::NodeId;

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
    let repeated = family.repeated();
    (0..sets.len()).find_map(|inner| {
        let outer = family.around(inner).chain(repeated[inner]).min()?;
        Some((inner, outer))
    })
}

/// The sets that contain no other, each once, members in ascending order.
#[must_use]
pub fn minimal<S: AsRef<[NodeId]>>(sets: &[S]) -> Vec<Vec<NodeId>> {
    let family = Family::new(sets, nodes_of(sets));
    let mut is_minimal = vec![true; sets.len()];
    for (inner, repeated) in family.repeated().into_iter().enumerate() {
        // Of equal sets the first one stays.
        for outer in family.around(inner).chain(repeated) {
            is_minimal[outer] = false;
        }
    }
    let sets = family.sets.into_iter().zip(is_minimal);
    sets.filter_map(|(set, is_minimal)| is_minimal.then_some(set)).collect()
}

/// Sets, and through each node the sets it is in, the largest first.
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
        let mut through = through(&sets, nodes);
        for through in &mut through {
            through.sort_by_key(|&index| Reverse(sets[index].len()));
        }
        Family { sets, through }
    }

    fn disjoint(&self) -> Option<(usize, usize)> {
        // What holds of a set holds of its repetitions: the first one stands for them.
        let mut seen = FxHashSet::default();
        let first: Vec<usize> =
            (0..self.sets.len()).filter(|&index| seen.insert(&self.sets[index])).collect();
        // Whom a set meets is the union of the sets through its members, 64 in a word.
        let words = first.len().div_ceil(64);
        let mut met_through = vec![0_u64; words * self.through.len()];
        for (place, &index) in first.iter().enumerate() {
            for member in &self.sets[index] {
                met_through[member.index() * words + place / 64] |= 1 << (place % 64);
            }
        }
        let mut met = vec![0; words];
        first.iter().find_map(|&index| {
            met.fill(0);
            for member in &self.sets[index] {
                let through = &met_through[member.index() * words..][..words];
                met.iter_mut().zip(through).for_each(|(met, through)| *met |= through);
            }
            // After the last set there is nothing, which shows up at the end only.
            let word = met.iter().position(|&word| word != u64::MAX)?;
            let unmet = 64 * word + met[word].trailing_ones() as usize;
            Some((index, *first.get(unmet)?))
        })
    }

    /// For each set the next one that is equal to it.
    fn repeated(&self) -> Vec<Option<usize>> {
        let mut next = FxHashMap::default();
        let mut repeated: Vec<Option<usize>> = self
            .sets
            .iter()
            .enumerate()
            .rev()
            .map(|(index, set)| next.insert(set, index))
            .collect();
        repeated.reverse();
        repeated
    }

    /// The larger sets that contain this one.
    fn around(&self, inner: usize) -> impl Iterator<Item = usize> {
        let set = &self.sets[inner];
        // Whoever contains it contains its rarest member, and few do.
        let rarest = set.iter().map(|member| &self.through[member.index()]).min_by_key(|t| t.len());
        let everybody = if rarest.is_none() { 0..self.sets.len() } else { 0..0 };
        let is_larger = |outer: &usize| self.sets[*outer].len() > set.len();
        let candidates = rarest.into_iter().flatten().copied().take_while(is_larger);
        let contains = |outer: &usize| {
            set.iter().all(|member| self.sets[*outer].binary_search(member).is_ok())
        };
        candidates.chain(everybody.filter(is_larger)).filter(contains)
    }
}

/// For each node the sets it is in, ascending.
#[must_use]
pub fn through<S: AsRef<[NodeId]>>(sets: &[S], nodes: usize) -> Vec<Vec<usize>> {
    let mut through = vec![Vec::new(); nodes];
    for (index, set) in sets.iter().enumerate() {
        for member in set.as_ref() {
            through[member.index()].push(index);
        }
    }
    through
}

fn nodes_of<S: AsRef<[NodeId]>>(sets: &[S]) -> usize {
    let members = sets.iter().flat_map(AsRef::as_ref);
    members.map(|member| member.index() + 1).max().unwrap_or(0)
}

fn all_equal(mut numbers: impl Iterator<Item = usize>) -> bool {
    let first = numbers.next();
    numbers.all(|number| Some(number) == first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        /// The definitions, pair by pair, with many repeated sets among few nodes.
        #[test]
        fn pairs_are_found_as_if_all_were_compared(
            lists in prop::collection::vec(prop::collection::btree_set(0_usize..7, 0..4), 1..80),
        ) {
            let sets: Vec<Vec<NodeId>> =
                lists.iter().map(|list| list.iter().map(|&i| NodeId::new(i)).collect()).collect();
            let pairs = || (0..lists.len()).flat_map(|i| (0..lists.len()).map(move |j| (i, j)));
            let apart = pairs().find(|&(i, j)| lists[i].is_disjoint(&lists[j]));
            prop_assert_eq!(conditions(&sets, 7).disjoint, apart);
            let inside = pairs().find(|&(i, j)| i != j && lists[i].is_subset(&lists[j]));
            prop_assert_eq!(contained(&sets), inside);
            let stays = |j: usize| {
                (0..lists.len()).all(|i| {
                    !lists[i].is_subset(&lists[j]) || lists[i] == lists[j] && i >= j
                })
            };
            let expected: Vec<_> =
                (0..lists.len()).filter(|&j| stays(j)).map(|j| sets[j].clone()).collect();
            prop_assert_eq!(minimal(&sets), expected);
        }
    }

    /// All quorums of a majority of 17, also twice over.
    #[test]
    fn many_sets_of_one_size_are_no_trouble() {
        let gates = crate::gates::Gates::votes(17, 9);
        let mut quorums = gates.listed(30_000).unwrap();
        assert_eq!(contained(&quorums), None);
        assert_eq!(conditions(&quorums, 17).disjoint, None);
        quorums.extend_from_within(..);
        assert_eq!(contained(&quorums), Some((0, 24_310)));
        assert_eq!(minimal(&quorums).len(), 24_310);
    }
}
