//! The Rust client: the same guards as at a node, over HTTP.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use skeptron_client::ReleaseError;
use skeptron_client::{Client, ClientConfig, ClientError, Endpoint};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::site::{STUCK, Site, eventually};

#[tokio::test]
async fn a_guard_is_had_and_released() {
    let site = Site::start().await;
    let client = site.client().await;
    let guard = client.lock("orders/42").await.unwrap();
    assert_eq!((guard.name(), guard.is_valid()), ("orders/42", true));
    let first = guard.fence();
    assert!(client.try_lock("orders/42").await.unwrap().is_none());
    let short = Duration::from_millis(20);
    assert!(client.lock_within("orders/42", short).await.unwrap().is_none());
    guard.release().await.unwrap();
    let second = client.try_lock("orders/42").await.unwrap().unwrap();
    assert!(second.fence() > first);
    second.release().await.unwrap();
    client.close().await.unwrap();
    assert_eq!(site.node().status().sessions, 0);
    site.stop().await;
}

#[tokio::test]
async fn a_dropped_guard_releases_in_the_background() {
    let site = Site::start().await;
    let client = site.client().await;
    let first = client.lock("a").await.unwrap();
    let fence = first.fence();
    drop(first);
    assert!(client.lock("a").await.unwrap().fence() > fence);
    site.stop().await;
}

#[tokio::test]
async fn two_tasks_of_one_client_exclude_each_other() {
    let site = Site::start().await;
    let client = site.client().await;
    let inside = Arc::new(AtomicBool::new(false));
    let last = Arc::new(AtomicU64::new(0));
    let tasks: Vec<JoinHandle<()>> = (0..8)
        .map(|_| {
            let (client, inside, last) = (client.clone(), inside.clone(), last.clone());
            tokio::spawn(async move {
                for _ in 0..25 {
                    let guard = client.lock("a").await.unwrap();
                    assert!(!inside.swap(true, Ordering::SeqCst), "two are inside");
                    tokio::task::yield_now().await;
                    let earlier = last.swap(guard.fence().number(), Ordering::SeqCst);
                    assert!(earlier < guard.fence().number(), "fences rise");
                    inside.store(false, Ordering::SeqCst);
                    guard.release().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        tokio::time::timeout(STUCK, task).await.expect("nobody starves").unwrap();
    }
    site.stop().await;
}

#[tokio::test]
async fn a_lock_that_nobody_waits_for_any_more_is_passed_on() {
    let site = Site::start().await;
    let client = site.client().await;
    let holder = client.lock("a").await.unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.lock("a").await }
    });
    site.waiters(1).await;
    waiting.abort();
    site.waiters(0).await;
    holder.release().await.unwrap();
    client.try_lock("a").await.unwrap().expect("it is free").release().await.unwrap();
    site.stop().await;
}

/// Whatever the moment at which an acquire is given up, nothing stays held.
#[tokio::test]
async fn an_acquire_may_be_dropped_at_any_moment() {
    let site = Site::start().await;
    let client = site.client().await;
    for polls in 0..200 {
        let mut asked = Box::pin(client.lock("a"));
        for _ in 0..polls % 10 {
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(asked.as_mut().poll(context).map(drop))
            });
            if polled.await.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    eventually(async || site.node().status().held_locks == 0).await;
    let guard = tokio::time::timeout(STUCK, client.lock("a")).await.expect("it is free").unwrap();
    guard.release().await.unwrap();
    site.stop().await;
}

#[tokio::test]
async fn a_session_is_kept_alive_beyond_its_ttl() {
    let site = Site::start().await;
    let config = ClientConfig { ttl: Duration::from_secs(1), ..site.client_config() };
    let client = Client::connect(config).await.unwrap();
    let guard = client.lock("a").await.unwrap();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
    site.stop().await;
}

#[tokio::test]
async fn a_dropped_client_ends_its_session_with_its_last_guard() {
    let site = Site::start().await;
    let client = site.client().await;
    let guard = client.lock("a").await.unwrap();
    drop(client);
    tokio::task::yield_now().await;
    assert!(guard.is_valid());
    drop(guard);
    eventually(async || site.node().status().sessions == 0).await;
    assert_eq!(site.node().observer().expired_sessions.get(), 0);
    site.stop().await;
}

#[tokio::test]
async fn a_closed_client_has_lost_its_guards() {
    let site = Site::start().await;
    let client = site.client().await;
    let guard = client.lock("a").await.unwrap();
    client.clone().close().await.unwrap();
    assert!(!guard.is_valid());
    tokio::time::timeout(STUCK, guard.lost()).await.expect("it is lost");
    assert_eq!(guard.release().await, Err(ReleaseError::Lost("a".into())));
    assert_eq!(client.lock("a").await.unwrap_err(), ClientError::SessionOver);
    site.stop().await;
}

#[tokio::test]
async fn a_client_that_reaches_nobody_learns_by_itself_that_it_lost_its_locks() {
    let site = Site::start().await;
    let road = Road::to(site.address()).await;
    let config = ClientConfig { ttl: Duration::from_secs(1), ..road.client_config() };
    let client = Client::connect(config).await.unwrap();
    let guard = client.lock("a").await.unwrap();
    let other = site.client().await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.lock("b").await }
    });
    road.block();
    tokio::time::timeout(STUCK, guard.lost()).await.expect("its clock runs out");
    assert!(!guard.is_valid());
    let given_up =
        tokio::time::timeout(STUCK, waiting).await.expect("no wait outlives the session");
    assert!(matches!(given_up.unwrap(), Err(ClientError::SessionOver) | Ok(_)));
    assert!(guard.release().await.is_err());
    // The client knew before the node gave the lock to anybody else, or at the same time.
    other.lock("a").await.unwrap().release().await.unwrap();
    site.stop().await;
}

#[tokio::test]
async fn a_holder_is_never_told_later_than_the_next_one() {
    let site = Site::start().await;
    for _ in 0..3 {
        let road = Road::to(site.address()).await;
        let config = ClientConfig { ttl: Duration::from_millis(500), ..road.client_config() };
        let client = Client::connect(config).await.unwrap();
        let guard = client.lock("a").await.unwrap();
        let other = site.client().await;
        road.block();
        let next = tokio::time::timeout(STUCK, other.lock("a")).await.expect("in time").unwrap();
        assert!(!guard.is_valid(), "two hold it");
        next.release().await.unwrap();
    }
    site.stop().await;
}

/// Connections break before a request arrives, before its answer does, and after either.
#[tokio::test]
async fn connections_may_break_at_any_time() {
    let site = Site::start().await;
    let road = Road::to(site.address()).await;
    let client = Client::connect(road.client_config()).await.unwrap();
    road.fragile.store(true, Ordering::SeqCst);
    let mut last = skeptron_net::Fence::default();
    for _ in 0..100 {
        let lock = tokio::time::timeout(STUCK, client.lock("a"));
        let guard = lock.await.expect("it gets through").unwrap();
        assert!(guard.fence() > last);
        last = guard.fence();
        guard.release().await.unwrap();
    }
    assert!(road.breaks.load(Ordering::SeqCst) > 20);
    eventually(async || site.node().status().held_locks == 0).await;
    site.stop().await;
}

#[tokio::test]
async fn endpoints_are_tried_in_order() {
    let site = Site::start().await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deaf = Endpoint::Http(nobody.local_addr().unwrap().to_string());
    drop(nobody);
    let mut config = site.client_config();
    config.endpoints.insert(0, deaf.clone());
    let client = Client::connect(config.clone()).await.unwrap();
    client.lock("a").await.unwrap().release().await.unwrap();
    assert_eq!(Client::status(&config).await.unwrap().node, site.node().id());
    let error = Client::connect(ClientConfig::new(deaf.clone())).await.unwrap_err();
    assert!(matches!(&error, ClientError::Unreachable(why) if why.contains(&deaf.to_string())));
    let error = Client::connect(ClientConfig { endpoints: vec![], ..config }).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable(_)));
    site.stop().await;
}

#[tokio::test]
async fn what_is_held_and_waited_for_is_listed() {
    let site = Site::start().await;
    let config = ClientConfig { owner: "me & you".into(), ..site.client_config() };
    let client = Client::connect(config.clone()).await.unwrap();
    let guard = client.lock("with space/é?&").await.unwrap();
    let other = client.lock("other").await.unwrap();
    let listing = Client::locks(&config, "with space/é?&").await.unwrap();
    assert!(listing.complete);
    assert_eq!(listing.locks.len(), 1);
    let holder = listing.locks[0].holder.clone().unwrap();
    assert_eq!((holder.fence, holder.owner.as_str()), (guard.fence(), "me & you"));
    assert_eq!(Client::locks(&config, "").await.unwrap().locks.len(), 2);
    drop((guard, other));
    site.stop().await;
}

#[tokio::test]
async fn a_refusal_says_why() {
    let site = Site::start().await;
    let config = ClientConfig { ttl: Duration::from_millis(1), ..site.client_config() };
    let error = Client::connect(config).await.unwrap_err();
    assert!(matches!(&error, ClientError::Refused(why) if why.contains("ttl_ms")), "{error}");
    let client = site.client().await;
    let error = client.lock("").await.unwrap_err();
    assert!(matches!(&error, ClientError::Refused(why) if why.contains("1 to 255")), "{error}");
    site.stop().await;
}

/// A road to the node that may break, or swallow everything.
#[derive(Clone)]
struct Road {
    address: String,
    /// Whether it breaks now and then.
    fragile: Arc<AtomicBool>,
    /// Whether nothing comes through any more, without either end hearing of it.
    blocked: watch::Sender<bool>,
    carried: Arc<AtomicU64>,
    breaks: Arc<AtomicU64>,
}

impl Road {
    async fn to(node: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let road = Road {
            address: listener.local_addr().unwrap().to_string(),
            fragile: Arc::default(),
            blocked: watch::Sender::new(false),
            carried: Arc::default(),
            breaks: Arc::default(),
        };
        let carrier = road.clone();
        tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                tokio::spawn(carrier.clone().serve(here, node));
            }
        });
        road
    }

    fn client_config(&self) -> ClientConfig {
        ClientConfig::new(Endpoint::Http(self.address.clone()))
    }

    fn block(&self) {
        self.blocked.send_replace(true);
    }

    async fn serve(self, here: TcpStream, node: SocketAddr) {
        let Ok(there) = TcpStream::connect(node).await else { return };
        let mut blocked = self.blocked.subscribe();
        let (mut from_here, mut to_here) = here.into_split();
        let (mut from_there, mut to_there) = there.into_split();
        tokio::select! {
            biased;
            _ = blocked.wait_for(|blocked| *blocked) => {}
            () = self.carry(&mut from_here, &mut to_there) => return,
            () = self.carry(&mut from_there, &mut to_here) => return,
        }
        // The connections stand, and nothing moves.
        std::future::pending().await
    }

    /// Carries bytes one way until an end closes or the road breaks.
    async fn carry(&self, from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            let carried = self.carried.fetch_add(1, Ordering::SeqCst);
            let fragile = self.fragile.load(Ordering::SeqCst);
            let (before, after) = (fragile && carried % 7 == 6, fragile && carried % 11 == 10);
            if before || to.write_all(&bytes[..read]).await.is_err() || after {
                self.breaks.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    }
}
