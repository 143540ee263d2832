//! Clients whose node is killed, leaves or stands still, and who go on at another one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::time::{Duration, Instant};

use skeptron_net::api::{Api, ApiConfig};
use skeptron_net::client::{Client, ClientConfig, Endpoint};
use skeptron_net::{Cluster, LeaseSettings, MemberId, Plan, Plans};

const LEASE: Duration = Duration::from_secs(1);
/// A session that can move outlives leases.
const TTL: Duration = Duration::from_secs(20);
/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

/// Three nodes with their APIs.
struct Site {
    cluster: Cluster,
    apis: Vec<Option<Api>>,
    _folder: tempfile::TempDir,
}

impl Site {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
        let settings = LeaseSettings { lease: LEASE, ..LeaseSettings::default() };
        let starting = Cluster::start_voting(3, 3, plans, folder.path(), settings);
        let cluster = within(starting).await.unwrap();
        let mut apis = Vec::new();
        for node in &cluster.nodes {
            let config = ApiConfig { listen: vec!["127.0.0.1:0".into()], ..ApiConfig::default() };
            apis.push(Some(Api::start(node.clone(), config).await.unwrap()));
        }
        Site { cluster, apis, _folder: folder }
    }

    fn endpoint(&self, place: usize) -> Endpoint {
        let api = self.apis[place].as_ref().expect("it runs");
        format!("http://{}", api.addresses()[0]).parse().unwrap()
    }

    /// A client at these nodes, the first of them first.
    async fn client(&self, places: &[usize]) -> Client {
        let endpoints = places.iter().map(|&place| self.endpoint(place)).collect();
        let config = ClientConfig { endpoints, ttl: TTL, ..ClientConfig::new(self.endpoint(0)) };
        within(Client::connect(config)).await.unwrap()
    }

    /// Ends a node and its API, as if its process had been killed.
    fn kill(&mut self, place: usize) {
        self.cluster.kill(MemberId::at(place));
        self.apis[place] = None;
    }

    /// Ends a node as `skeptron node` does when it is asked to.
    async fn leave(&mut self, place: usize) {
        let api = self.apis[place].take().expect("it runs");
        self.cluster.nodes[place].leave();
        api.drain().await;
        self.cluster.nodes[place].shutdown(Duration::from_secs(10)).await;
        api.shutdown().await;
    }
}

/// Waits until the lock is shown as held with this fence at the node.
async fn shown(site: &Site, place: usize, lock: &str) {
    let began = Instant::now();
    let node = &site.cluster.nodes[place];
    while node.local_locks(lock).iter().all(|lock| lock.holder.is_none()) {
        assert!(began.elapsed() < PATIENCE, "the lock did not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_keeps_its_lock_when_its_node_is_killed() {
    let mut site = Site::start().await;
    let client = site.client(&[2, 0, 1]).await;
    let other = site.client(&[1]).await;
    let guard = within(client.lock("a")).await.unwrap();
    let fence = guard.fence();
    let waiting = tokio::spawn(async move {
        let guard = other.lock("a").await.unwrap();
        (guard.fence(), other)
    });
    site.kill(2);
    shown(&site, 0, "a").await;
    assert!(guard.is_valid() && guard.fence() == fence && !waiting.is_finished());
    // The session goes on: it takes another lock, at its new node.
    within(within(client.lock("b")).await.unwrap().release()).await.unwrap();
    within(guard.release()).await.unwrap();
    let (next, _other) = within(waiting).await.unwrap();
    assert!(next > fence);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_goes_on_waiting_at_another_node() {
    let mut site = Site::start().await;
    let holder = site.client(&[0]).await;
    let waiter = site.client(&[2, 1]).await;
    let guard = within(holder.lock("a")).await.unwrap();
    let waiting = tokio::spawn(async move { (waiter.lock("a").await.unwrap().fence(), waiter) });
    until(|| site.cluster.nodes[2].status().waiters == 1).await;
    site.kill(2);
    until(|| site.cluster.nodes[1].status().waiters == 1).await;
    let first = guard.fence();
    within(guard.release()).await.unwrap();
    let (fence, _waiter) = within(waiting).await.unwrap();
    assert!(fence > first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_leaves_hands_its_sessions_on_and_waits_for_no_ttl() {
    let mut site = Site::start().await;
    let client = site.client(&[2, 0, 1]).await;
    let guard = within(client.lock("a")).await.unwrap();
    let fence = guard.fence();
    let began = Instant::now();
    within(site.leave(2)).await;
    assert!(began.elapsed() < TTL / 2, "it waited for the TTL of a session that moved");
    shown(&site, 0, "a").await;
    assert!(guard.is_valid() && guard.fence() == fence);
    let other = site.client(&[1]).await;
    assert!(other.lock_within("a", Duration::from_millis(300)).await.unwrap().is_none());
    within(guard.release()).await.unwrap();
    within(other.lock("a")).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_grant_is_passed_over() {
    let mut site = Site::start().await;
    let lonely = MemberId::at(2);
    site.cluster.partition(&[std::collections::BTreeSet::from([lonely])]);
    until(|| site.cluster.nodes[2].status().halted.is_some()).await;
    let client = site.client(&[2, 0]).await;
    within(client.lock("a")).await.unwrap().release().await.unwrap();
    site.cluster.heal();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_is_told_in_time_when_nobody_takes_its_session() {
    let mut site = Site::start().await;
    let client = site.client(&[2]).await;
    let other = site.client(&[0]).await;
    let guard = within(client.lock("a")).await.unwrap();
    let fence = guard.fence();
    site.kill(2);
    within(guard.lost()).await;
    assert!(!guard.is_valid());
    assert!(within(other.lock("a")).await.unwrap().fence() > fence);
}

async fn until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited too long");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
