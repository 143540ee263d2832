//! Plays a run: simulates what the options describe, or replays what was recorded.

use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use skeptron_core::catalogue::{Algorithm, ElectionInfo, Info, find};
use skeptron_sim::replay::{Snapshots, replay};
use skeptron_sim::trace::{Header, Record, Trace, What};
use skeptron_sim::{Hand, Options, Scenario, election, run};

use super::super::LIMITS;
use super::message_log::MessageLog;
use super::phases::Phases;
use super::verdicts::{self, Watched};
use super::{Stop, clocks, facts, figures, fork, options, states, to_wire};
use crate::ask::{Files, Given, Request as _, SimOptions};
use crate::lab::wire::{
    Act, AlgorithmKind, ClockChunk, Deed, Figure, Note, Partition, RunEnd, RunHeader, RunReason,
    RunRecord, RunVerdict, StateChunk,
};

/// What a run is made from, besides what a hand does.
#[derive(Clone, Debug)]
pub(in crate::lab) struct RunSpec {
    source: Source,
    /// What is said of it.
    notes: Vec<Note>,
}

#[derive(Clone, Debug)]
enum Source {
    /// Options of `skeptron sim`; with `holds` nobody leaves the section before a hand says so.
    Sim { options: Box<SimOptions>, holds: bool },
    /// What was recorded before.
    Recorded(Arc<Trace>),
}

impl RunSpec {
    /// Of options, as the page gives them.
    ///
    /// # Errors
    /// If they are more than the lab allows.
    pub(in crate::lab) fn of_options(options: SimOptions, notes: Vec<Note>) -> Result<Self> {
        let holds = options.section.as_deref() == Some(BY_HAND);
        let options = Box::new(options::allowed(options)?);
        Ok(RunSpec { source: Source::Sim { options, holds }, notes })
    }

    /// Of a recorded run, as the page reads it from a file. A run that its own command makes again is
    /// taken for that one: so it can be changed like any other.
    ///
    /// # Errors
    /// If it is no such file, or larger than the lab allows.
    pub(in crate::lab) fn of_text(text: &str, notes: Vec<Note>, stop: &Stop) -> Result<Self> {
        let trace = Trace::read(Cursor::new(text)).context("the trace cannot be read")?;
        refuse_long(&trace)?;
        let again = options::of_sim(&trace.header).and_then(|options| {
            let spec = RunSpec::of_options(options, notes.clone()).ok()?;
            let played = spec.play(Vec::new(), stop).ok()?;
            (*played.trace == trace).then_some(spec)
        });
        Ok(again.unwrap_or_else(|| RunSpec { source: Source::Recorded(Arc::new(trace)), notes }))
    }

    /// Of a run that was made here, by the checker or the simulator.
    ///
    /// # Errors
    /// If it is larger than the lab allows.
    pub(in crate::lab) fn of_trace(trace: Arc<Trace>) -> Result<Self> {
        refuse_long(&trace)?;
        Ok(RunSpec { source: Source::Recorded(trace), notes: Vec::new() })
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
        let mut played = match &self.source {
            Source::Sim { options, holds } => simulated(options, *holds, acts, stop)?,
            Source::Recorded(trace) if acts.is_empty() => recorded(trace)?,
            Source::Recorded(trace) => forked(trace, acts, stop)?,
        };
        let Played { trace, messages, verdicts, .. } = &played;
        played.doubts = facts::doubts(&facts::Run { trace, messages, verdicts }, &self.notes)?;
        Ok(played)
    }
}

/// Refuses a recorded run that is larger than a page can show.
fn refuse_long(trace: &Trace) -> Result<()> {
    options::refuse_crowd(trace.header.setup.nodes())?;
    let (records, most) = (trace.records.len(), LIMITS.records);
    ensure!(
        records <= most,
        "the trace has {records} records, and the lab shows at most {most}; `skeptron sim --replay` \
         takes more"
    );
    Ok(())
}

/// The length of sections that end by hand.
const BY_HAND: &str = "hand";
/// A run is played from its beginning for each act.
const MOST_ACTS: usize = 1000;

/// A run that was played.
#[derive(Debug)]
pub(in crate::lab) struct Played {
    pub(in crate::lab) trace: Arc<Trace>,
    snapshots: Mutex<Snapshots>,
    messages: MessageLog,
    bytes: usize,
    hand: Option<ByHand>,
    partitions: Vec<Partition>,
    reason: RunReason,
    verdicts: Vec<RunVerdict>,
    figures: Vec<Figure>,
    doubts: Vec<String>,
    sim: SimOptions,
    recorded: bool,
    phases: Phases,
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
            kind: to_wire::kind(&header.algorithm),
            nodes: header.setup.nodes(),
            order: header.order.to_string(),
            ticks_per_unit: header.ticks_per_unit,
            command: header.command.clone(),
            sim: Given(self.sim.clone()),
            recorded: self.recorded,
            topology: to_wire::topology(&header.algorithm, &header.setup),
            phases: self.phases.at_first.clone(),
            may_act: self.hand.is_some(),
            holds: self.hand.as_ref().is_some_and(|hand| hand.holds),
            draws: to_wire::draws(&header.algorithm, header.setup.nodes()),
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
        let tell = |index| RunRecord {
            becomes: self.phases.after(index),
            ..to_wire::record(&self.records()[index], &self.messages, by_hand(index))
        };
        which.map(tell).collect()
    }

    /// What the nodes know, all of it.
    ///
    /// # Errors
    /// If the run is not what its nodes do.
    pub(in crate::lab) fn states(&self) -> Result<Vec<StateChunk>> {
        let which = 0..states::count(&self.trace);
        states::chunks(&self.trace, which, &mut lock(&self.snapshots))
    }

    /// What the nodes know in the chunk of that number.
    ///
    /// # Errors
    /// If the run has fewer chunks, or is not what its nodes do.
    pub(super) fn states_in(&self, chunk: usize) -> Result<StateChunk> {
        states::chunk(&self.trace, chunk, &mut lock(&self.snapshots))
    }

    /// The clocks of the lectures, at all events.
    ///
    /// # Errors
    /// If a chunk is missing.
    pub(in crate::lab) fn clocks(&self) -> Result<Vec<ClockChunk>> {
        (0..states::count(&self.trace)).map(|chunk| clocks::chunk(&self.trace, chunk)).collect()
    }

    pub(in crate::lab) fn end(&self) -> RunEnd {
        RunEnd {
            records: self.records().len(),
            reason: self.reason,
            t: self.records().last().map_or(0, |record| record.t),
            verdicts: self.verdicts.clone(),
            figures: self.figures.clone(),
            doubts: self.doubts.clone(),
        }
    }
}

fn simulated(options: &SimOptions, holds: bool, acts: Vec<Act>, stop: &Stop) -> Result<Played> {
    let hand = Hand { acts: acts.iter().map(act).collect::<Result<_>>()?, holds };
    let mut plain = options.clone();
    plain.section.take_if(|_| holds);
    let simulated = match plain.named()? {
        Algorithm::Election(info) => {
            let scenario = plain.election(info, Files::None)?;
            elected(info, &election::Scenario { hand, ..scenario }, stop)?
        }
        Algorithm::Mutex(_) => {
            let (info, scenario) = plain.scenario(Files::None)?;
            excluded(info, &Scenario { hand, ..scenario }, stop)?
        }
    };
    let command = (acts.is_empty() && !holds).then(|| plain.command());
    simulated.played(acts, holds, 0, command, (options.clone(), false))
}

/// A recorded run that a hand changes.
fn forked(trace: &Trace, acts: Vec<Act>, stop: &Stop) -> Result<Played> {
    let (info, scenario, again) = fork::fork(trace, acts.iter().map(act).collect::<Result<_>>()?)?;
    excluded(info, &scenario, stop)?.played(
        acts,
        true,
        again,
        None,
        (options::of_recorded(&trace.header), true),
    )
}

/// Whether it leaves a record: what it does to the network alone, or to chance, is seen only later.
fn is_recorded(deed: &Deed) -> bool {
    !matches!(deed, Deed::Draw { .. } | Deed::Delay { .. } | Deed::Cut { .. } | Deed::Mend)
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

impl Simulated {
    /// The run with these acts, before which `again` others were done that are not told.
    fn played(
        self,
        acts: Vec<Act>,
        holds: bool,
        again: usize,
        command: Option<String>,
        (sim, recorded): (SimOptions, bool),
    ) -> Result<Played> {
        let Simulated { trace, watched, figures, mut acted, partitions } = self;
        let mut trace = trace.context("a recorded run has a trace")?;
        trace.header.command = command;
        let places = acted.split_off(again);
        Ok(Played {
            messages: MessageLog::of(&trace),
            bytes: bytes(&trace),
            hand: Some(ByHand { holds, acts, places }),
            partitions,
            reason: if watched.to_the_end { RunReason::Over } else { RunReason::Limit },
            verdicts: verdicts::of(&trace.records, &[], watched),
            figures,
            doubts: Vec::new(),
            sim,
            recorded,
            phases: Phases::of(&trace)?,
            trace: Arc::new(trace),
            snapshots: Mutex::default(),
        })
    }
}

fn excluded(info: &'static Info, scenario: &Scenario, stop: &Stop) -> Result<Simulated> {
    options::refuse_crowd(scenario.setup.nodes())?;
    let outcome = run(info, scenario, &recording(stop))?;
    let watched = Watched {
        kind: AlgorithmKind::Mutex,
        exclusive: info.admission(&scenario.setup).is_exclusive(),
        recovers: outcome.report.recovery.is_some(),
        order_claimed: info.claims.ordered && outcome.report.fairness.inversions.is_some(),
        to_the_end: !outcome.cut_short,
        simulated: true,
    };
    Ok(Simulated {
        watched,
        figures: figures::mutex(info, scenario, &outcome.report),
        acted: outcome.acted,
        partitions: to_wire::partitions(&scenario.faults),
        trace: outcome.trace,
    })
}

fn elected(
    info: &'static ElectionInfo,
    scenario: &election::Scenario,
    stop: &Stop,
) -> Result<Simulated> {
    options::refuse_crowd(scenario.setup.nodes())?;
    let outcome = election::run(info, scenario, &recording(stop))?;
    let watched = Watched {
        kind: AlgorithmKind::Election,
        exclusive: true,
        recovers: false,
        order_claimed: false,
        to_the_end: !outcome.cut_short,
        simulated: true,
    };
    Ok(Simulated {
        watched,
        figures: figures::election(info, scenario, &outcome.report),
        acted: outcome.acted,
        partitions: to_wire::partitions(&scenario.faults),
        trace: outcome.trace,
    })
}

/// A look that failed has left no snapshot half done.
fn lock(snapshots: &Mutex<Snapshots>) -> MutexGuard<'_, Snapshots> {
    snapshots.lock().unwrap_or_else(PoisonError::into_inner)
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
    let kind = to_wire::kind(&trace.header.algorithm);
    let Header { algorithm, setup, .. } = &trace.header;
    let exclusive = find(algorithm).is_none_or(|info| info.admission(setup).is_exclusive());
    let recovers = find(algorithm).is_some_and(Info::is_stabilising);
    let (order_claimed, to_the_end, simulated) = (false, false, false);
    let watched = Watched { kind, exclusive, recovers, order_claimed, to_the_end, simulated };
    Ok(Played {
        messages: MessageLog::of(trace),
        bytes: bytes(trace),
        // Nothing was done yet, but something can be.
        hand: fork::is_possible(trace).then(|| ByHand {
            holds: true,
            acts: Vec::new(),
            places: Vec::new(),
        }),
        partitions: Vec::new(),
        reason: RunReason::Over,
        verdicts: verdicts::of(&trace.records, &replayed.violations, watched),
        figures: figures::recorded(&replayed),
        doubts: Vec::new(),
        sim: options::of_recorded(&trace.header),
        recorded: true,
        phases: Phases::of(trace)?,
        trace: Arc::clone(trace),
        snapshots: Mutex::default(),
    })
}
