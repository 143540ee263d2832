//! The paths by which locks are taken and given back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodRouter};
use axum::{Extension, Json, Router};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::elections;
use super::error::{ErrorResponse, RequestError};
use super::listings;
use super::monitoring;
use super::moves;
use super::orders;
use super::probes;
use super::relay;
use super::roles::Client;
use super::service::ApiService;
use super::unlock;
use crate::env;
use crate::messages::{
    Acquire, Downgrade, Downgraded, Incarnation, KeptAlive, OpenSession, Problem, Release,
    Released, SessionOpened, SessionStatus,
};
use crate::node::Node;
use skeptron_member::session::{Held, SessionId};

/// The largest body that is read.
const MOST_BODY_BYTES: usize = 64 << 10;
/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(5);

/// One operation of the API: its path, its method and what answers.
type Route = (&'static str, Method, MethodRouter<Arc<ApiService>>);

fn get<H: Handler<T, Arc<ApiService>>, T: 'static>(path: &'static str, handler: H) -> Route {
    (path, Method::GET, routing::get(handler))
}

fn post<H: Handler<T, Arc<ApiService>>, T: 'static>(path: &'static str, handler: H) -> Route {
    (path, Method::POST, routing::post(handler))
}

fn delete<H: Handler<T, Arc<ApiService>>, T: 'static>(path: &'static str, handler: H) -> Route {
    (path, Method::DELETE, routing::delete(handler))
}

/// All operations. The router is made from this list, and the description is compared with it.
fn routes() -> Vec<Route> {
    vec![
        post("/v1/sessions", open_session),
        get("/v1/sessions", listings::sessions),
        get("/v1/sessions/{session}", show_session),
        delete("/v1/sessions/{session}", end_session),
        post("/v1/sessions/{session}/keep-alive", keep_alive),
        post("/v1/sessions/{session}/move", moves::here),
        post("/v1/sessions/{session}/moved", moves::away),
        post("/v1/acquire", acquire),
        post("/v1/downgrade", downgrade),
        post("/v1/release", release),
        post("/v1/campaign", elections::campaign),
        post("/v1/proclaim", elections::proclaim),
        post("/v1/resign", elections::resign),
        get("/v1/leader", elections::leader),
        get("/v1/observe", elections::observe),
        get("/v1/locks", listings::locks),
        get("/v1/status", monitoring::status),
        get("/v1/events", monitoring::events),
        post("/v1/voters", orders::order),
        post("/v1/leave", orders::leave),
        post("/v1/unlock", unlock::unlock),
        post("/v1/drain", orders::drain),
        get("/metrics", monitoring::metrics),
        get("/health", probes::health),
        get("/ready", probes::ready),
        get("/live", probes::live),
        get("/openapi.json", monitoring::openapi),
    ]
}

/// All paths, and those of `extra`.
pub(super) fn router(service: Arc<ApiService>, extra: Router) -> Router {
    let (node, passing) = (service.node.clone(), Arc::clone(&service));
    routes()
        .into_iter()
        .fold(Router::new(), |router, (path, _, handler)| router.route(path, handler))
        .with_state(service)
        .merge(extra)
        .fallback(async || RequestError::NoSuchPath)
        .method_not_allowed_fallback(async || RequestError::NoSuchMethod)
        .layer(middleware::from_fn_with_state(passing, relay::pass_on))
        .layer(middleware::map_response_with_state(node, with_nodes))
}

/// A node that cannot serve a client says who may.
pub(super) fn naming_others(node: &Node, problem: Problem) -> Problem {
    Problem { nodes: node.reachable_others(), ..problem }
}

async fn with_nodes(State(node): State<Node>, mut response: Response) -> Response {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE
        && let Some(ErrorResponse { problem, .. }) = response.extensions().get::<ErrorResponse>()
    {
        let problem = naming_others(&node, Problem::clone(problem));
        let body = Json(problem).into_response();
        *response.body_mut() = body.into_body();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

async fn open_session(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<OpenSession>,
) -> Result<Json<SessionOpened>, RequestError> {
    service.open_session(&client, asked).map(Json)
}

/// Which life of the node is meant, and what the client knows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepAliveParams {
    #[serde(default)]
    life: Option<Incarnation>,
    /// The epoch of the last answer.
    #[serde(default)]
    epoch: Option<u64>,
}

async fn show_session(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    SessionPath(id): SessionPath,
) -> Result<Json<SessionStatus>, RequestError> {
    service.show_session(&client, id).map(Json)
}

async fn end_session(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    SessionPath(id): SessionPath,
) -> Result<Json<SessionStatus>, RequestError> {
    service.end_session(&client, id).map(Json)
}

async fn keep_alive(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    SessionPath(id): SessionPath,
    QueryParams(meant): QueryParams<KeepAliveParams>,
) -> Result<Json<KeptAlive>, RequestError> {
    service.keep_alive(&client, id, (meant.life, meant.epoch)).map(Json)
}

async fn acquire(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<Acquire>,
) -> Result<Json<Held>, RequestError> {
    service.acquire(&client, asked, None).await.map(Json)
}

async fn downgrade(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<Downgrade>,
) -> Result<Json<Downgraded>, RequestError> {
    service.downgrade(&client, &asked)?;
    let Downgrade { lock, fence, mode, .. } = asked;
    Ok(Json(Downgraded { lock, fence, mode }))
}

async fn release(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    JsonBody(asked): JsonBody<Release>,
) -> Result<Json<Released>, RequestError> {
    let released = service.release(&client, &asked)?;
    Ok(Json(Released { lock: asked.lock, released }))
}

/// The body, read as JSON.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = RequestError;

    async fn from_request(request: Request, _: &S) -> Result<Self, RequestError> {
        let body = Limited::new(request.into_body(), MOST_BODY_BYTES).collect();
        let body = env::timeout(BODY_WITHIN, body).await;
        let body = body.ok_or(RequestError::Slow(BODY_WITHIN.as_secs()))?;
        let bytes = body.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                RequestError::TooLarge(MOST_BODY_BYTES)
            } else {
                RequestError::Malformed(error.to_string())
            }
        })?;
        let read = serde_json::from_slice(&bytes.to_bytes());
        read.map(JsonBody).map_err(|error| RequestError::Malformed(error.to_string()))
    }
}

/// The session that the path names.
pub(super) struct SessionPath(pub(super) SessionId);

impl FromRequestParts<Arc<ApiService>> for SessionPath {
    type Rejection = RequestError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<ApiService>,
    ) -> Result<Self, RequestError> {
        let Path(id) = Path::<String>::from_request_parts(parts, service)
            .await
            .map_err(|error| RequestError::Invalid(error.body_text()))?;
        id.parse().map(SessionPath).map_err(RequestError::Invalid)
    }
}

/// What stands behind the `?`.
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RequestError> {
        let read = Query::try_from_uri(&parts.uri);
        read.map(|Query(filter)| QueryParams(filter))
            .map_err(|error| RequestError::Invalid(error.body_text()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Every operation that is served is in the description, and nothing else is.
    #[test]
    fn every_route_is_described() {
        let description: serde_json::Value =
            serde_json::from_str(include_str!("openapi.json")).unwrap();
        let mut described = BTreeSet::new();
        for (path, methods) in description["paths"].as_object().unwrap() {
            let methods = methods.as_object().unwrap().keys().filter(|name| *name != "parameters");
            described.extend(methods.map(|method| (path.clone(), method.to_uppercase())));
        }
        let routes = super::routes().into_iter();
        let served: BTreeSet<_> =
            routes.map(|(path, method, _)| (path.to_string(), method.to_string())).collect();
        assert_eq!(described, served);
    }
}
