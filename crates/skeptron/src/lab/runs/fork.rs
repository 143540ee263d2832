//! A recorded run that a hand changes: what happened up to there is done again, input by input, and
//! from there on the simulator goes on.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_core::catalogue::{Algorithm, Info};
use skeptron_sim::trace::{Loss, Record, TICKS_PER_UNIT, Ticks, Trace, What};
use skeptron_sim::{Act, Deed, Hand, Scenario, Workload};

/// What is done again at most: each deed looks through all messages under way.
const MOST_RECORDS: usize = 20_000;

/// Whether a hand can change it: alarms and failure detectors keep a time of their own.
pub(super) fn is_possible(trace: &Trace) -> bool {
    trace.header.ticks_per_unit == TICKS_PER_UNIT
        && trace.records.len() <= MOST_RECORDS
        && matches!(
            Algorithm::find(&trace.header.algorithm),
            Some(Algorithm::Mutex(info)) if !info.has_detector()
        )
}

/// The recorded run with these acts of a hand, and how many acts bring it to where they begin.
///
/// # Errors
/// If nobody can act on it, or the first act comes after its end.
pub(super) fn fork(trace: &Trace, acts: Vec<Act>) -> Result<(&'static Info, Scenario, usize)> {
    ensure!(
        is_possible(trace),
        "this run was recorded and cannot be changed: it is an election, its nodes are told of crashes, or it is too long; begin a run of \
         your own by the options above"
    );
    let after = acts.first().map_or(0, |act| act.after);
    let Some(done) = trace.records.get(..after) else {
        bail!("the act comes after {after} records, but the run has {}", trace.records.len())
    };
    let mut all = retold(done);
    let again = all.len();
    // However the judges of the simulator count: the first act comes right after what was retold.
    let first = all.last().map_or(0, |act| act.after).min(after);
    all.extend(acts);
    if let Some(act) = all.get_mut(again) {
        act.after = first;
    }
    let header = &trace.header;
    let Some(Algorithm::Mutex(info)) = Algorithm::find(&header.algorithm) else {
        bail!("there is no algorithm `{}` for mutual exclusion", header.algorithm)
    };
    let setup = header.setup.clone().validated().context("the system cannot be built")?;
    let scenario = Scenario {
        workload: Workload::None,
        order: header.order,
        // Nobody leaves of its own accord: in the recorded run nobody did.
        hand: Hand { acts: all, holds: true },
        ..Scenario::new(setup)
    };
    Ok((info, scenario, again))
}

/// What a hand does to bring these records about, each at its time.
fn retold(records: &[Record]) -> Vec<Act> {
    let now = records.last().map_or(0, |record| record.t);
    let ends: HashMap<u64, Ticks> = records.iter().filter_map(end).collect();
    let mut acts = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let (t, node) = (record.t, record.node);
        let deed = match record.what {
            What::Request => Some(Deed::Request { node }),
            What::Release => Some(Deed::Release { node }),
            What::Call => Some(Deed::Call { node }),
            What::Crash => Some(Deed::Crash { node }),
            What::Restart => Some(Deed::Restart { node }),
            What::Pause => Some(Deed::Pause { node }),
            What::Resume => Some(Deed::Resume { node }),
            // At a node that is down it is lost as it was.
            What::Deliver { id } | What::Lose { id, cause: Loss::Down } => {
                Some(Deed::Deliver { message: id })
            }
            What::Lose { id, .. } => Some(Deed::Drop { message: id }),
            What::Duplicate { of, .. } => Some(Deed::Duplicate { message: of }),
            _ => None,
        };
        acts.extend(deed.map(|deed| Act { after: place, t, deed }));
        if let What::Send { id, .. } | What::Duplicate { id, .. } = record.what {
            // It takes one unit, unless it took longer; what is still under way arrives a unit after
            // the hand has begun.
            let end = ends.get(&id).copied().unwrap_or(now + TICKS_PER_UNIT);
            let by = end.saturating_sub(t + TICKS_PER_UNIT);
            let delay = Act { after: place + 1, t, deed: Deed::Delay { message: id, by } };
            acts.extend((by > 0).then_some(delay));
        }
    }
    acts
}

/// Which message ends there, and when.
fn end(record: &Record) -> Option<(u64, Ticks)> {
    match record.what {
        What::Deliver { id } | What::Lose { id, .. } => Some((id, record.t)),
        _ => None,
    }
}
