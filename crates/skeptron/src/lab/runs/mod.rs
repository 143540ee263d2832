//! Runs: made from options, scenarios and files, kept for a while, told as they happened.

mod clocks;
mod export;
mod facts;
mod figures;
mod fork;
mod message_log;
mod mistake;
mod options;
mod phases;
mod play;
mod run;
mod run_store;
mod states;
mod stream;
mod to_wire;
mod verdicts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::LIMITS;
use super::body::{Asked, MOST_FILE_BYTES, Sought};
use super::counterexamples::Counterexamples;
use super::gallery::Gallery;
use super::refusal::Refusal;
use super::standalone;
use super::wire::{Act, Acts, ClockChunk, Mistake, Note, RunMade, RunPage, RunRequest, StateChunk};
use crate::ask::{Given, SimOptions};
pub(super) use play::{Played, RunSpec};
use run::Run;
use run_store::RunStore;

/// What the handlers share.
#[derive(Debug)]
struct RunService {
    gallery: Gallery,
    counterexamples: Counterexamples,
    store: RunStore,
    /// As many runs are played at a time as there are cores.
    workers: Arc<Semaphore>,
}

/// What a run is made from.
const ONE_OF: &str = "a run is made from exactly one of `sim`, `scenario` and `trace`";

/// Becomes true when nobody waits for the work any more.
pub(super) type Stop = Arc<AtomicBool>;

/// Whoever waits for some work; without it the work stops.
#[derive(Default)]
struct Waiter(Stop);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The paths of runs.
pub(super) fn router(gallery: Gallery) -> Router {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let service = RunService {
        gallery,
        counterexamples: Counterexamples::new(),
        store: RunStore::default(),
        workers: Arc::new(Semaphore::new(cores)),
    };
    Router::new()
        .route("/lab/runs", post(make))
        .route("/lab/runs/{id}", get(tell))
        .route("/lab/runs/{id}/acts", post(act).put(set))
        .route("/lab/runs/{id}/states", get(states))
        .route("/lab/runs/{id}/clocks", get(clocks))
        .route("/lab/runs/{id}/export", get(export))
        .route("/lab/runs/{id}/page", post(play_alone))
        .route("/lab/runs/{id}/mistake", get(mistake))
        .with_state(Arc::new(service))
}

impl RunService {
    /// Does what takes a while apart from everything else, as long as somebody waits for it and not
    /// longer than the lab allows.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let worker = Arc::clone(&self.workers).acquire_owned().await;
        let waiter = Waiter::default();
        let stop = Arc::clone(&waiter.0);
        let job = tokio::task::spawn_blocking(move || {
            // Until it really ends, even if nobody waits for it any more.
            let _worker = worker;
            work(&stop)
        });
        let done = tokio::time::timeout(Duration::from_secs(LIMITS.seconds), job).await;
        let done = done.map_err(|_| Refusal::TooLong(LIMITS.seconds))?;
        Ok(done.map_err(|error| Refusal::Broken(error.to_string()))??)
    }

    /// What is to be played, and what a hand does to it.
    async fn spec(&self, asked: RunRequest) -> Result<(RunSpec, Vec<Act>), Refusal> {
        let RunRequest { sim, scenario, trace, acts, notes } = asked;
        let notes = notes.unwrap_or_default();
        match (sim, scenario, trace) {
            (None, Some(name), None) if notes.is_empty() => self.hung(&name, acts).await,
            (None, Some(_), None) => {
                Err(Refusal::Malformed("a scenario of the gallery has its own notes".into()))
            }
            (sim, None, trace) => {
                Ok((self.made(sim, trace, notes).await?, acts.unwrap_or_default()))
            }
            _ => Err(Refusal::Malformed(ONE_OF.into())),
        }
    }

    /// What is made from options, or was recorded.
    async fn made(
        &self,
        sim: Option<Given<SimOptions>>,
        trace: Option<String>,
        notes: Vec<Note>,
    ) -> Result<RunSpec, Refusal> {
        match (sim, trace) {
            (Some(Given(sim)), None) => self.work(|_| RunSpec::of_options(sim, notes)).await,
            (None, Some(text)) => self.work(move |stop| RunSpec::of_text(&text, notes, stop)).await,
            _ => Err(Refusal::Malformed(ONE_OF.into())),
        }
    }

    /// What hangs in the gallery by that name.
    async fn hung(
        &self,
        name: &str,
        acts: Option<Vec<Act>>,
    ) -> Result<(RunSpec, Vec<Act>), Refusal> {
        if let Some(counterexample) = self.counterexamples.named(name) {
            let search = || self.work(counterexample.search());
            let trace = counterexample.found.get_or_try_init(search).await?;
            return Ok((RunSpec::of_trace(Arc::clone(trace))?, acts.unwrap_or_default()));
        }
        let example = self.gallery.example(name)?;
        let example = example.ok_or_else(|| Refusal::NoSuchScenario(name.into()))?;
        let spec = self.made(example.sim, example.trace, example.notes).await?;
        Ok((spec, acts.unwrap_or(example.acts)))
    }

    /// Plays a run again with other acts of a hand.
    async fn replay(&self, run: &Arc<Run>, acts: Vec<Act>) -> Result<Json<Acts>, Refusal> {
        let again = Arc::clone(run);
        let played = self.work(move |stop| again.spec.play(acts, stop)).await?;
        let acts = played.acts();
        self.store.make_room_for(run, played.bytes())?;
        run.change(played);
        Ok(Json(Acts { acts }))
    }
}

async fn make(
    State(service): State<Arc<RunService>>,
    Asked(asked): Asked<RunRequest, MOST_FILE_BYTES>,
) -> Result<Json<RunMade>, Refusal> {
    let (spec, acts) = service.spec(asked).await?;
    let play = move |stop: &Stop| {
        let played = spec.play(acts, stop)?;
        Ok(Run::new(spec, played))
    };
    let id = service.store.keep(service.work(play).await?)?;
    Ok(Json(RunMade { id }))
}

async fn tell(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, Refusal> {
    Ok(stream::tell(service.store.find(&id)?))
}

/// Goes back to where the hand acts, and on from there in another way.
async fn act(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
    Asked(act): Asked<Act>,
) -> Result<Json<Acts>, Refusal> {
    let run = service.store.find(&id)?;
    let _turn = run.turn.lock().await;
    let mut acts = run.played().acts_before(act.after);
    acts.push(act);
    service.replay(&run, acts).await
}

/// Does all of these instead of what was done: so acts are taken back, and done again.
async fn set(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
    Asked(Acts { acts }): Asked<Acts, MOST_FILE_BYTES>,
) -> Result<Json<Acts>, Refusal> {
    let run = service.store.find(&id)?;
    let _turn = run.turn.lock().await;
    service.replay(&run, acts).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    chunk: usize,
}

async fn states(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
    Sought(Which { chunk }): Sought<Which>,
) -> Result<Json<StateChunk>, Refusal> {
    let played = service.store.find(&id)?.played();
    Ok(Json(service.work(move |_| played.states_in(chunk)).await?))
}

async fn clocks(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
    Sought(Which { chunk }): Sought<Which>,
) -> Result<Json<ClockChunk>, Refusal> {
    let trace = Arc::clone(&service.store.find(&id)?.played().trace);
    Ok(Json(service.work(move |_| clocks::chunk(&trace, chunk)).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: String,
}

async fn export(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
    Sought(Form { format }): Sought<Form>,
) -> Result<Response, Refusal> {
    let trace = Arc::clone(&service.store.find(&id)?.played().trace);
    let file = service.work(move |_| export::file(&trace, &format)).await?;
    Ok(file.into_response())
}

/// The run as a page that plays it without a server.
async fn play_alone(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
    Asked(told): Asked<RunPage>,
) -> Result<Html<String>, Refusal> {
    let played = service.store.find(&id)?.played();
    let page = service.gallery.page.clone();
    Ok(Html(service.work(move |_| standalone::of_played(&page, told, &played)).await?))
}

/// Where a node of a broken variant first leaves the rules.
async fn mistake(
    State(service): State<Arc<RunService>>,
    Path(id): Path<String>,
) -> Result<Json<Option<Mistake>>, Refusal> {
    let trace = Arc::clone(&service.store.find(&id)?.played().trace);
    Ok(Json(service.work(move |_| mistake::first(&trace)).await?))
}
