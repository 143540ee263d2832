//! The runs of a sweep, and what is measured of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use skeptron_core::catalogue::{Algorithm, ElectionInfo, Info};
use skeptron_sim::kinds::{Kinds, KindsReport, run_kinds};
use skeptron_sim::{Options, Report, Scenario, Summary, election, run};

use super::super::{Files, SimOptions};

/// What is measured depends on what runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Mutex,
    Kinds,
    Election,
}

/// A figure: its name, and its value in one run; none where there is nothing to measure.
type Figure<R> = (&'static str, fn(&R) -> Option<f64>);

const MUTEX: [Figure<Report>; 13] = [
    ("messages_per_entry", |r| Some(r.messages.per_entry)),
    ("bytes_per_entry", |r| per(r.messages.bytes, r.entries)),
    ("multicast_per_entry", |r| Some(r.messages.multicast.per_entry)),
    ("client_delay", |r| of(r.client_delay, |delay| delay.mean)),
    ("client_delay_p99", |r| of(r.client_delay, |delay| delay.p99)),
    ("response_time", |r| of(r.response_time, |time| time.mean)),
    ("sync_delay", |r| of(r.sync_delay, |delay| delay.mean)),
    ("throughput", |r| Some(r.throughput)),
    ("jain", |r| Some(r.fairness.jain)),
    ("longest_bypass", |r| Some(r.fairness.longest_bypass as f64)),
    ("inversions", |r| per(r.fairness.inversions?, r.entries)),
    ("overtakings", |r| per(r.fairness.overtakings, r.entries)),
    ("load_balance", |r| Some(r.load.max_over_mean)),
];

const KINDS: [Figure<KindsReport>; 5] = [
    ("messages_per_entry", |r| Some(r.messages_per_entry)),
    ("bytes_per_entry", |r| per(r.bytes, r.entries)),
    ("throughput", |r| Some(r.throughput)),
    ("longest_bypass", |r| Some(r.longest_bypass as f64)),
    ("inside_together", |r| Some(r.concurrency.mean)),
];

const ELECTION: [Figure<election::Report>; 6] = [
    ("messages", |r| Some(r.messages.total as f64)),
    ("bytes", |r| Some(r.messages.bytes as f64)),
    ("time", |r| r.time),
    ("calls", |r| Some(r.calls as f64)),
    ("leaders", |r| Some(r.leaders.len() as f64)),
    ("false_suspicions", |r| Some(r.false_suspicions as f64)),
];

/// A part of the entries.
fn per(count: u64, entries: u64) -> Option<f64> {
    (entries > 0).then(|| count as f64 / entries as f64)
}

fn of(summary: Summary, value: fn(Summary) -> f64) -> Option<f64> {
    (summary.count > 0).then(|| value(summary))
}

impl Family {
    pub(super) fn of(options: &SimOptions) -> Result<Self> {
        Ok(match options.named()? {
            Algorithm::Election(_) => Family::Election,
            Algorithm::Mutex(_) if options.kinds.modes.is_some() => Family::Kinds,
            Algorithm::Mutex(_) => Family::Mutex,
        })
    }

    pub(super) fn figures(self) -> Vec<&'static str> {
        match self {
            Family::Mutex => MUTEX.map(|(name, _)| name).into(),
            Family::Kinds => KINDS.map(|(name, _)| name).into(),
            Family::Election => ELECTION.map(|(name, _)| name).into(),
        }
    }

    /// What is measured of some of these.
    pub(super) fn figures_of(families: &BTreeSet<Family>) -> Vec<&'static str> {
        let mut figures = Vec::new();
        for name in families.iter().flat_map(|family| family.figures()) {
            if !figures.contains(&name) {
                figures.push(name);
            }
        }
        figures
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine,
    Violated,
    /// Somebody waits for ever.
    Stalled,
    /// There is no such system, and the sweep leaves it out.
    Impossible,
}

impl Outcome {
    const ALL: [Outcome; 4] =
        [Outcome::Fine, Outcome::Violated, Outcome::Stalled, Outcome::Impossible];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Fine => "fine",
            Outcome::Violated => "violated",
            Outcome::Stalled => "stalled",
            Outcome::Impossible => "impossible",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    fn of(violated: bool, stalled: bool) -> Self {
        match (violated, stalled) {
            (_, true) => Outcome::Stalled,
            (true, false) => Outcome::Violated,
            (false, false) => Outcome::Fine,
        }
    }
}

/// What came of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) outcome: Outcome,
    /// The figures that there are.
    pub(crate) figures: Vec<(&'static str, f64)>,
}

impl Measured {
    fn new<R>(outcome: Outcome, figures: &[Figure<R>], report: &R) -> Self {
        let value = |(name, value): &Figure<R>| Some((*name, value(report)?));
        let figures = figures.iter().filter_map(value).filter(|(_, value)| value.is_finite());
        Measured { outcome, figures: figures.collect() }
    }

    pub(crate) fn impossible() -> Self {
        Measured { outcome: Outcome::Impossible, figures: Vec::new() }
    }
}

/// A point of which any seed can be run.
pub(crate) enum Prepared {
    Mutex(&'static Info, Box<(SimOptions, Scenario)>),
    Kinds(&'static Info, Box<(Scenario, Kinds)>),
    Election(&'static ElectionInfo, Box<election::Scenario>),
}

impl Prepared {
    /// Builds the system.
    ///
    /// # Errors
    /// If there is no such system.
    pub(crate) fn new(options: SimOptions) -> Result<Self> {
        if options.kinds.modes.is_some() {
            let (info, scenario, kinds) = options.kinds(Files::Disk)?;
            return Ok(Prepared::Kinds(info, (scenario, kinds).into()));
        }
        Ok(match options.named()? {
            Algorithm::Election(info) => {
                Prepared::Election(info, options.election(info, Files::Disk)?.into())
            }
            Algorithm::Mutex(_) => {
                let (info, scenario) = options.scenario(Files::Disk)?;
                Prepared::Mutex(info, (options, scenario).into())
            }
        })
    }

    /// Runs it.
    ///
    /// # Errors
    /// If it cannot be run, or `stop` ended it.
    pub(crate) fn run(&self, seed: u64, stop: &Arc<AtomicBool>) -> Result<Measured> {
        let running = Options { stop: Some(stop.clone()), ..Options::default() };
        Ok(match self {
            Prepared::Mutex(info, of) => {
                let (options, scenario) = &**of;
                let scenario = options.seeded(scenario, seed, Files::Disk)?;
                let report = run(info, &scenario, &running)?.report;
                let outcome = Outcome::of(!report.violations.is_empty(), report.stalled);
                Measured::new(outcome, &MUTEX, &report)
            }
            Prepared::Kinds(info, of) => {
                let (scenario, kinds) = &**of;
                let scenario = Scenario { seed, ..scenario.clone() };
                let report = run_kinds(info, &scenario, kinds, false)?.report;
                let outcome = Outcome::of(!report.violations.is_empty(), report.stalled);
                Measured::new(outcome, &KINDS, &report)
            }
            Prepared::Election(info, scenario) => {
                let scenario = election::Scenario { seed, ..(**scenario).clone() };
                let report = election::run(info, &scenario, &running)?.report;
                let outcome = Outcome::of(!report.is_fine(), false);
                Measured::new(outcome, &ELECTION, &report)
            }
        })
    }
}
