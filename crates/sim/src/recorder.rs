//! Keeps what happens in a run.

use serde::Serialize;
use skeptron_core::NodeId;

use crate::trace::{Content, Header, Record, Ticks, Trace, What};

/// Collects records. What the network does to a message is recorded after the step that sent it, so
/// that all effects of a step stand together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    records: Vec<Record>,
    later: Vec<Record>,
    ids: u32,
}

impl Recorder {
    /// Something happens now.
    pub(crate) fn now(&mut self, t: Ticks, node: NodeId, what: What) {
        self.records.push(Record { t, node, what });
    }

    /// Something happens after the present step.
    pub(crate) fn later(&mut self, t: Ticks, node: NodeId, what: What) {
        self.later.push(Record { t, node, what });
    }

    /// A message is sent; returns its number.
    pub(crate) fn send(
        &mut self,
        t: Ticks,
        from: NodeId,
        to: NodeId,
        label: &'static str,
        message: Content,
    ) -> u32 {
        self.ids += 1;
        let id = u64::from(self.ids);
        self.now(t, from, What::Send { id, to, label: label.into(), message });
        self.ids
    }

    /// A message is copied; returns the copy's number.
    pub(crate) fn duplicate(&mut self, t: Ticks, from: NodeId, of: u32) -> u32 {
        self.ids += 1;
        self.later(t, from, What::Duplicate { id: u64::from(self.ids), of: u64::from(of) });
        self.ids
    }

    /// How much has happened, all steps being over.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// A step is over.
    pub(crate) fn end_of_step(&mut self) {
        if !self.later.is_empty() {
            self.records.append(&mut self.later);
        }
    }

    /// All of it.
    pub(crate) fn into_trace(self, header: Header) -> Trace {
        Trace { header, records: self.records }
    }
}

/// Messages and timers are plain data: they always have a JSON form.
pub(crate) fn as_json(content: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(content).unwrap_or_default()
}
