//! What goes wrong, at given times or at random.

use skeptron_core::{NodeId, NodeSet};

use crate::trace::Ticks;

/// All faults of a run. The default is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// The probability that a message is lost.
    pub loss: f64,
    /// The probability that a message is delivered twice.
    pub duplicate: f64,
    /// What happens when.
    pub planned: Vec<PlannedFault>,
    /// Crashes at random.
    pub crashes: Option<RandomFault>,
    /// Pauses at random.
    pub pauses: Option<RandomFault>,
    /// Partitions at random.
    pub partitions: Option<RandomFault>,
}

/// A fault that begins by chance and lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomFault {
    /// How many begin per unit of time, in the whole system.
    pub rate: f64,
    /// How long one lasts in the mean, in units; `None` for ever.
    pub lasting: Option<f64>,
}

/// A fault at a given time. It carries its own end, so the end of one is never taken for that of
/// another.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    /// When it begins.
    pub from: Ticks,
    /// When it ends; `None` for never.
    pub until: Option<Ticks>,
    /// What it is.
    pub fault: Fault,
}

/// What can befall a node or the network.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The node stops and forgets everything; at the end it begins again in its initial state, but for
    /// the epoch that an election keeps in stable storage.
    Crash(NodeId),
    /// The node stands still; what arrives waits until it goes on.
    Pause(NodeId),
    /// Messages sent across the cut are lost until it is mended.
    Cut(Cut),
}

impl Fault {
    /// Whether a node stops.
    #[must_use]
    pub fn is_crash(&self) -> bool {
        matches!(self, Fault::Crash(_))
    }
}

/// A cut of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Messages from here …
    pub from: NodeSet,
    /// … to here are lost.
    pub to: NodeSet,
    /// And in the other direction too.
    pub both_ways: bool,
}

impl Cut {
    /// Whether it is in the way of a message.
    #[must_use]
    pub fn separates(&self, from: NodeId, to: NodeId) -> bool {
        self.from.contains(from) && self.to.contains(to)
            || self.both_ways && self.from.contains(to) && self.to.contains(from)
    }
}

impl Faults {
    /// Whether nothing can go wrong at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Faults::default()
    }

    /// Whether nothing can go wrong but that nodes stop for ever.
    #[must_use]
    pub fn are_stops(&self) -> bool {
        let Faults { loss, duplicate, planned, crashes, pauses, partitions } = self;
        let stops = |planned: &PlannedFault| planned.fault.is_crash() && planned.until.is_none();
        *loss == 0.0
            && *duplicate == 0.0
            && planned.iter().all(stops)
            && crashes.is_none_or(|crashes| crashes.lasting.is_none())
            && pauses.is_none()
            && partitions.is_none()
    }
}
