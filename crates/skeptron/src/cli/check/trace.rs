//! A counterexample as a run: its steps, taken again by fresh nodes and recorded as the simulator
//! records, so that it can be drawn in every form and replayed there.

use std::collections::BTreeMap;
use std::ops::Range;

use skeptron_check::{Scenario, Step, Which};
use skeptron_core::catalogue::Info;
use skeptron_core::monitor::Fence;
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::{Effect, Input, Lock, Message as _, NodeId, Outbox, SetupError};
use skeptron_sim::trace::{Loss, Record, TICKS_PER_UNIT, Ticks, What};

/// What comes of some steps.
pub(crate) struct Story {
    /// Everything that happens.
    pub(crate) records: Vec<Record>,
    /// First what happens when the nodes start, then one for each step.
    pub(crate) moments: Vec<Moment>,
    /// The nodes as they start, as `Debug` writes them.
    pub(crate) initial: Vec<String>,
    /// The messages by number, copies included.
    pub(crate) letters: BTreeMap<u64, Letter>,
}

/// What is known of a message.
#[derive(Clone)]
pub(crate) struct Letter {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) label: &'static str,
    /// What it says, as `Debug` writes it.
    pub(crate) content: String,
    /// When it was sent.
    pub(crate) t: Ticks,
}

/// One step.
pub(crate) struct Moment {
    /// Which records are about it.
    pub(crate) records: Range<usize>,
    /// Who took it, and its state after it; none where only the network or a crash did something.
    pub(crate) after: Option<(NodeId, String)>,
    /// Whether all that happens is that time passes.
    pub(crate) is_tick: bool,
}

impl Moment {
    pub(crate) fn of(records: Range<usize>, after: Option<(NodeId, String)>) -> Self {
        Moment { records, after, is_tick: false }
    }
}

/// Takes the steps.
///
/// # Errors
/// If the nodes cannot be built.
pub(crate) fn follow(
    info: &Info,
    scenario: &Scenario,
    steps: &[Step],
) -> Result<Story, SetupError> {
    dispatch(info, Follow { info, scenario, steps })
}

struct Follow<'a> {
    info: &'a Info,
    scenario: &'a Scenario,
    steps: &'a [Step],
}

impl Visitor for Follow<'_> {
    type Output = Result<Story, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let nodes = P::build(self.info.name, &self.scenario.setup)?;
        let initial = nodes.iter().map(|node| format!("{node:?}")).collect();
        let mut system = System {
            fences: vec![Fence::default(); nodes.len()],
            down: vec![false; nodes.len()],
            nodes,
            in_flight: Vec::new(),
            sent: 0,
            now: 0,
            out: Outbox::new(),
            records: Vec::new(),
            later: Vec::new(),
            letters: BTreeMap::new(),
        };
        for node in NodeId::all(system.nodes.len()) {
            system.give(node, Input::Start);
        }
        let mut moments = vec![Moment::of(0..system.records.len(), None)];
        for &step in self.steps {
            let before = system.records.len();
            system.now += TICKS_PER_UNIT;
            let who = system.take(step);
            let after = who.map(|node| (node, format!("{:?}", system.nodes[node.index()])));
            moments.push(Moment::of(before..system.records.len(), after));
        }
        Ok(Story { records: system.records, moments, initial, letters: system.letters })
    }
}

/// A message in flight.
struct Flight<P: Mutex> {
    id: u64,
    from: NodeId,
    to: NodeId,
    message: P::Message,
    fence: u64,
}

struct System<P: Mutex> {
    nodes: Vec<P>,
    fences: Vec<Fence>,
    down: Vec<bool>,
    /// In the order of sending; a copy stands behind its original.
    in_flight: Vec<Flight<P>>,
    sent: u64,
    now: Ticks,
    out: Outbox<P>,
    records: Vec<Record>,
    /// What the network does after the present step.
    later: Vec<Record>,
    letters: BTreeMap<u64, Letter>,
}

impl<P: Mutex> System<P> {
    fn record(&mut self, node: NodeId, what: What) {
        self.records.push(Record { t: self.now, node, what });
    }

    /// Returns which node took it.
    fn take(&mut self, step: Step) -> Option<NodeId> {
        match step {
            Step::Request(node) => {
                self.record(node, What::Request);
                self.give(node, Input::Command(Lock::Request));
                Some(node)
            }
            Step::Release(node) => {
                self.record(node, What::Release);
                self.give(node, Input::Command(Lock::Release));
                Some(node)
            }
            Step::Deliver(which) => {
                let place = self.place(which);
                let Flight { id, from, to, message, fence } = self.in_flight.remove(place);
                self.record(to, What::Deliver { id });
                self.fences[to.index()].receive(fence);
                self.give(to, Input::Deliver { from, message });
                Some(to)
            }
            Step::Lose(which) => {
                let place = self.place(which);
                let Flight { id, from, .. } = self.in_flight.remove(place);
                self.record(from, What::Lose { id, cause: Loss::Chance });
                None
            }
            Step::Duplicate(which) => {
                let place = self.place(which);
                self.sent += 1;
                let Flight { id: of, from, to, ref message, fence } = self.in_flight[place];
                let copy = Flight { id: self.sent, from, to, message: message.clone(), fence };
                self.in_flight.insert(place + 1, copy);
                let original = &self.letters[&of];
                self.letters.insert(self.sent, original.clone());
                self.record(from, What::Duplicate { id: self.sent, of });
                None
            }
            Step::Crash(node) => {
                self.record(node, What::Crash);
                self.down[node.index()] = true;
                for Flight { id, from, .. } in
                    self.in_flight.extract_if(.., |flight| flight.to == node)
                {
                    let what = What::Lose { id, cause: Loss::Down };
                    self.records.push(Record { t: self.now, node: from, what });
                }
                None
            }
            _ => unreachable!("nobody is elected here"),
        }
    }

    /// Where a message stands among those in flight.
    fn place(&self, which: Which) -> usize {
        let places = self.in_flight.iter().enumerate();
        let mut on_link =
            places.filter(|(_, flight)| (flight.from, flight.to) == (which.from, which.to));
        on_link.nth(which.nth).expect("a step names a message that is in flight").0
    }

    fn give(&mut self, node: NodeId, input: Input<P>) {
        let mut out = std::mem::take(&mut self.out);
        if let Err(refused) = self.nodes[node.index()].step(input, &mut out) {
            self.record(node, What::Refuse { why: refused.to_string() });
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.send(node, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.send(node, to, message.clone());
                    }
                }
                Effect::Emit(_) => {
                    let fence = self.fences[node.index()].enter();
                    self.record(node, What::Enter { fence });
                }
                Effect::Arm { .. } | Effect::Disarm(_) => {
                    unreachable!("mutual exclusion has no timers")
                }
            }
        }
        self.out = out;
        self.records.append(&mut self.later);
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        self.sent += 1;
        let (t, id, label) = (self.now, self.sent, message.label());
        self.letters.insert(id, Letter { from, to, label, content: format!("{message:?}"), t });
        // Messages are plain data: they always have a JSON form.
        let content = serde_json::to_value(&message).unwrap_or_default();
        self.record(from, What::Send { id, to, label: label.into(), message: content });
        if self.down[to.index()] {
            let what = What::Lose { id, cause: Loss::Down };
            self.later.push(Record { t, node: from, what });
        } else {
            let fence = self.fences[from.index()].attach();
            self.in_flight.push(Flight { id, from, to, message, fence });
        }
    }
}
