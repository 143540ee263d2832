//! The cluster that runs beside the page: all nodes of `skeptron up`, or the one of `skeptron node`.

mod control;
mod look;
mod tell;
mod tries;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use skeptron_net::{MemberId, Node};
use tokio::sync::broadcast;

use super::body::Asked;
use super::refusal::Refusal;
use super::wire::{
    ClusterAct, ClusterActKind, ClusterChange, ClusterTry, ClusterView, TryAcquire, TryRelease,
};
use control::Control;
pub use control::{ActError, Answering};
use look::Look;
use tries::Tries;

/// A cluster that can be looked into.
#[derive(Debug)]
pub struct Live {
    /// The nodes of this process; in place of one that was restarted there is another.
    nodes: RwLock<Vec<Node>>,
    /// Where each of them answers clients, once that is known.
    apis: OnceLock<Vec<Vec<String>>>,
    look: Look,
    /// What was asked for from the page, where that is allowed.
    tries: Option<Tries>,
    /// What runs the nodes, if this process does.
    control: OnceLock<Control>,
    /// What is done to them.
    acts: broadcast::Sender<(Instant, MemberId, ClusterChange)>,
}

/// So many acts are kept for whoever reads slowly.
const MOST_ACTS: usize = 64;

impl Live {
    /// All nodes of a cluster, P1 first; locks may be taken from the page.
    #[must_use]
    pub fn whole(nodes: Vec<Node>) -> Arc<Self> {
        Live::new(nodes, Some(Tries::default()))
    }

    /// One node, whose cluster has others to serve than the page.
    #[must_use]
    pub fn alone(node: Node) -> Arc<Self> {
        Live::new(vec![node], None)
    }

    fn new(nodes: Vec<Node>, tries: Option<Tries>) -> Arc<Self> {
        Arc::new(Live {
            nodes: RwLock::new(nodes),
            apis: OnceLock::new(),
            look: Look::default(),
            tries,
            control: OnceLock::new(),
            acts: broadcast::Sender::new(MOST_ACTS),
        })
    }

    /// The nodes as they are now.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A member has begun anew.
    fn replace(&self, node: Node) {
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(former) = nodes.iter_mut().find(|former| former.id() == node.id()) {
            *former = node;
        }
    }

    /// Says where each node answers clients; only the first call counts.
    pub fn answers_at(&self, apis: Vec<Vec<String>>) {
        self.apis.get_or_init(|| apis);
    }

    /// Whether it ends: whoever looks should go.
    fn is_ending(&self) -> bool {
        self.nodes().iter().all(Node::is_leaving)
    }
}

/// The paths of the cluster.
pub(super) fn router(live: Arc<Live>) -> Router {
    Router::new()
        .route("/lab/cluster", get(view))
        .route("/lab/cluster/events", get(events))
        .route("/lab/cluster/acquire", post(acquire))
        .route("/lab/cluster/release", post(release))
        .route("/lab/cluster/act", post(act))
        .with_state(live)
}

async fn view(State(live): State<Arc<Live>>) -> Json<ClusterView> {
    Json(live.view().await)
}

/// Of which lock everything is told.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    lock: Option<String>,
}

async fn events(
    State(live): State<Arc<Live>>,
    chosen: Result<Query<Chosen>, QueryRejection>,
) -> Result<impl axum::response::IntoResponse, Refusal> {
    let Query(chosen) = chosen.map_err(|error| Refusal::Malformed(error.body_text()))?;
    Ok(tell::tell(live, chosen.lock))
}

async fn acquire(
    State(live): State<Arc<Live>>,
    Asked(asked): Asked<TryAcquire>,
) -> Result<Json<ClusterTry>, Refusal> {
    let node = live.node(asked.node)?;
    live.refuse_paused(node.id())?;
    let tries = live.tries.as_ref().ok_or(Refusal::NoTries)?;
    let tried = tries.acquire(&node, &asked).map_err(|why| Refusal::Impossible(why.to_string()))?;
    Ok(Json(tried))
}

async fn release(
    State(live): State<Arc<Live>>,
    Asked(asked): Asked<TryRelease>,
) -> Result<Json<ClusterTry>, Refusal> {
    let node = live.node(asked.node)?;
    live.refuse_paused(node.id())?;
    let tries = live.tries.as_ref().ok_or(Refusal::NoTries)?;
    let tried = tries.release(node.id(), &asked.lock);
    Ok(Json(tried.map_err(|why| Refusal::Impossible(why.to_string()))?))
}

async fn act(
    State(live): State<Arc<Live>>,
    Asked(asked): Asked<ClusterAct>,
) -> Result<Json<ClusterView>, Refusal> {
    let id = live.node(asked.node)?.id();
    let done = match asked.act {
        ClusterActKind::Kill => live.kill(id).await,
        ClusterActKind::Restart => live.restart(id).await,
        ClusterActKind::Pause => live.pause(id, true).await,
        ClusterActKind::Resume => live.pause(id, false).await,
        ClusterActKind::Cut => live.cut(id, true).await,
        ClusterActKind::Heal => live.cut(id, false).await,
    };
    done.map_err(|why| Refusal::Impossible(why.to_string()))?;
    Ok(Json(live.view().await))
}

impl Live {
    /// One that stands still answers nobody.
    fn refuse_paused(&self, id: MemberId) -> Result<(), Refusal> {
        match self.shown().paused.contains(&id) {
            true => {
                Err(Refusal::Impossible(format!("{id} is paused and answers nobody; let it go on")))
            }
            false => Ok(()),
        }
    }

    /// The node with that number.
    fn node(&self, number: usize) -> Result<Node, Refusal> {
        let nodes = self.nodes();
        let node = nodes.iter().find(|node| look::number(node.id()) == number).cloned();
        node.ok_or_else(|| {
            let last = nodes.len();
            Refusal::Impossible(format!("there is no node {number} here; say 1 to {last}"))
        })
    }
}
