//! One quorum for each node, any two of which meet (spec 3, condition 1).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NodeId;

/// `S_i` for each node `i`: the nodes it asks. Any two of them have a node in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<NodeId>>", into = "Vec<Vec<NodeId>>")]
pub struct Quorums(Vec<Vec<NodeId>>);

/// Why a list of sets is no system of quorums.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuorumsError {
    /// A node has nobody to ask.
    #[error("the quorum of {0} is empty; every node needs at least one arbiter")]
    Empty(NodeId),
    /// A quorum names a node outside the system.
    #[error("the quorum of {of} names {member}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Whose quorum.
        of: NodeId,
        /// The unknown node.
        member: NodeId,
        /// How many nodes there are: one quorum each.
        nodes: usize,
    },
    /// Two quorums do not meet, so two nodes could be inside at once.
    #[error("the quorums of {0} and {1} do not intersect; both could enter at the same time")]
    Disjoint(NodeId, NodeId),
}

impl Quorums {
    /// Checks that there is one non-empty quorum per node and that any two of them meet. Members are
    /// put in ascending order, each once.
    ///
    /// # Errors
    /// The first violation found, naming the nodes.
    pub fn new(mut sets: Vec<Vec<NodeId>>) -> Result<Self, QuorumsError> {
        let nodes = sets.len();
        let mut asked_by = vec![Vec::new(); nodes];
        for (of, set) in NodeId::all(nodes).zip(&mut sets) {
            set.sort_unstable();
            set.dedup();
            let Some(&last) = set.last() else { return Err(QuorumsError::Empty(of)) };
            if last.index() >= nodes {
                return Err(QuorumsError::UnknownNode { of, member: last, nodes });
            }
            for member in set {
                asked_by[member.index()].push(of);
            }
        }
        // Walking from each quorum through its members costs N·K·degree, not N² set operations.
        let mut met_by = vec![None; nodes];
        for (of, set) in NodeId::all(nodes).zip(&sets) {
            for other in set.iter().flat_map(|member| &asked_by[member.index()]) {
                met_by[other.index()] = Some(of);
            }
            if let Some(other) = met_by.iter().position(|&met| met != Some(of)) {
                return Err(QuorumsError::Disjoint(of, NodeId::new(other)));
            }
        }
        Ok(Quorums(sets))
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Whom `node` asks, in ascending order.
    #[must_use]
    pub fn of(&self, node: NodeId) -> &[NodeId] {
        &self.0[node.index()]
    }

    /// The quorums in order of their nodes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[NodeId]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// `K`, the mean size.
    #[must_use]
    pub fn mean_size(&self) -> f64 {
        self.0.iter().map(Vec::len).sum::<usize>() as f64 / self.nodes() as f64
    }
}

impl TryFrom<Vec<Vec<NodeId>>> for Quorums {
    type Error = QuorumsError;

    fn try_from(sets: Vec<Vec<NodeId>>) -> Result<Self, QuorumsError> {
        Quorums::new(sets)
    }
}

impl From<Quorums> for Vec<Vec<NodeId>> {
    fn from(quorums: Quorums) -> Self {
        quorums.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Quorums, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn accepts_what_intersects_and_sorts_it() {
        let quorums = parse("[[2,1],[2,3,2],[3,1]]").unwrap();
        assert_eq!(quorums.of(NodeId::new(1)), [NodeId::new(1), NodeId::new(2)]);
        assert_eq!(quorums.mean_size(), 2.0);
    }

    #[test]
    fn names_the_pair_that_does_not_meet() {
        let error = parse("[[1],[2],[1,2]]").unwrap_err();
        assert!(error.contains("P1 and P2 do not intersect"), "{error}");
    }

    #[test]
    fn names_what_is_empty_or_unknown() {
        assert!(parse("[[1],[]]").unwrap_err().contains("quorum of P2 is empty"));
        assert!(parse("[[1],[1,7]]").unwrap_err().contains("P2 names P7"));
    }
}
