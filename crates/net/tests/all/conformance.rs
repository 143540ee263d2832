//! The same scenarios in the simulator and on real nodes over loopback: the same entries in the same
//! order, judged by the same monitors, at the same price in messages.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use skeptron_core::catalogue::{self, Info};
use skeptron_core::claims::Quantity;
use skeptron_core::monitor::{Exclusion, FenceMonitor};
use skeptron_core::{Message, NodeId, mutex};
use skeptron_net::observe::MessageLabels;
use skeptron_net::{Cluster, Fence, Guard, Plan, Plans};
use skeptron_sim::trace::{TICKS_PER_UNIT, What};
use skeptron_sim::{Distribution, Options, Scenario, Workload, run};
use tokio::task::JoinHandle;

/// Who asks when, in units of time; everybody stays inside for [`SECTION`]. Between two events
/// everything comes to rest, so the run is determined whatever the latency.
struct Story {
    name: &'static str,
    asks: &'static [(u64, usize)],
}

/// How long a section lasts, in units of time.
const SECTION: u64 = 1_000;

/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Long enough for everything to come to rest: no message takes more than one unit.
const PAUSE: u64 = 10_000;

const STORIES: &[Story] = &[
    Story { name: "one enters once", asks: &[(0, 2)] },
    Story { name: "one enters again", asks: &[(0, 1), (PAUSE, 1), (2 * PAUSE, 1)] },
    Story {
        name: "one after the other",
        asks: &[(0, 0), (PAUSE, 1), (2 * PAUSE, 2), (3 * PAUSE, 0), (4 * PAUSE, 2)],
    },
    Story { name: "two queue up behind one", asks: &[(0, 1), (100, 2), (200, 0)] },
    Story {
        name: "they queue up, rest, and queue up in another order",
        asks: &[(0, 0), (100, 1), (200, 2), (PAUSE, 2), (PAUSE + 100, 0), (PAUSE + 200, 1)],
    },
];

/// What came of a story.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    entries: Vec<NodeId>,
    messages: BTreeMap<&'static str, u64>,
}

fn simulated(info: &'static Info, nodes: usize, story: &Story) -> Told {
    let plan = Plan::named(info.name).unwrap();
    let asks = story.asks.iter().map(|&(at, node)| (at * TICKS_PER_UNIT, NodeId::new(node)));
    let scenario = Scenario {
        workload: Workload::List(asks.collect()),
        section: Distribution::constant(SECTION as f64),
        entries: story.asks.len() as u64,
        ..Scenario::new(plan.setup(nodes).unwrap())
    };
    let options = Options { record: true, ..Options::default() };
    let outcome = run(info, &scenario, &options).unwrap();
    assert!(outcome.report.is_fine(), "{}: {}", info.name, story.name);
    let records = outcome.trace.unwrap().records;
    let entered = records.iter().filter(|record| matches!(record.what, What::Enter { .. }));
    let by_type = outcome.report.messages.by_type.into_iter();
    Told {
        entries: entered.map(|record| record.node).collect(),
        messages: by_type.filter(|&(_, count)| count > 0).collect(),
    }
}

/// A cluster, and how much has been said in it.
struct Real {
    cluster: Cluster,
    labels: Vec<MessageLabels>,
}

struct Kinds;

impl mutex::Visitor for Kinds {
    type Output = &'static [&'static str];

    fn visit<P: mutex::Mutex>(self) -> Self::Output {
        P::Message::KINDS
    }
}

impl Real {
    async fn start(info: &'static Info, nodes: usize) -> Self {
        let plans = Plans::new(Plan::named(info.name).unwrap());
        let cluster = Cluster::start(nodes, plans).await.unwrap();
        let kinds = mutex::dispatch(info, Kinds).iter();
        let label = |&message| MessageLabels { algorithm: info.name, message };
        Real { cluster, labels: kinds.map(label).collect() }
    }

    fn count(&self, received: bool) -> BTreeMap<&'static str, u64> {
        let count = |label: &MessageLabels| {
            let each = self.cluster.nodes.iter().map(|node| {
                let observer = node.observer();
                let family = if received { &observer.received } else { &observer.sent };
                family.get_or_create(label).get()
            });
            (label.message, each.sum())
        };
        self.labels.iter().map(count).filter(|&(_, count)| count > 0).collect()
    }

    /// Waits until everything that was said has been heard, and nothing more is said.
    ///
    /// A message is counted as received before it is taken. Whoever took it has done so when it answers a
    /// later question on the same link; and if nothing was sent that had not been received before all
    /// members answered all others, nothing is left that could make anybody send.
    async fn rest(&self) -> BTreeMap<&'static str, u64> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let received = self.count(true);
            let mut all_answered = true;
            for node in &self.cluster.nodes {
                all_answered &= node.locks("story/", "", usize::MAX).await.silent.is_empty();
            }
            let sent = self.count(false);
            if all_answered && sent == received {
                return sent;
            }
            assert!(Instant::now() < deadline, "sent {sent:?}, but received {received:?}");
        }
    }

    /// Lives the story through in its own time: only the order of events matters.
    async fn live(&self, story: &Story) -> Told {
        // The simulator's first node is whoever is the home of the lock.
        let names = (0..).map(|number| format!("story/{number}"));
        let view = self.cluster.nodes[0].view().unwrap();
        let name = names.into_iter().find(|name| view.home(name) == NodeId::new(0)).unwrap();
        let mut judge = Judge::default();
        let mut asks = story.asks.iter().copied().peekable();
        let mut waiting: Vec<(NodeId, JoinHandle<Guard>)> = Vec::new();
        let mut inside: Option<(u64, NodeId, Guard)> = None;
        loop {
            let leaves = inside.as_ref().map(|&(since, ..)| since + SECTION);
            let now = match (leaves, asks.peek()) {
                (Some(leaves), ask) if ask.is_none_or(|&(at, _)| leaves <= at) => {
                    let (_, node, guard) = inside.take().expect("somebody leaves");
                    judge.exclusion.leave(node);
                    guard.release().await.unwrap();
                    leaves
                }
                (_, Some(&(at, node))) => {
                    asks.next();
                    let (member, asked) = (self.cluster.nodes[node].clone(), name.clone());
                    let lock = async move { member.lock(&asked).await.unwrap() };
                    let asking = tokio::spawn(lock);
                    until("it has asked", || {
                        let here = self.cluster.nodes[node].local_locks(&name);
                        asking.is_finished() || here.iter().any(|lock| lock.waiters > 0)
                    })
                    .await;
                    waiting.push((NodeId::new(node), asking));
                    at
                }
                _ => break,
            };
            self.rest().await;
            until("somebody is let in", || {
                inside.is_some() || waiting.is_empty() || waiting.iter().any(is_in)
            })
            .await;
            if let Some(place) = waiting.iter().position(|(_, one)| one.is_finished()) {
                let (node, one) = waiting.remove(place);
                let guard = one.await.unwrap();
                judge.enter(node, guard.fence());
                inside = Some((now, node, guard));
            }
        }
        assert!(waiting.is_empty(), "{}: {waiting:?} were not served", story.name);
        Told { entries: judge.entries, messages: self.rest().await }
    }
}

/// Looks again and again.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not so: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn is_in((_, one): &(NodeId, JoinHandle<Guard>)) -> bool {
    one.is_finished()
}

#[derive(Default)]
struct Judge {
    exclusion: Exclusion,
    fences: FenceMonitor,
    entries: Vec<NodeId>,
}

impl Judge {
    fn enter(&mut self, node: NodeId, fence: Fence) {
        assert_eq!(self.exclusion.enter(node), None, "two inside");
        assert_eq!(self.fences.enter(fence.number()), None, "a fence that does not rise");
        self.entries.push(node);
    }
}

/// A token that never rests costs messages while nothing happens.
fn is_determined(info: &Info) -> bool {
    info.claims.most(Quantity::Messages).is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_nodes_do_what_the_simulator_says_at_the_same_price() {
    for info in catalogue::for_clusters().filter(|info| is_determined(info)) {
        for nodes in [3, 5] {
            for story in STORIES {
                let expected = simulated(info, nodes, story);
                let real = Real::start(info, nodes).await;
                let told = real.live(story).await;
                assert_eq!(told, expected, "{} with {nodes} nodes: {}", info.name, story.name);
                real.cluster.shutdown().await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_at_once_for_every_algorithm() {
    const ENTRIES: u64 = 40;
    for info in catalogue::for_clusters() {
        let plan = Plan::named(info.name).unwrap();
        let cluster = Cluster::start(3, Plans::new(plan)).await.unwrap();
        let judge = std::sync::Arc::new(std::sync::Mutex::new(Judge::default()));
        let one = |node: usize| {
            let (member, judge) = (cluster.nodes[node].clone(), std::sync::Arc::clone(&judge));
            tokio::spawn(async move {
                for _ in 0..ENTRIES {
                    let guard = member.lock("story").await.unwrap();
                    judge.lock().unwrap().enter(NodeId::new(node), guard.fence());
                    tokio::task::yield_now().await;
                    judge.lock().unwrap().exclusion.leave(NodeId::new(node));
                    guard.release().await.unwrap();
                }
            })
        };
        for done in (0..3).map(one).collect::<Vec<_>>() {
            tokio::time::timeout(PATIENCE, done).await.expect(info.name).unwrap();
        }
        assert_eq!(judge.lock().unwrap().entries.len() as u64, 3 * ENTRIES, "{}", info.name);
        cluster.shutdown().await;
    }
}
