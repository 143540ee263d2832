//! `--from run.jsonl --at STEP`: a search that begins where a recorded run is.

use std::collections::{BTreeSet, HashMap};
use std::io::Cursor;

use anyhow::{Context as _, Result, ensure};
use skeptron_check::{Scenario, Step};
use skeptron_core::NodeId;
use skeptron_core::catalogue::Algorithm;
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Bounds, Header, Record, TICKS_PER_UNIT, Ticks, Trace, What};

use super::super::{CheckRequest, Files};
use super::Question;
use super::way::Way;

/// A recorded run up to the state from which everything is explored.
#[derive(Debug)]
pub(crate) struct Begun {
    algorithm: Algorithm,
    /// The run so far.
    trace: Trace,
    /// What happened in it, as the checker takes it.
    steps: Vec<Step>,
    /// After how many records each of them is over.
    ends: Vec<usize>,
}

impl CheckRequest {
    /// What these options ask, and the run that it begins with, if it does with one.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible, or the run cannot be read.
    pub(crate) fn asked(&self, files: Files) -> Result<(Question, Option<Begun>)> {
        let (path, trace) = match (&self.text, &self.from) {
            (Some(text), _) => ("text", Trace::read(Cursor::new(text))),
            (None, Some(path)) => (path.as_str(), Trace::read(Cursor::new(files.read(path)?))),
            (None, None) => return Ok((self.question(files)?, None)),
        };
        let name = || format!("--from {path}");
        let begun = Begun::of(trace.with_context(name)?, self.at).with_context(name)?;
        Ok((self.question_after(&begun)?, Some(begun)))
    }

    /// What these options ask of a run that has begun.
    ///
    /// # Errors
    /// If they are of another algorithm, or impossible.
    pub(crate) fn question_after(&self, begun: &Begun) -> Result<Question> {
        let Begun { algorithm, trace: Trace { header, .. }, steps, .. } = begun;
        if let Some(name) = self.algorithm.as_deref() {
            ensure!(
                name == header.algorithm,
                "--from is a run of {}, and {name} is to be checked; leave the name out",
                header.algorithm
            );
        }
        let setup = header.setup.clone().validated()?;
        let info = match *algorithm {
            Algorithm::Mutex(info) => info,
            Algorithm::Election(info) => {
                let scenario = self.election_after(info, setup, header.order, steps.clone())?;
                return Ok(Question::Election(info, scenario));
            }
        };
        self.refuse_options_of_elections(info)?;
        let requests = self.requests(self.counts()?, info, &setup)?;
        let (after, order, faults) = (steps.clone(), header.order, self.faults()?);
        let scenario = Scenario { setup, anywhere: false, after, requests, order, faults };
        scenario.check()?;
        Ok(Question::Mutex(info, scenario))
    }
}

impl Begun {
    /// A run after so many of its steps; after all of them if none is named.
    ///
    /// # Errors
    /// If it is not what its nodes do, or the checker cannot begin there.
    pub(crate) fn of(mut trace: Trace, at: Option<usize>) -> Result<Self> {
        let algorithm = Algorithm::find(&trace.header.algorithm);
        let algorithm = algorithm
            .with_context(|| format!("there is no algorithm named `{}`", trace.header.algorithm))?;
        ensure!(
            matches!(algorithm, Algorithm::Mutex(_)) || trace.header.bounds.is_some(),
            "{} elects a leader, and the run does not say in which bounds its alarms count (`bounds` in its header): \
             an earlier Skeptron recorded it; record it anew",
            trace.header.algorithm
        );
        replay(&trace).context("the trace is not what the nodes do")?;
        let length = end(&trace.records, at)?;
        trace.records.truncate(length);
        let (steps, mut ends) = Way::new(&trace.header)?.steps(&trace.records)?;
        // Each is over where the next one begins.
        ends.push(length);
        ends.remove(0);
        Ok(Begun { algorithm, trace, steps, ends })
    }

    /// As [`continued`].
    fn continued(&self, found: Trace) -> Trace {
        let Trace { header: Header { command, .. }, records } = found;
        let here = self.steps.len() as Ticks * TICKS_PER_UNIT;
        let last = records.last().map_or(0, |record| record.t).min(here) / TICKS_PER_UNIT;
        let kept = match last as usize {
            all if all == self.steps.len() => self.trace.records.len(),
            0 => 0,
            some => self.ends[some - 1],
        };
        let mut all = self.trace.records[..kept].to_vec();
        let now = all.last().map_or(0, |record| record.t);
        let in_steps =
            |bounds: Bounds| Bounds { steps_from: bounds.steps_from.or(Some(now)), ..bounds };
        let bounds = self.trace.header.bounds.map(in_steps);
        let header = Header { command, bounds, ..self.trace.header.clone() };
        if let Some(first) = records.iter().find(|record| record.t > here) {
            // The checker knows no pauses: whoever stands still goes on, late, before anything else happens.
            let t = now + (first.t - here) / TICKS_PER_UNIT * header.ticks_per_unit;
            all.extend(paused(&all).map(|node| Record { t, node, what: What::Resume }));
        }
        let mut numbers = Numbers::of(&self.trace.records);
        for Record { t, node, what } in records {
            let what = numbers.apply(what);
            let later = t.saturating_sub(here) / TICKS_PER_UNIT * header.ticks_per_unit;
            if t > here || matches!(what, What::Violation { .. }) {
                all.push(Record { t: now + later, node, what });
            }
        }
        Trace { header, records: all }
    }
}

/// Who stands still at the end of these records.
fn paused(records: &[Record]) -> impl Iterator<Item = NodeId> + use<> {
    let mut paused = BTreeSet::new();
    for record in records {
        match record.what {
            What::Pause => {
                paused.insert(record.node);
            }
            What::Resume | What::Crash => {
                paused.remove(&record.node);
            }
            _ => {}
        }
    }
    paused.into_iter()
}

/// A counterexample, whose steps take a unit each, as what comes after the run that it begins with, if it
/// does with one: with the times of that run and its numbers of messages.
pub(crate) fn continued(begun: Option<&Begun>, found: Trace) -> Trace {
    match begun {
        Some(begun) => begun.continued(found),
        None => found,
    }
}

/// After how many records so many steps are over, with all that their nodes do about them.
fn end(records: &[Record], at: Option<usize>) -> Result<usize> {
    let begins = |(index, record): &(usize, &Record)| *index == 0 || record.what.is_input();
    let begins: Vec<usize> =
        records.iter().enumerate().filter(begins).map(|(index, _)| index).collect();
    let Some(at) = at else { return Ok(records.len()) };
    ensure!(at <= begins.len(), "--at is {at}, but the run has {} steps", begins.len());
    let mut end = begins.get(at).copied().unwrap_or(records.len());
    let last = at.checked_sub(1).and_then(|last| records.get(begins[last]));
    // The network may act on a message at once, while its sender is still at work.
    for (index, record) in records.iter().enumerate().skip(end) {
        match record.what {
            What::Lose { .. } | What::Duplicate { .. } | What::Violation { .. } => {}
            // Who comes back, or suspects whom it names, calls at once: that is one step of the checker's.
            What::Call if last.is_some_and(|last| calls_at_once(last, record)) => end = index + 1,
            ref what if !what.is_input() => end = index + 1,
            _ => break,
        }
    }
    Ok(end)
}

fn calls_at_once(last: &Record, call: &Record) -> bool {
    let may =
        !matches!(last.what, What::Call | What::Crash | What::Lose { .. } | What::Duplicate { .. });
    may && (last.node, last.t) == (call.node, call.t)
}

/// The numbers that a run gives to messages which a counterexample numbers otherwise.
struct Numbers {
    sent: std::vec::IntoIter<u64>,
    copied: std::vec::IntoIter<u64>,
    highest: u64,
    known: HashMap<u64, u64>,
}

impl Numbers {
    fn of(records: &[Record]) -> Self {
        let (mut sent, mut copied) = (Vec::new(), Vec::new());
        for record in records {
            match record.what {
                What::Send { id, .. } => sent.push(id),
                What::Duplicate { id, .. } => copied.push(id),
                _ => {}
            }
        }
        let highest = sent.iter().chain(&copied).copied().max().unwrap_or(0);
        let (sent, copied) = (sent.into_iter(), copied.into_iter());
        Numbers { sent, copied, highest, known: HashMap::new() }
    }

    fn note(&mut self, number: u64, known: Option<u64>) -> u64 {
        let number_here = known.unwrap_or_else(|| {
            self.highest += 1;
            self.highest
        });
        self.known.insert(number, number_here);
        number_here
    }

    fn apply(&mut self, mut what: What) -> What {
        match &mut what {
            What::Send { id, .. } => {
                let known = self.sent.next();
                *id = self.note(*id, known);
            }
            What::Duplicate { id, of } => {
                let known = self.copied.next();
                *of = self.known.get(of).copied().unwrap_or(*of);
                *id = self.note(*id, known);
            }
            What::Deliver { id } | What::Lose { id, .. } => {
                *id = self.known.get(id).copied().unwrap_or(*id);
            }
            _ => {}
        }
        what
    }
}
