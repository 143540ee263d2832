//! etcd's services over gRPC. Each method only finds out who asks.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{self, Stream, StreamExt as _};
use skeptron_net::api::Client;
use tonic::{Request, Response, Status, Streaming};

use crate::call::Call;
use crate::error;
use crate::here::Here;
use crate::proto::etcdserverpb::auth_server::Auth;
use crate::proto::etcdserverpb::cluster_server::Cluster;
use crate::proto::etcdserverpb::lease_server::Lease;
use crate::proto::etcdserverpb::maintenance_server::Maintenance;
use crate::proto::etcdserverpb::{
    AuthenticateRequest, AuthenticateResponse, LeaseGrantRequest, LeaseGrantResponse,
    LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseLeasesRequest, LeaseLeasesResponse,
    LeaseRevokeRequest, LeaseRevokeResponse, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse,
    MemberListRequest, MemberListResponse, StatusRequest, StatusResponse,
};
use crate::proto::v3electionpb::election_server::Election;
use crate::proto::v3electionpb::{
    CampaignRequest, CampaignResponse, LeaderRequest, LeaderResponse, ProclaimRequest,
    ProclaimResponse, ResignRequest, ResignResponse,
};
use crate::proto::v3lockpb::lock_server::Lock;
use crate::proto::v3lockpb::{LockRequest, LockResponse, UnlockRequest, UnlockResponse};

/// Signs of life on one stream that are on their way to other members, at most.
const MOST_SIGNS: usize = 64;
/// With this, clients ask only members that can decide.
const REQUIRE_LEADER: &str = "hasleader";

/// Answers by what this member does.
#[derive(Clone, Debug)]
pub(crate) struct Services(pub(crate) Arc<Here>);

/// What a stream of answers is.
pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Services {
    /// Who asks.
    fn client<T>(&self, request: &Request<T>) -> Result<Client, Status> {
        let requires = request.metadata().get(REQUIRE_LEADER);
        if requires.is_some_and(|it| it == "true") && self.0.api.can_grant().is_err() {
            return Err(error::member_without_leader());
        }
        let client = request.extensions().get::<Client>().cloned();
        client.ok_or_else(|| Status::unauthenticated("nobody knows who asks"))
    }

    async fn answer<C: Call>(&self, request: Request<C>) -> Result<Response<C::Answer>, Status> {
        let client = self.client(&request)?;
        self.0.answer(&client, request.into_inner()).await.map(Response::new)
    }
}

/// Signs of life, each answered when the lease's member has answered it: one that does not answer delays
/// no other's.
pub(crate) fn kept_alive(
    here: Arc<Here>,
    client: Client,
    signs: impl Stream<Item = Result<LeaseKeepAliveRequest, Status>> + Send + 'static,
) -> Answers<LeaseKeepAliveResponse> {
    let closing = Box::pin(here.api.closing().begun());
    let answers = signs.map(move |sign| {
        let (here, client) = (Arc::clone(&here), client.clone());
        async move { here.answer(&client, sign?).await }
    });
    let answers = Box::pin(answers.buffer_unordered(MOST_SIGNS));
    Box::pin(stream::unfold(Some((answers, closing)), async |state| {
        let (mut answers, mut closing) = state?;
        tokio::select! {
            answer = answers.next() => Some((answer?, Some((answers, closing)))),
            () = &mut closing => {
                Some((Err(Status::unavailable("this member is shutting down")), None))
            }
        }
    }))
}

/// The present leader first if there is one, then every change.
pub(crate) fn observed(
    here: Arc<Here>,
    client: &Client,
    request: LeaderRequest,
) -> Result<Answers<LeaderResponse>, Status> {
    let name = crate::names::name(request.name)?;
    let observer = here.api.observe(client, &name).map_err(|why| error::lock_refused(&why))?;
    Ok(Box::pin(stream::unfold(Some((here, name, observer)), async |state| {
        let (here, name, mut observer) = state?;
        loop {
            let Some(told) = observer.next().await else {
                // It knows all there is only at another member.
                let over = Status::unavailable("this member does not know any more who leads");
                return Some((Err(over), None));
            };
            // As in etcd, that nobody leads is not told.
            if let Ok(leader) = here.shown(&name, told) {
                return Some((Ok(leader), Some((here, name, observer))));
            }
        }
    })))
}

#[tonic::async_trait]
impl Lease for Services {
    type LeaseKeepAliveStream = Answers<LeaseKeepAliveResponse>;

    async fn lease_grant(
        &self,
        request: Request<LeaseGrantRequest>,
    ) -> Result<Response<LeaseGrantResponse>, Status> {
        self.answer(request).await
    }

    async fn lease_revoke(
        &self,
        request: Request<LeaseRevokeRequest>,
    ) -> Result<Response<LeaseRevokeResponse>, Status> {
        self.answer(request).await
    }

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<LeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        let client = self.client(&request)?;
        Ok(Response::new(kept_alive(Arc::clone(&self.0), client, request.into_inner())))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<LeaseTimeToLiveRequest>,
    ) -> Result<Response<LeaseTimeToLiveResponse>, Status> {
        self.answer(request).await
    }

    async fn lease_leases(
        &self,
        request: Request<LeaseLeasesRequest>,
    ) -> Result<Response<LeaseLeasesResponse>, Status> {
        self.answer(request).await
    }
}

#[tonic::async_trait]
impl Lock for Services {
    async fn lock(&self, request: Request<LockRequest>) -> Result<Response<LockResponse>, Status> {
        self.answer(request).await
    }

    async fn unlock(
        &self,
        request: Request<UnlockRequest>,
    ) -> Result<Response<UnlockResponse>, Status> {
        self.answer(request).await
    }
}

#[tonic::async_trait]
impl Election for Services {
    type ObserveStream = Answers<LeaderResponse>;

    async fn campaign(
        &self,
        request: Request<CampaignRequest>,
    ) -> Result<Response<CampaignResponse>, Status> {
        self.answer(request).await
    }

    async fn proclaim(
        &self,
        request: Request<ProclaimRequest>,
    ) -> Result<Response<ProclaimResponse>, Status> {
        self.answer(request).await
    }

    async fn leader(
        &self,
        request: Request<LeaderRequest>,
    ) -> Result<Response<LeaderResponse>, Status> {
        self.answer(request).await
    }

    async fn observe(
        &self,
        request: Request<LeaderRequest>,
    ) -> Result<Response<Self::ObserveStream>, Status> {
        let client = self.client(&request)?;
        observed(Arc::clone(&self.0), &client, request.into_inner()).map(Response::new)
    }

    async fn resign(
        &self,
        request: Request<ResignRequest>,
    ) -> Result<Response<ResignResponse>, Status> {
        self.answer(request).await
    }
}

#[tonic::async_trait]
impl Auth for Services {
    async fn authenticate(
        &self,
        request: Request<AuthenticateRequest>,
    ) -> Result<Response<AuthenticateResponse>, Status> {
        self.answer(request).await
    }
}

#[tonic::async_trait]
impl Cluster for Services {
    async fn member_list(
        &self,
        request: Request<MemberListRequest>,
    ) -> Result<Response<MemberListResponse>, Status> {
        self.answer(request).await
    }
}

#[tonic::async_trait]
impl Maintenance for Services {
    async fn status(
        &self,
        request: Request<StatusRequest>,
    ) -> Result<Response<StatusResponse>, Status> {
        self.answer(request).await
    }
}
