//! What to explore: a small system, who may call an election, and what may go wrong.

use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::Order;
use skeptron_core::{NodeId, Setup};

use crate::property::Step;
use crate::scenario::{Scenario, ScenarioError};

/// A small system in which leaders are elected, and all that may happen to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectionScenario {
    /// The system.
    pub setup: Setup,
    /// What has happened before: the search begins after these steps, with budgets and calls counted from there. Who
    /// called because it suspected its leader did so in a step of its own.
    pub after: Vec<Step>,
    /// Who calls: once at any time or never, and whenever it suspects the leader that it names.
    pub initiators: Vec<NodeId>,
    /// How many of them call of their own accord at most.
    pub calls: u8,
    /// In which order a channel delivers.
    pub order: Order,
    /// Within how many bounds a failure detector notices a crash or a return.
    pub detector: u8,
    /// What goes wrong.
    pub faults: ElectionFaults,
}

/// How often what may go wrong. A budget of 0 means never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectionFaults {
    /// How many messages may be lost, besides those of a sender that crashes.
    pub losses: u8,
    /// How many messages may be delivered twice.
    pub duplicates: u8,
    /// How many times a node may stop.
    pub crashes: u8,
    /// Who may stop; `None` for everybody.
    pub victims: Option<Vec<NodeId>>,
    /// How many times a node may come back.
    pub restarts: u8,
    /// How many alarms may ring too early.
    pub premature: u8,
    /// How many times a detector may suspect a node that is alive.
    pub suspicions: u8,
}

impl ElectionFaults {
    /// Whether nothing goes wrong.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.crashes == 0 && self.restarts == 0 && self.keep_assumptions()
    }

    /// Whether nothing goes wrong but crashes and returns: messages arrive once and within the bound,
    /// detectors are right.
    #[must_use]
    pub fn keep_assumptions(&self) -> bool {
        self.losses == 0 && self.duplicates == 0 && self.premature == 0 && self.suspicions == 0
    }

    /// How many times something may go wrong.
    pub(super) fn total(&self) -> u32 {
        let Self { losses, duplicates, crashes, restarts, premature, suspicions, .. } = *self;
        [losses, duplicates, crashes, restarts, premature, suspicions].map(u32::from).iter().sum()
    }
}

impl ElectionScenario {
    /// How long a detector may take at most: four bits in a state.
    pub const LONGEST_DETECTION: u8 = 14;
    /// So many new rounds are followed within one bound; what would need more is left out. Messages take no
    /// time if they like, but elections that call each other do not run through a dozen of rounds in it.
    pub const MOST_HURRY: u8 = 2;
    /// So many times in one step an application may be told of a leader that it suspects, and call.
    pub const MOST_CALLS: u8 = 4;

    /// A system in which everybody may call and nothing goes wrong.
    #[must_use]
    pub fn new(setup: Setup, order: Order) -> Self {
        let initiators: Vec<NodeId> = NodeId::all(setup.nodes()).collect();
        let calls = initiators.len().try_into().unwrap_or(u8::MAX);
        ElectionScenario {
            setup,
            after: Vec::new(),
            initiators,
            calls,
            order,
            detector: 1,
            faults: ElectionFaults::default(),
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// Which bound is broken.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let nodes = self.setup.nodes();
        if nodes > Scenario::MOST_NODES {
            return Err(ScenarioError::TooManyNodes(nodes));
        }
        if self.initiators.is_empty() {
            return Err(ScenarioError::NoInitiators);
        }
        if self.detector > Self::LONGEST_DETECTION {
            return Err(ScenarioError::SlowDetector(self.detector));
        }
        let unknown = |node: &&NodeId| node.index() >= nodes;
        if let Some(&initiator) = self.initiators.iter().find(unknown) {
            return Err(ScenarioError::UnknownInitiator { initiator, nodes });
        }
        match self.faults.victims.iter().flatten().find(unknown) {
            Some(&victim) => Err(ScenarioError::UnknownVictim { victim, nodes }),
            None => Ok(()),
        }
    }
}
