//! Pools of sessions: locks are acquired where their names select.

use skeptron_client::ClientPool;

use super::*;

/// Enough that they are at several nodes, whatever the ports are.
const NAMES: [&str; 16] =
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"];

/// Messages of algorithms that all nodes have sent.
fn messages(site: &Site) -> u64 {
    let sent = |text: String| {
        let lines = text.lines().filter(|line| line.starts_with("skeptron_messages_sent_total"));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>()
    };
    site.cluster.nodes.iter().map(|node| sent(node.metrics())).sum()
}

/// Native connections that clients have to all nodes.
fn connections(site: &Site) -> u64 {
    let known = |text: String| {
        let prefix = "skeptron_api_connections{kind=\"known\"}";
        let mut lines = text.lines().filter(|line| line.starts_with(prefix));
        lines.next().and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    site.cluster.nodes.iter().map(|node| known(node.metrics())).sum()
}

async fn cycle(pool: &ClientPool) {
    for name in NAMES {
        within(within(pool.lock(name)).await.unwrap().release()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_of_the_same_endpoints_exchange_no_messages_between_nodes() {
    let site = Site::start().await;
    let (one, other) =
        (ClientPool::new(&site.reach(&[0, 1, 2])), ClientPool::new(&site.reach(&[2, 0, 1])));
    cycle(&one).await;
    let first = messages(&site);
    for _ in 0..10 {
        cycle(&other).await;
        cycle(&one).await;
    }
    assert_eq!(messages(&site), first, "each lock stays where it was acquired first");
    for node in &site.cluster.nodes {
        let sessions = node.status().sessions;
        assert!([0, 2].contains(&sessions), "one of each pool, but there are {sessions}");
    }

    let alone = site.client(&[0]).await;
    for name in NAMES {
        within(within(alone.lock(name)).await.unwrap().release()).await.unwrap();
    }
    assert!(messages(&site) > first, "a client of one node fetches locks of the others");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_goes_on_without_one_of_its_nodes() {
    let mut site = Site::start().await;
    let pool = ClientPool::new(&site.reach(&[0, 1, 2]));
    let mut guards = Vec::new();
    for name in NAMES {
        guards.push(within(pool.lock(name)).await.unwrap());
    }
    site.kill(2);
    // What was held there moves; it is released at another node and acquired again.
    for guard in guards {
        let (name, fence) = (guard.name().to_string(), guard.fence());
        within(guard.release()).await.unwrap();
        assert!(within(pool.lock(&name)).await.unwrap().fence() > fence);
    }
    let late = ClientPool::new(&site.reach(&[2, 1, 0]));
    cycle(&late).await;
}

/// Each pool has sessions of its own, so that the locks of one exclude the others.
#[tokio::test(flavor = "multi_thread")]
async fn pools_share_connections() {
    let site = Site::start().await;
    let first = ClientPool::new(&site.reach(&[0, 1, 2]));
    cycle(&first).await;
    let alone = connections(&site);
    let others: Vec<ClientPool> =
        (0..8).map(|number| first.another(&format!("pool {number}"))).collect();
    for other in &others {
        cycle(other).await;
    }
    assert_eq!(connections(&site), alone);
    let sessions: u64 = site.cluster.nodes.iter().map(|node| node.status().sessions).sum();
    assert_eq!(sessions % 9, 0, "as many of each pool, but there are {sessions}");

    let guard = within(first.lock("a")).await.unwrap();
    let waiter = others[0].client("a").await.unwrap();
    assert!(waiter.try_lock("a").await.unwrap().is_none());
    within(guard.release()).await.unwrap();
    within(within(others[0].lock("a")).await.unwrap().release()).await.unwrap();
}
