//! Runs of mutual exclusion.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skeptron_core::catalogue::Info;
use skeptron_core::claims::Quantity;
use skeptron_core::monitor::{Exclusion, Fence, OrderMonitor, Progress, Stall, SurvivorFences};
use skeptron_core::mutex::{self, Mutex, Visitor, foreign};
use skeptron_core::{Entered, Lock, NodeId, Refused};

use crate::applications::{self, Applications};
use crate::chance::{Chance, Purpose};
use crate::driver::MutualExclusion;
use crate::engine::{self, Control, Happening, Mixing, Plan, World};
use crate::environment::{Environment, MOST_VIOLATIONS};
use crate::hand::{Deed, Impossible};
use crate::metrics::{Report, Tally};
use crate::queue::QueueKind;
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::{Ticks, Trace, What};
use crate::troubles::Health;
use crate::workload::Workload;
use recovery::Recovering;

mod detection;
mod finish;
mod recovery;
mod section;

/// How to run a scenario; none of it changes what happens, but for how long.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep a [`Trace`].
    pub record: bool,
    /// Do not watch the order against happened-before.
    pub skip_order: bool,
    /// Which queue to use.
    pub queue: QueueKind,
    /// Ends the run soon after it becomes true, without an outcome: [`ScenarioError::Stopped`].
    pub stop: Option<Arc<AtomicBool>>,
    /// A run that is recorded ends with the event that brings it to so many records.
    pub most_records: Option<usize>,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured.
    pub report: Report,
    /// What happened, if it was recorded.
    pub trace: Option<Trace>,
    /// Whether it would have gone on beyond [`Options::most_records`].
    pub cut_short: bool,
    /// How many records there were when each act of the scenario's hand happened.
    pub acted: Vec<usize>,
}

/// Runs `scenario` with the algorithm that `info` describes.
///
/// ```
/// use skeptron_core::{Setup, catalogue};
/// use skeptron_sim::{Options, Scenario, run};
///
/// let info = catalogue::find("ricart-agrawala").unwrap();
/// let scenario = Scenario { warmup: 10, ..Scenario::new(Setup::new(5).unwrap()) };
/// let outcome = run(info, &scenario, &Options::default()).unwrap();
/// assert!(outcome.report.is_fine());
/// assert_eq!(outcome.report.messages.per_entry, 8.0);
/// assert_eq!(outcome.report.sync_delay.max, 1.0);
/// ```
///
/// # Errors
/// If the scenario is impossible, or an act by hand is where it stands.
pub fn run(
    info: &'static Info,
    scenario: &Scenario,
    options: &Options,
) -> Result<Outcome, ScenarioError> {
    scenario.check(info)?;
    scenario.hand.check_recorded(options)?;
    let outcome = mutex::dispatch(info, Run { info, scenario, options });
    foreign::check(info)?;
    outcome
}

struct Run<'a> {
    info: &'static Info,
    scenario: &'a Scenario,
    options: &'a Options,
}

/// How closely a run is watched: how many words ride on a message for it. The leaner loops are compiled without a
/// trace of the rest.
const BARE: usize = 0;
/// When it was sent, for the order.
const ORDERED: usize = 1;
/// The same and a word that means nothing: everything is recorded too.
const RECORDED: usize = 2;

impl Visitor for Run<'_> {
    type Output = Result<Outcome, ScenarioError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let nodes = self.scenario.setup.nodes();
        match () {
            () if self.options.record => self.with::<P, RECORDED>(),
            () if self.options.skip_order || nodes > OrderMonitor::MOST_NODES => {
                self.with::<P, BARE>()
            }
            () => self.with::<P, ORDERED>(),
        }
    }
}

impl Run<'_> {
    fn with<P: Mutex, const W: usize>(self) -> Result<Outcome, ScenarioError> {
        let Run { info, scenario, options } = self;
        let nodes = P::build(info.name, &scenario.setup)?;
        let sections = Sections::<W>::new(info, scenario, options, P::kinds(info));
        engine::run(nodes, info.name, &scenario.setup, options.queue, sections)
    }
}

/// What happens at the applications.
enum Act {
    /// The application of a node wants in, if the node has not crashed since.
    Want { node: NodeId, life: u32 },
    /// The application of a node leaves, if the node has not crashed since.
    Leave { node: NodeId, life: u32 },
    /// Requests arrive from outside.
    Arrival,
    /// The detectors notice that a node has crashed, if it is still down.
    Missed { node: NodeId, life: u32 },
    /// The detector of `observer` tells that `whom` has crashed.
    Tell { observer: NodeId, life: u32, whom: NodeId },
    /// Time for the next false suspicion.
    Rumour,
}

impl Happening for Act {
    fn code(&self) -> (u64, NodeId, u64) {
        match self {
            Act::Want { node, life } => (2, *node, u64::from(*life)),
            Act::Leave { node, life } => (3, *node, u64::from(*life)),
            Act::Arrival => (4, NodeId::new(0), 0),
            // Faults have the numbers between.
            Act::Missed { node, life } => (8, *node, u64::from(*life)),
            Act::Tell { observer, whom, .. } => (10, *observer, whom.index() as u64),
            Act::Rumour => (11, NodeId::new(0), 0),
        }
    }
}

/// What rides on a message: the fence, and for the order when it was sent.
#[derive(Clone)]
struct Tag<const W: usize> {
    fence: u64,
    sent: [u64; W],
}

/// What the driver knows of the present request of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// From the request to the exit.
    open: bool,
    /// When the application asked.
    at: Ticks,
    /// When it reached the algorithm.
    made: Ticks,
    /// How many exits there had been when it reached the algorithm.
    exits: u64,
    /// A hand asked: nothing follows from it of its own accord.
    by_hand: bool,
}

/// After so many events without an entry the run ends, whatever goes on: a token that circles at no
/// latency, or clients that ask crashed nodes. Everybody asking everybody at once is still far below.
fn most_barren(nodes: usize) -> u64 {
    10_000_000 + 64 * (nodes as u64).pow(2)
}

/// After so many events it is time to look whether the run is to end: some milliseconds.
const LOOK_AFTER: u64 = 1 << 16;

/// After so many events without an entry it is looked whether a run that a hand plays, or in which
/// nobody asks of its own accord, rests. Everybody asking everybody is below.
fn most_idle(nodes: usize) -> u64 {
    1000 + 16 * (nodes as u64).pow(2)
}

/// Applications that want into a section, and who judges and measures that.
struct Sections<'a, const W: usize> {
    info: &'static Info,
    scenario: &'a Scenario,
    /// The names of all kinds of messages.
    kinds: &'static [&'static str],
    env: Environment,
    applications: Applications<'a>,
    requests: Vec<Request>,
    /// Requests in the order in which they were made, and when; those that are over are skipped.
    by_age: VecDeque<(Ticks, NodeId)>,
    fences: Vec<Fence>,
    /// From which false suspicions come.
    rumours: Chance,
    /// Which false suspicions were drawn, by observer and suspect: each is told once.
    rumoured: BTreeSet<(NodeId, NodeId)>,

    // Judges.
    exclusion: Exclusion,
    is_exclusive: bool,
    recovery: Recovering,
    progress: Progress,
    order: OrderMonitor,
    fence_monitor: SurvivorFences,
    /// The most entries of others during one wait that the algorithm claims.
    most_bypasses: Option<f64>,
    stall: Option<Stall>,
    /// Who waited for ever when that was last said.
    stalled: Option<Vec<NodeId>>,
    /// Events since the last entry.
    barren: u64,
    /// After how many of them to look whether this goes anywhere.
    patience: u64,
    /// How many records there were when it was last looked whether the run rests.
    records_then: usize,

    // Measuring.
    tally: Tally,
    exits: u64,
    /// Exits for which somebody may have waited, until somebody enters: when each was, and how many there had been
    /// with it.
    vacancies: VecDeque<(Ticks, u64)>,
    started_at: Ticks,
    ended_at: Option<Ticks>,
    finished: Option<Tally>,
    stop: Option<Arc<AtomicBool>>,
}

impl<'a, const W: usize> Sections<'a, W> {
    fn new(
        info: &'static Info,
        scenario: &'a Scenario,
        options: &Options,
        kinds: &'static [&'static str],
    ) -> Self {
        let Scenario { seed, latency, order, faults, hand, .. } = scenario;
        let n = scenario.setup.nodes();
        Sections {
            info,
            scenario,
            kinds,
            env: Environment::new(n, *seed, latency, *order, faults, hand).with(options),
            applications: Applications::new(scenario),
            requests: vec![Request::default(); n],
            by_age: VecDeque::new(),
            fences: vec![Fence::default(); n],
            rumours: Chance::new(*seed, Purpose::Suspicion),
            rumoured: BTreeSet::new(),
            exclusion: Exclusion::of(info.admission(&scenario.setup)),
            is_exclusive: info.admission(&scenario.setup).is_exclusive(),
            recovery: Recovering::new(info),
            progress: Progress::new(n),
            order: if W == BARE { OrderMonitor::default() } else { OrderMonitor::new(n) },
            fence_monitor: SurvivorFences::new(n, info.has_detector()),
            most_bypasses: claimed_bypasses(info, scenario),
            stall: None,
            stalled: None,
            barren: 0,
            patience: patience(scenario),
            records_then: 0,
            tally: Tally::new(n, kinds.len()),
            exits: 0,
            vacancies: VecDeque::new(),
            started_at: 0,
            ended_at: None,
            finished: None,
            stop: options.stop.clone(),
        }
    }

    /// Whether nobody asks any more of its own accord, or by hand, and nobody is to be served.
    fn is_served(&self) -> bool {
        self.ended_at.is_some()
            && self.is_idle()
            && self.env.played.next().is_none()
            && !self.recovery.goes_on(self.env.events)
    }

    /// Whether nobody waits or is inside.
    fn is_idle(&self) -> bool {
        self.progress.waiting() == 0 && self.exclusion.is_free()
    }

    /// Whether the run has gone so wrong that it ends.
    fn is_stuck(&self) -> bool {
        self.stall.is_some() || self.env.violations.len() >= MOST_VIOLATIONS
    }

    #[cold]
    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Whether the algorithm may be expected to be correct up to here.
    fn keeps_assumptions(&self) -> bool {
        self.scenario.keeps_assumptions_with(self.env.played.done(), self.info)
    }

    fn plan(&self, nodes: &mut dyn Control<Self>, plan: applications::Plan) {
        match plan {
            applications::Plan::Want(node, at) => {
                let life = self.env.troubles.life(node);
                nodes.plan(at, Act::Want { node, life });
            }
            applications::Plan::Arrival(at) => nodes.plan(at, Act::Arrival),
        }
    }

    fn come(&mut self, nodes: &mut dyn Control<Self>) {
        if self.ended_at.is_some() {
            return;
        }
        if self.progress.waiting() > 0 && nodes.next_at().is_none() && self.nobody_can_ask() {
            self.stall = self.at_rest();
            return;
        }
        let mut wanting = Vec::new();
        let next = self.applications.arrive(self.env.now, &mut wanting);
        for node in wanting {
            if !self.env.troubles.is_down(node) {
                self.want(nodes, node);
            }
        }
        if let Some(plan) = next {
            self.plan(nodes, plan);
        }
    }

    /// The application of `node` wants in: at once, or after its earlier requests.
    fn want(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        let now = self.env.now;
        if self.is_idle_at(node) && !self.applications.has_queued(node) {
            return self.request(nodes, node, now);
        }
        self.applications.queue(node, now);
        self.request_if_idle(nodes, node);
    }

    /// Whether the application of `node` is up and neither waits nor is inside.
    fn is_idle_at(&self, node: NodeId) -> bool {
        !self.requests[node.index()].open && self.env.troubles.health(node) == Health::Up
    }

    fn request_if_idle(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        if self.is_idle_at(node)
            && let Some(at) = self.applications.next_request(node)
        {
            self.request(nodes, node, at);
        }
    }

    /// What the application of `node` has wanted since `at` reaches the algorithm.
    fn request(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, at: Ticks) {
        let exits = self.exits;
        let made = self.env.now;
        self.requests[node.index()] = Request { open: true, at, made, exits, by_hand: false };
        self.by_age.push_back((made, node));
        self.progress.request(node);
        self.order.request(node);
        self.record(node, || What::Request);
        nodes.command(self, node, Lock::Request);
    }

    /// Only the closest loop records, so the others carry no trace of it.
    fn record(&mut self, node: NodeId, what: impl FnOnce() -> What) {
        if Self::RECORDS {
            self.env.record(node, what);
        }
    }
}

impl<const W: usize> World for Sections<'_, W> {
    type Family = MutualExclusion;
    type Tag = Tag<W>;
    type Happening = Act;
    type Outcome = Outcome;

    const RECORDS: bool = W == RECORDED;
    const MIXING: Mixing = Mixing { shift: 3, faults: [5, 7, 6] };

    #[inline(always)]
    fn environment(&mut self) -> &mut Environment {
        &mut self.env
    }

    fn begin(&mut self, nodes: &mut dyn Control<Self>) {
        for plan in self.applications.opening() {
            self.plan(nodes, plan);
        }
        self.plan_rumour(nodes);
    }

    #[inline(always)]
    fn pass(&mut self, now: Ticks) {
        self.env.now = now;
        self.env.events += 1;
        self.barren += 1;
    }

    fn happen(&mut self, nodes: &mut dyn Control<Self>, what: Act) {
        match what {
            Act::Want { .. } if self.ended_at.is_some() => {}
            Act::Want { node, life } => {
                if self.env.troubles.is_same_life(node, life) {
                    self.want(nodes, node);
                } else if self.applications.are_sequential() {
                    // It was the only request to come; without another one nothing would.
                    self.plan_next(nodes, node);
                }
            }
            Act::Leave { node, life } => {
                if self.env.troubles.health(node) == Health::Paused {
                    nodes.hold(node, Act::Leave { node, life });
                } else if self.env.troubles.is_same_life(node, life) {
                    self.leave(nodes, node);
                }
            }
            Act::Arrival => self.come(nodes),
            Act::Missed { node, life } => self.missed(nodes, node, life),
            Act::Tell { observer, life, whom } => {
                if self.env.troubles.is_same_life(observer, life) {
                    self.tell(nodes, observer, whom);
                }
            }
            Act::Rumour => self.rumour(nodes),
        }
    }

    #[inline(always)]
    fn goes_on(&mut self) -> Result<bool, ScenarioError> {
        if self.env.events.is_multiple_of(LOOK_AFTER) && self.is_stopped() {
            return Err(ScenarioError::Stopped);
        }
        if self.barren > self.patience && self.lose_patience() {
            return Ok(false);
        }
        Ok(!self.is_served() && !self.is_stuck())
    }

    fn finish(mut self, _rests: bool) -> Result<Outcome, ScenarioError> {
        if !self.is_stuck() && !self.env.cut_short {
            self.stall = self.at_rest();
        }
        self.say_stall();
        self.say_illegitimate();
        self.report()
    }

    #[inline(always)]
    fn count_sending(&mut self) {
        self.tally.multicast += 1;
    }

    #[inline(always)]
    fn count_message(&mut self, from: NodeId, kind: usize, size: u64) {
        self.tally.messages += 1;
        self.tally.bytes += size;
        self.tally.by_kind[kind] += 1;
        self.tally.handled(from);
    }

    #[inline(always)]
    fn tag(&mut self, from: NodeId) -> Tag<W> {
        let fence = self.fences[from.index()].attach();
        Tag { fence, sent: std::array::from_fn(|_| self.order.send(from)) }
    }

    #[inline(always)]
    fn mixed(tag: &Tag<W>) -> u64 {
        tag.fence.rotate_left(16)
    }

    #[inline(always)]
    fn arrive(&mut self, from: NodeId, to: NodeId, _kind: usize, tag: Tag<W>) {
        if self.progress.message() {
            self.stall = Some(Stall::Livelock(self.progress.who_waits()));
        }
        self.tally.handled(to);
        self.fences[to.index()].receive(tag.fence);
        if let Some(&sent) = tag.sent.first() {
            self.order.deliver(from, to, sent);
        }
    }

    fn refuse(&mut self, node: NodeId, refused: Refused) {
        let done = self.env.played.done();
        let faulty = !self.keeps_assumptions() && !self.scenario.is_survived(done, self.info);
        self.env.refuse(node, refused, faulty);
    }

    fn emit(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId, _: Entered) {
        self.enter(agenda, node);
    }

    #[inline(always)]
    fn awaits_legitimacy(&self) -> bool {
        self.recovery.is_awaited()
    }

    fn become_legitimate(&mut self) {
        self.recovery.end(self.env.now);
        self.fence_monitor.begin_anew();
    }

    fn may_go_wrong(&self, _at: Ticks) -> bool {
        self.ended_at.is_none()
    }

    fn crash(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        let queued = self.applications.forget(node);
        let request = std::mem::take(&mut self.requests[node.index()]);
        let asked = request.open && !request.by_hand;
        if self.applications.are_sequential() && (asked || queued) {
            self.plan_next(nodes, node);
        }
        self.exclusion.leave(node);
        self.progress.forget(node);
        self.order.forget(node);
        self.fence_monitor.crash(node);
        nodes.release(self, node);
        self.plan_notice(nodes, node);
    }

    fn restart(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        self.fences[node.index()] = Fence::default();
        self.recovery.begin(self.info);
        nodes.restart(self, node);
        if self.applications.restarts_asking(node) {
            self.plan_next(nodes, node);
        }
    }

    fn resume(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        self.request_if_idle(nodes, node);
    }

    fn command(&mut self, nodes: &mut dyn Control<Self>, deed: &Deed) -> Result<(), Impossible> {
        match *deed {
            Deed::Request { node } if self.progress.is_waiting(node) => {
                Err(Impossible::Waits(node))
            }
            Deed::Request { node } if self.requests[node.index()].open => {
                Err(Impossible::Inside(node))
            }
            Deed::Request { node } => {
                self.want(nodes, node);
                self.requests[node.index()].by_hand = true;
                Ok(())
            }
            Deed::Release { node } if !self.exclusion.is_inside(node) => {
                Err(Impossible::NotInside(node))
            }
            Deed::Release { node } => {
                nodes.cancel(&|act| matches!(act, Act::Leave { node: who, .. } if *who == node));
                self.leave(nodes, node);
                Ok(())
            }
            Deed::Draw { .. } => Err(Impossible::NoChance),
            _ => Err(Impossible::NoElection),
        }
    }

    fn rest(&mut self) {
        self.stall = self.at_rest();
        self.say_stall();
    }

    fn is_done(&self) -> bool {
        self.is_served() || self.is_stuck()
    }
}

/// The most entries of others during one wait that the algorithm claims.
fn claimed_bypasses(info: &Info, scenario: &Scenario) -> Option<f64> {
    let most = info.claims.most(Quantity::Bypass)?;
    Some(most.value(&scenario.setup.figures(&scenario.requesters)))
}

/// After how many events without an entry to look whether this goes anywhere.
fn patience(scenario: &Scenario) -> u64 {
    let by_itself = scenario.workload != Workload::None && scenario.hand.is_idle();
    let nodes = scenario.setup.nodes();
    if by_itself { most_barren(nodes) } else { most_idle(nodes) }
}
