//! What there is in the whole cluster: locks and sessions, in pages.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use skeptron_member::report::{LockListing, SessionListing};
use skeptron_member::session::SessionHandle;

use super::error::RequestError;
use super::roles::Client;
use super::routes::QueryParams;
use super::service::ApiService;

/// One answer lists at most so many.
const MOST_LISTED: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LocksFilter {
    /// How names begin.
    #[serde(default)]
    prefix: String,
    /// Only names after this one.
    #[serde(default)]
    after: String,
    /// So many at most.
    limit: Option<usize>,
}

pub(super) async fn locks(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    QueryParams(filter): QueryParams<LocksFilter>,
) -> Result<Json<LockListing>, RequestError> {
    let LocksFilter { prefix, after, limit } = filter;
    let limit = allowed(limit)?;
    client.may_list(&prefix)?;
    let mut all = LockListing::new(Vec::new(), Vec::new(), false, limit);
    // What a client may not see is not asked for: the last name of a page is one that it knows.
    for visible in client.visible(&prefix) {
        let left = limit - all.locks.len();
        if left == 0 {
            all.next = all.locks.last().map(|last| last.name.clone());
        }
        if all.next.is_some() {
            all.complete = false;
            break;
        }
        all.append(service.node.locks(&visible, &after, left).await);
    }
    Ok(Json(all))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsFilter {
    /// Only those after the one of this handle.
    after: Option<SessionHandle>,
    /// So many at most.
    limit: Option<usize>,
}

pub(super) async fn sessions(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    QueryParams(filter): QueryParams<SessionsFilter>,
) -> Result<Json<SessionListing>, RequestError> {
    let limit = allowed(filter.limit)?;
    let mut all = service.node.sessions(filter.after.unwrap_or(SessionHandle(0)), limit).await;
    if !client.sees_all_sessions() {
        // Names beyond those that are told cannot be judged.
        all.complete &= !all.sessions.iter().any(|it| it.holds > it.held.len() as u64);
        for session in &mut all.sessions {
            session.held.retain(|held| client.may_see(&held.lock));
            session.waiting.retain(|lock| client.may_see(lock));
            session.holds = session.held.len() as u64;
            session.waits = session.waiting.len() as u64;
        }
        all.sessions.retain(|session| session.holds + session.waits > 0);
    }
    Ok(Json(all))
}

fn allowed(limit: Option<usize>) -> Result<usize, RequestError> {
    let limit = limit.unwrap_or(MOST_LISTED);
    if (1..=MOST_LISTED).contains(&limit) {
        return Ok(limit);
    }
    Err(RequestError::Invalid(format!("`limit` lies between 1 and {MOST_LISTED}, not at {limit}")))
}
