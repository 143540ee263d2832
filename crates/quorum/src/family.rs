//! Sets of nodes of which nobody knows yet whether they meet: what a file holds.

use std::fmt;

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;
use thiserror::Error;

use crate::conditions::conditions;
use crate::system::{Shape, System, distinct};

/// Non-empty sets of known nodes, and the one that each node asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    sets: Vec<Vec<NodeId>>,
    assignment: Vec<Vec<NodeId>>,
    /// Whether the sets are those that the nodes ask, in their order.
    is_assigned: bool,
}

/// Why sets are not even candidates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FamilyError {
    /// A set without members.
    #[error("{0} is empty; every node needs at least one arbiter")]
    Empty(Place),
    /// A set names a node outside the system.
    #[error("{place} names {member}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Whose set, or which.
        place: Place,
        /// The unknown node.
        member: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// There is not one set for each node.
    #[error("there are {sets} quorums for {nodes} nodes; every node needs one")]
    Count {
        /// How many sets.
        sets: usize,
        /// How many nodes.
        nodes: usize,
    },
    /// `N = 0`, or beyond what can be analysed.
    #[error("a quorum system has 1 to {MOST_NODES} nodes, not {0}")]
    Nodes(usize),
    /// It would not fit the memory: what every node asks is kept.
    #[error("the nodes would ask {members} others together; at most {MOST_MEMBERS} are possible")]
    TooLarge {
        /// The members of all that is asked.
        members: usize,
    },
    /// What a node is said to ask is not in the list of quorums.
    #[error("what {0} asks is none of the quorums; add it to the list, or leave out `assignment`")]
    Stranger(NodeId),
}

/// Files with more nodes are refused, like constructions: nothing could be said about them in reasonable
/// time.
const MOST_NODES: usize = 10_000;

/// So many members of the quorums that the nodes ask are kept.
const MOST_MEMBERS: usize = 20_000_000;

/// Which set is meant: that of a node, or that with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// That of this node.
    Node(NodeId),
    /// The one with this index, counted from 0 here and from 1 for people.
    Index(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Node(node) => write!(f, "the quorum of {node}"),
            Place::Index(index) => write!(f, "quorum {}", index + 1),
        }
    }
}

/// Two quorums do not meet, so two nodes could be inside at once.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{} {} and {} {} do not intersect; both could enter at the same time",
    places[0], braced(&sets[0]), places[1], braced(&sets[1])
)]
pub struct Disjoint {
    /// Which two.
    pub places: [Place; 2],
    /// Their members.
    pub sets: [Vec<NodeId>; 2],
}

/// Nodes as people write a set of them: `{1, 2, 4}`.
#[must_use]
pub fn braced(nodes: &[NodeId]) -> String {
    let numbers: Vec<_> = nodes.iter().map(|node| (node.index() + 1).to_string()).collect();
    format!("{{{}}}", numbers.join(", "))
}

impl FamilyError {
    /// The index of the set that is wrong.
    pub(crate) fn place(&self) -> Option<usize> {
        match self {
            FamilyError::Empty(place) | FamilyError::UnknownNode { place, .. } => {
                Some(place.index())
            }
            _ => None,
        }
    }
}

impl Place {
    fn index(self) -> usize {
        match self {
            Place::Node(node) => node.index(),
            Place::Index(index) => index,
        }
    }
}

impl Family {
    /// The first set is what the first node asks, and so on.
    ///
    /// # Errors
    /// If there is not one for each node, if one is empty, or if one names a node that does not exist.
    pub fn assigned(sets: Vec<Vec<NodeId>>, nodes: usize) -> Result<Self, FamilyError> {
        let assignment = ordered(sets, nodes, |index| Place::Node(NodeId::new(index)))?;
        match assignment.len() == nodes {
            true => Ok(Family { sets: assignment.clone(), assignment, is_assigned: true }),
            false => Err(FamilyError::Count { sets: assignment.len(), nodes }),
        }
    }

    /// Any number of sets. Each node asks one that it is in if there is one, a small one, and the sets
    /// take turns.
    ///
    /// # Errors
    /// If one is empty, or names a node that does not exist.
    pub fn listed(sets: Vec<Vec<NodeId>>, nodes: usize) -> Result<Self, FamilyError> {
        let sets = ordered(sets, nodes, Place::Index)?;
        let mut having = vec![Vec::new(); nodes];
        for (index, set) in sets.iter().enumerate() {
            for member in set {
                having[member.index()].push(index);
            }
        }
        // Everybody asks one of these, so that at least so many members are kept.
        let least = sets.iter().map(Vec::len).min().unwrap_or_default() * nodes;
        if least > MOST_MEMBERS {
            return Err(FamilyError::TooLarge { members: least });
        }
        let mut used = vec![0; sets.len()];
        let everything: Vec<_> = (0..sets.len()).collect();
        let assignment = having.iter().map(|own| {
            let candidates = if own.is_empty() { &everything } else { own };
            let order = |index: &&usize| (sets[**index].len(), used[**index]);
            let chosen = *candidates.iter().min_by_key(order).expect("there is a set");
            used[chosen] += 1;
            sets[chosen].clone()
        });
        let assignment = assignment.collect();
        Ok(Family { sets, assignment, is_assigned: false })
    }

    /// Any number of sets, and which of them each node asks.
    ///
    /// # Errors
    /// If one is empty or names a node that does not exist, or if a node asks none of them.
    pub fn with_assignment(
        sets: Vec<Vec<NodeId>>,
        assignment: Vec<Vec<NodeId>>,
        nodes: usize,
    ) -> Result<Self, FamilyError> {
        let assignment = Family::assigned(assignment, nodes)?.assignment;
        let sets = ordered(sets, nodes, Place::Index)?;
        let known: rustc_hash::FxHashSet<&Vec<NodeId>> = sets.iter().collect();
        match NodeId::all(nodes).zip(&assignment).find(|(_, set)| !known.contains(set)) {
            Some((node, _)) => Err(FamilyError::Stranger(node)),
            None => Ok(Family { sets, assignment, is_assigned: false }),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.assignment.len()
    }

    /// The sets, each in ascending order.
    #[must_use]
    pub fn sets(&self) -> &[Vec<NodeId>] {
        &self.sets
    }

    /// What each node asks.
    #[must_use]
    pub fn assignment(&self) -> &[Vec<NodeId>] {
        &self.assignment
    }

    /// Two of the sets that do not meet.
    #[must_use]
    pub fn disjoint(&self) -> Option<Disjoint> {
        let (one, other) = conditions(&self.sets, self.nodes()).disjoint?;
        let place = |index| match self.is_assigned {
            true => Place::Node(NodeId::new(index)),
            false => Place::Index(index),
        };
        let sets = [one, other].map(|index| self.sets[index].clone());
        Some(Disjoint { places: [place(one), place(other)], sets })
    }

    /// The quorum system, if they meet. `name` is where it comes from.
    ///
    /// # Errors
    /// Two sets that do not meet.
    pub fn system(self, name: &str) -> Result<System, Disjoint> {
        if let Some(disjoint) = self.disjoint() {
            return Err(disjoint);
        }
        let shape = Shape::Listed(distinct(self.sets.iter().map(Vec::as_slice)));
        let assignment = Quorums::new(self.assignment).expect("all sets meet, and all are known");
        Ok(System::from_file(name, shape, assignment))
    }
}

/// Members in ascending order, each once; none empty, all known.
fn ordered(
    mut sets: Vec<Vec<NodeId>>,
    nodes: usize,
    place: impl Fn(usize) -> Place,
) -> Result<Vec<Vec<NodeId>>, FamilyError> {
    if !(1..=MOST_NODES).contains(&nodes) {
        return Err(FamilyError::Nodes(nodes));
    }
    if sets.is_empty() {
        return Err(FamilyError::Count { sets: 0, nodes });
    }
    for (index, set) in sets.iter_mut().enumerate() {
        set.sort_unstable();
        set.dedup();
        match set.last() {
            None => return Err(FamilyError::Empty(place(index))),
            Some(&member) if member.index() >= nodes => {
                return Err(FamilyError::UnknownNode { place: place(index), member, nodes });
            }
            Some(_) => {}
        }
    }
    Ok(sets)
}
