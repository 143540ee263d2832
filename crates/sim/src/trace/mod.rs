//! What happened in a run, and the forms in which it is written: each form is one file.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skeptron_core::catalogue::Order;
use skeptron_core::{NodeId, Setup};

/// Simulated time. One unit, the `1` of the command line, is [`TICKS_PER_UNIT`] ticks.
pub type Ticks = u64;

/// How finely a unit of time is divided. Decimal, so that 0.1 units are a whole number of ticks.
pub const TICKS_PER_UNIT: Ticks = 1000;

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// What was run.
    pub header: Header,
    /// What happened, in order.
    pub records: Vec<Record>,
}

/// What was run: enough to build the same nodes again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub skeptron: u32,
    /// The algorithm's name in the catalogue.
    pub algorithm: String,
    /// The system.
    pub setup: Setup,
    /// The order in which its channels delivered.
    pub order: Order,
    /// How many ticks of `t` are one unit of time.
    pub ticks_per_unit: Ticks,
    /// The command that makes the same run again, if a command made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// One thing that happened at one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When.
    pub t: Ticks,
    /// Where.
    pub node: NodeId,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen. Inputs come from outside the algorithm; what a node does about an input follows
/// it at the same node and time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum What {
    /// Input: the application wants in.
    Request,
    /// Input: the application leaves.
    Release,
    /// Input: a message arrives.
    Deliver {
        /// Which copy of which message: the `id` of a `send` or `duplicate` before.
        id: u64,
    },
    /// Input: the node stops and forgets everything.
    Crash,
    /// Input: the node begins again in its initial state.
    Restart,
    /// Input: the node stands still; what arrives waits.
    Pause,
    /// Input: the node goes on.
    Resume,
    /// Input: the network loses a message (recorded at its sender).
    Lose {
        /// Which copy.
        id: u64,
        /// To what.
        cause: Loss,
    },
    /// Input: the network makes a second copy of a message (recorded at its sender).
    Duplicate {
        /// The copy's own id.
        id: u64,
        /// The message it is a copy of.
        of: u64,
    },
    /// Effect: the node sends a message.
    Send {
        /// Its number, unique in the run.
        id: u64,
        /// To whom.
        to: NodeId,
        /// The name of its kind.
        label: String,
        /// What it says.
        message: Value,
    },
    /// Effect: the node enters the section.
    Enter {
        /// The entry's fence.
        fence: u64,
    },
    /// Effect: the node does not take the input before.
    Refuse {
        /// Why not.
        why: String,
    },
    /// A judge's finding: a property is violated here.
    Violation {
        /// Which one: `exclusion`, `progress`, `order`, `fence`, `refused`.
        property: String,
        /// What happened.
        detail: String,
    },
}

/// How a message is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// By chance.
    Chance,
    /// Its way was cut when it was sent.
    Partition,
    /// Its receiver was down when it arrived.
    Down,
}
