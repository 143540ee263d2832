//! Systems in which nodes vote: `singleton`, `all`, `majority`, `weighted`, `wall`, `tree`,
//! `hierarchical`. All of them are [`Gates`].

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::{Construction, QuorumError};
use crate::gates::Gates;
use crate::system::{Shape, System};

/// Up to this total weight votes are counted.
const MOST_WEIGHT: u64 = 1_000_000;

pub(super) fn singleton(nodes: usize) -> Result<System, QuorumError> {
    let mut weights = vec![0; nodes];
    weights[0] = 1;
    let everybody = vec![vec![NodeId::new(0)]; nodes];
    let shape = Shape::Gates(Gates::weighted(&weights, 1));
    Ok(System::new("singleton", shape, Quorums::new(everybody)?))
}

pub(super) fn all(nodes: usize) -> Result<System, QuorumError> {
    assigned(&Construction::All, Gates::votes(nodes, nodes))
}

/// Each node takes itself and its ⌊N/2⌋ successors, so that everybody is asked equally often.
pub(super) fn majority(nodes: usize) -> Result<System, QuorumError> {
    assigned(&Construction::Majority, Gates::votes(nodes, nodes / 2 + 1))
}

/// More than half of the weight.
pub(super) fn weighted(weights: &[u64]) -> Result<System, QuorumError> {
    let total = weights.iter().fold(0_u64, |sum, &weight| sum.saturating_add(weight));
    match total {
        0 => Err(QuorumError::NoWeight),
        1..=MOST_WEIGHT => {
            let construction = Construction::Weighted(weights.to_vec());
            assigned(&construction, Gates::weighted(weights, total / 2 + 1))
        }
        _ => Err(QuorumError::TooMuchWeight { most: MOST_WEIGHT }),
    }
}

/// Without `rows`, the wall 1, 2, 3, … with what remains spread over its lower rows.
pub(super) fn wall(rows: Option<&[usize]>, nodes: usize) -> Result<System, QuorumError> {
    let rows = rows.map_or_else(|| triangular(nodes), <[usize]>::to_vec);
    if let Some(empty) = rows.iter().position(|&width| width == 0) {
        return Err(QuorumError::EmptyRow(empty + 1));
    }
    let gates = Gates::wall(&rows);
    assigned(&Construction::Wall(Some(rows)), gates)
}

/// Rows of 1, 2, 3, … nodes; what remains makes the lowest ones longer by one.
fn triangular(nodes: usize) -> Vec<usize> {
    let height = ((8 * nodes + 1).isqrt() - 1) / 2;
    let mut rows: Vec<usize> = (1..=height).collect();
    let remain = nodes - height * (height + 1) / 2;
    for width in rows.iter_mut().rev().take(remain) {
        *width += 1;
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
    assigned(&Construction::Tree(Some(height)), Gates::tree(height))
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
    assigned(&Construction::Hierarchical(Some(height)), Gates::hierarchy(height))
}

/// Each node gets a minimal quorum that it is in, as small as possible, so that the nodes are asked about
/// equally often; exactly so where all nodes are alike.
fn assigned(construction: &Construction, gates: Gates) -> Result<System, QuorumError> {
    let nodes = gates.nodes();
    let is_one_class = gates.classes().iter().all(|&class| class == 0);
    let sets = if is_one_class {
        let first = NodeId::new(0);
        let quorum = gates.cheapest_with(first, |node| (node.index() + 1) as f64);
        let quorum = quorum.unwrap_or_else(|| vec![first]);
        let turn = |i| {
            let places = gates.turned(i, nodes);
            quorum.iter().map(|node| places[node.index()]).collect()
        };
        (0..nodes).map(turn).collect()
    } else {
        let mut asked = vec![0_usize; nodes];
        let mut sets: Vec<Vec<NodeId>> = Vec::with_capacity(nodes);
        // One more node outweighs being asked more often, by everybody and everywhere.
        let node_cost = (nodes * nodes) as f64;
        for node in NodeId::all(nodes) {
            let cost = |node: NodeId| node_cost + asked[node.index()] as f64;
            let quorum = gates.cheapest_with(node, cost).unwrap_or_else(|| gates.cheapest(cost).1);
            for member in &quorum {
                asked[member.index()] += 1;
            }
            sets.push(quorum);
        }
        sets
    };
    let system = System::new(construction.to_string(), Shape::Gates(gates), Quorums::new(sets)?);
    Ok(system)
}
