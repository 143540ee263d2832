//! An administrator breaks a lock.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::error::RequestError;
use super::routes::JsonBody;
use super::service::ApiService;
use crate::messages::{MOST_OWNER_BYTES, Unlock, Unlocked};

/// Breaks a lock, at whichever member it is held; the audit log has the reason.
pub(super) async fn unlock(
    State(service): State<Arc<ApiService>>,
    JsonBody(asked): JsonBody<Unlock>,
) -> Result<Json<Unlocked>, RequestError> {
    let Unlock { lock, fence, reason, now } = asked;
    if reason.len() > MOST_OWNER_BYTES || reason.chars().any(char::is_control) {
        let told = format!("`reason` has at most {MOST_OWNER_BYTES} bytes, no control characters");
        return Err(RequestError::Invalid(told));
    }
    let breaking = service.node.shell()?.break_lock(&lock, fence, now).await;
    if let Some((node, handed_on, believed_ms)) = breaking.lost {
        return Ok(Json(Unlocked { lock, fence, node, handed_on, believed_ms }));
    }
    Err(match (breaking.other, breaking.is_moving) {
        (Some(held), _) => RequestError::HeldOtherwise { lock, held, given: fence },
        (None, true) => RequestError::HolderMoves(lock),
        (None, false) if breaking.silent.is_empty() => RequestError::NobodyHolds(lock),
        (None, false) => {
            let silent: Vec<String> = breaking.silent.iter().map(ToString::to_string).collect();
            let silent = silent.join(", ");
            RequestError::Unwell(format!(
                "whether `{lock}` is held is not known: {silent} did not answer"
            ))
        }
    })
}
