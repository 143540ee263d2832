//! Sanders' information structures (spec 2.6).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Quorums;
use crate::{NodeId, NodeSet};

/// Whom each node asks before it enters (`R_i`) and tells when it leaves (`I_i`).
///
/// Valid iff for every `i`: `i ∈ I_i ⊆ R_i`, and for all `i ≠ j`: `I_i ∩ I_j ≠ ∅`, or `i ∈ R_j` and
/// `j ∈ R_i`. Else [`Structure::flaw`] says what is wrong, and a setup refuses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Lists", into = "Lists")]
pub struct Structure {
    request: Vec<NodeSet>,
    inform: Vec<NodeSet>,
    /// How many tell each node: `|St_j|`, from which the message bounds follow without counting again.
    told_by: Vec<usize>,
    flaw: Option<StructureError>,
}

/// The form in which a structure is written to a file. Other fields are passed over, so that a report
/// on a structure can be read as that structure.
#[derive(Clone, Serialize, Deserialize)]
struct Lists {
    request: Vec<Vec<NodeId>>,
    inform: Vec<Vec<NodeId>>,
}

/// Why two families of sets are no information structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
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
        let structure = Structure::unchecked(request, inform)?;
        structure.flaw.clone().map_or(Ok(structure), Err)
    }

    /// The same of sets that may meet none of the conditions: [`Structure::flaw`] tells.
    ///
    /// # Errors
    /// If the families differ in length, or a set names an unknown node.
    pub fn unchecked(request: Vec<NodeSet>, inform: Vec<NodeSet>) -> Result<Self, StructureError> {
        let flaw = match check_members(&request, &inform) {
            Err(error @ (StructureError::Lengths { .. } | StructureError::UnknownNode { .. })) => {
                return Err(error);
            }
            Err(flaw) => Some(flaw),
            Ok(()) => unsynchronised(&request, &inform),
        };
        Ok(Structure { flaw, ..Structure::of_valid(request, inform) })
    }

    /// What is wrong with it, if it is not valid.
    #[must_use]
    pub fn flaw(&self) -> Option<&StructureError> {
        self.flaw.as_ref()
    }

    /// The same of plain lists.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_lists(
        request: Vec<Vec<NodeId>>,
        inform: Vec<Vec<NodeId>>,
    ) -> Result<Self, StructureError> {
        let structure = Structure::of_lists_unchecked(request, inform)?;
        structure.flaw.clone().map_or(Ok(structure), Err)
    }

    fn of_lists_unchecked(
        request: Vec<Vec<NodeId>>,
        inform: Vec<Vec<NodeId>>,
    ) -> Result<Self, StructureError> {
        let (nodes, informing) = (request.len(), inform.len());
        if nodes != informing {
            return Err(StructureError::Lengths { request: nodes, inform: informing });
        }
        Structure::unchecked(sets(request)?, sets(inform)?)
    }

    /// The least request sets for these inform sets: `R_i = I_i ∪ { j : I_i ∩ I_j = ∅ }`.
    ///
    /// They are valid, since two nodes whose inform sets do not meet ask each other. Every valid
    /// structure with these inform sets contains them: `I_i ⊆ R_i` is a condition, and where
    /// `I_i ∩ I_j = ∅` the other one leaves only `j ∈ R_i`.
    ///
    /// # Errors
    /// If an inform set names an unknown node or misses its own.
    pub fn of_inform(inform: Vec<NodeSet>) -> Result<Self, StructureError> {
        check_members(&inform, &inform)?;
        let least = |own: &NodeSet| {
            let disjoint =
                NodeId::all(inform.len()).filter(|j| !own.intersects(&inform[j.index()]));
            own.iter().chain(disjoint).collect()
        };
        Ok(Structure::of_valid(inform.iter().map(least).collect(), inform))
    }

    fn of_valid(request: Vec<NodeSet>, inform: Vec<NodeSet>) -> Self {
        let mut told_by = vec![0; inform.len()];
        for told in inform.iter().flat_map(NodeSet::iter) {
            told_by[told.index()] += 1;
        }
        Structure { request, inform, told_by, flaw: None }
    }

    /// Lamport's: everybody asks and tells everybody.
    #[must_use]
    pub fn lamport(nodes: usize) -> Self {
        let all: NodeSet = NodeId::all(nodes).collect();
        Structure::of_valid(vec![all.clone(); nodes], vec![all; nodes])
    }

    /// Ricart and Agrawala's: everybody asks everybody and tells nobody else.
    #[must_use]
    pub fn ricart_agrawala(nodes: usize) -> Self {
        let all: NodeSet = NodeId::all(nodes).collect();
        let alone = NodeId::all(nodes).map(|i| NodeSet::from_iter([i])).collect();
        Structure::of_valid(vec![all; nodes], alone)
    }

    /// Everybody asks and tells one node, which asks and tells nobody else: Maekawa's with the only
    /// quorum `{ centre }`.
    #[must_use]
    pub fn star(nodes: usize, centre: NodeId) -> Self {
        let sets: Vec<NodeSet> =
            NodeId::all(nodes).map(|i| [centre, i].into_iter().collect()).collect();
        Structure::of_valid(sets.clone(), sets)
    }

    /// Maekawa's: everybody asks and tells its quorum (to which it is added where it is missing).
    #[must_use]
    pub fn maekawa(quorums: &Quorums) -> Self {
        let sets: Vec<NodeSet> = NodeId::all(quorums.nodes())
            .map(|i| quorums.of(i).iter().copied().chain([i]).collect())
            .collect();
        // Quorums that meet make a valid structure; those that do not may, since nodes are added.
        let flaw = quorums.flaw().and_then(|_| unsynchronised(&sets, &sets));
        Structure { flaw, ..Structure::of_valid(sets.clone(), sets) }
    }

    /// The published example with four nodes.
    #[must_use]
    pub fn four_nodes() -> Self {
        let set = |members: &[usize]| members.iter().map(|&m| NodeId::new(m - 1)).collect();
        Structure::of_valid(
            vec![set(&[1, 2]), set(&[1, 2]), set(&[1, 2, 3]), set(&[1, 2, 4])],
            vec![set(&[1]), set(&[2]), set(&[1, 2, 3]), set(&[1, 2, 4])],
        )
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
        // Whether somebody besides i and j tells j, which tells itself.
        let is_told = |j: NodeId| {
            let by_i = j != i && self.inform(i).contains(j);
            self.told_by[j.index()] > 1 + usize::from(by_i)
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
    /// `j` asks, 2 unless that is one of the two themselves. There is always one, or nobody would keep
    /// them apart.
    #[must_use]
    pub fn exact_delay(&self, i: NodeId, j: NodeId) -> u32 {
        let mut shared = self.inform(i).iter().filter(|&a| self.request(j).contains(a));
        match i == j {
            true => 0,
            false if shared.any(|a| a != i && a != j) => 2,
            false => 1,
        }
    }
}

/// Everything but the condition on pairs.
fn check_members(request: &[NodeSet], inform: &[NodeSet]) -> Result<(), StructureError> {
    let nodes = request.len();
    if inform.len() != nodes {
        return Err(StructureError::Lengths { request: nodes, inform: inform.len() });
    }
    for (of, (asks, tells)) in NodeId::all(nodes).zip(request.iter().zip(inform)) {
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
    Ok(())
}

/// Two nodes that nothing keeps apart.
fn unsynchronised(request: &[NodeSet], inform: &[NodeSet]) -> Option<StructureError> {
    let ask_each_other =
        |i: NodeId, j: NodeId| request[i.index()].contains(j) && request[j.index()].contains(i);
    let apart = |i: NodeId, j: NodeId| {
        inform[i.index()].intersects(&inform[j.index()]) || ask_each_other(i, j)
    };
    NodeId::all(request.len()).find_map(|i| {
        let j = NodeId::all(request.len()).skip(i.index() + 1).find(|&j| !apart(i, j))?;
        Some(StructureError::Unsynchronised(i, j))
    })
}

fn sets(lists: Vec<Vec<NodeId>>) -> Result<Vec<NodeSet>, StructureError> {
    let nodes = lists.len();
    let known = |(of, list): (NodeId, Vec<NodeId>)| match list.iter().max() {
        // Before a set is made of them: a huge id would make a huge set.
        Some(&member) if member.index() >= nodes => {
            Err(StructureError::UnknownNode { of, member, nodes })
        }
        _ => Ok(list.into_iter().collect()),
    };
    NodeId::all(nodes).zip(lists).map(known).collect()
}

impl TryFrom<Lists> for Structure {
    type Error = StructureError;

    fn try_from(lists: Lists) -> Result<Self, StructureError> {
        Structure::of_lists_unchecked(lists.request, lists.inform)
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
            let stars = NodeId::all(nodes).map(|centre| Structure::star(nodes, centre));
            let others = [Structure::lamport(nodes), Structure::ricart_agrawala(nodes)];
            for preset in stars.chain(others) {
                assert_eq!(
                    Structure::new(preset.request.clone(), preset.inform.clone()),
                    Ok(preset)
                );
            }
        }
    }

    /// All families of subsets of `nodes` nodes.
    fn families(nodes: usize) -> impl Iterator<Item = Vec<NodeSet>> {
        let set = move |bits: usize| -> NodeSet {
            NodeId::all(nodes).filter(|i| bits >> i.index() & 1 == 1).collect()
        };
        let mask = (1 << nodes) - 1;
        (0..1_usize << (nodes * nodes))
            .map(move |code| (0..nodes).map(|i| set(code >> (i * nodes) & mask)).collect())
    }

    /// `of_inform` is valid, and what is valid with these inform sets contains it.
    #[test]
    fn the_least_request_sets_are_part_of_all_others() {
        let mut valid = 0;
        for inform in families(3) {
            let least = Structure::of_inform(inform.clone());
            for request in families(3) {
                let Ok(structure) = Structure::new(request, inform.clone()) else { continue };
                valid += 1;
                let least = least.as_ref().expect("the inform sets are those of a valid structure");
                for i in NodeId::all(3) {
                    let mut asked = least.request(i).iter();
                    assert!(asked.all(|j| structure.request(i).contains(j)), "{structure:?}");
                }
            }
            if let Ok(least) = least {
                assert_eq!(
                    Structure::new(least.request.clone(), inform).as_ref(),
                    Ok(&least),
                    "it is one of them"
                );
            }
        }
        assert!(valid > 100);
        assert_eq!(
            Structure::of_inform(Structure::four_nodes().inform).unwrap(),
            Structure::four_nodes(),
            "the published one wastes nothing"
        );
    }

    /// Spec 2.6, word by word: `r_j = 1` if `St_j ⊆ {i, j}`, else 4.
    #[test]
    fn the_message_bounds_are_as_defined() {
        for inform in families(3) {
            let Ok(structure) = Structure::of_inform(inform) else { continue };
            for i in NodeId::all(3) {
                let low = structure.inform(i).len() - 1 + 2 * (structure.request(i).len() - 1);
                let r = |j: NodeId| {
                    let mut status = NodeId::all(3).filter(|&k| structure.inform(k).contains(j));
                    if status.all(|k| k == i || k == j) { 1 } else { 4 }
                };
                let high = low + structure.request(i).iter().map(r).sum::<usize>();
                assert_eq!(structure.message_bounds(i), (low, high), "{structure:?}");
            }
        }
    }

    #[test]
    fn a_thousand_nodes_are_checked_at_once() {
        for structure in [Structure::lamport(1000), Structure::ricart_agrawala(1000)] {
            let again = Structure::new(structure.request.clone(), structure.inform.clone());
            let bounds = NodeId::all(1000).map(|i| structure.message_bounds(i).1).max();
            assert!(bounds > Some(2000) && again == Ok(structure));
        }
    }

    #[test]
    fn a_report_on_a_structure_reads_as_that_structure() {
        let json = r#"{"name":"x","request":[[1,2],[1,2]],"inform":[[1],[2]],"valid":true}"#;
        let read: Structure = serde_json::from_str(json).unwrap();
        assert_eq!(read, Structure::ricart_agrawala(2));
    }

    #[test]
    fn a_violation_names_the_nodes() {
        let parse = |json: &str| serde_json::from_str::<Structure>(json);
        let flaw = |json: &str| parse(json).unwrap().flaw().unwrap().to_string();
        let pair = flaw(r#"{"request":[[1],[2]],"inform":[[1],[2]]}"#);
        assert!(pair.contains("P1 and P2 can be inside together"), "{pair}");
        let own = flaw(r#"{"request":[[1,2],[2]],"inform":[[2],[2]]}"#);
        assert!(own.contains("inform set of P1"), "{own}");
        let unasked = flaw(r#"{"request":[[1],[2]],"inform":[[1,2],[2]]}"#);
        assert!(unasked.contains("P1 informs P2"), "{unasked}");
        let unknown = |json| parse(json).unwrap_err().to_string();
        let unknown = unknown(r#"{"request":[[1,4000000000],[2]],"inform":[[1],[2]]}"#);
        assert!(unknown.contains("P4000000000"), "{unknown}");
    }
}
