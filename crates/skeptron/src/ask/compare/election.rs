//! Comparisons of elections: the runs behind them, and what they are held against.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Serialize;
use skeptron_core::catalogue::{self, Algorithm, ElectionInfo};
use skeptron_core::election::{Case, RingOrder};
use skeptron_core::{Claim, Figures};
use skeptron_sim::election::{Report, Scenario, run};
use skeptron_sim::{Options, ScenarioError};

use super::curve::{CompareCurve, sizes};
use super::{Audience, Claimed, CompareRequest, CompareRow, Estimate, Judged, names, sound};

/// One situation to run, with as many seeds as are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    info: &'static ElectionInfo,
    case: &'static Case,
    nodes: usize,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Figure {
    /// Messages of the kinds that the claim counts.
    Messages,
    /// Messages of all kinds, where the claim does not count all.
    AllMessages,
    /// From the call until everybody knows the leader.
    Time,
}

impl Figure {
    /// What it is called in CSV and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Figure::Messages => "messages",
            Figure::AllMessages => "all_messages",
            Figure::Time => "time",
        }
    }
}

/// One figure of one algorithm in one situation at one N.
pub(crate) type Row = CompareRow<Figure>;

impl Row {
    /// The one about this.
    pub(crate) fn find<'a>(
        rows: &'a [Row],
        algorithm: &str,
        case: &str,
        nodes: usize,
        figure: Figure,
    ) -> Option<&'a Judged> {
        let is_it = |row: &&Row| {
            row.algorithm == algorithm
                && row.case == Some(case)
                && row.nodes == nodes
                && row.figure == figure
        };
        rows.iter().find(is_it).map(|row| &row.judged)
    }
}

impl Job {
    /// All situations of these algorithms at these sizes that can be.
    pub(crate) fn all(algorithms: &[&'static ElectionInfo], nodes: &[usize]) -> Vec<Job> {
        let mut jobs = Vec::new();
        for &info in algorithms {
            for case in info.claims.cases {
                let enough = nodes.iter().filter(|&&nodes| nodes >= case.least_nodes());
                jobs.extend(enough.map(|&nodes| Job { info, case, nodes }));
            }
        }
        jobs
    }

    /// Runs it, with as many seeds as are needed; `stop` ends it between two runs.
    pub(crate) fn measure(&self, seeds: u64, stop: &AtomicBool) -> Result<Vec<Row>> {
        let Job { info, case, nodes } = *self;
        let is_drawn = info.is_randomised() && !case.messages.is_exact();
        let has_chance = case.ring == RingOrder::Random || is_drawn;
        let seeds = if has_chance { seeds } else { 1 };
        let runs = (1..=seeds).map(|seed| {
            ensure!(!stop.load(Ordering::Relaxed), ScenarioError::Stopped);
            self.run(seed)
        });
        let reports: Vec<Report> = runs.collect::<Result<_>>()?;
        // One run of chance has no interval to judge by.
        let is_judged = !has_chance || seeds > 1;
        let figures = Figures { n: nodes as f64, ..Figures::default() };
        let row = |figure, claim: Option<Claim>, value: &dyn Fn(&Report) -> Option<f64>| {
            let values: Option<Vec<f64>> = reports.iter().map(value).collect();
            let measured = values.map(|values| Estimate::of(&values));
            let claim = claim.map(|claim| Claimed::new(&claim, &figures));
            let judged = Judged::new(claim, measured, is_judged);
            Row { algorithm: info.name, case: Some(case.name), nodes, figure, judged }
        };
        let counted = |report: &Report| Some(report.messages.counted(case.counted) as f64);
        let mut rows = vec![row(Figure::Messages, Some(case.messages), &counted)];
        if !case.counted.is_empty() {
            let all = |report: &Report| Some(report.messages.total as f64);
            rows.push(row(Figure::AllMessages, None, &all));
        }
        rows.push(row(Figure::Time, case.time, &|report| report.time));
        Ok(rows)
    }

    /// What is claimed of everything that it measures.
    pub(crate) fn claims(&self) -> Vec<(Figure, Claimed)> {
        let symbols = Figures { n: self.nodes as f64, ..Figures::default() };
        let claims = [(Figure::Messages, Some(self.case.messages)), (Figure::Time, self.case.time)];
        let claimed =
            |(figure, claim): (_, Option<Claim>)| Some((figure, Claimed::new(&claim?, &symbols)));
        claims.into_iter().filter_map(claimed).collect()
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Whose figures it measures, and in which case.
    pub(crate) fn subject(&self) -> (&'static str, &'static str) {
        (self.info.name, self.case.name)
    }

    fn run(&self, seed: u64) -> Result<Report> {
        let Job { info, case, nodes } = *self;
        let scenario = Scenario::of_case(info, case, nodes, seed)?;
        let at = || format!("{}, {}, N = {nodes}, seed {seed}", info.name, case.name);
        let report = run(info, &scenario, &Options::default()).with_context(at)?.report;
        match report.violations.first() {
            None => Ok(report),
            Some(violation) => {
                bail!("{}: {} is violated: {}", at(), violation.property, violation.detail)
            }
        }
    }
}

/// The situations to run.
///
/// # Errors
/// If an algorithm is unknown, broken, or elects nobody.
pub(crate) fn jobs(args: &CompareRequest) -> Result<Vec<Job>> {
    Ok(Job::all(&algorithms(&args.algorithms)?, &args.node_counts()))
}

/// Runs them.
///
/// # Errors
/// If an election goes wrong, or the audience ends it.
pub(crate) fn measure(
    args: &CompareRequest,
    jobs: &[Job],
    audience: &Audience<'_, Row>,
) -> Result<Vec<Row>> {
    audience.attend(jobs, |job| job.measure(args.seeds(), audience.stop))
}

/// What is claimed between the sizes that are measured.
///
/// # Errors
/// As [`jobs`].
pub(crate) fn curves(args: &CompareRequest) -> Result<Vec<CompareCurve>> {
    let mut curves = Vec::new();
    for job in Job::all(&algorithms(&args.algorithms)?, &sizes(&args.node_counts())) {
        let (algorithm, case) = job.subject();
        for (figure, claimed) in job.claims() {
            let point = (job.nodes(), claimed);
            CompareCurve::add(&mut curves, (algorithm, Some(case)), figure.name(), point);
        }
    }
    Ok(curves)
}

/// Those of these names; all if none is named.
///
/// # Errors
/// If one is unknown, broken, or elects nobody.
pub(crate) fn algorithms(names: &[String]) -> Result<Vec<&'static ElectionInfo>> {
    if names.is_empty() {
        return Ok(catalogue::sound_elections().collect());
    }
    let known = |name: &String| match names::algorithm(name)? {
        Algorithm::Election(info) => sound(info),
        Algorithm::Mutex(_) => bail!("{name} elects nobody; leave --elections out"),
    };
    names.iter().map(known).collect()
}
