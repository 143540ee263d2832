//! One node of an algorithm whose type is known only by name.

use prometheus_client::metrics::counter::Counter;
use skeptron_core::mutex::{self, Mutex, Visitor};
use skeptron_core::{Effect, Input, Lock, Message as _, NodeId, Outbox, Refused, SetupError};

use crate::observe::{MessageLabels, Observer};
use crate::plan::Plan;

/// What can happen to an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn<'a> {
    /// It begins.
    Start,
    /// The node wants in.
    Request,
    /// The node is out again.
    Release,
    /// A message arrived, as postcard.
    Deliver {
        /// From whom.
        from: NodeId,
        /// Its number on the link.
        sequence: u64,
        /// What it says.
        message: &'a [u8],
    },
}

/// Takes what an instance wants done, in its order.
pub(crate) trait Effects {
    /// A message was understood; comes before whatever it causes.
    fn received(&mut self, from: NodeId, sequence: u64, kind: usize);
    /// Send this to another node.
    fn send(&mut self, to: NodeId, kind: usize, message: &[u8]);
    /// The node is in.
    fn entered(&mut self);
}

/// One node of an algorithm, for one lock.
pub(crate) trait Instance: Send {
    /// Takes one turn; refused means that nothing has changed.
    fn step(&mut self, turn: Turn<'_>, effects: &mut dyn Effects) -> Result<(), Refused>;

    /// Whether the node would be in at once if it asked now: the token rests here.
    fn rests_here(&self) -> bool;
}

/// Makes the instances of one plan at one node.
pub(crate) struct Factory {
    prototype: Box<dyn Prototype>,
    /// The algorithm's name.
    pub(crate) algorithm: &'static str,
    /// The names of its messages.
    pub(crate) kinds: &'static [&'static str],
    /// Whether nothing happens before one node has begun, and its token never rests: a request must
    /// wake the others.
    pub(crate) restless: bool,
    /// Whether a token may rest with a node that does not want it.
    pub(crate) has_token: bool,
    /// Messages sent, by kind.
    pub(crate) sent: Vec<Counter>,
    /// Messages taken, by kind.
    pub(crate) received: Vec<Counter>,
}

trait Prototype: Send + Sync {
    fn instance(&self) -> Box<dyn Instance>;
}

impl Factory {
    /// For the node `me` of `plan`.
    ///
    /// # Errors
    /// If the plan's setup lacks what the algorithm needs.
    pub(crate) fn new(plan: &Plan, me: NodeId, observer: &Observer) -> Result<Self, SetupError> {
        let built = mutex::dispatch(plan.info(), Build { plan, me })?;
        let algorithm = plan.info().name;
        let counters = |family: &prometheus_client::metrics::family::Family<_, Counter>| {
            let counter =
                |&message| family.get_or_create_owned(&MessageLabels { algorithm, message });
            built.kinds.iter().map(counter).collect()
        };
        Ok(Factory {
            algorithm,
            kinds: built.kinds,
            restless: built.restless,
            has_token: plan.info().family == skeptron_core::catalogue::Family::Token,
            sent: counters(&observer.sent),
            received: counters(&observer.received),
            prototype: built.prototype,
        })
    }

    /// A node in its initial state.
    pub(crate) fn instance(&self) -> Box<dyn Instance> {
        self.prototype.instance()
    }
}

impl std::fmt::Debug for Factory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Factory").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

struct Build<'a> {
    plan: &'a Plan,
    me: NodeId,
}

struct Built {
    prototype: Box<dyn Prototype>,
    kinds: &'static [&'static str],
    restless: bool,
}

impl Visitor for Build<'_> {
    type Output = Result<Built, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let mut nodes = P::build(self.plan.info().name, self.plan.setup())?;
        let mut out = Outbox::new();
        let restless = nodes.iter().any(|node| {
            let started = node.clone().step(Input::Start, &mut out);
            started.is_ok() && out.drain().next().is_some()
        });
        let peers = nodes.len();
        let node = nodes.swap_remove(self.me.index());
        let driven = Driven { node, peers, me: self.me, out };
        Ok(Built { prototype: Box::new(driven), kinds: P::Message::KINDS, restless })
    }
}

/// The algorithm's own node and the outbox it fills.
#[derive(Clone)]
struct Driven<P: Mutex> {
    node: P,
    me: NodeId,
    peers: usize,
    out: Outbox<P>,
}

impl<P: Mutex> Prototype for Driven<P> {
    fn instance(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }
}

impl<P: Mutex> Driven<P> {
    fn hand_on(&mut self, effects: &mut dyn Effects) {
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    encoded(&message, |bytes| effects.send(to, message.kind(), bytes));
                }
                Effect::Broadcast { message } => encoded(&message, |bytes| {
                    for to in NodeId::all(self.peers).filter(|&to| to != self.me) {
                        effects.send(to, message.kind(), bytes);
                    }
                }),
                Effect::Emit(_entered) => effects.entered(),
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
    fn step(&mut self, turn: Turn<'_>, effects: &mut dyn Effects) -> Result<(), Refused> {
        let input = match turn {
            Turn::Start => Input::Start,
            Turn::Request => Input::Command(Lock::Request),
            Turn::Release => Input::Command(Lock::Release),
            Turn::Deliver { from, sequence, message } => {
                let message: P::Message = match postcard::take_from_bytes(message) {
                    Ok((message, [])) => message,
                    _ => return Err(Refused::Unexpected("not a message of this algorithm")),
                };
                let kind = message.kind();
                self.node.step(Input::Deliver { from, message }, &mut self.out)?;
                effects.received(from, sequence, kind);
                self.hand_on(effects);
                return Ok(());
            }
        };
        self.node.step(input, &mut self.out)?;
        self.hand_on(effects);
        Ok(())
    }

    fn rests_here(&self) -> bool {
        let (mut node, mut out) = (self.node.clone(), Outbox::new());
        let asked = node.step(Input::Command(Lock::Request), &mut out);
        asked.is_ok() && out.effects().iter().any(|effect| matches!(effect, Effect::Emit(_)))
    }
}
