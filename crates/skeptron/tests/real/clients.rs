//! Clients that count: whatever they do, nothing may be lost.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use skeptron_client::Client;
use skeptron_net::Node;
use skeptron_testing::amount;
use tokio::task::JoinSet;

use crate::counter::{Counter, CounterFile};
use crate::nodes::{PATIENCE, Process, SKEPTRON};

/// How many times as much work is to be done as usual: `SKEPTRON_TEST_SCALE`.
pub(crate) fn scaled(count: usize) -> usize {
    let scale: f64 = amount("SKEPTRON_TEST_SCALE", 1.0, 5.0);
    ((count as f64 * scale) as usize).max(1)
}

/// The lock that guards the counter.
const LOCK: &str = "counter";

/// Whoever asks for locks.
pub(crate) enum Asker {
    /// At a node of this process.
    Library(Node),
    /// Over the API of a node elsewhere.
    Remote(Client),
}

impl Asker {
    /// Adds one while it holds the lock.
    async fn count(&self, number: usize, counter: &Counter) {
        match self {
            Asker::Library(node) => {
                let guard = node.lock(LOCK).await.unwrap();
                counter.add_one(number, guard.fence().number()).await;
                assert!(guard.is_valid());
                guard.release().await.unwrap();
            }
            Asker::Remote(client) => {
                let guard = client.lock(LOCK).await.unwrap();
                counter.add_one(number, guard.fence().number()).await;
                assert!(guard.is_valid());
                guard.release().await.unwrap();
            }
        }
    }
}

/// Clients of these nodes, spread over them.
pub(crate) async fn clients(nodes: &[Process], count: usize) -> Vec<Asker> {
    let mut clients = Vec::new();
    for number in 0..count {
        let config = nodes[number % nodes.len()].reach(format!("client {number}"));
        clients.push(Asker::Remote(Client::connect(config).await.unwrap()));
    }
    clients
}

/// Lets all of them add one so often each, with so long a rest in between, and judges. Who entered, in
/// order.
pub(crate) async fn count_in_memory(
    askers: Vec<Asker>,
    times: usize,
    rest: Duration,
) -> Vec<usize> {
    let (counter, all) = (Arc::new(Counter::default()), askers.len() * times);
    let mut counting = JoinSet::new();
    for (number, asker) in askers.into_iter().enumerate() {
        let counter = counter.clone();
        counting.spawn(async move {
            for _ in 0..times {
                asker.count(number, &counter).await;
                // Even the shortest sleep takes a millisecond.
                if !rest.is_zero() {
                    tokio::time::sleep(rest).await;
                }
            }
        });
    }
    let counted = tokio::time::timeout(PATIENCE, counting.join_all()).await;
    counted.expect("everybody gets the lock in the end");
    counter.judge(all as u64)
}

/// How often the lock went from one node to another, if askers are spread over so many.
pub(crate) fn moves(askers: &[usize], nodes: usize) -> usize {
    askers.windows(2).filter(|pair| pair[0] % nodes != pair[1] % nodes).count()
}

/// Lets `clients` shells, spread over the nodes, add one to a file so often each, and judges.
pub(crate) async fn count_in_a_file(
    folder: &Path,
    nodes: &[Process],
    clients: usize,
    times: usize,
) {
    let file = Arc::new(CounterFile::new(folder));
    let mut counting = JoinSet::new();
    for number in 0..clients {
        let endpoint = format!("unix:{}", nodes[number % nodes.len()].socket.display());
        let script = file.script();
        counting.spawn(async move {
            for _ in 0..times {
                let lock = ["lock", "file", "--endpoint", &endpoint, "--", "sh", "-c", &script];
                let mut command = tokio::process::Command::new(SKEPTRON);
                let done = command.args(lock).kill_on_drop(true).output().await.unwrap();
                assert!(done.status.success(), "{done:?}");
            }
        });
    }
    let counted = tokio::time::timeout(PATIENCE, counting.join_all()).await;
    counted.expect("everybody gets the lock in the end");
    file.judge((clients * times) as u64);
}
