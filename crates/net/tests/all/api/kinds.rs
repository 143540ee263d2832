//! Locks that are held beside others, and deadlocks across them, through the client.

use std::time::Duration;

use skeptron_client::{Client, ClientConfig, ClientError, Endpoint, Guard, Mode, UpgradeError};
use skeptron_net::Node;
use skeptron_net::observe::What;
use tokio::task::JoinHandle;

use crate::api::site::{STUCK, Site, cluster_refusing_deadlocks, eventually};

const SHORT: Duration = Duration::from_millis(200);

async fn entered(client: &Client, name: &str, mode: Mode) -> Guard {
    let entered = tokio::time::timeout(STUCK, client.enter(name, mode, None)).await;
    entered.expect("it is not stuck").unwrap().unwrap()
}

async fn is_kept_out(client: &Client, name: &str, mode: Mode) -> bool {
    client.enter(name, mode, Some(SHORT)).await.unwrap().is_err()
}

fn permits(k: u32) -> Mode {
    Mode::permits(k).unwrap()
}

#[tokio::test]
async fn readers_are_inside_together_and_a_writer_alone() {
    let site = Site::start().await;
    let (a, b) = (site.client().await, site.client().await);
    let first = entered(&a, "x", Mode::SHARED).await;
    let second = entered(&b, "x", Mode::SHARED).await;
    // Of one session, too.
    let third = entered(&a, "x", Mode::SHARED).await;
    assert!(first.fence() < second.fence() && second.fence() < third.fence());
    assert_eq!((first.mode(), first.is_valid()), (Mode::SHARED, true));
    // Whoever does not wait is told by whom it is kept out.
    let why = b.enter("x", Mode::EXCLUSIVE, Some(Duration::ZERO)).await.unwrap().unwrap_err();
    let said = why.to_string();
    assert!(said.contains("as shared") && said.contains("beside 2 others"), "{said}");
    assert!(b.enter("x", Mode::SHARED, Some(Duration::ZERO)).await.unwrap().is_ok());
    for guard in [first, second, third] {
        guard.release().await.unwrap();
    }
    let writer = entered(&b, "x", Mode::EXCLUSIVE).await;
    assert!(is_kept_out(&a, "x", Mode::SHARED).await);
    writer.release().await.unwrap();
    entered(&a, "x", Mode::SHARED).await.release().await.unwrap();
    site.stop().await;
}

/// A writer that waits keeps newcomers out; one that gives up does not.
#[tokio::test]
async fn a_writer_that_waits_stops_new_readers_until_it_gives_up() {
    let site = Site::start().await;
    let (a, b) = (site.client().await, site.client().await);
    let reader = entered(&a, "x", Mode::SHARED).await;
    let writer: JoinHandle<Guard> = tokio::spawn({
        let b = b.clone();
        async move { entered(&b, "x", Mode::EXCLUSIVE).await }
    });
    site.waiters(1).await;
    assert!(is_kept_out(&a, "x", Mode::SHARED).await);
    writer.abort();
    site.waiters(0).await;
    entered(&b, "x", Mode::SHARED).await.release().await.unwrap();
    reader.release().await.unwrap();
    site.stop().await;
}

#[tokio::test]
async fn a_semaphore_has_as_many_permits_as_each_holder_says() {
    let site = Site::start().await;
    let clients = [site.client().await, site.client().await, site.client().await];
    let first = entered(&clients[0], "pool", permits(2)).await;
    let second = entered(&clients[1], "pool", permits(2)).await;
    assert!(is_kept_out(&clients[2], "pool", permits(2)).await);
    assert!(is_kept_out(&clients[2], "pool", Mode::SHARED).await, "those inside mind a third one");
    first.release().await.unwrap();
    let third = entered(&clients[2], "pool", permits(2)).await;
    assert!(third.fence() > second.fence());
    site.stop().await;
}

/// A holder that is heard of no more loses its permit, and only that.
#[tokio::test]
async fn the_permit_of_a_dead_session_is_free_again() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(500).await;
    let asked = serde_json::json!({"session": session, "lock": "pool", "mode": "permits:2"});
    assert_eq!(http.post("/v1/acquire", asked).await.status, 200);
    let client = site.client().await;
    let second = entered(&client, "pool", permits(2)).await;
    let third = entered(&client, "pool", permits(2)).await;
    assert!(second.is_valid() && third.is_valid());
    site.stop().await;
}

#[tokio::test]
async fn an_upgrade_waits_for_the_others_and_the_second_upgrader_is_denied() {
    let site = Site::start().await;
    let (a, b) = (site.client().await, site.client().await);
    let first = entered(&a, "x", Mode::SHARED).await;
    let second = entered(&b, "x", Mode::SHARED).await;
    let before = second.fence();
    let NotGranted { guard: first, .. } = first.upgrade(Some(SHORT)).await.unwrap_err() else {
        panic!("others are inside");
    };
    assert!(first.is_valid() && first.mode() == Mode::SHARED, "it is held as before");
    let upgrading = tokio::spawn(first.upgrade(None));
    tokio::time::sleep(SHORT).await;
    let Denied(second) = second.upgrade(None).await.unwrap_err() else {
        panic!("the other one upgrades");
    };
    assert!(second.is_valid() && second.fence() == before);
    second.release().await.unwrap();
    let mut writer = tokio::time::timeout(STUCK, upgrading).await.unwrap().unwrap().unwrap();
    assert!(writer.fence() > before && writer.mode().is_exclusive());
    assert!(is_kept_out(&b, "x", Mode::SHARED).await);
    let fence = writer.fence();
    writer.downgrade(Mode::SHARED).await.unwrap();
    assert_eq!((writer.fence(), writer.mode()), (fence, Mode::SHARED));
    let beside = entered(&b, "x", Mode::SHARED).await;
    assert!(writer.is_valid() && beside.is_valid());
    writer.release().await.unwrap();
    beside.release().await.unwrap();
    site.stop().await;
}

/// Whatever the moment at which an upgrade is dropped, nothing stays held.
#[tokio::test]
async fn an_upgrade_may_be_dropped_at_any_moment() {
    let site = Site::start().await;
    let (a, b) = (site.client().await, site.client().await);
    for round in 0..30 {
        let reader = entered(&a, "x", Mode::SHARED).await;
        let other = (round % 2 == 0).then_some(entered(&b, "x", Mode::SHARED).await);
        let _ =
            tokio::time::timeout(Duration::from_micros(round * 100), reader.upgrade(None)).await;
        drop(other);
        entered(&b, "x", Mode::EXCLUSIVE).await.release().await.unwrap();
    }
    site.stop().await;
}

/// Two that take the same locks in opposite orders do not wait for each other for ever.
#[tokio::test]
async fn several_locks_are_had_together_or_not_at_all() {
    let site = Site::start().await;
    let (a, b) = (site.client().await, site.client().await);
    let held = entered(&b, "b", Mode::EXCLUSIVE).await;
    let none = a.enter_all(&["c", "b", "a"], Mode::EXCLUSIVE, Some(SHORT)).await.unwrap();
    assert!(none.is_err());
    for free in ["a", "c"] {
        entered(&b, free, Mode::EXCLUSIVE).await.release().await.unwrap();
    }
    held.release().await.unwrap();
    let transfer = |client: Client, names: [&'static str; 2]| async move {
        for _ in 0..20 {
            let guards = client.enter_all(&names, Mode::EXCLUSIVE, None).await.unwrap().unwrap();
            assert_eq!(guards.iter().map(Guard::name).collect::<Vec<_>>(), ["a", "b"]);
            tokio::task::yield_now().await;
            guards.release().await.unwrap();
        }
    };
    let both = async { tokio::join!(transfer(a, ["a", "b"]), transfer(b, ["b", "a"])) };
    tokio::time::timeout(STUCK, both).await.expect("nobody waits for ever");
    site.stop().await;
}

/// With the policy, of two at two members that wait for each other the one that began last is told.
#[tokio::test]
async fn a_deadlock_across_members_is_found_and_the_youngest_is_refused() {
    let (cluster, apis) = cluster_refusing_deadlocks(2).await;
    let mut clients = Vec::new();
    for api in &apis {
        let endpoint = Endpoint::Http(api.addresses()[0].to_string());
        let config = ClientConfig { discovery: false, ..ClientConfig::new(endpoint) };
        clients.push(Client::connect(config).await.unwrap());
    }
    let (a, b) = (&clients[0], &clients[1]);
    let mut events: Vec<_> = cluster.nodes.iter().map(|node| node.observer().listen()).collect();
    let (x, y) = (entered(a, "x", Mode::EXCLUSIVE).await, entered(b, "y", Mode::EXCLUSIVE).await);
    let first = tokio::spawn({
        let a = a.clone();
        async move { a.lock("y").await }
    });
    eventually(async || cluster.nodes[0].status().waiters == 1).await;
    let refused = tokio::time::timeout(STUCK, b.lock("x")).await.expect("it is told");
    assert!(matches!(refused, Err(ClientError::Deadlock(_))), "{refused:?}");
    assert!(x.is_valid() && y.is_valid());
    // One of them tells of it, once.
    let counted = |node: &Node| {
        let metrics = node.metrics();
        let mut lines = metrics.lines();
        let line = lines.find_map(|line| line.strip_prefix("skeptron_deadlocks_total "));
        line.expect("it is counted").parse::<u64>().unwrap()
    };
    eventually(async || cluster.nodes.iter().map(counted).sum::<u64>() == 1).await;
    let mut told = Vec::new();
    for events in &mut events {
        while let Ok(event) = events.try_next() {
            told.extend(match event.what {
                What::Deadlock { owners } => Some(owners.len()),
                _ => None,
            });
        }
    }
    assert_eq!(told, [2]);
    y.release().await.unwrap();
    let second = tokio::time::timeout(STUCK, first).await.unwrap().unwrap().unwrap();
    second.release().await.unwrap();
    drop(apis);
    cluster.shutdown().await;
}

use UpgradeError::{Denied, NotGranted};
