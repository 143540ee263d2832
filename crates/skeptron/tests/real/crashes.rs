//! Members are killed, stopped for longer than their lease, restarted and cut off, one way and both, and
//! clients are killed and stopped at any moment, while they count: what a lock promises holds all the time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use skeptron_client::Client;
use skeptron_testing::{Chance, amount};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::CORES;
use crate::history::{Counted, Register, check};
use crate::nodes::{PATIENCE, Process, Program, listed, own_addresses, reach};
use crate::register::{LOCK, TTL, Wants, serve, start_client};
use crate::relay::{Relay, Trouble};

const NODES: usize = 5;
const VOTERS: usize = 3;
/// Of so many clients that have checked that they hold the lock, the last is stopped before it writes.
const STOPPED_OF: usize = 100;
/// Longer than a session lives without a sign.
const LONGEST_STOP_MS: u64 = 2 * TTL.as_millis() as u64;

/// How long the trouble lasts.
fn span() -> Duration {
    Duration::from_secs(amount("SKEPTRON_CHAOS_SECONDS", 30, 300))
}

/// The order of events.
fn seed() -> u64 {
    amount("SKEPTRON_CHAOS_SEED", 1, 1)
}

/// How many clients count.
fn clients() -> usize {
    amount("SKEPTRON_CHAOS_CLIENTS", 8, 24)
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

/// What became of a program.
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
    client_kills: usize,
    client_stops: usize,
    /// Of clients that had checked that they hold the lock, and had not yet written.
    stops_after_check: usize,
}

/// All programs: the nodes, voters first, and then the clients.
struct Programs {
    nodes: Vec<Process>,
    clients: Vec<Program>,
    plights: Vec<Plight>,
    chance: Chance,
    done: Done,
    /// How often a client was about to write.
    checks: usize,
    /// No more harm is done.
    is_over: bool,
}

impl Programs {
    fn program(&mut self, number: usize) -> &mut Program {
        match number.checked_sub(NODES) {
            None => &mut self.nodes[number].program,
            Some(client) => &mut self.clients[client],
        }
    }

    fn is_well(&self, mut numbers: std::ops::Range<usize>) -> bool {
        numbers.all(|number| self.plights[number] == Plight::Well)
    }

    fn kill(&mut self, number: usize, most_ms: u64) {
        self.program(number).kill();
        let until = Instant::now() + Duration::from_millis(self.chance.below(most_ms));
        self.plights[number] = Plight::Killed { until };
    }

    fn stop(&mut self, number: usize, most_ms: u64) {
        self.program(number).signal(Signal::SIGSTOP);
        let until = Instant::now() + Duration::from_millis(self.chance.below(most_ms));
        self.plights[number] = Plight::Stopped { until };
    }

    /// Brings back whoever's time has come, or all.
    fn mend(&mut self, all: bool) {
        let now = Instant::now();
        for number in 0..self.plights.len() {
            match self.plights[number] {
                Plight::Killed { until } if all || now >= until => self.program(number).restart(),
                Plight::Stopped { until } if all || now >= until => {
                    self.program(number).signal(Signal::SIGCONT);
                }
                _ => continue,
            }
            self.plights[number] = Plight::Well;
        }
    }

    /// A client is about to write.
    fn checked(&mut self, client: usize) {
        let number = NODES + client;
        self.checks += 1;
        if self.checks.is_multiple_of(STOPPED_OF)
            && self.is_well(number..number + 1)
            && !self.is_over
        {
            self.stop(number, LONGEST_STOP_MS);
            self.done.stops_after_check += 1;
        }
    }

    fn harm(&mut self, relays: &[Relay]) {
        let node = self.chance.below(NODES as u64) as usize;
        let client = NODES + self.chance.below(clients() as u64) as usize;
        // One voter of three and one other member at a time: the rest must go on.
        let may_suffer = self.is_well(if node < VOTERS { 0..VOTERS } else { VOTERS..NODES });
        let is_client_well = self.is_well(client..client + 1);
        match self.chance.below(12) {
            0 | 1 if may_suffer => {
                self.kill(node, 5000);
                self.done.kills += 1;
            }
            2 | 3 if may_suffer => {
                self.stop(node, 5000);
                self.done.stops += 1;
            }
            4 if is_client_well => {
                self.kill(client, 5000);
                self.done.client_kills += 1;
            }
            5 | 6 if is_client_well => {
                self.stop(client, LONGEST_STOP_MS);
                self.done.client_stops += 1;
            }
            kind => {
                let time = Duration::from_millis(self.chance.below(5000));
                let trouble = match kind {
                    0..8 => Trouble::Cut,
                    8 => Trouble::Stall(time / 10),
                    9 | 10 => Trouble::Swallow(time),
                    _ => Trouble::SwallowOneWay { to_node: self.chance.below(2) == 0, time },
                };
                relays[node].make(trouble);
                self.done.troubles += 1;
            }
        }
    }
}

/// Harms until the time is over, and mends everything. The nodes.
async fn do_harm(programs: &Mutex<Programs>, relays: &[Relay], span: Duration) -> Vec<Process> {
    let end = Instant::now() + span;
    let mut next = Instant::now();
    while Instant::now() < end {
        sleep(Duration::from_millis(20)).await;
        let mut programs = programs.lock().unwrap();
        programs.mend(false);
        if Instant::now() >= next {
            programs.harm(relays);
            next = Instant::now() + Duration::from_millis(100 + programs.chance.below(700));
        }
    }
    let mut programs = programs.lock().unwrap();
    programs.is_over = true;
    programs.mend(true);
    std::mem::take(&mut programs.nodes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_and_clients_die_stop_and_come_back_and_nothing_is_lost() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let (nodes, relays) = start(folder.path()).await;
    let sockets: Vec<PathBuf> = nodes.iter().map(|node| node.socket.clone()).collect();
    let programs = Arc::new(Mutex::new(Programs {
        nodes,
        clients: Vec::new(),
        plights: vec![Plight::Well; NODES + clients()],
        chance: Chance::new(seed()),
        done: Done::default(),
        checks: 0,
        is_over: false,
    }));
    let register: Arc<Mutex<Register>> = Arc::default();
    let all = Arc::clone(&programs);
    let checked = move |client: usize| all.lock().unwrap().checked(client);
    serve(folder.path(), Arc::clone(&register), checked);
    for number in 0..clients() {
        let client = start_client(folder.path(), number, NODES, Wants::ToHold);
        programs.lock().unwrap().clients.push(client);
    }
    let mut nodes = do_harm(&programs, &relays, span()).await;
    let healed = Instant::now();
    for node in &mut nodes {
        node.until_ready(NODES).await;
    }
    let ready = healed.elapsed();
    // Nothing is stuck, at any node, with any name.
    for (place, socket) in sockets.iter().enumerate() {
        let config = reach(std::slice::from_ref(socket), 0, TTL, format!("visitor {place}"));
        let client = Client::connect(config).await.unwrap();
        for name in (0..20).map(|number| format!("other/{number}")).chain([LOCK.to_string()]) {
            let locking = tokio::time::timeout(PATIENCE, client.lock(&name)).await;
            let guard = locking.expect("a lock is stuck").unwrap();
            guard.release().await.unwrap();
        }
    }
    let served = healed.elapsed();
    let Programs { clients, done, .. } = &mut *programs.lock().unwrap();
    clients.clear();
    let history = std::mem::take(&mut register.lock().unwrap().history);
    let counted = check(&history).unwrap_or_else(|violation| {
        panic!("seed {}: {violation:?}; {done:?}, {} operations", seed(), history.len())
    });
    eprintln!(
        "seed {}: {counted:?}; {done:?}; all members back after {ready:?}, all locks served after {served:?}",
        seed()
    );
    let Counted { updates, .. } = counted;
    assert!(updates > 20 && done.kills > 0 && done.stops > 0 && done.troubles > 0, "{done:?}");
    assert!(done.client_kills + done.client_stops > 0, "{done:?}");
}
