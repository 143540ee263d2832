//! Nodes in this process, with leases: entering again, and a member that joins while many locks are held.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use skeptron_net::{
    Cluster, Config, LeaseSettings, MemberId, Membership, Node, Plan, Plans, VoterConfig,
};
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::locks::judge::Judge;
use crate::locks::ours::Embedded;
use crate::locks::workload::{Workload, run};

const NODES: usize = 3;
/// How long entering again is measured.
const SPAN: Duration = Duration::from_secs(1);
/// How long the kept lock is entered before a member joins, and at least afterwards.
const WATCH: Duration = Duration::from_secs(1);
/// How long a member may take to join.
const PATIENCE: Duration = Duration::from_secs(60);

/// What one round showed.
pub(super) struct Change {
    pub cycles_per_second: f64,
    /// From the view's installation at P1, which holds the locks, until all members have met there.
    pub took_ms: f64,
    /// The longest time between two entries of a lock that P2 keeps, before the change and around it.
    pub calm_ms: f64,
    pub pause_ms: f64,
}

/// Measures entering again, then lets P1 hold so many locks while a fourth member joins.
pub(super) async fn change(plan: &Plan, held: usize) -> Result<Change> {
    let folder = TempDir::with_prefix("skeptron-failover-")?;
    let plans = Plans::new(plan.clone());
    let settings = LeaseSettings::default();
    let starting = Cluster::start_voting(NODES, NODES, plans.clone(), folder.path(), settings);
    let cluster =
        tokio::time::timeout(PATIENCE, starting).await.context("not all nodes vote")??;
    let embedded = Embedded { cluster };
    let cycles_per_second = again(&embedded).await?;
    let nodes = &embedded.cluster.nodes;
    let mut guards = Vec::with_capacity(held);
    for number in 0..held {
        guards.push(nodes[0].lock(&format!("bench/failover/held/{number}")).await?);
    }
    let kept = Kept::start(nodes[1].clone());
    sleep(WATCH).await;
    let before = changes(&nodes[0])?;
    let calm_ms = kept.longest_ms();
    let joined = join(nodes, plans).await?;
    let start = Instant::now();
    let has_met = |node: &Node| {
        let status = node.status();
        status.members.len() == NODES + 1 && status.awaited.is_empty()
    };
    while !nodes.iter().all(has_met) || changes(&nodes[0])?.count == before.count {
        ensure!(start.elapsed() < PATIENCE, "a fourth member does not get in");
        sleep(Duration::from_millis(5)).await;
    }
    sleep(WATCH).await;
    let pause_ms = kept.longest_ms();
    kept.stop().await?;
    let after = changes(&nodes[0])?;
    ensure!(
        guards.iter().all(|guard| guard.is_valid()),
        "a view change took a lock from its holder"
    );
    drop(guards);
    joined.kill();
    embedded.stop().await;
    let took_ms = (after.seconds - before.seconds) / (after.count - before.count) * 1e3;
    Ok(Change { cycles_per_second, took_ms, calm_ms, pause_ms })
}

/// Cycles per second of one client that takes one lock again and again.
async fn again(embedded: &Embedded) -> Result<f64> {
    let judge = Arc::new(Judge::new(1));
    let names: Arc<[String]> = Arc::new(["bench/failover/again".to_string()]);
    let client = embedded.client(Workload::Again, 0);
    let sample = run(vec![client], Workload::Again, &names, &judge, SPAN).await?;
    ensure!(judge.violation().is_none(), "{}", judge.violation().unwrap_or_default());
    Ok(sample.cycles_per_second)
}

/// Starts one member more, which does not vote.
async fn join(nodes: &[Node], plans: Plans) -> Result<Node> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let voters: BTreeMap<MemberId, String> =
        nodes.iter().map(|node| (node.id(), node.address().to_string())).collect();
    let address = listener.local_addr()?.to_string();
    let membership = Membership::Voters(VoterConfig { address, voters, data: None, init: None });
    let config = Config { membership, ..Config::new(MemberId::at(nodes.len()), Vec::new(), plans) };
    Ok(Node::start_at(config, listener).await?)
}

/// View changes so far, as the metrics of a node have them.
struct Changes {
    count: f64,
    seconds: f64,
}

fn changes(node: &Node) -> Result<Changes> {
    let metrics = node.metrics();
    let find = |name: &str| {
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.with_context(|| format!("no {name} among the metrics"))
    };
    let count = find("skeptron_view_change_seconds_count ")?;
    Ok(Changes { count, seconds: find("skeptron_view_change_seconds_sum ")? })
}

/// A client that enters one lock again and again, on a thread of its own: waiting for the runtime's
/// other tasks is no pause of the lock. It ends when this is dropped.
struct Kept {
    /// The longest time between two entries since it was last asked for.
    longest_ns: Arc<AtomicU64>,
    entering: JoinHandle<Result<()>>,
    until: oneshot::Sender<()>,
}

impl Kept {
    fn start(node: Node) -> Self {
        let longest_ns = Arc::new(AtomicU64::new(0));
        let (until, over) = oneshot::channel();
        let noted = Arc::clone(&longest_ns);
        let entering = tokio::task::spawn_blocking(move || {
            Handle::current().block_on(async {
                tokio::select! {
                    done = enter(&node, &noted) => done,
                    _ = over => Ok(()),
                }
            })
        });
        Kept { longest_ns, entering, until }
    }

    fn longest_ms(&self) -> f64 {
        self.longest_ns.swap(0, Ordering::AcqRel) as f64 / 1e6
    }

    async fn stop(self) -> Result<()> {
        drop(self.until);
        self.entering.await?
    }
}

async fn enter(node: &Node, longest_ns: &AtomicU64) -> Result<()> {
    const LOCK: &str = "bench/failover/kept";
    // The first entry may have to ask the lock's home.
    drop(node.lock(LOCK).await?);
    let mut last = Instant::now();
    loop {
        drop(node.lock(LOCK).await?);
        let now = Instant::now();
        let gap = u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX);
        longest_ns.fetch_max(gap, Ordering::AcqRel);
        last = now;
    }
}
