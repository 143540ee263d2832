//! What becomes of leases when members die or leave.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use skeptron_etcd_api::proto::etcdserverpb::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseLeasesRequest,
};
use skeptron_etcd_api::proto::v3electionpb::LeaderRequest;
use skeptron_etcd_api::proto::v3lockpb::UnlockRequest;
use tonic::{Code, Status};

use crate::services::{campaign, grant, left, lock};
use crate::site::{Clients, Site, within};

/// One sign of life, at a stream of its own.
async fn sign(clients: &mut Clients, id: i64) -> Result<i64, Status> {
    let signs = stream::iter([LeaseKeepAliveRequest { id }]);
    let mut answers = clients.lease.lease_keep_alive(signs).await?.into_inner();
    Ok(within(answers.message()).await?.expect("an answer").ttl)
}

#[tokio::test]
async fn a_lease_ends_with_its_member_and_its_locks_go_to_others() {
    let mut site = Site::start(3).await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let (dying, living) = (grant(&mut one, 60, 0).await, grant(&mut two, 60, 0).await);
    let held = one.lock.lock(lock("deploy", dying)).await.unwrap().into_inner();
    one.election.campaign(campaign("e", dying, b"1")).await.unwrap();
    let mut observer = site.clients(2).await;
    let election = LeaderRequest { name: b"e".to_vec() };
    let mut seen = observer.election.observe(election).await.unwrap().into_inner();
    assert_eq!(within(seen.message()).await.unwrap().unwrap().kv.unwrap().value, b"1");
    let mut waiter = two.clone();
    let waiting = tokio::spawn(async move { waiter.lock.lock(lock("deploy", living)).await });
    site.kill(0);
    let mut waiter = two.clone();
    let candidate =
        tokio::spawn(async move { waiter.election.campaign(campaign("e", living, b"2")).await });
    // While nobody knows whether the member is alive, nobody says that its leases are over.
    within(async {
        loop {
            match sign(&mut two, dying).await {
                Ok(0) => break,
                Ok(ttl) => panic!("{ttl} s are left of a lease whose member is dead"),
                Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(left(&mut two, dying).await, -1);
    let next = within(waiting).await.unwrap().unwrap().into_inner();
    assert!(next.header.unwrap().revision > held.header.unwrap().revision);
    within(candidate).await.unwrap().unwrap();
    assert_eq!(within(seen.message()).await.unwrap().unwrap().kv.unwrap().value, b"2");
    // The late unlock of a dead lease is harmless.
    two.lock.unlock(UnlockRequest { key: held.key }).await.unwrap();
    assert_eq!(sign(&mut observer, living).await.unwrap(), 60);
    let listed = observer.lease.lease_leases(LeaseLeasesRequest {}).await.unwrap().into_inner();
    assert_eq!(listed.leases.iter().map(|lease| lease.id).collect::<Vec<_>>(), [living]);
    // Numbers of one's own choice, too.
    let chosen = grant(&mut two, 60, 100).await;
    assert!(left(&mut observer, chosen).await > 0);
}

#[tokio::test]
async fn leases_of_other_members_survive_a_member() {
    let mut site = Site::start(3).await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let lease = grant(&mut two, 60, 0).await;
    let held = one.lock.lock(lock("deploy", lease)).await.unwrap().into_inner();
    site.kill(0);
    let mut three = site.clients(2).await;
    assert_eq!(sign(&mut three, lease).await.unwrap(), 60);
    three.lock.unlock(UnlockRequest { key: held.key }).await.unwrap();
    within(three.lock.lock(lock("deploy", lease))).await.unwrap();
}

#[tokio::test]
async fn a_member_that_shuts_down_says_so_on_its_streams() {
    let mut site = Site::start(3).await;
    let mut one = site.clients(0).await;
    let lease = grant(&mut one, 60, 0).await;
    let signs = stream::iter([LeaseKeepAliveRequest { id: lease }]).chain(stream::pending());
    let mut answers = one.lease.lease_keep_alive(signs).await.unwrap().into_inner();
    assert_eq!(within(answers.message()).await.unwrap().unwrap().ttl, 60);
    let election = LeaderRequest { name: b"e".to_vec() };
    let mut seen = one.election.observe(election).await.unwrap().into_inner();
    let api = site.apis[0].take().unwrap();
    let closing = tokio::spawn(api.shutdown());
    assert_eq!(within(answers.message()).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(within(seen.message()).await.unwrap_err().code(), Code::Unavailable);
    within(closing).await.unwrap();
    let refused = one.lease.lease_grant(LeaseGrantRequest { ttl: 60, id: 0 }).await;
    assert!(refused.is_err());
}
