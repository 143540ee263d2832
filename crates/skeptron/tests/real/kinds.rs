//! Kinds of locks while nodes and holders are killed: many readers and one writer, entries that upgrade, a
//! semaphore, and several locks at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use skeptron_client::{Client, ClientError, Guard, Mode, UpgradeError};
use skeptron_net::report::SessionSummary;
use skeptron_testing::{Chance, amount};
use tempfile::TempDir;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::CORES;
use crate::believers::{Believers, LOOK_EVERY, look_at};
use crate::nodes::{LONG_LEASE, PATIENCE, Program, SKEPTRON, reach, start_voters};

const NODES: usize = 3;
/// Leases are short, so that a killed node is soon missed.
const SETTINGS: &str = "lease.length = '2s'\n[limits]\nbackoff_longest = '100ms'";
/// Twice the lease, so that a session outlives its node; and more for a busy machine.
const TTL: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(300);

const PERMITS: u32 = 2;
/// Each kind is used so often before a node is killed, and again when it is back.
const ENOUGH: u64 = 10;

/// A waiting writer stops new readers: those that were before it enter, at most a few times while views change.
const MOST_BYPASS: u64 = 60;

/// How often a node is killed.
fn kills() -> usize {
    amount("SKEPTRON_KIND_KILLS", 2, 50)
}

/// What was done how often.
#[derive(Debug, Default)]
struct Done {
    reads: AtomicU64,
    writes: AtomicU64,
    /// The most reads that began during one wait of the writer.
    most_bypass: AtomicU64,
    upgrades: AtomicU64,
    denials: AtomicU64,
    permits: AtomicU64,
    transfers: AtomicU64,
    /// Sessions that were over before their client was done.
    sessions_over: AtomicU64,
}

impl Done {
    /// Of each kind.
    fn counts(&self) -> [u64; 6] {
        let all = [
            &self.reads,
            &self.writes,
            &self.upgrades,
            &self.denials,
            &self.permits,
            &self.transfers,
        ];
        all.map(|count| count.load(Ordering::Relaxed))
    }
}

fn count(one: &AtomicU64) {
    one.fetch_add(1, Ordering::Relaxed);
}

/// What all clients share.
struct Stage {
    sockets: Vec<PathBuf>,
    /// Of the book that is read and written, of the draft that is upgraded, and of the pool.
    book: Arc<Believers>,
    draft: Arc<Believers>,
    pool: Arc<Believers>,
    /// What only several locks at once protect.
    accounts: [AtomicU64; 3],
    done: Done,
    is_over: AtomicBool,
}

/// What a client does.
#[derive(Clone, Copy, Debug)]
enum Part {
    Reader,
    Writer,
    Upgrader,
    Permit,
    /// Between two accounts, in any order.
    Transfer([usize; 2]),
}

/// Six readers against one writer, two that upgrade, twice as many as there are permits, and transfers that
/// would wait for each other in a circle if each took its locks in its own order.
const PARTS: [Part; 16] = {
    use Part::{Permit, Reader, Transfer, Upgrader, Writer};
    [
        Writer,
        Reader,
        Reader,
        Reader,
        Reader,
        Reader,
        Reader,
        Upgrader,
        Upgrader,
        Permit,
        Permit,
        Permit,
        Permit,
        Transfer([0, 1]),
        Transfer([1, 2]),
        Transfer([2, 0]),
    ]
};

type Outcome = Result<(), ClientError>;

impl Stage {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Is inside for a moment.
    async fn visit(&self, believers: &Believers, guard: Guard, stays: Duration) {
        let fence = believers.enter(guard);
        sleep(stays).await;
        // It may have been lost.
        let _ = believers.leave(fence).release().await;
    }

    async fn read(&self, client: &Client) -> Outcome {
        let guard = entered(client, "book", Mode::SHARED).await?;
        count(&self.done.reads);
        self.visit(&self.book, guard, Duration::from_millis(5)).await;
        Ok(())
    }

    async fn write(&self, client: &Client) -> Outcome {
        let before = self.done.reads.load(Ordering::Relaxed);
        let guard = entered(client, "book", Mode::EXCLUSIVE).await?;
        let bypass = self.done.reads.load(Ordering::Relaxed) - before;
        self.done.most_bypass.fetch_max(bypass, Ordering::Relaxed);
        count(&self.done.writes);
        self.visit(&self.book, guard, Duration::from_millis(1)).await;
        Ok(())
    }

    /// Of two that meet inside one upgrades, and the other is denied and leaves.
    async fn upgrade(&self, client: &Client) -> Outcome {
        let guard = entered(client, "draft", Mode::SHARED).await?;
        let fence = self.draft.enter(guard);
        sleep(Duration::from_millis(10)).await;
        match self.draft.leave(fence).upgrade(None).await {
            Ok(guard) => {
                assert!(guard.mode().is_exclusive() && guard.fence() > fence);
                count(&self.done.upgrades);
                self.visit(&self.draft, guard, Duration::from_millis(1)).await;
            }
            Err(UpgradeError::Denied(guard)) => {
                count(&self.done.denials);
                self.visit(&self.draft, guard, Duration::from_millis(1)).await;
            }
            // Without a time limit only a node that made one up says so.
            Err(UpgradeError::NotGranted { guard, .. }) => drop(guard),
            Err(UpgradeError::Client(error)) => return Err(error),
        }
        Ok(())
    }

    async fn take_a_permit(&self, client: &Client) -> Outcome {
        let guard = entered(client, "pool", Mode::permits(PERMITS).unwrap()).await?;
        count(&self.done.permits);
        self.visit(&self.pool, guard, Duration::from_millis(5)).await;
        Ok(())
    }

    /// Adds one to both accounts.
    async fn transfer(&self, client: &Client, both: [usize; 2]) -> Outcome {
        let names = both.map(|account| format!("account/{account}"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let guards = client.enter_all(&names, Mode::EXCLUSIVE, None).await?.expect("it waits");
        let accounts = both.map(|account| &self.accounts[account]);
        let values = accounts.map(|account| account.load(Ordering::Acquire));
        sleep(Duration::from_millis(2)).await;
        if guards.iter().all(Guard::is_valid) {
            for (account, value) in accounts.into_iter().zip(values) {
                account.store(value + 1, Ordering::Release);
            }
            count(&self.done.transfers);
        }
        // One may have been lost.
        let _ = guards.release().await;
        Ok(())
    }

    async fn play(&self, part: Part, client: &Client) -> Outcome {
        match part {
            Part::Reader => self.read(client).await,
            Part::Writer => self.write(client).await,
            Part::Upgrader => self.upgrade(client).await,
            Part::Permit => self.take_a_permit(client).await,
            Part::Transfer(both) => self.transfer(client, both).await,
        }
    }

    /// Does the same again and again; a session that is over is replaced.
    async fn again_and_again(self: Arc<Self>, number: usize, part: Part) {
        while !self.is_over() {
            let config = reach(&self.sockets, number, TTL, format!("{part:?} {number}"));
            let Ok(client) = Client::connect(config).await else {
                sleep(LOOK_EVERY).await;
                continue;
            };
            while !self.is_over() {
                match self.play(part, &client).await {
                    Ok(()) => {}
                    Err(ClientError::SessionOver) => {
                        count(&self.done.sessions_over);
                        break;
                    }
                    Err(error) => panic!("{part:?} {number}: {error}"),
                }
            }
        }
    }

    /// Waits until each kind was used often enough from now on.
    async fn until_used(&self, when: &str) {
        let (before, began) = (self.done.counts(), Instant::now());
        let is_used = |(now, before): (u64, u64)| now >= before + ENOUGH;
        while !self.done.counts().into_iter().zip(before).all(is_used) {
            assert!(began.elapsed() < PATIENCE, "{when}: something is stuck: {:?}", self.done);
            sleep(LOOK_EVERY).await;
        }
    }
}

async fn entered(client: &Client, name: &str, mode: Mode) -> Result<Guard, ClientError> {
    Ok(client.enter(name, mode, None).await?.expect("it waits for as long as it takes"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_keeps_its_promise_while_nodes_are_killed() {
    let _cores = CORES.lock().await;
    let (folder, began) = (TempDir::new().unwrap(), Instant::now());
    let mut nodes = start_voters(folder.path(), NODES, SETTINGS).await;
    let stage = Arc::new(Stage {
        sockets: nodes.iter().map(|node| node.socket.clone()).collect(),
        book: Arc::default(),
        draft: Arc::default(),
        pool: Arc::default(),
        accounts: Default::default(),
        done: Done::default(),
        is_over: AtomicBool::new(false),
    });
    let looks = [&stage.book, &stage.draft, &stage.pool].map(look_at);
    let mut clients = JoinSet::new();
    for (number, part) in PARTS.into_iter().enumerate() {
        clients.spawn(Arc::clone(&stage).again_and_again(number, part));
    }
    let mut chance = Chance::new(1);
    for _ in 0..kills() {
        stage.until_used("all are up").await;
        let killed = &mut nodes[chance.below(NODES as u64) as usize];
        killed.program.kill();
        sleep(Duration::from_millis(chance.below(1000))).await;
        killed.program.restart();
        killed.until_ready(NODES).await;
    }
    stage.until_used("all are back").await;
    stage.is_over.store(true, Ordering::Relaxed);
    let ended = timeout(PATIENCE, async {
        // Whoever has panicked says why.
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
    });
    ended.await.expect("nobody waits for ever");
    assert!(!looks.iter().any(JoinHandle::is_finished), "too many were inside");
    looks.iter().for_each(JoinHandle::abort);
    let done = &stage.done;
    eprintln!("{done:?} in {:?}", began.elapsed());
    let bypass = done.most_bypass.load(Ordering::Relaxed);
    assert!(bypass <= MOST_BYPASS, "{bypass} reads began while the writer waited");
    let total: u64 = stage.accounts.iter().map(|account| account.load(Ordering::Acquire)).sum();
    assert_eq!(total, 2 * done.transfers.load(Ordering::Relaxed), "a transfer was lost");
}

/// The sessions of this owner.
async fn sessions(sockets: &[PathBuf], owner: &str) -> Vec<SessionSummary> {
    let listing = Client::sessions(&reach(sockets, 0, TTL, String::new())).await;
    let all = listing.map_or(Vec::new(), |listing| listing.sessions);
    all.into_iter().filter(|session| session.owner == owner).collect()
}

/// Waits until the only session of this owner is seen where that is true of it. At which node it is.
async fn until_seen(
    sockets: &[PathBuf],
    owner: &str,
    holds: impl Fn(&SessionSummary) -> bool,
) -> usize {
    let began = Instant::now();
    loop {
        if let [session] = sessions(sockets, owner).await.as_slice()
            && !session.moving
            && holds(session)
        {
            return session.node.place();
        }
        assert!(began.elapsed() < PATIENCE, "{owner} is not seen so");
        sleep(LOOK_EVERY).await;
    }
}

/// Of two that upgrade one is refused. The other one goes on to wait when its node is killed, and is still
/// the one that upgrades.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_upgraders_one_is_refused_also_when_the_node_of_the_other_is_killed() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let mut nodes = start_voters(folder.path(), NODES, SETTINGS).await;
    let sockets: Vec<PathBuf> = nodes.iter().map(|node| node.socket.clone()).collect();
    let connect = async |place: usize, owner: &str| {
        Client::connect(reach(&sockets, place, TTL, owner.to_string())).await.unwrap()
    };
    let (first, second) = (connect(0, "first").await, connect(1, "second").await);
    let upgrading = entered(&first, "draft", Mode::SHARED).await.unwrap();
    let reader = entered(&second, "draft", Mode::SHARED).await.unwrap();
    let (former, before) = (upgrading.fence(), reader.fence());
    let upgrading = tokio::spawn(upgrading.upgrade(None));
    let killed = until_seen(&sockets, "first", |session| session.waits == 1).await;
    assert_ne!(killed, until_seen(&sockets, "second", |session| session.holds == 1).await);

    let Err(UpgradeError::Denied(reader)) = reader.upgrade(None).await else {
        panic!("the other one upgrades");
    };
    nodes[killed].program.kill();
    let at =
        until_seen(&sockets, "first", |session| session.holds == 1 && session.waits == 1).await;
    assert_ne!(at, killed);
    assert!(!upgrading.is_finished(), "the reader is inside");
    let Err(UpgradeError::Denied(reader)) = reader.upgrade(None).await else {
        panic!("the other one still upgrades");
    };
    assert!(reader.is_valid() && reader.fence() == before);
    reader.release().await.unwrap();
    let writer = timeout(PATIENCE, upgrading).await.expect("it upgrades").unwrap().unwrap();
    assert!(writer.mode().is_exclusive() && writer.fence() > former.max(before));
    let kept_out = second.enter("draft", Mode::SHARED, Some(SHORT)).await.unwrap();
    assert!(kept_out.is_err() && writer.is_valid());
    nodes[killed].program.restart();
    nodes[killed].until_ready(NODES).await;
    writer.release().await.unwrap();
}

/// Two of three holders are killed: their permits are free again after their TTL, and no other one is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_whose_holders_crash_has_their_permits_again() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let nodes = start_voters(folder.path(), NODES, LONG_LEASE).await;
    let sockets: Vec<PathBuf> = nodes.iter().map(|node| node.socket.clone()).collect();
    let hold = |place: usize| {
        let endpoint = format!("unix:{}", sockets[place].display());
        // A command is ended before its TTL is over if no sign of life gets through: not on a busy machine.
        let (owner, ttl) = (format!("holder {place}"), if place < 2 { "6s" } else { "30s" });
        let words = [SKEPTRON, "lock", "pool", "--permits", "3", "--ttl", ttl, "--owner", &owner];
        let words = [&words[..], &["--endpoint", &endpoint, "--", "sleep", "1000"]].concat();
        Program::start(&words, None, &folder.path().join(format!("holder-{place}.log")))
    };
    let mut holders: Vec<Program> = (0..NODES).map(hold).collect();
    for place in 0..NODES {
        let owner = format!("holder {place}");
        until_seen(&sockets, &owner, |session| session.holds == 1).await;
    }
    let client = Client::connect(nodes[0].reach("next".to_string())).await.unwrap();
    let three = Mode::permits(3).unwrap();
    assert!(client.enter("pool", three, Some(SHORT)).await.unwrap().is_err(), "a fourth one");

    holders[..2].iter_mut().for_each(Program::kill);
    let both =
        async { [entered(&client, "pool", three).await, entered(&client, "pool", three).await] };
    let both = timeout(PATIENCE, both).await.expect("two permits are free").map(Result::unwrap);
    let third = client.enter("pool", three, Some(SHORT)).await.unwrap();
    assert!(third.is_err() && both.iter().all(Guard::is_valid), "a fourth one");
    holders[2].signal(Signal::SIGTERM);
    let third = timeout(PATIENCE, entered(&client, "pool", three)).await.expect("it has left");
    third.unwrap().release().await.unwrap();
}
