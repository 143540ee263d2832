//! Requests about a session that is at another node, which its client cannot reach but this node can: they
//! are passed on over the link between the nodes, and the other one's own API performs them.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Limited};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};
use skeptron_client::native::{self, Ask, Reply};
use skeptron_member::MemberId;
use skeptron_member::session::SessionId;

use super::auth::Auth;
use super::error::RequestError;
use super::roles::{Client, RELAYED};
use super::service::ApiService;
use crate::env;
use crate::messages::{KeptAlive, RELAY, SessionPlace};
use crate::shell::relay::{MOST_ANSWER_BYTES, MOST_REQUEST_BYTES, Perform};

/// How long the other node has to answer whatever does not wait.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long it has to say that it still has a session that wants to move.
const HOME_WITHIN: Duration = Duration::from_millis(300);

/// A request on its way between two nodes.
#[derive(Serialize, Deserialize)]
struct Passed {
    method: String,
    /// With what stands behind the `?`.
    path: String,
    /// Who asks, as the node found that let it in.
    client: String,
    /// Whether it has a role.
    is_bound: bool,
    body: Vec<u8>,
}

/// The answer to it.
#[derive(Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Passes a request on that names another node's life as the session's place.
pub(super) async fn pass_on(
    State(service): State<Arc<ApiService>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(place) = request.headers().get(RELAY) else { return next.run(request).await };
    let Some(life) = life(place) else {
        let told = format!("`{RELAY}` is NODE-LIFE, as in 1-00c0ffee00c0ffee");
        return RequestError::Invalid(told).into_response();
    };
    if is_own(&service, life) {
        return next.run(request).await;
    }
    match passed_on(&service, life, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

/// `NODE-LIFE`.
fn life(text: &HeaderValue) -> Option<(MemberId, u64)> {
    let (node, life) = text.to_str().ok()?.split_once('-')?;
    let life = u64::from_str_radix(life, 16).ok().filter(|_| life.len() == 16)?;
    Some((MemberId::new(node.parse().ok()?)?, life))
}

async fn passed_on(
    service: &ApiService,
    life: (MemberId, u64),
    request: Request,
) -> Result<Response, RequestError> {
    let (parts, body) = request.into_parts();
    let client = parts.extensions.get::<Client>().cloned().unwrap_or_else(Client::nobody);
    let body = env::timeout(ANSWER_WITHIN, Limited::new(body, MOST_REQUEST_BYTES / 2).collect());
    let body = body.await.ok_or(RequestError::Slow(ANSWER_WITHIN.as_secs()))?;
    let body = body.map_err(|_| RequestError::TooLarge(MOST_REQUEST_BYTES / 2))?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let asked = (&parts.method, path, body.to_bytes().to_vec());
    let (status, body) = forward(service, life, &client, asked).await?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Whether it is this node's own life.
fn is_own(service: &ApiService, life: (MemberId, u64)) -> bool {
    let own = service.node.shell().ok().and_then(|shell| shell.core().life());
    own.is_some_and(|own| (own.member, own.incarnation) == life)
}

/// Whether a session at this place is at this node.
pub(super) fn is_here(service: &ApiService, place: &SessionPlace) -> bool {
    is_own(service, (place.node, place.life.0))
}

/// Passes a question on to the node where its session is.
pub(super) async fn pass_question_on(
    service: &ApiService,
    client: &Client,
    place: &SessionPlace,
    question: Ask,
) -> Result<Reply, RequestError> {
    let life = (place.node, place.life.0);
    let (method, path, body) = question.to_http();
    let (status, body) = forward(service, life, client, (&method, &path, body)).await?;
    let unreadable = |_| RequestError::NotRelayed(life.0);
    if status.is_success() {
        return question.read(&body).map_err(unreadable);
    }
    let problem = serde_json::from_slice(&body).map(native::Json).map_err(unreadable)?;
    Ok(Reply::Refused(native::Refused { status: status.as_u16(), problem }))
}

/// What the life of another node answers.
async fn forward(
    service: &ApiService,
    life: (MemberId, u64),
    client: &Client,
    (method, path, body): (&Method, &str, Vec<u8>),
) -> Result<(StatusCode, Vec<u8>), RequestError> {
    let (bare, _) = path.split_once('?').unwrap_or((path, ""));
    if !is_of_session(method, bare) {
        return Err(RequestError::Invalid(format!("`{RELAY}` is for what a session asks")));
    }
    let waits = bare == "/v1/acquire";
    let passed = ask(service, life, client, (method, path), body);
    let unreachable = || RequestError::NotRelayed(life.0);
    let Answered { status, body } = match waits {
        true => passed.await?,
        false => env::timeout(ANSWER_WITHIN, passed).await.ok_or_else(unreachable)??,
    };
    Ok((StatusCode::from_u16(status).map_err(|_| unreachable())?, body))
}

/// Whether it may be passed on: what concerns one session, but not where it is.
fn is_of_session(method: &Method, path: &str) -> bool {
    let Some(rest) = path.strip_prefix("/v1/sessions/") else {
        return *method == Method::POST
            && matches!(path, "/v1/acquire" | "/v1/release" | "/v1/downgrade");
    };
    match rest.split_once('/') {
        None => matches!(*method, Method::GET | Method::DELETE),
        Some((_, what)) => *method == Method::POST && matches!(what, "keep-alive" | "moved"),
    }
}

/// Asks the API of a life of another node in the name of a client.
pub(super) async fn ask(
    service: &ApiService,
    life: (MemberId, u64),
    client: &Client,
    (method, path): (&Method, &str),
    body: Vec<u8>,
) -> Result<Answered, RequestError> {
    let passed = Passed {
        method: method.to_string(),
        path: path.to_string(),
        client: client.name().to_string(),
        is_bound: client.is_bound(),
        body,
    };
    let bytes = postcard::to_stdvec(&passed).expect("a request fits into memory");
    if bytes.len() > MOST_REQUEST_BYTES {
        return Err(RequestError::TooLarge(MOST_REQUEST_BYTES));
    }
    let answer = service.node.shell()?.pass_on(life, &bytes).await?;
    postcard::from_bytes(&answer).map_err(|_| RequestError::NotRelayed(life.0))
}

/// A sign of life at the place of a session that wants to move here: if that life can be reached from here and
/// still has the session, it stays there.
pub(super) async fn sign_at_home(
    service: &ApiService,
    client: &Client,
    id: SessionId,
    from: &SessionPlace,
) -> Result<Option<KeptAlive>, RequestError> {
    let life = (from.node, from.life.0);
    if !service.node.shell()?.reaches(life) {
        return Ok(None);
    }
    let path = format!("/v1/sessions/{id}/keep-alive?life={:016x}&epoch=0", from.life.0);
    let asked = ask(service, life, client, (&Method::POST, &path), Vec::new());
    let Some(Ok(Answered { status, body })) = env::timeout(HOME_WITHIN, asked).await else {
        return Ok(None);
    };
    match StatusCode::from_u16(status) {
        Ok(StatusCode::OK) => Ok(serde_json::from_slice(&body).ok()),
        Ok(StatusCode::GONE) => Err(skeptron_member::session::SessionError::Over.into()),
        _ => Ok(None),
    }
}

/// Performs what other nodes pass on, by this node's own API.
pub(super) fn performer(router: Router, auth: Arc<ArcSwap<Auth>>) -> Perform {
    let router = TowerToHyperService::new(router);
    Box::new(move |bytes| {
        let (router, auth) = (router.clone(), Arc::clone(&auth));
        async move {
            let answered = match request(&bytes, &auth.load()) {
                Ok(request) => answered(&router, request).await,
                Err(refusal) => collected(refusal.into_response()).await,
            };
            postcard::to_stdvec(&answered).expect("an answer fits into memory")
        }
        .boxed()
    })
}

/// What the other node has passed on, from the client that it let in.
fn request(bytes: &[u8], auth: &Auth) -> Result<Request, RequestError> {
    let malformed =
        |what: &str| RequestError::Malformed(format!("it was passed on without {what}"));
    let passed: Passed = postcard::from_bytes(bytes).map_err(|_| malformed("its parts"))?;
    let client = auth.passed_on(&passed.client, passed.is_bound)?;
    let method = Method::from_bytes(passed.method.as_bytes()).map_err(|_| malformed("a method"))?;
    let request = Request::builder().method(method).uri(passed.path).extension(client.clone());
    let request = request.body(Body::from(passed.body)).map_err(|_| malformed("a path"))?;
    let path = request.uri().path();
    if !is_of_session(request.method(), path) && !path.starts_with(RELAYED) {
        return Err(malformed("a session"));
    }
    client.check(request.method(), path)?;
    Ok(request)
}

async fn answered(router: &TowerToHyperService<Router>, request: Request) -> Answered {
    match router.call(request).await {
        Ok(response) => collected(response).await,
        Err(never) => match never {},
    }
}

async fn collected(response: Response) -> Answered {
    let (parts, body) = response.into_parts();
    match Limited::new(body, MOST_ANSWER_BYTES - 16).collect().await {
        Ok(body) => Answered { status: parts.status.as_u16(), body: body.to_bytes().to_vec() },
        Err(_) => {
            let refusal = RequestError::TooLarge(MOST_ANSWER_BYTES);
            let body = serde_json::to_vec(&refusal.problem()).unwrap_or_default();
            Answered { status: refusal.kind().0.as_u16(), body }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_one_session_asks_is_passed_on() {
        let id = "00000000000000000000000000000001";
        let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
        for (method, path, is) in [
            (&post, "/v1/acquire".to_string(), true),
            (&post, "/v1/release".to_string(), true),
            (&get, format!("/v1/sessions/{id}"), true),
            (&delete, format!("/v1/sessions/{id}"), true),
            (&post, format!("/v1/sessions/{id}/keep-alive"), true),
            (&post, format!("/v1/sessions/{id}/moved"), true),
            (&post, format!("/v1/sessions/{id}/move"), false),
            (&post, "/v1/sessions".to_string(), false),
            (&post, "/v1/voters".to_string(), false),
            (&get, "/v1/locks".to_string(), false),
            (&get, "/v1/acquire".to_string(), false),
        ] {
            assert_eq!(is_of_session(method, &path), is, "{method} {path}");
        }
    }

    #[test]
    fn a_life_is_named_by_node_and_number() {
        let read = |text: &'static str| life(&HeaderValue::from_static(text));
        assert_eq!(read("2-00000000000000ff"), Some((MemberId::at(1), 255)));
        for wrong in
            ["", "2", "2-ff", "0-00000000000000ff", "x-00000000000000ff", "2-000000000000000g"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
