//! What a system is built from: how many nodes, and the layout that some algorithms need.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::mutex::agrawal_el_abbadi::path_length;
use crate::time::LamportClock;
use crate::topology::{
    Clusters, Graph, Quorums, QuorumsError, ReadWrite, Ring, Structure, StructureError, Tree,
};
use crate::{Figures, NodeId};

/// The system to build. What an algorithm does not use it ignores; what it needs and does not find
/// is an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// `N`.
    nodes: usize,
    /// Who coordinates in `central`.
    coordinator: NodeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quorums: Option<Quorums>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structure: Option<Structure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<Tree>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ring: Option<Ring>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    graph: Option<Graph>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_write: Option<ReadWrite>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clusters: Option<Clusters>,
    /// Whether quorums that do not meet, or an invalid information structure, are taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unsafe_structure: bool,
    #[serde(default)]
    arbitration: Arbitration,
    /// Where each node's logical clock begins; empty: at 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clocks: Vec<u64>,
    /// How many may be inside at once in `raymond-k`.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    capacity: usize,
    /// In which state each node begins, by number, where an algorithm recovers from any; empty: in the right one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beginnings: Vec<u64>,
}

fn one() -> usize {
    1
}

fn is_one(capacity: &usize) -> bool {
    *capacity == 1
}

/// How the holder of Singhal's token chooses the next one among those who ask (spec 2.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// The next higher id, cyclically.
    #[default]
    RoundRobin,
    /// Whoever has entered least often so far.
    SmallestSequence,
    /// The nearest id on the ring, in either direction.
    Nearest,
}

impl Arbitration {
    /// All rules.
    pub const ALL: [Arbitration; 3] =
        [Arbitration::RoundRobin, Arbitration::SmallestSequence, Arbitration::Nearest];
}

impl fmt::Display for Arbitration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arbitration::RoundRobin => "round-robin",
            Arbitration::SmallestSequence => "smallest-sequence",
            Arbitration::Nearest => "nearest",
        })
    }
}

/// Why a system cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// `N = 0`.
    #[error("a system needs at least one node")]
    NoNodes,
    /// More nodes than fit into the memory of the machines this is for.
    #[error("{0} nodes are too many; a system has at most {limit}", limit = Setup::MOST_NODES)]
    TooManyNodes(usize),
    /// The coordinator is not a node of the system.
    #[error("the coordinator is {coordinator}, but there are only {nodes} nodes")]
    UnknownCoordinator {
        /// Who should coordinate.
        coordinator: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A layout is for another number of nodes.
    #[error("the {what} is for {given} nodes, but the system has {nodes}")]
    WrongSize {
        /// Which layout.
        what: &'static str,
        /// How many nodes it has.
        given: usize,
        /// How many nodes the system has.
        nodes: usize,
    },
    /// The algorithm needs a layout that the setup does not have.
    #[error("{algorithm} needs a {what}")]
    Missing {
        /// Which algorithm.
        algorithm: &'static str,
        /// Which layout.
        what: &'static str,
    },
    /// A logical clock begins too late.
    #[error("a clock begins at {0}; it can begin at {limit} at the latest", limit = Setup::MOST_CLOCK)]
    LateClock(u64),
    /// The algorithm has no logical clocks.
    #[error("{0} has no logical clocks; leave out where they begin")]
    NoClocks(&'static str),
    /// A section for nobody, or for so many that nobody ever waits.
    #[error(
        "{capacity} of {nodes} nodes inside at once: at least 1 must fit, and fewer than all, else there is \
         nothing to agree on"
    )]
    Capacity {
        /// How many should fit.
        capacity: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A node cannot begin like that.
    #[error("{node} cannot begin in state {given}; its states are numbered from 0 to {last}")]
    NoSuchBeginning {
        /// Which node.
        node: NodeId,
        /// In which state it should.
        given: u64,
        /// The highest number of a state.
        last: u64,
    },
    /// Quorums that do not meet.
    #[error(transparent)]
    Quorums(#[from] QuorumsError),
    /// An invalid information structure.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// No algorithm, or no variant of this one, has that name.
    #[error("there is no algorithm named `{0}` here")]
    UnknownName(String),
    /// A program that is an algorithm does not answer as it should.
    #[error("{0}")]
    Program(String),
}

impl Setup {
    /// The largest system.
    pub const MOST_NODES: usize = 10_000_000;

    /// The latest beginning of a logical clock: so far every reader of JSON counts.
    pub const MOST_CLOCK: u64 = 1 << 53;

    /// A system of `nodes` nodes with the first one as coordinator and no layout.
    ///
    /// # Errors
    /// If `nodes` is 0 or more than [`Setup::MOST_NODES`].
    pub fn new(nodes: usize) -> Result<Self, SetupError> {
        match nodes {
            0 => Err(SetupError::NoNodes),
            n if n > Setup::MOST_NODES => Err(SetupError::TooManyNodes(n)),
            _ => Ok(Setup {
                nodes,
                coordinator: NodeId::new(0),
                quorums: None,
                structure: None,
                tree: None,
                ring: None,
                graph: None,
                read_write: None,
                clusters: None,
                unsafe_structure: false,
                arbitration: Arbitration::default(),
                clocks: Vec::new(),
                capacity: 1,
                beginnings: Vec::new(),
            }),
        }
    }

    /// With this coordinator.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn with_coordinator(mut self, coordinator: NodeId) -> Result<Self, SetupError> {
        if coordinator.index() >= self.nodes {
            return Err(SetupError::UnknownCoordinator { coordinator, nodes: self.nodes });
        }
        self.coordinator = coordinator;
        Ok(self)
    }

    /// Takes quorums that do not meet and invalid information structures from now on, so that one can see
    /// what comes of them.
    #[must_use]
    pub fn with_unsafe_structure(mut self) -> Self {
        self.unsafe_structure = true;
        self
    }

    /// With these quorums.
    ///
    /// # Errors
    /// If they are for another number of nodes, or do not meet.
    pub fn with_quorums(mut self, quorums: Quorums) -> Result<Self, SetupError> {
        self.sized("quorum system", quorums.nodes())?;
        if let Some(flaw) = quorums.flaw().filter(|_| !self.unsafe_structure) {
            return Err(flaw.into());
        }
        self.quorums = Some(quorums);
        Ok(self)
    }

    /// With this information structure.
    ///
    /// # Errors
    /// If it is for another number of nodes, or invalid.
    pub fn with_structure(mut self, structure: Structure) -> Result<Self, SetupError> {
        self.sized("information structure", structure.nodes())?;
        if let Some(flaw) = structure.flaw().filter(|_| !self.unsafe_structure) {
            return Err(flaw.clone().into());
        }
        self.structure = Some(structure);
        Ok(self)
    }

    /// With this tree.
    ///
    /// # Errors
    /// If it is for another number of nodes.
    pub fn with_tree(mut self, tree: Tree) -> Result<Self, SetupError> {
        self.sized("tree", tree.nodes())?;
        self.tree = Some(tree);
        Ok(self)
    }

    /// With this ring.
    ///
    /// # Errors
    /// If it is for another number of nodes.
    pub fn with_ring(mut self, ring: Ring) -> Result<Self, SetupError> {
        self.sized("ring", ring.nodes())?;
        self.ring = Some(ring);
        Ok(self)
    }

    /// With these links.
    ///
    /// # Errors
    /// If they are for another number of nodes.
    pub fn with_graph(mut self, graph: Graph) -> Result<Self, SetupError> {
        self.sized("network", graph.nodes())?;
        self.graph = Some(graph);
        Ok(self)
    }

    /// With these readers and writers.
    ///
    /// # Errors
    /// If they are for another number of nodes.
    pub fn with_read_write(mut self, system: ReadWrite) -> Result<Self, SetupError> {
        self.sized("system of readers and writers", system.nodes())?;
        self.read_write = Some(system);
        Ok(self)
    }

    /// With these clusters.
    ///
    /// # Errors
    /// If they are for another number of nodes.
    pub fn with_clusters(mut self, clusters: Clusters) -> Result<Self, SetupError> {
        self.sized("division into clusters", clusters.nodes())?;
        self.clusters = Some(clusters);
        Ok(self)
    }

    /// With this arbitration rule.
    #[must_use]
    pub fn with_arbitration(mut self, rule: Arbitration) -> Self {
        self.arbitration = rule;
        self
    }

    /// With logical clocks that begin there, one for each node; all at 0 if there is none.
    ///
    /// # Errors
    /// If they are for another number of nodes, or one is later than [`Setup::MOST_CLOCK`].
    pub fn with_clocks(mut self, clocks: Vec<u64>) -> Result<Self, SetupError> {
        if !clocks.is_empty() {
            self.sized("list of clocks", clocks.len())?;
        }
        if let Some(&late) = clocks.iter().find(|&&clock| clock > Setup::MOST_CLOCK) {
            return Err(SetupError::LateClock(late));
        }
        self.clocks = clocks;
        Ok(self)
    }

    /// With a section that holds so many at once.
    ///
    /// # Errors
    /// If that is nobody, or everybody of more than one.
    pub fn with_capacity(mut self, capacity: usize) -> Result<Self, SetupError> {
        let nodes = self.nodes;
        if capacity == 0 || capacity > 1 && capacity >= nodes {
            return Err(SetupError::Capacity { capacity, nodes });
        }
        self.capacity = capacity;
        Ok(self)
    }

    /// With nodes that begin in these states, by number; in the right ones if there is none.
    ///
    /// # Errors
    /// If they are for another number of nodes. Which numbers there are an algorithm says.
    pub fn with_beginnings(mut self, beginnings: Vec<u64>) -> Result<Self, SetupError> {
        if !beginnings.is_empty() {
            self.sized("list of beginnings", beginnings.len())?;
        }
        self.beginnings = beginnings;
        Ok(self)
    }

    fn sized(&self, what: &'static str, given: usize) -> Result<(), SetupError> {
        let nodes = self.nodes;
        if given == nodes { Ok(()) } else { Err(SetupError::WrongSize { what, given, nodes }) }
    }

    /// Checks a setup that was read from a file: what the `with_…` methods check.
    ///
    /// # Errors
    /// As they do.
    pub fn validated(self) -> Result<Self, SetupError> {
        let mut setup = Setup::new(self.nodes)?.with_coordinator(self.coordinator)?;
        setup.unsafe_structure = self.unsafe_structure;
        if let Some(quorums) = self.quorums {
            setup = setup.with_quorums(quorums)?;
        }
        if let Some(structure) = self.structure {
            setup = setup.with_structure(structure)?;
        }
        if let Some(tree) = self.tree {
            setup = setup.with_tree(tree)?;
        }
        if let Some(ring) = self.ring {
            setup = setup.with_ring(ring)?;
        }
        if let Some(graph) = self.graph {
            setup = setup.with_graph(graph)?;
        }
        if let Some(system) = self.read_write {
            setup = setup.with_read_write(system)?;
        }
        if let Some(clusters) = self.clusters {
            setup = setup.with_clusters(clusters)?;
        }
        setup
            .with_arbitration(self.arbitration)
            .with_clocks(self.clocks)?
            .with_capacity(self.capacity)?
            .with_beginnings(self.beginnings)
    }

    /// `N`.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Who coordinates.
    #[must_use]
    pub fn coordinator(&self) -> NodeId {
        self.coordinator
    }

    /// The quorums, if any.
    #[must_use]
    pub fn quorums(&self) -> Option<&Quorums> {
        self.quorums.as_ref()
    }

    /// The information structure, if any.
    #[must_use]
    pub fn structure(&self) -> Option<&Structure> {
        self.structure.as_ref()
    }

    /// What is wrong with its quorums or its structure, if that was allowed.
    #[must_use]
    pub fn flaw(&self) -> Option<SetupError> {
        let quorums = self.quorums.as_ref().and_then(Quorums::flaw).map(SetupError::from);
        let structure = self.structure.as_ref().and_then(Structure::flaw).cloned();
        quorums.or_else(|| structure.map(SetupError::from))
    }

    /// The tree, if any.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// The ring, if any; without one nodes stand in the order of their ids.
    #[must_use]
    pub fn ring(&self) -> Option<&Ring> {
        self.ring.as_ref()
    }

    /// The links, if any; without them everybody is linked to everybody.
    #[must_use]
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// Readers and writers with their quorums, if any.
    #[must_use]
    pub fn read_write(&self) -> Option<&ReadWrite> {
        self.read_write.as_ref()
    }

    /// The clusters; without any about √N of them.
    #[must_use]
    pub fn clusters(&self) -> Cow<'_, Clusters> {
        match &self.clusters {
            Some(clusters) => Cow::Borrowed(clusters),
            None => Cow::Owned(Clusters::square(self.nodes)),
        }
    }

    /// Who can reach whom while only some are up: in a network by way of those, without one directly.
    #[must_use]
    pub fn parts(&self, is_up: impl Fn(NodeId) -> bool) -> Vec<Vec<NodeId>> {
        match &self.graph {
            Some(graph) => graph.parts(is_up),
            None => vec![NodeId::all(self.nodes).filter(|&node| is_up(node)).collect()],
        }
    }

    /// Where the logical clock of `node` begins.
    #[must_use]
    pub fn clock(&self, node: NodeId) -> LamportClock {
        LamportClock::at(self.clocks.get(node.index()).copied().unwrap_or(0))
    }

    /// In which states the nodes begin; empty: in the right ones.
    #[must_use]
    pub fn beginnings(&self) -> &[u64] {
        &self.beginnings
    }

    /// In which of so many states `node` begins; `None`: in the right one.
    pub(crate) fn beginning(&self, node: NodeId, states: u64) -> Result<Option<u64>, SetupError> {
        match self.beginnings.get(node.index()) {
            Some(&given) if given >= states => {
                Err(SetupError::NoSuchBeginning { node, given, last: states.saturating_sub(1) })
            }
            chosen => Ok(chosen.copied()),
        }
    }

    /// For an algorithm without logical clocks.
    pub(crate) fn refuse_clocks(&self, algorithm: &'static str) -> Result<(), SetupError> {
        if self.clocks.is_empty() { Ok(()) } else { Err(SetupError::NoClocks(algorithm)) }
    }

    /// How Singhal's holder chooses.
    #[must_use]
    pub fn arbitration(&self) -> Arbitration {
        self.arbitration
    }

    /// How many may be inside at once, where an algorithm admits several; see
    /// [`admission`](crate::catalogue::Info::admission).
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// What the symbols of the catalogue's formulas stand for here, if `requesters` are those who
    /// ask.
    #[must_use]
    pub fn figures(&self, requesters: &[NodeId]) -> Figures {
        let mean = |values: &mut dyn Iterator<Item = usize>| {
            values.sum::<usize>() as f64 / requesters.len().max(1) as f64
        };
        let id = mean(&mut requesters.iter().map(|i| i.index() + 1));
        let capacity = self.capacity as f64;
        let mut figures = Figures { n: self.nodes as f64, id, capacity, ..Figures::default() };
        // Formulas count K−1 others to ask; a node outside its own quorum has one more of them.
        let size = |quorum: &[NodeId], i| 1 + quorum.iter().filter(|&&j| j != i).count();
        figures.k =
            mean(&mut requesters.iter().map(|&i| match (&self.quorums, &self.read_write) {
                (Some(quorums), _) => size(quorums.of(i), i),
                (None, Some(system)) => size(system.of(i), i),
                // That of the quorums which follow from the numbers of the nodes.
                (None, None) => path_length(self.nodes, i),
            }));
        if let Some(structure) = &self.structure {
            let bounds: Vec<_> = requesters.iter().map(|&i| structure.message_bounds(i)).collect();
            figures.low = mean(&mut bounds.iter().map(|b| b.0));
            figures.high = mean(&mut bounds.iter().map(|b| b.1));
        }
        if let Some(tree) = &self.tree {
            figures.diameter = tree.diameter() as f64;
            figures.apart = tree.mean_distance();
            figures.distance = mean(&mut requesters.iter().map(|&i| tree.depth(i)));
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::mutex::{Mutex, Visitor, dispatch, ricart_agrawala::RicartAgrawala};
    use crate::topology::ReadWriteKind;
    use crate::{Input, Lock, Outbox, Protocol as _};

    fn textbook() -> Setup {
        let all: Vec<NodeId> = NodeId::all(3).collect();
        let setup = Setup::new(3).unwrap().with_clocks(vec![40, 0, 33]).unwrap();
        let setup = setup.with_quorums(Quorums::new(vec![all; 3]).unwrap()).unwrap();
        let setup = setup.with_structure(Structure::lamport(3)).unwrap();
        let readers = [NodeId::new(0)].into_iter().collect();
        let system = ReadWrite::of_kind(ReadWriteKind::Majority, 3, readers).unwrap();
        setup.with_tree(Tree::star(3)).unwrap().with_read_write(system).unwrap()
    }

    #[test]
    fn clocks_begin_where_they_are_told() {
        let mut nodes = RicartAgrawala::build("ricart-agrawala", &textbook()).unwrap();
        let mut out = Outbox::new();
        for (node, stamp) in nodes.iter_mut().zip([41, 1, 34]) {
            node.step(Input::Command(Lock::Request), &mut out).unwrap();
            let said = format!("{:?}", out.drain().collect::<Vec<_>>());
            assert!(said.contains(&format!("Request {{ t: {stamp} }}")), "{said}");
        }
    }

    struct Build(&'static str);

    impl Visitor for Build {
        type Output = Result<(), SetupError>;

        fn visit<P: Mutex>(self) -> Self::Output {
            P::build(self.0, &textbook()).map(drop)
        }
    }

    #[test]
    fn who_has_no_clock_refuses_to_begin_it() {
        for info in catalogue::all() {
            let has_clock = info.variables.iter().any(|variable| variable.clock.is_some());
            let is_named = info.variables.iter().any(|v| v.field.ends_with("clock"));
            assert_eq!(has_clock, is_named, "{}", info.name);
            let refused = dispatch(info, Build(info.name)).is_err();
            assert_eq!(refused, !has_clock, "{}", info.name);
        }
    }

    #[test]
    fn a_setup_without_clocks_is_written_as_before_and_one_with_them_read_again() {
        let plain = serde_json::to_string(&Setup::new(2).unwrap()).unwrap();
        assert!(!plain.contains("clocks"), "{plain}");
        let setup = textbook();
        let text = serde_json::to_string(&setup).unwrap();
        let read: Setup = serde_json::from_str(&text).unwrap();
        assert_eq!(read.validated(), Ok(setup));
        let late = Setup::new(1).unwrap().with_clocks(vec![u64::MAX]).unwrap_err();
        assert!(late.to_string().contains("it can begin at 9007199254740992"), "{late}");
        let few = Setup::new(3).unwrap().with_clocks(vec![1, 2]).unwrap_err();
        let said = "the list of clocks is for 2 nodes, but the system has 3";
        assert_eq!(few.to_string(), said);
    }
}
