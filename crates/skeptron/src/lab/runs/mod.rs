//! Runs: made from options, scenarios and files, kept for a while, told as they happened.

mod figures;
mod lamps;
mod letters;
mod options;
mod play;
mod store;
mod stream;
mod told;

use std::sync::Arc;

use anyhow::bail;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use skeptron_sim::trace::Format;
use tokio::sync::Semaphore;

use super::assets::Page;
use super::body::{Asked, MOST_FILE_BYTES};
use super::gallery;
use super::refusal::Refusal;
use super::wire::{RunMade, RunRequest};
use play::Score;
use store::{Run, Store};

/// What the handlers share.
#[derive(Debug)]
struct Theatre {
    page: Page,
    store: Store,
    /// As many runs are played at a time as there are cores.
    stages: Semaphore,
}

/// The paths of runs.
pub(super) fn router(page: Page) -> Router {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let theatre = Theatre { page, store: Store::default(), stages: Semaphore::new(cores) };
    Router::new()
        .route("/lab/runs", post(make))
        .route("/lab/runs/{id}", get(tell))
        .route("/lab/runs/{id}/export", get(export))
        .with_state(Arc::new(theatre))
}

impl Theatre {
    /// Does what takes a while where nobody waits for it.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let _stage = self.stages.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        Ok(done.map_err(|error| Refusal::Broken(error.to_string()))??)
    }
}

async fn make(
    State(theatre): State<Arc<Theatre>>,
    Asked(asked): Asked<RunRequest, MOST_FILE_BYTES>,
) -> Result<Json<RunMade>, Refusal> {
    let score = score(&theatre.page, asked)?;
    let run = theatre
        .work(move || {
            let score = score()?;
            let played = score.play()?;
            Ok(Run::new(score, played))
        })
        .await?;
    let id = theatre.store.keep(run)?;
    Ok(Json(RunMade { id }))
}

/// How to find out what is to be run.
fn score(
    page: &Page,
    asked: RunRequest,
) -> Result<Box<dyn FnOnce() -> anyhow::Result<Score> + Send>, Refusal> {
    Ok(match asked {
        RunRequest { sim: Some(sim), scenario: None, trace: None, .. } => {
            Box::new(|| Score::of_options(sim))
        }
        RunRequest { sim: None, scenario: Some(name), trace: None, .. } => {
            let example = gallery::example(page, &name)?;
            let example = example.ok_or(Refusal::NoSuchScenario(name))?;
            Box::new(|| Score::of_options(example.sim))
        }
        RunRequest { sim: None, scenario: None, trace: Some(text), .. } => {
            Box::new(move || Score::of_text(&text))
        }
        _ => {
            let told = "a run is made from exactly one of `sim`, `scenario` and `trace`";
            return Err(Refusal::Malformed(told.into()));
        }
    })
}

async fn tell(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, Refusal> {
    Ok(stream::tell(theatre.store.find(&id)?))
}

#[derive(Deserialize)]
struct Export {
    #[serde(default)]
    format: String,
}

async fn export(
    State(theatre): State<Arc<Theatre>>,
    Path(id): Path<String>,
    Query(Export { format }): Query<Export>,
) -> Result<Response, Refusal> {
    let run = theatre.store.find(&id)?;
    let (format, extension, kind) = form(&format)?;
    let trace = Arc::clone(&run.played().trace);
    let name = format!("{}.{extension}", trace.header.algorithm);
    let content = theatre
        .work(move || {
            let mut content = Vec::new();
            trace.write(format, &mut content)?;
            Ok(content)
        })
        .await?;
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{name}\""))
        .map_err(|error| Refusal::Broken(error.to_string()))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, content).into_response())
}

/// A form in which a run is exported: its file extension, and its media type.
fn form(name: &str) -> anyhow::Result<(Format, &'static str, &'static str)> {
    Ok(match name {
        "svg" => (Format::Svg, "svg", "image/svg+xml"),
        "jsonl" => (Format::JsonLines, "jsonl", "application/jsonl"),
        "mmd" => (Format::Mermaid, "mmd", "text/plain; charset=utf-8"),
        "shiviz" => (Format::ShiViz, "shiviz", "text/plain; charset=utf-8"),
        "txt" => (Format::Text, "txt", "text/plain; charset=utf-8"),
        "perfetto" => (Format::Perfetto, "json", "application/json"),
        _ => bail!(
            "there is no format `{name}`; there are svg, jsonl, mmd, shiviz, txt and perfetto"
        ),
    })
}
