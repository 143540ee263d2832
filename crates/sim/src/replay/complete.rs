//! A whole run from its inputs.

use serde_json::Value as Json;
use skeptron_core::NodeId;

use super::states::System;
use super::{ReplayError, check_program, system};
use crate::trace::{Header, Record, Trace, What};
use crate::value::Value;

/// The run of these inputs, with all that the nodes do about them. Messages are numbered from 1 in the
/// order of sending; a copy has the number that its `duplicate` gives it.
///
/// # Errors
/// As [`super::replay`]: if the nodes cannot be built, or at the first input that cannot be.
pub fn complete(
    header: Header,
    inputs: impl IntoIterator<Item = Record>,
) -> Result<Trace, ReplayError> {
    let mut run = Completion::new(header)?;
    let taken = run.start().and_then(|()| inputs.into_iter().try_for_each(|input| run.take(input)));
    check_program(&run.trace.header)?;
    taken.map(|()| run.into_trace())
}

/// A run in the making, for those whose next input depends on what the nodes did about the last.
pub struct Completion {
    system: Box<dyn System>,
    trace: Trace,
    /// The highest number of a message.
    number: u64,
}

impl Completion {
    /// Nodes that have not started.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn new(header: Header) -> Result<Self, ReplayError> {
        let system = system(&header)?;
        Ok(Completion { system, trace: Trace { header, records: Vec::new() }, number: 0 })
    }

    /// Starts the nodes, at 0.
    ///
    /// # Errors
    /// If a record cannot be.
    pub fn start(&mut self) -> Result<(), ReplayError> {
        self.system.start();
        self.settle()
    }

    /// Gives an input, and records it with what its node does about it.
    ///
    /// # Errors
    /// If it cannot be at this point of the run.
    pub fn take(&mut self, input: Record) -> Result<(), ReplayError> {
        if let What::Duplicate { id, .. } = input.what {
            self.number = self.number.max(id);
        }
        self.append(input)?;
        self.settle()
    }

    /// Starts the nodes of a run that is known whole: what they do comes with its other records.
    pub fn begin(&mut self) {
        self.system.start();
    }

    /// Takes the next record of such a run.
    ///
    /// # Errors
    /// If it cannot be at this point of the run.
    pub fn repeat(&mut self, record: Record) -> Result<(), ReplayError> {
        self.append(record)
    }

    /// What happened so far.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.trace.records
    }

    /// The number of the next message.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.number + 1
    }

    /// What a node knows; `None` if it is down.
    #[must_use]
    pub fn state(&self, node: NodeId) -> Option<Value> {
        self.system.state(node)
    }

    /// The kind of a message on its way, and what is written beside it.
    #[must_use]
    pub fn message(&self, id: u64) -> Option<(&'static str, String)> {
        self.system.message(id)
    }

    /// The alarms that a node has set, by name.
    #[must_use]
    pub fn alarms(&self, node: NodeId) -> Vec<Json> {
        self.system.alarms(node)
    }

    /// The run.
    #[must_use]
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    fn settle(&mut self) -> Result<(), ReplayError> {
        while let Some(mut record) = self.system.due().cloned() {
            if let What::Send { id, .. } = &mut record.what {
                self.number += 1;
                *id = self.number;
            }
            self.append(record)?;
        }
        Ok(())
    }

    fn append(&mut self, record: Record) -> Result<(), ReplayError> {
        let line = self.trace.records.len() + 2;
        self.system.take(line, &record).map_err(|mismatch| ReplayError::Line { line, mismatch })?;
        self.trace.records.push(record);
        Ok(())
    }
}
