//! The history of one lock in one view, as a trace of its algorithm.

use std::collections::BTreeMap;

use skeptron_core::monitor::Fence;
use skeptron_core::mutex::{self, Mutex, Visitor};
use skeptron_core::{Effect, Input, Lock, Message as _, NodeId, Outbox, Setup};
use skeptron_member::Turn;
use skeptron_member::plan::Plan;
use skeptron_sim::trace::{Content, Header, Record, Ticks, Trace, What};

use crate::clock::{MICROSECOND, Time};
use crate::outcome::Violation;

/// A turn of an algorithm's node.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    epoch: u64,
    part: NodeId,
    input: Recorded,
}

#[derive(Clone, Debug)]
enum Recorded {
    Start,
    Request,
    Release,
    Deliver { from: NodeId, message: Vec<u8> },
}

impl Step {
    pub(crate) fn new(epoch: u64, part: NodeId, turn: Turn<'_>) -> Self {
        let input = match turn {
            Turn::Start => Recorded::Start,
            Turn::Request => Recorded::Request,
            Turn::Release => Recorded::Release,
            Turn::Deliver { from, message, .. } => {
                Recorded::Deliver { from, message: message.to_vec() }
            }
        };
        Step { epoch, part, input }
    }
}

/// Keeps the turns of one lock, by view.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    views: BTreeMap<u64, (usize, Vec<(Time, Step)>)>,
    latest: u64,
}

impl Recorder {
    /// A view of so many members is decided.
    pub(crate) fn view(&mut self, epoch: u64, members: usize) {
        self.views.entry(epoch).or_insert((members, Vec::new()));
    }

    pub(crate) fn step(&mut self, now: Time, step: Step) {
        self.latest = step.epoch;
        if let Some((_, steps)) = self.views.get_mut(&step.epoch) {
            steps.push((now, step));
        }
    }

    /// The history in the view of the violation, or in the one in which most happened. None if nothing
    /// did, or its nodes cannot be built.
    pub(crate) fn into_trace(
        mut self,
        algorithm: &str,
        command: Option<String>,
        violation: Option<&Violation>,
    ) -> Option<Trace> {
        let longest = || self.views.iter().max_by_key(|(_, (_, steps))| steps.len());
        let epoch = if violation.is_some() { self.latest } else { *longest()?.0 };
        let (members, steps) = self.views.remove(&epoch)?;
        let plan = Plan::named(algorithm).ok()?;
        let setup = plan.setup(members).ok()?;
        let mut header = Header::of(plan.info().name, &setup, plan.info().channel);
        header.command = command;
        let telling = Telling { name: plan.info().name, setup: &setup, steps: &steps };
        let mut records = mutex::dispatch(plan.info(), telling)?;
        if let Some(violation) = violation {
            let last = records.last().map_or(NodeId::new(0), |last| last.node);
            let what = What::Violation {
                property: violation.property.name().into(),
                detail: violation.detail.clone(),
            };
            records.push(Record { t: ticks(violation.at_nanos), node: last, what });
        }
        // A lock begins when it is first used, which may be late.
        let begin = records.iter().map(|record| record.t).find(|&t| t > 0).unwrap_or(0);
        for record in &mut records {
            record.t = record.t.saturating_sub(begin);
        }
        Some(Trace { header, records })
    }
}

/// A tick is a microsecond, so that one unit is a millisecond.
fn ticks(time: Time) -> Ticks {
    time / MICROSECOND
}

/// Takes the turns again, on fresh nodes, and tells what they do.
struct Telling<'a> {
    name: &'static str,
    setup: &'a Setup,
    steps: &'a [(Time, Step)],
}

impl Visitor for Telling<'_> {
    type Output = Option<Vec<Record>>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let nodes = P::build(self.name, self.setup).ok()?;
        let mut teller = Teller {
            fences: vec![Fence::default(); nodes.len()],
            nodes,
            in_flight: Vec::new(),
            ids: 0,
            out: Outbox::new(),
            records: Vec::new(),
        };
        // A trace begins with all nodes started.
        for node in NodeId::all(teller.nodes.len()) {
            teller.take(0, node, Input::Start)?;
        }
        for (time, Step { part, input, .. }) in self.steps {
            let t = ticks(*time);
            match input {
                Recorded::Start => {}
                Recorded::Request => {
                    teller.record(t, *part, What::Request);
                    teller.take(t, *part, Input::Command(Lock::Request))?;
                }
                Recorded::Release => {
                    teller.record(t, *part, What::Release);
                    teller.take(t, *part, Input::Command(Lock::Release))?;
                }
                Recorded::Deliver { from, message } => {
                    teller.deliver(t, *from, *part, message)?;
                }
            }
        }
        Some(teller.records)
    }
}

struct Teller<P: Mutex> {
    nodes: Vec<P>,
    fences: Vec<Fence>,
    in_flight: Vec<InFlight>,
    ids: u64,
    out: Outbox<P>,
    records: Vec<Record>,
}

/// A message on its way, as postcard.
struct InFlight {
    id: u64,
    from: NodeId,
    to: NodeId,
    fence: u64,
    message: Vec<u8>,
}

impl<P: Mutex> Teller<P> {
    fn record(&mut self, t: Ticks, node: NodeId, what: What) {
        self.records.push(Record { t, node, what });
    }

    fn deliver(&mut self, t: Ticks, from: NodeId, to: NodeId, message: &[u8]) -> Option<()> {
        let same =
            |other: &InFlight| (other.from, other.to) == (from, to) && other.message == message;
        let place = self.in_flight.iter().position(same);
        let id = match place {
            Some(place) => {
                let InFlight { id, fence, .. } = self.in_flight.remove(place);
                self.fences[to.index()].receive(fence);
                id
            }
            // A message that nobody sent in this view, or that arrives twice: only flaws do that.
            None => return None,
        };
        self.record(t, to, What::Deliver { id });
        let message = postcard::from_bytes(message).ok()?;
        self.take(t, to, Input::Deliver { from, message })
    }

    fn take(&mut self, t: Ticks, node: NodeId, input: Input<P>) -> Option<()> {
        let mut out = std::mem::replace(&mut self.out, Outbox::new());
        self.nodes[node.index()].step(input, &mut out).ok()?;
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.send(t, node, to, &message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.send(t, node, to, &message);
                    }
                }
                Effect::Emit(_entered) => {
                    let fence = self.fences[node.index()].enter();
                    self.record(t, node, What::Enter { fence });
                }
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        self.out = out;
        Some(())
    }

    fn send(&mut self, t: Ticks, from: NodeId, to: NodeId, message: &P::Message) {
        self.ids += 1;
        let content = Content::of(message.clone());
        let (id, label) = (self.ids, message.label().into());
        self.record(t, from, What::Send { id, to, label, message: content });
        let fence = self.fences[from.index()].attach();
        let message = postcard::to_stdvec(message).unwrap_or_default();
        self.in_flight.push(InFlight { id, from, to, fence, message });
    }
}
