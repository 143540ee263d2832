//! Networks in which not everybody is linked to everybody (spec 4.3).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NodeId;

/// A connected network: the neighbours of every node, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<NodeId>>", into = "Vec<Vec<NodeId>>")]
pub struct Graph(Vec<Vec<NodeId>>);

/// Why a list of neighbours is no network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    /// No nodes at all.
    #[error("the network has no nodes")]
    Empty,
    /// A neighbour outside the system.
    #[error("{of} is linked to {node}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Whose neighbour.
        of: NodeId,
        /// The unknown node.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A link from a node to itself.
    #[error("{0} is linked to itself")]
    Loop(NodeId),
    /// A link in one direction only.
    #[error("{0} is linked to {1}, but {1} not to {0}; links go both ways")]
    OneWay(NodeId, NodeId),
    /// Somebody cannot be reached.
    #[error("no way leads from {0} to {1}; a network is connected")]
    Apart(NodeId, NodeId),
}

impl Graph {
    /// Checks that links go both ways and everybody can be reached.
    ///
    /// # Errors
    /// The first violation found, naming the nodes.
    pub fn new(mut neighbours: Vec<Vec<NodeId>>) -> Result<Self, GraphError> {
        let nodes = neighbours.len();
        for (of, list) in NodeId::all(nodes).zip(&mut neighbours) {
            list.sort_unstable();
            list.dedup();
            if let Some(&node) = list.iter().find(|node| node.index() >= nodes) {
                return Err(GraphError::UnknownNode { of, node, nodes });
            }
            if list.contains(&of) {
                return Err(GraphError::Loop(of));
            }
        }
        let graph = Graph(neighbours);
        for of in NodeId::all(nodes) {
            let one_way = |&&node: &&NodeId| graph.of(node).binary_search(&of).is_err();
            if let Some(&node) = graph.of(of).iter().find(one_way) {
                return Err(GraphError::OneWay(of, node));
            }
        }
        match *graph.parts(|_| true) {
            [] => Err(GraphError::Empty),
            [_] => Ok(graph),
            [ref first, ref second, ..] => Err(GraphError::Apart(first[0], second[0])),
        }
    }

    /// From links, each named once or twice.
    ///
    /// # Errors
    /// As [`Graph::new`].
    pub fn of_links(
        nodes: usize,
        links: impl IntoIterator<Item = (NodeId, NodeId)>,
    ) -> Result<Self, GraphError> {
        let mut neighbours = vec![Vec::new(); nodes];
        for (a, b) in links {
            for (of, node) in [(a, b), (b, a)] {
                let Some(list) = neighbours.get_mut(of.index()) else {
                    return Err(GraphError::UnknownNode { of: node, node: of, nodes });
                };
                list.push(node);
            }
        }
        Graph::new(neighbours)
    }

    /// Who can reach whom by way of nodes that are up: those of each part, in ascending order.
    #[must_use]
    pub fn parts(&self, is_up: impl Fn(NodeId) -> bool) -> Vec<Vec<NodeId>> {
        let mut left: Vec<bool> = NodeId::all(self.nodes()).map(is_up).collect();
        let mut parts = Vec::new();
        for first in NodeId::all(self.nodes()) {
            let (mut part, mut ahead) = (Vec::new(), vec![first]);
            while let Some(node) = ahead.pop() {
                if std::mem::replace(&mut left[node.index()], false) {
                    part.push(node);
                    ahead.extend(self.of(node));
                }
            }
            if !part.is_empty() {
                part.sort_unstable();
                parts.push(part);
            }
        }
        parts
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// How many links there are.
    #[must_use]
    pub fn links(&self) -> usize {
        self.0.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// The neighbours of `node`, in ascending order.
    #[must_use]
    pub fn of(&self, node: NodeId) -> &[NodeId] {
        &self.0[node.index()]
    }
}

impl TryFrom<Vec<Vec<NodeId>>> for Graph {
    type Error = GraphError;

    fn try_from(neighbours: Vec<Vec<NodeId>>) -> Result<Self, GraphError> {
        Graph::new(neighbours)
    }
}

impl From<Graph> for Vec<Vec<NodeId>> {
    fn from(graph: Graph) -> Self {
        graph.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(nodes: usize, links: &[(usize, usize)]) -> Result<Graph, GraphError> {
        Graph::of_links(nodes, links.iter().map(|&(a, b)| (NodeId::new(a), NodeId::new(b))))
    }

    #[test]
    fn a_network_is_connected_and_its_links_go_both_ways() {
        let (a, b, c) = (NodeId::new(0), NodeId::new(1), NodeId::new(2));
        let line = links(3, &[(0, 1), (1, 2), (2, 1)]).unwrap();
        assert_eq!((line.links(), line.of(b)), (2, &[a, c][..]));
        assert_eq!(links(3, &[(0, 1)]).unwrap_err(), GraphError::Apart(a, c));
        assert_eq!(links(2, &[(0, 1), (1, 1)]).unwrap_err(), GraphError::Loop(b));
        assert_eq!(links(0, &[]).unwrap_err(), GraphError::Empty);
        assert_eq!(Graph::new(vec![vec![b], vec![]]).unwrap_err(), GraphError::OneWay(a, b));
        let unknown = GraphError::UnknownNode { of: a, node: c, nodes: 2 };
        assert_eq!(links(2, &[(0, 2)]).unwrap_err(), unknown);
    }

    #[test]
    fn whoever_is_down_cuts_a_network_apart() {
        let ids = |list: &[usize]| list.iter().copied().map(NodeId::new).collect::<Vec<_>>();
        let line = links(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]).unwrap();
        let without = |down: &[usize]| line.parts(|node| !down.contains(&node.index()));
        assert_eq!(without(&[]), [ids(&[0, 1, 2, 3, 4])]);
        assert_eq!(without(&[2]), [ids(&[0, 1]), ids(&[3, 4])]);
        assert_eq!(without(&[0, 3]), [ids(&[1, 2]), ids(&[4])]);
        assert!(without(&[0, 1, 2, 3, 4]).is_empty());
    }
}
