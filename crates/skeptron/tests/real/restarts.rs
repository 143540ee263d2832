//! A rolling restart: all members are told to end and started again, one after the other.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skeptron_client::Client;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::CORES;
use crate::nodes::{PATIENCE, reach, start_voters};

const NODES: usize = 3;
/// Whoever waits for the end of a lease waits longer than anybody may.
const SETTINGS: &str =
    "lease.length = '20s'\nshutdown_grace = '1s'\n[limits]\nbackoff_longest = '100ms'";
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A session outlives its node.
const TTL: Duration = Duration::from_secs(60);

/// Takes locks, old names and new ones, and notes the longest wait for one.
async fn take_locks(client: Client, longest: Arc<Mutex<Duration>>, place: usize, start: Instant) {
    for number in 0_u64.. {
        for name in [format!("new/{number}"), format!("old/{}", number % 20)] {
            let asked = Instant::now();
            let guard = client.lock(&name).await.unwrap();
            let waited = asked.elapsed();
            if waited > Duration::from_secs(2) {
                eprintln!("{place}: {name} after {waited:?}, {:?} from the start", start.elapsed());
            }
            let mut longest = longest.lock().unwrap();
            *longest = waited.max(*longest);
            drop((longest, guard));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_loses_no_lock_and_makes_nobody_wait_for_a_lease() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let mut nodes = start_voters(folder.path(), NODES, SETTINGS).await;
    let sockets: Vec<PathBuf> = nodes.iter().map(|node| node.socket.clone()).collect();
    let mut held = Vec::new();
    let start = Instant::now();
    let (longest, mut tasks) = (Arc::default(), Vec::new());
    for place in 0..NODES {
        let connect = |owner: &str| Client::connect(reach(&sockets, place, TTL, owner.to_string()));
        let holder = connect("holder").await.unwrap();
        held.push(holder.lock(&format!("held/{place}")).await.unwrap());
        let taking =
            take_locks(connect("taker").await.unwrap(), Arc::clone(&longest), place, start);
        tasks.push(tokio::spawn(taking));
    }
    let fences: Vec<_> = held.iter().map(|guard| guard.fence()).collect();
    for node in &mut nodes {
        eprintln!("end at {:?}", start.elapsed());
        let code = timeout(PATIENCE, node.program.end()).await.expect("it ends");
        assert_eq!(code, Some(0), "{}", node.program.said());
        eprintln!("ended at {:?}", start.elapsed());
        node.program.restart();
        node.until_ready(NODES).await;
        eprintln!("ready at {:?}", start.elapsed());
        assert!(held.iter().all(|guard| guard.is_valid()), "a lock was lost: {held:?}");
        assert!(!tasks.iter().any(|task| task.is_finished()), "somebody was refused");
    }
    let longest = *longest.lock().unwrap();
    eprintln!("the longest wait was {longest:?}");
    if longest > LONGEST_WAIT {
        for node in &nodes {
            eprintln!("====\n{}", node.program.said());
        }
    }
    assert!(longest < LONGEST_WAIT, "somebody waited for {longest:?}");
    // Nobody else was granted them meanwhile.
    let visitor = Client::connect(reach(&sockets, 0, TTL, "visitor".to_string())).await.unwrap();
    for (place, (guard, fence)) in held.into_iter().zip(fences).enumerate() {
        assert!(visitor.try_lock(&format!("held/{place}")).await.unwrap().is_none());
        guard.release().await.unwrap();
        let next = visitor.lock(&format!("held/{place}")).await.unwrap();
        assert!(next.fence() > fence);
    }
    tasks.iter().for_each(|task| task.abort());
}
