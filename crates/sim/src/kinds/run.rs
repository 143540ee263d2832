//! The event loop.

use skeptron_core::catalogue::Info;
use skeptron_core::monitor::{Fence, FenceMonitor, Occupancy, Progress, Stall};
use skeptron_core::mutex::shared::{InnerVisitor, Shared, SharedMsg, dispatch_inner};
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::mutex::{Mode, Mutex, Usage};
use skeptron_core::{Effect, Input, Message, NodeId, Outbox, Protocol as _, Refused};

use super::Kinds;
use super::report::KindsReport;
use crate::applications::{Applications, Plan};
use crate::chance::{Chance, Purpose};
use crate::metrics::{Samples, Violation, units};
use crate::network::Network;
use crate::queue::{Queue, QueueKind};
use crate::run::{MOST_VIOLATIONS, size_of_message};
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::Ticks;
use crate::trace_hash::TraceHash;
use crate::workload::Workload;

mod cancel;
mod finish;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct KindsOutcome {
    /// What was measured.
    pub report: KindsReport,
    /// What happened, one line for each thing, if that was wanted.
    pub timeline: Vec<String>,
}

/// Runs `scenario` with `info` as the inner lock. Channels lose nothing and nodes do not crash, whatever the
/// scenario says: [`ScenarioError::KindsWithFaults`].
///
/// # Errors
/// If the scenario is impossible, or kinds are not offered over this algorithm.
pub fn run_kinds(
    info: &'static Info,
    scenario: &Scenario,
    kinds: &Kinds,
    timeline: bool,
) -> Result<KindsOutcome, ScenarioError> {
    scenario.check(info)?;
    if !scenario.faults.is_none() {
        return Err(ScenarioError::KindsWithFaults);
    }
    let run = Run { info, scenario, kinds, timeline };
    dispatch_inner(info, run).unwrap_or(Err(ScenarioError::NoKinds(info.name)))
}

struct Run<'a> {
    info: &'static Info,
    scenario: &'a Scenario,
    kinds: &'a Kinds,
    timeline: bool,
}

impl InnerVisitor for Run<'_> {
    type Output = Result<KindsOutcome, ScenarioError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        Ok(Simulation::<P>::new(self)?.run())
    }
}

/// What can happen.
enum Event<M> {
    Deliver(Envelope<M>),
    /// The application of a node wants in.
    Want(NodeId),
    /// An entry has been what it is for long enough.
    Turn(NodeId, u64),
    /// A request has waited for as long as it wants to.
    GiveUp(NodeId, u64),
    /// Requests arrive from outside.
    Arrival,
}

/// A message on its way, with what the driver adds.
struct Envelope<M> {
    from: NodeId,
    to: NodeId,
    fence: u64,
    /// On whose account it is: a place in the list of usages.
    account: usize,
    message: M,
}

/// One request, from when it is made to when it has left.
#[derive(Clone, Copy, Debug)]
struct Visit {
    id: u64,
    account: usize,
    usage: Usage,
    /// As what it is inside now.
    mode: Mode,
    asked_at: Ticks,
    /// Since when it wants to be exclusive.
    upgrading: Option<Ticks>,
    upgrades: u8,
}

/// What is counted for each usage.
#[derive(Clone, Default)]
struct Account {
    entries: u64,
    messages: u64,
    client: Samples,
    longest_bypass: u64,
}

struct Simulation<'a, P: Mutex> {
    info: &'static Info,
    scenario: &'a Scenario,
    kinds: &'a Kinds,
    now: Ticks,
    queue: Queue<Event<SharedMsg<P::Message>>>,
    nodes: Vec<Shared<P>>,
    out: Outbox<Shared<P>>,
    network: Network,
    applications: Applications<'a>,
    /// Which of its usages a node's next request is for, and what an entry does after an upgrade.
    chances: Vec<Chance>,
    waiting: Vec<Option<Visit>>,
    inside: Vec<Vec<Visit>>,
    visits: u64,
    fences: Vec<Fence>,

    occupancy: Occupancy,
    requests: Progress,
    upgrades: Progress,
    fence_monitor: FenceMonitor,
    violations: Vec<Violation>,
    stall: Option<Stall>,

    /// All usages there are.
    usages: Vec<Usage>,
    accounts: Vec<Account>,
    /// On whose account the present step is.
    account: usize,
    measured: Measured,
    exits: u64,
    started_at: Ticks,
    /// When measuring ended; nobody asks any more.
    ended: Option<Ticks>,
    refused: u64,
    events: u64,
    hash: TraceHash,
    timeline: Option<Vec<String>>,
}

/// Counts that begin anew after the warm-up.
#[derive(Clone, Default)]
struct Measured {
    messages: u64,
    bytes: u64,
    by_kind: Vec<u64>,
    upgraded: u64,
    denied: u64,
    downgraded: u64,
    given_up: u64,
    upgrade_delay: Samples,
    /// How many were inside, times how long.
    occupied: u128,
    occupied_until: Ticks,
    most: usize,
}

impl Measured {
    fn new(kinds: usize, now: Ticks) -> Self {
        Measured { by_kind: vec![0; kinds], occupied_until: now, ..Measured::default() }
    }
}

impl<'a, P: Mutex> Simulation<'a, P> {
    fn new(run: Run<'a>) -> Result<Self, ScenarioError> {
        let Run { info, scenario, kinds, timeline } = run;
        let n = scenario.setup.nodes();
        let mut usages: Vec<Usage> = Vec::new();
        for usage in kinds.usages.iter().flatten() {
            if !usages.contains(usage) {
                usages.push(*usage);
            }
        }
        let of_node = |node| Chance::of_node(scenario.seed, Purpose::Usage, node);
        Ok(Simulation {
            info,
            scenario,
            kinds,
            now: 0,
            queue: Queue::new(QueueKind::default()),
            nodes: Shared::build(info.name, &scenario.setup, kinds.flaw)?,
            out: Outbox::new(),
            network: scenario.hand.network(&scenario.latency, scenario.order, n, scenario.seed),
            applications: Applications::new(scenario),
            chances: (0..n as u64).map(of_node).collect(),
            waiting: vec![None; n],
            inside: vec![Vec::new(); n],
            visits: 0,
            fences: vec![Fence::default(); n],
            occupancy: Occupancy::default(),
            requests: Progress::new(n),
            upgrades: Progress::new(n),
            fence_monitor: FenceMonitor::default(),
            violations: Vec::new(),
            stall: None,
            accounts: vec![Account::default(); usages.len()],
            usages,
            account: 0,
            measured: Measured::new(SharedMsg::<P::Message>::KINDS.len(), 0),
            exits: 0,
            started_at: 0,
            ended: None,
            refused: 0,
            events: 0,
            hash: TraceHash::new(scenario.seed),
            timeline: timeline.then(Vec::new),
        })
    }

    fn run(mut self) -> KindsOutcome {
        for node in NodeId::all(self.nodes.len()) {
            self.step(node, Input::Start);
        }
        // In a closed workload each place of a node is a user of its own.
        let users = match self.scenario.workload {
            Workload::Closed { .. } => self.kinds.at_once,
            _ => 1,
        };
        for _ in 0..users {
            for plan in self.applications.opening() {
                self.plan(plan);
            }
        }
        while let Some((at, event)) = self.queue.pop() {
            self.now = at;
            self.events += 1;
            self.mix(&event);
            self.handle(event);
            if self.stall.is_some() || self.violations.len() >= MOST_VIOLATIONS || self.is_served()
            {
                break;
            }
        }
        if self.stall.is_none() && self.violations.len() < MOST_VIOLATIONS {
            self.stall = self.requests.at_rest().or_else(|| self.upgrades.at_rest());
        }
        self.finish()
    }

    fn is_served(&self) -> bool {
        let waiting = self.requests.waiting() + self.upgrades.waiting();
        self.ended.is_some() && waiting == 0 && self.occupancy.is_empty()
    }

    fn plan(&mut self, plan: Plan) {
        match plan {
            Plan::Want(node, at) => self.queue.push(at, Event::Want(node)),
            Plan::Arrival(at) => self.queue.push(at, Event::Arrival),
        }
    }

    fn mix(&mut self, event: &Event<SharedMsg<P::Message>>) {
        let (tag, node, detail) = match event {
            Event::Deliver(envelope) => {
                let peers = (envelope.from.index() as u64) << 32 | envelope.message.kind() as u64;
                (1, envelope.to.index(), peers ^ envelope.fence.rotate_left(16))
            }
            Event::Want(node) => (2, node.index(), 0),
            Event::Turn(node, id) => (3, node.index(), *id),
            Event::Arrival => (4, 0, 0),
            Event::GiveUp(node, id) => (5, node.index(), *id),
        };
        self.hash.mix(self.now.rotate_left(32) ^ (node as u64) << 3 ^ tag, detail);
    }

    fn handle(&mut self, event: Event<SharedMsg<P::Message>>) {
        match event {
            Event::Deliver(envelope) => self.deliver(envelope),
            Event::Want(node) => self.want(node),
            Event::Turn(node, id) => self.turn(node, id),
            Event::GiveUp(node, id) => self.give_up(node, id),
            Event::Arrival if self.ended.is_none() => {
                let mut wanting = Vec::new();
                let next = self.applications.arrive(self.now, &mut wanting);
                wanting.into_iter().for_each(|node| self.want(node));
                if let Some(plan) = next {
                    self.plan(plan);
                }
            }
            Event::Arrival => {}
        }
    }

    fn want(&mut self, node: NodeId) {
        if self.ended.is_none() {
            self.applications.queue(node, self.now);
            self.request_if_possible(node);
        }
    }

    /// One request waits at a node at a time, and none beside an exclusive entry of it.
    fn request_if_possible(&mut self, node: NodeId) {
        let inside = &self.inside[node.index()];
        let exclusive = inside.iter().any(|visit| visit.mode.is_exclusive());
        if self.waiting[node.index()].is_some() || exclusive || inside.len() >= self.kinds.at_once {
            return;
        }
        let Some(asked_at) = self.applications.next_request(node) else { return };
        let list = &self.kinds.usages[node.index()];
        let usage = list[self.chances[node.index()].below(list.len() as u64) as usize];
        let account = self.usages.iter().position(|&other| other == usage).unwrap_or(0);
        self.visits += 1;
        let id = self.visits;
        let mode = usage.mode;
        let visit = Visit { id, account, usage, mode, asked_at, upgrading: None, upgrades: 0 };
        self.waiting[node.index()] = Some(visit);
        self.requests.request(node);
        self.say(|| format!("{node} wants in as {mode}"));
        if usage.cancels {
            self.wait_for_long(node, id);
        }
        self.act(node, account, Access::Enter(mode));
    }

    fn act(&mut self, node: NodeId, account: usize, access: Access) {
        self.account = account;
        self.step(node, Input::Command(access));
    }

    fn deliver(&mut self, envelope: Envelope<SharedMsg<P::Message>>) {
        let Envelope { from, to, fence, account, message } = envelope;
        if self.requests.message() {
            self.stall = Some(Stall::Livelock(self.requests.who_waits()));
        }
        self.fences[to.index()].receive(fence);
        self.say(|| format!("{to} gets {} of {from}", message.label()));
        self.account = account;
        self.step(to, Input::Deliver { from, message });
    }

    fn step(&mut self, node: NodeId, input: Input<Shared<P>>) {
        let mut out = std::mem::take(&mut self.out);
        if let Err(refused) = self.nodes[node.index()].step(input, &mut out) {
            self.refuse(node, refused);
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.post(node, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone());
                    }
                }
                Effect::Emit(event) => self.told(node, event),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        self.out = out;
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: SharedMsg<P::Message>) {
        if self.ended.is_none() {
            self.measured.messages += 1;
            self.measured.bytes += size_of_message(&message);
            self.measured.by_kind[message.kind()] += 1;
            self.accounts[self.account].messages += 1;
        }
        let fence = self.fences[from.index()].attach();
        let at = self.network.arrival(self.now, from, to);
        let account = self.account;
        self.queue.push(at, Event::Deliver(Envelope { from, to, fence, account, message }));
    }

    /// The node tells its application something.
    fn told(&mut self, node: NodeId, event: AccessEvent) {
        match event {
            AccessEvent::Entered => self.entered(node),
            AccessEvent::Upgraded => self.upgraded(node),
            AccessEvent::Denied => self.denied(node),
        }
    }

    fn entered(&mut self, node: NodeId) {
        let Some(visit) = self.waiting[node.index()].take() else {
            return self.violate("exclusion", format!("{node} enters without having asked"));
        };
        let bypass = self.requests.enter(node);
        self.come_in(node, visit.mode);
        self.inside[node.index()].push(visit);
        if self.is_measuring() {
            let account = &mut self.accounts[visit.account];
            account.entries += 1;
            account.client.add(self.now - visit.asked_at);
            account.longest_bypass = account.longest_bypass.max(bypass);
        }
        self.stay(node, visit.id);
        self.request_later(node);
    }

    /// Somebody is inside anew: the judges look, and it gets its fence.
    fn come_in(&mut self, node: NodeId, mode: Mode) {
        let fence = self.fences[node.index()].enter();
        self.say(|| format!("{node} is inside as {mode}, fence {fence}"));
        if let Some(before) = self.fence_monitor.enter(fence) {
            let detail =
                format!("{node} enters with fence {fence} after fence {before} was given out");
            self.violate("fence", detail);
        }
        self.pass_time();
        if let Some(crowd) = self.occupancy.enter(node, mode) {
            let detail =
                format!("{} is inside as {} among {}", crowd.node, crowd.mode, crowd.inside);
            self.violate("exclusion", detail);
        }
        self.measured.most = self.measured.most.max(self.occupancy.len());
    }

    fn go_out(&mut self, node: NodeId, mode: Mode) {
        self.pass_time();
        self.occupancy.leave(node, mode);
    }

    /// Up to now so many were inside.
    fn pass_time(&mut self) {
        let since = self.now - self.measured.occupied_until;
        self.measured.occupied_until = self.now;
        if self.ended.is_none() {
            self.measured.occupied += u128::from(since) * self.occupancy.len() as u128;
        }
    }

    fn stay(&mut self, node: NodeId, id: u64) {
        let at = self.now + self.applications.section(node);
        self.queue.push(at, Event::Turn(node, id));
    }

    /// The node is in a step: its next request is an event of its own, at the same time.
    fn request_later(&mut self, node: NodeId) {
        if let Some(at) = self.applications.next_request(node) {
            self.applications.queue_first(node, at);
            self.queue.push(self.now, Event::Turn(node, 0));
        }
    }

    /// An entry leaves, or becomes something else first.
    fn turn(&mut self, node: NodeId, id: u64) {
        let Some(place) = self.inside[node.index()].iter().position(|visit| visit.id == id) else {
            return self.request_if_possible(node);
        };
        let visit = self.inside[node.index()][place];
        let Visit { account, usage, .. } = visit;
        let is_exclusive = visit.mode.is_exclusive();
        if !is_exclusive && visit.upgrades < usage.upgrades {
            let visit = &mut self.inside[node.index()][place];
            visit.upgrades += 1;
            visit.upgrading = Some(self.now);
            let mode = visit.mode;
            // A second wish of a node is denied at once, and only one is watched.
            self.upgrades.request(node);
            self.say(|| format!("{node} wants to be exclusive"));
            if usage.cancels {
                self.wait_for_long(node, id);
            }
            return self.act(node, account, Access::Upgrade(mode));
        }
        // After an upgrade every second one goes back, as what it was.
        let returns = usage.upgrades > 0 && self.chances[node.index()].happens(0.5);
        if is_exclusive && (usage.downgrades || returns) {
            let mode = if usage.downgrades { Mode::SHARED } else { usage.mode };
            self.go_out(node, Mode::EXCLUSIVE);
            self.occupancy.enter(node, mode);
            self.inside[node.index()][place].mode = mode;
            self.measured.downgraded += u64::from(self.is_measuring());
            self.say(|| format!("{node} goes on as {mode}"));
            self.stay(node, id);
            self.act(node, account, Access::Downgrade(mode));
            return self.request_if_possible(node);
        }
        self.leave(node, place);
    }

    fn upgraded(&mut self, node: NodeId) {
        let Some((place, since)) = self.upgrading(node) else {
            return self.violate("exclusion", format!("{node} upgrades without having asked"));
        };
        self.upgrades.forget(node);
        let visit = &mut self.inside[node.index()][place];
        let (id, mode) = (visit.id, visit.mode);
        visit.upgrading = None;
        visit.mode = Mode::EXCLUSIVE;
        if self.is_measuring() {
            self.measured.upgraded += 1;
            self.measured.upgrade_delay.add(self.now - since);
        }
        self.go_out(node, mode);
        self.come_in(node, Mode::EXCLUSIVE);
        self.stay(node, id);
    }

    /// It leaves soon, for another one waits for that.
    fn denied(&mut self, node: NodeId) {
        let Some((place, _)) = self.upgrading(node) else {
            return self.violate("refused", format!("{node} is denied what it did not ask for"));
        };
        let visit = &mut self.inside[node.index()][place];
        visit.upgrading = None;
        visit.upgrades = visit.usage.upgrades;
        let id = visit.id;
        if !self.inside[node.index()].iter().any(|visit| visit.upgrading.is_some()) {
            self.upgrades.forget(node);
        }
        self.measured.denied += u64::from(self.is_measuring());
        self.say(|| format!("{node} is denied"));
        self.queue.push(self.now, Event::Turn(node, id));
    }

    /// The entry of `node` that wants to be exclusive: the last that asked is answered first.
    fn upgrading(&self, node: NodeId) -> Option<(usize, Ticks)> {
        let visits = self.inside[node.index()].iter().enumerate();
        let upgrading = visits.filter_map(|(place, visit)| Some((place, visit.upgrading?)));
        upgrading.max_by_key(|&(place, since)| (since, self.inside[node.index()][place].id))
    }

    fn is_measuring(&self) -> bool {
        self.exits >= self.scenario.warmup && self.ended.is_none()
    }

    fn leave(&mut self, node: NodeId, place: usize) {
        let visit = self.inside[node.index()].remove(place);
        self.go_out(node, visit.mode);
        self.exits += 1;
        self.say(|| format!("{node} leaves"));
        self.act(node, visit.account, Access::Leave(visit.mode));
        if self.exits == self.scenario.warmup {
            let kinds = SharedMsg::<P::Message>::KINDS.len();
            self.measured = Measured::new(kinds, self.now);
            self.accounts.fill(Account::default());
            self.started_at = self.now;
        }
        if self.exits == self.scenario.warmup + self.scenario.entries {
            self.ended = Some(self.now);
            for node in NodeId::all(self.nodes.len()) {
                self.applications.forget(node);
            }
        }
        if self.ended.is_none()
            && let Some(plan) = self.applications.after_exit(node, self.now, |_| true)
        {
            self.plan(plan);
        }
        self.request_if_possible(node);
    }

    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.refused += 1;
        self.violate("refused", format!("{node} refuses: {refused}"));
    }

    fn violate(&mut self, property: &'static str, detail: String) {
        self.say(|| format!("VIOLATION of {property}: {detail}"));
        self.violations.push(Violation { property, at: units(self.now), detail });
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if let Some(timeline) = &mut self.timeline {
            timeline.push(format!("{:>10.3}  {}", units(self.now), what()));
        }
    }
}
