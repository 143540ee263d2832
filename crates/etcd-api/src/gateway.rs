//! The paths of etcd's gateway, which take and give JSON over HTTP/1.1.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use futures_util::stream::{self, StreamExt as _};
use http_body_util::{BodyExt as _, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use skeptron_net::api::Client;
use tonic::{Code, Status};

use crate::MOST_REQUEST_BYTES;
use crate::call::Call;
use crate::here::Here;
use crate::proto::etcdserverpb::{
    AuthenticateRequest, LeaseGrantRequest, LeaseKeepAliveRequest, LeaseLeasesRequest,
    LeaseRevokeRequest, LeaseTimeToLiveRequest, MemberListRequest, StatusRequest,
};
use crate::proto::v3electionpb::{CampaignRequest, LeaderRequest, ProclaimRequest, ResignRequest};
use crate::proto::v3lockpb::{LockRequest, UnlockRequest};
use crate::services::{Answers, kept_alive, observed};

/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(5);

pub(crate) fn router() -> Router<Arc<Here>> {
    Router::new()
        .route("/v3/lease/grant", post(answer::<LeaseGrantRequest>))
        .route("/v3/lease/revoke", post(answer::<LeaseRevokeRequest>))
        .route("/v3/kv/lease/revoke", post(answer::<LeaseRevokeRequest>))
        .route("/v3/lease/keepalive", post(keep_alive))
        .route("/v3/lease/timetolive", post(answer::<LeaseTimeToLiveRequest>))
        .route("/v3/kv/lease/timetolive", post(answer::<LeaseTimeToLiveRequest>))
        .route("/v3/lease/leases", post(answer::<LeaseLeasesRequest>))
        .route("/v3/kv/lease/leases", post(answer::<LeaseLeasesRequest>))
        .route("/v3/lock/lock", post(answer::<LockRequest>))
        .route("/v3/lock/unlock", post(answer::<UnlockRequest>))
        .route("/v3/election/campaign", post(answer::<CampaignRequest>))
        .route("/v3/election/proclaim", post(answer::<ProclaimRequest>))
        .route("/v3/election/leader", post(answer::<LeaderRequest>))
        .route("/v3/election/observe", post(observe))
        .route("/v3/election/resign", post(answer::<ResignRequest>))
        .route("/v3/auth/authenticate", post(answer::<AuthenticateRequest>))
        .route("/v3/cluster/member/list", post(answer::<MemberListRequest>))
        .route("/v3/maintenance/status", post(answer::<StatusRequest>))
}

/// A request with one answer.
async fn answer<C>(
    State(here): State<Arc<Here>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Result<Json<C::Answer>, Problem>
where
    C: Call + DeserializeOwned,
    C::Answer: Serialize,
{
    let asked: Vec<C> = asked(request).await?;
    let asked = asked.into_iter().next().unwrap_or_default();
    Ok(Json(here.answer(&client, asked).await?))
}

async fn keep_alive(
    State(here): State<Arc<Here>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Result<Response, Problem> {
    let asked: Vec<LeaseKeepAliveRequest> = asked(request).await?;
    Ok(lines(kept_alive(here, client, stream::iter(asked.into_iter().map(Ok)))))
}

async fn observe(
    State(here): State<Arc<Here>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Result<Response, Problem> {
    let asked: Vec<LeaderRequest> = asked(request).await?;
    let asked = asked.into_iter().next().unwrap_or_default();
    Ok(lines(observed(here, &client, asked)?))
}

/// The objects of a body, one after the other; an empty one asks for nothing in particular.
async fn asked<T: DeserializeOwned>(request: Request) -> Result<Vec<T>, Status> {
    let body = Limited::new(request.into_body(), MOST_REQUEST_BYTES).collect();
    let body = tokio::time::timeout(BODY_WITHIN, body).await;
    let body = body.map_err(|_| Status::deadline_exceeded("the body did not arrive in time"))?;
    let bytes = body.map_err(|why| Status::invalid_argument(why.to_string()))?.to_bytes();
    let objects = serde_json::Deserializer::from_slice(&bytes).into_iter::<T>();
    let objects: Result<Vec<T>, _> = objects.collect();
    objects.map_err(|why| Status::invalid_argument(why.to_string()))
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<T> {
    Result(T),
    Error(StreamProblem),
}

/// What a stream ends with that cannot go on.
#[derive(Serialize)]
struct StreamProblem {
    grpc_code: i32,
    http_code: u16,
    message: String,
    http_status: &'static str,
}

/// A stream: each answer is a line.
fn lines<T: Serialize + Send + 'static>(answers: Answers<T>) -> Response {
    let lines = answers.map(|answer| {
        let line = match answer {
            Ok(answer) => Line::Result(answer),
            Err(status) => {
                let http = http_status(status.code());
                Line::Error(StreamProblem {
                    grpc_code: status.code().into(),
                    http_code: http.as_u16(),
                    message: status.message().to_string(),
                    http_status: http.canonical_reason().unwrap_or_default(),
                })
            }
        };
        serde_json::to_vec(&line).map(|mut line| {
            line.push(b'\n');
            Bytes::from(line)
        })
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, Body::from_stream(lines)).into_response()
}

/// Why a request gets nothing.
pub(crate) struct Problem(Status);

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        Problem(status)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            error: &'a str,
            message: &'a str,
            code: i32,
        }
        let text = self.0.message();
        let told = ErrorBody { error: text, message: text, code: self.0.code().into() };
        (http_status(self.0.code()), Json(told)).into_response()
    }
}

/// As etcd's gateway has it.
fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::FailedPrecondition => StatusCode::PRECONDITION_FAILED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Cancelled | Code::DeadlineExceeded => StatusCode::REQUEST_TIMEOUT,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
