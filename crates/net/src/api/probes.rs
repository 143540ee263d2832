//! Three questions of whoever watches a node: can it grant, should it get traffic, does a restart help?

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use skeptron_member::report::{Cause, Reason};

use super::error::RequestError;
use super::service::ApiService;
use crate::messages::Health;

/// Whether the node can grant locks.
pub(super) async fn health(
    State(service): State<Arc<ApiService>>,
) -> Result<Json<Health>, RequestError> {
    judged(&service, Reason::stops_grants)
}

/// Whether clients should come here: it is a member, its lease runs, and it does not leave.
pub(super) async fn ready(
    State(service): State<Arc<ApiService>>,
) -> Result<Json<Health>, RequestError> {
    judged(&service, Reason::ends_service)
}

/// Whether the process works; if not, only a restart helps.
pub(super) async fn live(
    State(service): State<Arc<ApiService>>,
) -> Result<Json<Health>, RequestError> {
    judged(&service, |reason| reason == Reason::Failed)
}

fn judged(
    service: &ApiService,
    is_grave: impl Fn(Reason) -> bool,
) -> Result<Json<Health>, RequestError> {
    let causes = service.node.status().causes;
    let grave = |cause: &Cause| is_grave(cause.reason);
    match causes.iter().any(grave) {
        false => Ok(Json(Health { node: service.node.id(), well: true, causes })),
        true => Err(RequestError::CannotGrant(causes)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::extract::State;
    use tokio::sync::watch;

    use super::super::listen::Stage;
    use super::super::quota::{Ledger, Quota};
    use super::*;

    #[tokio::test]
    async fn a_node_whose_part_has_panicked_wants_a_restart() {
        let plans = crate::Plans::new(crate::Plan::named(crate::Plan::DEFAULT).unwrap());
        let cluster = crate::Cluster::start(1, plans).await.unwrap();
        let service = Arc::new(ApiService {
            node: cluster.nodes[0].clone(),
            most_sessions: 1,
            ttl: Default::default(),
            stage: watch::Sender::new(Stage::Open).subscribe(),
            leave: Arc::new(watch::Sender::new(false)),
            ledger: Arc::new(Ledger::new(Quota::default())),
        });
        assert!(live(State(Arc::clone(&service))).await.is_ok());
        cluster.nodes[0].observer().fail("a link panicked: why not".to_string());
        let probes =
            [health(State(Arc::clone(&service))).await, ready(State(Arc::clone(&service))).await];
        for probe in probes.into_iter().chain([live(State(service)).await]) {
            let problem = probe.unwrap_err().problem();
            assert_eq!(problem.code, "unwell");
            assert_eq!(problem.error, "P1 grants nothing: a link panicked: why not");
            assert_eq!(problem.why.unwrap().causes[0].reason, Reason::Failed);
        }
        cluster.shutdown().await;
    }
}
