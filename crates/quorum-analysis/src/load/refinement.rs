//! Which nodes, and which quorums, a strategy need not tell apart.

use rustc_hash::FxHashMap;
use skeptron_core::NodeId;

/// Classes of nodes and of quorums of which every quorum of a class has equally many members in each
/// class of nodes, and every node of a class is in equally many quorums of each class: an equitable
/// partition, the coarsest there is.
///
/// The linear program of a strategy may be averaged over such classes even where no symmetry exchanges
/// their members (Grohe, Kersting, Mladenov & Selman 2014): whatever loads can be reached can be reached
/// with all quorums of a class equally likely.
pub(crate) struct Partition {
    /// The class of each node, counted from 0 in the order in which they first occur.
    pub(crate) class_of_node: Vec<usize>,
    /// The class of each quorum, likewise.
    pub(crate) class_of_quorum: Vec<usize>,
    /// How many nodes there are in each class.
    pub(crate) nodes: Vec<usize>,
    /// How many quorums there are in each class.
    pub(crate) quorums: Vec<usize>,
    /// For each class of quorums, how many members a quorum of it has in which classes of nodes.
    pub(crate) members: Vec<Vec<(usize, usize)>>,
}

impl Partition {
    /// Refines the classes that `labels` gives to the nodes by colour refinement: as long as two of a
    /// class differ in what classes they meet, they are told apart.
    pub(crate) fn new(labels: &[usize], quorums: &[Vec<NodeId>]) -> Self {
        let mut containing = vec![Vec::new(); labels.len()];
        for (number, quorum) in quorums.iter().enumerate() {
            for member in quorum {
                containing[member.index()].push(number);
            }
        }
        let indices: Vec<Vec<usize>> =
            quorums.iter().map(|quorum| quorum.iter().map(|node| node.index()).collect()).collect();
        let mut of_nodes = Classes::new(labels.iter().map(|&label| (label, Vec::new())));
        loop {
            let of_quorums =
                Classes::new(indices.iter().map(|members| (0, tally(members, &of_nodes.class))));
            // Quorums are told apart by the nodes alone, so if these stay as they are all is done.
            let finer = Classes::new(
                of_nodes
                    .class
                    .iter()
                    .zip(&containing)
                    .map(|(&class, quorums)| (class, tally(quorums, &of_quorums.class))),
            );
            if finer.sizes.len() == of_nodes.sizes.len() {
                return Partition {
                    class_of_node: of_nodes.class,
                    class_of_quorum: of_quorums.class,
                    nodes: of_nodes.sizes,
                    quorums: of_quorums.sizes,
                    members: of_quorums.tallies,
                };
            }
            of_nodes = finer;
        }
    }
}

/// How many of `things` are in which class, by class.
fn tally(things: &[usize], class: &[usize]) -> Vec<(usize, usize)> {
    let mut classes: Vec<usize> = things.iter().map(|&thing| class[thing]).collect();
    classes.sort_unstable();
    classes.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

/// A partition by what was said of each thing.
struct Classes {
    class: Vec<usize>,
    sizes: Vec<usize>,
    tallies: Vec<Vec<(usize, usize)>>,
}

impl Classes {
    fn new(things: impl Iterator<Item = (usize, Vec<(usize, usize)>)>) -> Self {
        let mut known = FxHashMap::default();
        let (mut sizes, mut tallies) = (Vec::new(), Vec::new());
        let class = things.map(|thing| {
            let next = sizes.len();
            let class = *known.entry(thing).or_insert_with_key(|(_, tally)| {
                sizes.push(0);
                tallies.push(tally.clone());
                next
            });
            sizes[class] += 1;
            class
        });
        let class = class.collect();
        Classes { class, sizes, tallies }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use skeptron_quorum::{Construction, build};

    use super::*;

    fn of(construction: Construction, nodes: usize) -> Partition {
        let system = build(&construction, nodes).unwrap();
        Partition::new(&vec![0; nodes], &system.quorums(100_000).unwrap())
    }

    #[test]
    fn classes_are_what_one_would_say() {
        for (construction, nodes) in [
            (Construction::Fano, 7),
            (Construction::Maekawa13, 13),
            (Construction::Grid, 900),
            (Construction::Cyclic, 100),
            (Construction::Majority, 9),
        ] {
            let partition = of(construction.clone(), nodes);
            assert_eq!(partition.nodes, [nodes], "{construction}");
            assert_eq!(partition.quorums.len(), 1, "{construction}");
        }
        // The last row and the last column have two nodes each.
        let short = of(Construction::Grid, 8);
        assert_eq!(short.class_of_node, [0, 0, 1, 0, 0, 1, 1, 1]);
        // Any two of the first three nodes and one of the last row, or the last row.
        let wall = of(Construction::Wall(Some(vec![1, 2, 3])), 6);
        assert_eq!(wall.nodes, [3, 3]);
        assert_eq!(wall.members, [vec![(0, 2), (1, 1)], vec![(1, 3)]]);
    }

    proptest! {
        /// The definition, for any sets whatever.
        #[test]
        fn a_partition_is_equitable(
            sets in prop::collection::vec(prop::collection::btree_set(0_usize..9, 1..6), 1..12),
            labels in prop::collection::vec(0_usize..2, 9),
        ) {
            let quorums: Vec<Vec<NodeId>> =
                sets.iter().map(|set| set.iter().map(|&i| NodeId::new(i)).collect()).collect();
            let partition = Partition::new(&labels, &quorums);
            for (quorum, &class) in quorums.iter().zip(&partition.class_of_quorum) {
                let members: Vec<usize> = quorum.iter().map(|node| node.index()).collect();
                prop_assert_eq!(&tally(&members, &partition.class_of_node), &partition.members[class]);
            }
            let around = |node: usize| {
                let with: Vec<usize> = (0..sets.len()).filter(|&q| sets[q].contains(&node)).collect();
                tally(&with, &partition.class_of_quorum)
            };
            for (node, class) in partition.class_of_node.iter().enumerate() {
                let first = partition.class_of_node.iter().position(|other| other == class).unwrap();
                prop_assert_eq!(around(node), around(first));
                prop_assert_eq!(labels[node], labels[first]);
            }
            prop_assert_eq!(partition.nodes.iter().sum::<usize>(), 9);
            prop_assert_eq!(partition.quorums.iter().sum::<usize>(), sets.len());
        }
    }
}
