//! What to explore: a small system, how often its users ask, and what the network may do to it.

use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::Order;
use skeptron_core::{Arbitration, NodeId, Setup, SetupError};
use thiserror::Error;

use crate::disk::DiskError;
use crate::predicate::PredicateError;
use crate::property::Step;

/// A small system and all that may happen to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// The system.
    pub setup: Setup,
    /// Whether it begins in every state, not only in that of the setup. Only self-stabilising algorithms do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
    /// What has happened before the search begins: it explores what can follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Step>,
    /// How often the user of each node asks, from there on.
    pub requests: Vec<u8>,
    /// In which order a channel delivers.
    pub order: Order,
    /// What goes wrong.
    pub faults: Faults,
}

/// How often what may go wrong. A budget of 0 means never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// How many messages may be lost.
    pub losses: u8,
    /// How many messages may be delivered twice.
    pub duplicates: u8,
    /// How many nodes may stop for ever.
    pub crashes: u8,
    /// When a node may stop.
    pub crash_when: CrashWhen,
    /// Who may stop; `None` for everybody.
    pub victims: Option<Vec<NodeId>>,
    /// How many times a failure detector may tell that a live node has crashed, where nodes are told of crashes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspicions: u8,
}

fn is_zero(count: &u8) -> bool {
    *count == 0
}

impl Faults {
    /// Whether nothing goes wrong.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.crashes == 0 && self.are_crashes()
    }

    /// Whether nothing goes wrong but that nodes stop.
    fn are_crashes(&self) -> bool {
        self.losses == 0 && self.duplicates == 0 && self.suspicions == 0
    }
}

/// In which condition a node may stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CrashWhen {
    /// In any.
    #[default]
    Any,
    /// While it neither asks nor holds.
    Idle,
    /// While it waits.
    Waiting,
    /// While it is inside, or could enter without asking anybody: with an idle token, say.
    Holding,
}

/// Why a scenario cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// The search cannot be done on disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The nodes cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Too many nodes.
    #[error("{0} nodes are too many to explore; at most {most} are possible", most = Scenario::MOST_NODES)]
    TooManyNodes(usize),
    /// Requests for another number of nodes.
    #[error("there are requests for {given} nodes, but the system has {nodes}")]
    WrongSize {
        /// For how many there are.
        given: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Nobody ever asks.
    #[error("nobody asks: there must be at least one request")]
    NoRequests,
    /// Too many requests.
    #[error("{0} requests are too many to explore; at most {most} are possible", most = Scenario::MOST_REQUESTS)]
    TooManyRequests(usize),
    /// An invariant that speaks of what there is not.
    #[error("--invariant: {0}")]
    Invariant(#[from] PredicateError),
    /// An invariant that does not hold when the system begins.
    #[error(
        "--invariant does not hold when the system begins; nothing needs to happen to break it"
    )]
    FalseFromTheStart,
    /// False suspicions where nobody is told of any.
    #[error(
        "{0} is not told of crashes, so nobody can be suspected; leave the false suspicions out"
    )]
    NoDetector(&'static str),
    /// Any beginning of an algorithm that needs the right one.
    #[error("{0} needs the right beginning; only a self-stabilising algorithm begins in any state")]
    NotStabilising(&'static str),
    /// Any beginning of a run that has begun.
    #[error("a run that has begun somewhere cannot begin anywhere; leave out one of both")]
    BegunAnywhere,
    /// A step of the run so far that cannot be taken.
    #[error("step {0} of the run so far cannot be taken there; it is no run of this system")]
    NoSuchStep(usize),
    /// The extreme of a figure from a later state.
    #[error("the dearest run is looked for from the beginning; leave out the run so far")]
    ExtremeAfter,
    /// The extreme of a figure where something goes wrong.
    #[error("the dearest run is looked for where nothing goes wrong; leave the faults out")]
    ExtremeWithFaults,
    /// Starvation where something goes wrong.
    #[error("starvation is judged where nothing goes wrong; leave the faults out")]
    StarvationWithFaults,
    /// Starvation by random walks, which never go on for ever.
    #[error("starvation is judged by a search of all states; leave out --walks")]
    StarvationByWalks,
    /// Starvation where numbers that grow for ever are compared.
    #[error(
        "starvation cannot be judged with the rule {0}, which compares how often nodes have asked: no state is ever met again; take another rule"
    )]
    StarvationWithRule(Arbitration),
    /// Messages of an algorithm that need not ever rest: a token circulates.
    #[error(
        "{0} claims no bound on its messages, so that a run may go on for ever; ask for its delay or bypass"
    )]
    EndlessMessages(&'static str),
    /// Nobody ever calls.
    #[error("nobody calls: there must be at least one initiator")]
    NoInitiators,
    /// A call of a node that does not exist.
    #[error("{initiator} is to call, but there are only {nodes} nodes")]
    UnknownInitiator {
        /// Who should call.
        initiator: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A detector that takes too long.
    #[error("a detector that takes {0} bounds is too slow to explore; at most {most} are possible", most = crate::ElectionScenario::LONGEST_DETECTION)]
    SlowDetector(u8),
    /// A crash of a node that does not exist.
    #[error("{victim} is to crash, but there are only {nodes} nodes")]
    UnknownVictim {
        /// Who should crash.
        victim: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
}

impl Scenario {
    /// The largest system: sets of nodes are 16 bits wide in a state.
    pub const MOST_NODES: usize = 16;
    /// The most requests of all nodes together: an entry's number is a byte in a state.
    pub const MOST_REQUESTS: usize = 250;

    /// A system in which every node asks `requests` times and nothing goes wrong.
    #[must_use]
    pub fn new(setup: Setup, requests: u8, order: Order) -> Self {
        let requests = vec![requests; setup.nodes()];
        let (after, faults) = (Vec::new(), Faults::default());
        Scenario { setup, anywhere: false, after, requests, order, faults }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// Which bound is broken.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let nodes = self.setup.nodes();
        if nodes > Self::MOST_NODES {
            return Err(ScenarioError::TooManyNodes(nodes));
        }
        if self.requests.len() != nodes {
            return Err(ScenarioError::WrongSize { given: self.requests.len(), nodes });
        }
        let before = self.after.iter().filter(|step| matches!(step, Step::Request(_))).count();
        match before + self.total_requests() {
            0 => return Err(ScenarioError::NoRequests),
            many if many > Self::MOST_REQUESTS => {
                return Err(ScenarioError::TooManyRequests(many));
            }
            _ => {}
        }
        let unknown = |victim: &&NodeId| victim.index() >= nodes;
        match self.faults.victims.iter().flatten().find(unknown) {
            Some(&victim) => Err(ScenarioError::UnknownVictim { victim, nodes }),
            None => Ok(()),
        }
    }

    /// Whether something went wrong before the search begins, or may afterwards.
    pub(crate) fn is_faulty(&self) -> bool {
        // Whom a suspicion is about has crashed, which is a fault already, or has not.
        let is_fault = |step: &Step| {
            matches!(
                step,
                Step::Lose(_) | Step::Duplicate(_) | Step::Crash(_) | Step::Suspect { .. }
            )
        };
        !self.faults.is_none() || self.after.iter().any(is_fault)
    }

    /// Whether all that goes wrong, before the search and in it, is that nodes stop and the others are told.
    pub(crate) fn has_only_crashes(&self) -> bool {
        let mut down = Vec::new();
        self.faults.are_crashes()
            && self.after.iter().all(|step| match *step {
                Step::Lose(_) | Step::Duplicate(_) => false,
                Step::Suspect { whom, .. } => down.contains(&whom),
                Step::Crash(node) => {
                    down.push(node);
                    true
                }
                _ => true,
            })
    }

    /// The same system begun as its setup says.
    pub(crate) fn begun_there(&self) -> Self {
        Scenario { anywhere: false, ..self.clone() }
    }

    /// How often the user of a node asks, before the search and in it.
    pub(crate) fn asks(&self, node: NodeId) -> usize {
        let before = self.after.iter().filter(|step| **step == Step::Request(node)).count();
        before + usize::from(self.requests[node.index()])
    }

    /// The requests of all nodes together, from where the search begins.
    #[must_use]
    pub fn total_requests(&self) -> usize {
        self.requests.iter().map(|&r| usize::from(r)).sum()
    }
}
