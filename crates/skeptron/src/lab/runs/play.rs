//! Plays a run: simulates what the options describe, or replays what was recorded.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use skeptron_core::catalogue::{Algorithm, ElectionInfo};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Record, Trace};
use skeptron_sim::{Options, election, run};

use super::super::LIMITS;
use super::lamps::{self, Watched};
use super::letters::Letters;
use super::{figures, options, told};
use crate::cli::names;
use crate::cli::sim::SimArgs;
use crate::lab::wire::{
    AlgorithmKind, Figure, Lamp, RunEnd, RunHeader, RunReason, RunRecord, SimOptions,
};

/// What a run is made from.
#[derive(Clone, Debug)]
pub(super) enum Score {
    /// Options of `skeptron sim`.
    Sim(Box<SimArgs>),
    /// What was recorded before.
    Recorded(Arc<Trace>),
}

impl Score {
    /// Of options, as the page gives them.
    ///
    /// # Errors
    /// If they are more than the lab allows.
    pub(super) fn of_options(options: SimOptions) -> Result<Self> {
        Ok(Score::Sim(Box::new(options::args(options)?)))
    }

    /// Of a recorded run, as the page reads it from a file.
    ///
    /// # Errors
    /// If it is no such file, or larger than the lab allows.
    pub(super) fn of_text(text: &str) -> Result<Self> {
        let trace = Trace::read(Cursor::new(text)).context("the trace cannot be read")?;
        options::refuse_crowd(trace.header.setup.nodes())?;
        let (records, most) = (trace.records.len(), LIMITS.records);
        ensure!(
            records <= most,
            "the trace has {records} records, and the lab shows at most {most}; `skeptron sim --replay` \
             takes more"
        );
        Ok(Score::Recorded(Arc::new(trace)))
    }

    /// Plays it.
    ///
    /// # Errors
    /// If it is impossible.
    pub(super) fn play(&self) -> Result<Played> {
        match self {
            Score::Sim(args) => simulated(args),
            Score::Recorded(trace) => recorded(trace),
        }
    }
}

/// A run that was played.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) trace: Arc<Trace>,
    letters: Letters,
    may_act: bool,
    reason: RunReason,
    lamps: Vec<Lamp>,
    figures: Vec<Figure>,
}

impl Played {
    pub(super) fn records(&self) -> &[Record] {
        &self.trace.records
    }

    pub(super) fn header(&self) -> RunHeader {
        let header = &self.trace.header;
        RunHeader {
            algorithm: header.algorithm.clone(),
            kind: told::kind(&header.algorithm),
            nodes: header.setup.nodes(),
            order: header.order.to_string(),
            ticks_per_unit: header.ticks_per_unit,
            command: header.command.clone(),
            topology: told::topology(&header.algorithm, &header.setup),
            may_act: self.may_act,
            holds: false,
            acts: Vec::new(),
        }
    }

    /// Some of its records.
    pub(super) fn tell(&self, which: std::ops::Range<usize>) -> Vec<RunRecord> {
        self.records()[which].iter().map(|record| told::record(record, &self.letters)).collect()
    }

    pub(super) fn end(&self) -> RunEnd {
        RunEnd {
            records: self.records().len(),
            reason: self.reason,
            t: self.records().last().map_or(0, |record| record.t),
            lamps: self.lamps.clone(),
            figures: self.figures.clone(),
        }
    }
}

fn simulated(args: &SimArgs) -> Result<Played> {
    match names::algorithm(args.algorithm.as_deref().unwrap_or_default())? {
        Algorithm::Election(info) => elected(args, info),
        Algorithm::Mutex(_) => excluded(args),
    }
}

/// How runs are made here.
fn recording() -> Options {
    Options { record: true, ..Options::default() }
}

fn excluded(args: &SimArgs) -> Result<Played> {
    let (info, scenario) = args.scenario()?;
    options::refuse_crowd(scenario.setup.nodes())?;
    let outcome = run(info, &scenario, &recording())?;
    let trace = outcome.trace.context("a recorded run has a trace")?;
    let watched = Watched {
        kind: AlgorithmKind::Mutex,
        order_claimed: info.claims.ordered && outcome.report.fairness.inversions.is_some(),
        to_the_end: true,
        simulated: true,
    };
    let figures = figures::mutex(info, &scenario, &outcome.report);
    Ok(finished(args, trace, watched, figures))
}

fn elected(args: &SimArgs, info: &'static ElectionInfo) -> Result<Played> {
    let scenario = args.election(info)?;
    options::refuse_crowd(scenario.setup.nodes())?;
    let outcome = election::run(info, &scenario, &recording())?;
    let trace = outcome.trace.context("a recorded run has a trace")?;
    let watched = Watched {
        kind: AlgorithmKind::Election,
        order_claimed: false,
        to_the_end: true,
        simulated: true,
    };
    let figures = figures::election(info, &scenario, &outcome.report);
    Ok(finished(args, trace, watched, figures))
}

fn finished(args: &SimArgs, mut trace: Trace, watched: Watched, figures: Vec<Figure>) -> Played {
    trace.header.command = Some(args.command());
    Played {
        letters: Letters::of(&trace),
        may_act: false,
        reason: RunReason::Over,
        lamps: lamps::of(&trace.records, &[], watched),
        figures,
        trace: Arc::new(trace),
    }
}

fn recorded(trace: &Arc<Trace>) -> Result<Played> {
    let replayed = replay(trace).context("the trace is not what the nodes do")?;
    let kind = told::kind(&trace.header.algorithm);
    let watched = Watched { kind, order_claimed: false, to_the_end: false, simulated: false };
    Ok(Played {
        letters: Letters::of(trace),
        may_act: false,
        reason: RunReason::Over,
        lamps: lamps::of(&trace.records, &replayed.violations, watched),
        figures: figures::recorded(&replayed),
        trace: Arc::clone(trace),
    })
}
