//! The paths by which locks are taken and given back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::listen::Stage;
use super::moves;
use super::orders;
use super::outlook;
use super::quota::{Ledger, Waiting};
use super::refusal::Refusal;
use super::roles::Client;
use crate::env;
use crate::messages::{
    Acquire, Held, Incarnation, KeptAlive, MOST_OWNER_BYTES, OpenSession, Release, Released,
    SessionId, SessionOpened, SessionPlace, SessionStatus,
};
use crate::node::Node;
use crate::shell::{SessionAcquire, SessionWait, Shell};
use skeptron_member::NotServed;
use skeptron_member::report::milliseconds;
use skeptron_member::session::{Alive, Claim, SessionReport};

/// The largest body that is read.
const MOST_BODY_BYTES: usize = 64 << 10;
/// How long an acquire that does not wait may wait for peers that are far behind.
const LEAST_WAIT: Duration = Duration::from_secs(1);
/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(5);

/// What the handlers share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) node: Node,
    /// Sessions at most.
    pub(super) most_sessions: usize,
    /// The shortest and the longest TTL of a session.
    pub(super) ttl: (Duration, Duration),
    pub(super) stage: watch::Receiver<Stage>,
    /// Whether the program was asked to leave the cluster; without a reader nobody would do it.
    pub(super) leave: Arc<watch::Sender<bool>>,
    /// What each client has.
    pub(super) ledger: Arc<Ledger>,
}

impl Desk {
    /// What there is of a session.
    pub(super) fn look(&self, id: SessionId) -> Option<SessionReport> {
        self.node.shell().ok()?.core().peek_session(id)
    }

    /// The client begins to wait for a lock, if it may.
    fn begin(&self, client: &Client, id: SessionId, lock: &str) -> Result<Waiting, Refusal> {
        client.may_lock(lock)?;
        self.ledger.check(client, id)?;
        self.ledger.acquire(client, (id, lock), |id| self.look(id))
    }
}

/// All paths, and those of `extra`.
pub(super) fn router(desk: Arc<Desk>, extra: Router) -> Router {
    Router::new()
        .route("/v1/sessions", post(open_session))
        .route("/v1/sessions/{session}", get(show_session).delete(end_session))
        .route("/v1/sessions/{session}/keep-alive", post(keep_alive))
        .route("/v1/sessions/{session}/move", post(moves::here))
        .route("/v1/sessions/{session}/moved", post(moves::away))
        .route("/v1/acquire", post(acquire))
        .route("/v1/release", post(release))
        .route("/v1/locks", get(outlook::locks))
        .route("/v1/status", get(outlook::status))
        .route("/v1/events", get(outlook::events))
        .route("/v1/voters", post(orders::order))
        .route("/v1/leave", post(orders::leave))
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
    Extension(client): Extension<Client>,
    Asked(asked): Asked<OpenSession>,
) -> Result<Json<SessionOpened>, Refusal> {
    let ttl = desk.allowed_ttl(asked.ttl_ms)?;
    let owner = allowed_owner(client.owner(asked.owner))?;
    let id = super::unguessable().map(SessionId).ok_or(Refusal::NoRandomness)?;
    let shell = desk.node.shell()?;
    if let Some(why) = shell.core().halted() {
        return Err(Refusal::Unwell(format!("{} grants no locks: {why}", desk.node.id())));
    }
    desk.ledger.may_open(&client, |id| desk.look(id))?;
    shell.open_session(id, ttl, owner, desk.most_sessions)?;
    desk.ledger.opened(&client, id);
    let valid_ms = milliseconds(shell.core().keep_alive(env::now(), id)?.valid);
    let place = shell.core().life().map(SessionPlace::from);
    Ok(Json(SessionOpened { session: id, ttl_ms: asked.ttl_ms, valid_ms, place }))
}

impl Desk {
    pub(super) fn allowed_ttl(&self, ttl_ms: u64) -> Result<Duration, Refusal> {
        let ttl = Duration::from_millis(ttl_ms);
        let (shortest, longest) = self.ttl;
        if (shortest..=longest).contains(&ttl) {
            return Ok(ttl);
        }
        let (shortest, longest) = (milliseconds(shortest), milliseconds(longest));
        let told = format!("`ttl_ms` lies between {shortest} and {longest} here, not at {ttl_ms}");
        Err(Refusal::Invalid(told))
    }
}

pub(super) fn allowed_owner(owner: String) -> Result<String, Refusal> {
    if owner.len() <= MOST_OWNER_BYTES && !owner.chars().any(char::is_control) {
        return Ok(owner);
    }
    let told = format!("`owner` has at most {MOST_OWNER_BYTES} bytes, no control characters");
    Err(Refusal::Invalid(told))
}

/// Which life of the node is meant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meant {
    #[serde(default)]
    life: Option<Incarnation>,
}

async fn show_session(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
) -> Result<Json<SessionStatus>, Refusal> {
    desk.ledger.check(&client, id)?;
    let report = desk.node.shell()?.core().session(env::now(), id)?;
    Ok(Json(told(id, report)))
}

async fn end_session(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
) -> Result<Json<SessionStatus>, Refusal> {
    desk.ledger.check(&client, id)?;
    let last = desk.node.shell()?.close_session(id)?;
    desk.ledger.closed(id);
    Ok(Json(told(id, last)))
}

fn told(session: SessionId, report: SessionReport) -> SessionStatus {
    let SessionReport { owner, ttl, held, waiting } = report;
    SessionStatus { session, owner, ttl_ms: milliseconds(ttl), held, waiting }
}

async fn keep_alive(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
    Filter(meant): Filter<Meant>,
) -> Result<Json<KeptAlive>, Refusal> {
    desk.ledger.check(&client, id)?;
    let shell = desk.node.shell()?;
    if let (Some(meant), Some(own)) = (meant.life, shell.core().life())
        && meant.0 != own.incarnation
    {
        return Err(Refusal::OtherLife(desk.node.id()));
    }
    let Alive { valid, pending, lost } = shell.core().keep_alive(env::now(), id)?;
    Ok(Json(KeptAlive { valid_ms: milliseconds(valid), pending, lost }))
}

async fn acquire(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Asked(asked): Asked<Acquire>,
) -> Result<Json<Held>, Refusal> {
    let (session, lock) = (asked.session, asked.lock.clone());
    let waiting = desk.begin(&client, session, &lock)?;
    let held = wait_for(&desk, asked).await;
    drop(waiting);
    if held.is_err() {
        desk.ledger.dropped(session, &lock);
    }
    held
}

/// The lock, as soon as it is granted.
async fn wait_for(desk: &Desk, asked: Acquire) -> Result<Json<Held>, Refusal> {
    let Acquire { session, lock, wait_ms, request } = asked;
    let shell = desk.node.shell()?;
    let relieved = shell.relieved(&lock);
    match wait_ms {
        None => relieved.await,
        Some(wait_ms) => {
            let within = Duration::from_millis(wait_ms).max(LEAST_WAIT);
            let relieved = env::timeout(within, relieved).await;
            relieved.ok_or_else(|| Refusal::NotAcquired(lock.clone()))?;
        }
    }
    let claim = Claim { lock: lock.clone(), request };
    let mut wait = match shell.session_acquire(session, claim)? {
        SessionAcquire::Held(held) => return Ok(Json(held)),
        SessionAcquire::Waiting(wait) => wait,
    };
    let granted = match granted(&shell, &mut wait, &lock, wait_ms).await {
        Some(granted) => granted,
        None => wait.give_up().ok_or_else(|| Refusal::NotAcquired(lock.clone()))?,
    };
    granted.map(Json).map_err(|why| Refusal::not_served(why, desk.node.id(), lock))
}

/// The lock, if it is granted in that time.
async fn granted(
    shell: &Arc<Shell>,
    wait: &mut SessionWait,
    lock: &str,
    wait_ms: Option<u64>,
) -> Option<Result<Held, NotServed>> {
    match wait_ms {
        None => Some(wait.granted().await),
        Some(0) => shell.unless_held(lock, wait.granted()).await,
        Some(wait_ms) => env::timeout(Duration::from_millis(wait_ms), wait.granted()).await,
    }
}

async fn release(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Asked(asked): Asked<Release>,
) -> Result<Json<Released>, Refusal> {
    let Release { session, lock, fence, request } = asked;
    desk.ledger.check(&client, session)?;
    let shell = desk.node.shell()?;
    let released = match (fence, request) {
        (Some(fence), None) => shell.session_release(session, &lock, fence).map(|()| true)?,
        (None, Some(request)) => shell.session_withdraw(session, &lock, request)?,
        _ => return Err(Refusal::Invalid("give either `fence` or `request`".to_string())),
    };
    desk.ledger.dropped(session, &lock);
    Ok(Json(Released { lock, released }))
}

/// The body, read as JSON.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let body = Limited::new(request.into_body(), MOST_BODY_BYTES).collect();
        let body = env::timeout(BODY_WITHIN, body).await;
        let body = body.ok_or(Refusal::Slow(BODY_WITHIN.as_secs()))?;
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
pub(super) struct Named(pub(super) SessionId);

impl FromRequestParts<Arc<Desk>> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Refusal> {
        let Path(id) = Path::<String>::from_request_parts(parts, desk)
            .await
            .map_err(|error| Refusal::Invalid(error.body_text()))?;
        id.parse().map(Named).map_err(Refusal::Invalid)
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
