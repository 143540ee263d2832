//! Leaders are killed, and members with them: an observer at every member sees every leader once and in the
//! order of terms, and never are two leaders valid at once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skeptron_client::Client;
use skeptron_client::election::Leadership;
use skeptron_testing::amount;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::CORES;
use crate::history::{Register, check};
use crate::nodes::{PATIENCE, Process, Program, reach, start_voters};
use crate::register::{LOCK, Wants, serve, start_client};

const NODES: usize = 3;
const CANDIDATES: usize = 4;
/// Half of a leader's TTL.
const SETTINGS: &str = "lease.length = '1s'\n[limits]\nbackoff_longest = '100ms'";
/// So many terms begin before anybody is killed, and again afterwards.
const ENOUGH: usize = 20;

/// How often a leader and a member are killed.
fn kills() -> usize {
    amount("SKEPTRON_ELECTION_KILLS", 2, 20)
}

type Seen = Arc<Mutex<Vec<Leadership>>>;

/// Observes at this member, and at the others when it is down.
fn observe(sockets: &[PathBuf], place: usize) -> (Seen, JoinHandle<()>) {
    let seen = Seen::default();
    let config = reach(sockets, place, Duration::ZERO, String::new());
    let mut observer = Client::observe(&config, LOCK).unwrap();
    let told = Arc::clone(&seen);
    let observing = tokio::spawn(async move {
        while let Ok(leadership) = observer.next().await {
            told.lock().unwrap().push(leadership);
        }
    });
    (seen, observing)
}

/// Which process of a member has which life; it begins anew when it is killed or loses its lease.
async fn life(node: &Process) -> Option<String> {
    let status = Client::status(&node.reach(String::new())).await.ok()?;
    status.members.into_iter().find(|member| member.node == status.node)?.life
}

/// Each term once and in order, and none left out but where that is said. How many, and how often it was said.
fn judge(who: &str, seen: &[Leadership], led: &BTreeSet<u64>) -> (usize, usize) {
    let (mut before, mut terms) = (None, BTreeSet::new());
    for told in seen {
        let term = told.term.map(|term| term.number());
        assert!(term >= before, "{who} went back from {before:?} to {term:?}");
        if told.leader.is_some() && term != before {
            assert!(terms.insert(term), "{who} saw {term:?} twice");
        }
        if let (false, Some(before), Some(term)) = (told.missed, before, term) {
            let missed: Vec<_> = led.range(before + 1..term.max(before + 1)).collect();
            assert!(missed.is_empty(), "{who} saw {term} after {before}, not {missed:?}");
        }
        before = term;
    }
    (terms.len(), seen.iter().filter(|told| told.missed).count())
}

/// What a node and a leader of the register are to suffer.
#[derive(Default)]
struct Candidates {
    programs: Vec<Program>,
    /// The next one that leads is killed, right before it writes.
    kill_next: bool,
    killed: Option<usize>,
}

impl Candidates {
    fn leads(&mut self, number: usize) {
        if std::mem::take(&mut self.kill_next) {
            self.programs[number].kill();
            self.killed = Some(number);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_at_every_member_see_every_leader_while_leaders_and_members_are_killed() {
    let _cores = CORES.lock().await;
    let (folder, began) = (TempDir::new().unwrap(), Instant::now());
    let mut nodes = start_voters(folder.path(), NODES, SETTINGS).await;
    let sockets: Vec<PathBuf> = nodes.iter().map(|node| node.socket.clone()).collect();
    let observers: Vec<_> = (0..NODES).map(|place| observe(&sockets, place)).collect();
    until("all observe", || observers.iter().all(|(seen, _)| !seen.lock().unwrap().is_empty()))
        .await;
    // The last member is not killed; if it is not too slow either, its observer misses nothing.
    let survivor = &nodes[NODES - 1];
    let first_life = life(survivor).await;

    let register: Arc<Mutex<Register>> = Arc::default();
    let candidates: Arc<Mutex<Candidates>> = Arc::default();
    let leading = Arc::clone(&candidates);
    let leads = move |number| leading.lock().unwrap().leads(number);
    serve(folder.path(), Arc::clone(&register), leads);
    for number in 0..CANDIDATES {
        let candidate = start_client(folder.path(), number, NODES, Wants::ToLead);
        candidates.lock().unwrap().programs.push(candidate);
    }
    let led = || -> BTreeSet<u64> {
        register.lock().unwrap().history.iter().map(|op| op.fence).collect()
    };
    let more_lead = async || {
        let enough = led().len() + ENOUGH;
        until("others lead", || led().len() >= enough).await;
    };
    for round in 0..kills() {
        more_lead().await;
        let node = &mut nodes[round % (NODES - 1)];
        candidates.lock().unwrap().kill_next = true;
        until("a leader is killed", || candidates.lock().unwrap().killed.is_some()).await;
        node.program.kill();
        more_lead().await;
        {
            let mut all = candidates.lock().unwrap();
            let killed = all.killed.take().unwrap();
            all.programs[killed].restart();
        }
        node.program.restart();
        node.until_ready(NODES).await;
    }
    more_lead().await;
    candidates.lock().unwrap().programs.clear();

    let led = led();
    let last = *led.last().unwrap();
    let is_over = |seen: &Seen| {
        let seen = seen.lock().unwrap();
        let told = seen.last().unwrap();
        told.leader.is_none() && told.term.is_some_and(|term| term.number() >= last)
    };
    until("all see the end", || observers.iter().all(|(seen, _)| is_over(seen))).await;
    let is_same_life = first_life.is_some() && life(&nodes[NODES - 1]).await == first_life;
    let mut all = Vec::new();
    for (place, (seen, observing)) in observers.iter().enumerate() {
        observing.abort();
        let (terms, missed) = judge(&format!("observer {place}"), &seen.lock().unwrap(), &led);
        assert!(terms > ENOUGH, "observer {place} saw {terms} leaders of {}", led.len());
        if place == NODES - 1 && is_same_life {
            assert_eq!(missed, 0, "observer {place} was at a member that lived on");
            assert!(terms >= led.len(), "observer {place} saw {terms} leaders of {}", led.len());
        }
        all.push((terms, missed));
    }
    let history = std::mem::take(&mut register.lock().unwrap().history);
    let counted = check(&history).unwrap_or_else(|violation| panic!("{violation:?}"));
    eprintln!(
        "{} leaders, {counted:?}; seen and missed {all:?}, the last member lived on: {is_same_life}; in {:?}",
        led.len(),
        began.elapsed()
    );
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not so: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}
