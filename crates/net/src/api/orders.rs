//! Orders of an administrator: to the voters, and to the node itself.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use skeptron_member::MemberId;
use skeptron_member::clock::Drift;
use skeptron_views::views::LeaseSettings;
use skeptron_views::voter::{Admin, AdminAccepted};

use super::error::RequestError;
use super::routes::JsonBody;
use super::service::ApiService;
use crate::messages::{DrainOrder, Drained, Leaving, Order, Ordered};

/// Gives an order to the voters. The answer says that it was proposed; `GET /v1/status` shows when it
/// is decided.
pub(super) async fn order(
    State(service): State<Arc<ApiService>>,
    JsonBody(order): JsonBody<Order>,
) -> Result<Json<Ordered>, RequestError> {
    let voters = service.node.voters().ok_or_else(|| {
        let report = service.node.status().views;
        match (report.kind.as_str(), report.trouble) {
            ("etcd", Some(why)) => RequestError::Etcd(format!("it cannot be reached now, {why}")),
            ("etcd", None) => {
                RequestError::Etcd(format!("it is at {}", report.endpoints.join(", ")))
            }
            _ => RequestError::NoVoters,
        }
    })?;
    let is_member = |id: MemberId| service.node.view().is_some_and(|view| view.rank(id).is_some());
    // A voter that nobody can reach would stand in the way of every later change.
    let must_be_member = |id: MemberId| match is_member(id) {
        true => Ok(id),
        false => Err(RequestError::NoMember(id)),
    };
    let admin = match order {
        Order::AddVoter { member } => Admin::AddVoter { id: must_be_member(member)? },
        Order::ReplaceVoter { old, new } => Admin::ReplaceVoter { old, new: must_be_member(new)? },
        Order::RemoveVoter { member } => Admin::RemoveVoter { id: member },
        Order::RemoveMember { member } => Admin::RemoveMember { id: member },
        Order::Lease { lease_ms, drift_ppm } => {
            let present = service.node.status().views.drift_ppm;
            let ppm = drift_ppm.or(present).ok_or(RequestError::NoDrift(service.node.id()))?;
            let lease = Duration::from_millis(lease_ms);
            Admin::Settings(LeaseSettings { lease, drift: Drift { ppm } })
        }
    };
    let seat = match voters.order(admin).await? {
        AdminAccepted::Seat { raft } => Some(raft),
        AdminAccepted::Proposed => None,
    };
    Ok(Json(Ordered { seat }))
}

/// Makes the program leave the cluster and end, if it listens to that.
pub(super) async fn leave(
    State(service): State<Arc<ApiService>>,
) -> Result<Json<Leaving>, RequestError> {
    if service.leave.receiver_count() == 0 {
        return Err(RequestError::Embedded(service.node.id()));
    }
    service.leave.send_replace(true);
    Ok(Json(Leaving { node: service.node.id(), leaving: true }))
}

/// Makes the node serve no clients, or serve them again. The answer says how far it is; `GET /v1/status`
/// shows when it is done.
pub(super) async fn drain(
    State(service): State<Arc<ApiService>>,
    JsonBody(asked): JsonBody<DrainOrder>,
) -> Result<Json<Drained>, RequestError> {
    match asked.undo {
        true => service.node.serve_again(),
        false => service.node.drain()?,
    }
    Ok(Json(Drained { node: service.node.id(), drain: service.node.drained() }))
}
