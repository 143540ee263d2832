//! Everything that determines a run of an election.

use skeptron_core::catalogue::{ElectionInfo, Order};
use skeptron_core::{NodeId, Setup};

use crate::distribution::Distribution;
use crate::faults::Faults;
use crate::hand::{Act, Hand};
use crate::metrics::units;
use crate::network::Latency;
use crate::scenario::{
    ScenarioError, check_faults, check_memory, known, length, rate, short, within,
};
use crate::trace::{TICKS_PER_UNIT, Ticks};

/// What to run. Together with the algorithm it determines every event.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The system.
    pub setup: Setup,
    /// Determines all chance.
    pub seed: u64,
    /// Who calls elections of his own accord. Whoever comes back after a crash calls, too.
    pub initiators: Vec<Initiator>,
    /// What the nodes are told of each other's crashes.
    pub detector: Detector,
    /// What timers count in. If it is not given, the longest that a message may take, or three times
    /// the mean where there is no longest; see [`Latency::bound`].
    pub bound: Option<Ticks>,
    /// How long messages take.
    pub latency: Latency,
    /// In which order a channel delivers.
    pub order: Order,
    /// What goes wrong.
    pub faults: Faults,
    /// What a hand does besides.
    pub hand: Hand,
    /// From then on nothing goes wrong by chance any more, and nobody calls of his own accord.
    pub until: Ticks,
}

/// A node that calls elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initiator {
    /// Which one.
    pub node: NodeId,
    /// When it calls, whatever it knows; `None`: only when it suspects its leader, as it does anyway.
    pub at: Option<Ticks>,
}

/// What the nodes are told of each other's crashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detector {
    /// Exactly the crashed are suspected.
    Perfect {
        /// How long after a crash, or after a return, everybody is told of it.
        delay: Ticks,
    },
    /// Now and then somebody suspects a node that is alive.
    Imperfect {
        /// How long after a crash, or after a return, everybody is told of it.
        delay: Ticks,
        /// How many false suspicions come up per unit of time, in the whole system.
        rate: f64,
        /// How long one lasts in the mean, in units.
        lasting: f64,
    },
}

impl Detector {
    /// How long after a crash, or after a return, everybody is told of it.
    #[must_use]
    pub fn delay(self) -> Ticks {
        match self {
            Detector::Perfect { delay } | Detector::Imperfect { delay, .. } => delay,
        }
    }

    /// Checks its numbers.
    pub(crate) fn check(self) -> Result<(), ScenarioError> {
        match self {
            Detector::Perfect { .. } => Ok(()),
            Detector::Imperfect { rate: r, lasting, .. } => {
                rate("the rate of false suspicions", r)?;
                length("the mean length of a false suspicion", lasting)
            }
        }
    }
}

/// Exactly the crashed are suspected, after two units.
impl Default for Detector {
    fn default() -> Self {
        Detector::Perfect { delay: 2 * TICKS_PER_UNIT }
    }
}

impl Scenario {
    /// The plainest run: the lowest node calls at once, messages take one unit, and nothing goes
    /// wrong.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Scenario {
            setup,
            seed: 1,
            initiators: vec![Initiator { node: NodeId::new(0), at: Some(0) }],
            detector: Detector::default(),
            bound: None,
            latency: Latency::same(Distribution::constant(1.0)),
            order: Order::Fifo,
            faults: Faults::default(),
            hand: Hand::default(),
            until: 100 * TICKS_PER_UNIT,
        }
    }

    /// What timers count in, in ticks; at least one, or time would stand still.
    #[must_use]
    pub fn bound(&self) -> Ticks {
        self.bound.unwrap_or_else(|| self.latency.bound()).max(1)
    }

    /// Whether the algorithm may be expected to be correct in it as far as messages are concerned:
    /// all of them arrive, once, in time and in the order that it needs, and only the crashed are
    /// suspected. Crashes are part of the matter.
    #[must_use]
    pub fn keeps_assumptions(&self, info: &ElectionInfo) -> bool {
        self.keeps_assumptions_with(&self.hand.acts, info)
    }

    /// The same as long as these are all acts that have been done.
    pub(super) fn keeps_assumptions_with(&self, acts: &[Act], info: &ElectionInfo) -> bool {
        let Faults { loss, duplicate, planned, pauses, partitions, .. } = &self.faults;
        let crashes_only = planned.iter().all(|planned| planned.fault.is_crash());
        *loss == 0.0
            && *duplicate == 0.0
            && crashes_only
            && !acts.iter().any(|act| act.deed.is_fault_of_election())
            && pauses.is_none()
            && partitions.is_none()
            && matches!(self.detector, Detector::Perfect { .. })
            && self.latency.most().is_some_and(|most| most <= self.bound())
            && (self.order == Order::Fifo || info.channel == Order::Any)
    }

    /// Checks everything that can be checked before `info` runs in it.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn check(&self, info: &ElectionInfo) -> Result<(), ScenarioError> {
        let nodes = self.setup.nodes();
        check_memory(info.name, info.memory, nodes)?;
        for initiator in &self.initiators {
            known("the list of initiators", initiator.node, nodes)?;
            let at = initiator.at.unwrap_or(0);
            within(
                "the time of a call",
                at <= self.until,
                short(units(at)),
                "at most the time from which nobody calls of his own accord",
            )?;
        }
        if let Some(bound) = self.bound {
            within("the bound on messages", bound > 0, "0".into(), "at least 0.001")?;
        }
        self.detector.check()?;
        check_faults(&self.faults, nodes)?;
        self.hand.check(nodes)
    }
}
