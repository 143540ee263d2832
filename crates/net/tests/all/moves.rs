//! Clients whose node is killed, leaves or stands still, and who go on at another one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

mod elections;
mod pool;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use skeptron_client::{Client, ClientConfig, ClientError, Endpoint};
use skeptron_member::session::SessionHandle;
use skeptron_net::api::{Api, ApiConfig, Listeners};
use skeptron_net::report::Drain;
use skeptron_net::{
    Cluster, DrainRefused, Drift, LeaseSettings, LockError, MemberId, Node, Plan, Plans,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::common::{self, PATIENCE, within};

const LEASE: Duration = Duration::from_secs(3);
/// A session that can move outlives leases.
const TTL: Duration = Duration::from_secs(20);

/// Three nodes with their APIs.
struct Site {
    cluster: Cluster,
    apis: Vec<Option<Api>>,
    /// By which clients come.
    ways: Vec<Road>,
    _folder: tempfile::TempDir,
}

impl Site {
    async fn start() -> Self {
        Site::start_with(LeaseSettings { lease: LEASE, ..LeaseSettings::default() }).await
    }

    async fn start_with(settings: LeaseSettings) -> Self {
        Site::start_beyond(settings, &[]).await
    }

    /// Clients come to these nodes by roads that can be cut, and know no other way.
    async fn start_beyond(settings: LeaseSettings, roads: &[usize]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
        let mut listeners = Vec::new();
        for _ in 0..3 {
            listeners.push(Listeners::bind(&config("127.0.0.1:0")).await.unwrap());
        }
        let mut ways = Vec::new();
        for (place, listener) in listeners.iter().enumerate() {
            let at = listener.addresses().next().unwrap();
            ways.push(match roads.contains(&place) {
                true => Road::to(at).await,
                false => Road { address: at, is_cut: watch::Sender::new(false) },
            });
        }
        let url = |road: &Road| format!("http://{}", road.address);
        let storage = (folder.path(), settings);
        let starting = Cluster::start_voting_with(3, 3, plans, storage, |config| {
            config.api = vec![url(&ways[config.node.place()])];
        });
        let cluster = within(starting).await.unwrap();
        let mut apis = Vec::new();
        for (node, listeners) in cluster.nodes.iter().zip(listeners) {
            let config = config("127.0.0.1:0");
            let api = Api::start_at(node.clone(), config, listeners, Router::new()).await;
            apis.push(Some(api.unwrap()));
        }
        Site { cluster, apis, ways, _folder: folder }
    }

    fn endpoint(&self, place: usize) -> Endpoint {
        format!("http://{}", self.ways[place].address).parse().unwrap()
    }

    /// A client at these nodes, the first of them first, and at those that they name.
    async fn client(&self, places: &[usize]) -> Client {
        within(Client::connect(self.reach(places))).await.unwrap()
    }

    fn reach(&self, places: &[usize]) -> ClientConfig {
        let endpoints = places.iter().map(|&place| self.endpoint(place)).collect();
        ClientConfig { endpoints, ttl: TTL, ..ClientConfig::new(Endpoint::Http(String::new())) }
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

/// A way to a node that may be cut, without either end hearing of it.
struct Road {
    address: SocketAddr,
    is_cut: watch::Sender<bool>,
}

impl Road {
    async fn to(node: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let road =
            Road { address: listener.local_addr().unwrap(), is_cut: watch::Sender::new(false) };
        let is_cut = road.is_cut.clone();
        tokio::spawn(async move {
            while let Ok((mut here, _)) = listener.accept().await {
                let mut cut = is_cut.subscribe();
                tokio::spawn(async move {
                    let Ok(mut there) = TcpStream::connect(node).await else { return };
                    tokio::select! {
                        biased;
                        _ = cut.wait_for(|is_cut| *is_cut) => {}
                        _ = tokio::io::copy_bidirectional(&mut here, &mut there) => return,
                    }
                    // The connections stand, and nothing moves, until the road is mended: then they break.
                    let _ = cut.wait_for(|is_cut| !*is_cut).await;
                });
            }
        });
        road
    }

    fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

fn config(address: &str) -> ApiConfig {
    ApiConfig { listen: vec![address.to_string()], ..ApiConfig::default() }
}

async fn serve(node: &Node, address: String) -> Api {
    let config = config(&address);
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

/// How often a node is killed here; more often in processes of their own (`kills.rs` of the binary's tests).
const KILLS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_outlives_every_node_that_it_comes_to() {
    let mut site = Site::start().await;
    let client = site.client(&[0, 1, 2]).await;
    let other = site.client(&[1, 2, 0]).await;
    let mut last = 0;
    for round in 0..KILLS {
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

/// It waits for whatever is held there, and grants nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_leaves_opens_no_session_and_names_those_that_do() {
    let site = Site::start().await;
    let node = &site.cluster.nodes[0];
    node.leave();
    let only = ClientConfig { discovery: false, ..site.reach(&[0]) };
    let refused = within(Client::connect(only)).await.unwrap_err();
    assert!(matches!(refused, ClientError::Unavailable { .. }), "{refused}");
    let client = site.client(&[0]).await;
    within(client.lock("a")).await.unwrap().release().await.unwrap();
}

/// One that does not answer does not keep a client from the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_hangs_is_passed_over() {
    let site = Site::start().await;
    let hangs = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", hangs.local_addr().unwrap()).parse().unwrap();
    let mut config = site.reach(&[1]);
    config.endpoints.insert(0, silent);
    let opened = Instant::now();
    let client = within(Client::connect(config)).await.unwrap();
    within(client.lock("a")).await.unwrap().release().await.unwrap();
    // The one that hangs would have been waited for until then.
    assert!(opened.elapsed() < Duration::from_secs(5), "{:?}", opened.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_is_told_in_time_when_nobody_takes_its_session() {
    let mut site = Site::start().await;
    let only = ClientConfig { discovery: false, ..site.reach(&[2]) };
    let client = within(Client::connect(only)).await.unwrap();
    let other = site.client(&[0]).await;
    let guard = within(client.lock("a")).await.unwrap();
    let fence = guard.fence();
    site.kill(2);
    within(guard.lost()).await;
    assert!(!guard.is_valid());
    assert!(within(other.lock("a")).await.unwrap().fence() > fence);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_was_given_one_node_outlives_it() {
    let mut site = Site::start().await;
    let holder = site.client(&[2]).await;
    let waiter = site.client(&[2]).await;
    let guard = within(holder.lock("a")).await.unwrap();
    let fence = guard.fence();
    let waiting = tokio::spawn(async move { (waiter.lock("a").await.unwrap().fence(), waiter) });
    until(|| site.cluster.nodes[2].status().waiters == 1).await;
    site.kill(2);
    let waits = |place: usize| site.cluster.nodes[place].status().waiters == 1;
    until(|| waits(0) || waits(1)).await;
    let holds = |place: usize| site.cluster.nodes[place].status().held_locks == 1;
    until(|| holds(0) || holds(1)).await;
    assert!(guard.is_valid() && guard.fence() == fence && !waiting.is_finished());
    within(guard.release()).await.unwrap();
    let (next, _waiter) = within(waiting).await.unwrap();
    assert!(next > fence);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_grant_names_those_that_can() {
    let mut site = Site::start().await;
    let lonely = MemberId::at(2);
    let waiter = site.client(&[2]).await;
    let holder = site.client(&[0]).await;
    let guard = within(holder.lock("a")).await.unwrap();
    let waiting = tokio::spawn(async move { waiter.lock("a").await.map(|it| it.fence()) });
    until(|| site.cluster.nodes[2].status().waiters == 1).await;
    site.cluster.partition(&[std::collections::BTreeSet::from([lonely])]);
    until(|| site.cluster.nodes[2].status().halted.is_some()).await;
    // Whoever comes to it goes on to another one, and so does who waited there.
    let client = site.client(&[2]).await;
    within(client.lock("b")).await.unwrap().release().await.unwrap();
    let fence = guard.fence();
    within(guard.release()).await.unwrap();
    assert!(within(waiting).await.unwrap().unwrap() > fence);
    let only = ClientConfig { discovery: false, ..site.reach(&[2]) };
    let refused = within(Client::connect(only)).await.unwrap_err().to_string();
    assert!(refused.contains("P3 grants nothing"), "{refused}");
    site.cluster.heal();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_believes_by_the_clocks_bound_of_its_cluster() {
    let settings = LeaseSettings { lease: LEASE, drift: Drift { ppm: 50_000 } };
    let mut site = Site::start_with(settings).await;
    let client = site.client(&[2]).await;
    let guard = within(client.lock("a")).await.unwrap();
    // What the node promises is at most its own lease, of which the client believes its part.
    let most = settings.drift.believed(settings.hold());
    assert!(guard.promised() <= most, "{:?} of {most:?}", guard.promised());
    site.kill(2);
    shown_anywhere(&site, "a").await;
    assert!(guard.promised() <= most, "{:?} of {most:?}", guard.promised());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_node_cannot_be_reached_goes_through_another() {
    let ttl = 2 * LEASE;
    let settings = LeaseSettings { lease: LEASE, ..LeaseSettings::default() };
    let site = Site::start_beyond(settings, &[2]).await;
    let connect = async || {
        let config = ClientConfig { ttl, ..site.reach(&[2]) };
        within(Client::connect(config)).await.unwrap()
    };
    let (holder, waiter) = (connect().await, connect().await);
    let guard = within(holder.lock("a")).await.unwrap();
    let fence = guard.fence();
    let waits = waiter.clone();
    let waiting = tokio::spawn(async move { waits.lock("a").await });
    until(|| site.cluster.nodes[2].status().waiters == 1).await;
    let epoch = site.cluster.nodes[2].view().unwrap().epoch;
    site.ways[2].cut(true);
    // Longer than the TTL: it is kept alive through another node, and stays where it was.
    tokio::time::sleep(2 * ttl).await;
    assert!(guard.is_valid() && !waiting.is_finished());
    let status = site.cluster.nodes[2].status();
    assert_eq!((status.held_locks, status.waiters, status.sessions), (1, 1, 2));
    for place in [0, 1] {
        assert_eq!(site.cluster.nodes[place].status().sessions, 0, "nothing has moved");
    }
    within(guard.release()).await.unwrap();
    let second = within(waiting).await.unwrap().unwrap();
    assert!(second.fence() > fence);
    assert!(within(waiter.try_lock("b")).await.unwrap().is_some(), "it goes on through another");
    assert_eq!(site.cluster.nodes[2].view().unwrap().epoch, epoch, "the node lived all the time");
    site.ways[2].cut(false);
    within(second.release()).await.unwrap();
    within(holder.close()).await.unwrap();
    within(waiter.close()).await.unwrap();
    until(|| site.cluster.nodes[2].status().sessions == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_goes_through_another_node_moves_when_its_own_dies() {
    let settings = LeaseSettings { lease: LEASE, ..LeaseSettings::default() };
    let mut site = Site::start_beyond(settings, &[2]).await;
    let client = site.client(&[2]).await;
    let guard = within(client.lock("a")).await.unwrap();
    let fence = guard.fence();
    site.ways[2].cut(true);
    // Asked through another node.
    within(within(client.lock("b")).await.unwrap().release()).await.unwrap();
    assert_eq!(site.cluster.nodes[2].status().held_locks, 1);
    site.kill(2);
    shown_anywhere(&site, "a").await;
    assert!(guard.is_valid() && guard.fence() == fence);
    within(guard.release()).await.unwrap();
    let other = site.client(&[0]).await;
    assert!(within(other.lock("a")).await.unwrap().fence() > fence);
}

async fn shown_anywhere(site: &Site, lock: &str) {
    until(|| {
        let held = |place: usize| {
            let locks = site.cluster.nodes[place].local_locks(lock);
            locks.iter().any(|lock| lock.holder.is_some())
        };
        held(0) || held(1)
    })
    .await;
}

async fn until(holds: impl FnMut() -> bool) {
    common::until("it is so", holds).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_node_hands_its_clients_on_and_votes_and_serves_again() {
    let site = Site::start().await;
    let node = &site.cluster.nodes[2];
    let holder = site.client(&[2, 0]).await;
    let waiter = site.client(&[2, 1]).await;
    let guard = within(holder.lock("a")).await.unwrap();
    let fence = guard.fence();
    let waiting = tokio::spawn(async move { (waiter.lock("a").await.unwrap().fence(), waiter) });
    until(|| node.status().waiters == 1).await;
    let began = Instant::now();
    node.drain().unwrap();
    assert_eq!(node.drain(), Ok(()), "to say it twice is to say it once");
    until(|| node.drained() == Some(Drain::Drained)).await;
    assert!(began.elapsed() < TTL / 2, "it waited for the TTL of a session that moved");
    shown(&site, 0, "a").await;
    until(|| site.cluster.nodes[1].status().waiters == 1).await;
    assert!(guard.is_valid() && guard.fence() == fence && !waiting.is_finished());

    // It votes, but serves nobody, neither here nor in its own program.
    assert_eq!(site.cluster.nodes[0].status().members.len(), 2);
    until(|| site.cluster.nodes[0].status().views.voting() == (3, 3)).await;
    let alone = ClientConfig::new(site.endpoint(2));
    let config = ClientConfig { ttl: TTL, discovery: false, ..alone };
    let refused = within(Client::connect(config)).await.unwrap_err().to_string();
    assert!(refused.contains("P3 is drained"), "{refused}");
    assert!(matches!(node.lock("b").await, Err(LockError::Leaving(_))));
    let status = node.status();
    assert!(status.members.is_empty() && status.held_locks == 0 && status.sessions == 0);
    assert!(node.metrics().contains("skeptron_drained 1"));
    // What it knew of the locks when it left is told to nobody.
    assert!(node.local_locks("").is_empty());
    let listing = node.locks("", "", 10).await;
    assert!(listing.locks.is_empty() && !listing.complete, "{listing:?}");
    let sessions = node.sessions(SessionHandle(0), 10).await;
    assert!(sessions.sessions.is_empty() && !sessions.complete, "{sessions:?}");

    within(guard.release()).await.unwrap();
    assert!(within(waiting).await.unwrap().0 > fence);
    node.serve_again();
    until(|| site.cluster.nodes.iter().all(|node| node.status().members.len() == 3)).await;
    assert_eq!(node.drained(), None);
    let back = site.client(&[2]).await;
    assert!(within(within(back.lock("a")).await.unwrap().release()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_not_drained_while_its_own_program_holds_a_lock_or_nobody_else_is_there() {
    let site = Site::start().await;
    let [first, second, third] = site.cluster.nodes.as_slice() else { unreachable!("there are 3") };
    let guard = within(third.lock("a")).await.unwrap();
    let refused = DrainRefused::Guards { member: third.id(), locks: 1 };
    assert_eq!(third.drain(), Err(refused));
    assert!(guard.is_valid() && third.drained().is_none());
    within(guard.release()).await.unwrap();
    for node in [third, second] {
        node.drain().unwrap();
        until(|| node.drained() == Some(Drain::Drained)).await;
    }
    until(|| first.status().members.len() == 1).await;
    assert_eq!(first.drain(), Err(DrainRefused::Last(first.id())));
    within(within(first.lock("a")).await.unwrap().release()).await.unwrap();
    // Undone while it is under way, it leaves all the same, and is back at once.
    second.serve_again();
    until(|| first.status().members.len() == 2).await;
    second.drain().unwrap();
    second.serve_again();
    until(|| second.status().drain.is_none() && !second.status().leaving).await;
    within(within(second.lock("a")).await.unwrap().release()).await.unwrap();
}

/// The TTL of one that knows no other node, however long, must not outlast what others were promised.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_cannot_move_costs_the_others_nothing() {
    let site = Site::start().await;
    let node = &site.cluster.nodes[2];
    let alone = ClientConfig::new(site.endpoint(2));
    let stays = ClientConfig { ttl: 20 * TTL, discovery: false, ..alone };
    let stays = within(Client::connect(stays)).await.unwrap();
    let moves = site.client(&[2, 0]).await;
    let lost = within(stays.lock("lost")).await.unwrap();
    let kept = within(moves.lock("kept")).await.unwrap();
    let (began, fence) = (Instant::now(), lost.fence());
    node.drain().unwrap();
    until(|| node.drained() == Some(Drain::Drained)).await;
    assert!(began.elapsed() < TTL, "it waited for a TTL of {:?}", 20 * TTL);
    assert!(!lost.is_valid(), "somebody else may have it now");
    shown(&site, 0, "kept").await;
    assert!(kept.is_valid());
    let other = site.client(&[1]).await;
    assert!(within(other.lock("lost")).await.unwrap().fence() > fence);
    assert!(other.lock_within("kept", Duration::from_millis(300)).await.unwrap().is_none());
}
