//! Clients whose node is killed, leaves or stands still, and who go on at another one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::time::{Duration, Instant};

use skeptron_net::api::{Api, ApiConfig};
use skeptron_net::client::{Client, ClientConfig, Endpoint};
use skeptron_net::{Cluster, LeaseSettings, MemberId, Node, Plan, Plans};

const LEASE: Duration = Duration::from_secs(3);
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
            apis.push(Some(serve(node, "127.0.0.1:0".to_string()).await));
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

async fn serve(node: &Node, address: String) -> Api {
    let config = ApiConfig { listen: vec![address], ..ApiConfig::default() };
    let began = Instant::now();
    loop {
        // The former one may not have let go of the port yet.
        match Api::start(node.clone(), config.clone()).await {
            Ok(api) => return api,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
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

/// How often a node is killed: `SKEPTRON_KILLS`, twice if not said.
fn kills() -> usize {
    std::env::var("SKEPTRON_KILLS").map_or(2, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_outlives_every_node_that_it_comes_to() {
    let mut site = Site::start().await;
    let client = site.client(&[0, 1, 2]).await;
    let other = site.client(&[1, 2, 0]).await;
    let mut last = 0;
    for round in 0..kills() {
        // The one that is killed has a holder in even rounds, a waiter in odd ones.
        let (holds, waits) = if round % 2 == 0 { (&client, &other) } else { (&other, &client) };
        let guard = within(holds.lock("a")).await.unwrap();
        let fence = guard.fence();
        assert!(fence.number() > last, "round {round}: fences rise");
        let waiter = waits.clone();
        let waiting = tokio::spawn(async move { waiter.lock("a").await });
        let at = |holder: bool, site: &Site| {
            site.cluster.nodes.iter().position(|node| {
                let status = node.local_locks("a");
                status.iter().any(|it| if holder { it.holder.is_some() } else { it.waiters > 0 })
            })
        };
        until(|| at(true, &site).is_some() && at(false, &site).is_some()).await;
        let killed = at(round % 2 == 0, &site).unwrap();
        let address = site.apis[killed].as_ref().unwrap().addresses()[0].to_string();
        site.kill(killed);
        until(|| at(true, &site).is_some_and(|place| place != killed)).await;
        until(|| at(false, &site).is_some_and(|place| place != killed)).await;
        assert!(guard.is_valid() && guard.fence() == fence, "round {round}");
        assert!(!waiting.is_finished(), "round {round}: two have it");
        within(guard.release()).await.unwrap();
        let next = within(waiting).await.unwrap().unwrap();
        assert!(next.fence() > fence, "round {round}");
        last = next.fence().number();
        within(next.release()).await.unwrap();
        site.cluster.restart(MemberId::at(killed)).await.unwrap();
        let node = site.cluster.nodes[killed].clone();
        site.apis[killed] = Some(serve(&node, address).await);
        within(node.ready()).await;
    }
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
