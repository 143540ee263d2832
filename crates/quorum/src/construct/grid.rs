//! Grids: the own row and the own column of a ⌈√N⌉ wide grid, filled row by row (Maekawa 1985).

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::QuorumError;
use crate::system::{Shape, System, distinct};

pub(super) fn system(nodes: usize) -> Result<System, QuorumError> {
    let assignment = Quorums::new(sets(nodes))?;
    let shape = Shape::Grid { width: width(nodes), quorums: distinct(assignment.iter()) };
    Ok(System::new("grid", shape, assignment))
}

/// Only the last row can be short. Of two nodes in different rows one is in a full row, which the
/// column of the other crosses: the quorums meet for every N.
fn sets(nodes: usize) -> Vec<Vec<NodeId>> {
    let width = width(nodes);
    let cross = |i: usize| {
        let start = i - i % width;
        let row = start..nodes.min(start + width);
        let column = (i % width..nodes).step_by(width).filter(move |&other| other != i);
        row.chain(column).map(NodeId::new).collect()
    };
    (0..nodes).map(cross).collect()
}

/// ⌈√N⌉
fn width(nodes: usize) -> usize {
    let root = nodes.isqrt();
    root + usize::from(root * root < nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{degrees, listed};
    use crate::{Construction, quorums};

    #[test]
    fn a_square_and_a_short_last_row() {
        let square = quorums(&Construction::Grid, 4).unwrap();
        assert_eq!(listed(&square), [[1, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4]]);
        let short = quorums(&Construction::Grid, 5).unwrap();
        assert_eq!(
            listed(&short),
            [vec![1, 2, 3, 4], vec![1, 2, 3, 5], vec![1, 2, 3], vec![1, 4, 5], vec![2, 4, 5]]
        );
    }

    /// Spec 3: at most 2⌈√N⌉ − 1, equal for all nodes only at N = k² and k(k−1).
    #[test]
    fn sizes_are_as_claimed() {
        for nodes in 1..=200 {
            let quorums = quorums(&Construction::Grid, nodes).unwrap();
            let sizes: Vec<_> = quorums.iter().map(<[NodeId]>::len).collect();
            let k = width(nodes);
            assert!(sizes.iter().all(|&size| size < 2 * k), "{nodes}");
            let equal = sizes.iter().all(|&size| size == sizes[0]);
            assert_eq!(equal, nodes == k * k || nodes == k * (k - 1), "{nodes}");
            assert_eq!(degrees(&quorums), sizes, "{nodes}: to ask is mutual");
        }
    }
}
