//! Sessions that go on at another node.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use skeptron_member::Fence;
use skeptron_member::report::milliseconds;
use skeptron_member::session::{Alive, Move};

use super::refusal::Refusal;
use super::roles::Client;
use super::routes::{Asked, Desk, Named, allowed_owner};
use crate::messages::{LeftBehind, MoveSession, Moved, SessionPlace};

/// Locks that a session can bring at most: more do not fit into a body.
const MOST_HELD: usize = 1000;

/// A session moves here.
pub(super) async fn here(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
    Asked(asked): Asked<MoveSession>,
) -> Result<Json<Moved>, Refusal> {
    let MoveSession { from, number, ttl_ms, owner, requests, held } = asked;
    let ttl = desk.allowed_ttl(ttl_ms)?;
    let owner = allowed_owner(client.owner(owner))?;
    desk.ledger.check(&client, id)?;
    held.iter().try_for_each(|hold| client.may_lock(&hold.lock))?;
    if held.len() > MOST_HELD {
        return Err(Refusal::Invalid(format!("a session brings at most {MOST_HELD} locks")));
    }
    let shell = desk.node.shell()?;
    let node = desk.node.id();
    if let Some(why) = shell.core().halted() {
        return Err(Refusal::Unwell(format!("{node} grants no locks: {why}")));
    }
    let Some(place) = shell.core().life() else { return Err(Refusal::NoLives(node)) };
    let epoch = shell.core().view().epoch;
    let cannot_be = |fence: Fence| fence.epoch() > epoch || fence.epoch() == 0;
    if let Some(hold) = held.iter().find(|hold| cannot_be(hold.fence)) {
        let told = format!("`{}` cannot have been granted with fence {:#}", hold.lock, hold.fence);
        return Err(Refusal::Invalid(told));
    }
    if !desk.ledger.knows(id) {
        desk.ledger.may_open(&client, |id| desk.look(id))?;
    }
    let moved = Move { id, from: from.into(), number, ttl, owner, requests, held };
    let Alive { valid, pending, lost } = shell.move_session(moved, desk.most_sessions)?;
    desk.ledger.opened(&client, id);
    let place = SessionPlace::from(place);
    Ok(Json(Moved { valid_ms: milliseconds(valid), pending, lost, place }))
}

/// A session has moved away from here.
pub(super) async fn away(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
    Asked(asked): Asked<LeftBehind>,
) -> Result<Json<LeftBehind>, Refusal> {
    desk.ledger.check(&client, id)?;
    desk.node.shell()?.leave_session_behind(id, asked.number)?;
    Ok(Json(asked))
}
