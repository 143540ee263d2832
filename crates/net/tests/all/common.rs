//! What tests of whole clusters have in common.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use skeptron_net::{MemberId, Node, StartError};

/// Longer than any step takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A port may be held for a moment longer by who had it before.
pub(crate) async fn started<F>(start: impl Fn() -> F) -> Node
where
    F: Future<Output = Result<Node, StartError>>,
{
    let began = Instant::now();
    loop {
        match start().await {
            Ok(node) => return node,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn members(node: &Node) -> Vec<u32> {
    node.view().map(|view| view.ids().map(MemberId::number).collect()).unwrap_or_default()
}

pub(crate) fn id(number: u32) -> MemberId {
    MemberId::new(number).unwrap()
}

/// Ports that were free a moment ago.
pub(crate) fn addresses(count: usize) -> Vec<String> {
    let bind = |_| TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<TcpListener> = (0..count).map(bind).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect()
}
