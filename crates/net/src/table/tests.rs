//! The table over a network in memory: every algorithm, random schedules, cancellation, views.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use skeptron_core::NodeId;
use skeptron_core::catalogue;
use skeptron_core::monitor::{Exclusion, FenceMonitor};
use tokio::sync::watch;

use super::{Asked, Table, Wait, token};
use crate::config::Config;
use crate::guard::Guard;
use crate::link::{Chance, Inbox, Post, for_seeds};
use crate::observe::{Observer, What};
use crate::plan::{Plan, Plans};
use crate::view::{Lease, Member, View, ViewService};
use crate::wire::Envelope;

/// A view service that a test decides.
struct Decided {
    views: watch::Sender<Arc<View>>,
    lease: Mutex<Lease>,
}

impl ViewService for Decided {
    fn views(&self) -> watch::Receiver<Arc<View>> {
        self.views.subscribe()
    }

    fn lease(&self) -> Lease {
        *self.lease.lock().unwrap()
    }
}

/// What is on its way from one node to another, each with its number.
type Queue = VecDeque<(u64, Vec<u8>)>;

/// First in, first out between each two nodes; otherwise in the order that the test's dice choose.
struct Network {
    nodes: usize,
    links: Mutex<Vec<Queue>>,
    sent: AtomicU64,
    inboxes: OnceLock<Vec<Arc<dyn Inbox>>>,
}

struct Exit {
    network: Weak<Network>,
    from: usize,
}

impl Post for Exit {
    fn send(&self, to: NodeId, envelope: &Envelope<'_>) -> u64 {
        let Some(network) = self.network.upgrade() else { return 0 };
        let bytes = postcard::to_allocvec(envelope).unwrap();
        let sequence = network.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let link = self.from * network.nodes + to.index();
        network.links.lock().unwrap()[link].push_back((sequence, bytes));
        sequence
    }

    fn flush(&self) {}

    fn is_up(&self, _peer: NodeId) -> bool {
        true
    }

    fn congested(&self) -> bool {
        false
    }

    fn relieved(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

struct System {
    network: Arc<Network>,
    tables: Vec<Arc<Table>>,
    service: Arc<Decided>,
    chance: Chance,
}

impl System {
    fn new(nodes: usize, algorithm: &str, change: impl Fn(&mut Config)) -> Self {
        let addresses: Vec<String> = (0..nodes).map(|k| format!("127.0.0.1:{}", k + 1)).collect();
        let members: Vec<Member> = addresses
            .iter()
            .map(|address| Member { address: address.clone(), incarnation: None })
            .collect();
        let service = Arc::new(Decided {
            views: watch::Sender::new(Arc::new(View { epoch: 1, members })),
            lease: Mutex::new(Lease::Forever),
        });
        let network = Arc::new(Network {
            nodes,
            links: Mutex::new(vec![VecDeque::new(); nodes * nodes]),
            sent: AtomicU64::new(0),
            inboxes: OnceLock::new(),
        });
        let plans = Plans::new(Plan::named(algorithm, nodes).unwrap());
        let table = |from: usize| {
            let mut config = Config::new(NodeId::new(from), addresses.clone(), plans.clone());
            change(&mut config);
            let post = Arc::new(Exit { network: Arc::downgrade(&network), from });
            let observer = Arc::new(Observer::new(NodeId::new(from)));
            Table::new(&config, service.clone(), post, observer).unwrap()
        };
        let tables: Vec<_> = (0..nodes).map(table).collect();
        let inboxes = tables.iter().map(|table| Arc::clone(table.reception())).collect();
        network.inboxes.set(inboxes).unwrap_or_else(|_| unreachable!("set once"));
        let mut system = System { network, tables, service, chance: Chance::new(1) };
        system.tables.iter().for_each(|table| table.open());
        system.settle();
        system
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.chance.below(sides)
    }

    /// Delivers one message of a random link; whether there was one.
    fn deliver(&mut self) -> bool {
        let links = self.network.links.lock().unwrap();
        let busy: Vec<usize> = (0..links.len()).filter(|&link| !links[link].is_empty()).collect();
        drop(links);
        if busy.is_empty() {
            return false;
        }
        let link = busy[self.roll(busy.len())];
        let (sequence, bytes) = self.network.links.lock().unwrap()[link].pop_front().unwrap();
        let (from, to) = (link / self.network.nodes, link % self.network.nodes);
        let inbox = &self.network.inboxes.get().unwrap()[to];
        inbox.receive(NodeId::new(from), sequence, &postcard::from_bytes(&bytes).unwrap());
        true
    }

    fn settle(&mut self) {
        let mut steps = 0;
        while self.deliver() {
            steps += 1;
            assert!(steps < 100_000, "the network does not come to rest");
        }
    }

    fn ask(&self, node: usize, name: &str) -> Waiting {
        match self.tables[node].ask(name, "").unwrap() {
            Asked::Granted(guard) => Waiting::In(guard),
            Asked::Waiting(wait) => Waiting::For(wait),
        }
    }

    /// Decides the next view; nobody has heard of it yet.
    fn decide(&self) {
        let next = |view: &Arc<View>| View { epoch: view.epoch + 1, members: view.members.clone() };
        let view = Arc::new(next(&self.service.views.borrow()));
        self.service.views.send_replace(view);
    }

    /// A node hears of the latest view.
    fn install(&self, node: usize) {
        let view = self.service.views.borrow().clone();
        self.tables[node].install(&view);
    }

    fn decide_and_install(&self) {
        self.decide();
        (0..self.tables.len()).for_each(|node| self.install(node));
    }
}

#[derive(Debug)]
enum Waiting {
    In(Guard),
    For(Wait),
}

/// Whether the grant has come; asked more often than a task may look without a pause.
fn look(wait: &mut Wait) -> Option<Guard> {
    tokio::task::unconstrained(wait).now_or_never().map(Result::unwrap)
}

impl Waiting {
    fn guard(self) -> Option<Guard> {
        match self {
            Waiting::In(guard) => Some(guard),
            Waiting::For(mut wait) => look(&mut wait),
        }
    }

    #[track_caller]
    fn must(self) -> Guard {
        self.guard().expect("it should be in")
    }

    fn is_in(&mut self) -> bool {
        if let Waiting::For(wait) = self
            && let Some(guard) = look(wait)
        {
            *self = Waiting::In(guard);
        }
        matches!(self, Waiting::In(_))
    }
}

/// Algorithms whose token never rests need time, not only messages.
fn resting() -> impl Iterator<Item = &'static str> {
    catalogue::sound().map(|info| info.name).filter(|&name| name != "token-ring")
}

#[tokio::test]
async fn random_schedules_with_cancellations_and_views_keep_exclusion_and_fences() {
    for algorithm in resting() {
        for_seeds(300, |seed| storm(algorithm, seed));
    }
}

fn storm(algorithm: &str, seed: u64) {
    let handovers = (seed % 3) as u32;
    let mut system = System::new(3, algorithm, |config| config.handovers = handovers);
    system.chance = Chance::new(seed);
    let (mut exclusion, mut fences) = (Exclusion::default(), FenceMonitor::default());
    let mut waiting: Vec<(usize, Waiting)> = Vec::new();
    let mut inside: Option<(usize, Guard)> = None;
    let mut entries = 0;
    for _ in 0..400 {
        let node = system.roll(3);
        match system.roll(12) {
            0 | 1 => {
                waiting.push((node, system.ask(node, "a")));
            }
            2 if !waiting.is_empty() => {
                let place = system.roll(waiting.len());
                drop(waiting.swap_remove(place));
            }
            3 | 4 => {
                if let Some((node, guard)) = inside.take() {
                    exclusion.leave(NodeId::new(node));
                    drop(guard);
                }
            }
            5 if system.roll(8) == 0 => system.decide(),
            6 => system.install(node),
            _ => {
                system.deliver();
            }
        }
        let place = waiting.iter_mut().position(|(_, one)| one.is_in());
        if let Some(place) = place
            && inside.is_none()
        {
            let (node, one) = waiting.swap_remove(place);
            let guard = one.must();
            assert_eq!(exclusion.enter(NodeId::new(node)), None, "two inside");
            assert_eq!(fences.enter(guard.fence()), None, "a fence that does not rise");
            entries += 1;
            inside = Some((node, guard));
        } else if let Some(place) = place {
            panic!("{:?} was granted while {:?} is inside", waiting[place], inside);
        }
    }
    drop(inside);
    (0..3).for_each(|node| system.install(node));
    // Everybody who still waits is served.
    while !waiting.is_empty() {
        system.settle();
        let place =
            waiting.iter_mut().position(|(_, one)| one.is_in()).expect("somebody is served");
        let guard = waiting.swap_remove(place).1.must();
        assert_eq!(fences.enter(guard.fence()), None, "a fence that does not rise");
        entries += 1;
    }
    assert!(entries > 0);
}

#[tokio::test]
async fn local_waiters_are_served_in_their_order() {
    let system = System::new(1, "naimi-trehel", |_| {});
    let first = system.ask(0, "a").must();
    let mut waiters: VecDeque<Waiting> = (0..100).map(|_| system.ask(0, "a")).collect();
    let mut guard = first;
    while let Some(mut next) = waiters.pop_front() {
        assert!(!next.is_in());
        let before = guard.fence();
        drop(guard);
        guard = next.must();
        assert_eq!(guard.fence(), before + 1);
        assert!(waiters.iter_mut().all(|later| !later.is_in()));
    }
}

#[tokio::test]
async fn a_grant_that_finds_no_waiter_is_passed_on() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm, |_| {});
        let guard = system.ask(0, "a");
        system.settle();
        let guard = guard.must();
        let (second, third) = (system.ask(1, "a"), system.ask(2, "a"));
        system.settle();
        drop(second);
        drop(guard);
        system.settle();
        assert_eq!(third.must().name(), "a", "{algorithm}");
    }
}

#[tokio::test]
async fn a_grant_dropped_unseen_is_given_back() {
    let mut system = System::new(2, "naimi-trehel", |_| {});
    let held = system.ask(0, "a").must();
    let unseen = system.ask(0, "a");
    drop(held);
    // The grant is in the channel, but nobody has looked.
    drop(unseen);
    let other = system.ask(1, "a");
    system.settle();
    drop(other.must());
}

#[tokio::test]
async fn a_hand_over_limit_lets_other_nodes_in() {
    let mut system = System::new(2, "naimi-trehel", |config| config.handovers = 3);
    let mut guard = system.ask(0, "a").must();
    let mut here: VecDeque<Waiting> = (0..10).map(|_| system.ask(0, "a")).collect();
    let mut there = system.ask(1, "a");
    system.settle();
    for _ in 0..3 {
        drop(guard);
        system.settle();
        guard = here.pop_front().unwrap().must();
        assert!(!there.is_in());
    }
    drop(guard);
    system.settle();
    assert!(!here[0].is_in(), "three hand-overs in a row are enough");
    drop(there.must());
    system.settle();
    drop(here.pop_front().unwrap().must());
}

#[tokio::test]
async fn reentering_costs_no_message() {
    let mut system = System::new(3, "naimi-trehel", |_| {});
    let first = system.ask(1, "a");
    system.settle();
    let mut fence = first.must().fence();
    for _ in 0..100 {
        let guard = system.ask(1, "a").must();
        assert_eq!(guard.fence(), fence + 1);
        fence = guard.fence();
    }
    assert!(!system.deliver());
}

#[tokio::test]
async fn what_is_held_in_a_new_view_stays_outside_until_it_is_let_go_of() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm, |_| {});
        let held = system.ask(1, "a");
        system.settle();
        let held = held.must();
        let mut early = system.ask(0, "a");
        system.settle();
        system.decide_and_install();
        let mut late = system.ask(2, "a");
        let mut free = system.ask(2, "b");
        system.settle();
        assert!(held.is_valid() && !early.is_in() && !late.is_in(), "{algorithm}");
        assert!(free.is_in(), "{algorithm}: a lock that nobody holds begins anew");
        let fence = held.fence();
        drop(held);
        system.settle();
        let (mut first, mut second) = (early.guard(), late.guard());
        assert!(first.is_some() != second.is_some(), "{algorithm}");
        let next = first.take().or(second.take()).unwrap();
        assert!(next.fence() > fence && next.fence() > token(2, 0), "{algorithm}");
    }
}

#[tokio::test]
async fn a_message_of_an_old_view_is_dropped() {
    let mut system = System::new(2, "naimi-trehel", |_| {});
    let far = system.ask(1, "a");
    drop(far);
    system.decide_and_install();
    system.settle();
    let dropped: u64 = system.tables.iter().map(|table| table.observer.dropped.get()).sum();
    assert_eq!(dropped, 1);
    let one = system.ask(1, "a");
    system.settle();
    drop(one.must());
}

#[tokio::test]
async fn nothing_is_granted_before_all_members_have_met() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm, |_| {});
        // The first node begins another life; those who knew the one before say nothing to it.
        let again = System::new(3, algorithm, |_| {});
        let reborn = Table::new(
            &Config::new(
                NodeId::new(0),
                vec!["127.0.0.1:1".into(), "127.0.0.1:2".into(), "127.0.0.1:3".into()],
                Plans::new(Plan::named(algorithm, 3).unwrap()),
            ),
            again.service.clone(),
            Arc::new(Exit { network: Arc::downgrade(&system.network), from: 0 }),
            Arc::new(Observer::new(NodeId::new(0))),
        )
        .unwrap();
        reborn.open();
        let held = system.ask(1, "a");
        system.settle();
        let _held = held.must();
        match reborn.ask("a", "").unwrap() {
            Asked::Granted(guard) => panic!("{algorithm}: {guard:?} beside another holder"),
            Asked::Waiting(_) => assert!(!reborn.view().has_begun()),
        }
    }
}

#[tokio::test]
async fn nothing_is_entered_after_the_lease() {
    let mut system = System::new(2, "naimi-trehel", |_| {});
    let held = system.ask(0, "a").must();
    let mut waiting = system.ask(0, "a");
    *system.service.lease.lock().unwrap() = Lease::Over;
    assert!(!held.is_valid());
    held.lost().now_or_never().expect("it is lost at once");
    drop(held);
    system.settle();
    assert!(!waiting.is_in());
}

#[tokio::test]
async fn a_node_that_leaves_passes_its_resting_tokens_on() {
    let mut system = System::new(3, "suzuki-kasami", |_| {});
    let guard = system.ask(0, "a").must();
    drop(guard);
    let leaving = Arc::clone(&system.tables[0]);
    leaving.leave();
    let passed = tokio::spawn(async move { leaving.pass_tokens_on(Duration::from_secs(5)).await });
    while !passed.is_finished() {
        system.settle();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = system.tables[1].observer.sent.clone();
    drop(system.ask(1, "a").must());
    let label = crate::observe::MessageLabels { algorithm: "suzuki-kasami", message: "REQUEST" };
    assert_eq!(before.get_or_create(&label).get(), 2, "only the REQUESTs that fetched it");
    assert!(system.tables[0].ask("a", "").is_err());
}

#[tokio::test]
async fn an_idle_token_is_paced_and_hurries_when_somebody_waits() {
    let pace =
        crate::config::Pace { first: Duration::from_millis(1), longest: Duration::from_secs(3600) };
    let mut system = System::new(3, "token-ring", |config| config.pace = pace);
    let first = system.ask(1, "a");
    system.settle();
    drop(first.must());
    // It soon waits for minutes.
    let seen = |system: &System| -> u64 {
        let label = crate::observe::MessageLabels { algorithm: "token-ring", message: "TOKEN" };
        system.tables.iter().map(|table| table.observer.sent.get_or_create(&label).get()).sum()
    };
    for _ in 0..100 {
        system.settle();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(seen(&system) < 40, "{} messages of an idle token", seen(&system));
    for node in [2, 0, 1, 1, 2] {
        let one = system.ask(node, "a");
        system.settle();
        drop(one.must());
    }
}

#[tokio::test]
async fn names_and_limits_are_checked() {
    let system = System::new(1, "central", |config| {
        config.limits.locks = 2;
        config.limits.waiters = 1;
    });
    let table = &system.tables[0];
    let said = |name: &str| table.ask(name, "").map(|_| ()).unwrap_err().to_string();
    assert!(said("").contains("1 to 255 bytes"));
    assert!(said("a\nb").contains("a\\nb"));
    assert!(said(&"x".repeat(256)).contains("1 to 255 bytes"));
    let _held = (system.ask(0, "a").must(), system.ask(0, "b").must());
    assert!(said("c").contains("limits.locks"));
    let _waiting = system.ask(0, "a");
    assert!(said("a").contains("limits.waiters"));
}

#[tokio::test]
async fn a_message_is_told_with_one_number_where_it_is_sent_and_where_it_is_taken() {
    for algorithm in ["suzuki-kasami", "maekawa", "token-ring"] {
        let mut system = System::new(4, algorithm, |_| {});
        let mut listening: Vec<_> =
            system.tables.iter().map(|table| table.observer.listen()).collect();
        for node in [1, 3, 0, 2] {
            let one = system.ask(node, "a");
            system.settle();
            drop(one.must());
        }
        system.settle();
        let (mut sent, mut taken) = (BTreeMap::new(), Vec::new());
        for events in &mut listening {
            while let Ok(event) = events.try_next() {
                match event.what {
                    What::Sent { to, sequence, message, .. } => {
                        assert!(sent.insert((event.node, to, sequence), message).is_none());
                    }
                    What::Received { from, sequence, message, .. } => {
                        taken.push(((from, event.node, sequence), message));
                    }
                    _ => {}
                }
            }
        }
        assert!(taken.len() > 3, "{algorithm}: {taken:?}");
        for (way, message) in taken {
            assert_eq!(sent.get(&way), Some(&message), "{algorithm}: {way:?}");
        }
    }
}

#[tokio::test]
async fn whoever_waits_no_longer_is_told_of() {
    let system = System::new(1, "central", |_| {});
    let _held = system.ask(0, "a").must();
    let mut events = system.tables[0].observer.listen();
    drop(system.ask(0, "a"));
    let waiting = system.ask(0, "a");
    system.tables[0].leave();
    drop(waiting);
    let told: Vec<What> = std::iter::from_fn(|| events.try_next().ok()).map(|e| e.what).collect();
    let lock = || "a".to_string();
    let (asked, gone) = (What::Requested { lock: lock() }, What::Withdrawn { lock: lock() });
    assert_eq!(told, [asked.clone(), gone.clone(), asked, gone]);
}
