//! Many sessions, many waiters of one lock, silent strangers and a full disk for logs, all at once:
//! holders keep their locks, and when it is over memory and descriptors are free again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use skeptron_client::{Client, ClientConfig, Guard};
use skeptron_net::report::Status;
use skeptron_testing::is_full;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::CORES;
use crate::nodes::{PATIENCE, Process, listed, own_addresses};

const NODES: usize = 3;
const POPULAR: &str = "popular";
const HOLDERS: usize = 20;
/// Shorter than the load lasts at full size, so that holders must be heard while it does.
const HOLDERS_TTL: Duration = Duration::from_secs(10);
/// So many sessions give three signs in this time, on however slow a machine.
const TTL: Duration = Duration::from_secs(60);
/// Connections over which all sessions are opened, kept alive and closed.
const SHARED: usize = 32;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
struct Size {
    sessions: usize,
    /// Some of these sessions.
    waiters: usize,
    strangers: usize,
    seconds: u64,
}

impl Size {
    /// A tenth for five seconds, or all of it for a minute.
    fn wanted() -> Self {
        match is_full() {
            true => Size { sessions: 10_000, waiters: 5_000, strangers: 2_000, seconds: 60 },
            false => Size { sessions: 1_000, waiters: 500, strangers: 200, seconds: 5 },
        }
    }

    /// Who waits has a connection.
    fn connections(self) -> usize {
        self.waiters + self.strangers + SHARED + 4 * HOLDERS
    }

    /// Lets this process and the nodes open as many files as it takes, or takes as many as may be opened.
    fn affordable(mut self) -> Self {
        // A node leaves half of its descriptors to other things.
        let needed = 2 * self.connections() as u64 + 200;
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        if setrlimit(Resource::RLIMIT_NOFILE, needed.max(most), needed.max(most)).is_err() {
            setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
            let share = most as f64 / needed as f64;
            for part in [&mut self.sessions, &mut self.waiters, &mut self.strangers] {
                *part = (*part as f64 * share) as usize;
            }
            let why = format!("REDUCED to {self:?}: only {most} files may be open (ulimit -Hn)\n");
            // Also where the output of tests that pass is not shown.
            let _ = std::fs::write("/dev/stderr", why);
        }
        self
    }
}

/// What a process takes.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    resident_mib: u64,
    descriptors: usize,
}

impl Usage {
    fn of(process: u32) -> Self {
        let pages = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap();
        let pages: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
        let open = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        Usage { resident_mib: pages / 256, descriptors: open.count() }
    }

    fn most(self, other: Usage) -> Usage {
        Usage {
            resident_mib: self.resident_mib.max(other.resident_mib),
            descriptors: self.descriptors.max(other.descriptors),
        }
    }
}

/// A cluster whose first node suffers.
struct Site {
    nodes: Vec<Process>,
    /// Where that node answers.
    address: String,
    _folder: TempDir,
}

impl Site {
    async fn start(connections: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let (addresses, apis) = (own_addresses(NODES), own_addresses(NODES));
        let voters = listed(&addresses);
        let start_one = |k: usize| {
            let (address, api) = (addresses[k], apis[k]);
            let settings = format!(
                "voters = {voters}\naddress = '{address}'\ninsecure = true\nlease.length = '10s'\n\
                 log.level = 'debug'\napi.listen = ['{api}']\napi.connections = {connections}"
            );
            start_with_full_disk(folder.path(), k + 1, &settings)
        };
        let mut nodes: Vec<Process> = (0..NODES).map(start_one).collect();
        for node in &mut nodes {
            node.until_ready(NODES).await;
        }
        Site { nodes, address: apis[0].to_string(), _folder: folder }
    }

    /// A holder of this lock, as programs are that use the library.
    async fn hold(&self, lock: &str) -> Guard {
        let endpoint = format!("http://{}", self.address).parse().unwrap();
        let config = ClientConfig { ttl: HOLDERS_TTL, ..ClientConfig::new(endpoint) };
        Client::connect(config).await.unwrap().lock(lock).await.unwrap()
    }

    async fn http(&self) -> Http {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Http(BufReader::new(stream))
    }

    /// What the first node takes.
    fn usage(&self) -> Usage {
        Usage::of(self.nodes[0].program.id())
    }

    async fn status(&self) -> Status {
        Client::status(&self.nodes[0].reach(String::new())).await.unwrap()
    }

    async fn until(&self, what: &str, holds: impl Fn(&Status, Usage) -> bool) {
        let began = Instant::now();
        loop {
            let (status, usage) = (self.status().await, self.usage());
            if holds(&status, usage) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "not so: {what}; {usage:?}, {status:?}");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Whatever it logs cannot be written.
fn start_with_full_disk(folder: &Path, number: usize, settings: &str) -> Process {
    let full = ["sh", "-c", "exec \"$@\" 2> /dev/full", "sh"];
    Process::start(folder, number, settings, &full)
}

/// One connection, and a question at a time.
struct Http(BufReader<TcpStream>);

impl Http {
    /// The answer, if it is no refusal.
    async fn ask(&mut self, method: &str, path: &str, body: Value) -> Value {
        let body = body.to_string();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.0.write_all((head + &body).as_bytes()).await.unwrap();
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            assert!(self.0.read_line(&mut head).await.unwrap() > 0, "cut after {head:?}");
            if let Some(value) = head[start..].strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    async fn open(&mut self) -> String {
        let ttl_ms = TTL.as_millis() as u64;
        let opened = self.ask("POST", "/v1/sessions", json!({"ttl_ms": ttl_ms})).await;
        opened["session"].as_str().unwrap().to_string()
    }

    /// Waits for the lock, gives it back, and says with which fence it had it.
    async fn lock_and_release(&mut self, session: &str) -> u64 {
        let asked = json!({"session": session, "lock": POPULAR});
        let fence = self.ask("POST", "/v1/acquire", asked).await["fence"].clone();
        let released = json!({"session": session, "lock": POPULAR, "fence": fence});
        self.ask("POST", "/v1/release", released).await;
        fence.as_str().unwrap().parse().unwrap()
    }
}

/// Keeps these sessions alive until it is over, and closes them.
async fn keep_alive(mut http: Http, sessions: Vec<String>, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let next = Instant::now() + TTL / 4;
        for session in &sessions {
            http.ask("POST", &format!("/v1/sessions/{session}/keep-alive"), Value::Null).await;
        }
        while Instant::now() < next && !is_over.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(100)).await;
        }
    }
    for session in sessions {
        http.ask("DELETE", &format!("/v1/sessions/{session}"), Value::Null).await;
    }
}

/// Connects, says nothing, and comes again when it is cut.
async fn say_nothing(address: String, cuts: Arc<AtomicU64>) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(&address).await {
            let mut told = Vec::new();
            let _ = stream.read_to_end(&mut told).await;
            cuts.fetch_add(1, Ordering::Relaxed);
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Half of what the load took, and what it costs to have had a crowd at all.
fn is_near_idle(before: Usage, during: Usage, after: Usage) -> bool {
    let grown = during.resident_mib.saturating_sub(before.resident_mib);
    after.resident_mib <= before.resident_mib + grown / 2 + 4
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_holders_keep_their_locks_and_everything_comes_back() {
    let _cores = CORES.lock().await;
    let size = Size::wanted().affordable();
    let site = Arc::new(Site::start(size.connections()).await);
    let (before, began) = (site.usage(), Instant::now());

    let mut held = vec![site.hold(POPULAR).await];
    for number in 1..=HOLDERS {
        held.push(site.hold(&format!("held/{number}")).await);
    }
    let fences: Vec<_> = held.iter().map(Guard::fence).collect();
    let cuts = Arc::new(AtomicU64::new(0));
    let mut strangers = JoinSet::new();
    for _ in 0..size.strangers {
        strangers.spawn(say_nothing(site.address.clone(), Arc::clone(&cuts)));
    }
    let (mut opening, is_over) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
    for number in 0..SHARED {
        let mut http = site.http().await;
        let share = (number..size.sessions).step_by(SHARED).len();
        opening.spawn(async move {
            let mut sessions = Vec::new();
            for _ in 0..share {
                sessions.push(http.open().await);
            }
            (http, sessions)
        });
    }
    let (mut keeping, mut all) = (JoinSet::new(), Vec::new());
    for (http, sessions) in opening.join_all().await {
        all.extend(sessions.clone());
        keeping.spawn(keep_alive(http, sessions, Arc::clone(&is_over)));
    }
    let mut waiting = JoinSet::new();
    for session in all.into_iter().take(size.waiters) {
        let mut http = site.http().await;
        waiting.spawn(async move { http.lock_and_release(&session).await });
    }
    site.until("all wait", |status, _| status.waiters == size.waiters as u64).await;
    let built = began.elapsed();

    let (mut during, loaded) = (site.usage(), Instant::now());
    while loaded.elapsed() < Duration::from_secs(size.seconds) {
        sleep(Duration::from_millis(500)).await;
        during = during.most(site.usage());
        let lost = held.iter().find(|guard| !guard.is_valid());
        assert!(lost.is_none(), "{lost:?} is lost after {:?}", loaded.elapsed());
    }
    let status = site.status().await;
    assert_eq!(status.waiters, size.waiters as u64, "nobody was served or sent away");
    assert_eq!(status.sessions, (size.sessions + held.len()) as u64);
    strangers.shutdown().await;

    // Each waiter in turn, and then nobody is left.
    let serving = Instant::now();
    for (guard, fence) in held.into_iter().zip(&fences) {
        assert_eq!(guard.fence(), *fence);
        guard.release().await.unwrap();
    }
    let served = tokio::time::timeout(PATIENCE, waiting.join_all()).await;
    let (mut served, served_in) = (served.expect("all are served"), serving.elapsed());
    served.sort_unstable();
    served.dedup();
    assert_eq!(served.len(), size.waiters, "each has a fence of its own");
    assert!(served.first().is_none_or(|first| *first > fences[0].number()));
    is_over.store(true, Ordering::Relaxed);
    keeping.join_all().await;
    site.until("nothing is open any more", |status, usage| {
        let is_quiet = usage.descriptors <= before.descriptors + 16;
        is_quiet && (status.sessions, status.waiters, status.held_locks) == (0, 0, 0)
    })
    .await;
    let after = site.usage();
    eprintln!(
        "{size:?}: before {before:?}, during {during:?}, after {after:?}; built in {built:?}, \
         all served in {served_in:?}, strangers were cut {} times",
        cuts.load(Ordering::Relaxed)
    );
    site.until("memory comes back", |_, usage| is_near_idle(before, during, usage)).await;
}
