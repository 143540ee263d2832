//! Unrooted trees with one node named as the first holder (spec 2.10).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NodeId;

/// A tree, written as the parent of each node; the root is the one without.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Option<NodeId>>", into = "Vec<Option<NodeId>>")]
pub struct Tree(Vec<Option<NodeId>>);

/// Why a list of parents is no tree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    /// A parent outside the system.
    #[error("the parent of {of} is {parent}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Whose parent.
        of: NodeId,
        /// The unknown node.
        parent: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Following the parents from here never ends.
    #[error("the tree has a cycle through {0}")]
    Cycle(NodeId),
    /// More than one node has no parent.
    #[error("both {0} and {1} have no parent; a tree has exactly one root")]
    TwoRoots(NodeId, NodeId),
    /// No nodes at all.
    #[error("the tree has no nodes")]
    Empty,
}

impl Tree {
    /// Checks that the parents form one tree.
    ///
    /// # Errors
    /// The first violation found, naming the node.
    pub fn new(parents: Vec<Option<NodeId>>) -> Result<Self, TreeError> {
        let nodes = parents.len();
        let mut root = None;
        for (of, parent) in NodeId::all(nodes).zip(&parents) {
            match *parent {
                Some(parent) if parent.index() >= nodes => {
                    return Err(TreeError::UnknownNode { of, parent, nodes });
                }
                None if root.is_some() => return Err(TreeError::TwoRoots(root.unwrap_or(of), of)),
                None => root = Some(of),
                Some(_) => {}
            }
        }
        // Each walk up is marked with its start, so that meeting the own mark is a cycle and meeting
        // an older one is known ground: linear in all.
        let mut walked_from: Vec<Option<NodeId>> = vec![None; nodes];
        for start in NodeId::all(nodes) {
            let mut at = Some(start);
            while let Some(node) = at {
                match walked_from[node.index()] {
                    Some(mark) if mark == start => return Err(TreeError::Cycle(node)),
                    Some(_) => break,
                    None => walked_from[node.index()] = Some(start),
                }
                at = parents[node.index()];
            }
        }
        if root.is_none() { Err(TreeError::Empty) } else { Ok(Tree(parents)) }
    }

    /// The balanced `k`-ary tree in level order.
    ///
    /// # Panics
    /// If `nodes` or `k` is 0.
    #[must_use]
    pub fn balanced(nodes: usize, k: usize) -> Self {
        assert!(nodes > 0 && k > 0, "a tree has nodes, and a node of it room for children");
        Tree((0..nodes).map(|i| i.checked_sub(1).map(|i| NodeId::new(i / k))).collect())
    }

    /// Everybody below the first node.
    #[must_use]
    pub fn star(nodes: usize) -> Self {
        Tree::balanced(nodes, nodes)
    }

    /// One below the other.
    #[must_use]
    pub fn line(nodes: usize) -> Self {
        Tree::balanced(nodes, 1)
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// The root: Raymond's first holder.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId::new(self.0.iter().position(Option::is_none).unwrap_or(0))
    }

    /// The neighbour of `node` towards the root.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.0[node.index()]
    }

    /// The neighbours of every node, in ascending order.
    #[must_use]
    pub fn neighbours(&self) -> Vec<Vec<NodeId>> {
        let mut neighbours = vec![Vec::new(); self.nodes()];
        for (child, parent) in NodeId::all(self.nodes()).zip(&self.0) {
            if let Some(parent) = parent {
                neighbours[child.index()].push(*parent);
                neighbours[parent.index()].push(child);
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
        }
        neighbours
    }

    /// How many edges lie between `node` and the root.
    #[must_use]
    pub fn depth(&self, node: NodeId) -> usize {
        std::iter::successors(self.parent(node), |&up| self.parent(up)).count()
    }

    /// `D`: how many edges lie between the two nodes farthest apart.
    #[must_use]
    pub fn diameter(&self) -> usize {
        let neighbours = self.neighbours();
        let (end, _) = farthest(&neighbours, self.root());
        farthest(&neighbours, end).1
    }

    /// How many edges lie between two nodes in the mean, each of them any node, perhaps the same.
    #[must_use]
    pub fn mean_distance(&self) -> f64 {
        let mut below = vec![1; self.nodes()];
        let mut children = vec![0; self.nodes()];
        for parent in self.0.iter().flatten() {
            children[parent.index()] += 1;
        }
        let mut done: Vec<usize> = (0..self.nodes()).filter(|&node| children[node] == 0).collect();
        let mut crossings = 0.0;
        while let Some(node) = done.pop() {
            let Some(parent) = self.0[node].map(NodeId::index) else { break };
            // The edge above lies between those below it and all others.
            crossings += 2.0 * below[node] as f64 * (self.nodes() - below[node]) as f64;
            below[parent] += below[node];
            children[parent] -= 1;
            if children[parent] == 0 {
                done.push(parent);
            }
        }
        crossings / (self.nodes() as f64).powi(2)
    }
}

/// The node farthest from `start` and how far it is.
fn farthest(neighbours: &[Vec<NodeId>], start: NodeId) -> (NodeId, usize) {
    let (mut layer, mut distance) = (vec![(start, start)], 0);
    loop {
        let next: Vec<_> = layer
            .iter()
            .flat_map(|&(from, at)| {
                let onward =
                    neighbours[at.index()].iter().filter(move |&&to| to != from || at == start);
                onward.map(move |&to| (at, to))
            })
            .collect();
        if next.is_empty() {
            return (layer[0].1, distance);
        }
        (layer, distance) = (next, distance + 1);
    }
}

impl TryFrom<Vec<Option<NodeId>>> for Tree {
    type Error = TreeError;

    fn try_from(parents: Vec<Option<NodeId>>) -> Result<Self, TreeError> {
        Tree::new(parents)
    }
}

impl From<Tree> for Vec<Option<NodeId>> {
    fn from(tree: Tree) -> Self {
        tree.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Tree, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn knows_its_distances() {
        let tree = Tree::balanced(7, 2);
        assert_eq!((tree.root(), tree.diameter()), (NodeId::new(0), 4));
        assert_eq!(tree.depth(NodeId::new(6)), 2);
        assert_eq!(Tree::line(5).diameter(), 4);
        let uniform = |n: f64| (n * n - 1.0) / (3.0 * n);
        assert!((Tree::line(5).mean_distance() - uniform(5.0)).abs() < 1e-12);
        assert_eq!(Tree::star(4).mean_distance(), (6.0 * 1.0 + 6.0 * 2.0) / 16.0);
        assert_eq!(Tree::star(1).mean_distance(), 0.0);
        assert_eq!(Tree::star(5).diameter(), 2);
        assert_eq!(Tree::star(1).diameter(), 0);
        assert_eq!(parse("[2,null,2]").unwrap().neighbours()[1], [NodeId::new(0), NodeId::new(2)]);
    }

    #[test]
    fn refuses_what_is_no_tree() {
        assert!(parse("[null,3,2]").unwrap_err().contains("cycle through P2"));
        assert!(parse("[1]").unwrap_err().contains("cycle through P1"));
        assert!(parse("[null,null]").unwrap_err().contains("both P1 and P2"));
        assert!(parse("[null,9]").unwrap_err().contains("P9"));
        assert!(parse("[]").unwrap_err().contains("no nodes"));
    }
}
