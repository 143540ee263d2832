//! Members over a network in memory, on virtual time.

mod forget;
mod limits;
mod rules;
mod told;
mod views;

use skeptron_core::mutex::Mode;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use skeptron_core::catalogue;
use skeptron_core::monitor::{Exclusion, FenceMonitor};
use skeptron_core::{NodeId, mutex};

use super::{Acquired, LockError, Settings};
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, Halt, NeedView, NotServed, Timer};
use crate::link::tests::chance::{Chance, for_seeds};
use crate::plan::{Plan, Plans};
use crate::query::PeerAnswer;
use crate::view::{Lease, View};
use crate::wire::{Envelope, Payload};
use crate::{Fence, Limits, Lock, MemberCore, MemberId, Pace};

/// Whoever waits, by number.
type Core = MemberCore<u32>;

/// What is on its way from one member to another, each with its number.
type Queue = VecDeque<(u64, Vec<u8>)>;

/// First in, first out between each two members; otherwise in the order that the test chooses.
#[derive(Default)]
struct Network {
    links: BTreeMap<(usize, usize), Queue>,
    sent: u64,
    granted: Vec<(u32, Fence)>,
    refused: Vec<(u32, NotServed)>,
    timers: Vec<(usize, MonoTime, Timer)>,
    halted: Vec<(usize, Halt)>,
    needed: Vec<NeedView>,
    /// Events of locks, in words.
    told: Vec<String>,
    /// Messages of algorithms sent.
    messages: usize,
    against_the_rules: usize,
    stale: usize,
}

struct Performing<'a> {
    network: &'a mut Network,
    me: usize,
    now: MonoTime,
}

impl Effects<u32> for Performing<'_> {
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        self.network.sent += 1;
        let link = self.network.links.entry((self.me, to.place())).or_default();
        link.push_back((self.network.sent, postcard::to_stdvec(envelope).unwrap()));
        self.network.sent
    }

    fn grant(&mut self, waiter: u32, _: &Arc<Lock<u32>>, fence: Fence) {
        self.network.granted.push((waiter, fence));
    }

    fn refuse(&mut self, waiter: u32, why: NotServed) {
        self.network.refused.push((waiter, why));
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.network.timers.push((self.me, self.now.after(after), timer));
    }

    fn answer(&mut self, _: MemberId, _: u64, _: &PeerAnswer) {}

    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Sent { message, to, sequence, .. } => {
                self.network.messages += 1;
                self.network.told.push(format!("P{} {to} {sequence} {message}", self.me + 1));
            }
            Event::Received { message, from, sequence, .. } => {
                self.network.told.push(format!("{from} P{} {sequence} {message}", self.me + 1));
            }
            Event::Refused { why, .. } => {
                self.network.told.push(why.to_string());
                self.network.against_the_rules += 1;
            }
            Event::Stale { .. } => self.network.stale += 1,
            Event::Requested { .. } => self.network.told.push("requested".to_string()),
            Event::Withdrawn { .. } => self.network.told.push("withdrawn".to_string()),
            Event::Lost { .. } => self.network.told.push("lost".to_string()),
            _ => {}
        }
    }

    fn need_view(&mut self, why: NeedView) {
        self.network.needed.push(why);
    }

    fn halt(&mut self, why: &Halt) {
        self.network.halted.push((self.me, why.clone()));
    }
}

struct System {
    cores: Vec<Core>,
    network: Network,
    view: Arc<View>,
    now: MonoTime,
    waiters: u32,
    chance: Chance,
}

/// A held lock.
#[derive(Clone, Copy, Debug)]
struct Guard {
    node: usize,
    fence: Fence,
}

/// A request that was not granted at once.
#[derive(Clone, Copy, Debug)]
struct Wait {
    node: usize,
    who: u32,
    ticket: u64,
}

fn settings(algorithm: &str) -> Settings {
    Settings {
        plans: Plans::new(Plan::named(algorithm).unwrap()),
        handovers: 0,
        pace: Pace::default(),
        limits: Limits::default(),
        flaw: None,
    }
}

impl System {
    fn new(nodes: usize, algorithm: &str) -> Self {
        Self::with(nodes, settings(algorithm))
    }

    fn with(nodes: usize, settings: Settings) -> Self {
        let addresses = (0..nodes).map(|k| format!("127.0.0.1:{}", k + 1)).collect();
        let mut view = View::of_addresses(1, addresses);
        view.members.iter_mut().for_each(|member| member.incarnation = Some(1));
        let view = Arc::new(view);
        let core = |k| Core::new(MemberId::at(k), settings.clone(), Arc::clone(&view)).unwrap();
        let mut system = System {
            cores: (0..nodes).map(core).collect(),
            network: Network::default(),
            view,
            now: MonoTime::from_nanos(1),
            waiters: 0,
            chance: Chance::new(1),
        };
        for node in 0..nodes {
            system.at(node, |core, _, effects| core.open(effects));
        }
        system.settle();
        system
    }

    fn at<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&Core, MonoTime, &mut dyn Effects<u32>) -> T,
    ) -> T {
        let now = self.now;
        let mut performing = Performing { network: &mut self.network, me: node, now };
        act(&self.cores[node], now, &mut performing)
    }

    /// Delivers the first message of a link.
    fn deliver(&mut self, (from, to): (usize, usize)) {
        let link = self.network.links.get_mut(&(from, to)).unwrap();
        let (sequence, bytes) = link.pop_front().unwrap();
        let envelope: Envelope<'_> = postcard::from_bytes(&bytes).unwrap();
        self.at(to, |core, now, effects| {
            core.receive(now, MemberId::at(from), sequence, &envelope, effects);
        });
    }

    /// Delivers one message of a random link; whether there was one.
    fn deliver_some(&mut self) -> bool {
        let busy = self.network.links.iter().filter(|(_, link)| !link.is_empty());
        let busy: Vec<(usize, usize)> = busy.map(|(&link, _)| link).collect();
        if busy.is_empty() {
            return false;
        }
        let link = busy[self.chance.below(busy.len())];
        self.deliver(link);
        true
    }

    fn settle(&mut self) {
        let mut steps = 0;
        while self.deliver_some() {
            steps += 1;
            assert!(steps < 100_000, "the network does not come to rest");
        }
    }

    /// Lets time pass, and timers ring.
    fn pass(&mut self, time: Duration) {
        let end = self.now.after(time);
        loop {
            self.settle();
            let due = self.network.timers.iter().enumerate();
            let next = due.min_by_key(|(_, (_, at, _))| *at).map(|(place, _)| place);
            match next {
                Some(place) if self.network.timers[place].1 <= end => {
                    let (node, at, timer) = self.network.timers.swap_remove(place);
                    self.now = self.now.max(at);
                    self.at(node, |core, now, effects| core.expire(now, &timer, effects));
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn ask(&mut self, node: usize, name: &str) -> Result<Guard, Wait> {
        self.waiters += 1;
        let who = self.waiters;
        let lock = self.cores[node].lock(name).unwrap();
        let acquired = self.at(node, |core, now, effects| {
            core.acquire(now, &lock, ("", Mode::EXCLUSIVE), || who, effects)
        });
        match acquired.unwrap() {
            Acquired::Granted(fence) => Ok(Guard { node, fence }),
            Acquired::Waiting(ticket) => Err(Wait { node, who, ticket }),
        }
    }

    /// The guard, if the wait has been granted.
    fn granted(&self, wait: Wait) -> Option<Guard> {
        let mut granted = self.network.granted.iter();
        let (_, fence) = granted.find(|(who, _)| *who == wait.who)?;
        Some(Guard { node: wait.node, fence: *fence })
    }

    /// Asks, lets everything happen, and expects the lock.
    #[track_caller]
    fn must(&mut self, node: usize, name: &str) -> Guard {
        self.ask(node, name).unwrap_or_else(|wait| {
            self.settle();
            self.granted(wait).expect("it should be granted")
        })
    }

    fn release(&mut self, guard: Guard, name: &str) -> bool {
        let lock = self.cores[guard.node].lock(name).unwrap();
        self.at(guard.node, |core, now, effects| core.release(now, &lock, guard.fence, effects))
    }

    /// The waiter goes away, and gives back what it was granted.
    fn cancel(&mut self, wait: Wait, name: &str) {
        let lock = self.cores[wait.node].lock(name).unwrap();
        let waited =
            self.at(wait.node, |core, now, effects| core.cancel(now, &lock, wait.ticket, effects));
        match (waited, self.granted(wait)) {
            (Some(who), None) => assert_eq!(who, wait.who),
            (None, Some(guard)) => assert!(self.release(guard, name)),
            other => panic!("{wait:?}: {other:?}"),
        }
    }

    fn is_held(&self, guard: Guard, name: &str) -> bool {
        let core = &self.cores[guard.node];
        core.is_held(self.now, &core.lock(name).unwrap(), guard.fence)
    }

    /// Decides the next view, with these members; nobody has heard of it yet.
    fn decide(&mut self, members: impl Fn(usize) -> bool) {
        let mut view = (*self.view).clone();
        view.epoch += 1;
        view.members.retain(|member| members(member.id.place()));
        self.view = Arc::new(view);
    }

    /// Decides the next view, in which a member is away.
    fn decide_away(&mut self, node: usize) {
        self.decide(|_| true);
        let view = Arc::make_mut(&mut self.view);
        let rank = view.rank(MemberId::at(node)).unwrap();
        let life = view.members.remove(rank.index());
        view.away.push(life);
    }

    /// Decides the next view, without those who were away; they are members again if they are `back`.
    fn decide_nobody_away(&mut self, back: bool) {
        self.decide(|_| true);
        let view = Arc::make_mut(&mut self.view);
        let away = std::mem::take(&mut view.away);
        if back {
            view.members.extend(away);
            view.members.sort_by_key(|member| member.id);
        }
    }

    /// A name whose home is this member, in the present view and in another one.
    fn name_at(&self, node: usize, other: &View, home_there: usize) -> String {
        let home = |view: &View, name: &str| view.members[view.home(name).index()].id.place();
        let is_it =
            |name: &String| home(&self.view, name) == node && home(other, name) == home_there;
        (0..).map(|n| format!("a{n}")).find(is_it).unwrap()
    }

    /// A member hears of the latest view.
    fn install(&mut self, node: usize) {
        let view = Arc::clone(&self.view);
        self.at(node, |core, now, effects| core.install(now, view, effects));
    }

    fn install_all(&mut self) {
        for node in self.view.ids().map(MemberId::place).collect::<Vec<_>>() {
            self.install(node);
        }
    }
}

/// Algorithms whose token never rests need time, not only messages.
fn resting() -> impl Iterator<Item = &'static str> {
    catalogue::for_clusters().map(|info| info.name).filter(|&name| name != "token-ring")
}
