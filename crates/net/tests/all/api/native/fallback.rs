//! The client at nodes that do not speak the native protocol, and at nodes that die.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skeptron_client::{Client, ClientConfig, ClientError, Endpoint, Protocol};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::api::site::{STUCK, Site};

/// What stands between client and node does about the native protocol.
#[derive(Clone, Copy)]
enum Proxy {
    /// It answers as HTTP does, like an older node.
    Answers,
    /// It ends the connection.
    Closes,
    /// It waits for the rest of what it takes for a request.
    Hangs,
}

/// Passes HTTP on; counts connections that are something else.
async fn proxy(to: SocketAddr, kind: Proxy) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = Arc::clone(&counted);
            tokio::spawn(async move {
                let mut first = [0; 1];
                if stream.peek(&mut first).await.unwrap_or(0) == 0 {
                    return;
                }
                if first[0].is_ascii_alphabetic() {
                    let mut node = TcpStream::connect(to).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut node).await;
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                match kind {
                    Proxy::Closes => {}
                    Proxy::Answers => {
                        let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
                        let _ = stream.write_all(answer).await;
                    }
                    Proxy::Hangs => {
                        let mut rest = Vec::new();
                        let _ = stream.read_to_end(&mut rest).await;
                    }
                }
            });
        }
    });
    (at, count)
}

#[tokio::test]
async fn http_is_used_where_the_native_protocol_is_not_spoken() {
    let site = Site::start().await;
    for kind in [Proxy::Answers, Proxy::Closes, Proxy::Hangs] {
        let (at, tried) = proxy(site.address(), kind).await;
        let config = ClientConfig::new(Endpoint::Http(at.to_string()));
        let client = Client::connect(config.clone()).await.unwrap();
        for _ in 0..3 {
            client.lock("a").await.unwrap().release().await.unwrap();
        }
        assert_eq!(tried.load(Ordering::SeqCst), 1, "it is tried once");
        let mut observer = Client::observe(&config, "e").unwrap();
        assert!(observer.next().await.unwrap().leader.is_none());
        client.close().await.unwrap();
        let only = ClientConfig { protocol: Protocol::Native, ..config };
        let refused = Client::connect(only).await.unwrap_err();
        let ClientError::Unreachable(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains("--protocol http"), "{why}");
    }
    site.stop().await;
}

#[tokio::test]
async fn a_client_can_be_told_to_speak_http() {
    let site = Site::start().await;
    let (at, tried) = proxy(site.address(), Proxy::Answers).await;
    let endpoint = Endpoint::Http(at.to_string());
    let config = ClientConfig { protocol: Protocol::Http, ..ClientConfig::new(endpoint) };
    let client = Client::connect(config).await.unwrap();
    client.lock("a").await.unwrap().release().await.unwrap();
    assert_eq!(tried.load(Ordering::SeqCst), 0);
    site.stop().await;
}

/// Over a Unix socket as over TCP.
#[tokio::test]
async fn the_native_protocol_is_spoken_on_unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    let site = Site::start_with(|config| config.unix = Some(path.clone())).await;
    let endpoint = Endpoint::Unix(path);
    let config = ClientConfig { protocol: Protocol::Native, ..ClientConfig::new(endpoint) };
    let client = Client::connect(config).await.unwrap();
    client.lock("a").await.unwrap().release().await.unwrap();
    client.close().await.unwrap();
    site.stop().await;
}

/// The node dies while one client holds and another waits: both learn it by their own clocks.
#[tokio::test(flavor = "multi_thread")]
async fn holder_and_waiter_notice_that_their_node_died() {
    let site = Site::start().await;
    let config = ClientConfig {
        ttl: Duration::from_secs(1),
        protocol: Protocol::Native,
        ..site.client_config()
    };
    let holder = Client::connect(config.clone()).await.unwrap();
    let waiter = holder.another("waiter").await.unwrap();
    let guard = holder.lock("a").await.unwrap();
    let waiting = tokio::spawn(async move { waiter.lock("a").await.map(drop) });
    site.waiters(1).await;
    site.node().kill();
    let cluster = site.close().await;
    tokio::time::timeout(STUCK, guard.lost()).await.expect("its time is over");
    assert!(!guard.is_valid());
    let waited = tokio::time::timeout(STUCK, waiting).await.expect("it does not wait for ever");
    // It may be told why, or find out that its session is over.
    let error = waited.unwrap().expect_err("nobody grants it");
    let is_told = matches!(error, ClientError::SessionOver | ClientError::Unavailable { .. });
    assert!(is_told, "{error:?}");
    cluster.shutdown().await;
}
