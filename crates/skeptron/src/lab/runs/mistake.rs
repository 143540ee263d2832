//! Where a broken variant first does what the correct algorithm would not.

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use skeptron_sim::replay::{Mismatch, ReplayError, replay};
use skeptron_sim::trace::{Header, Record, Trace, words};

use super::to_wire::number;
use crate::lab::catalogue::sound_of;
use crate::lab::wire::Mistake;

/// The first step of the run that nodes of the correct algorithm would not take so; none if they would
/// take them all: then it is not a rule of the nodes that is broken.
///
/// # Errors
/// If nothing else is known of the algorithm, or it cannot run on this system.
pub(super) fn first(trace: &Trace) -> Result<Option<Mistake>> {
    let algorithm = &trace.header.algorithm;
    let sound = sound_of(algorithm).filter(|sound| sound != algorithm);
    let sound =
        sound.with_context(|| format!("{algorithm} is no broken variant of another one"))?;
    let header = Header { algorithm: sound.into(), ..trace.header.clone() };
    match replay(&Trace { header, records: trace.records.clone() }) {
        Ok(_) => Ok(None),
        Err(ReplayError::Line { line, mismatch }) => Ok(told(trace, line - 2, &mismatch)),
        Err(other) => bail!(other),
    }
}

/// The step in which the record at that place, or what is missing there, would have happened.
fn told(trace: &Trace, place: usize, mismatch: &Mismatch) -> Option<Mistake> {
    let records = &trace.records;
    // Where an input comes too early, the node of the step before should have done more.
    let effect = records.get(place).is_some_and(|record| !record.what.is_input());
    let until = if effect { place + 1 } else { place };
    let step = records.get(..until)?.iter().rposition(|record| record.what.is_input())?;
    let expected = match mismatch {
        Mismatch::Other { expected, .. } | Mismatch::End { expected } => worded(expected),
        _ => None,
    };
    Some(Mistake { record: step, node: number(records[step].node), expected })
}

/// A record as it would stand in a file, in words; a message that is expected has no number there.
fn worded(quoted: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(quoted).ok()?;
    if value["do"] == "send" {
        value["id"] = json!(0);
    }
    let record: Record = serde_json::from_value(value).ok()?;
    Some(words(&record.what, |_| None))
}
