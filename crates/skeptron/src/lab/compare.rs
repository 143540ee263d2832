//! POST /lab/compare: claims beside measurements, as `skeptron compare`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;

use super::body::Asked;
use super::files;
use super::job::{Jobs, Task, Teller};
use super::refusal::Refusal;
use super::wire::{
    ClaimElsewhere, ClaimedValues, CompareCurve, CompareRequest, CompareResult, CompareRow,
    CurvePoint, Measured, Progress,
};
use crate::cli::compare::{Audience, CompareArgs, Curve, Judged, NotCompared, Row, election};
use crate::cli::system::SystemArgs;

/// Rows are there as soon as they are known.
const WITHIN: Duration = Duration::from_secs(180);
/// No system is larger.
const MOST_NODES: usize = 256;
/// So many sizes at once.
const MOST_SIZES: usize = 12;
/// So many algorithms at once; each may be named several times.
const MOST_ALGORITHMS: usize = 64;
const MOST_ENTRIES: u64 = 20_000;
const MOST_SEEDS: u64 = 100;
/// One election is short.
const MOST_SEEDS_OF_ELECTIONS: u64 = 1000;

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/compare", post(compare))
}

async fn compare(
    State(jobs): State<Jobs>,
    Asked(request): Asked<CompareRequest>,
) -> Result<Response, Refusal> {
    let args = args(request)?;
    let task = Task { within: WITHIN, ..Task::new(args.command(&args.node_counts())) };
    Ok(jobs.stream(task, move |teller| {
        // Threads of its own, for those of all are taken by who comes first.
        let threads = rayon::ThreadPoolBuilder::new().build()?;
        threads.install(|| match args.elections {
            true => elections(&args, teller),
            false => mutexes(&args, teller),
        })
    }))
}

/// The options of the command line, within what the lab has time for.
fn args(request: CompareRequest) -> Result<CompareArgs> {
    let CompareRequest {
        algorithms,
        elections,
        nodes,
        quorum,
        tree,
        latency,
        section,
        entries,
        seeds,
    } = request;
    let layouts =
        SystemArgs { quorum: quorum.clone(), tree: tree.clone(), ..SystemArgs::default() };
    files::refuse_in_system(&layouts)?;
    files::refuse("latency", latency.as_deref())?;
    files::refuse("section", section.as_deref())?;
    let elections = elections.unwrap_or(false);
    ensure!(
        !elections
            || [&quorum, &tree, &latency, &section].iter().all(|option| option.is_none())
                && entries.is_none(),
        "elections take no quorum, tree, latency, section or entries; leave them out"
    );
    let args = CompareArgs {
        algorithms: algorithms.unwrap_or_default(),
        elections,
        nodes,
        quorum,
        tree,
        latency: latency.unwrap_or_else(|| "1".into()),
        section: section.unwrap_or_else(|| "1".into()),
        entries,
        seeds,
        ..CompareArgs::default()
    };
    args.check()?;
    let at_most = |what: &str, given: u64, most: u64| {
        ensure!(
            given <= most,
            "{given} {what} are too many for the lab; at most {most}, or run it in a terminal: {}",
            args.command(&args.node_counts())
        );
        Ok(())
    };
    at_most("sizes", args.nodes.len() as u64, MOST_SIZES as u64)?;
    at_most("algorithms", args.algorithms.len() as u64, MOST_ALGORITHMS as u64)?;
    at_most("nodes", args.nodes.iter().copied().max().unwrap_or(0) as u64, MOST_NODES as u64)?;
    at_most("entries", args.entries.unwrap_or(0), MOST_ENTRIES)?;
    at_most("seeds", args.seeds(), if elections { MOST_SEEDS_OF_ELECTIONS } else { MOST_SEEDS })?;
    Ok(args)
}

fn mutexes(args: &CompareArgs, teller: &Teller) -> Result<CompareResult> {
    let jobs = args.jobs()?;
    let label = |row: &Row| format!("{}, N = {}", row.algorithm, row.nodes);
    let rows = follow(jobs.len(), teller, label, |audience| args.measure(&jobs, audience))?;
    let curves = args.curves()?.into_iter().map(CompareCurve::from).collect();
    Ok(CompareResult { rows, curves, command: args.command(&args.node_counts()) })
}

fn elections(args: &CompareArgs, teller: &Teller) -> Result<CompareResult> {
    let jobs = election::jobs(args)?;
    let label = |row: &election::Row| format!("{}, {}, N = {}", row.algorithm, row.case, row.nodes);
    let work = |audience: &Audience<'_, _>| election::measure(args, &jobs, audience);
    let rows = follow(jobs.len(), teller, label, work)?;
    let curves = election::curves(args)?.into_iter().map(CompareCurve::from).collect();
    Ok(CompareResult { rows, curves, command: args.command(&args.node_counts()) })
}

/// Tells rows and progress as they come.
fn follow<R>(
    total: usize,
    teller: &Teller,
    label: impl Fn(&R) -> String + Sync,
    work: impl FnOnce(&Audience<'_, R>) -> Result<Vec<R>>,
) -> Result<Vec<CompareRow>>
where
    for<'a> CompareRow: From<&'a R>,
{
    let done = AtomicUsize::new(0);
    let hears = |rows: &[R]| {
        let done = 1 + done.fetch_add(1, Ordering::Relaxed);
        let label = rows.first().map(&label).unwrap_or_default();
        teller.progress(&Progress { done, total, label });
        // If nobody listens the work is stopped.
        let _ = teller.tell("rows", &told(rows));
    };
    Ok(told(&work(&Audience { hears: &hears, stop: teller.stop() })?))
}

fn told<R>(rows: &[R]) -> Vec<CompareRow>
where
    for<'a> CompareRow: From<&'a R>,
{
    rows.iter().map(CompareRow::from).collect()
}

impl From<&Row> for CompareRow {
    fn from(row: &Row) -> Self {
        let Row { algorithm, nodes, figure, judged } = row;
        judged_row(algorithm, None, *nodes, figure.name(), judged)
    }
}

impl From<&election::Row> for CompareRow {
    fn from(row: &election::Row) -> Self {
        let election::Row { algorithm, case, nodes, figure, judged } = row;
        judged_row(algorithm, Some(case), *nodes, figure.name(), judged)
    }
}

fn judged_row(
    algorithm: &str,
    case: Option<&str>,
    nodes: usize,
    figure: &str,
    judged: &Judged,
) -> CompareRow {
    let claim = judged.claim.as_ref().map(|claim| ClaimedValues {
        text: claim.text.clone(),
        low: claim.low,
        typical: claim.typical,
        high: claim.high,
    });
    let measured = judged.measured.map(|estimate| Measured {
        mean: estimate.mean,
        half_width: estimate.half_width,
        min: estimate.min,
        max: estimate.max,
    });
    let elsewhere = |other: &NotCompared| ClaimElsewhere {
        claim: other.claim.clone(),
        needs: other.needs.clone(),
    };
    CompareRow {
        algorithm: algorithm.into(),
        case: case.map(str::to_string),
        nodes,
        figure: figure.into(),
        claim,
        measured,
        deviation: judged.deviation,
        holds: judged.holds,
        not_compared: judged.not_compared.as_ref().map(elsewhere),
    }
}

impl From<Curve> for CompareCurve {
    fn from(curve: Curve) -> Self {
        let Curve { algorithm, case, figure, points } = curve;
        let text = points.first().map(|(_, claim)| claim.text.clone()).unwrap_or_default();
        let point = |(nodes, claim): &(usize, crate::cli::compare::Claimed)| CurvePoint {
            nodes: *nodes,
            low: claim.low,
            typical: claim.typical,
            high: claim.high,
        };
        CompareCurve {
            algorithm: algorithm.into(),
            case: case.map(str::to_string),
            figure: figure.into(),
            text,
            points: points.iter().map(point).collect(),
        }
    }
}
