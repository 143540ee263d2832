//! The paths by which locks are taken and given back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::elections;
use super::listen::Stage;
use super::listings;
use super::moves;
use super::orders;
use super::outlook;
use super::probes;
use super::quota::{Ledger, Waiting};
use super::refusal::{Refusal, Refused};
use super::relay;
use super::roles::Client;
use super::unlock;
use crate::env;
use crate::messages::{
    Acquire, ClusterInfo, Incarnation, KeptAlive, MOST_OWNER_BYTES, OpenSession, Problem, Release,
    Released, SessionOpened, SessionStatus,
};
use crate::node::Node;
use crate::shell::{SessionAcquire, SessionWait, Shell};
use skeptron_member::NotServed;
use skeptron_member::report::{NotGranted, milliseconds};
use skeptron_member::session::{Alive, Claim, Held, SessionId, SessionReport};

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

    /// What a client should know that has heard of the view of this epoch.
    pub(super) fn cluster_info(&self, known: Option<u64>) -> ClusterInfo {
        let epoch = self.node.view().map_or(0, |view| view.epoch);
        let nodes = if known == Some(epoch) { Vec::new() } else { self.node.others() };
        ClusterInfo { epoch, nodes, drift_ppm: self.node.drift().map(|drift| drift.ppm) }
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
    let (node, passing) = (desk.node.clone(), Arc::clone(&desk));
    Router::new()
        .route("/v1/sessions", post(open_session).get(listings::sessions))
        .route("/v1/sessions/{session}", get(show_session).delete(end_session))
        .route("/v1/sessions/{session}/keep-alive", post(keep_alive))
        .route("/v1/sessions/{session}/move", post(moves::here))
        .route("/v1/sessions/{session}/moved", post(moves::away))
        .route("/v1/acquire", post(acquire))
        .route("/v1/release", post(release))
        .route("/v1/campaign", post(elections::campaign))
        .route("/v1/proclaim", post(elections::proclaim))
        .route("/v1/resign", post(elections::resign))
        .route("/v1/leader", get(elections::leader))
        .route("/v1/observe", get(elections::observe))
        .route("/v1/locks", get(listings::locks))
        .route("/v1/status", get(outlook::status))
        .route("/v1/events", get(outlook::events))
        .route("/v1/voters", post(orders::order))
        .route("/v1/leave", post(orders::leave))
        .route("/v1/unlock", post(unlock::unlock))
        .route("/v1/drain", post(orders::drain))
        .route("/metrics", get(outlook::metrics))
        .route("/health", get(probes::health))
        .route("/ready", get(probes::ready))
        .route("/live", get(probes::live))
        .route("/openapi.json", get(outlook::openapi))
        .with_state(desk)
        .merge(extra)
        .fallback(async || Refusal::NoSuchPath)
        .method_not_allowed_fallback(async || Refusal::NoSuchMethod)
        .layer(middleware::from_fn_with_state(passing, relay::pass_on))
        .layer(middleware::map_response_with_state(node, with_nodes))
}

/// A node that cannot serve a client says who may.
async fn with_nodes(State(node): State<Node>, mut response: Response) -> Response {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE
        && let Some(Refused { problem, .. }) = response.extensions().get::<Refused>()
    {
        let problem = Problem { nodes: node.reachable_others(), ..problem.clone() };
        let body = Json(problem).into_response();
        *response.body_mut() = body.into_body();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

async fn open_session(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Asked(asked): Asked<OpenSession>,
) -> Result<Json<SessionOpened>, Refusal> {
    let ttl = desk.allowed_ttl(asked.ttl_ms)?;
    let owner = allowed_owner(client.owner(asked.owner))?;
    let id = super::unguessable().map(SessionId).ok_or(Refusal::NoRandomness)?;
    if desk.node.drained().is_some() {
        return Err(Refusal::Drained(desk.node.id()));
    }
    let shell = desk.node.shell()?;
    desk.can_grant(&shell)?;
    desk.ledger.may_open(&client, |id| desk.look(id))?;
    shell.open_session(id, ttl, owner, desk.most_sessions)?;
    desk.ledger.opened(&client, id);
    let valid_ms = milliseconds(shell.core().keep_alive(env::now(), id)?.valid);
    let place = shell.core().life().map(moves::place_of);
    let cluster = desk.cluster_info(None);
    Ok(Json(SessionOpened { session: id, ttl_ms: asked.ttl_ms, valid_ms, place, cluster }))
}

impl Desk {
    /// Whether this life of the node may grant anything.
    ///
    /// # Errors
    /// If it is over.
    pub(super) fn can_grant(&self, shell: &Shell) -> Result<(), Refusal> {
        let (node, core) = (self.node.id(), shell.core());
        match core.halted() {
            Some(_) => Err(Refusal::CannotGrant(self.node.status().causes)),
            None if core.lease() <= env::now() => {
                Err(Refusal::Unwell(format!("{node} grants no locks: its lease has ended")))
            }
            None => Ok(()),
        }
    }

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

/// Which life of the node is meant, and what the client knows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meant {
    #[serde(default)]
    life: Option<Incarnation>,
    /// The epoch of the last answer.
    #[serde(default)]
    epoch: Option<u64>,
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
    desk.can_grant(&shell)?;
    let Alive { valid, pending, lost } = shell.core().keep_alive(env::now(), id)?;
    let (valid_ms, cluster) = (milliseconds(valid), desk.cluster_info(meant.epoch));
    Ok(Json(KeptAlive { valid_ms, pending, lost, cluster }))
}

async fn acquire(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Asked(asked): Asked<Acquire>,
) -> Result<Json<Held>, Refusal> {
    desk.acquire(&client, asked, None).await.map(Json)
}

impl Desk {
    /// A session gets a lock, to lead with this value if there is one.
    pub(super) async fn acquire(
        &self,
        client: &Client,
        asked: Acquire,
        value: Option<&str>,
    ) -> Result<Held, Refusal> {
        let (session, lock) = (asked.session, asked.lock.clone());
        let waiting = self.begin(client, session, &lock)?;
        let held = wait_for((self, client), asked, value).await;
        drop(waiting);
        if held.is_err() {
            self.ledger.dropped(session, &lock);
        }
        held
    }

    /// A session gives a lock back, or whatever came of an acquire. Whether anything was held.
    pub(super) fn release(&self, client: &Client, asked: &Release) -> Result<bool, Refusal> {
        let &Release { session, ref lock, fence, request } = asked;
        self.ledger.check(client, session)?;
        let shell = self.node.shell()?;
        let released = match (fence, request) {
            (Some(fence), None) => shell.session_release(session, lock, fence).map(|()| true)?,
            (None, Some(request)) => shell.session_withdraw(session, lock, request)?,
            _ => return Err(Refusal::Invalid("give either `fence` or `request`".to_string())),
        };
        self.ledger.dropped(session, lock);
        Ok(released)
    }
}

/// The lock, as soon as it is granted.
async fn wait_for(
    (desk, client): (&Desk, &Client),
    asked: Acquire,
    value: Option<&str>,
) -> Result<Held, Refusal> {
    let Acquire { session, lock, wait_ms, request } = asked;
    let shell = desk.node.shell()?;
    let not_granted = |mut why: NotGranted| {
        if !client.may_see(&lock) {
            why.holder.iter_mut().for_each(|holder| holder.owner.clear());
        }
        Refusal::NotGranted { lock: lock.clone(), wait_ms: wait_ms.unwrap_or(0), why }
    };
    let relieved = shell.relieved(&lock);
    match wait_ms {
        None => relieved.await,
        Some(wait_ms) => {
            let within = Duration::from_millis(wait_ms).max(LEAST_WAIT);
            if env::timeout(within, relieved).await.is_none() {
                return Err(not_granted(shell.why_not(&lock).await));
            }
        }
    }
    let claim = Claim { lock: lock.clone(), request };
    let begun = match value {
        Some(value) => shell.campaign(session, claim, value),
        None => shell.session_acquire(session, claim),
    };
    let mut wait = match begun? {
        SessionAcquire::Held(held) => return Ok(held),
        SessionAcquire::Waiting(wait) => wait,
    };
    let granted = match granted(&shell, &mut wait, &lock, wait_ms).await {
        Ok(granted) => granted,
        Err(why) => wait.give_up().ok_or_else(|| not_granted(why))?,
    };
    granted.map_err(|why| Refusal::not_served(why, desk.node.id(), lock.clone()))
}

/// The lock if it is granted in that time, or why it is not.
async fn granted(
    shell: &Arc<Shell>,
    wait: &mut SessionWait,
    lock: &str,
    wait_ms: Option<u64>,
) -> Result<Result<Held, NotServed>, NotGranted> {
    match wait_ms {
        None => Ok(wait.granted().await),
        Some(0) => shell.unless_held(lock, wait.granted()).await,
        Some(wait_ms) => {
            let time = Duration::from_millis(wait_ms);
            shell.granted_within(lock, time, wait.granted()).await
        }
    }
}

async fn release(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Asked(asked): Asked<Release>,
) -> Result<Json<Released>, Refusal> {
    let released = desk.release(&client, &asked)?;
    Ok(Json(Released { lock: asked.lock, released }))
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
