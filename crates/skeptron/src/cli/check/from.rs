//! `--from run.jsonl --at STEP`: a search that begins where a recorded run is.

use std::collections::HashMap;
use std::io::Cursor;

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_check::{Scenario, Step, Which};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{Algorithm, Info};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Header, Record, TICKS_PER_UNIT, Ticks, Trace, What};

use super::Question;
use crate::ask::{CheckRequest, Files};

/// A recorded run up to the state from which everything is explored.
#[derive(Debug)]
pub(crate) struct Begun {
    info: &'static Info,
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
        let Begun { info, trace: Trace { header, .. }, steps, .. } = begun;
        if let Some(name) = self.algorithm.as_deref() {
            ensure!(
                name == info.name,
                "--from is a run of {}, and {name} is to be checked; leave the name out",
                info.name
            );
        }
        let setup = header.setup.clone().validated()?;
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
        let info = match Algorithm::find(&trace.header.algorithm) {
            Some(Algorithm::Mutex(info)) => info,
            Some(Algorithm::Election(info)) => bail!(
                "{} elects a leader: its alarms and detectors keep a time of their own, so it can be \
                 checked from the beginning only",
                info.name
            ),
            None => bail!("there is no algorithm named `{}`", trace.header.algorithm),
        };
        replay(&trace).context("the trace is not what the nodes do")?;
        let length = end(&trace.records, at)?;
        trace.records.truncate(length);
        let (steps, mut ends) = steps(&trace.records, trace.header.setup.nodes())?;
        // Each is over where the next one begins.
        ends.push(length);
        ends.remove(0);
        Ok(Begun { info, trace, steps, ends })
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
        let header = Header { command, ..self.trace.header.clone() };
        let mut all = self.trace.records[..kept].to_vec();
        let now = all.last().map_or(0, |record| record.t);
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
    // The network may act on a message at once, while its sender is still at work.
    for (index, record) in records.iter().enumerate().skip(end) {
        match record.what {
            What::Send { .. } | What::Enter { .. } | What::Refuse { .. } => end = index + 1,
            What::Lose { .. } | What::Duplicate { .. } => {}
            _ => break,
        }
    }
    Ok(end)
}

/// What happened, as the checker takes it, and the record of each.
fn steps(records: &[Record], nodes: usize) -> Result<(Vec<Step>, Vec<usize>)> {
    let mut way = Way { in_flight: Vec::new(), down: vec![false; nodes] };
    let (mut steps, mut places) = (Vec::new(), Vec::new());
    for (place, record) in records.iter().enumerate() {
        let is_refused = matches!(
            records.get(place + 1),
            Some(Record { what: What::Refuse { .. }, node, .. }) if *node == record.node
        );
        // A node that refuses what its user says goes on as if nothing had been said.
        let by_user = matches!(record.what, What::Request | What::Release);
        if !(is_refused && by_user)
            && let Some(step) = way.step(record)?
        {
            steps.push(step);
            places.push(place);
        }
    }
    Ok((steps, places))
}

/// The messages under way, in the order of sending, and who is down: what is sent to it, or on its way
/// there, never arrives.
struct Way {
    in_flight: Vec<(u64, NodeId, NodeId)>,
    down: Vec<bool>,
}

impl Way {
    /// The step that a record is, if it is one.
    fn step(&mut self, record: &Record) -> Result<Option<Step>> {
        let node = record.node;
        Ok(match record.what {
            What::Request => Some(Step::Request(node)),
            What::Release => Some(Step::Release(node)),
            What::Deliver { id } => self.take(id).map(Step::Deliver),
            What::Lose { id, .. } => self.take(id).map(Step::Lose),
            What::Duplicate { id, of } => self.copy(of, id).map(Step::Duplicate),
            What::Crash => {
                self.down[node.index()] = true;
                self.in_flight.retain(|&(_, _, to)| to != node);
                Some(Step::Crash(node))
            }
            What::Send { id, to, .. } => {
                if !self.down[to.index()] {
                    self.in_flight.push((id, node, to));
                }
                None
            }
            What::Restart => bail!(
                "{node} comes back in the run so far, and the checker knows no returns where nobody is \
                 elected; begin before that"
            ),
            _ => None,
        })
    }

    fn which(&self, id: u64) -> Option<(usize, Which)> {
        let place = self.in_flight.iter().position(|flight| flight.0 == id)?;
        let (_, from, to) = self.in_flight[place];
        let older = self.in_flight[..place].iter();
        let nth = older.filter(|flight| (flight.1, flight.2) == (from, to)).count();
        Some((place, Which { from, to, nth }))
    }

    fn take(&mut self, id: u64) -> Option<Which> {
        let (place, which) = self.which(id)?;
        self.in_flight.remove(place);
        Some(which)
    }

    fn copy(&mut self, of: u64, id: u64) -> Option<Which> {
        let (place, which) = self.which(of)?;
        self.in_flight.insert(place + 1, (id, which.from, which.to));
        Some(which)
    }
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
