//! What must hold, and what was found.

use std::fmt;

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::Access;

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Property {
    /// At most one node is inside (spec 1, GA1), and only one that asked.
    Exclusion,
    /// Whoever wants in gets in (spec 1, GA2 and GA2').
    Progress,
    /// Requests ordered by happened-before are served in that order (spec 1, EM3).
    Order,
    /// Fences rise from entry to entry.
    Fence,
    /// No more messages per entry than published.
    Messages,
    /// At the end the channels are empty and the nodes idle.
    Rest,
    /// No node refuses what a correct peer sends.
    Refused,
    /// Nobody names another leader in the same epoch (spec 4).
    Agreement,
    /// The leader was alive in its epoch and, where that is claimed, the highest (spec 4).
    Validity,
    /// Every election ends with a live leader that is known (spec 4).
    Termination,
    /// Whoever wants in gets in although others ask without end (spec 1, GA2' and EM2).
    Starvation,
    /// No wait is passed by more entries of others than was asked.
    Bypass,
    /// Requests are served in the order in which they were made.
    #[serde(rename = "order-by-time")]
    OrderByTime,
    /// What was asked of every state holds.
    Invariant,
    /// No run is dearer, or cheaper, than this one.
    Extreme,
    /// From legitimate states only such are reached, where an algorithm is self-stabilising.
    Closure,
    /// Begun in any state, every fair run comes to a legitimate one.
    Convergence,
}

impl Property {
    /// All of them.
    pub const ALL: [Property; 17] = [
        Property::Exclusion,
        Property::Progress,
        Property::Order,
        Property::Fence,
        Property::Messages,
        Property::Rest,
        Property::Refused,
        Property::Agreement,
        Property::Validity,
        Property::Termination,
        Property::Starvation,
        Property::Bypass,
        Property::OrderByTime,
        Property::Invariant,
        Property::Extreme,
        Property::Closure,
        Property::Convergence,
    ];

    /// What is judged of mutual exclusion with bounded requests, where the algorithm promises it.
    pub const MUTEX: &'static [Property] = Self::ALL.split_at(7).0;

    /// What is promised only from a legitimate state on.
    pub(crate) const FROM_LEGITIMATE: &'static [Property] = &[
        Property::Exclusion,
        Property::Order,
        Property::Fence,
        Property::Bypass,
        Property::OrderByTime,
    ];

    /// What is judged of elections.
    pub const ELECTION: &'static [Property] = Self::ALL.split_at(6).1.split_at(4).0;

    /// Its name in tables, JSON and traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Property::Exclusion => "exclusion",
            Property::Progress => "progress",
            Property::Order => "order",
            Property::Fence => "fence",
            Property::Messages => "messages",
            Property::Rest => "rest",
            Property::Refused => "refused",
            Property::Agreement => "agreement",
            Property::Validity => "validity",
            Property::Termination => "termination",
            Property::Starvation => "starvation",
            Property::Bypass => "bypass",
            Property::OrderByTime => "order-by-time",
            Property::Invariant => "invariant",
            Property::Extreme => "extreme",
            Property::Closure => "closure",
            Property::Convergence => "convergence",
        }
    }

    /// What it says, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Property::Exclusion => "at most one node is inside (GA1, EM1)",
            Property::Progress => "no deadlock: these requests are all served (GA2)",
            Property::Order => "requests are served in the order of happened-before (EM3)",
            Property::Fence => "fences rise from entry to entry",
            Property::Messages => "no more messages per entry than published",
            Property::Rest => "at the end channels are empty and nodes idle",
            Property::Refused => "no correct peer's message is refused",
            Property::Agreement => "one leader in one epoch",
            Property::Validity => "the leader was alive, and the highest where that is claimed",
            Property::Termination => "every election ends with a live leader",
            Property::Starvation => "nobody waits for ever, though others ask on (GA2', EM2)",
            Property::Bypass => "no wait is passed by more entries of others",
            Property::OrderByTime => "requests are served in the order in which they were made",
            Property::Invariant => "what was asked of every state holds",
            Property::Extreme => "no run has a more extreme value",
            Property::Closure => "from legitimate states only such are reached",
            Property::Convergence => "begun in any state, it comes to a legitimate one",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties(u32);

impl Properties {
    pub(crate) fn insert(&mut self, property: Property) {
        self.0 |= 1 << property as u8;
    }

    pub(crate) fn contains(self, property: Property) -> bool {
        self.0 & 1 << property as u8 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn and(self, other: Properties) -> Properties {
        Properties(self.0 & other.0)
    }

    pub(crate) fn without(self, others: &[Property]) -> Properties {
        self.iter().filter(|property| !others.contains(property)).collect()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Property> {
        Property::ALL.into_iter().filter(move |&property| self.contains(property))
    }
}

impl FromIterator<Property> for Properties {
    fn from_iter<I: IntoIterator<Item = Property>>(properties: I) -> Self {
        let mut set = Properties::default();
        properties.into_iter().for_each(|property| set.insert(property));
        set
    }
}

/// One step of a counterexample. Which message is meant by its place among those in flight from the
/// one to the other node, in the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The user of a node wants in.
    Request(NodeId),
    /// The user of a node leaves.
    Release(NodeId),
    /// The user of a node of a lock with kinds wants something.
    Access {
        /// Of which node.
        node: NodeId,
        /// What it wants.
        access: Access,
    },
    /// A message arrives.
    Deliver(Which),
    /// A message is lost.
    Lose(Which),
    /// A message is copied; the copy follows it.
    Duplicate(Which),
    /// A node stops.
    Crash(NodeId),
    /// A node comes back.
    Restart(NodeId),
    /// The application of a node wants an election.
    Call(NodeId),
    /// The failure detector of a node changes its mind.
    Suspect {
        /// Whose.
        node: NodeId,
        /// Of whom.
        whom: NodeId,
    },
    /// The failure detector of a node changes its mind again.
    Trust {
        /// Whose.
        node: NodeId,
        /// Of whom.
        whom: NodeId,
    },
    /// An alarm of a node rings: the `nth` of those that are set, by name.
    Expire {
        /// Whose.
        node: NodeId,
        /// Which one.
        nth: usize,
    },
    /// A node gets the random number for which it has asked.
    Draw {
        /// Which node.
        node: NodeId,
        /// From 1 on.
        number: u32,
    },
    /// One bound passes: whatever is in flight is late now.
    Tick,
}

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Which {
    /// Who sent it.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// How many older ones are in flight between the two.
    pub nth: usize,
}
