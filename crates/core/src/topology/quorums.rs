//! One quorum for each node, any two of which meet (spec 3, condition 1).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NodeId;

/// `S_i` for each node `i`: the nodes it asks. Any two of them have a node in common, or
/// [`Quorums::flaw`] says which do not, and a setup refuses them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<NodeId>>", into = "Vec<Vec<NodeId>>")]
pub struct Quorums {
    sets: Vec<Vec<NodeId>>,
    /// Two nodes whose quorums do not meet.
    disjoint: Option<(NodeId, NodeId)>,
}

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
    pub fn new(sets: Vec<Vec<NodeId>>) -> Result<Self, QuorumsError> {
        let quorums = Quorums::unchecked(sets)?;
        quorums.flaw().map_or(Ok(quorums), Err)
    }

    /// The same of sets that may not meet: [`Quorums::flaw`] tells.
    ///
    /// # Errors
    /// If a set is empty or names an unknown node.
    pub fn unchecked(mut sets: Vec<Vec<NodeId>>) -> Result<Self, QuorumsError> {
        let nodes = sets.len();
        for (of, set) in NodeId::all(nodes).zip(&mut sets) {
            set.sort_unstable();
            set.dedup();
            let Some(&last) = set.last() else { return Err(QuorumsError::Empty(of)) };
            if last.index() >= nodes {
                return Err(QuorumsError::UnknownNode { of, member: last, nodes });
            }
        }
        let disjoint = disjoint(&sets);
        Ok(Quorums { sets, disjoint })
    }

    /// Which two do not meet, if that is so.
    #[must_use]
    pub fn flaw(&self) -> Option<QuorumsError> {
        self.disjoint.map(|(of, other)| QuorumsError::Disjoint(of, other))
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.sets.len()
    }

    /// Whom `node` asks, in ascending order.
    #[must_use]
    pub fn of(&self, node: NodeId) -> &[NodeId] {
        &self.sets[node.index()]
    }

    /// The quorums in order of their nodes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[NodeId]> {
        self.sets.iter().map(Vec::as_slice)
    }

    /// `K`, the mean size.
    #[must_use]
    pub fn mean_size(&self) -> f64 {
        self.sets.iter().map(Vec::len).sum::<usize>() as f64 / self.nodes() as f64
    }
}

/// The first two nodes whose quorums do not meet.
fn disjoint(sets: &[Vec<NodeId>]) -> Option<(NodeId, NodeId)> {
    // What holds of a quorum holds of all nodes that ask it: the first one stands for them.
    let mut seen = BTreeSet::new();
    let first: Vec<NodeId> =
        NodeId::all(sets.len()).filter(|of| seen.insert(&sets[of.index()])).collect();
    let mut asked_by = vec![Vec::new(); sets.len()];
    for &of in &first {
        for member in &sets[of.index()] {
            asked_by[member.index()].push(of);
        }
    }
    // Walking from each quorum through its members, until everybody is met, costs less than N² set
    // operations.
    let mut met_by = vec![None; sets.len()];
    for &of in &first {
        let mut unmet = first.len();
        for member in &sets[of.index()] {
            if unmet == 0 {
                break;
            }
            for other in &asked_by[member.index()] {
                let met = met_by[other.index()].replace(of);
                unmet -= usize::from(met != Some(of));
            }
        }
        if unmet > 0 {
            let other = first.iter().find(|other| met_by[other.index()] != Some(of))?;
            return Some((of, *other));
        }
    }
    None
}

impl TryFrom<Vec<Vec<NodeId>>> for Quorums {
    type Error = QuorumsError;

    fn try_from(sets: Vec<Vec<NodeId>>) -> Result<Self, QuorumsError> {
        Quorums::unchecked(sets)
    }
}

impl From<Quorums> for Vec<Vec<NodeId>> {
    fn from(quorums: Quorums) -> Self {
        quorums.sets
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
        let quorums = parse("[[1],[2],[1,2]]").unwrap();
        let flaw = quorums.flaw().unwrap();
        assert!(flaw.to_string().contains("P1 and P2 do not intersect"), "{flaw}");
        assert_eq!(Quorums::new(quorums.into()), Err(flaw));
    }

    #[test]
    fn many_nodes_may_ask_the_same_large_quorum() {
        let everybody: Vec<NodeId> = NodeId::all(2_000).collect();
        let mut sets = vec![everybody; 2_000];
        sets[1_999] = vec![NodeId::new(7)];
        assert_eq!(Quorums::new(sets.clone()).unwrap().of(NodeId::new(0)).len(), 2_000);
        sets[3] = vec![NodeId::new(8)];
        let disjoint = QuorumsError::Disjoint(NodeId::new(3), NodeId::new(1_999));
        assert_eq!(Quorums::new(sets), Err(disjoint));
    }

    #[test]
    fn names_what_is_empty_or_unknown() {
        assert!(parse("[[1],[]]").unwrap_err().contains("quorum of P2 is empty"));
        assert!(parse("[[1],[1,7]]").unwrap_err().contains("P2 names P7"));
    }
}
