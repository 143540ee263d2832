//! What a node tells by itself: grants, losses, leaders, and that it leaves.

use skeptron_client::native::{Ask, ClientFrame, NodeFrame, Reply, put};
use skeptron_client::{Client, ClientConfig, Protocol, Unlock};

use super::{Line, acquire, fence, open, release, session};
use crate::api::site::{STUCK, Site};

#[tokio::test]
async fn answers_come_in_any_order_and_grants_when_they_happen() {
    let site = Site::start().await;
    let mut line = Line::open(&site).await;
    let (mine, other) =
        (session(line.ask(open(60_000)).await), session(line.ask(open(60_000)).await));
    let held = fence(line.ask(acquire(mine, "a", None)).await);
    // The second waits; the third is answered before it.
    let waits = line.send(acquire(other, "a", None)).await;
    let free = line.send(acquire(other, "b", None)).await;
    fence(line.answer(free).await);
    let released = line.send(release(mine, "a", held)).await;
    let mut numbers = Vec::new();
    for _ in 0..2 {
        match line.word().await {
            Some(NodeFrame::Answer { number, reply: Reply::Held(granted) }) => {
                assert!(granted.fence > held);
                numbers.push(number);
            }
            Some(NodeFrame::Answer { number, reply: Reply::Released(true) }) => {
                numbers.push(number)
            }
            other => panic!("{other:?}"),
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [waits, released]);
    site.stop().await;
}

#[tokio::test]
async fn a_cancelled_acquire_leaves_the_queue() {
    let site = Site::start().await;
    let mut line = Line::open(&site).await;
    let (mine, other) =
        (session(line.ask(open(60_000)).await), session(line.ask(open(60_000)).await));
    fence(line.ask(acquire(mine, "a", None)).await);
    let number = line.send(acquire(other, "a", None)).await;
    site.waiters(1).await;
    let mut bytes = Vec::new();
    put(&ClientFrame::Cancel { number }, &mut bytes);
    line.raw(&bytes).await;
    site.waiters(0).await;
    site.stop().await;
}

#[tokio::test]
async fn observers_are_told_on_the_connection_of_the_sessions() {
    let site = Site::start().await;
    let mut line = Line::open(&site).await;
    let id = session(line.ask(open(60_000)).await);
    let observed = line.send(Ask::Observe { name: "e".into(), after: None }).await;
    let mut leaders = Vec::new();
    let campaign = skeptron_client::messages::Campaign {
        session: id,
        name: "e".into(),
        value: "me".into(),
        wait_ms: None,
        request: None,
    };
    let mut campaign = Some(campaign);
    while leaders.len() < 2 {
        match line.word().await.expect("the connection stays") {
            NodeFrame::Leads { number, told: Some(told) } => {
                assert_eq!(number, observed);
                leaders.push(told.leader.map(|leader| leader.value));
                if let Some(campaign) = campaign.take() {
                    line.send(Ask::Campaign(campaign)).await;
                }
            }
            NodeFrame::Leads { told: None, .. }
            | NodeFrame::Answer { reply: Reply::Held(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(leaders, [None, Some("me".to_string())]);
    site.stop().await;
}

/// A holder knows long before its next sign of life is due.
#[tokio::test]
async fn a_broken_lock_is_told_at_once() {
    let site = Site::start().await;
    let config = ClientConfig {
        ttl: std::time::Duration::from_secs(3600),
        protocol: Protocol::Native,
        ..site.client_config()
    };
    let client = Client::connect(config.clone()).await.unwrap();
    let guard = client.lock("a").await.unwrap();
    let unlock =
        Unlock { lock: "a".into(), fence: guard.fence(), reason: "a test".into(), now: false };
    Client::unlock(&config, &unlock).await.unwrap();
    tokio::time::timeout(STUCK, guard.lost())
        .await
        .expect("the next sign is due in twenty minutes");
    assert!(!guard.is_valid());
    site.stop().await;
}

/// All sessions of a client share its connection, and each is a session of its own.
#[tokio::test]
async fn one_connection_carries_many_sessions() {
    let site = Site::start().await;
    let config = ClientConfig { protocol: Protocol::Native, ..site.client_config() };
    let first = Client::connect(config).await.unwrap();
    let guard = first.lock("a").await.unwrap();
    let mut others = Vec::new();
    for number in 0..500 {
        others.push(first.another(&format!("session {number}")).await.unwrap());
    }
    let waiting: Vec<_> = others
        .iter()
        .map(|client| {
            let client = client.clone();
            tokio::spawn(async move { client.lock("a").await.unwrap().release().await.unwrap() })
        })
        .collect();
    site.waiters(500).await;
    let metrics = site.http().await.get("/metrics").await.text;
    let line =
        metrics.lines().find(|line| line.starts_with("skeptron_api_connections{kind=\"known\"}"));
    let known: u64 = line.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(known <= 2, "{known} connections: the client's, and maybe this one");
    guard.release().await.unwrap();
    for task in waiting {
        tokio::time::timeout(STUCK, task).await.expect("each is served").unwrap();
    }
    assert_eq!(site.node().status().sessions, 501);
    site.stop().await;
}
