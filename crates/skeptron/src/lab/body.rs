//! What the page sends: JSON bodies of a bounded size that arrive in time, and queries.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::refusal::Refusal;

/// What a body has at most, unless it may hold a whole file.
pub(super) const MOST_BYTES: usize = 64 << 10;
/// What a body has at most that may hold a whole file.
pub(super) const MOST_FILE_BYTES: usize = 32 << 20;
/// How long a body may take to arrive.
const WITHIN: Duration = Duration::from_secs(10);
/// So many large bodies may be in memory at a time.
static LARGE: Semaphore = Semaphore::const_new(4);

/// A body that was read as JSON, of `MOST` bytes at most.
#[derive(Debug)]
pub(super) struct Asked<T, const MOST: usize = MOST_BYTES>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync, const MOST: usize> FromRequest<S> for Asked<T, MOST> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let read = tokio::time::timeout(WITHIN, whole(request.into_body(), MOST));
        let bytes = read.await.map_err(|_| Refusal::Slow(WITHIN.as_secs()))??;
        serde_json::from_slice(&bytes)
            .map(Asked)
            .map_err(|error| Refusal::Malformed(error.to_string()))
    }
}

/// What a path's query says.
#[derive(Debug)]
pub(super) struct Sought<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Sought<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Query(sought) = Query::from_request_parts(parts, state)
            .await
            .map_err(|error| Refusal::Malformed(error.body_text()))?;
        Ok(Sought(sought))
    }
}

/// The whole body.
async fn whole(body: Body, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut parts = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut large = None;
    while let Some(part) = parts.next().await {
        let part: Bytes = part.map_err(|error| Refusal::Malformed(error.to_string()))?;
        if bytes.len() + part.len() > most {
            return Err(Refusal::TooLarge(most));
        }
        if large.is_none() && bytes.len() + part.len() > MOST_BYTES {
            large = LARGE.acquire().await.ok();
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}
