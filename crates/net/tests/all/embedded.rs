//! The library as a program uses it: real nodes in one process, over loopback.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use skeptron_client::{Client, ClientConfig};
use skeptron_net::MemberId;
use skeptron_net::api::{Api, ApiConfig};
use skeptron_net::report::{ListedLock, LockListing};
use skeptron_net::{Cluster, Config, LockError, Node, Plan, Plans};

fn plans(algorithm: &str) -> Plans {
    Plans::new(Plan::named(algorithm).unwrap())
}

async fn three() -> Cluster {
    Cluster::start(3, plans(Plan::DEFAULT)).await.unwrap()
}

/// No test waits longer than that for what must happen.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it should happen soon")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_held_by_one_and_handed_on() {
    let cluster = three().await;
    let guard = cluster.nodes[0].lock("orders/42").await.unwrap();
    assert_eq!((guard.name(), guard.is_valid()), ("orders/42", true));
    let other = cluster.nodes[1].clone();
    let waiting = tokio::spawn(async move { other.lock("orders/42").await.unwrap() });
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(!waiting.is_finished());
    let first = guard.fence();
    guard.release().await.unwrap();
    assert!(soon(waiting).await.unwrap().fence() > first);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_in_time_and_leaves_no_trace() {
    let cluster = three().await;
    let guard = cluster.nodes[0].lock("a").await.unwrap();
    let short = Duration::from_millis(20);
    assert!(cluster.nodes[1].lock_within("a", short).await.unwrap().is_none());
    assert!(cluster.nodes[1].local_locks("").is_empty());
    drop(guard);
    // The request is still with the algorithm; its grant is passed on.
    drop(soon(cluster.nodes[2].lock("a")).await.unwrap());
    let long = Duration::from_secs(20);
    assert!(cluster.nodes[1].lock_within("a", long).await.unwrap().is_some());
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn futures_dropped_at_any_point_lose_nothing() {
    let cluster = three().await;
    for round in 0..300_u64 {
        let node = &cluster.nodes[usize::try_from(round % 3).unwrap()];
        // From nothing to much longer than a hand-over takes.
        let patience = Duration::from_micros(round * 7 % 1500);
        let other = &cluster.nodes[usize::try_from((round + 1) % 3).unwrap()];
        // Dropped right after it was asked for, but now and then kept: then the wait ends without it.
        let held = match round % 10 {
            0 => Some(soon(other.lock("a")).await.unwrap()),
            _ => other.lock("a").now_or_never().map(Result::unwrap),
        };
        let granted = node.lock_within("a", patience).await.unwrap();
        assert!(held.is_none() || granted.is_none(), "two have it");
        drop(held);
    }
    for node in &cluster.nodes {
        drop(soon(node.lock("a")).await.unwrap());
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trying_succeeds_exactly_if_nobody_holds_it() {
    for algorithm in ["naimi-trehel", "ricart-agrawala", "maekawa", "central", "token-ring"] {
        let cluster = Cluster::start(3, plans(algorithm)).await.unwrap();
        for holder in 0..3 {
            let guard = soon(cluster.nodes[holder].try_lock("a")).await.unwrap();
            let guard = guard.unwrap_or_else(|| panic!("{algorithm}: nobody holds it"));
            for other in &cluster.nodes {
                assert!(soon(other.try_lock("a")).await.unwrap().is_none(), "{algorithm}");
            }
            guard.release().await.unwrap();
        }
        cluster.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_prefix_has_its_own_algorithm() {
    let plans = plans("naimi-trehel")
        .with_prefix("orders/", Plan::named("raymond").unwrap())
        .with_prefix("orders/eu/", Plan::named("maekawa").unwrap());
    let cluster = Cluster::start(3, plans).await.unwrap();
    let mut guards = Vec::new();
    for name in ["orders/1", "orders/eu/1", "stock/1"] {
        guards.push(soon(cluster.nodes[2].lock_as(name, "me")).await.unwrap());
    }
    let LockListing { locks, silent, complete, .. } = cluster.nodes[0].locks("", "", 10).await;
    let seen: Vec<_> = locks.iter().map(|l| (l.name.as_str(), l.algorithm.as_str())).collect();
    let expected =
        [("orders/1", "raymond"), ("orders/eu/1", "maekawa"), ("stock/1", "naimi-trehel")];
    assert_eq!((seen.as_slice(), silent.as_slice(), complete), (&expected[..], &[][..], true));
    let holder = |l: &ListedLock| l.holder.clone().map(|h| (h.node, h.owner));
    assert!(locks.iter().all(|l| holder(l) == Some((MemberId::at(2), "me".to_string()))));
    assert_eq!(cluster.nodes[1].locks("orders/", "", 10).await.locks.len(), 2);
    cluster.shutdown().await;
}

/// A counter that only the lock protects: read, pause, write.
#[derive(Default)]
struct Unprotected(AtomicU64);

impl Unprotected {
    async fn increment(&self) {
        let seen = self.0.load(Ordering::Relaxed);
        tokio::task::yield_now().await;
        self.0.store(seen + 1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_while_connections_are_cut() {
    for algorithm in ["naimi-trehel", "suzuki-kasami", "maekawa", "lamport", "raymond"] {
        let cluster = Cluster::start(3, plans(algorithm)).await.unwrap();
        let (counter, done) = (Arc::new(Unprotected::default()), Arc::new(AtomicBool::new(false)));
        let client = |k: usize| {
            let (node, counter) = (cluster.nodes[k % 3].clone(), Arc::clone(&counter));
            tokio::spawn(async move {
                let mut fences = Vec::new();
                for _ in 0..100 {
                    let guard = node.lock("counter").await.unwrap();
                    fences.push(guard.fence());
                    counter.increment().await;
                }
                fences
            })
        };
        let clients: Vec<_> = (0..6).map(client).collect();
        let (nodes, stop) = (cluster.nodes.clone(), Arc::clone(&done));
        let cutting = tokio::spawn(async move {
            let mut cuts = 0;
            while !stop.load(Ordering::Relaxed) {
                nodes[cuts % 3].cut(MemberId::at((cuts + 1 + cuts / 3 % 2) % 3));
                cuts += 1;
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        });
        let mut fences = Vec::new();
        for client in clients {
            fences.extend(soon(client).await.unwrap());
        }
        let connects = |node: &skeptron_net::Node| -> u64 {
            node.status().members.iter().map(|member| member.connects).sum()
        };
        // Each link was connected once at both of its ends; more means that one was cut and came back.
        soon(async {
            while cluster.nodes.iter().map(connects).sum::<u64>() <= 6 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        done.store(true, Ordering::Relaxed);
        cutting.await.unwrap();
        assert_eq!(counter.0.load(Ordering::Relaxed), 600, "{algorithm}");
        fences.sort_unstable();
        fences.dedup();
        assert_eq!(fences.len(), 600, "{algorithm}: every fence is given once");
        cluster.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_leaves_gives_its_tokens_away_and_says_no() {
    let cluster = Cluster::start(3, plans("suzuki-kasami")).await.unwrap();
    let leaving = &cluster.nodes[0];
    for name in ["a", "b", "c"] {
        drop(leaving.lock(name).await.unwrap());
    }
    let held = leaving.lock("held").await.unwrap();
    let waiting = leaving.clone();
    let waiting = tokio::spawn(async move { waiting.lock("held").await.map(|_| ()) });
    tokio::time::sleep(Duration::from_millis(20)).await;
    soon(leaving.shutdown(Duration::from_millis(50))).await;
    assert_eq!(waiting.await.unwrap(), Err(LockError::Leaving(MemberId::at(0))));
    assert!(!held.is_valid());
    soon(held.lost()).await;
    assert!(held.release().await.is_err());
    assert!(matches!(leaving.lock("a").await, Err(LockError::Leaving(_))));
    // The tokens rest with the others, who need nobody to enter.
    for name in ["a", "b", "c", "held"] {
        drop(soon(cluster.nodes[1].lock(name)).await.unwrap());
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entering_again_sends_and_allocates_nothing() {
    let cluster = three().await;
    let node = &cluster.nodes[2];
    for _ in 0..10 {
        drop(soon(node.lock("a")).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let sent = node.metrics();
    let entries = || {
        let used = allocation_counter::measure(|| {
            for _ in 0..1000 {
                let lock = tokio::task::unconstrained(node.lock("a"));
                drop(lock.now_or_never().expect("it is in at once").unwrap());
            }
        });
        used.count_total
    };
    // On a busy machine a few were seen once, of unknown origin; an entry that allocates does so every time.
    let fewest = (0..10).map(|_| entries()).min();
    assert_eq!(fewest, Some(0), "allocations in 1000 entries");
    let messages = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("skeptron_messages_sent_total"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(messages(&sent), messages(&node.metrics()));
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_dropped_ends() {
    let cluster = three().await;
    let status = cluster.nodes[0].status();
    let address = status.members[0].address.clone();
    drop(cluster);
    soon(async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_lost_its_memory_grants_nothing() {
    for algorithm in ["naimi-trehel", "central", "raymond", "maekawa"] {
        let cluster = Cluster::start(3, plans(algorithm)).await.unwrap();
        let members: Vec<String> =
            cluster.nodes[0].status().members.into_iter().map(|member| member.address).collect();
        let mut nodes = cluster.nodes;
        let held = soon(nodes[1].lock("a")).await.unwrap();
        nodes.remove(0).shutdown(Duration::ZERO).await;
        let config = Config::new(MemberId::at(0), members, plans(algorithm));
        let again = soon(async {
            loop {
                // The port may be busy for a moment.
                match Node::start(config.clone()).await {
                    Ok(node) => return node,
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        })
        .await;
        let beside = again.lock_within("a", Duration::from_millis(300)).await;
        assert!(!matches!(beside, Ok(Some(_))), "{algorithm}: {beside:?} beside {held:?}");
        assert_eq!(again.status().awaited.len(), 2, "{algorithm}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_holds_is_not_handed_on_before_it_must_know() {
    let cluster = Cluster::start(3, plans("suzuki-kasami")).await.unwrap();
    let leaving = &cluster.nodes[0];
    let config = ApiConfig { listen: vec!["127.0.0.1:0".to_string()], ..ApiConfig::default() };
    let api = Api::start(leaving.clone(), config).await.unwrap();
    let endpoint = format!("http://{}", api.addresses()[0]).parse().unwrap();
    let config = ClientConfig { ttl: Duration::from_secs(1), ..ClientConfig::new(endpoint) };
    let client = soon(Client::connect(config)).await.unwrap();
    let guard = soon(client.lock("a")).await.unwrap();
    let other = cluster.nodes[1].clone();
    let waiting = tokio::spawn(async move { other.lock("a").await.unwrap() });
    leaving.leave();
    let next = async {
        let next = waiting.await.unwrap();
        assert!(!guard.is_valid(), "its client still believes that it holds it");
        next
    };
    let (_next, ()) = soon(async { tokio::join!(next, api.drain()) }).await;
    leaving.shutdown(Duration::ZERO).await;
    api.shutdown().await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_member_does_not_acknowledge_holds_up_only_locks_that_need_it() {
    let plans = plans("suzuki-kasami").with_prefix("tree/", Plan::named("naimi-trehel").unwrap());
    let few = |config: &mut Config| config.limits.congested_bytes = 2_000;
    let cluster = Cluster::start_with(3, plans, few).await.unwrap();
    let [first, second, third] = &cluster.nodes[..] else { unreachable!("there are three") };
    let view = first.view().unwrap();
    let mut names = (0..).map(|number| format!("tree/{number}"));
    let elsewhere = names.find(|name| Some(view.home(name)) != view.rank(third.id())).unwrap();
    third.kill();
    // Every request of this algorithm goes to all, also to the dead one.
    let is_held_up = async {
        loop {
            for node in [first, second] {
                let granted = node.lock_within("broadcast", Duration::from_millis(500)).await;
                let guard = match granted {
                    Ok(guard) => guard.expect("nobody else wants it"),
                    Err(LockError::Unavailable { why, .. }) => {
                        let causes: Vec<_> = why.causes.iter().map(|it| it.member).collect();
                        return assert_eq!(causes, [Some(third.id())], "{why}");
                    }
                    Err(error) => panic!("{error}"),
                };
                guard.release().await.unwrap();
            }
        }
    };
    soon(is_held_up).await;
    let others = async {
        for _ in 0..50 {
            for node in [first, second] {
                node.lock(&elsewhere).await.unwrap().release().await.unwrap();
            }
        }
    };
    soon(others).await;
    cluster.shutdown().await;
}
