//! Clusters: which nodes are near each other.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NodeId;

/// A division of all nodes into clusters. In each the node with the smallest id coordinates.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<NodeId>>", into = "Vec<Vec<NodeId>>")]
pub struct Clusters {
    /// The coordinator of each node's cluster.
    coordinators: Vec<NodeId>,
}

/// Why lists of nodes are no division into clusters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClustersError {
    /// A cluster of nobody, or no cluster at all.
    #[error("a cluster has no nodes; every cluster has one at least")]
    Empty,
    /// A node outside the system.
    #[error("the clusters name {node}, but they have only {nodes} nodes")]
    UnknownNode {
        /// Who.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A node in two clusters.
    #[error("{0} is in the clusters twice; every node is in one of them, once")]
    Twice(NodeId),
}

impl Clusters {
    /// Checks that every node is in one of them.
    ///
    /// # Errors
    /// The first violation found, naming the node.
    pub fn new(clusters: &[Vec<NodeId>]) -> Result<Self, ClustersError> {
        let nodes = clusters.iter().map(Vec::len).sum();
        let mut coordinators = vec![None; nodes];
        for cluster in clusters {
            let coordinator = cluster.iter().min().copied().ok_or(ClustersError::Empty)?;
            for &node in cluster {
                match coordinators.get_mut(node.index()) {
                    None => return Err(ClustersError::UnknownNode { node, nodes }),
                    Some(Some(_)) => return Err(ClustersError::Twice(node)),
                    Some(place) => *place = Some(coordinator),
                }
            }
        }
        if nodes == 0 {
            return Err(ClustersError::Empty);
        }
        Ok(Clusters { coordinators: coordinators.into_iter().flatten().collect() })
    }

    /// Clusters of these sizes, of nodes in the order of their ids.
    ///
    /// # Errors
    /// If one is 0, or there is none.
    pub fn of_sizes(sizes: &[usize]) -> Result<Self, ClustersError> {
        let mut next = 0;
        let mut cluster = |&size: &usize| {
            next += size;
            (next - size..next).map(NodeId::new).collect()
        };
        Clusters::new(&sizes.iter().map(&mut cluster).collect::<Vec<_>>())
    }

    /// About √N clusters of about √N nodes.
    #[must_use]
    pub fn square(nodes: usize) -> Self {
        let size = (nodes as f64).sqrt().ceil() as usize;
        let coordinator = |node: usize| NodeId::new(node / size * size);
        Clusters { coordinators: (0..nodes).map(coordinator).collect() }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.coordinators.len()
    }

    /// Who coordinates in the cluster of `node`.
    #[must_use]
    pub fn coordinator(&self, node: NodeId) -> NodeId {
        self.coordinators[node.index()]
    }

    /// The members of each cluster, by the ids of their coordinators.
    #[must_use]
    pub fn all(&self) -> Vec<Vec<NodeId>> {
        let nodes = || NodeId::all(self.nodes());
        let members = |c| nodes().filter(|&node| self.coordinator(node) == c).collect();
        nodes().filter(|&node| self.coordinator(node) == node).map(members).collect()
    }
}

impl TryFrom<Vec<Vec<NodeId>>> for Clusters {
    type Error = ClustersError;

    fn try_from(clusters: Vec<Vec<NodeId>>) -> Result<Self, ClustersError> {
        Clusters::new(&clusters)
    }
}

impl From<Clusters> for Vec<Vec<NodeId>> {
    fn from(clusters: Clusters) -> Self {
        clusters.all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: usize) -> NodeId {
        NodeId::new(id - 1)
    }

    #[test]
    fn the_smallest_id_coordinates() {
        let clusters = Clusters::new(&[vec![node(4), node(1)], vec![node(3), node(2)]]).unwrap();
        let coordinators: Vec<NodeId> = NodeId::all(4).map(|i| clusters.coordinator(i)).collect();
        assert_eq!(coordinators, [node(1), node(2), node(2), node(1)]);
        let json = serde_json::to_string(&clusters).unwrap();
        assert_eq!(json, "[[1,4],[2,3]]");
        assert_eq!(serde_json::from_str::<Clusters>(&json).unwrap(), clusters);
    }

    #[test]
    fn sizes_divide_the_nodes_in_order() {
        let clusters = Clusters::of_sizes(&[3, 2]).unwrap();
        assert_eq!(clusters.all(), [vec![node(1), node(2), node(3)], vec![node(4), node(5)]]);
        assert_eq!(Clusters::square(5), clusters);
        assert_eq!(Clusters::square(1).all(), [[node(1)]]);
        assert_eq!(Clusters::square(9).all().len(), 3);
    }

    #[test]
    fn what_is_no_division_is_refused() {
        assert_eq!(Clusters::of_sizes(&[2, 0]), Err(ClustersError::Empty));
        assert_eq!(Clusters::of_sizes(&[]), Err(ClustersError::Empty));
        let twice = Clusters::new(&[vec![node(1)], vec![node(1)]]);
        assert_eq!(twice, Err(ClustersError::Twice(node(1))));
        let beyond = Clusters::new(&[vec![node(1), node(3)]]);
        assert_eq!(beyond, Err(ClustersError::UnknownNode { node: node(3), nodes: 2 }));
    }
}
