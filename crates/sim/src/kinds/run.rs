//! Users of a lock with kinds, and who judges and measures it.

use skeptron_core::catalogue::Info;
use skeptron_core::monitor::{Fence, FenceMonitor, Occupancy, Progress, Stall};
use skeptron_core::mutex::shared::{InnerVisitor, Shared, SharedMsg, dispatch_inner};
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::mutex::{Mode, Mutex, Usage};
use skeptron_core::{Message as _, NodeId, Refused};

use super::Kinds;
use super::report::KindsReport;
use crate::applications::{self, Applications};
use crate::chance::{Chance, Purpose};
use crate::driver::SharedSections;
use crate::engine::{self, Control, Happening, Mixing, Plan, World};
use crate::environment::{Environment, MOST_VIOLATIONS};
use crate::hand::{Deed, Impossible};
use crate::metrics::{Samples, Violation, units};
use crate::queue::QueueKind;
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::Ticks;
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
        let (name, setup) = (self.info.name, &self.scenario.setup);
        let nodes = Shared::<P>::build(name, setup, self.kinds.flaw)?;
        let occupants = Occupants::new(self, SharedMsg::<P::Message>::KINDS);
        engine::run(nodes, name, setup, QueueKind::default(), occupants)
    }
}

/// What happens at the users.
enum Act {
    /// The application of a node wants in.
    Want(NodeId),
    /// An entry has been what it is for long enough.
    Turn(NodeId, u64),
    /// A request has waited for as long as it wants to.
    GiveUp(NodeId, u64),
    /// Requests arrive from outside.
    Arrival,
}

impl Happening for Act {
    fn code(&self) -> (u64, NodeId, u64) {
        match self {
            Act::Want(node) => (2, *node, 0),
            Act::Turn(node, id) => (3, *node, *id),
            Act::Arrival => (4, NodeId::new(0), 0),
            Act::GiveUp(node, id) => (5, *node, *id),
        }
    }
}

/// What rides on a message.
#[derive(Clone)]
struct Tag {
    fence: u64,
    /// On whose account it is: a place in the list of usages.
    account: usize,
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

/// Users with entries in modes, and who judges and measures them.
struct Occupants<'a> {
    info: &'static Info,
    scenario: &'a Scenario,
    kinds: &'a Kinds,
    /// The names of all kinds of messages.
    labels: &'static [&'static str],
    env: Environment,
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

impl<'a> Occupants<'a> {
    fn new(run: Run<'a>, labels: &'static [&'static str]) -> Self {
        let Run { info, scenario, kinds, timeline } = run;
        let Scenario { seed, latency, order, faults, hand, .. } = scenario;
        let n = scenario.setup.nodes();
        let mut usages: Vec<Usage> = Vec::new();
        for usage in kinds.usages.iter().flatten() {
            if !usages.contains(usage) {
                usages.push(*usage);
            }
        }
        let of_node = |node| Chance::of_node(scenario.seed, Purpose::Usage, node);
        Occupants {
            info,
            scenario,
            kinds,
            labels,
            env: Environment::new(n, *seed, latency, *order, faults, hand),
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
            stall: None,
            accounts: vec![Account::default(); usages.len()],
            usages,
            account: 0,
            measured: Measured::new(labels.len(), 0),
            exits: 0,
            started_at: 0,
            ended: None,
            timeline: timeline.then(Vec::new),
        }
    }

    /// Whether the run has gone so wrong that it ends.
    fn is_stuck(&self) -> bool {
        self.stall.is_some() || self.env.violations.len() >= MOST_VIOLATIONS
    }

    fn is_served(&self) -> bool {
        let waiting = self.requests.waiting() + self.upgrades.waiting();
        self.ended.is_some() && waiting == 0 && self.occupancy.is_empty()
    }

    fn plan(&self, nodes: &mut dyn Control<Self>, plan: applications::Plan) {
        match plan {
            applications::Plan::Want(node, at) => nodes.plan(at, Act::Want(node)),
            applications::Plan::Arrival(at) => nodes.plan(at, Act::Arrival),
        }
    }

    fn want(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        if self.ended.is_none() {
            self.applications.queue(node, self.env.now);
            self.request_if_possible(nodes, node);
        }
    }

    /// One request waits at a node at a time, and none beside an exclusive entry of it.
    fn request_if_possible(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
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
            self.wait_for_long(nodes, node, id);
        }
        self.act(nodes, node, account, Access::Enter(mode));
    }

    fn act(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, account: usize, access: Access) {
        self.account = account;
        nodes.command(self, node, access);
    }

    fn entered(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId) {
        let Some(visit) = self.waiting[node.index()].take() else {
            return self.violate("exclusion", format!("{node} enters without having asked"));
        };
        let bypass = self.requests.enter(node);
        self.come_in(node, visit.mode);
        self.inside[node.index()].push(visit);
        if self.is_measuring() {
            let account = &mut self.accounts[visit.account];
            account.entries += 1;
            account.client.add(self.env.now - visit.asked_at);
            account.longest_bypass = account.longest_bypass.max(bypass);
        }
        self.stay(agenda, node, visit.id);
        self.request_later(agenda, node);
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
        let since = self.env.now - self.measured.occupied_until;
        self.measured.occupied_until = self.env.now;
        if self.ended.is_none() {
            self.measured.occupied += u128::from(since) * self.occupancy.len() as u128;
        }
    }

    fn stay(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId, id: u64) {
        let at = self.env.now + self.applications.section(node);
        agenda.plan(at, Act::Turn(node, id));
    }

    /// The node is in a step: its next request is an event of its own, at the same time.
    fn request_later(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId) {
        if let Some(at) = self.applications.next_request(node) {
            self.applications.queue_first(node, at);
            agenda.plan(self.env.now, Act::Turn(node, 0));
        }
    }

    /// An entry leaves, or becomes something else first.
    fn turn(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, id: u64) {
        let Some(place) = self.inside[node.index()].iter().position(|visit| visit.id == id) else {
            return self.request_if_possible(nodes, node);
        };
        let visit = self.inside[node.index()][place];
        let Visit { account, usage, .. } = visit;
        let is_exclusive = visit.mode.is_exclusive();
        if !is_exclusive && visit.upgrades < usage.upgrades {
            let visit = &mut self.inside[node.index()][place];
            visit.upgrades += 1;
            visit.upgrading = Some(self.env.now);
            let mode = visit.mode;
            // A second wish of a node is denied at once, and only one is watched.
            self.upgrades.request(node);
            self.say(|| format!("{node} wants to be exclusive"));
            if usage.cancels {
                self.wait_for_long(nodes, node, id);
            }
            return self.act(nodes, node, account, Access::Upgrade(mode));
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
            self.stay(nodes, node, id);
            self.act(nodes, node, account, Access::Downgrade(mode));
            return self.request_if_possible(nodes, node);
        }
        self.leave(nodes, node, place);
    }

    fn upgraded(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId) {
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
            self.measured.upgrade_delay.add(self.env.now - since);
        }
        self.go_out(node, mode);
        self.come_in(node, Mode::EXCLUSIVE);
        self.stay(agenda, node, id);
    }

    /// It leaves soon, for another one waits for that.
    fn denied(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId) {
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
        agenda.plan(self.env.now, Act::Turn(node, id));
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

    fn leave(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, place: usize) {
        let visit = self.inside[node.index()].remove(place);
        self.go_out(node, visit.mode);
        self.exits += 1;
        self.say(|| format!("{node} leaves"));
        self.act(nodes, node, visit.account, Access::Leave(visit.mode));
        if self.exits == self.scenario.warmup {
            self.measured = Measured::new(self.labels.len(), self.env.now);
            self.accounts.fill(Account::default());
            self.started_at = self.env.now;
        }
        if self.exits == self.scenario.warmup + self.scenario.entries {
            self.ended = Some(self.env.now);
            for node in NodeId::all(self.env.nodes) {
                self.applications.forget(node);
            }
        }
        if self.ended.is_none()
            && let Some(plan) = self.applications.after_exit(node, self.env.now, |_| true)
        {
            self.plan(nodes, plan);
        }
        self.request_if_possible(nodes, node);
    }

    fn violate(&mut self, property: &'static str, detail: String) {
        self.say(|| format!("VIOLATION of {property}: {detail}"));
        self.env.violations.push(Violation { property, at: units(self.env.now), detail });
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if let Some(timeline) = &mut self.timeline {
            timeline.push(format!("{:>10.3}  {}", units(self.env.now), what()));
        }
    }
}

impl World for Occupants<'_> {
    type Family = SharedSections;
    type Tag = Tag;
    type Happening = Act;
    type Outcome = KindsOutcome;

    const RECORDS: bool = false;
    const MIXING: Mixing = Mixing { shift: 3, faults: [0; 3] };

    fn environment(&mut self) -> &mut Environment {
        &mut self.env
    }

    fn begin(&mut self, nodes: &mut dyn Control<Self>) {
        // In a closed workload each place of a node is a user of its own.
        let users = match self.scenario.workload {
            Workload::Closed { .. } => self.kinds.at_once,
            _ => 1,
        };
        for _ in 0..users {
            for plan in self.applications.opening() {
                self.plan(nodes, plan);
            }
        }
    }

    fn pass(&mut self, now: Ticks) {
        self.env.now = now;
        self.env.events += 1;
    }

    fn happen(&mut self, nodes: &mut dyn Control<Self>, what: Act) {
        match what {
            Act::Want(node) => self.want(nodes, node),
            Act::Turn(node, id) => self.turn(nodes, node, id),
            Act::GiveUp(node, id) => self.give_up(nodes, node, id),
            Act::Arrival if self.ended.is_none() => {
                let mut wanting = Vec::new();
                let next = self.applications.arrive(self.env.now, &mut wanting);
                wanting.into_iter().for_each(|node| self.want(nodes, node));
                if let Some(plan) = next {
                    self.plan(nodes, plan);
                }
            }
            Act::Arrival => {}
        }
    }

    fn goes_on(&mut self) -> Result<bool, ScenarioError> {
        Ok(!self.is_stuck() && !self.is_served())
    }

    fn finish(mut self, _rests: bool) -> Result<KindsOutcome, ScenarioError> {
        if !self.is_stuck() {
            self.stall = self.requests.at_rest().or_else(|| self.upgrades.at_rest());
        }
        Ok(self.report())
    }

    fn count_message(&mut self, _from: NodeId, kind: usize, size: u64) {
        if self.ended.is_none() {
            self.measured.messages += 1;
            self.measured.bytes += size;
            self.measured.by_kind[kind] += 1;
            self.accounts[self.account].messages += 1;
        }
    }

    fn tag(&mut self, from: NodeId) -> Tag {
        Tag { fence: self.fences[from.index()].attach(), account: self.account }
    }

    fn mixed(tag: &Tag) -> u64 {
        tag.fence.rotate_left(16)
    }

    fn arrive(&mut self, from: NodeId, to: NodeId, kind: usize, tag: Tag) {
        if self.requests.message() {
            self.stall = Some(Stall::Livelock(self.requests.who_waits()));
        }
        self.fences[to.index()].receive(tag.fence);
        let label = self.labels[kind];
        self.say(|| format!("{to} gets {label} of {from}"));
        self.account = tag.account;
    }

    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.env.refused += 1;
        self.violate("refused", format!("{node} refuses: {refused}"));
    }

    fn emit(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId, event: AccessEvent) {
        match event {
            AccessEvent::Entered => self.entered(agenda, node),
            AccessEvent::Upgraded => self.upgraded(agenda, node),
            AccessEvent::Denied => self.denied(agenda, node),
        }
    }

    fn may_go_wrong(&self, _at: Ticks) -> bool {
        false
    }

    fn command(&mut self, _nodes: &mut dyn Control<Self>, _deed: &Deed) -> Result<(), Impossible> {
        Err(Impossible::NoElection)
    }

    fn rest(&mut self) {}

    fn is_done(&self) -> bool {
        self.is_served()
    }
}
