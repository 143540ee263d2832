//! POST /lab/check: everything that a small system can do, as `skeptron check`.

use std::io::Cursor;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use clap::ValueEnum;
use skeptron_check::{Options, Progress, Report};
use skeptron_sim::trace::{Format, Trace};

use super::body::{Asked, MOST_FILE_BYTES};
use super::job::{Jobs, Task, Teller, WAITING, WITHIN};
use super::refusal::Refusal;
use super::wire::{CheckProgress, CheckRequest, CheckResult, CheckedProperty};
use super::{LIMITS, files};
use crate::cli::check::{Begun, CheckArgs, Moment, Question, continued, memory};
use crate::cli::sim::ChannelOrder;
use crate::cli::system::SystemArgs;

/// As many as the largest system has in which a broken variant is caught.
const MOST_NODES: usize = 13;
/// The name under which whoever runs the command has saved the run.
const RUN: &str = "run.jsonl";
/// How often progress is told.
const EVERY: Duration = Duration::from_millis(150);

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/check", post(check))
}

async fn check(
    State(jobs): State<Jobs>,
    Asked(mut request): Asked<CheckRequest, MOST_FILE_BYTES>,
) -> Result<Response, Refusal> {
    let from = request.from.take();
    let args = args(request)?;
    let waiting = CheckProgress { states: 0, depth: 0, seconds: 0.0, label: Some(WAITING.into()) };
    let Some(from) = from else {
        let question = args.question()?;
        let task = Task { within: WITHIN, command: args.command(), waiting };
        return Ok(jobs.stream(task, move |teller| answer(&args, &question, None, teller)));
    };
    if args.system != SystemArgs::default() {
        return Err(Refusal::Malformed("the system is that of the run; leave it out".into()));
    }
    let args = CheckArgs { from: Some(RUN.into()), at: Some(from.at), ..args };
    let task = Task { within: WITHIN, command: args.command(), waiting };
    Ok(jobs.stream(task, move |teller| {
        let trace = Trace::read(Cursor::new(from.trace)).context("the trace cannot be read")?;
        let begun = Begun::of(trace, Some(from.at))?;
        refuse_crowd(begun.nodes(), &args)?;
        answer(&args, &args.question_after(&begun)?, Some(&begun), teller)
    }))
}

/// The options of the command line.
fn args(request: CheckRequest) -> Result<CheckArgs> {
    let system = SystemArgs {
        nodes: request.nodes,
        coordinator: request.coordinator,
        quorum: request.quorum,
        structure: request.structure,
        tree: request.tree,
        arbitration: request.arbitration,
        ring: request.ring,
        graph: request.graph,
        clocks: None,
        unsafe_structure: false,
    };
    files::refuse_in_system(&system)?;
    let listed = request.requests.as_ref().map(|requests| requests.split(',').count());
    let args = CheckArgs {
        algorithm: Some(request.algorithm).filter(|name| !name.is_empty()),
        system,
        requests: request.requests,
        requesters: request.requesters,
        initiators: request.initiators,
        calls: request.calls,
        detector: request.detector,
        order: chosen::<ChannelOrder>("order", request.order.as_deref())?,
        loss: request.loss.unwrap_or(0),
        duplicate: request.duplicate.unwrap_or(0),
        crashes: request.crashes.unwrap_or(0),
        crash_when: chosen::<Moment>("crash_when", request.crash_when.as_deref())?,
        victims: request.victims,
        restarts: request.restarts.unwrap_or(0),
        premature: request.premature.unwrap_or(0),
        suspicions: request.suspicions.unwrap_or(0),
        keep_going: request.keep_going.unwrap_or(false),
        ..CheckArgs::default()
    };
    // Before anything of that size is built.
    let known = [args.system.nodes, args.system.nodes_of_layout()?, listed];
    refuse_crowd(known.into_iter().flatten().max().unwrap_or(0), &args)?;
    Ok(args)
}

fn refuse_crowd(nodes: usize, args: &CheckArgs) -> Result<()> {
    ensure!(
        nodes <= MOST_NODES,
        "{nodes} nodes are too many for the lab; at most {MOST_NODES}, or run it in a terminal: {}",
        args.command()
    );
    Ok(())
}

/// One of a few words.
fn chosen<T: ValueEnum + Default>(option: &str, text: Option<&str>) -> Result<T> {
    let Some(text) = text else { return Ok(T::default()) };
    T::from_str(text, false).ok().with_context(|| {
        let known = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_string()).collect();
        format!("{option} is `{text}`; there are {}", known.join(", "))
    })
}

impl From<&CheckArgs> for CheckRequest {
    fn from(args: &CheckArgs) -> Self {
        fn name<T: ValueEnum + Default + PartialEq>(value: &T) -> Option<String> {
            let value = (*value != T::default()).then(|| value.to_possible_value())??;
            Some(value.get_name().to_string())
        }
        let some = |count: u8| (count > 0).then_some(count);
        let system = args.system.clone();
        CheckRequest {
            algorithm: args.algorithm.clone().unwrap_or_default(),
            nodes: system.nodes,
            coordinator: system.coordinator,
            quorum: system.quorum,
            structure: system.structure,
            tree: system.tree,
            arbitration: system.arbitration,
            ring: system.ring,
            graph: system.graph,
            from: None,
            requests: args.requests.clone(),
            requesters: args.requesters.clone(),
            initiators: args.initiators.clone(),
            calls: args.calls,
            detector: args.detector.clone(),
            order: name(&args.order),
            loss: some(args.loss),
            duplicate: some(args.duplicate),
            crashes: some(args.crashes),
            crash_when: name(&args.crash_when),
            victims: args.victims.clone(),
            restarts: some(args.restarts),
            premature: some(args.premature),
            suspicions: some(args.suspicions),
            keep_going: args.keep_going.then_some(true),
        }
    }
}

/// Searches within the memory that the lab has for it; whoever has heard enough ends it.
pub(super) fn search(
    args: &CheckArgs,
    question: &Question,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report> {
    let max_memory = memory::most_of_what_is_free().min(LIMITS.check_memory);
    let only = args.judged()?;
    let options = Options {
        max_memory,
        reduction: !args.no_reduction,
        keep_going: args.keep_going,
        progress: Some(progress),
        stop: Some(stop),
        judging: args.judging(only.as_deref(), None),
        ..Options::default()
    };
    Ok(question.answer(&options)?)
}

fn answer(
    args: &CheckArgs,
    question: &Question,
    begun: Option<&Begun>,
    teller: &Teller,
) -> Result<CheckResult> {
    let watched = Watched::default();
    let report = watched.tell_while(teller, || {
        search(args, question, teller.stop(), &|progress| watched.note(progress))
    })?;
    teller.check()?;
    let properties = report.verdicts.iter().map(|verdict| {
        let counterexample = verdict.counterexample.as_ref();
        let trace = counterexample.map(|found| {
            let trace = question.trace(verdict.property, found, Some(args.command()))?;
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
        command: args.command(),
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

    fn tell_while<T>(&self, teller: &Teller, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        thread::scope(|scope| {
            let clock = scope.spawn(|| {
                while !self.over.load(Ordering::Relaxed) {
                    teller.progress(&CheckProgress {
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
