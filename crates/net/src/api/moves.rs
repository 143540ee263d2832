//! Sessions that go on at another node.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use skeptron_member::report::milliseconds;
use skeptron_member::session::{Alive, Life, Move, SessionId};

use super::error::RequestError;
use super::relay;
use super::roles::Client;
use super::routes::{JsonBody, SessionPath};
use super::service::{ApiService, allowed_owner};
use crate::messages::{Incarnation, KeptAlive, LeftBehind, MoveSession, Moved, SessionPlace};

pub(super) async fn here(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    SessionPath(id): SessionPath,
    JsonBody(asked): JsonBody<MoveSession>,
) -> Result<Json<Moved>, RequestError> {
    take_in(&service, &client, id, asked).await.map(Json)
}

/// A session moves here.
pub(super) async fn take_in(
    service: &ApiService,
    client: &Client,
    id: SessionId,
    asked: MoveSession,
) -> Result<Moved, RequestError> {
    let MoveSession { from, number, ttl_ms, owner, requests, held } = asked;
    let ttl = service.allowed_ttl(ttl_ms)?;
    let owner = allowed_owner(client.owner(owner))?;
    service.ledger.check(client, id)?;
    held.iter().try_for_each(|hold| client.may_lock(&hold.lock))?;
    if let Some(kept) = relay::sign_at_home(service, client, id, &from).await? {
        let KeptAlive { valid_ms, pending, lost, .. } = kept;
        let cluster = service.cluster_info(None);
        return Ok(Moved { valid_ms, pending, lost, place: from, relayed: true, cluster });
    }
    let shell = service.node.shell()?;
    let node = service.node.id();
    service.can_grant(&shell)?;
    let Some(place) = shell.core().life() else { return Err(RequestError::NoLives(node)) };
    if !service.ledger.knows(id) {
        service.ledger.may_open(client, |id| service.look(id))?;
    }
    let moved = Move { id, from: life_at(from), number, ttl, owner, requests, held };
    let Alive { valid, pending, lost } = shell.move_session(moved, service.most_sessions)?;
    service.ledger.opened(client, id);
    let place = place_of(place);
    let (valid_ms, cluster) = (milliseconds(valid), service.cluster_info(None));
    Ok(Moved { valid_ms, pending, lost, place, relayed: false, cluster })
}

pub(super) async fn away(
    State(service): State<Arc<ApiService>>,
    Extension(client): Extension<Client>,
    SessionPath(id): SessionPath,
    JsonBody(asked): JsonBody<LeftBehind>,
) -> Result<Json<LeftBehind>, RequestError> {
    let_go(&service, &client, id, asked)?;
    Ok(Json(asked))
}

/// A session has moved away from here.
pub(super) fn let_go(
    service: &ApiService,
    client: &Client,
    id: SessionId,
    asked: LeftBehind,
) -> Result<(), RequestError> {
    service.ledger.check(client, id)?;
    Ok(service.node.shell()?.leave_session_behind(id, asked.number)?)
}

/// A life of a member, as its sessions name it.
pub(super) fn place_of(life: Life) -> SessionPlace {
    let Life { member, incarnation, epoch } = life;
    SessionPlace { node: member, life: Incarnation(incarnation), epoch }
}

fn life_at(place: SessionPlace) -> Life {
    let SessionPlace { node, life, epoch } = place;
    Life { member: node, incarnation: life.0, epoch }
}
