//! The paths by which locks are taken and given back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::routing::{get, post};
use axum::{Json, Router};
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::listen::Stage;
use super::messages::{
    Acquire, Held, KeptAlive, MOST_OWNER_BYTES, OpenSession, Release, Released, SessionId,
    SessionOpened, SessionStatus,
};
use super::outlook;
use super::refusal::Refusal;
use super::session::{Begun, Claim, Session, Sessions};
use crate::guard::Guard;
use crate::node::Node;
use crate::report::milliseconds;

/// The largest body that is read.
const MOST_BODY_BYTES: usize = 64 << 10;
/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(5);

/// What the handlers share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) node: Node,
    pub(super) sessions: Arc<Sessions>,
    /// The shortest and the longest TTL of a session.
    pub(super) ttl: (Duration, Duration),
    pub(super) stage: watch::Receiver<Stage>,
}

/// All paths, and those of `extra`.
pub(super) fn router(desk: Arc<Desk>, extra: Router) -> Router {
    Router::new()
        .route("/v1/sessions", post(open_session))
        .route("/v1/sessions/{session}", get(show_session).delete(end_session))
        .route("/v1/sessions/{session}/keep-alive", post(keep_alive))
        .route("/v1/acquire", post(acquire))
        .route("/v1/release", post(release))
        .route("/v1/locks", get(outlook::locks))
        .route("/v1/status", get(outlook::status))
        .route("/v1/events", get(outlook::events))
        .route("/metrics", get(outlook::metrics))
        .route("/health", get(outlook::health))
        .route("/openapi.json", get(outlook::openapi))
        .with_state(desk)
        .merge(extra)
        .fallback(async || Refusal::NoSuchPath)
        .method_not_allowed_fallback(async || Refusal::NoSuchMethod)
}

async fn open_session(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<OpenSession>,
) -> Result<Json<SessionOpened>, Refusal> {
    let ttl = Duration::from_millis(asked.ttl_ms);
    let (shortest, longest) = desk.ttl;
    if ttl < shortest || ttl > longest {
        let (shortest, longest) = (milliseconds(shortest), milliseconds(longest));
        let given = asked.ttl_ms;
        let told = format!("`ttl_ms` lies between {shortest} and {longest} here, not at {given}");
        return Err(Refusal::Invalid(told));
    }
    if asked.owner.len() > MOST_OWNER_BYTES || asked.owner.chars().any(char::is_control) {
        let told = format!("`owner` has at most {MOST_OWNER_BYTES} bytes, no control characters");
        return Err(Refusal::Invalid(told));
    }
    let session = desk.sessions.open(ttl, asked.owner)?;
    Ok(Json(SessionOpened { session: session.id(), ttl_ms: asked.ttl_ms }))
}

async fn show_session(Named(session): Named) -> Result<Json<SessionStatus>, Refusal> {
    session.status().map(Json)
}

async fn end_session(
    State(desk): State<Arc<Desk>>,
    Named(session): Named,
) -> Result<Json<SessionStatus>, Refusal> {
    let last = session.status()?;
    desk.sessions.end(&session);
    Ok(Json(last))
}

async fn keep_alive(Named(session): Named) -> Result<Json<KeptAlive>, Refusal> {
    let lost = session.lost()?;
    Ok(Json(KeptAlive { ttl_ms: milliseconds(session.ttl()), lost }))
}

async fn acquire(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Acquire>,
) -> Result<Json<Held>, Refusal> {
    let session = desk.sessions.find(asked.session)?;
    let claim = Claim { lock: asked.lock, request: asked.request };
    let lock = claim.lock.clone();
    let mut waiting = match session.begin(claim)? {
        Begun::Held(fence) => return Ok(Json(Held { lock, fence })),
        Begun::Waiting(waiting) => waiting,
    };
    let granted = grant(&desk.node, &lock, session.owner(), asked.wait_ms);
    let guard = tokio::select! {
        biased;
        guard = granted => guard?,
        why = waiting.called_off() => return Err(why),
    };
    guard.ok_or(Refusal::NotAcquired(lock)).and_then(|guard| waiting.keep(guard)).map(Json)
}

/// The lock, if it is to be had in that time.
async fn grant(
    node: &Node,
    lock: &str,
    owner: &str,
    wait_ms: Option<u64>,
) -> Result<Option<Guard>, Refusal> {
    match wait_ms {
        None => Ok(Some(node.lock_as(lock, owner).await?)),
        Some(0) => Ok(node.try_lock_as(lock, owner).await?),
        Some(wait_ms) => {
            Ok(node.lock_within_as(lock, owner, Duration::from_millis(wait_ms)).await?)
        }
    }
}

async fn release(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Release>,
) -> Result<Json<Released>, Refusal> {
    let session = desk.sessions.find_to_release(asked.session)?;
    let lock = asked.lock;
    let guard = match (asked.fence, asked.request) {
        (Some(fence), None) => Some(session.let_go(&lock, fence)?),
        (None, Some(request)) => session.withdraw(lock.clone(), request)?,
        _ => return Err(Refusal::Invalid("give either `fence` or `request`".to_string())),
    };
    let released = guard.is_some();
    if let Some(guard) = guard {
        // A node always hears its own guards, so the only trouble is that it was lost.
        guard.release().await.map_err(|_| Refusal::Lost(lock.clone()))?;
    }
    Ok(Json(Released { lock, released }))
}

/// The body, read as JSON.
struct Asked<T>(T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let body = Limited::new(request.into_body(), MOST_BODY_BYTES).collect();
        let body = tokio::time::timeout(BODY_WITHIN, body).await;
        let body = body.map_err(|_| Refusal::Slow(BODY_WITHIN.as_secs()))?;
        let bytes = body.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                Refusal::TooLarge(MOST_BODY_BYTES)
            } else {
                Refusal::Malformed(error.to_string())
            }
        })?;
        let read = serde_json::from_slice(&bytes.to_bytes());
        read.map(Asked).map_err(|error| Refusal::Malformed(error.to_string()))
    }
}

/// The session that the path names.
struct Named(Arc<Session>);

impl FromRequestParts<Arc<Desk>> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Refusal> {
        let Path(id) = Path::<String>::from_request_parts(parts, desk)
            .await
            .map_err(|error| Refusal::Invalid(error.body_text()))?;
        let id: SessionId = id.parse().map_err(Refusal::Invalid)?;
        desk.sessions.find(id).map(Named)
    }
}

/// What stands behind the `?`.
pub(super) struct Filter<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Filter<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let read = Query::try_from_uri(&parts.uri);
        read.map(|Query(filter)| Filter(filter))
            .map_err(|error| Refusal::Invalid(error.body_text()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Each path and method of [`super::router`], as this file says them, is in the description, and
    /// nothing else is.
    #[test]
    fn every_route_is_described() {
        let described: serde_json::Value =
            serde_json::from_str(include_str!("openapi.json")).unwrap();
        let mut documented = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            let methods = methods.as_object().unwrap().keys().filter(|name| *name != "parameters");
            documented.extend(methods.map(|method| (path.clone(), method.clone())));
        }
        let routes = include_str!("routes.rs").lines().filter_map(|line| {
            let (path, handlers) = line.trim().strip_prefix(".route(\"")?.split_once("\", ")?;
            Some((path.to_string(), handlers.to_string()))
        });
        let mut served = BTreeSet::new();
        for (path, handlers) in routes {
            for method in ["get", "post", "delete", "put", "patch"] {
                let (first, later) = (format!("{method}("), format!(".{method}("));
                if handlers.starts_with(&first) || handlers.contains(&later) {
                    served.insert((path.clone(), method.to_string()));
                }
            }
        }
        assert!(served.len() > 10, "{served:?}");
        assert_eq!(documented, served);
    }
}
