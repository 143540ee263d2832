//! The paths of elections: to lead, and to see who does.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::{Extension, Json};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use skeptron_member::Fence;
use skeptron_member::election::Leadership;
use skeptron_member::session::{Held, SessionError};
use tokio::sync::watch;

use super::error::RequestError;
use super::listen::Stage;
use super::quota::Observing;
use super::roles::Client;
use super::routes::{JsonBody, QueryParams};
use super::service::ApiService;
use crate::env;
use crate::messages::{
    Acquire, Campaign, Elected, HEARD_EVERY, NewValue, Proclaim, Release, Resign, Resigned,
};
use crate::shell::Observation;

/// How long the members have to say whether one of them has the leader.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn campaign(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<Campaign>,
) -> Result<Json<Elected>, RequestError> {
    let Campaign { session, name, value, wait_ms, request } = asked;
    let asked = Acquire::exclusive(session, name, wait_ms, request);
    let Held { lock, fence } = service.acquire(&client, asked, Some(&value)).await?;
    Ok(Json(Elected { name: lock, term: fence }))
}

pub(super) async fn proclaim(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<Proclaim>,
) -> Result<Json<NewValue>, RequestError> {
    let version = service.proclaim(&client, &asked)?;
    Ok(Json(NewValue { name: asked.name, version }))
}

pub(super) async fn resign(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<Resign>,
) -> Result<Json<Resigned>, RequestError> {
    let Resign { session, name, term, request } = asked;
    if term.is_some() == request.is_some() {
        return Err(RequestError::Invalid("give either `term` or `request`".to_string()));
    }
    let asked = Release { session, lock: name, fence: term, request };
    let resigned = service.release(&client, &asked)?;
    Ok(Json(Resigned { name: asked.lock, resigned }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Election {
    name: String,
}

pub(super) async fn leader(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    QueryParams(Election { name }): QueryParams<Election>,
) -> Result<Json<Leadership>, RequestError> {
    service.leader(&client, &name).await.map(Json)
}

impl ApiService {
    /// Who leads, as soon as all members have said so.
    pub(super) async fn leader(
        &self,
        client: &Client,
        name: &str,
    ) -> Result<Leadership, RequestError> {
        let mut observer = Observer::begin(self, client, name, None)?;
        match env::timeout(ANSWER_WITHIN, observer.observation.next()).await {
            Some(Some(leadership)) => Ok(leadership),
            _ => Err(RequestError::Unwell(format!(
                "not every member has said within {} s whether `{name}` has a leader there",
                ANSWER_WITHIN.as_secs()
            ))),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Observe {
    name: String,
    /// The last term that the observer has seen, maybe at another node.
    #[serde(default)]
    after: Option<Fence>,
}

pub(super) async fn observe(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    QueryParams(Observe { name, after }): QueryParams<Observe>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, RequestError> {
    let observer = Observer::begin(&service, &client, &name, after)?;
    let told = stream::unfold(observer, async |mut observer| {
        let told = observer.next().await?;
        let data = serde_json::to_string(&told).expect("names and numbers");
        Some((Ok(Event::default().data(data)), observer))
    });
    Ok(Sse::new(told).keep_alive(KeepAlive::new().interval(HEARD_EVERY)))
}

/// Somebody who observes an election.
#[derive(Debug)]
pub struct Observer {
    observation: Observation,
    stage: watch::Receiver<Stage>,
    _counted: Observing,
}

impl Observer {
    pub(super) fn begin(
        service: &ApiService,
        client: &Client,
        name: &str,
        after: Option<Fence>,
    ) -> Result<Self, RequestError> {
        if !client.may_see(name) {
            return Err(client.denied(format!("see who leads `{name}`")));
        }
        let counted = service.ledger.observe(client)?;
        let observation = service.node.shell()?.observe_election(name, after);
        let observation = observation.map_err(SessionError::Lock)?;
        Ok(Observer { observation, stage: service.stage.clone(), _counted: counted })
    }

    /// The leader at first, then the next change; none when the node closes.
    pub async fn next(&mut self) -> Option<Leadership> {
        tokio::select! {
            told = self.observation.next() => told,
            _ = self.stage.wait_for(|stage| *stage > Stage::Open) => None,
        }
    }
}
