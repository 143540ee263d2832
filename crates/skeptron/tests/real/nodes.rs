//! Nodes in processes of their own, and what clients do to them.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use skeptron_client::{Client, ClientConfig, Endpoint};
use skeptron_net::report::{LinkState, Status};

/// Nothing here takes that long unless it is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// The command under test.
pub(crate) const SKEPTRON: &str = env!("CARGO_BIN_EXE_skeptron");

/// Addresses of the loopback network that nobody else uses: two of their bytes are this process's
/// number, so that ports need not be drawn and cannot be taken by somebody else meanwhile.
pub(crate) fn own_addresses(count: usize) -> Vec<SocketAddr> {
    static NEXT_PORT: AtomicU16 = AtomicU16::new(7000);
    let port = NEXT_PORT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let address = |place| SocketAddr::from(([127, high, low, 1 + place as u8], port));
    (0..count).map(address).collect()
}

/// As a list in a file of settings.
pub(crate) fn listed(addresses: &[SocketAddr]) -> String {
    let quoted: Vec<String> = addresses.iter().map(|address| format!("'{address}'")).collect();
    format!("[{}]", quoted.join(", "))
}

/// How a client reaches nodes, this one first.
pub(crate) fn reach(
    sockets: &[PathBuf],
    first: usize,
    ttl: Duration,
    owner: String,
) -> ClientConfig {
    let endpoints = sockets.iter().cycle().skip(first % sockets.len()).take(sockets.len());
    let endpoints: Vec<Endpoint> = endpoints.cloned().map(Endpoint::Unix).collect();
    let first = endpoints[0].clone();
    ClientConfig { endpoints, ttl, owner, ..ClientConfig::new(first) }
}

/// A program in a process of its own. It is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    words: Vec<String>,
    log: PathBuf,
}

impl Program {
    /// Runs these words, at first with one more; what it says goes to the log.
    pub(crate) fn start(words: &[&str], more: Option<&str>, log: &Path) -> Self {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        File::create(log).unwrap();
        let child = spawn(&words, more, log);
        Program { child, words, log: log.to_path_buf() }
    }

    /// Ends it at once, as a loss of power would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again after its end, with what is on its disk.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.words, None, &self.log);
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.id() as i32), signal).unwrap();
    }

    /// What it wrote into its log.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node.
pub(crate) struct Process {
    pub(crate) program: Program,
    pub(crate) socket: PathBuf,
}

/// A busy machine is not to cost anybody its lease: what that does others test.
pub(crate) const LONG_LEASE: &str = "lease.length = '30s'";

impl Process {
    /// Starts node `number`, counted from 1, with these settings; `prefix` is a command to run it by. The
    /// first one begins the cluster.
    pub(crate) fn start(folder: &Path, number: usize, settings: &str, prefix: &[&str]) -> Self {
        let file = |ending: &str| folder.join(format!("node-{number}.{ending}"));
        let (config, socket, log) = (file("toml"), file("sock"), file("log"));
        let listen = if settings.contains("api.listen") { "" } else { "api.listen = []\n" };
        let own = format!(
            "node = {number}\ndata = 'node-{number}'\napi.unix = '{}'\n{listen}",
            socket.display()
        );
        std::fs::write(&config, format!("{own}{settings}\n")).unwrap();
        let words = [prefix, &[SKEPTRON, "node", "--config", config.to_str().unwrap()]].concat();
        let program = Program::start(&words, (number == 1).then_some("--init"), &log);
        Process { program, socket }
    }

    /// How a client reaches it.
    pub(crate) fn reach(&self, owner: String) -> ClientConfig {
        let ttl = Duration::from_secs(30);
        reach(std::slice::from_ref(&self.socket), 0, ttl, owner)
    }

    /// Waits until it answers clients and has links to that many members, itself included.
    pub(crate) async fn until_ready(&mut self, members: usize) {
        self.until(|status| {
            let up = status.members.iter().filter(|member| member.link != LinkState::Down);
            up.count() == members
        })
        .await;
    }

    /// Waits until it sees that so many vote. With one of three who vote, none may fail yet.
    async fn until_vote(&mut self, voters: usize) {
        self.until(|status| status.views.voting().0 == voters).await;
    }

    /// Waits until its status is so.
    async fn until(&mut self, holds: impl Fn(&Status) -> bool) {
        let start = Instant::now();
        loop {
            let config = self.reach("test".to_string());
            let status = Client::status(&config).await;
            if status.as_ref().is_ok_and(&holds) {
                return;
            }
            let (ended, said) = (self.program.child.try_wait().unwrap(), self.program.said());
            assert!(ended.is_none(), "the node ended with {ended:?}: {said}");
            assert!(start.elapsed() < PATIENCE, "not ready: {status:?}: {said}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Starts so many nodes, with these settings, and waits until all of them vote.
pub(crate) async fn start_voters(folder: &Path, count: usize, settings: &str) -> Vec<Process> {
    let addresses = own_addresses(count);
    let voters = listed(&addresses);
    let start_one = |k: usize| {
        let address = addresses[k];
        let own = format!("voters = {voters}\naddress = '{address}'\ninsecure = true\n");
        Process::start(folder, k + 1, &(own + settings), &[])
    };
    let mut nodes: Vec<Process> = (0..count).map(start_one).collect();
    for node in &mut nodes {
        node.until_ready(count).await;
        node.until_vote(count).await;
    }
    nodes
}

fn spawn(words: &[String], more: Option<&str>, log: &Path) -> Child {
    let log = File::options().append(true).open(log).unwrap();
    Command::new(&words[0])
        .args(&words[1..])
        .args(more)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}
