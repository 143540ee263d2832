//! Sessions that go on at another node.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use skeptron_member::report::milliseconds;
use skeptron_member::session::{Alive, Life, Move, SessionId};

use super::desk::{Desk, allowed_owner};
use super::refusal::Refusal;
use super::relay;
use super::roles::Client;
use super::routes::{Asked, Named};
use crate::messages::{Incarnation, KeptAlive, LeftBehind, MoveSession, Moved, SessionPlace};

pub(super) async fn here(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
    Asked(asked): Asked<MoveSession>,
) -> Result<Json<Moved>, Refusal> {
    take_in(&desk, &client, id, asked).await.map(Json)
}

/// A session moves here.
pub(super) async fn take_in(
    desk: &Desk,
    client: &Client,
    id: SessionId,
    asked: MoveSession,
) -> Result<Moved, Refusal> {
    let MoveSession { from, number, ttl_ms, owner, requests, held } = asked;
    let ttl = desk.allowed_ttl(ttl_ms)?;
    let owner = allowed_owner(client.owner(owner))?;
    desk.ledger.check(client, id)?;
    held.iter().try_for_each(|hold| client.may_lock(&hold.lock))?;
    if let Some(kept) = relay::sign_at_home(desk, client, id, &from).await? {
        let KeptAlive { valid_ms, pending, lost, .. } = kept;
        let cluster = desk.cluster_info(None);
        return Ok(Moved { valid_ms, pending, lost, place: from, relayed: true, cluster });
    }
    let shell = desk.node.shell()?;
    let node = desk.node.id();
    desk.can_grant(&shell)?;
    let Some(place) = shell.core().life() else { return Err(Refusal::NoLives(node)) };
    if !desk.ledger.knows(id) {
        desk.ledger.may_open(client, |id| desk.look(id))?;
    }
    let moved = Move { id, from: life_at(from), number, ttl, owner, requests, held };
    let Alive { valid, pending, lost } = shell.move_session(moved, desk.most_sessions)?;
    desk.ledger.opened(client, id);
    let place = place_of(place);
    let (valid_ms, cluster) = (milliseconds(valid), desk.cluster_info(None));
    Ok(Moved { valid_ms, pending, lost, place, relayed: false, cluster })
}

pub(super) async fn away(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Client>,
    Named(id): Named,
    Asked(asked): Asked<LeftBehind>,
) -> Result<Json<LeftBehind>, Refusal> {
    let_go(&desk, &client, id, asked)?;
    Ok(Json(asked))
}

/// A session has moved away from here.
pub(super) fn let_go(
    desk: &Desk,
    client: &Client,
    id: SessionId,
    asked: LeftBehind,
) -> Result<(), Refusal> {
    desk.ledger.check(client, id)?;
    Ok(desk.node.shell()?.leave_session_behind(id, asked.number)?)
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
