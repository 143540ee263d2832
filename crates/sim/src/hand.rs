//! What a hand does to a run, besides what the scenario plans: the laboratory's part of a run.
//!
//! An act happens as soon as so many records have been recorded, and before the next event of the
//! agenda. So everything before it is as it was without it, and a run with acts is as determined as
//! any other.

mod play;

use serde::{Deserialize, Serialize};
use skeptron_core::{NodeId, NodeSet};
use thiserror::Error;

pub(crate) use play::{Passage, Played, ends_run};

use crate::faults::Cut;
use crate::metrics::units;
use crate::run::Options;
use crate::scenario::{ScenarioError, known, short, within};
use crate::trace::Ticks;

/// What a hand does to a run. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hand {
    /// What it does, in rising order of `after`.
    pub acts: Vec<Act>,
    /// Nobody leaves the section of its own accord.
    pub holds: bool,
}

/// Something that a hand does at one point of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// It happens right after so many records; if they end within an event, then after that event.
    pub after: usize,
    /// When, but no earlier than what has happened and no later than what happens next.
    pub t: Ticks,
    /// What it does.
    #[serde(flatten)]
    pub deed: Deed,
}

/// What a hand can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// The application of a node wants in.
    Request {
        /// Which node.
        node: NodeId,
    },
    /// The application of a node leaves the section, whatever was planned.
    Release {
        /// Which node.
        node: NodeId,
    },
    /// The application of a node wants an election.
    Call {
        /// Which node.
        node: NodeId,
    },
    /// The next random number that a node draws is this one.
    Draw {
        /// Which node.
        node: NodeId,
        /// Which number, from 1 on.
        number: u32,
    },
    /// A node stops and forgets everything, until it is restarted.
    Crash {
        /// Which node.
        node: NodeId,
    },
    /// A node that is down begins again.
    Restart {
        /// Which node.
        node: NodeId,
    },
    /// A node stands still until it is resumed.
    Pause {
        /// Which node.
        node: NodeId,
    },
    /// A paused node goes on.
    Resume {
        /// Which node.
        node: NodeId,
    },
    /// A message arrives now; on a FIFO channel those before it do, too.
    Deliver {
        /// Its number in the trace.
        message: u64,
    },
    /// A message is lost.
    Drop {
        /// Its number in the trace.
        message: u64,
    },
    /// A message gets a copy, which sets out now.
    Duplicate {
        /// Its number in the trace.
        message: u64,
    },
    /// A message takes longer; on a FIFO channel those behind it wait for it.
    Delay {
        /// Its number in the trace.
        message: u64,
        /// How much longer.
        by: Ticks,
    },
    /// What is sent from some nodes to others is lost until the network is mended.
    Cut {
        /// Messages from here …
        from: Vec<NodeId>,
        /// … to here are lost.
        to: Vec<NodeId>,
        /// And in the other direction too.
        both_ways: bool,
    },
    /// All cuts of the network end.
    Mend,
}

impl Deed {
    /// Whether it breaks what is assumed for mutual exclusion: reliable nodes and channels. How long
    /// a message takes is not assumed.
    pub(crate) fn is_fault(&self) -> bool {
        match self {
            Deed::Request { .. } | Deed::Release { .. } | Deed::Call { .. } => false,
            Deed::Deliver { .. } | Deed::Delay { .. } | Deed::Draw { .. } => false,
            Deed::Crash { .. } | Deed::Restart { .. } | Deed::Pause { .. } => true,
            Deed::Resume { .. } | Deed::Drop { .. } | Deed::Duplicate { .. } => true,
            Deed::Cut { .. } | Deed::Mend => true,
        }
    }

    /// Whether it breaks what elections assume: crashes are part of the matter, but messages are in
    /// time.
    pub(crate) fn is_fault_of_election(&self) -> bool {
        match self {
            Deed::Crash { .. } | Deed::Restart { .. } => false,
            Deed::Delay { .. } => true,
            other => other.is_fault(),
        }
    }

    /// The nodes that it names.
    fn nodes(&self) -> &[NodeId] {
        match self {
            Deed::Request { node }
            | Deed::Release { node }
            | Deed::Call { node }
            | Deed::Draw { node, .. }
            | Deed::Crash { node }
            | Deed::Restart { node }
            | Deed::Pause { node }
            | Deed::Resume { node } => std::slice::from_ref(node),
            Deed::Cut { from, .. } => from,
            _ => &[],
        }
    }
}

/// Why an act cannot be done where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Impossible {
    /// Such a message is not on its way.
    #[error("message {0} is not in flight")]
    NotInFlight(u64),
    /// It asked before and is not served yet.
    #[error("{0} waits already")]
    Waits(NodeId),
    /// It asked before and has not left yet.
    #[error("{0} is inside; release it before it asks again")]
    Inside(NodeId),
    /// Who is not inside cannot leave.
    #[error("{0} is not inside, so it cannot leave")]
    NotInside(NodeId),
    /// A node that is down does nothing.
    #[error("{0} is down; restart it first")]
    Down(NodeId),
    /// A paused node does nothing.
    #[error("{0} is paused; resume it first")]
    Paused(NodeId),
    /// It crashed before.
    #[error("{0} is down already")]
    DownAlready(NodeId),
    /// It was paused before.
    #[error("{0} is paused already")]
    PausedAlready(NodeId),
    /// Only a node that is down can restart.
    #[error("{0} is not down, so it cannot restart")]
    NotDown(NodeId),
    /// Only a paused node can go on.
    #[error("{0} is not paused, so it cannot resume")]
    NotPaused(NodeId),
    /// The network is whole.
    #[error("the network is not cut, so there is nothing to mend")]
    NotCut,
    /// Elections are called for.
    #[error("this is mutual exclusion, where nobody calls an election; request instead")]
    NoElection,
    /// Sections are asked for.
    #[error("this is an election, where nobody requests or releases; call instead")]
    NoMutex,
    /// Nothing is left to chance.
    #[error("nothing is drawn at random here; itai-rodeh draws")]
    NoChance,
    /// No such number is drawn.
    #[error("{number} is not drawn here: numbers are 1 to {most}")]
    NotToDraw {
        /// Which one.
        number: u32,
        /// The highest that is.
        most: usize,
    },
    /// The run is over before.
    #[error("it comes after {after} records, but the run ends after {records}")]
    Never {
        /// Where it should happen.
        after: usize,
        /// How many records there are.
        records: usize,
    },
    /// Acts are in order.
    #[error(
        "it comes after {after} records, but the one before it after {before}; put them in order"
    )]
    Unordered {
        /// Where it should happen.
        after: usize,
        /// Where the one before it happens.
        before: usize,
    },
}

/// No act is later, and no message is delayed by more: so that time can always be counted.
const LONGEST: Ticks = 1_000_000_000_000;

impl Hand {
    /// Whether it does nothing at all.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Hand::default()
    }

    /// Whether there is a record of the run in which its acts have their places.
    pub(crate) fn check_recorded(&self, options: &Options) -> Result<(), ScenarioError> {
        let placed = self.acts.is_empty() || options.record;
        if placed { Ok(()) } else { Err(ScenarioError::Unrecorded) }
    }

    /// Whether all that can be checked before the run fits a system of `nodes`.
    pub(crate) fn check(&self, nodes: usize) -> Result<(), ScenarioError> {
        for (i, act) in self.acts.iter().enumerate() {
            let before = self.acts[..i].last().map_or(0, |before| before.after);
            if act.after < before {
                let why = Impossible::Unordered { after: act.after, before };
                return Err(ScenarioError::Act { number: i + 1, why });
            }
            let to = if let Deed::Cut { to, .. } = &act.deed { &to[..] } else { &[] };
            for &node in act.deed.nodes().iter().chain(to) {
                known("an act", node, nodes)?;
            }
            soon("the time of an act", act.t)?;
            if let Deed::Delay { by, .. } = act.deed {
                soon("the delay of a message", by)?;
            }
        }
        Ok(())
    }
}

fn soon(what: &'static str, ticks: Ticks) -> Result<(), ScenarioError> {
    within(what, ticks <= LONGEST, short(units(ticks)), "at most 1000000000")
}

/// A cut as the network knows it.
fn cut(from: &[NodeId], to: &[NodeId], both_ways: bool) -> Cut {
    let set = |nodes: &[NodeId]| nodes.iter().copied().collect::<NodeSet>();
    Cut { from: set(from), to: set(to), both_ways }
}
