//! Whether what a note says of a run is so: the facts that it names are looked up in the run.

use std::ops::ControlFlow;

use anyhow::Result;
use skeptron_core::NodeId;
use skeptron_sim::replay;
use skeptron_sim::trace::Trace;
use skeptron_sim::value::Value;

use super::message_log::MessageLog;
use super::{states, to_wire};
use crate::lab::wire::{Fact, NodeState, Note, RecordKind, RunRecord, RunVerdict};

/// A run, as notes speak of it.
pub(super) struct Run<'a> {
    pub(super) trace: &'a Trace,
    pub(super) messages: &'a MessageLog,
    pub(super) verdicts: &'a [RunVerdict],
}

/// What the notes say that is not so, a sentence for each.
///
/// # Errors
/// If the nodes do not do what the run says.
pub(super) fn doubts(run: &Run, notes: &[Note]) -> Result<Vec<String>> {
    let mut notes: Vec<&Note> = notes.iter().filter(|note| !note.facts.is_empty()).collect();
    notes.sort_by_key(|note| note.at);
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let judge = Judge::of(run);
    let mut left = notes.into_iter().peekable();
    let mut now: Vec<NodeState> = vec![states::DOWN; run.trace.header.setup.nodes()];
    let mut doubts = Vec::new();
    let mut visit = |record: Option<usize>, node: NodeId, state: Option<&Value>| {
        // What a record changes is seen by those notes only that stand behind it.
        while let Some(note) = left.next_if(|note| record.is_some_and(|record| note.at <= record)) {
            doubts.extend(judge.doubts(note, &now));
        }
        now[node.index()] = judge.told(state);
        ControlFlow::Continue(())
    };
    replay::states(run.trace, &mut visit)?;
    doubts.extend(left.flat_map(|note| judge.doubts(note, &now)));
    Ok(doubts)
}

struct Judge<'a> {
    run: &'a Run<'a>,
    records: Vec<RunRecord>,
}

impl<'a> Judge<'a> {
    fn of(run: &'a Run<'a>) -> Self {
        let records = run.trace.records.iter();
        let records = records.map(|record| to_wire::record(record, run.messages, false)).collect();
        Judge { run, records }
    }

    fn told(&self, state: Option<&Value>) -> NodeState {
        states::told(state, states::variables(&self.run.trace.header.algorithm))
    }

    fn doubts(&self, note: &Note, now: &[NodeState]) -> Vec<String> {
        let wrong = |fact: &Fact| self.wrong(fact, note.at, now);
        let said = |why: String| format!("the note at {}: {why}", note.at);
        note.facts.iter().filter_map(wrong).map(said).collect()
    }

    /// Why a fact is none.
    fn wrong(&self, fact: &Fact, at: usize, now: &[NodeState]) -> Option<String> {
        match fact {
            Fact::Record { record, node, kind, label, peer } => {
                let wanted = (*node, *kind, label.as_deref(), *peer);
                let found = self.records.get(*record).map(|record| self.named(record));
                (found != Some(wanted))
                    .then(|| format!("record {record} is {found:?} and not {wanted:?}"))
            }
            Fact::Value { node, field, value } => {
                let state = (*node as usize).checked_sub(1).and_then(|row| now.get(row));
                let found = state.and_then(|state| state.vars.iter().find(|v| v.field == *field));
                let found = found.map_or("nothing", |variable| &variable.value);
                (found != value).then(|| format!("P{node} has {field} = {found} and not {value}"))
            }
            Fact::Count { count, kind, label } => {
                let before = self.records.iter().take(at).filter(|record| record.kind == *kind);
                let named = |record: &&RunRecord| label.is_none() || record.label == *label;
                let found = before.filter(named).count();
                let what = label.as_deref().unwrap_or("of any label");
                (found != *count).then(|| format!("{kind:?} {what}: {found} and not {count}"))
            }
            Fact::Violated { violated } => {
                (!self.is_violated(violated, at)).then(|| format!("{violated} is not violated"))
            }
            Fact::Holds { holds } => {
                self.is_violated(holds, at).then(|| format!("{holds} is violated"))
            }
        }
    }

    fn is_violated(&self, property: &str, at: usize) -> bool {
        let verdict = self.run.verdicts.iter().find(|verdict| verdict.property == property);
        verdict.and_then(|verdict| verdict.at).is_some_and(|record| record < at)
    }

    /// Who does what with which message, and with whom.
    fn named(&self, record: &'a RunRecord) -> (u32, RecordKind, Option<&str>, Option<u32>) {
        let message = record.message.and_then(|id| self.run.messages.find(id));
        let label = message.map(|message| &*message.label);
        let other = message.map(|message| {
            let (from, to) = (to_wire::number(message.from), to_wire::number(message.to));
            if record.kind == RecordKind::Deliver { from } else { to }
        });
        (record.node, record.kind, label, other.or(record.leader).or(record.whom))
    }
}
