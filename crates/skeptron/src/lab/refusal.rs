//! Why the page gets nothing: a status for the protocol, and a sentence that names cause and remedy.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use super::wire::Failure;

/// Why the page gets nothing.
#[derive(Debug, Error)]
pub(super) enum Refusal {
    #[error("this is not what the path takes: {0}")]
    Malformed(String),
    #[error("the body did not arrive whole within {0} s; send it again")]
    Slow(u64),
    #[error("the body has more than {0} bytes, which is the most that this path takes")]
    TooLarge(usize),
    #[error(
        "this takes longer than the {0} s that the lab has for it; ask for less, or use `skeptron sim` in \
         a terminal, where nothing ends it"
    )]
    TooLong(u64),
    /// What is asked for is understood, but impossible.
    #[error("{0}")]
    Impossible(String),
    #[error("there is nothing at this path; the page is at /")]
    NoSuchPath,
    #[error("this path does not take that method")]
    NoSuchMethod,
    #[error("this run is not here any more, or never was; make it again")]
    NoSuchRun,
    #[error("there is no scenario named `{0}`; the gallery shows all of them")]
    NoSuchScenario(String),
    #[error("the lab keeps {0} runs and all of them are being looked at; close a page")]
    TooManyRuns(usize),
    #[error(
        "here locks are not taken from the page; use `skeptron lock`, or try it with `skeptron up`"
    )]
    NoTries,
    #[error("the system gives no random numbers; try again later")]
    NoRandomness,
    /// Our own mistake.
    #[error("this went wrong in the lab itself: {0}; please report it")]
    Broken(String),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::Slow(_) => StatusCode::REQUEST_TIMEOUT,
            Refusal::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Impossible(_) | Refusal::TooLong(_) | Refusal::NoTries => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Refusal::NoSuchPath | Refusal::NoSuchRun | Refusal::NoSuchScenario(_) => {
                StatusCode::NOT_FOUND
            }
            Refusal::NoSuchMethod => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::TooManyRuns(_) | Refusal::NoRandomness => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Broken(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status(), Json(Failure { error: self.to_string() })).into_response()
    }
}

impl From<anyhow::Error> for Refusal {
    /// What the command line would say.
    fn from(error: anyhow::Error) -> Self {
        Refusal::Impossible(format!("{error:#}"))
    }
}
