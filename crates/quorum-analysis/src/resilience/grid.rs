//! The fewest nodes that meet every row-and-column of a grid.

use skeptron_core::NodeId;

/// A smallest set of nodes that meets every quorum of a grid of this width whose last row may be short.
///
/// A quorum is a full row and any column, or the short row and one of the columns it reaches. So either
/// every column is met, or every full row, and of the short row's quorums the row or all its columns.
pub(super) fn transversal(nodes: usize, width: usize) -> Vec<NodeId> {
    let (rows, short) = (nodes / width, nodes % width);
    let at = |row: usize, column: usize| NodeId::new(row * width + column);
    // Row after row and column after column, both from the start again when they end.
    let diagonal = |length: usize, columns: usize| {
        (0..length).map(|i| at(i % rows.max(1), i % columns)).collect::<Vec<_>>()
    };
    let columns = diagonal(width.min(nodes), width);
    let rows_met = match short {
        0 => diagonal(rows, width),
        _ if short <= rows => diagonal(rows, short),
        _ => (0..=rows).map(|row| at(row, 0)).collect(),
    };
    if rows_met.len() <= columns.len() { rows_met } else { columns }
}

#[cfg(test)]
mod tests {
    use skeptron_quorum::{Construction, quorums};

    use super::*;

    /// Against all sets of nodes.
    #[test]
    fn no_smaller_set_meets_every_quorum() {
        for nodes in 1..=20 {
            let mask = |set: &[NodeId]| set.iter().fold(0_u32, |bits, i| bits | 1 << i.index());
            let grid = quorums(&Construction::Grid, nodes).unwrap();
            let crosses: Vec<u32> = grid.iter().map(mask).collect();
            let meets = |set: u32| crosses.iter().all(|cross| cross & set != 0);
            let all = (0_u32..1 << nodes).filter(|&set| meets(set));
            let smallest = all.map(u32::count_ones).min().unwrap();
            let width = nodes.isqrt() + usize::from(nodes.isqrt().pow(2) < nodes);
            let found = mask(&transversal(nodes, width));
            assert!(meets(found), "{nodes}");
            assert_eq!(found.count_ones(), smallest, "{nodes}");
        }
    }
}
