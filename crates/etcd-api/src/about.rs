//! What clients ask of services that are not here otherwise: who they are, who the members are, how one is.

use futures_util::future::join_all;
use skeptron_net::api::Client;
use tonic::Status;

use crate::call::{Call, passed_on};
use crate::here::Here;
use crate::proto::etcdserverpb::{
    AuthenticateRequest, AuthenticateResponse, Member, MemberListRequest, MemberListResponse,
    StatusRequest, StatusResponse,
};

impl Call for AuthenticateRequest {
    type Answer = AuthenticateResponse;
    const NAME: &'static str = "authenticate";

    fn lease(&self) -> Option<i64> {
        None
    }

    /// The password is the API's token, and the token of the requests that follow, which are refused if it
    /// is wrong: so nobody learns here whether it is right.
    async fn perform(self, here: &Here, _: &Client) -> Result<AuthenticateResponse, Status> {
        Ok(AuthenticateResponse { header: here.header(None), token: self.password })
    }
}

/// Where one member answers clients of this protocol.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OwnAddresses {}

impl Call for OwnAddresses {
    type Answer = Member;
    const NAME: &'static str = "own-addresses";

    fn lease(&self) -> Option<i64> {
        None
    }

    async fn perform(self, here: &Here, _: &Client) -> Result<Member, Status> {
        let client_ur_ls = here.urls.to_vec();
        Ok(Member { client_ur_ls, ..Member::default() })
    }
}

impl Call for MemberListRequest {
    type Answer = MemberListResponse;
    const NAME: &'static str = "member-list";

    fn lease(&self) -> Option<i64> {
        None
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<MemberListResponse, Status> {
        let view = here.api.view();
        let own = here.api.node().id();
        let members = view.iter().flat_map(|view| &view.members).map(async |member| {
            let told = match (member.id == own, member.incarnation) {
                (true, _) => OwnAddresses {}.perform(here, client).await,
                (false, Some(life)) => {
                    passed_on(here, client, (member.id, life), &OwnAddresses {}).await
                }
                (false, None) => Ok(Member::default()),
            };
            // One that does not answer is a member all the same.
            let mut listed = told.unwrap_or_default();
            listed.id = u64::from(member.id.number());
            listed.name = member.id.to_string();
            listed.peer_ur_ls = vec![member.address.clone()];
            listed
        });
        let members = join_all(members).await;
        Ok(MemberListResponse { header: here.header(None), members })
    }
}

impl Call for StatusRequest {
    type Answer = StatusResponse;
    const NAME: &'static str = "status";

    fn lease(&self) -> Option<i64> {
        None
    }

    async fn perform(self, here: &Here, _: &Client) -> Result<StatusResponse, Status> {
        let header = here.header(None);
        let causes = here.api.node().status().causes;
        Ok(StatusResponse {
            version: format!("skeptron {}", env!("CARGO_PKG_VERSION")),
            // No member leads the others.
            leader: 0,
            raft_term: header.as_ref().map_or(0, |header| header.raft_term),
            errors: causes.iter().map(ToString::to_string).collect(),
            header,
        })
    }
}
