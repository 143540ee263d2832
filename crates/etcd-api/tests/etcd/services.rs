//! Leases, locks and elections over gRPC, at a member and at others.

use futures_util::stream;
use skeptron_etcd_api::proto::etcdserverpb::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseLeasesRequest, LeaseRevokeRequest,
    LeaseTimeToLiveRequest,
};
use skeptron_etcd_api::proto::v3electionpb::{
    CampaignRequest, LeaderRequest, ProclaimRequest, ResignRequest,
};
use skeptron_etcd_api::proto::v3lockpb::{LockRequest, UnlockRequest};
use tonic::{Code, Request};

use crate::site::{Clients, Site, within};

pub(crate) async fn grant(clients: &mut Clients, ttl: i64, id: i64) -> i64 {
    let granted = clients.lease.lease_grant(LeaseGrantRequest { ttl, id }).await.unwrap();
    granted.into_inner().id
}

pub(crate) fn lock(name: &str, lease: i64) -> LockRequest {
    LockRequest { name: name.into(), lease }
}

pub(crate) fn campaign(name: &str, lease: i64, value: &[u8]) -> CampaignRequest {
    CampaignRequest { name: name.into(), lease, value: value.to_vec() }
}

/// The remaining time of a lease; -1 if there is none.
pub(crate) async fn left(clients: &mut Clients, id: i64) -> i64 {
    let asked = LeaseTimeToLiveRequest { id, keys: false };
    clients.lease.lease_time_to_live(asked).await.unwrap().into_inner().ttl
}

#[tokio::test]
async fn a_lease_is_used_at_every_member_whoever_granted_it() {
    let site = Site::start(3).await;
    let mut at = [site.clients(0).await, site.clients(1).await, site.clients(2).await];
    for chosen in [0, 77, -5] {
        let id = grant(&mut at[0], 60, chosen).await;
        assert!(chosen == 0 || chosen == id);
        for (place, clients) in at.iter_mut().enumerate() {
            assert!(left(clients, id).await > 0, "{place}");
            let again = clients.lease.lease_grant(LeaseGrantRequest { ttl: 60, id }).await;
            assert_eq!(again.unwrap_err().code(), Code::FailedPrecondition, "{place}");
            let signs =
                stream::iter([LeaseKeepAliveRequest { id }, LeaseKeepAliveRequest { id: 9 }]);
            let answers = clients.lease.lease_keep_alive(signs).await.unwrap();
            let mut answers = answers.into_inner();
            let mut told = Vec::new();
            while let Some(answer) = within(answers.message()).await.unwrap() {
                told.push((answer.id, answer.ttl));
            }
            told.sort_unstable_by_key(|(_, ttl)| *ttl);
            assert_eq!(told, [(9, 0), (id, 60)], "{place}");
            let name = format!("lock {place} of {id}");
            let locked = clients.lock.lock(lock(&name, id)).await.unwrap().into_inner();
            assert_eq!(locked.key, format!("{name}/{id:x}").into_bytes());
        }
        let asked = LeaseTimeToLiveRequest { id, keys: true };
        let told = at[1].lease.lease_time_to_live(asked).await.unwrap().into_inner();
        assert_eq!((told.keys.len(), told.granted_ttl), (3, 60));
        let listed = at[2].lease.lease_leases(LeaseLeasesRequest {}).await.unwrap().into_inner();
        assert!(listed.leases.iter().any(|lease| lease.id == id), "{listed:?}");
        at[1].lease.lease_revoke(LeaseRevokeRequest { id }).await.unwrap();
        for clients in &mut at {
            assert_eq!(left(clients, id).await, -1);
            let gone = clients.lease.lease_revoke(LeaseRevokeRequest { id }).await.unwrap_err();
            assert_eq!(gone.code(), Code::NotFound);
        }
    }
}

#[tokio::test]
async fn a_lock_goes_from_lease_to_lease_and_its_fence_rises() {
    let site = Site::start(3).await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let (first, second) = (grant(&mut one, 60, 0).await, grant(&mut two, 60, 0).await);
    let held = one.lock.lock(lock("deploy", first)).await.unwrap().into_inner();
    let mut waiter = site.clients(2).await;
    let waiting = tokio::spawn(async move { waiter.lock.lock(lock("deploy", second)).await });
    // Until it stands in the queue.
    within(async {
        while site.cluster.nodes[1].local_locks("deploy").iter().all(|lock| lock.waiters == 0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    one.lock.unlock(UnlockRequest { key: held.key }).await.unwrap();
    let next = within(waiting).await.unwrap().unwrap().into_inner();
    assert_eq!(next.key, format!("deploy/{second:x}").into_bytes());
    assert!(next.header.unwrap().revision > held.header.unwrap().revision);
}

#[tokio::test]
async fn a_retried_unlock_never_gives_a_newer_lock_back() {
    let site = Site::start(3).await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let (first, second) = (grant(&mut one, 60, 0).await, grant(&mut two, 60, 0).await);
    let old = one.lock.lock(lock("deploy", first)).await.unwrap().into_inner().key;
    let unlock = |key: &Vec<u8>| UnlockRequest { key: key.clone() };
    one.lock.unlock(unlock(&old)).await.unwrap();
    // It is another's now: harmless.
    let other = two.lock.lock(lock("deploy", second)).await.unwrap().into_inner().key;
    one.lock.unlock(unlock(&old)).await.unwrap();
    let keys = async |clients: &mut Clients, id| {
        let asked = LeaseTimeToLiveRequest { id, keys: true };
        clients.lease.lease_time_to_live(asked).await.unwrap().into_inner().keys
    };
    assert_eq!(keys(&mut one, second).await, std::slice::from_ref(&other));
    one.lock.unlock(unlock(&other)).await.unwrap();
    // It is the same lease's again: refused.
    let new = one.lock.lock(lock("deploy", first)).await.unwrap().into_inner().key;
    assert_eq!(new, [&old[..], b"#2"].concat());
    let late = two.lock.unlock(unlock(&old)).await.unwrap_err();
    assert_eq!(late.code(), Code::FailedPrecondition, "{late}");
    assert_eq!(keys(&mut two, first).await, std::slice::from_ref(&new));
    two.lock.unlock(unlock(&new)).await.unwrap();
    assert!(keys(&mut two, first).await.is_empty());
}

#[tokio::test]
async fn a_waiter_is_told_at_once_that_its_lease_is_over() {
    let site = Site::start(3).await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let (first, second) = (grant(&mut one, 60, 0).await, grant(&mut two, 60, 0).await);
    one.lock.lock(lock("deploy", first)).await.unwrap();
    let mut waiter = two.clone();
    let waiting = tokio::spawn(async move { waiter.lock.lock(lock("deploy", second)).await });
    within(async {
        while site.cluster.nodes[1].local_locks("deploy").iter().all(|lock| lock.waiters == 0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    two.lease.lease_revoke(LeaseRevokeRequest { id: second }).await.unwrap();
    let refused = within(waiting).await.unwrap().unwrap_err();
    assert_eq!(refused.message(), "etcdserver: requested lease not found");
    assert_eq!(refused.code(), Code::Unknown);
}

#[tokio::test]
async fn whoever_stops_waiting_does_not_get_the_lock() {
    let site = Site::start(1).await;
    let mut one = site.clients(0).await;
    let (first, second) = (grant(&mut one, 60, 0).await, grant(&mut one, 60, 0).await);
    let held = one.lock.lock(lock("deploy", first)).await.unwrap().into_inner();
    let mut waiter = one.clone();
    let waiting = tokio::spawn(async move { waiter.lock.lock(lock("deploy", second)).await });
    let waiting_there = || {
        let locks = site.cluster.nodes[0].local_locks("deploy");
        locks.iter().map(|lock| lock.waiters).sum::<u32>()
    };
    let until = async |count: u32| {
        while waiting_there() != count {
            tokio::task::yield_now().await;
        }
    };
    within(until(1)).await;
    waiting.abort();
    within(until(0)).await;
    one.lock.unlock(UnlockRequest { key: held.key }).await.unwrap();
    let third = grant(&mut one, 60, 0).await;
    within(one.lock.lock(lock("deploy", third))).await.unwrap();
}

#[tokio::test]
async fn an_observer_sees_the_leader_first_and_then_every_change() {
    let site = Site::start(3).await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let (first, second) = (grant(&mut one, 60, 0).await, grant(&mut two, 60, 0).await);
    let election = || LeaderRequest { name: b"e".to_vec() };
    let none = two.election.leader(election()).await.unwrap_err();
    assert_eq!((none.code(), none.message()), (Code::Unknown, "election: no leader"));
    // No text: it comes back as it was.
    let led = one.election.campaign(campaign("e", first, b"\xff\x00")).await.unwrap().into_inner();
    let leader = led.leader.unwrap();
    assert_eq!(leader.rev, led.header.unwrap().revision);
    let mut third = site.clients(2).await;
    let mut seen = third.election.observe(election()).await.unwrap().into_inner();
    let mut next = async || within(seen.message()).await.unwrap().unwrap().kv.unwrap();
    let kv = next().await;
    assert_eq!((kv.key, kv.value), (leader.key.clone(), b"\xff\x00".to_vec()));
    assert_eq!((kv.create_revision, kv.lease, kv.version), (leader.rev, first, 1));
    let proclaim =
        |value: &[u8]| ProclaimRequest { leader: Some(leader.clone()), value: value.to_vec() };
    // At another member than the lease's.
    two.election.proclaim(proclaim(b"new")).await.unwrap();
    let kv = next().await;
    assert_eq!((kv.value, kv.version), (b"new".to_vec(), 2));
    let mut waiter = two.clone();
    let waiting =
        tokio::spawn(async move { waiter.election.campaign(campaign("e", second, b"2")).await });
    two.election.resign(ResignRequest { leader: Some(leader.clone()) }).await.unwrap();
    let led = within(waiting).await.unwrap().unwrap().into_inner().leader.unwrap();
    assert!(led.rev > leader.rev);
    let kv = next().await;
    assert_eq!((kv.value, kv.create_revision, kv.lease), (b"2".to_vec(), led.rev, second));
    let late = two.election.proclaim(proclaim(b"late")).await.unwrap_err();
    assert_eq!((late.code(), late.message()), (Code::Unknown, "election: not leader"));
    let kv = two.election.leader(election()).await.unwrap().into_inner().kv.unwrap();
    assert_eq!(kv.key, led.key);
}

#[tokio::test]
async fn who_requires_a_leader_is_answered_where_one_can_decide() {
    let site = Site::start(1).await;
    let mut one = site.clients(0).await;
    let mut asked = Request::new(LeaseGrantRequest { ttl: 60, id: 0 });
    asked.metadata_mut().insert("hasleader", "true".parse().unwrap());
    one.lease.lease_grant(asked).await.unwrap();
}
