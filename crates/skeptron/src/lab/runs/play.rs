//! Plays a run: simulates what the options describe, or replays what was recorded.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use skeptron_core::catalogue::{Algorithm, ElectionInfo};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Record, Trace, What};
use skeptron_sim::{Hand, Options, Scenario, election, run};

use super::super::LIMITS;
use super::lamps::{self, Watched};
use super::letters::Letters;
use super::{Stop, figures, options, states, told};
use crate::cli::names;
use crate::cli::sim::SimArgs;
use crate::lab::wire::{
    Act, AlgorithmKind, Deed, Figure, Lamp, Partition, RunEnd, RunHeader, RunReason, RunRecord,
    SimOptions, StateChunk,
};

/// What a run is made from, besides what a hand does.
#[derive(Clone, Debug)]
pub(in crate::lab) enum Score {
    /// Options of `skeptron sim`; with `holds` nobody leaves the section before a hand says so.
    Sim {
        /// The options.
        args: Box<SimArgs>,
        /// Whether sections end by hand.
        holds: bool,
    },
    /// What was recorded before.
    Recorded(Arc<Trace>),
}

impl Score {
    /// Of options, as the page gives them.
    ///
    /// # Errors
    /// If they are more than the lab allows.
    pub(in crate::lab) fn of_options(mut options: SimOptions) -> Result<Self> {
        let by_hand = options.section.take_if(|section| section == BY_HAND);
        Ok(Score::Sim { args: Box::new(options::args(options)?), holds: by_hand.is_some() })
    }

    /// Of a recorded run, as the page reads it from a file.
    ///
    /// # Errors
    /// If it is no such file, or larger than the lab allows.
    pub(super) fn of_text(text: &str) -> Result<Self> {
        Score::of_trace(Trace::read(Cursor::new(text)).context("the trace cannot be read")?)
    }

    /// Of a recorded run.
    ///
    /// # Errors
    /// If it is larger than the lab allows.
    pub(in crate::lab) fn of_trace(trace: Trace) -> Result<Self> {
        options::refuse_crowd(trace.header.setup.nodes())?;
        let (records, most) = (trace.records.len(), LIMITS.records);
        ensure!(
            records <= most,
            "the trace has {records} records, and the lab shows at most {most}; `skeptron sim --replay` \
             takes more"
        );
        Ok(Score::Recorded(Arc::new(trace)))
    }

    /// Plays it, with what a hand does.
    ///
    /// # Errors
    /// If it is impossible.
    pub(in crate::lab) fn play(&self, acts: Vec<Act>, stop: &Stop) -> Result<Played> {
        ensure!(
            acts.len() <= MOST_ACTS,
            "{} acts by hand are too many; at most {MOST_ACTS} are possible",
            acts.len()
        );
        match self {
            Score::Sim { args, holds } => simulated(args, *holds, acts, stop),
            Score::Recorded(_) if !acts.is_empty() => {
                bail!("this run was recorded, and nobody can act on what has happened")
            }
            Score::Recorded(trace) => recorded(trace),
        }
    }
}

/// The length of sections that end by hand.
const BY_HAND: &str = "hand";
/// A run is played from its beginning for each act.
const MOST_ACTS: usize = 1000;

/// A run that was played.
#[derive(Debug)]
pub(in crate::lab) struct Played {
    pub(in crate::lab) trace: Arc<Trace>,
    letters: Letters,
    bytes: usize,
    hand: Option<ByHand>,
    partitions: Vec<Partition>,
    reason: RunReason,
    lamps: Vec<Lamp>,
    figures: Vec<Figure>,
}

/// What a hand did to a run.
#[derive(Debug)]
struct ByHand {
    holds: bool,
    acts: Vec<Act>,
    /// How many records there were when each act was done.
    places: Vec<usize>,
}

impl ByHand {
    /// Whether that record is an act.
    fn did(&self, record: usize) -> bool {
        let first = self.places.partition_point(|&place| place < record);
        let here = self.places[first..].iter().zip(&self.acts[first..]);
        let mut here = here.take_while(|&(&place, _)| place == record);
        here.any(|(_, act)| is_recorded(&act.deed))
    }

    /// What was done before there were more than so many records.
    fn before(&self, records: usize) -> Vec<Act> {
        let done = self.places.iter().zip(&self.acts).take_while(|&(&place, act)| {
            // What leaves no record of its own is not seen to happen after the last one.
            place < records || place == records && !is_recorded(&act.deed)
        });
        done.map(|(_, act)| act.clone()).collect()
    }
}

impl Played {
    pub(in crate::lab) fn records(&self) -> &[Record] {
        &self.trace.records
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::lab) fn header(&self) -> RunHeader {
        let header = &self.trace.header;
        RunHeader {
            algorithm: header.algorithm.clone(),
            kind: told::kind(&header.algorithm),
            nodes: header.setup.nodes(),
            order: header.order.to_string(),
            ticks_per_unit: header.ticks_per_unit,
            command: header.command.clone(),
            topology: told::topology(&header.algorithm, &header.setup),
            may_act: self.hand.is_some(),
            holds: self.hand.as_ref().is_some_and(|hand| hand.holds),
            acts: self.acts(),
            partitions: self.partitions.clone(),
        }
    }

    /// What a hand did.
    pub(super) fn acts(&self) -> Vec<Act> {
        self.hand.as_ref().map_or_else(Vec::new, |hand| hand.acts.clone())
    }

    /// What a hand had done when there were so many records.
    pub(super) fn acts_before(&self, records: usize) -> Vec<Act> {
        self.hand.as_ref().map_or_else(Vec::new, |hand| hand.before(records))
    }

    /// Some of its records.
    pub(in crate::lab) fn tell(&self, which: std::ops::Range<usize>) -> Vec<RunRecord> {
        let by_hand = |index| self.hand.as_ref().is_some_and(|hand| hand.did(index));
        let tell = |index| told::record(&self.records()[index], &self.letters, by_hand(index));
        which.map(tell).collect()
    }

    /// What the nodes know, all of it.
    ///
    /// # Errors
    /// If the run is not what its nodes do.
    pub(in crate::lab) fn states(&self) -> Result<Vec<StateChunk>> {
        states::chunks(&self.trace, 0..states::count(&self.trace))
    }

    pub(in crate::lab) fn end(&self) -> RunEnd {
        RunEnd {
            records: self.records().len(),
            reason: self.reason,
            t: self.records().last().map_or(0, |record| record.t),
            lamps: self.lamps.clone(),
            figures: self.figures.clone(),
        }
    }
}

fn simulated(args: &SimArgs, holds: bool, acts: Vec<Act>, stop: &Stop) -> Result<Played> {
    let hand = Hand { acts: acts.iter().map(act).collect::<Result<_>>()?, holds };
    let Simulated { trace, watched, figures, acted, partitions } =
        match names::algorithm(args.algorithm.as_deref().unwrap_or_default())? {
            Algorithm::Election(info) => elected(args, info, hand, stop)?,
            Algorithm::Mutex(_) => excluded(args, hand, stop)?,
        };
    let mut trace = trace.context("a recorded run has a trace")?;
    trace.header.command = (acts.is_empty() && !holds).then(|| args.command());
    Ok(Played {
        letters: Letters::of(&trace),
        bytes: bytes(&trace),
        hand: Some(ByHand { holds, acts, places: acted }),
        partitions,
        reason: if watched.to_the_end { RunReason::Over } else { RunReason::Limit },
        lamps: lamps::of(&trace.records, &[], watched),
        figures,
        trace: Arc::new(trace),
    })
}

/// Whether it leaves a record: what it does to the network alone is seen only later.
fn is_recorded(deed: &Deed) -> bool {
    !matches!(deed, Deed::Delay { .. } | Deed::Cut { .. } | Deed::Mend)
}

/// An act as the simulator has it: nodes are counted from 0 there.
fn act(act: &Act) -> Result<skeptron_sim::Act> {
    Ok(serde_json::from_value(serde_json::to_value(act)?)?)
}

/// How runs are made here.
fn recording(stop: &Stop) -> Options {
    let stop = Some(Arc::clone(stop));
    Options { record: true, most_records: Some(LIMITS.records), stop, ..Options::default() }
}

/// What comes of a simulation.
struct Simulated {
    trace: Option<Trace>,
    watched: Watched,
    figures: Vec<Figure>,
    /// After how many records each act was done.
    acted: Vec<usize>,
    partitions: Vec<Partition>,
}

fn excluded(args: &SimArgs, hand: Hand, stop: &Stop) -> Result<Simulated> {
    let (info, scenario) = args.scenario()?;
    options::refuse_crowd(scenario.setup.nodes())?;
    let scenario = Scenario { hand, ..scenario };
    let outcome = run(info, &scenario, &recording(stop))?;
    let watched = Watched {
        kind: AlgorithmKind::Mutex,
        order_claimed: info.claims.ordered && outcome.report.fairness.inversions.is_some(),
        to_the_end: !outcome.cut_short,
        simulated: true,
    };
    let figures = figures::mutex(info, &scenario, &outcome.report);
    let partitions = told::partitions(&scenario.faults);
    Ok(Simulated { trace: outcome.trace, watched, figures, acted: outcome.acted, partitions })
}

fn elected(
    args: &SimArgs,
    info: &'static ElectionInfo,
    hand: Hand,
    stop: &Stop,
) -> Result<Simulated> {
    let scenario = args.election(info)?;
    options::refuse_crowd(scenario.setup.nodes())?;
    let scenario = election::Scenario { hand, ..scenario };
    let outcome = election::run(info, &scenario, &recording(stop))?;
    let watched = Watched {
        kind: AlgorithmKind::Election,
        order_claimed: false,
        to_the_end: !outcome.cut_short,
        simulated: true,
    };
    let figures = figures::election(info, &scenario, &outcome.report);
    let partitions = told::partitions(&scenario.faults);
    Ok(Simulated { trace: outcome.trace, watched, figures, acted: outcome.acted, partitions })
}

/// About how many bytes a run takes: a message may carry a counter for each node.
fn bytes(trace: &Trace) -> usize {
    fn parts(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(parts).sum::<usize>(),
            Value::Object(fields) => 1 + fields.values().map(parts).sum::<usize>(),
            _ => 1,
        }
    }
    let of_record = |record: &Record| match &record.what {
        // As it was recorded, and in words.
        What::Send { message, .. } => 800 + 64 * parts(message),
        _ => 200,
    };
    trace.records.iter().map(of_record).sum()
}

fn recorded(trace: &Arc<Trace>) -> Result<Played> {
    let replayed = replay(trace).context("the trace is not what the nodes do")?;
    let kind = told::kind(&trace.header.algorithm);
    let watched = Watched { kind, order_claimed: false, to_the_end: false, simulated: false };
    Ok(Played {
        letters: Letters::of(trace),
        bytes: bytes(trace),
        hand: None,
        partitions: Vec::new(),
        reason: RunReason::Over,
        lamps: lamps::of(&trace.records, &replayed.violations, watched),
        figures: figures::recorded(&replayed),
        trace: Arc::clone(trace),
    })
}
