//! Sanders' information structures (spec 2.6).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Quorums;
use crate::{NodeId, NodeSet};

/// Whom each node asks before it enters (`R_i`) and tells when it leaves (`I_i`).
///
/// Valid iff for every `i`: `i ∈ I_i ⊆ R_i`, and for all `i ≠ j`: `I_i ∩ I_j ≠ ∅`, or `i ∈ R_j` and
/// `j ∈ R_i`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Lists", into = "Lists")]
pub struct Structure {
    request: Vec<NodeSet>,
    inform: Vec<NodeSet>,
}

/// The form in which a structure is written to a file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    request: Vec<Vec<NodeId>>,
    inform: Vec<Vec<NodeId>>,
}

/// Why two families of sets are no information structure.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StructureError {
    /// The two families differ in length.
    #[error("{request} request sets but {inform} inform sets; every node needs one of each")]
    Lengths {
        /// How many request sets.
        request: usize,
        /// How many inform sets.
        inform: usize,
    },
    /// A set names a node outside the system.
    #[error("a set of {of} names {member}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Whose set.
        of: NodeId,
        /// The unknown node.
        member: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// `i ∉ I_i`.
    #[error("the inform set of {0} does not contain {0} itself")]
    NotInOwnInform(NodeId),
    /// `I_i ⊄ R_i`.
    #[error(
        "{of} informs {member} but does not ask it; the inform set must be part of the request set"
    )]
    InformsUnasked {
        /// Whose sets.
        of: NodeId,
        /// In `I_i` but not in `R_i`.
        member: NodeId,
    },
    /// Neither a common arbiter nor mutual requests.
    #[error(
        "{0} and {1} can be inside together: their inform sets do not meet and they do not both ask each other"
    )]
    Unsynchronised(NodeId, NodeId),
}

impl Structure {
    /// Checks the three conditions.
    ///
    /// # Errors
    /// The first violation found, naming the nodes.
    pub fn new(request: Vec<NodeSet>, inform: Vec<NodeSet>) -> Result<Self, StructureError> {
        let nodes = request.len();
        if inform.len() != nodes {
            return Err(StructureError::Lengths { request: nodes, inform: inform.len() });
        }
        for of in NodeId::all(nodes) {
            let (asks, tells) = (&request[of.index()], &inform[of.index()]);
            let mut named = asks.iter().chain(tells.iter());
            if let Some(member) = named.find(|member| member.index() >= nodes) {
                return Err(StructureError::UnknownNode { of, member, nodes });
            }
            if !tells.contains(of) {
                return Err(StructureError::NotInOwnInform(of));
            }
            if let Some(member) = tells.iter().find(|&member| !asks.contains(member)) {
                return Err(StructureError::InformsUnasked { of, member });
            }
        }
        let structure = Structure { request, inform };
        for i in NodeId::all(nodes) {
            for j in NodeId::all(nodes).filter(|&j| j > i) {
                let ask_each_other =
                    structure.request(i).contains(j) && structure.request(j).contains(i);
                if !structure.inform(i).intersects(structure.inform(j)) && !ask_each_other {
                    return Err(StructureError::Unsynchronised(i, j));
                }
            }
        }
        Ok(structure)
    }

    /// Lamport's: everybody asks and tells everybody.
    #[must_use]
    pub fn lamport(nodes: usize) -> Self {
        let all: NodeSet = NodeId::all(nodes).collect();
        Structure { request: vec![all.clone(); nodes], inform: vec![all; nodes] }
    }

    /// Ricart and Agrawala's: everybody asks everybody and tells nobody else.
    #[must_use]
    pub fn ricart_agrawala(nodes: usize) -> Self {
        let all: NodeSet = NodeId::all(nodes).collect();
        Structure {
            request: vec![all; nodes],
            inform: NodeId::all(nodes).map(|i| NodeSet::from_iter([i])).collect(),
        }
    }

    /// Maekawa's: everybody asks and tells its quorum (to which it is added where it is missing).
    #[must_use]
    pub fn maekawa(quorums: &Quorums) -> Self {
        let sets: Vec<NodeSet> = NodeId::all(quorums.nodes())
            .map(|i| quorums.of(i).iter().copied().chain([i]).collect())
            .collect();
        Structure { request: sets.clone(), inform: sets }
    }

    /// The published example with four nodes.
    #[must_use]
    pub fn four_nodes() -> Self {
        let set = |members: &[usize]| members.iter().map(|&m| NodeId::new(m - 1)).collect();
        Structure {
            request: vec![set(&[1, 2]), set(&[1, 2]), set(&[1, 2, 3]), set(&[1, 2, 4])],
            inform: vec![set(&[1]), set(&[2]), set(&[1, 2, 3]), set(&[1, 2, 4])],
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.request.len()
    }

    /// `R_i`: whom `i` asks.
    #[must_use]
    pub fn request(&self, i: NodeId) -> &NodeSet {
        &self.request[i.index()]
    }

    /// `I_i`: whom `i` tells on exit.
    #[must_use]
    pub fn inform(&self, i: NodeId) -> &NodeSet {
        &self.inform[i.index()]
    }

    /// Sanders' bounds on the messages of one entry of `i`, at low load and at worst.
    #[must_use]
    pub fn message_bounds(&self, i: NodeId) -> (usize, usize) {
        let without_i = |set: &NodeSet| set.len() - usize::from(set.contains(i));
        let low = without_i(self.inform(i)) + 2 * without_i(self.request(i));
        // Whether somebody besides i and j tells j.
        let is_told = |j: NodeId| {
            let mut others = NodeId::all(self.nodes()).filter(|&k| k != i && k != j);
            others.any(|k| self.inform(k).contains(j))
        };
        let extra: usize = self.request(i).iter().map(|j| if is_told(j) { 4 } else { 1 }).sum();
        (low, low + extra)
    }

    /// The published synchronisation delay from `i` to `j`, in units of T.
    #[must_use]
    pub fn published_delay(&self, i: NodeId, j: NodeId) -> u32 {
        match i == j {
            true => 0,
            false if self.inform(i).intersects(self.inform(j)) => 2,
            false => 1,
        }
    }

    /// The exact one where a node's word to itself is free: the slowest arbiter that `i` tells and
    /// `j` asks.
    #[must_use]
    pub fn exact_delay(&self, i: NodeId, j: NodeId) -> u32 {
        if i == j {
            return 0;
        }
        let shared = self.inform(i).iter().filter(|&a| self.request(j).contains(a));
        shared.map(|a| u32::from(a != i) + u32::from(a != j)).max().unwrap_or(0)
    }
}

impl TryFrom<Lists> for Structure {
    type Error = StructureError;

    fn try_from(lists: Lists) -> Result<Self, StructureError> {
        let sets = |lists: Vec<Vec<NodeId>>| -> Result<Vec<NodeSet>, StructureError> {
            let nodes = lists.len();
            let known = |(of, list): (NodeId, Vec<NodeId>)| match list.iter().max() {
                // Before a set is made of them: a huge id would make a huge set.
                Some(&member) if member.index() >= nodes => {
                    Err(StructureError::UnknownNode { of, member, nodes })
                }
                _ => Ok(list.into_iter().collect()),
            };
            NodeId::all(nodes).zip(lists).map(known).collect()
        };
        Structure::new(sets(lists.request)?, sets(lists.inform)?)
    }
}

impl From<Structure> for Lists {
    fn from(structure: Structure) -> Self {
        let lists = |sets: Vec<NodeSet>| sets.iter().map(|set| set.iter().collect()).collect();
        Lists { request: lists(structure.request), inform: lists(structure.inform) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec 2.6: the bounds and both delay matrices of the published 4-node structure.
    #[test]
    fn the_four_node_structure_has_its_published_figures() {
        let structure = Structure::four_nodes();
        assert!(Structure::new(structure.request.clone(), structure.inform.clone()).is_ok());
        let bounds: Vec<_> = NodeId::all(4).map(|i| structure.message_bounds(i)).collect();
        assert_eq!(bounds, [(2, 10), (2, 10), (6, 15), (6, 15)]);
        let matrix = |delay: fn(&Structure, NodeId, NodeId) -> u32| -> Vec<Vec<u32>> {
            NodeId::all(4)
                .map(|i| NodeId::all(4).map(|j| delay(&structure, i, j)).collect())
                .collect()
        };
        assert_eq!(
            matrix(Structure::published_delay),
            [[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]]
        );
        assert_eq!(
            matrix(Structure::exact_delay),
            [[0, 1, 1, 1], [1, 0, 1, 1], [2, 2, 0, 2], [2, 2, 2, 0]]
        );
    }

    #[test]
    fn presets_are_valid() {
        for nodes in 1..6 {
            for preset in [Structure::lamport(nodes), Structure::ricart_agrawala(nodes)] {
                assert_eq!(
                    Structure::new(preset.request.clone(), preset.inform.clone()),
                    Ok(preset)
                );
            }
        }
    }

    #[test]
    fn a_violation_names_the_nodes() {
        let parse = |json: &str| serde_json::from_str::<Structure>(json).unwrap_err().to_string();
        let pair = parse(r#"{"request":[[1],[2]],"inform":[[1],[2]]}"#);
        assert!(pair.contains("P1 and P2 can be inside together"), "{pair}");
        let own = parse(r#"{"request":[[1,2],[2]],"inform":[[2],[2]]}"#);
        assert!(own.contains("inform set of P1"), "{own}");
        let unasked = parse(r#"{"request":[[1],[2]],"inform":[[1,2],[2]]}"#);
        assert!(unasked.contains("P1 informs P2"), "{unasked}");
        let unknown = parse(r#"{"request":[[1,4000000000],[2]],"inform":[[1],[2]]}"#);
        assert!(unknown.contains("P4000000000"), "{unknown}");
    }
}
