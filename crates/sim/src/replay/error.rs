//! Why a run cannot be run again.

use skeptron_core::{NodeId, SetupError};
use thiserror::Error;

use crate::trace::{Inconsistent, VERSION, unknown_algorithm};

/// Why a run cannot be run again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// Another version of the format.
    #[error("version {0} of the format; this is written for version {VERSION}")]
    OtherVersion(u32),
    /// No such algorithm.
    #[error("{}", unknown_algorithm(.0))]
    UnknownAlgorithm(String),
    /// The system cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A record cannot be, or is not what the node does.
    #[error("line {line}: {mismatch}")]
    Line {
        /// The line of the trace's file: the header is line 1, the first record line 2.
        line: usize,
        /// What is wrong with it.
        mismatch: Mismatch,
    },
}

/// How a record differs from what happens. Records are quoted as they stand in the file, without the
/// `id` of a message that is expected, as any will do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Mismatch {
    /// The record does not fit those before it.
    #[error("{0}")]
    Inconsistent(#[from] Inconsistent),
    /// The node does something else.
    #[error("expected {expected}, found {found}")]
    Other {
        /// What the node does now.
        expected: String,
        /// What the trace says.
        found: String,
    },
    /// The node does nothing more.
    #[error("expected an input, as the node does nothing more; found {found}")]
    Nothing {
        /// What the trace says.
        found: String,
    },
    /// The trace ends too early.
    #[error("expected {expected}, found the end")]
    End {
        /// What the node does now.
        expected: String,
    },
    /// Only an alarm that is set rings.
    #[error("{node} has set no such alarm: {found}")]
    NotSet {
        /// Which node.
        node: NodeId,
        /// What the trace says.
        found: String,
    },
    /// It belongs to the other kind of algorithm.
    #[error("no input of such an algorithm: {found}")]
    Foreign {
        /// What the trace says.
        found: String,
    },
    /// Nothing happens at a node that is down or paused, and only one that is can go on.
    #[error("{node} is {state} and cannot take this: {found}")]
    State {
        /// Which node.
        node: NodeId,
        /// `up`, `down` or `paused`.
        state: &'static str,
        /// What the trace says.
        found: String,
    },
}
