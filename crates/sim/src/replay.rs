//! Runs a recorded run again: the nodes must do what the records say they did.

mod election;
mod error;
mod states;

use std::collections::VecDeque;

use serde_json::Value;
use skeptron_core::catalogue::{Algorithm, Info};
use skeptron_core::monitor::{Exclusion, Fence, FenceMonitor, Progress};
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::{Effect, Input, Lock, Message, NodeId, Outbox, Setup, SetupError};

pub use error::{Mismatch, ReplayError};
pub use states::Visit;
use states::run_again;

use crate::trace::{Flight, Flights, Record, Ticks, Trace, VERSION, What};

/// What a run that was run again comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// How many records there are.
    pub records: usize,
    /// How many messages were sent, copies by the network not counted.
    pub messages: u64,
    /// How often somebody entered.
    pub entries: u64,
    /// In how many epochs a leader was named.
    pub elections: u64,
    /// Whom each node takes for the leader at the end of an election; `None` if it is down, or has
    /// come back and heard of none.
    pub leaders: Vec<Option<NodeId>>,
    /// How many inputs were refused.
    pub refused: u64,
    /// What the judges found.
    pub violations: Vec<Violation>,
    /// Who waits at the end.
    pub waiting: Vec<NodeId>,
    /// Each node's state at the end; `None` if it is down.
    pub nodes: Vec<Option<String>>,
}

/// What a judge found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The line of the trace's file.
    pub line: usize,
    /// When.
    pub t: Ticks,
    /// Where.
    pub node: NodeId,
    /// Which property: `exclusion` or `fence`, of an election `agreement` or `validity`.
    pub property: &'static str,
    /// What happened.
    pub detail: String,
}

/// Runs a recorded run again, verifies that the nodes do what the records say, and judges the run.
/// `violation` records are not inputs and not compared.
///
/// # Errors
/// [`ReplayError`] if the nodes cannot be built, or at the first record that differs.
pub fn replay(trace: &Trace) -> Result<Replayed, ReplayError> {
    visited(trace, None)
}

/// Runs a recorded run again and tells `visit` what the nodes know: first of each node with `None`,
/// then with the index of an input record what its node knows since then, if that is new. A state is
/// the node's `Debug` form, and `None` of a node that is down. It ends when `visit` breaks.
///
/// # Errors
/// As [`replay`], but only if the trace is wrong before `visit` breaks.
pub fn states(trace: &Trace, visit: Visit) -> Result<(), ReplayError> {
    visited(trace, Some(visit)).map(drop)
}

fn visited(trace: &Trace, visit: Option<Visit>) -> Result<Replayed, ReplayError> {
    let header = &trace.header;
    if header.skeptron != VERSION {
        return Err(ReplayError::OtherVersion(header.skeptron));
    }
    let algorithm = Algorithm::find(&header.algorithm)
        .ok_or_else(|| ReplayError::UnknownAlgorithm(header.algorithm.clone()))?;
    let setup = header.setup.clone().validated()?;
    match algorithm {
        Algorithm::Mutex(info) => dispatch(info, Replay { trace, info, setup, visit }),
        Algorithm::Election(info) => {
            skeptron_core::election::dispatch(info, election::Replay { trace, info, setup, visit })
        }
    }
}

struct Replay<'a, 'v> {
    trace: &'a Trace,
    info: &'a Info,
    setup: Setup,
    visit: Option<Visit<'v>>,
}

impl Visitor for Replay<'_, '_> {
    type Output = Result<Replayed, ReplayError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let system = System::<P>::start(self.info.name, &self.setup)?;
        run_again(system, self.trace, self.visit)
    }
}

/// Something that a node does and that must be the next record.
struct Due<P: Mutex> {
    record: Record,
    /// What a message carries: itself and its sender's fence.
    load: Option<(P::Message, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Down,
    Paused,
}

impl State {
    /// Whether a node in this state can take such an input.
    fn may_take(self, record: &Record) -> Result<(), Mismatch> {
        let fits = match record.what {
            What::Restart => self == State::Down,
            What::Resume => self == State::Paused,
            What::Crash => self != State::Down,
            _ => self == State::Up,
        };
        let state = match self {
            State::Up => "up",
            State::Down => "down",
            State::Paused => "paused",
        };
        let node = record.node;
        if fits { Ok(()) } else { Err(Mismatch::State { node, state, found: quoted(record) }) }
    }
}

/// The nodes, the messages between them and the judges.
struct System<P: Mutex> {
    /// What a node is when it starts, and starts again.
    initial: Vec<P>,
    nodes: Vec<P>,
    states: Vec<State>,
    fences: Vec<Fence>,
    flights: Flights<(P::Message, u64)>,
    out: Outbox<P>,
    due: VecDeque<Due<P>>,
    exclusion: Exclusion,
    progress: Progress,
    fence_monitor: FenceMonitor,
    line: usize,
    messages: u64,
    entries: u64,
    refused: u64,
    violations: Vec<Violation>,
}

impl<P: Mutex> states::System for System<P> {
    fn take(&mut self, line: usize, record: &Record) -> Result<(), Mismatch> {
        self.line = line;
        System::take(self, record)
    }

    fn due(&self) -> Option<&Record> {
        self.due.front().map(|due| &due.record)
    }

    fn state(&self, node: NodeId) -> Option<String> {
        let up = self.states[node.index()] != State::Down;
        up.then(|| format!("{:?}", self.nodes[node.index()]))
    }

    fn end(self) -> Replayed {
        let nodes = NodeId::all(self.nodes.len()).map(|node| self.state(node)).collect();
        Replayed {
            records: 0,
            messages: self.messages,
            entries: self.entries,
            elections: 0,
            leaders: Vec::new(),
            refused: self.refused,
            violations: self.violations,
            waiting: self.progress.who_waits(),
            nodes,
        }
    }
}

impl<P: Mutex> System<P> {
    fn start(name: &str, setup: &Setup) -> Result<Self, SetupError> {
        let n = setup.nodes();
        let initial = P::build(name, setup)?;
        let mut system = System {
            nodes: initial.clone(),
            initial,
            states: vec![State::Up; n],
            fences: vec![Fence::default(); n],
            flights: Flights::new(n),
            out: Outbox::new(),
            due: VecDeque::new(),
            exclusion: Exclusion::default(),
            progress: Progress::new(n),
            fence_monitor: FenceMonitor::default(),
            line: 1,
            messages: 0,
            entries: 0,
            refused: 0,
            violations: Vec::new(),
        };
        for node in NodeId::all(n) {
            system.step(0, node, Input::Start);
        }
        Ok(system)
    }

    fn take(&mut self, record: &Record) -> Result<(), Mismatch> {
        self.flights.admit(record)?;
        let (t, node, i) = (record.t, record.node, record.node.index());
        match record.what {
            What::Violation { .. } => return Ok(()),
            // The network may act on a message at once, while its sender is still at work.
            What::Lose { id, .. } => {
                self.flights.lose(id, node)?;
                return Ok(());
            }
            What::Duplicate { id, of } => return Ok(self.flights.duplicate(id, of, node)?),
            What::Send { .. }
            | What::Enter { .. }
            | What::Refuse { .. }
            | What::Arm { .. }
            | What::Disarm { .. }
            | What::Elect { .. } => {
                return self.effect(record);
            }
            _ => {}
        }
        if let Some(next) = self.due.front() {
            return Err(differs(&next.record, record));
        }
        self.states[i].may_take(record)?;
        match record.what {
            What::Request => {
                if self.step(t, node, Input::Command(Lock::Request)) {
                    self.progress.request(node);
                }
            }
            What::Release => {
                if self.step(t, node, Input::Command(Lock::Release)) {
                    self.exclusion.leave(node);
                }
            }
            What::Deliver { id } => {
                let Flight { from, load: (message, fence), .. } = self.flights.deliver(id, node)?;
                self.fences[i].receive(fence);
                self.step(t, node, Input::Deliver { from, message });
            }
            What::Crash => {
                self.states[i] = State::Down;
                self.exclusion.leave(node);
                self.progress.forget(node);
            }
            What::Restart => {
                self.states[i] = State::Up;
                self.fences[i] = Fence::default();
                self.nodes[i] = self.initial[i].clone();
                self.step(t, node, Input::Start);
            }
            What::Pause => self.states[i] = State::Paused,
            What::Resume => self.states[i] = State::Up,
            _ => return Err(Mismatch::Foreign { found: quoted(record) }),
        }
        Ok(())
    }

    /// Gives a node an input and notes what must be recorded about it. False if it is refused.
    fn step(&mut self, t: Ticks, node: NodeId, input: Input<P>) -> bool {
        let result = self.nodes[node.index()].step(input, &mut self.out);
        let fence = &mut self.fences[node.index()];
        let due = &mut self.due;
        let mut expect = |what, load| due.push_back(Due { record: Record { t, node, what }, load });
        if let Err(refused) = result {
            expect(What::Refuse { why: refused.to_string() }, None);
        }
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    expect(sent(to, &message), Some((message, fence.attach())));
                }
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.initial.len()).filter(|&to| to != node) {
                        expect(sent(to, &message), Some((message.clone(), fence.attach())));
                    }
                }
                Effect::Emit(_) => expect(What::Enter { fence: fence.enter() }, None),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        result.is_ok()
    }

    /// Compares a record with what the node does.
    fn effect(&mut self, found: &Record) -> Result<(), Mismatch> {
        let Some(mut next) = self.due.pop_front() else {
            return Err(Mismatch::Nothing { found: quoted(found) });
        };
        if let (What::Send { id, .. }, What::Send { id: given, .. }) =
            (&mut next.record.what, &found.what)
        {
            *id = *given;
        }
        if next.record != *found {
            return Err(differs(&next.record, found));
        }
        match (&found.what, next.load) {
            (&What::Send { id, to, .. }, Some(load)) => {
                self.messages += 1;
                self.flights.send(id, Flight { from: found.node, to, load })?;
            }
            (&What::Enter { fence }, _) => self.judge_entry(found, fence),
            _ => self.refused += 1,
        }
        Ok(())
    }

    fn judge_entry(&mut self, entry: &Record, fence: u64) {
        self.entries += 1;
        self.progress.enter(entry.node);
        let other = self.exclusion.enter(entry.node);
        let other = other.map(|other| ("exclusion", format!("{other} is inside")));
        let higher = self.fence_monitor.enter(fence);
        let higher = higher.map(|h| ("fence", format!("fence {fence} after fence {h}")));
        for (property, detail) in other.into_iter().chain(higher) {
            let (line, t, node) = (self.line, entry.t, entry.node);
            self.violations.push(Violation { line, t, node, property, detail });
        }
    }
}

/// The record of a message that is sent, but for its number.
fn sent<M: Message>(to: NodeId, message: &M) -> What {
    // Messages are plain data; one that JSON cannot write equals none that was read.
    let content = serde_json::to_value(message).unwrap_or(Value::Null);
    What::Send { id: 0, to, label: message.label().into(), message: content }
}

/// The node does something else.
fn differs(next: &Record, found: &Record) -> Mismatch {
    Mismatch::Other { expected: expected(next), found: quoted(found) }
}

/// A record as it stands in the file.
fn quoted(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_else(|_| format!("{record:?}"))
}

/// A record that should stand in the file; any number will do for a message.
fn expected(record: &Record) -> String {
    let text = quoted(record);
    match record.what {
        What::Send { id, .. } => text.replacen(&format!("\"id\":{id},"), "", 1),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
