//! Majorities: each node takes itself and its ⌊N/2⌋ successors, so that everybody is asked equally
//! often.

use skeptron_core::NodeId;

use crate::translates;

pub(crate) fn sets(nodes: usize) -> Vec<Vec<NodeId>> {
    let offsets: Vec<_> = (0..=nodes / 2).collect();
    translates(nodes, &offsets)
}

#[cfg(test)]
mod tests {
    use crate::tests::listed;
    use crate::{Construction, build};

    #[test]
    fn a_node_takes_itself_and_its_successors() {
        let quorums = build(Construction::Majority, 4).unwrap();
        assert_eq!(listed(&quorums), [[1, 2, 3], [2, 3, 4], [1, 3, 4], [1, 2, 4]]);
    }
}
