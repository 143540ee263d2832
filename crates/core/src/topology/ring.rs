//! Rings: who stands next to whom (spec 4.2, 4.3).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NodeId;

/// All nodes of a system in the order in which messages go round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<NodeId>", into = "Vec<NodeId>")]
pub struct Ring(Vec<NodeId>);

/// Why a list of nodes is no ring.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// No nodes at all.
    #[error("the ring has no nodes")]
    Empty,
    /// A node outside the system.
    #[error("the ring names {node}, but it has only {nodes} nodes")]
    UnknownNode {
        /// Who.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A node stands in two places.
    #[error("{0} stands in the ring twice; every node stands in it once")]
    Twice(NodeId),
}

impl Ring {
    /// Checks that every node stands in it once.
    ///
    /// # Errors
    /// The first violation found, naming the node.
    pub fn new(order: Vec<NodeId>) -> Result<Self, RingError> {
        let nodes = order.len();
        let mut seen = vec![false; nodes];
        for &node in &order {
            match seen.get_mut(node.index()) {
                None => return Err(RingError::UnknownNode { node, nodes }),
                Some(true) => return Err(RingError::Twice(node)),
                Some(seen) => *seen = true,
            }
        }
        if order.is_empty() { Err(RingError::Empty) } else { Ok(Ring(order)) }
    }

    /// Messages go to the next higher id, and from the highest to the lowest.
    #[must_use]
    pub fn ascending(nodes: usize) -> Self {
        Ring(NodeId::all(nodes).collect())
    }

    /// Messages go to the next lower id, and from the lowest to the highest.
    #[must_use]
    pub fn descending(nodes: usize) -> Self {
        Ring(NodeId::all(nodes).rev().collect())
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// The nodes in the order in which messages go round.
    #[must_use]
    pub fn order(&self) -> &[NodeId] {
        &self.0
    }
}

impl TryFrom<Vec<NodeId>> for Ring {
    type Error = RingError;

    fn try_from(order: Vec<NodeId>) -> Result<Self, RingError> {
        Ring::new(order)
    }
}

impl From<Ring> for Vec<NodeId> {
    fn from(ring: Ring) -> Self {
        ring.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(order: &[usize]) -> Result<Ring, RingError> {
        Ring::new(order.iter().map(|&i| NodeId::new(i)).collect())
    }

    #[test]
    fn every_node_stands_in_it_once() {
        assert_eq!(ring(&[0, 1, 2]).unwrap(), Ring::ascending(3));
        assert_eq!(ring(&[2, 1, 0]).unwrap(), Ring::descending(3));
        assert_eq!(ring(&[]).unwrap_err(), RingError::Empty);
        assert_eq!(ring(&[0, 0]).unwrap_err(), RingError::Twice(NodeId::new(0)));
        let unknown = RingError::UnknownNode { node: NodeId::new(2), nodes: 2 };
        assert_eq!(ring(&[0, 2]).unwrap_err(), unknown);
    }
}
