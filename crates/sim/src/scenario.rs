//! Everything that determines a run.

use skeptron_core::catalogue::{Info, Order};
use skeptron_core::{Figures, Formula, NodeId, Setup, SetupError};
use thiserror::Error;

use crate::distribution::Distribution;
use crate::election::Detector;
use crate::faults::{Fault, Faults};
use crate::hand::{Act, Deed, Hand, Impossible};
use crate::metrics::units;
use crate::network::Latency;
use crate::workload::Workload;

/// What to run. Together with the algorithm it determines every event.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The system.
    pub setup: Setup,
    /// Determines all chance.
    pub seed: u64,
    /// Who asks.
    pub requesters: Vec<NodeId>,
    /// When they ask.
    pub workload: Workload,
    /// How long a node stays inside.
    pub section: Distribution,
    /// How long messages take.
    pub latency: Latency,
    /// In which order a channel delivers.
    pub order: Order,
    /// What the nodes are told of each other's crashes, where an algorithm wants to know. What it suspects once it never
    /// trusts again.
    pub detector: Detector,
    /// What goes wrong.
    pub faults: Faults,
    /// What a hand does besides.
    pub hand: Hand,
    /// How many entries are made before measuring begins.
    pub warmup: u64,
    /// How many entries are measured; without a workload all of them are.
    pub entries: u64,
}

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// Whoever wanted the run wants it no more.
    #[error("the run was stopped before its end")]
    Stopped,
    /// The system cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Somebody is named who does not exist.
    #[error("{what} names {node}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Where it is named.
        what: &'static str,
        /// Who.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// It would not fit any memory.
    #[error(
        "{algorithm} with {nodes} nodes takes about {gib} GiB; at most {MOST_GIB} are allowed, so take fewer nodes"
    )]
    TooLarge {
        /// Which algorithm.
        algorithm: &'static str,
        /// How many nodes.
        nodes: usize,
        /// How much memory they would take.
        gib: u64,
    },
    /// Nobody asks.
    #[error("nobody asks: there must be at least one requester")]
    NoRequesters,
    /// A number is out of its range.
    #[error("{what} is {value}; it must be {range}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// An act by hand cannot be done where it stands.
    #[error("act {number}: {why}")]
    Act {
        /// Which act, counted from 1.
        number: usize,
        /// Why not.
        why: Impossible,
    },
    /// Kinds are not offered over this algorithm.
    #[error("kinds are offered over central, ricart-agrawala and naimi-trehel, not over {0}")]
    NoKinds(&'static str),
    /// Kinds are simulated on sound networks only.
    #[error("runs with modes are without faults; leave the faults out, or the modes")]
    KindsWithFaults,
    /// Acts by hand have no place in it.
    #[error("acts by hand say after how many records they happen, so the run must be recorded")]
    Unrecorded,
}

/// More memory than this, in GiB, the nodes of a simulated system may not take.
const MOST_GIB: u64 = 16;

impl Scenario {
    /// The plainest run: all of `setup`'s nodes want in all the time, everything takes one unit, and
    /// nothing goes wrong.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Scenario {
            seed: 1,
            requesters: NodeId::all(setup.nodes()).collect(),
            workload: Workload::saturated(),
            section: Distribution::constant(1.0),
            latency: Latency::same(Distribution::constant(1.0)),
            order: Order::Fifo,
            detector: Detector::default(),
            faults: Faults::default(),
            hand: Hand::default(),
            warmup: 0,
            entries: 1000,
            setup,
        }
    }

    /// Whether the algorithm may be expected to be correct in it: it begins well, nothing goes wrong and the
    /// channel is as good as the algorithm needs.
    #[must_use]
    pub fn keeps_assumptions(&self, info: &Info) -> bool {
        self.keeps_assumptions_with(&self.hand.acts, info)
    }

    /// The same as long as these are all acts that have been done: what comes after a point of a run
    /// does not change what is said of it there.
    pub(crate) fn keeps_assumptions_with(&self, acts: &[Act], info: &Info) -> bool {
        self.faults.is_none()
            && !matches!(self.detector, Detector::Imperfect { .. })
            && !acts.iter().any(|act| act.deed.is_fault())
            && self.begins_well(info)
    }

    fn begins_well(&self, info: &Info) -> bool {
        self.setup.beginnings().is_empty()
            && (self.order == Order::Fifo || info.channel == Order::Any)
    }

    /// Whether all that may go wrong is what the algorithm goes on without: nodes stop for ever, and exactly of these the
    /// others are told.
    pub(crate) fn is_survived(&self, acts: &[Act], info: &Info) -> bool {
        let stops = |act: &Act| !act.deed.is_fault() || matches!(act.deed, Deed::Crash { .. });
        info.has_detector()
            && self.faults.are_stops()
            && matches!(self.detector, Detector::Perfect { .. })
            && acts.iter().all(stops)
            && self.begins_well(info)
    }

    /// Checks everything that can be checked before `info` runs in it.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn check(&self, info: &Info) -> Result<(), ScenarioError> {
        let nodes = self.setup.nodes();
        check_memory(info.name, info.memory, nodes)?;
        if self.requesters.is_empty() && self.workload != Workload::None {
            return Err(ScenarioError::NoRequesters);
        }
        for &node in &self.requesters {
            known("the list of requesters", node, nodes)?;
        }
        within("the number of entries", self.entries > 0, self.entries.to_string(), "at least 1")?;
        let all = self.warmup.checked_add(self.entries);
        within(
            "the number of entries before measuring",
            all.is_some(),
            self.warmup.to_string(),
            "so small that it and the measured ones can be counted",
        )?;
        match &self.workload {
            Workload::None | Workload::Closed { .. } | Workload::Sequential { .. } => {}
            Workload::Poisson { rate: r } => rate("the rate of requests", *r)?,
            Workload::Bursts { size, every } => {
                let fits = (1..=self.requesters.len()).contains(size);
                within(
                    "the size of a burst",
                    fits,
                    size.to_string(),
                    "between 1 and the number of requesters",
                )?;
                within("the time between bursts", *every > 0, "0".into(), "at least 0.001")?;
            }
            Workload::Hot { rate: r, hot, share } => {
                rate("the rate of requests", *r)?;
                let fits = (1..=self.requesters.len()).contains(hot);
                within(
                    "the hot set",
                    fits,
                    hot.to_string(),
                    "between 1 and the number of requesters",
                )?;
                chance("the share of the hot set", *share)?;
            }
            Workload::List(list) => {
                for &(_, node) in list {
                    known("the list of requests", node, nodes)?;
                }
                let back = list.windows(2).find(|pair| pair[0].0 > pair[1].0);
                within(
                    "the time of a request in the list",
                    back.is_none(),
                    back.map_or_else(String::new, |pair| short(units(pair[1].0))),
                    "no earlier than that of the one before",
                )?;
            }
        }
        self.detector.check()?;
        check_faults(&self.faults, nodes)?;
        self.hand.check(nodes)
    }
}

/// Whether the nodes fit the memory.
pub(crate) fn check_memory(
    algorithm: &'static str,
    memory: Formula,
    nodes: usize,
) -> Result<(), ScenarioError> {
    let bytes = memory.value(&Figures { n: nodes as f64, ..Figures::default() });
    let gib = (bytes / f64::from(1 << 30)) as u64;
    if gib >= MOST_GIB {
        return Err(ScenarioError::TooLarge { algorithm, nodes, gib });
    }
    Ok(())
}

/// Whether that can go wrong with a system of `nodes`.
pub(crate) fn check_faults(faults: &Faults, nodes: usize) -> Result<(), ScenarioError> {
    chance("the probability of loss", faults.loss)?;
    chance("the probability of duplication", faults.duplicate)?;
    for planned in &faults.planned {
        match &planned.fault {
            Fault::Crash(node) => known("a crash", *node, nodes)?,
            Fault::Pause(node) => known("a pause", *node, nodes)?,
            Fault::Cut(cut) => {
                for node in cut.from.iter().chain(cut.to.iter()) {
                    known("a partition", node, nodes)?;
                }
            }
        }
    }
    for fault in [faults.crashes, faults.pauses, faults.partitions].into_iter().flatten() {
        rate("the rate of a fault", fault.rate)?;
        if let Some(lasting) = fault.lasting {
            length("the mean length of a fault", lasting)?;
        }
    }
    Ok(())
}

pub(crate) fn known(what: &'static str, node: NodeId, nodes: usize) -> Result<(), ScenarioError> {
    if node.index() < nodes {
        Ok(())
    } else {
        Err(ScenarioError::UnknownNode { what, node, nodes })
    }
}

pub(crate) fn within(
    what: &'static str,
    ok: bool,
    value: String,
    range: &'static str,
) -> Result<(), ScenarioError> {
    if ok { Ok(()) } else { Err(ScenarioError::OutOfRange { what, value, range }) }
}

/// A tick is a thousandth of a unit: a higher rate would make time stand still.
pub(crate) fn rate(what: &'static str, rate: f64) -> Result<(), ScenarioError> {
    within(what, rate > 0.0 && rate <= 1e3, short(rate), "above 0 and at most 1000")
}

pub(crate) fn length(what: &'static str, length: f64) -> Result<(), ScenarioError> {
    let fits = length > 0.0 && length <= 1e6;
    within(what, fits, short(length), "above 0 and at most 1000000")
}

fn chance(what: &'static str, p: f64) -> Result<(), ScenarioError> {
    within(what, (0.0..=1.0).contains(&p), short(p), "between 0 and 1")
}

/// A number without a tail of three hundred zeros.
pub(crate) fn short(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").unwrap_or(&text).to_string()
}
