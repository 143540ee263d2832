//! The event loop.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skeptron_core::catalogue::Info;
use skeptron_core::claims::Quantity;
use skeptron_core::monitor::{
    Exclusion, Fence, FenceMonitor, Knowledge, OrderMonitor, Progress, Stall,
};
use skeptron_core::mutex::{self, Mutex, Visitor};
use skeptron_core::{Effect, Entered, Input, Lock, Message, NodeId, Outbox, Refused};

use crate::applications::{Applications, Plan};
use crate::chance::Purpose;
use crate::faults::PlannedFault;
use crate::hand::Played;
use crate::metrics::{Report, Tally, Violation, units};
use crate::network::Network;
use crate::queue::{Queue, QueueKind};
use crate::recorder::Recorder;
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::{Loss, Ticks, Trace, What};
use crate::trace_hash::TraceHash;
use crate::troubles::{Health, Troubles};

mod finish;
mod hand;
mod section;
#[cfg(test)]
mod tests;
mod trouble;

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
    mutex::dispatch(info, Run { info, scenario, options })
}

struct Run<'a> {
    info: &'static Info,
    scenario: &'a Scenario,
    options: &'a Options,
}

/// Words for the order monitor that watches many nodes. Recording goes with it, so that the leaner
/// loops are compiled without a trace of recording.
const WIDE: usize = 16;

impl Visitor for Run<'_> {
    type Output = Result<Outcome, ScenarioError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let nodes = self.scenario.setup.nodes();
        match () {
            () if self.options.record => Simulation::<P, WIDE>::new(self)?.run(),
            () if self.options.skip_order || nodes > 64 * WIDE => {
                Simulation::<P, 0>::new(self)?.run()
            }
            () if nodes > 64 => Simulation::<P, WIDE>::new(self)?.run(),
            () => Simulation::<P, 1>::new(self)?.run(),
        }
    }
}

/// What can happen.
enum Event<M, const W: usize> {
    Deliver(Envelope<M, W>),
    /// The application of a node wants in, if the node has not crashed since.
    Want {
        node: NodeId,
        life: u32,
    },
    /// The application of a node leaves, if the node has not crashed since.
    Leave {
        node: NodeId,
        life: u32,
    },
    /// Requests arrive from outside.
    Arrival,
    /// A planned fault begins.
    Fault(Box<PlannedFault>),
    /// A fault of that node, or of the network, may end.
    End(Option<NodeId>),
    /// Time for the next fault by chance.
    RandomFault(Purpose),
}

/// A message on its way, with what the driver adds: the fence, and what it tells of other requests.
#[derive(Clone)]
struct Envelope<M, const W: usize> {
    from: NodeId,
    to: NodeId,
    /// Its number in the trace; 0 when nothing is recorded.
    id: u32,
    fence: u64,
    known: Knowledge<W>,
    message: M,
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

/// No more violations are kept than this, and the run ends.
pub(crate) const MOST_VIOLATIONS: usize = 100;

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

struct Simulation<'a, P: Mutex, const W: usize> {
    info: &'static Info,
    scenario: &'a Scenario,
    now: Ticks,
    queue: Queue<Event<P::Message, W>>,
    nodes: Vec<P>,
    out: Outbox<P>,
    network: Network,
    applications: Applications<'a>,
    requests: Vec<Request>,
    /// Requests in the order in which they were made, and when; those that are over are skipped.
    by_age: VecDeque<(Ticks, NodeId)>,
    fences: Vec<Fence>,

    troubles: Troubles<Event<P::Message, W>>,
    played: Played<'a>,

    // Judges.
    exclusion: Exclusion,
    progress: Progress,
    order: OrderMonitor<W>,
    fence_monitor: FenceMonitor,
    violations: Vec<Violation>,
    /// The most entries of others during one wait that the algorithm claims.
    most_bypasses: f64,
    stall: Option<Stall>,
    /// Who waited for ever when that was last said.
    stalled: Option<Vec<NodeId>>,
    /// Events since the last entry.
    barren: u64,
    /// How many records there were when it was last looked whether the run rests.
    records_then: usize,

    // Measuring.
    tally: Tally,
    exits: u64,
    /// The last exit, until somebody enters after it.
    last_exit: Option<Ticks>,
    started_at: Ticks,
    ended_at: Option<Ticks>,
    finished: Option<Tally>,
    refused: u64,
    lost: u64,
    duplicated: u64,
    events: u64,
    hash: TraceHash,
    recorder: Option<Recorder>,
    stop: Option<Arc<AtomicBool>>,
    most_records: usize,
    cut_short: bool,
}

impl<'a, P: Mutex, const W: usize> Simulation<'a, P, W> {
    fn new(run: Run<'a>) -> Result<Self, ScenarioError> {
        let Run { info, scenario, options } = run;
        let n = scenario.setup.nodes();
        let seed = scenario.seed;
        Ok(Simulation {
            info,
            scenario,
            now: 0,
            queue: Queue::new(options.queue),
            nodes: P::build(info.name, &scenario.setup)?,
            out: Outbox::new(),
            network: scenario.hand.network(&scenario.latency, scenario.order, n, seed),
            applications: Applications::new(scenario),
            requests: vec![Request::default(); n],
            by_age: VecDeque::new(),
            fences: vec![Fence::default(); n],
            troubles: Troubles::new(&scenario.faults, n, seed),
            played: Played::new(&scenario.hand),
            exclusion: Exclusion::default(),
            progress: Progress::new(n),
            order: OrderMonitor::new(n),
            fence_monitor: FenceMonitor::default(),
            violations: Vec::new(),
            most_bypasses: claimed_bypasses(info, scenario).unwrap_or(f64::INFINITY),
            stall: None,
            stalled: None,
            barren: 0,
            records_then: 0,
            tally: Tally::new(n, P::Message::KINDS.len()),
            exits: 0,
            last_exit: None,
            started_at: 0,
            ended_at: None,
            finished: None,
            refused: 0,
            lost: 0,
            duplicated: 0,
            events: 0,
            hash: TraceHash::new(seed),
            recorder: options.record.then(Recorder::default),
            stop: options.stop.clone(),
            most_records: options.most_records.unwrap_or(usize::MAX),
            cut_short: false,
        })
    }

    fn run(mut self) -> Result<Outcome, ScenarioError> {
        let patience = self.patience();
        for node in NodeId::all(self.nodes.len()) {
            self.step(node, Input::Start);
        }
        self.begin();
        loop {
            // Acts and limits count records, and only the widest loop records.
            if W == WIDE && self.ends_at_record()? {
                break;
            }
            let Some((at, event)) = self.queue.pop() else { break };
            self.now = at;
            self.events += 1;
            self.mix(&event);
            self.barren += 1;
            self.handle(event);
            if self.events.is_multiple_of(LOOK_AFTER) && self.is_stopped() {
                return Err(ScenarioError::Stopped);
            }
            if self.barren > patience && self.lose_patience(patience) {
                break;
            }
            if self.is_served() || self.is_stuck() {
                break;
            }
        }
        if !self.is_stuck() && !self.cut_short {
            self.stall = self.at_rest();
        }
        self.say_stall();
        self.finish()
    }

    /// Whether nobody asks any more of its own accord, or by hand, and nobody is to be served.
    fn is_served(&self) -> bool {
        self.ended_at.is_some() && self.is_idle() && self.played.next().is_none()
    }

    /// Whether nobody waits or is inside.
    fn is_idle(&self) -> bool {
        self.progress.waiting() == 0 && self.exclusion.is_free()
    }

    /// Whether the run has gone so wrong that it ends.
    fn is_stuck(&self) -> bool {
        self.stall.is_some() || self.violations.len() >= MOST_VIOLATIONS
    }

    #[cold]
    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Plans what the applications do and what goes wrong.
    fn begin(&mut self) {
        for fault in &self.scenario.faults.planned {
            self.queue.push(fault.from, Event::Fault(Box::new(fault.clone())));
        }
        for purpose in self.troubles.purposes() {
            self.plan_random_fault(purpose);
        }
        for plan in self.applications.opening() {
            self.plan(plan);
        }
    }

    fn plan(&mut self, plan: Plan) {
        match plan {
            Plan::Want(node, at) => {
                let life = self.troubles.life(node);
                self.queue.push(at, Event::Want { node, life });
            }
            Plan::Arrival(at) => self.queue.push(at, Event::Arrival),
        }
    }

    /// Mixes what happens now into the trace hash.
    #[inline]
    fn mix(&mut self, event: &Event<P::Message, W>) {
        let (tag, node, detail) = match event {
            Event::Deliver(envelope) => {
                let peers = (envelope.from.index() as u64) << 32 | envelope.message.kind() as u64;
                (1, envelope.to.index(), peers ^ envelope.fence.rotate_left(16))
            }
            Event::Want { node, life } => (2, node.index(), u64::from(*life)),
            Event::Leave { node, life } => (3, node.index(), u64::from(*life)),
            Event::Arrival => (4, 0, 0),
            Event::Fault(_) => (5, 0, 0),
            Event::End(node) => (7, node.map_or(0, NodeId::index), u64::from(node.is_some())),
            Event::RandomFault(purpose) => (6, *purpose as usize, 0),
        };
        let word = self.now.rotate_left(32) ^ (node as u64) << 3 ^ tag;
        self.hash.mix(word, detail);
    }

    #[inline(always)]
    fn handle(&mut self, event: Event<P::Message, W>) {
        match event {
            Event::Deliver(envelope) => self.deliver(envelope),
            Event::Want { node, life } => {
                if self.ended_at.is_some() {
                    return;
                }
                if self.troubles.is_same_life(node, life) {
                    self.want(node);
                } else if self.applications.are_sequential() {
                    // It was the only request to come; without another one nothing would.
                    self.plan_next(node);
                }
            }
            Event::Leave { node, life } => {
                if self.troubles.health(node) == Health::Paused {
                    self.troubles.hold(node, Event::Leave { node, life });
                } else if self.troubles.is_same_life(node, life) {
                    self.leave(node);
                }
            }
            Event::Arrival => self.arrive(),
            Event::Fault(planned) => self.begin_fault(planned.fault, planned.until),
            Event::End(node) => self.end_fault(node),
            Event::RandomFault(purpose) => self.random_fault(purpose),
        }
    }

    fn arrive(&mut self) {
        if self.ended_at.is_some() {
            return;
        }
        let mut wanting = Vec::new();
        let next = self.applications.arrive(self.now, &mut wanting);
        for node in wanting {
            if !self.troubles.is_down(node) {
                self.want(node);
            }
        }
        if let Some(plan) = next {
            self.plan(plan);
        }
    }

    /// The application of `node` wants in: at once, or after its earlier requests.
    fn want(&mut self, node: NodeId) {
        self.applications.queue(node, self.now);
        self.request_if_idle(node);
    }

    fn request_if_idle(&mut self, node: NodeId) {
        if self.requests[node.index()].open || self.troubles.health(node) != Health::Up {
            return;
        }
        let Some(at) = self.applications.next_request(node) else { return };
        let exits = self.exits;
        let made = self.now;
        self.requests[node.index()] = Request { open: true, at, made, exits, by_hand: false };
        self.by_age.push_back((made, node));
        self.progress.request(node);
        self.order.request(node);
        self.record(node, || What::Request);
        self.step(node, Input::Command(Lock::Request));
    }

    #[inline(always)]
    fn deliver(&mut self, envelope: Envelope<P::Message, W>) {
        let to = envelope.to;
        match self.troubles.health(to) {
            Health::Up => {}
            Health::Paused => return self.troubles.hold(to, Event::Deliver(envelope)),
            Health::Down => {
                self.lost += 1;
                let (from, id) = (envelope.from, u64::from(envelope.id));
                return self.record(from, || What::Lose { id, cause: Loss::Down });
            }
        }
        if self.progress.message() {
            self.stall = Some(Stall::Livelock(self.progress.who_waits()));
        }
        self.tally.handled(to);
        self.fences[to.index()].receive(envelope.fence);
        self.order.deliver(to, envelope.known);
        self.record(to, || What::Deliver { id: u64::from(envelope.id) });
        self.step(to, Input::Deliver { from: envelope.from, message: envelope.message });
    }

    /// Gives a node an input and does what it wants done.
    fn step(&mut self, node: NodeId, input: Input<P>) {
        let mut out = std::mem::take(&mut self.out);
        if let Err(refused) = self.nodes[node.index()].step(input, &mut out) {
            self.refuse(node, refused);
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    self.tally.multicast += 1;
                    let size = size_of_message(&message);
                    self.post(node, to, message, size);
                }
                Effect::Broadcast { message } => {
                    self.tally.multicast += 1;
                    let size = size_of_message(&message);
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone(), size);
                    }
                }
                Effect::Emit(Entered) => self.enter(node),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        self.out = out;
        if let Some(recorder) = self.recorder() {
            recorder.end_of_step();
        }
    }

    #[inline(always)]
    fn post(&mut self, from: NodeId, to: NodeId, message: P::Message, size: u64) {
        self.tally.messages += 1;
        self.tally.bytes += size;
        self.tally.by_kind[message.kind()] += 1;
        self.tally.handled(from);
        let now = self.now;
        let id = self.recorder().map_or(0, |recorder| recorder.send(now, from, to, &message));
        if let Some(cause) = self.troubles.loses(from, to) {
            return self.lose(from, id, cause);
        }
        let fence = self.fences[from.index()].attach();
        let envelope = Envelope { from, to, id, fence, known: self.order.send(from), message };
        if self.troubles.duplicates() {
            self.duplicated += 1;
            let copy = self.recorder().map_or(0, |recorder| recorder.duplicate(now, from, id));
            self.dispatch(Envelope { id: copy, ..envelope.clone() });
        }
        self.dispatch(envelope);
    }

    #[inline(always)]
    fn dispatch(&mut self, envelope: Envelope<P::Message, W>) {
        let at = self.network.arrival(self.now, envelope.from, envelope.to);
        self.queue.push(at, Event::Deliver(envelope));
    }

    fn lose(&mut self, from: NodeId, id: u32, cause: Loss) {
        self.lost += 1;
        let now = self.now;
        if let Some(recorder) = self.recorder() {
            recorder.later(now, from, What::Lose { id: u64::from(id), cause });
        }
    }

    /// Refusing an input of a correct peer or of a correct application is a violation; after a fault
    /// it is only counted.
    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.refused += 1;
        self.record(node, || What::Refuse { why: refused.to_string() });
        let peers_are_faulty =
            matches!(refused, Refused::Unexpected(_)) && !self.keeps_assumptions();
        if !peers_are_faulty {
            self.violate(node, "refused", format!("{node} refuses: {refused}"));
        }
    }

    fn violate(&mut self, node: NodeId, property: &'static str, detail: String) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.record(node, || What::Violation {
                property: property.into(),
                detail: detail.clone(),
            });
            self.violations.push(Violation { property, at: units(self.now), detail });
        }
    }

    /// Only the widest loop records, so the others carry no trace of it.
    fn recorder(&mut self) -> Option<&mut Recorder> {
        if W == WIDE { self.recorder.as_mut() } else { None }
    }

    fn record(&mut self, node: NodeId, what: impl FnOnce() -> What) {
        let now = self.now;
        if let Some(recorder) = self.recorder() {
            recorder.now(now, node, what());
        }
    }
}

/// The most entries of others during one wait that the algorithm claims.
fn claimed_bypasses(info: &Info, scenario: &Scenario) -> Option<f64> {
    let figures = scenario.setup.figures(&scenario.requesters);
    info.claims.most(Quantity::Bypass).map(|most| most.value(&figures))
}

/// How many bytes a message takes in the wire encoding.
pub(crate) fn size_of_message<M: Message>(message: &M) -> u64 {
    // It fails only for types that the encoding cannot express, which messages are not.
    postcard::experimental::serialized_size(message).unwrap_or(0) as u64
}
