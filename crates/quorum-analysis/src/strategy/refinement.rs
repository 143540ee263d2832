//! Which nodes, and which quorums, a strategy need not tell apart.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use skeptron_core::NodeId;
use skeptron_quorum::conditions::through;

/// Classes of nodes and of quorums of which every quorum of a class has equally many members in each
/// class of nodes, and every node of a class is in equally many quorums of each class: an equitable
/// partition, the coarsest there is.
///
/// The linear program of a strategy may be averaged over such classes even where no symmetry exchanges
/// their members (Grohe, Kersting, Mladenov & Selman 2014): whatever loads can be reached can be reached
/// with all quorums of a class equally likely.
pub(super) struct Partition {
    /// The class of each node, counted from 0 in the order in which they first occur.
    pub(super) class_of_node: Vec<usize>,
    /// The class of each quorum, likewise.
    pub(super) class_of_quorum: Vec<usize>,
    /// For each class of quorums, how many members a quorum of it has in which classes of nodes.
    pub(super) members: Vec<Vec<(usize, usize)>>,
}

impl Partition {
    /// Refines the classes that `labels` gives to the nodes by colour refinement: as long as two of a
    /// class differ in what classes they meet, they are told apart.
    pub(super) fn new(labels: &[usize], quorums: &[&Vec<NodeId>]) -> Self {
        let through = through(quorums, labels.len());
        let (mut class_of_node, _) = classes(labels.iter());
        loop {
            let of_members = |quorum: &&Vec<NodeId>| {
                tally(quorum.iter().map(|node| class_of_node[node.index()]))
            };
            let (class_of_quorum, members) = classes(quorums.iter().map(of_members));
            let around = |quorums: &Vec<usize>| tally(quorums.iter().map(|&q| class_of_quorum[q]));
            let (finer, _) = classes(class_of_node.iter().zip(through.iter().map(around)));
            // Quorums are told apart by the nodes alone, so if these stay as they are all is done.
            if finer == class_of_node {
                return Partition { class_of_node, class_of_quorum, members };
            }
            class_of_node = finer;
        }
    }
}

/// How often each class occurs, by class.
pub(super) fn tally(classes: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut classes: Vec<usize> = classes.collect();
    classes.sort_unstable();
    classes.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

/// The class of each thing, counted from 0 in the order in which they first occur, and what each class
/// looks like.
fn classes<T: Clone + Eq + Hash>(things: impl Iterator<Item = T>) -> (Vec<usize>, Vec<T>) {
    let (mut known, mut looks) = (FxHashMap::default(), Vec::new());
    let class = |thing: T| {
        *known.entry(thing).or_insert_with_key(|thing| {
            looks.push(thing.clone());
            looks.len() - 1
        })
    };
    (things.map(class).collect(), looks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use skeptron_quorum::{Construction, build};

    use super::*;

    fn of(construction: Construction, nodes: usize) -> Partition {
        let system = build(&construction, nodes).unwrap();
        let quorums = system.quorums(100_000).unwrap();
        Partition::new(&vec![0; nodes], &quorums.iter().collect::<Vec<_>>())
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
            assert_eq!(partition.class_of_node, vec![0; nodes], "{construction}");
            assert_eq!(partition.members.len(), 1, "{construction}");
        }
        // The last row and the last column have two nodes each.
        let short = of(Construction::Grid, 8);
        assert_eq!(short.class_of_node, [0, 0, 1, 0, 0, 1, 1, 1]);
        // Any two of the first three nodes and one of the last row, or the last row.
        let wall = of(Construction::Wall(Some(vec![1, 2, 3])), 6);
        assert_eq!(wall.class_of_node, [0, 0, 0, 1, 1, 1]);
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
            let partition = Partition::new(&labels, &quorums.iter().collect::<Vec<_>>());
            for (quorum, &class) in quorums.iter().zip(&partition.class_of_quorum) {
                let members = quorum.iter().map(|node| partition.class_of_node[node.index()]);
                prop_assert_eq!(&tally(members), &partition.members[class]);
            }
            let around = |node: usize| {
                let with = (0..sets.len()).filter(|&q| sets[q].contains(&node));
                tally(with.map(|q| partition.class_of_quorum[q]))
            };
            for (node, class) in partition.class_of_node.iter().enumerate() {
                let first = partition.class_of_node.iter().position(|other| other == class).unwrap();
                prop_assert_eq!(around(node), around(first));
                prop_assert_eq!(labels[node], labels[first]);
            }
        }
    }
}
