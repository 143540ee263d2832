//! A quorum system as it is analysed: all its quorums, and one of them for each node.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use crate::gates::Gates;

/// A set of quorums of which any two meet, and the one that each node asks.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    kind: String,
    name: String,
    shape: Shape,
    assignment: Quorums,
    notes: Vec<String>,
}

/// In which form the quorums are known.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Each of them, once.
    Listed(Vec<Vec<NodeId>>),
    /// Each of them, once: a row and a column of a grid of this width, filled row by row, of which only
    /// the last row can be short.
    Grid {
        /// How many nodes there are in a row.
        width: usize,
        /// The quorums.
        quorums: Vec<Vec<NodeId>>,
    },
    /// The sets that pass these gates and of which nobody can be left out. There may be too many to
    /// list.
    Gates(Gates),
}

impl System {
    /// The system whose quorums are those that the nodes ask.
    pub(crate) fn of_assigned(name: impl Into<String>, assignment: Quorums) -> Self {
        let shape = Shape::Listed(distinct(assignment.iter()));
        System::new(name, shape, assignment)
    }

    pub(crate) fn new(name: impl Into<String>, shape: Shape, assignment: Quorums) -> Self {
        let name = name.into();
        let kind = name.split(':').next().unwrap_or_default().to_owned();
        System { kind, name, shape, assignment, notes: Vec::new() }
    }

    pub(crate) fn from_file(name: &str, shape: Shape, assignment: Quorums) -> Self {
        let (kind, name) = ("file".to_owned(), name.to_owned());
        System { kind, name, shape, assignment, notes: Vec::new() }
    }

    /// The same, with something to say about how it was built.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The name of the construction it comes from, or `file`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The construction it comes from, as it would be typed, or the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.assignment.nodes()
    }

    /// The quorums.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The quorum of each node, `S_i`.
    #[must_use]
    pub fn assignment(&self) -> &Quorums {
        &self.assignment
    }

    /// The quorums that somebody asks, each once.
    #[must_use]
    pub fn asked(&self) -> Vec<Vec<NodeId>> {
        distinct(self.assignment.iter())
    }

    /// What there is to say about how it was built.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// All quorums; none if there are more than `limit`.
    #[must_use]
    pub fn quorums(&self, limit: usize) -> Option<Cow<'_, [Vec<NodeId>]>> {
        match &self.shape {
            Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
                (quorums.len() <= limit).then_some(Cow::Borrowed(&quorums[..]))
            }
            Shape::Gates(gates) => gates.listed(limit).map(Cow::Owned),
        }
    }

    /// Whether the live nodes hold a quorum.
    pub fn is_live(&self, alive: impl Fn(NodeId) -> bool) -> bool {
        match &self.shape {
            Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
                quorums.iter().any(|quorum| quorum.iter().all(|&node| alive(node)))
            }
            Shape::Gates(gates) => gates.is_live(alive),
        }
    }

    /// A quorum that costs least if each node costs what `cost` says (not less than nothing), and its
    /// cost.
    ///
    /// # Panics
    /// If a system without quorums was listed.
    #[must_use]
    pub fn cheapest(&self, cost: impl Fn(NodeId) -> f64) -> (f64, Vec<NodeId>) {
        match &self.shape {
            Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
                let total = |quorum: &Vec<NodeId>| quorum.iter().map(|&node| cost(node)).sum();
                let costs = quorums.iter().map(|quorum| (total(quorum), quorum));
                let least = costs.min_by(|a: &(f64, _), b| a.0.total_cmp(&b.0));
                let (least, quorum) = least.expect("a system has a quorum");
                (least, quorum.clone())
            }
            Shape::Gates(gates) => gates.cheapest(cost),
        }
    }
}

impl From<System> for Quorums {
    fn from(system: System) -> Self {
        system.assignment
    }
}

/// The quorums are those that the nodes ask.
impl From<Quorums> for System {
    fn from(assignment: Quorums) -> Self {
        System::of_assigned("listed", assignment)
    }
}

/// Each set once, in the order in which they first occur.
pub(crate) fn distinct<'a>(sets: impl Iterator<Item = &'a [NodeId]>) -> Vec<Vec<NodeId>> {
    let mut seen = FxHashSet::default();
    sets.filter(|set| seen.insert(*set)).map(<[NodeId]>::to_vec).collect()
}
