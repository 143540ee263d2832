//! POST /lab/compare: claims beside measurements, as `skeptron compare`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde::Serialize;

use super::body::Asked;
use super::job::{EventSender, Jobs, Task};
use super::refusal::Refusal;
use super::wire::{CompareResult, Progress};
use crate::ask::compare::{Audience, Figure, Row, election};
use crate::ask::{CompareRequest, Files, Request as _};

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
    Asked(asked): Asked<CompareRequest>,
) -> Result<Response, Refusal> {
    let asked = allowed(asked)?;
    let task = Task { within: WITHIN, ..Task::new(asked.command()) };
    // Threads of its own, for those of all are taken by who comes first.
    let threads = || rayon::ThreadPoolBuilder::new().build();
    Ok(match asked.elections {
        true => jobs.stream(task, move |sender| threads()?.install(|| elections(&asked, sender))),
        false => jobs.stream(task, move |sender| threads()?.install(|| mutexes(&asked, sender))),
    })
}

/// Refuses what the lab has no time for.
fn allowed(asked: CompareRequest) -> Result<CompareRequest> {
    let asked = asked.validated()?;
    asked.check()?;
    let at_most = |what: &str, given: u64, most: u64| {
        ensure!(
            given <= most,
            "{given} {what} are too many for the lab; at most {most}, or run it in a terminal: {}",
            asked.command()
        );
        Ok(())
    };
    at_most("sizes", asked.nodes.len() as u64, MOST_SIZES as u64)?;
    at_most("algorithms", asked.algorithms.len() as u64, MOST_ALGORITHMS as u64)?;
    at_most("nodes", asked.nodes.iter().copied().max().unwrap_or(0) as u64, MOST_NODES as u64)?;
    at_most("entries", asked.entries.unwrap_or(0), MOST_ENTRIES)?;
    at_most(
        "seeds",
        asked.seeds(),
        if asked.elections { MOST_SEEDS_OF_ELECTIONS } else { MOST_SEEDS },
    )?;
    Ok(asked)
}

fn mutexes(asked: &CompareRequest, sender: &EventSender) -> Result<CompareResult<Figure>> {
    let jobs = asked.jobs()?;
    let label = |row: &Row| format!("{}, N = {}", row.algorithm, row.nodes);
    let work = |audience: &Audience<'_, _>| asked.measure(&jobs, audience, Files::None);
    let rows = follow(jobs.len(), sender, label, work)?;
    Ok(CompareResult { rows, curves: asked.curves(Files::None)?, command: asked.command() })
}

fn elections(
    asked: &CompareRequest,
    sender: &EventSender,
) -> Result<CompareResult<election::Figure>> {
    let jobs = election::jobs(asked)?;
    let label = |row: &election::Row| {
        format!("{}, {}, N = {}", row.algorithm, row.case.unwrap_or_default(), row.nodes)
    };
    let work = |audience: &Audience<'_, _>| election::measure(asked, &jobs, audience);
    let rows = follow(jobs.len(), sender, label, work)?;
    Ok(CompareResult { rows, curves: election::curves(asked)?, command: asked.command() })
}

/// Tells rows and progress as they come.
fn follow<R: Serialize>(
    total: usize,
    sender: &EventSender,
    label: impl Fn(&R) -> String + Sync,
    work: impl FnOnce(&Audience<'_, R>) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let done = AtomicUsize::new(0);
    let hears = |rows: &[R]| {
        let done = 1 + done.fetch_add(1, Ordering::Relaxed);
        let label = rows.first().map(&label).unwrap_or_default();
        sender.progress(&Progress { done, total, label });
        // If nobody listens the work is stopped.
        let _ = sender.tell("rows", &rows);
    };
    work(&Audience { hears: &hears, stop: sender.stop() })
}
