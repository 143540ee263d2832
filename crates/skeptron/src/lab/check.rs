//! POST /lab/check: everything that a small system can do, as `skeptron check`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use skeptron_check::{Options, Progress, Report};
use skeptron_sim::trace::{Format, Trace};

use super::body::{Asked, MOST_FILE_BYTES};
use super::job::{EventSender, Jobs, Task, WAITING, WITHIN};
use super::refusal::Refusal;
use super::wire::{CheckProgress, CheckResult, CheckedProperty};
use super::{LIMITS, assumptions};
use crate::ask::check::{Begun, Question, continued, memory};
use crate::ask::kinds::KindsArgs;
use crate::ask::{CheckRequest, Files, Request as _};

/// As many as the largest system has in which a broken variant is caught.
const MOST_NODES: usize = 13;
/// How often progress is told.
const EVERY: Duration = Duration::from_millis(150);

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/check", post(check))
}

async fn check(
    State(jobs): State<Jobs>,
    Asked(asked): Asked<CheckRequest, MOST_FILE_BYTES>,
) -> Result<Response, Refusal> {
    let asked = allowed(asked)?;
    if asked.all {
        return Ok(assumptions::stream(&jobs, asked));
    }
    let waiting = CheckProgress { states: 0, depth: 0, seconds: 0.0, label: Some(WAITING.into()) };
    let task = Task { within: WITHIN, command: asked.command(), waiting };
    if asked.text.is_none() {
        // What is wrong with it is said at once.
        asked.question(Files::None)?;
    }
    Ok(jobs.stream(task, move |sender| {
        let (question, begun) = asked.asked(Files::None)?;
        refuse_crowd(question.setup().nodes(), &asked)?;
        answer(&asked, &question, begun.as_ref(), sender)
    }))
}

/// Refuses what the lab has no time for, or cannot show.
pub(super) fn allowed(asked: CheckRequest) -> Result<CheckRequest> {
    let asked = asked.validated()?;
    asked.on_disk(Files::None)?;
    let shown = asked.kinds == KindsArgs::default() && asked.dearest().is_none();
    ensure!(
        shown && (asked.from.is_none() || asked.text.is_some()),
        "the lab does not show this; run it in a terminal: {}",
        asked.command()
    );
    // Before anything of that size is built.
    let listed = asked.requests.as_ref().map(|requests| requests.split(',').count());
    let known = [asked.system.nodes, asked.system.nodes_of_layout(Files::None)?, listed];
    refuse_crowd(known.into_iter().flatten().max().unwrap_or(0), &asked)?;
    Ok(asked)
}

fn refuse_crowd(nodes: usize, asked: &CheckRequest) -> Result<()> {
    ensure!(
        nodes <= MOST_NODES,
        "{nodes} nodes are too many for the lab; at most {MOST_NODES}, or run it in a terminal: {}",
        asked.command()
    );
    Ok(())
}

/// Searches within the memory that the lab has for it; whoever has heard enough ends it.
pub(super) fn search(
    asked: &CheckRequest,
    question: &Question,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report> {
    let max_memory = memory::most_of_what_is_free().min(LIMITS.check_memory);
    let (only, invariant) = (asked.judged()?, asked.predicate()?);
    let options = Options {
        max_memory,
        reduction: !asked.no_reduction,
        keep_going: asked.keep_going,
        progress: Some(progress),
        stop: Some(stop),
        judging: asked.judging(only.as_deref(), invariant.as_ref()),
        walks: asked.random_walks()?,
        disk: asked.on_disk(Files::None)?,
        ..Options::default()
    };
    Ok(question.answer(&options)?)
}

fn answer(
    asked: &CheckRequest,
    question: &Question,
    begun: Option<&Begun>,
    sender: &EventSender,
) -> Result<CheckResult> {
    let watched = Watched::default();
    let report = watched.tell_while(sender, || {
        search(asked, question, sender.stop(), &|progress| watched.note(progress))
    })?;
    sender.check()?;
    let properties = report.verdicts.iter().map(|verdict| {
        let counterexample = verdict.counterexample.as_ref();
        let trace = counterexample.map(|found| {
            let trace = question.trace(verdict.property, found, Some(asked.command()))?;
            text(&continued(begun, trace))
        });
        Ok(CheckedProperty {
            name: verdict.property.name().into(),
            holds: verdict.holds,
            trace_length: counterexample.map(|found| found.steps.len()),
            trace: trace.transpose()?,
        })
    });
    Ok(CheckResult {
        states: report.states,
        transitions: report.transitions,
        depth: report.depth,
        complete: report.complete,
        out_of_memory: report.out_of_memory,
        seconds: report.seconds,
        command: asked.command(),
        after: question.begun(),
        properties: properties.collect::<Result<_>>()?,
    })
}

/// A recorded run as a file has it.
pub(super) fn text(trace: &Trace) -> Result<String> {
    let mut text = Vec::new();
    trace.write(Format::JsonLines, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// How far a search is, for whoever looks now and then: it may prove something for a while without a
/// word.
#[derive(Default)]
struct Watched {
    states: AtomicU64,
    depth: AtomicUsize,
    over: AtomicBool,
}

impl Watched {
    fn note(&self, progress: Progress) {
        self.states.store(progress.states, Ordering::Relaxed);
        self.depth.store(progress.depth, Ordering::Relaxed);
    }

    fn tell_while<T>(&self, sender: &EventSender, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        thread::scope(|scope| {
            let clock = scope.spawn(|| {
                while !self.over.load(Ordering::Relaxed) {
                    sender.progress(&CheckProgress {
                        states: self.states.load(Ordering::Relaxed),
                        depth: self.depth.load(Ordering::Relaxed),
                        seconds: began.elapsed().as_secs_f64(),
                        label: None,
                    });
                    thread::park_timeout(EVERY);
                }
            });
            let result = work();
            self.over.store(true, Ordering::Relaxed);
            clock.thread().unpark();
            result
        })
    }
}
