//! The node that a client is connected to is killed, again and again, while the client holds a lock and
//! while it waits for one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use skeptron_client::{Client, ClientError};
use skeptron_net::Fence;
use skeptron_testing::{Chance, amount};
use tempfile::TempDir;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::CORES;
use crate::believers::{Believers, LOOK_EVERY, look_at};
use crate::nodes::{PATIENCE, Process, reach, start_voters};

const NODES: usize = 3;
const LOCK: &str = "a";
/// Killed nodes are waited for by clusters of their own, so that others are killed meanwhile.
const MOST_CLUSTERS: usize = 8;
const KILLS_PER_CLUSTER: usize = 3;
/// A session that can move outlives leases.
const TTL: Duration = Duration::from_secs(20);

/// How often a node is killed.
fn kills() -> usize {
    amount("SKEPTRON_KILLS", 6, 200)
}

/// What came of all kills.
#[derive(Debug, Default)]
struct Tally {
    /// Each of a node where one of the clients was, or both.
    kills: usize,
    hit_both: usize,
    /// Clients that were at the killed node, and went on at another one.
    holders_went_on: usize,
    waiters_went_on: usize,
    /// Clients that were told that their session is over.
    holders_told: usize,
    waiters_told: usize,
    /// Holders at another node that were told, since that node had lost its lease.
    bystanders_told: usize,
    /// From a kill until a client was seen at another node.
    longest_gap: Duration,
}

/// Where the lock is held with that fence, and where somebody waits for it.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    holder: Option<usize>,
    waiter: Option<usize>,
}

/// A cluster with two clients, one of which holds the lock while the other waits.
struct Site {
    nodes: Vec<Process>,
    sockets: Vec<PathBuf>,
    clients: Vec<Client>,
    believers: Arc<Believers>,
    /// Looks at the believers again and again; ends only if two believe at once.
    judging: JoinHandle<()>,
    chance: Chance,
    _folder: TempDir,
}

impl Site {
    async fn start(number: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let settings = "[limits]\nbackoff_longest = '100ms'";
        let nodes = start_voters(folder.path(), NODES, settings).await;
        let sockets = nodes.iter().map(|node| node.socket.clone()).collect();
        let believers: Arc<Believers> = Arc::default();
        let judging = look_at(&believers);
        let (clients, chance) = (Vec::new(), Chance::new(number as u64));
        let mut site =
            Site { nodes, sockets, clients, believers, judging, chance, _folder: folder };
        for client in 0..2 {
            let connected = site.connect(client).await;
            site.clients.push(connected);
        }
        site
    }

    async fn connect(&mut self, client: usize) -> Client {
        let began = Instant::now();
        loop {
            let first = self.chance.below(NODES as u64) as usize;
            let mut config = reach(&self.sockets, first, TTL, format!("client {client}"));
            // They go different ways, so that they do not meet at one node for ever.
            if client > 0 {
                config.endpoints.reverse();
            }
            match Client::connect(config).await {
                Ok(client) => return client,
                // On a busy machine also those that live may have lost their leases.
                Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The lock, with a new session if the former is over.
    async fn hold(&mut self, client: usize) -> Fence {
        let began = Instant::now();
        loop {
            match self.clients[client].lock(LOCK).await {
                Ok(guard) => return self.believers.enter(guard),
                Err(ClientError::SessionOver) => {
                    self.clients[client] = self.connect(client).await;
                }
                Err(error) => panic!("client {client} cannot lock: {error}"),
            }
            assert!(began.elapsed() < PATIENCE, "client {client} does not get the lock");
        }
    }

    /// Waits in the background, and enters when its turn comes.
    fn wait(&self, client: usize) -> JoinHandle<Result<Fence, ClientError>> {
        let (client, believers) = (self.clients[client].clone(), Arc::clone(&self.believers));
        tokio::spawn(async move { Ok(believers.enter(client.lock(LOCK).await?)) })
    }

    async fn places(&self, fence: Fence) -> Places {
        let mut places = Places::default();
        let config = reach(&self.sockets, 0, TTL, String::new());
        let Ok(listing) = Client::locks(&config, LOCK).await else { return places };
        for lock in listing.locks {
            let holder = lock.holder.filter(|holder| holder.fence == fence);
            places.holder = holder.map(|holder| holder.node.place());
            places.waiter = lock.waiting.first().map(|waiting| waiting.node.place());
        }
        places
    }

    /// Kills the node of the holder or that of the waiter, and sees what becomes of both.
    async fn round(&mut self, number: usize, tally: &mut Tally) {
        let (holds, waits) = (number % 2, (number + 1) % 2);
        let fence = self.hold(holds).await;
        let waiting = self.wait(waits);
        let began = Instant::now();
        // Before the look: whoever was seen at a node is still there when that is killed.
        sleep(Duration::from_millis(self.chance.below(300))).await;
        let places = loop {
            if let Places { holder: Some(holder), waiter: Some(waiter) } = self.places(fence).await
            {
                break Some([holder, waiter]);
            }
            if waiting.is_finished() || self.believers.has_lost(fence) {
                // A session ended before anything was killed: the machine is too busy.
                break None;
            }
            assert!(began.elapsed() < PATIENCE, "not so: one holds, the other waits");
            sleep(LOOK_EVERY).await;
        };
        let mut hit = [false; 2];
        if let Some(places) = places {
            let killed = places[self.chance.below(2) as usize];
            hit = places.map(|place| place == killed);
            let gap = self.kill(killed, hit, fence, &waiting).await;
            let is_lost = self.believers.has_lost(fence);
            tally.kills += 1;
            tally.hit_both += usize::from(hit == [true; 2]);
            tally.longest_gap = tally.longest_gap.max(gap);
            match hit[0] {
                true if is_lost => tally.holders_told += 1,
                true => tally.holders_went_on += 1,
                false => tally.bystanders_told += usize::from(is_lost),
            }
        }
        let guard = self.believers.leave(fence);
        let was_valid = guard.is_valid();
        let released = guard.release().await;
        assert!(was_valid || released.is_err(), "a lost lock was given back");
        match tokio::time::timeout(PATIENCE, waiting).await.expect("it is served").unwrap() {
            Ok(next) => {
                assert!(next > fence, "fences rise: {next:?} after {fence:?}");
                tally.waiters_went_on += usize::from(hit[1]);
                // Also this one may be lost meanwhile.
                let _ = self.believers.leave(next).release().await;
            }
            Err(ClientError::SessionOver) => {
                tally.waiters_told += usize::from(hit[1]);
                self.clients[waits] = self.connect(waits).await;
            }
            Err(error) => panic!("the waiter gets an error: {error}"),
        }
        for node in &mut self.nodes {
            node.until_ready(NODES).await;
        }
        assert!(!self.judging.is_finished(), "two believed that they had the lock");
    }

    /// Kills a node, and watches until whoever was there is at another one or has been told. How long
    /// that took for those that went on.
    async fn kill(
        &mut self,
        killed: usize,
        [mut holder_moves, mut waiter_moves]: [bool; 2],
        fence: Fence,
        waiting: &JoinHandle<Result<Fence, ClientError>>,
    ) -> Duration {
        let restarts_at_once = self.chance.below(2) == 0;
        self.nodes[killed].program.kill();
        let (killed_at, mut longest) = (Instant::now(), Duration::ZERO);
        if restarts_at_once {
            self.nodes[killed].program.restart();
        }
        while holder_moves || waiter_moves {
            let places = self.places(fence).await;
            let gap = killed_at.elapsed();
            assert!(gap < PATIENCE, "after {gap:?}: {places:?}, killed {killed}");
            for (moves, is_there, is_over) in [
                (&mut holder_moves, places.holder.is_some(), self.believers.has_lost(fence)),
                // It gets the lock if the holder has lost it.
                (&mut waiter_moves, places.waiter.is_some(), waiting.is_finished()),
            ] {
                if *moves && is_there {
                    longest = gap;
                }
                *moves &= !is_there && !is_over;
            }
            sleep(LOOK_EVERY).await;
        }
        if !restarts_at_once {
            self.nodes[killed].program.restart();
        }
        longest
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.judging.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_go_on_when_their_node_is_killed_or_are_told_in_time() {
    let _cores = CORES.lock().await;
    let kills = kills();
    let (left, began) = (Arc::new(AtomicUsize::new(kills)), Instant::now());
    let mut killing = JoinSet::new();
    for number in 0..(kills / KILLS_PER_CLUSTER).clamp(1, MOST_CLUSTERS) {
        let left = Arc::clone(&left);
        killing.spawn(async move {
            let (mut site, mut tally) = (Site::start(number).await, Tally::default());
            let take_one = |left: usize| left.checked_sub(1);
            for round in 0.. {
                if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one).is_err() {
                    break;
                }
                let before = tally.kills;
                while tally.kills == before {
                    site.round(round, &mut tally).await;
                }
            }
            tally
        });
    }
    let mut tally = Tally::default();
    while let Some(done) = killing.join_next().await {
        tally.add(&done.unwrap());
    }
    eprintln!("{tally:?} in {:?}", began.elapsed());
    assert_eq!(tally.kills, kills);
    assert_eq!(tally.hits(), kills + tally.hit_both, "a kill hit nobody's node");
    assert!(tally.holders_went_on + tally.waiters_went_on > 0, "nobody went on");
}

impl Tally {
    fn hits(&self) -> usize {
        self.holders_went_on + self.holders_told + self.waiters_went_on + self.waiters_told
    }

    fn add(&mut self, other: &Tally) {
        self.kills += other.kills;
        self.hit_both += other.hit_both;
        self.holders_went_on += other.holders_went_on;
        self.waiters_went_on += other.waiters_went_on;
        self.holders_told += other.holders_told;
        self.waiters_told += other.waiters_told;
        self.bystanders_told += other.bystanders_told;
        self.longest_gap = self.longest_gap.max(other.longest_gap);
    }
}
