//! What can be seen of the node from outside.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::response::sse::{KeepAlive, Sse};
use axum::{Extension, Json};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::error::RequestError;
use super::listen::Stage;
use super::roles::Client;
use super::routes::QueryParams;
use super::service::ApiService;
use crate::observe::{Event, Events, What};
use skeptron_member::report::Status;

/// The description of the API, as it is served.
const OPENAPI: &str = include_str!("openapi.json");

pub(super) async fn status(State(service): State<Arc<ApiService>>) -> Json<Status> {
    Json(service.node.status())
}

pub(super) async fn metrics(State(service): State<Arc<ApiService>>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], service.node.metrics())
}

pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsFilter {
    /// How names of locks begin; events of no lock are left out then.
    lock: Option<String>,
}

pub(super) async fn events(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    QueryParams(filter): QueryParams<EventsFilter>,
) -> Result<Sse<impl Stream<Item = Result<axum::response::sse::Event, Infallible>>>, RequestError> {
    client.may_list(filter.lock.as_deref().unwrap_or_default())?;
    let reader = Reader {
        events: service.node.observer().listen(),
        prefix: filter.lock,
        client,
        stage: service.stage.clone(),
    };
    let told = stream::unfold(reader, async |mut reader| {
        let told = reader.next().await?;
        Some((Ok(told), reader))
    });
    Ok(Sse::new(told).keep_alive(KeepAlive::default()))
}

/// One reader of the events.
struct Reader {
    events: Events,
    prefix: Option<String>,
    client: Client,
    stage: watch::Receiver<Stage>,
}

impl Reader {
    /// The next event that it wants; none when the API closes.
    async fn next(&mut self) -> Option<axum::response::sse::Event> {
        loop {
            let event = tokio::select! {
                event = self.events.next() => event,
                _ = self.stage.wait_for(|stage| *stage > Stage::Open) => return None,
            };
            match event {
                Ok(event) if self.wants(&event.what) => return Some(told(&event)),
                Ok(_) => {}
                Err(RecvError::Lagged(missed)) => return Some(gap(missed)),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn wants(&self, what: &What) -> bool {
        if what.lock().is_some_and(|lock| !self.client.may_see(lock)) {
            return false;
        }
        match (&self.prefix, what.lock()) {
            (None, _) => true,
            (Some(prefix), lock) => lock.is_some_and(|lock| lock.starts_with(prefix.as_str())),
        }
    }
}

fn told(event: &Event) -> axum::response::sse::Event {
    let data = serde_json::to_string(event).expect("an event has only names and numbers");
    axum::response::sse::Event::default().id(event.number.to_string()).data(data)
}

/// Instead of the events that were dropped because the reader was too slow.
fn gap(missed: u64) -> axum::response::sse::Event {
    axum::response::sse::Event::default().event("missed").data(missed.to_string())
}
