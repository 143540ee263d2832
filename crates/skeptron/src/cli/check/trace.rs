//! A counterexample as a run: its steps, taken again by fresh nodes and recorded as the simulator
//! records, so that it can be drawn in every form and replayed there.

use std::collections::BTreeMap;
use std::ops::Range;

use skeptron_check::{Scenario, Step};
use skeptron_core::catalogue::Info;
use skeptron_core::monitor::Fence;
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::{Effect, Input, Lock, NodeId, Outbox, SetupError};
use skeptron_sim::trace::{Record, TICKS_PER_UNIT, Ticks, What};

use super::post::{Flight, PostOffice};

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
            post: PostOffice::new(),
            out: Outbox::new(),
        };
        for node in NodeId::all(system.nodes.len()) {
            system.give(node, Input::Start);
        }
        let mut moments = vec![Moment::of(0..system.post.records.len(), None)];
        for &step in self.steps {
            let before = system.post.records.len();
            system.post.now += TICKS_PER_UNIT;
            let who = system.take(step);
            let after = who.map(|node| (node, format!("{:?}", system.nodes[node.index()])));
            moments.push(Moment::of(before..system.post.records.len(), after));
        }
        Ok(Story { records: system.post.records, moments, initial, letters: system.post.letters })
    }
}

struct System<P: Mutex> {
    nodes: Vec<P>,
    fences: Vec<Fence>,
    down: Vec<bool>,
    /// Each message carries a fence.
    post: PostOffice<P::Message, u64>,
    out: Outbox<P>,
}

impl<P: Mutex> System<P> {
    /// Returns which node took it.
    fn take(&mut self, step: Step) -> Option<NodeId> {
        match step {
            Step::Request(node) => {
                self.post.record(node, What::Request);
                self.give(node, Input::Command(Lock::Request));
                Some(node)
            }
            Step::Release(node) => {
                self.post.record(node, What::Release);
                self.give(node, Input::Command(Lock::Release));
                Some(node)
            }
            Step::Deliver(which) => {
                let Flight { from, to, message, tag: fence, .. } = self.post.deliver(which);
                self.fences[to.index()].receive(fence);
                self.give(to, Input::Deliver { from, message });
                Some(to)
            }
            Step::Lose(which) => {
                self.post.lose(which);
                None
            }
            Step::Duplicate(which) => {
                self.post.duplicate(which);
                None
            }
            Step::Crash(node) => {
                self.post.record(node, What::Crash);
                self.down[node.index()] = true;
                self.post.lose_if(|flight| flight.to == node);
                None
            }
            _ => unreachable!("nobody is elected here"),
        }
    }

    fn give(&mut self, node: NodeId, input: Input<P>) {
        let mut out = std::mem::take(&mut self.out);
        if let Err(refused) = self.nodes[node.index()].step(input, &mut out) {
            self.post.record(node, What::Refuse { why: refused.to_string() });
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
                    self.post.record(node, What::Enter { fence });
                }
                Effect::Arm { .. } | Effect::Disarm(_) => {
                    unreachable!("mutual exclusion has no timers")
                }
            }
        }
        self.out = out;
        self.post.end_turn();
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        let arrives = !self.down[to.index()];
        let fence = arrives.then(|| self.fences[from.index()].attach());
        self.post.send(from, to, message, fence);
    }
}
