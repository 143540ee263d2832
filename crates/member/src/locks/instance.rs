//! One node of an algorithm whose type is known only by name, and how an algorithm is laid out on the
//! members of a view.

use std::hash::Hasher;

use skeptron_core::catalogue::{self, Family};
use skeptron_core::mutex::{self, Mutex, Visitor};
use skeptron_core::{
    Effect, Input, Lock, Message as _, NodeId, Outbox, Refused, Setup, SetupError,
};

use crate::plan::{Plan, PlanError};

/// What can happen to one node of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<'a> {
    /// It begins.
    Start,
    /// The member wants in.
    Request,
    /// The member is out again.
    Release,
    /// A message arrived, as postcard.
    Deliver {
        /// From whom, as the algorithm counts.
        from: NodeId,
        /// Its number on the link.
        sequence: u64,
        /// What it says.
        message: &'a [u8],
    },
}

/// Takes what an instance wants done, in its order.
pub(super) trait Outcome {
    /// A message was understood; comes before whatever it causes.
    fn received(&mut self, from: NodeId, sequence: u64, said: Said<'_>);
    /// Send this to another node.
    fn send(&mut self, to: NodeId, said: Said<'_>, message: &[u8]);
    /// The node is in.
    fn entered(&mut self);
}

/// What observers are told of a message.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) kind: usize,
    /// What a diagram writes beside the name of its kind; made only for whoever wants to know it.
    pub(super) payload: &'a dyn Fn() -> String,
}

/// One node of an algorithm, for one lock.
pub(super) trait Instance: Send + Sync {
    /// Takes one turn; refused means that nothing has changed.
    fn step(&mut self, turn: Turn<'_>, outcome: &mut dyn Outcome) -> Result<(), Refused>;
    /// Whether the node would be in at once if it asked now: the token rests here.
    fn rests_here(&self) -> bool;
    /// An equal one.
    fn copy(&self) -> Box<dyn Instance>;
    /// Equal for equal nodes.
    fn digest(&self, hasher: &mut dyn Hasher);
}

/// An algorithm laid out on the members of a view.
pub(crate) struct Layout {
    nodes: Box<dyn Nodes>,
    /// The algorithm's name.
    pub(crate) algorithm: &'static str,
    /// The names of its messages.
    pub(crate) kinds: &'static [&'static str],
    /// Who can enter first, as the algorithm counts: the role of a lock's home.
    pub(super) first: NodeId,
    /// Whether nothing happens before one node has begun, and its token never rests: a request must
    /// wake the others.
    pub(super) restless: bool,
    /// Whether a token may rest with a node that does not want it.
    pub(super) has_token: bool,
    /// Whether nodes may enter without a word of the first one.
    pub(super) passes_first_by: bool,
}

/// All nodes of a layout in their initial state.
trait Nodes: Send + Sync {
    fn instance(&self, node: NodeId) -> Box<dyn Instance>;
}

impl Layout {
    /// The plan on so many members.
    pub(crate) fn new(plan: &Plan, members: usize) -> Result<Self, PlanError> {
        let setup = plan.setup(members)?;
        Ok(mutex::dispatch(plan.info(), Build { plan, setup: &setup })?)
    }

    /// A node in its initial state.
    pub(super) fn instance(&self, node: NodeId) -> Box<dyn Instance> {
        self.nodes.instance(node)
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layout").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

struct Build<'a> {
    plan: &'a Plan,
    setup: &'a Setup,
}

impl Visitor for Build<'_> {
    type Output = Result<Layout, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let info = self.plan.info();
        let nodes = P::build(info.name, self.setup)?;
        let starts = |node: &P| {
            let mut out = Outbox::new();
            let started = node.clone().step(Input::Start, &mut out);
            started.is_ok() && !out.effects().is_empty()
        };
        let starter = nodes.iter().position(starts);
        let first = starter.or_else(|| nodes.iter().position(enters_at_once)).unwrap_or(0);
        Ok(Layout {
            algorithm: info.name,
            kinds: P::Message::KINDS,
            first: NodeId::new(first),
            restless: starter.is_some(),
            has_token: info.family == Family::Token,
            passes_first_by: matches!(
                info.layout,
                catalogue::Layout::Quorums
                    | catalogue::Layout::Structure
                    | catalogue::Layout::Detector
            ),
            nodes: Box::new(nodes),
        })
    }
}

impl<P: Mutex> Nodes for Vec<P> {
    fn instance(&self, node: NodeId) -> Box<dyn Instance> {
        let driven = Driven {
            node: self[node.index()].clone(),
            me: node,
            peers: self.len(),
            out: Outbox::new(),
        };
        Box::new(driven)
    }
}

fn enters_at_once<P: Mutex>(node: &P) -> bool {
    let (mut node, mut out) = (node.clone(), Outbox::new());
    let asked = node.step(Input::Command(Lock::Request), &mut out);
    asked.is_ok() && out.effects().iter().any(|effect| matches!(effect, Effect::Emit(_)))
}

/// The algorithm's own node and the outbox it fills.
#[derive(Clone)]
struct Driven<P: Mutex> {
    node: P,
    me: NodeId,
    peers: usize,
    out: Outbox<P>,
}

impl<P: Mutex> Driven<P> {
    fn hand_on(&mut self, outcome: &mut dyn Outcome) {
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    let said = Said { kind: message.kind(), payload: &|| message.payload() };
                    encoded(&message, |bytes| outcome.send(to, said, bytes));
                }
                Effect::Broadcast { message } => encoded(&message, |bytes| {
                    let said = Said { kind: message.kind(), payload: &|| message.payload() };
                    for to in NodeId::all(self.peers).filter(|&to| to != self.me) {
                        outcome.send(to, said, bytes);
                    }
                }),
                Effect::Emit(_entered) => outcome.entered(),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
    }
}

thread_local! {
    /// Where messages are encoded, reused so that a warm send allocates nothing.
    static SCRATCH: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
}

fn encoded<M: serde::Serialize>(message: &M, then: impl FnOnce(&[u8])) {
    let mut scratch = SCRATCH.take();
    scratch.clear();
    let bytes = postcard::to_extend(message, scratch)
        .expect("a message of an algorithm is plain data and memory takes it");
    then(&bytes);
    SCRATCH.set(bytes);
}

impl<P: Mutex> Instance for Driven<P> {
    fn step(&mut self, turn: Turn<'_>, outcome: &mut dyn Outcome) -> Result<(), Refused> {
        let input = match turn {
            Turn::Start => Input::Start,
            Turn::Request => Input::Command(Lock::Request),
            Turn::Release => Input::Command(Lock::Release),
            Turn::Deliver { from, sequence, message: bytes } => {
                let message: P::Message = match postcard::take_from_bytes(bytes) {
                    Ok((message, [])) => message,
                    _ => return Err(Refused::Unexpected("not a message of this algorithm")),
                };
                let kind = message.kind();
                self.node.step(Input::Deliver { from, message }, &mut self.out)?;
                // The node has taken it; what it said is read once more if somebody wants to know.
                let again = || postcard::from_bytes::<P::Message>(bytes);
                let payload = || again().map_or_else(|_| String::new(), |again| again.payload());
                outcome.received(from, sequence, Said { kind, payload: &payload });
                self.hand_on(outcome);
                return Ok(());
            }
        };
        self.node.step(input, &mut self.out)?;
        self.hand_on(outcome);
        Ok(())
    }

    fn rests_here(&self) -> bool {
        enters_at_once(&self.node)
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn digest(&self, mut hasher: &mut dyn Hasher) {
        self.node.hash(&mut hasher);
    }
}
