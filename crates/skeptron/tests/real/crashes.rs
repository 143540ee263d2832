//! Members that are killed, stopped for longer than their lease, restarted and cut off, one way and
//! both, while clients count in a file that only a lock protects.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use skeptron_net::client::{Client, ClientConfig, Endpoint, Guard};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::CORES;
use crate::chance::Chance;
use crate::nodes::{PATIENCE, Process, listed, own_addresses};
use crate::relay::{Relay, Trouble};

const NODES: usize = 5;
const VOTERS: usize = 3;
const CLIENTS: usize = 24;
const LOCK: &str = "counter";

/// How long the trouble lasts: `SKEPTRON_CHAOS_SECONDS`, 60 if not said.
fn span() -> Duration {
    let seconds = std::env::var("SKEPTRON_CHAOS_SECONDS").ok();
    Duration::from_secs(seconds.map_or(60, |text| text.parse().expect("whole seconds")))
}

/// The order of events: `SKEPTRON_CHAOS_SEED`, 1 if not said.
fn seed() -> u64 {
    let seed = std::env::var("SKEPTRON_CHAOS_SEED").ok();
    seed.map_or(1, |text| text.parse().expect("a number"))
}

/// A number in a file that is read and written by whoever holds the lock.
struct CountedFile {
    value: PathBuf,
    fences: Mutex<Vec<u64>>,
    added: AtomicU64,
    is_over: AtomicBool,
}

impl CountedFile {
    fn new(folder: &Path) -> Self {
        let value = folder.join("value");
        std::fs::write(&value, "0").unwrap();
        let (fences, added) = (Mutex::default(), AtomicU64::new(0));
        CountedFile { value, fences, added, is_over: AtomicBool::new(false) }
    }

    fn read(&self) -> u64 {
        std::fs::read_to_string(&self.value).unwrap().parse().unwrap()
    }

    /// Adds one as long as the lock is held: whoever has lost it writes nothing.
    async fn add_one(&self, guard: &Guard) {
        if !guard.is_valid() {
            return;
        }
        self.fences.lock().unwrap().push(guard.fence().number());
        let value = self.read();
        sleep(Duration::from_millis(1)).await;
        if guard.is_valid() {
            std::fs::write(&self.value, (value + 1).to_string()).unwrap();
            self.added.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn judge(&self) -> u64 {
        let added = self.added.load(Ordering::Relaxed);
        assert_eq!(self.read(), added, "updates were lost");
        let fences = self.fences.lock().unwrap();
        let falling = fences.windows(2).find(|pair| pair[0] >= pair[1]);
        assert_eq!(falling, None, "fences rise from entry to entry");
        added
    }
}

fn reach(sockets: &[PathBuf], first: usize) -> ClientConfig {
    let endpoints = sockets.iter().cycle().skip(first % sockets.len()).take(sockets.len());
    ClientConfig {
        endpoints: endpoints.cloned().map(Endpoint::Unix).collect(),
        token: None,
        identity: None,
        ttl: Duration::from_secs(5),
        owner: format!("client {first}"),
    }
}

/// Counts until told to stop, at whichever node answers; a session that is over is replaced.
async fn count(file: Arc<CountedFile>, sockets: Vec<PathBuf>, number: usize) {
    let mut first = number;
    while !file.is_over.load(Ordering::Relaxed) {
        first += 1;
        let Ok(client) = Client::connect(reach(&sockets, first)).await else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        while !file.is_over.load(Ordering::Relaxed) {
            match client.lock_within(LOCK, Duration::from_secs(5)).await {
                Ok(Some(guard)) => {
                    file.add_one(&guard).await;
                    // It may have been lost; then it is over anyway.
                    let _ = guard.release().await;
                }
                Ok(None) => {}
                Err(_) => break,
            }
        }
    }
}

/// Nodes behind relays, and the sockets of their clients.
async fn start(folder: &Path) -> (Vec<Process>, Vec<Relay>) {
    let addresses = own_addresses(2 * NODES);
    let (behind, shown) = addresses.split_at(NODES);
    let mut relays = Vec::new();
    for (&address, &target) in shown.iter().zip(behind) {
        relays.push(Relay::start(address, target, None).await);
    }
    let voters = listed(&shown[..VOTERS]);
    let start_one = |k: usize| {
        let (address, listen) = (shown[k], behind[k]);
        let settings = format!(
            "voters = {voters}\naddress = '{address}'\nlisten = '{listen}'\ninsecure = true\n\
             lease.length = '2s'\n[limits]\nsilence = '1s'\nbackoff_longest = '100ms'"
        );
        Process::start(folder, k + 1, &settings, &[])
    };
    let mut nodes: Vec<Process> = (0..NODES).map(start_one).collect();
    for node in &mut nodes {
        node.until_ready(NODES).await;
    }
    (nodes, relays)
}

/// What became of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plight {
    Well,
    Killed { until: Instant },
    Stopped { until: Instant },
}

/// How often each kind of harm was done.
#[derive(Debug, Default)]
struct Done {
    kills: usize,
    stops: usize,
    troubles: usize,
}

async fn do_harm(nodes: &mut [Process], relays: &[Relay], span: Duration) -> Done {
    let mut chance = Chance::new(seed());
    let mut plights = [Plight::Well; NODES];
    let mut done = Done::default();
    let end = Instant::now() + span;
    while Instant::now() < end {
        sleep(Duration::from_millis(100 + chance.below(700))).await;
        mend(nodes, &mut plights, false);
        let victim = chance.below(NODES as u64) as usize;
        let ill = |range: std::ops::Range<usize>| {
            plights[range].iter().filter(|plight| **plight != Plight::Well).count()
        };
        // One voter of three and one other member at a time: the rest must go on.
        let may_suffer = plights[victim] == Plight::Well
            && if victim < VOTERS { ill(0..VOTERS) == 0 } else { ill(VOTERS..NODES) == 0 };
        let time = Duration::from_millis(chance.below(5000));
        let until = Instant::now() + time;
        match chance.below(8) {
            0 | 1 if may_suffer => {
                nodes[victim].kill();
                plights[victim] = Plight::Killed { until };
                done.kills += 1;
            }
            2 | 3 if may_suffer => {
                nodes[victim].signal(Signal::SIGSTOP);
                plights[victim] = Plight::Stopped { until };
                done.stops += 1;
            }
            kind => {
                let trouble = match kind {
                    4 => Trouble::Cut,
                    5 => Trouble::Stall(time / 10),
                    6 => Trouble::Swallow(time),
                    _ => Trouble::SwallowOneWay { to_node: chance.below(2) == 0, time },
                };
                relays[victim].make(trouble);
                done.troubles += 1;
            }
        }
    }
    mend(nodes, &mut plights, true);
    done
}

/// Brings back whoever's time has come, or all.
fn mend(nodes: &mut [Process], plights: &mut [Plight], all: bool) {
    let now = Instant::now();
    for (node, plight) in nodes.iter_mut().zip(plights) {
        match *plight {
            Plight::Killed { until } if all || now >= until => {
                node.restart();
                *plight = Plight::Well;
            }
            Plight::Stopped { until } if all || now >= until => {
                node.signal(Signal::SIGCONT);
                *plight = Plight::Well;
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_die_stop_and_come_back_and_nothing_is_lost() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let (mut nodes, relays) = start(folder.path()).await;
    let sockets: Vec<PathBuf> = nodes.iter().map(|node| node.socket.clone()).collect();
    let file = Arc::new(CountedFile::new(folder.path()));
    let mut counting = JoinSet::new();
    for number in 0..CLIENTS {
        counting.spawn(count(Arc::clone(&file), sockets.clone(), number));
    }
    let done = do_harm(&mut nodes, &relays, span()).await;
    let healed = Instant::now();
    for node in &mut nodes {
        node.until_ready(NODES).await;
    }
    let ready = healed.elapsed();
    // Nothing is stuck, at any node, with any name.
    for (place, socket) in sockets.iter().enumerate() {
        let config = reach(std::slice::from_ref(socket), place);
        let client = Client::connect(config).await.unwrap();
        for name in (0..20).map(|number| format!("other/{number}")).chain([LOCK.to_string()]) {
            let locking = tokio::time::timeout(PATIENCE, client.lock(&name)).await;
            let guard = locking.expect("a lock is stuck").unwrap();
            guard.release().await.unwrap();
        }
    }
    let served = healed.elapsed();
    file.is_over.store(true, Ordering::Relaxed);
    tokio::time::timeout(PATIENCE, counting.join_all()).await.expect("all clients end");
    let added = file.judge();
    eprintln!(
        "seed {}: {added} updates; {done:?}; all members back after {ready:?}, all locks served after {served:?}",
        seed()
    );
    assert!(
        added > 50 && done.kills > 0 && done.stops > 0 && done.troubles > 0,
        "{added} {done:?}"
    );
}
