//! etcd's API version 3 in front of a node: the services Lease, Lock and Election over gRPC, and the JSON paths
//! of its gateway, so that clients of etcd work unchanged. A lease is a session of the node's API; whatever
//! is said of leases, locks and leaders is decided there, by the same rules as for everybody else.
//!
//! A lease lives at one member. Its number says at which (`leases::number`), or all are asked if its client
//! has chosen the number; other members pass requests on to that one.
//!
//! From below: `names` are keys and values, `leases` those of this member, `call` and `here` find the member
//! that performs a request, `calls` and `about` perform it, `services` and `gateway` are the two ways in.

mod about;
mod call;
mod calls;
mod error;
mod gateway;
mod here;
mod json;
mod leases;
mod names;
pub mod proto;
mod services;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use skeptron_member::fnv1a;
use skeptron_net::api::{ErrorResponse, FrontEnd, FrontEndApi, Listeners, ListeningFrontEnd};
use tonic::Status;

use gateway::Problem;
use here::Here;
use leases::Leases;
use proto::etcdserverpb as rpc;
use proto::v3electionpb as election;
use proto::v3lockpb as lock;
use services::Services;

/// Where etcd answers clients, and this unless it is told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:2379";

/// The largest request.
const MOST_REQUEST_BYTES: usize = 64 << 10;

/// Where the token is that etcd's clients were given for a name and a password.
const TOKEN: &str = "token";

/// etcd's API in front of one node.
#[derive(Debug)]
struct Etcd {
    cluster_id: u64,
    leases: Arc<Leases>,
    urls: Arc<Vec<String>>,
}

/// Answers clients of etcd at these listeners, in the cluster of this name. Clients that ask for the members
/// are told to reach this one at `urls`.
#[must_use]
pub fn front(cluster: &str, listeners: Listeners, urls: Vec<String>) -> ListeningFrontEnd {
    let etcd =
        Etcd { cluster_id: fnv1a(cluster.bytes()), leases: Arc::default(), urls: Arc::new(urls) };
    ListeningFrontEnd { listeners, front: Arc::new(etcd) }
}

impl Etcd {
    fn here(&self, api: FrontEndApi) -> Arc<Here> {
        let (leases, urls) = (Arc::clone(&self.leases), Arc::clone(&self.urls));
        Arc::new(Here { api, leases, cluster_id: self.cluster_id, urls })
    }
}

impl FrontEnd for Etcd {
    fn router(&self, api: FrontEndApi) -> Router {
        let here = self.here(api);
        let services = Services(Arc::clone(&here));
        macro_rules! grpc {
            ($server:ty) => {
                <$server>::new(services.clone()).max_decoding_message_size(MOST_REQUEST_BYTES)
            };
        }
        gateway::router()
            .with_state(here)
            .route_service("/etcdserverpb.Lease/{method}", grpc!(rpc::lease_server::LeaseServer<_>))
            .route_service(
                "/etcdserverpb.Auth/Authenticate",
                grpc!(rpc::auth_server::AuthServer<_>),
            )
            .route_service(
                "/etcdserverpb.Cluster/MemberList",
                grpc!(rpc::cluster_server::ClusterServer<_>),
            )
            .route_service(
                "/etcdserverpb.Maintenance/Status",
                grpc!(rpc::maintenance_server::MaintenanceServer<_>),
            )
            .route_service("/v3lockpb.Lock/{method}", grpc!(lock::lock_server::LockServer<_>))
            .route_service(
                "/v3electionpb.Election/{method}",
                grpc!(election::election_server::ElectionServer<_>),
            )
            .fallback(not_here)
    }

    fn relayed(&self, api: FrontEndApi) -> Router {
        let router = Router::new();
        let router = call::route::<rpc::LeaseGrantRequest>(router);
        let router = call::route::<rpc::LeaseRevokeRequest>(router);
        let router = call::route::<rpc::LeaseKeepAliveRequest>(router);
        let router = call::route::<rpc::LeaseTimeToLiveRequest>(router);
        let router = call::route::<calls::ListAfter>(router);
        let router = call::route::<lock::LockRequest>(router);
        let router = call::route::<lock::UnlockRequest>(router);
        let router = call::route::<election::CampaignRequest>(router);
        let router = call::route::<election::ProclaimRequest>(router);
        let router = call::route::<election::ResignRequest>(router);
        let router = call::route::<about::OwnAddresses>(router);
        router.with_state(self.here(api))
    }

    fn counts_as(&self, path: &str) -> &'static str {
        match path {
            "/etcdserverpb.Auth/Authenticate" | "/v3/auth/authenticate" => "/health",
            "/v3lockpb.Lock/Unlock" | "/v3/lock/unlock" => "/v1/release",
            "/v3electionpb.Election/Resign" | "/v3/election/resign" => "/v1/resign",
            "/v3electionpb.Election/Leader" | "/v3/election/leader" => "/v1/leader",
            "/v3electionpb.Election/Observe" | "/v3/election/observe" => "/v1/observe",
            "/etcdserverpb.Lease/LeaseGrant" | "/v3/lease/grant" => "/v1/sessions",
            _ if path.starts_with("/etcdserverpb.Lease/") || path.contains("/lease/") => {
                "/v1/sessions/lease"
            }
            _ if path.starts_with("/v3lockpb.Lock/") || path.starts_with("/v3/lock/") => {
                "/v1/acquire"
            }
            _ if path.starts_with("/v3electionpb.") || path.starts_with("/v3/election/") => {
                "/v1/campaign"
            }
            _ => "/v1/status",
        }
    }

    fn tell_who(&self, headers: &mut HeaderMap) {
        // The gateway takes the token as it is, without a word before it.
        let shown = headers.get(TOKEN).or_else(|| headers.get(header::AUTHORIZATION));
        let Some(shown) = shown.and_then(|shown| shown.to_str().ok()) else { return };
        if !shown.contains(' ')
            && let Ok(bearer) = HeaderValue::from_str(&format!("Bearer {shown}"))
        {
            headers.insert(header::AUTHORIZATION, bearer);
        }
    }

    fn refusal(&self, request: &Request<()>, why: &ErrorResponse) -> Response<Body> {
        told(request.headers(), error::refused(why))
    }
}

/// An error as whoever asks can read it.
fn told(headers: &HeaderMap, status: Status) -> Response<Body> {
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match content.is_some_and(|content| content.starts_with("application/grpc")) {
        true => status.into_http(),
        false => Problem::from(status).into_response(),
    }
}

async fn not_here(request: axum::extract::Request) -> Response<Body> {
    let path = request.uri().path();
    let is_etcd = path.starts_with("/v3") || path.starts_with("/etcdserverpb.");
    let is_grpc = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"));
    if !is_etcd && !is_grpc {
        return (StatusCode::NOT_FOUND, "Not Found\n").into_response();
    }
    let sentence = format!(
        "{path} is not served: this is Skeptron, which answers etcd's services Lease, Lock and Election, and \
         stores no keys"
    );
    told(request.headers(), Status::unimplemented(sentence))
}
