//! Many names, many waiters.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skeptron_net::{Cluster, Fence, Node, Plan, Plans};
use tokio::task::JoinSet;

const NODES: usize = 3;

/// Nothing here takes a tenth of that.
const PATIENCE: Duration = Duration::from_secs(60);

async fn cluster() -> Cluster {
    let plan = Plan::named(Plan::DEFAULT).unwrap();
    Cluster::start(NODES, Plans::new(plan)).await.unwrap()
}

/// Requests that wait, at all nodes together.
fn waiting(nodes: &[Node]) -> u64 {
    nodes.iter().map(|node| node.status().waiters).sum()
}

/// Waits until so many requests wait; panics if that takes too long.
async fn until_waiting(nodes: &[Node], count: usize) {
    let start = Instant::now();
    while waiting(nodes) != count as u64 {
        assert!(start.elapsed() < PATIENCE, "{} wait, not {count}", waiting(nodes));
        tokio::task::yield_now().await;
    }
}

/// Memory of this process, in bytes, as the kernel counts it; none where it does not say.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// More than this for a name at one node that knows it would not be cheap.
const BYTES_PER_NAME: u64 = 4096;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_names_are_cheap() {
    const NAMES: usize = 10_000;
    let cluster = cluster().await;
    let before = resident();
    // Each name is first taken at one node and then at the next one.
    for shift in 0..2 {
        let mut takers = JoinSet::new();
        for taker in 0..16 {
            let nodes = cluster.nodes.clone();
            takers.spawn(async move {
                for k in (taker..NAMES).step_by(16) {
                    let name = format!("orders/2026/{k}");
                    let guard = nodes[(k + shift) % NODES].lock(&name).await.unwrap();
                    let counter = guard.fence().counter();
                    assert_eq!(counter, shift as u64 + 1, "{name} has a counter of its own");
                }
            });
        }
        tokio::time::timeout(PATIENCE, takers.join_all()).await.expect("all names are taken");
    }
    let known: u64 = cluster.nodes.iter().map(|node| node.status().known_locks).sum();
    assert!(known >= 2 * NAMES as u64, "{known}");
    if let (Some(before), Some(after)) = (before, resident()) {
        let each = after.saturating_sub(before) / known;
        eprintln!("{NAMES} names, known {known} times: {each} bytes each");
        assert!(each < BYTES_PER_NAME, "a name takes {each} bytes at a node that knows it");
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_waiters_of_one_lock_get_it_in_turn() {
    const WAITERS: usize = 1_000;
    let cluster = cluster().await;
    let held = cluster.nodes[0].lock("popular").await.unwrap();
    // Who entered with which fence, in the order of entries.
    let entries = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = JoinSet::new();
    for waiter in 0..WAITERS {
        let (node, entries) = (cluster.nodes[waiter % NODES].clone(), entries.clone());
        waiters.spawn(async move {
            let guard = node.lock("popular").await.unwrap();
            let read = entries.lock().unwrap().len();
            tokio::task::yield_now().await;
            let mut entries = entries.lock().unwrap();
            assert_eq!(entries.len(), read, "nobody else was inside");
            entries.push((waiter, guard.fence()));
        });
        // One after the other, so that their order is known.
        until_waiting(&cluster.nodes, waiter + 1).await;
    }
    let first = held.fence();
    drop(held);
    tokio::time::timeout(PATIENCE, waiters.join_all()).await.expect("everybody enters");
    let entries = entries.lock().unwrap().clone();
    assert_eq!(entries.len(), WAITERS);
    assert!(entries[0].1 > first && entries.windows(2).all(|pair| pair[0].1 < pair[1].1));
    for node in 0..NODES {
        let of_node = |entry: &&(usize, Fence)| entry.0 % NODES == node;
        let here: Vec<usize> = entries.iter().filter(of_node).map(|entry| entry.0).collect();
        assert!(here.is_sorted(), "whoever came first to a node enters first there");
    }
    until_waiting(&cluster.nodes, 0).await;
    cluster.shutdown().await;
}

/// Half of the waiters give up; the others do not wait for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_that_give_up_hold_nobody_up() {
    const WAITERS: usize = 1_000;
    let cluster = cluster().await;
    let held = cluster.nodes[0].lock("left").await.unwrap();
    let (mut patient, mut impatient) = (JoinSet::new(), JoinSet::new());
    for waiter in 0..WAITERS {
        let node = cluster.nodes[waiter % NODES].clone();
        let wait = async move { node.lock("left").await.unwrap().fence() };
        // Not by turns: each node has some of both.
        let into = if waiter % 4 < 2 { &mut patient } else { &mut impatient };
        into.spawn(wait);
    }
    until_waiting(&cluster.nodes, WAITERS).await;
    impatient.shutdown().await;
    until_waiting(&cluster.nodes, WAITERS / 2).await;
    drop(held);
    let fences = tokio::time::timeout(PATIENCE, patient.join_all()).await;
    let mut fences = fences.expect("everybody enters");
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), WAITERS / 2);
    cluster.shutdown().await;
}

/// On one thread: were it never given away, the other node's request would not even be read.
#[tokio::test]
async fn whoever_asks_again_and_again_lets_others_run() {
    let cluster = cluster().await;
    let (near, far) = (cluster.nodes[0].clone(), cluster.nodes[1].clone());
    let others = tokio::spawn(async move { far.lock("busy").await.unwrap().fence() });
    let start = Instant::now();
    while !others.is_finished() && start.elapsed() < Duration::from_secs(10) {
        drop(near.lock("busy").await.unwrap());
    }
    assert!(others.is_finished(), "the other node waits as long as this one asks");
    cluster.shutdown().await;
}
