//! Runs a recorded run again: the nodes must do what the records say they did.

mod complete;
mod error;
mod judge;
mod ledger;
mod script;
mod states;

use skeptron_core::catalogue::Algorithm;
use skeptron_core::{NodeId, election, mutex};

pub use complete::{Completion, complete};
pub use error::{Mismatch, ReplayError};
pub use states::{Snapshots, Visit};
use states::{System, run_again};

use crate::trace::{Header, Ticks, Trace, VERSION};
use crate::value::Value;

/// What a run that was run again comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// How many records there are.
    pub records: usize,
    /// How many messages were sent, copies by the network not counted.
    pub messages: u64,
    /// How often somebody entered.
    pub entries: u64,
    /// In how many epochs a leader was named.
    pub elections: u64,
    /// Whom each node takes for the leader at the end of an election; `None` if it is down, or has
    /// come back and heard of none.
    pub leaders: Vec<Option<NodeId>>,
    /// How many inputs were refused.
    pub refused: u64,
    /// What the judges found.
    pub violations: Vec<Violation>,
    /// Who waits at the end.
    pub waiting: Vec<NodeId>,
    /// Each node's state at the end; `None` if it is down.
    pub nodes: Vec<Option<Value>>,
}

/// What a judge found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The line of the trace's file.
    pub line: usize,
    /// When.
    pub t: Ticks,
    /// Where.
    pub node: NodeId,
    /// Which property: `exclusion` or `fence`, of an election `agreement` or `validity`.
    pub property: &'static str,
    /// What happened.
    pub detail: String,
}

/// Runs a recorded run again, verifies that the nodes do what the records say, and judges the run.
/// `violation` records are not inputs and not compared.
///
/// # Errors
/// [`ReplayError`] if the nodes cannot be built, or at the first record that differs.
pub fn replay(trace: &Trace) -> Result<Replayed, ReplayError> {
    visited(trace, None)
}

/// Runs a recorded run again and tells `visit` what the nodes know: first of each node with `None`,
/// then with the index of an input record what its node knows since then, if that is new. A state is
/// `None` of a node that is down. It ends when `visit` breaks.
///
/// # Errors
/// As [`replay`], but only if the trace is wrong before `visit` breaks.
pub fn states(trace: &Trace, visit: Visit) -> Result<(), ReplayError> {
    visited(trace, Some(visit)).map(drop)
}

fn visited(trace: &Trace, visit: Option<Visit>) -> Result<Replayed, ReplayError> {
    let replayed = run_again(system(&trace.header)?, trace, visit);
    check_program(&trace.header)?;
    replayed
}

/// Whether the run's algorithm has answered, if it is a program: else nothing that its nodes did counts.
fn check_program(header: &Header) -> Result<(), ReplayError> {
    let program = mutex::foreign::find(&header.algorithm);
    Ok(program.map_or(Ok(()), mutex::foreign::Loaded::check)?)
}

/// The nodes of a run, which have not started.
fn system(header: &Header) -> Result<Box<dyn System>, ReplayError> {
    if header.skeptron != VERSION {
        return Err(ReplayError::OtherVersion(header.skeptron));
    }
    let algorithm = Algorithm::find(&header.algorithm)
        .ok_or_else(|| ReplayError::UnknownAlgorithm(header.algorithm.clone()))?;
    let setup = header.setup.clone().validated()?;
    Ok(match algorithm {
        Algorithm::Mutex(info) => mutex::dispatch(info, script::Build { name: info.name, setup })?,
        Algorithm::Election(info) => {
            election::dispatch(info, script::Build { name: info.name, setup })?
        }
    })
}
