//! Systems in which nodes vote: `singleton`, `all`, `majority`, `wall`, `tree`, `hierarchical`. All of
//! them, and `weighted`, are [`Gates`].

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::{Construction, QuorumError};
use crate::gates::Gates;
use crate::system::{Shape, System};

/// Each row of a wall is a row of the linear program for its load.
const MOST_ROWS: usize = 250;

pub(super) fn singleton(nodes: usize) -> Result<System, QuorumError> {
    let mut weights = vec![0; nodes];
    weights[0] = 1;
    let everybody = vec![vec![NodeId::new(0)]; nodes];
    let shape = Shape::Gates(Gates::weighted(&weights, 1));
    Ok(System::new("singleton", shape, Quorums::new(everybody)?))
}

pub(super) fn all(nodes: usize) -> Result<System, QuorumError> {
    turned(&Construction::All, Gates::votes(nodes, nodes))
}

/// Each node takes itself and its ⌊N/2⌋ successors, so that everybody is asked equally often.
pub(super) fn majority(nodes: usize) -> Result<System, QuorumError> {
    turned(&Construction::Majority, Gates::votes(nodes, nodes / 2 + 1))
}

/// Without `rows`, the wall 1, 2, 3, … with what remains spread over all rows but the first: so no coterie
/// dominates it.
pub(super) fn wall(rows: Option<&[usize]>, nodes: usize) -> Result<System, QuorumError> {
    let rows = rows.map_or_else(|| triangular(nodes), <[usize]>::to_vec);
    if let Some(empty) = rows.iter().position(|&width| width == 0) {
        return Err(QuorumError::EmptyRow(empty + 1));
    }
    if rows.len() > MOST_ROWS {
        return Err(QuorumError::TooManyRows { rows: rows.len(), most: MOST_ROWS });
    }
    let (shape, sets) = (Shape::Gates(Gates::wall(&rows)), below(&rows));
    Ok(System::new(Construction::Wall(Some(rows)).to_string(), shape, Quorums::new(sets)?))
}

/// Rows of 1, 2, 3, … nodes; what remains makes the lowest ones longer by one. Two nodes are two rows, of
/// which the lower one decides.
fn triangular(nodes: usize) -> Vec<usize> {
    if nodes == 2 {
        return vec![1, 1];
    }
    let height = ((8 * nodes + 1).isqrt() - 1) / 2;
    let mut rows: Vec<usize> = (1..=height).collect();
    let remain = nodes - height * (height + 1) / 2;
    for row in (1..height).rev().cycle().take(remain) {
        rows[row] += 1;
    }
    rows
}

pub(super) fn tree(nodes: usize) -> Result<System, QuorumError> {
    let height = (nodes + 1).ilog2() - 1;
    if !(nodes + 1).is_power_of_two() {
        return Err(QuorumError::NoSuchSize {
            construction: Construction::Tree(None),
            form: "2^(h+1) − 1",
            nodes,
            nearby: vec![(2 << height) - 1, (4 << height) - 1],
        });
    }
    let (shape, sets) = (Shape::Gates(Gates::tree(height)), paths(nodes));
    Ok(System::new(Construction::Tree(Some(height)).to_string(), shape, Quorums::new(sets)?))
}

pub(super) fn hierarchical(nodes: usize) -> Result<System, QuorumError> {
    let height = nodes.ilog(3);
    let below = 3_usize.pow(height);
    if below != nodes {
        return Err(QuorumError::NoSuchSize {
            construction: Construction::Hierarchical(None),
            form: "3^h",
            nodes,
            nearby: vec![below, 3 * below],
        });
    }
    turned(&Construction::Hierarchical(Some(height)), Gates::hierarchy(height))
}

/// All nodes are alike: the quorum of the first node, brought to every other.
fn turned(construction: &Construction, gates: Gates) -> Result<System, QuorumError> {
    let nodes = gates.nodes();
    let (_, quorum) = gates.cheapest(|node| (node.index() + 1) as f64);
    let turning = gates.turning(&vec![0; nodes]);
    let sets = (0..nodes).map(|turn| turning.quorum(&quorum, turn, nodes)).collect();
    Ok(System::new(construction.to_string(), Shape::Gates(gates), Quorums::new(sets)?))
}

/// The own row, and of each row below it the node that is about as far along. Where a single node makes a
/// row, nothing above it is ever needed.
fn below(rows: &[usize]) -> Vec<Vec<NodeId>> {
    let decisive = rows.iter().rposition(|&width| width == 1).unwrap_or(0);
    let starts: Vec<usize> = rows
        .iter()
        .scan(0, |next, &width| {
            let start = *next;
            *next += width;
            Some(start)
        })
        .collect();
    let mut sets = Vec::new();
    for (row, &width) in rows.iter().enumerate() {
        for column in 0..width {
            let full = row.max(decisive);
            let mut set: Vec<_> = (starts[full]..starts[full] + rows[full]).collect();
            for lower in full + 1..rows.len() {
                // Each row a little further, or the same columns would always be asked.
                let along = column * rows[lower] / width + row;
                set.push(starts[lower] + along % rows[lower]);
            }
            sets.push(set.into_iter().map(NodeId::new).collect());
        }
    }
    sets
}

/// The path from the root to the node and on to a leaf, to the side that was asked less often.
fn paths(nodes: usize) -> Vec<Vec<NodeId>> {
    let mut asked = vec![0_usize; nodes];
    let mut path_of = |node: usize| {
        let mut path = vec![node];
        while let Some(&top) = path.last().filter(|&&top| top > 0) {
            path.push((top - 1) / 2);
        }
        let mut end = node;
        while 2 * end + 2 < nodes {
            let (left, right) = (2 * end + 1, 2 * end + 2);
            end = if asked[left] <= asked[right] { left } else { right };
            path.push(end);
        }
        for &member in &path {
            asked[member] += 1;
        }
        path.into_iter().map(NodeId::new).collect()
    };
    // The leaves have no choice, so they come first.
    let mut sets: Vec<Vec<NodeId>> = (0..nodes).rev().map(&mut path_of).collect();
    sets.reverse();
    sets
}
