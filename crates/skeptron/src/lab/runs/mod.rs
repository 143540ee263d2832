//! Runs: made from options, scenarios and files, kept for a while, told as they happened.

mod clocks;
mod export;
mod figures;
mod lamps;
mod letters;
mod options;
mod play;
mod run;
mod states;
mod store;
mod stream;
mod told;

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
use super::assets::Page;
use super::body::{Asked, MOST_FILE_BYTES, Sought};
use super::counterexamples::Counterexamples;
use super::gallery;
use super::refusal::Refusal;
use super::standalone;
use super::wire::{Act, Acts, ClockChunk, RunMade, RunPage, RunRequest, StateChunk};
pub(super) use play::{Played, Score};
use run::Run;
use store::Store;

/// What the handlers share.
#[derive(Debug)]
struct Theatre {
    page: Page,
    counterexamples: Counterexamples,
    store: Store,
    /// As many runs are played at a time as there are cores.
    stages: Arc<Semaphore>,
}

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
pub(super) fn router(page: Page) -> Router {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let theatre = Theatre {
        page,
        counterexamples: Counterexamples::new(),
        store: Store::default(),
        stages: Arc::new(Semaphore::new(cores)),
    };
    Router::new()
        .route("/lab/runs", post(make))
        .route("/lab/runs/{id}", get(tell))
        .route("/lab/runs/{id}/acts", post(act).delete(undo))
        .route("/lab/runs/{id}/states", get(states))
        .route("/lab/runs/{id}/clocks", get(clocks))
        .route("/lab/runs/{id}/export", get(export))
        .route("/lab/runs/{id}/page", post(play_alone))
        .with_state(Arc::new(theatre))
}

impl Theatre {
    /// Does what takes a while apart from everything else, as long as somebody waits for it and not
    /// longer than the lab allows.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let stage = Arc::clone(&self.stages).acquire_owned().await;
        let waiter = Waiter::default();
        let stop = Arc::clone(&waiter.0);
        let job = tokio::task::spawn_blocking(move || {
            // Until it really ends, even if nobody waits for it any more.
            let _stage = stage;
            work(&stop)
        });
        let done = tokio::time::timeout(Duration::from_secs(LIMITS.seconds), job).await;
        let done = done.map_err(|_| Refusal::TooLong(LIMITS.seconds))?;
        Ok(done.map_err(|error| Refusal::Broken(error.to_string()))??)
    }

    /// What is to be played, and what a hand does to it.
    async fn score(&self, asked: RunRequest) -> Result<(Score, Vec<Act>), Refusal> {
        let acts = asked.acts;
        match (asked.sim, asked.scenario, asked.trace) {
            (Some(sim), None, None) => {
                let score = self.work(|_| Score::of_options(sim)).await?;
                Ok((score, acts.unwrap_or_default()))
            }
            (None, Some(name), None) => self.hung(&name, acts).await,
            (None, None, Some(text)) => {
                let score = self.work(move |_| Score::of_text(&text)).await?;
                Ok((score, acts.unwrap_or_default()))
            }
            _ => {
                let told = "a run is made from exactly one of `sim`, `scenario` and `trace`";
                Err(Refusal::Malformed(told.into()))
            }
        }
    }

    /// What hangs in the gallery by that name.
    async fn hung(&self, name: &str, acts: Option<Vec<Act>>) -> Result<(Score, Vec<Act>), Refusal> {
        if let Some(counterexample) = self.counterexamples.named(name) {
            let search = || self.work(counterexample.search());
            let trace = counterexample.found.get_or_try_init(search).await?;
            return Ok((Score::Recorded(Arc::clone(trace)), acts.unwrap_or_default()));
        }
        let example = gallery::example(&self.page, name)?;
        let example = example.ok_or_else(|| Refusal::NoSuchScenario(name.into()))?;
        let score = self.work(|_| Score::of_options(example.sim)).await?;
        Ok((score, acts.unwrap_or(example.acts)))
    }

    /// Plays a run again with other acts of a hand.
    async fn replay(&self, run: &Arc<Run>, acts: Vec<Act>) -> Result<Json<Acts>, Refusal> {
        let again = Arc::clone(run);
        let played = self.work(move |stop| again.score.play(acts, stop)).await?;
        let acts = played.acts();
        self.store.make_room_for(run, played.bytes())?;
        run.change(played);
        Ok(Json(Acts { acts }))
    }
}

async fn make(
    State(theatre): State<Arc<Theatre>>,
    Asked(asked): Asked<RunRequest, MOST_FILE_BYTES>,
) -> Result<Json<RunMade>, Refusal> {
    let (score, acts) = theatre.score(asked).await?;
    let play = move |stop: &Stop| {
        let played = score.play(acts, stop)?;
        Ok(Run::new(score, played))
    };
    let id = theatre.store.keep(theatre.work(play).await?)?;
    Ok(Json(RunMade { id }))
}

async fn tell(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, Refusal> {
    Ok(stream::tell(theatre.store.find(&id)?))
}

/// Goes back to where the hand acts, and on from there in another way.
async fn act(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
    Asked(act): Asked<Act>,
) -> Result<Json<Acts>, Refusal> {
    let run = theatre.store.find(&id)?;
    let _turn = run.turn.lock().await;
    let mut acts = run.played().acts_before(act.after);
    acts.push(act);
    theatre.replay(&run, acts).await
}

/// Takes the last act back.
async fn undo(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
) -> Result<Json<Acts>, Refusal> {
    let run = theatre.store.find(&id)?;
    let _turn = run.turn.lock().await;
    let mut acts = run.played().acts();
    if acts.pop().is_none() {
        return Err(Refusal::Impossible("there is no act by hand to take back".into()));
    }
    theatre.replay(&run, acts).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    chunk: usize,
}

async fn states(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
    Sought(Which { chunk }): Sought<Which>,
) -> Result<Json<StateChunk>, Refusal> {
    let trace = Arc::clone(&theatre.store.find(&id)?.played().trace);
    Ok(Json(theatre.work(move |_| states::chunk(&trace, chunk)).await?))
}

async fn clocks(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
    Sought(Which { chunk }): Sought<Which>,
) -> Result<Json<ClockChunk>, Refusal> {
    let trace = Arc::clone(&theatre.store.find(&id)?.played().trace);
    Ok(Json(theatre.work(move |_| clocks::chunk(&trace, chunk)).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: String,
}

async fn export(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
    Sought(Form { format }): Sought<Form>,
) -> Result<Response, Refusal> {
    let trace = Arc::clone(&theatre.store.find(&id)?.played().trace);
    let file = theatre.work(move |_| export::file(&trace, &format)).await?;
    Ok(file.into_response())
}

/// The run as a page that plays it without a server.
async fn play_alone(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
    Asked(told): Asked<RunPage>,
) -> Result<Html<String>, Refusal> {
    let played = theatre.store.find(&id)?.played();
    let page = theatre.page.clone();
    Ok(Html(theatre.work(move |_| standalone::of_played(&page, told, &played)).await?))
}
