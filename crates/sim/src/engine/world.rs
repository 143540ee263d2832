//! What surrounds the nodes of a run, and what it can do to them: neither knows an algorithm.

use skeptron_core::{NodeId, Refused};

use crate::driver::Family;
use crate::environment::Environment;
use crate::hand::{Deed, Impossible, Passage};
use crate::scenario::ScenarioError;
use crate::trace::Ticks;
use crate::troubles::Trouble;

/// What surrounds the nodes of a run: applications, judges and measures of one family of algorithms, and
/// the environment.
pub(crate) trait World: Sized {
    /// Whose commands it gives and whose events it hears.
    type Family: Family;
    /// What rides on a message besides what it says.
    type Tag: Clone;
    /// What happens besides messages, alarms and faults.
    type Happening: Happening;
    /// What comes of a run.
    type Outcome;

    /// Whether runs are recorded; where they are not, the loop is compiled without a trace of it.
    const RECORDS: bool;
    /// How events are mixed into the trace hash.
    const MIXING: Mixing;

    fn environment(&mut self) -> &mut Environment;

    /// The nodes have started: plans what happens of its own accord.
    fn begin(&mut self, nodes: &mut dyn Control<Self>);

    /// An event happens now.
    fn pass(&mut self, now: Ticks);

    /// Something of its own happens.
    fn happen(&mut self, nodes: &mut dyn Control<Self>, what: Self::Happening);

    /// After an event: whether there is to be another one.
    fn goes_on(&mut self) -> Result<bool, ScenarioError>;

    /// The run is over; it `rests` if nothing can happen any more.
    fn finish(self, rests: bool) -> Result<Self::Outcome, ScenarioError>;

    /// A node sends one message to one or to all.
    fn count_sending(&mut self) {}

    /// A message of this kind and size is sent.
    fn count_message(&mut self, from: NodeId, kind: usize, size: u64);

    /// What rides on a message of `from`.
    fn tag(&mut self, from: NodeId) -> Self::Tag;

    /// What the trace hash mixes in of it.
    fn mixed(tag: &Self::Tag) -> u64;

    /// A message of this kind arrives at a node that is up.
    fn arrive(&mut self, from: NodeId, to: NodeId, kind: usize, tag: Self::Tag);

    /// A node does not take an input.
    fn refuse(&mut self, node: NodeId, refused: Refused);

    /// A node tells its application something.
    fn emit(
        &mut self,
        agenda: &mut dyn Plan<Self::Happening>,
        node: NodeId,
        event: <Self::Family as Family>::Event,
    );

    /// A node has taken an input, and all that it wants is done.
    fn stepped(&mut self, _node: NodeId, _view: <Self::Family as Family>::View) {}

    /// That input was no command.
    fn given(&mut self, _nodes: &mut dyn Control<Self>, _node: NodeId) {}

    /// Whether the nodes are in a state from which nothing is promised yet.
    fn awaits_legitimacy(&self) -> bool {
        false
    }

    /// They have come to a legitimate one.
    fn become_legitimate(&mut self) {}

    /// Whether something may go wrong by chance at that time.
    fn may_go_wrong(&self, at: Ticks) -> bool;

    /// Something comes from outside: a fault, or its end.
    fn disturb(&mut self) {}

    /// `node` is down now.
    fn crash(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        nodes.release(self, node);
    }

    /// `node` is up again and must begin anew: [`Control::restart`].
    fn restart(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        nodes.restart(self, node);
    }

    /// `node` has gone on with what was held for it.
    fn resume(&mut self, _nodes: &mut dyn Control<Self>, _node: NodeId) {}

    /// A hand wants something of an application whose node is up.
    fn command(&mut self, nodes: &mut dyn Control<Self>, deed: &Deed) -> Result<(), Impossible>;

    /// Nothing happens any more unless the hand does something.
    fn rest(&mut self);

    /// After an act of the hand: whether nothing is left to do.
    fn is_done(&self) -> bool;
}

/// What happens in a world besides messages, alarms and faults.
pub(crate) trait Happening {
    /// For the trace hash: what kind it is, whom it concerns, and details.
    fn code(&self) -> (u64, NodeId, u64);
}

/// How events are mixed into the trace hash: how far a node is shifted, and which numbers faults have when
/// they begin, end, and come by chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixing {
    pub(crate) shift: u32,
    pub(crate) faults: [u64; 3],
}

impl Mixing {
    /// The number of an alarm.
    pub(super) const ALARM: u64 = 9;
}

/// Puts something on the agenda.
pub(crate) trait Plan<H> {
    fn plan(&mut self, at: Ticks, what: H);
}

/// What a world can do to its nodes and their agenda. What picks out single things is for hands, and does
/// nothing where runs are not recorded.
pub(crate) trait Control<W: World>: Plan<W::Happening> {
    /// Plans a fault, or its end.
    fn plan_trouble(&mut self, at: Ticks, trouble: Trouble);

    /// Takes back what was planned.
    fn cancel(&mut self, is_it: &dyn Fn(&W::Happening) -> bool);

    /// Keeps something for a paused node.
    fn hold(&mut self, node: NodeId, what: W::Happening);

    /// What was kept for `node` happens, in the same order.
    fn release(&mut self, world: &mut W, node: NodeId);

    /// The application of `node` gives a command.
    fn command(&mut self, world: &mut W, node: NodeId, command: <W::Family as Family>::Command);

    /// `node` begins again.
    fn restart(&mut self, world: &mut W, node: NodeId);

    /// Alarms that `node` has set do not ring.
    fn forget_alarms(&mut self, node: NodeId);

    /// Alarms that `node` has missed ring now.
    fn resume_alarms(&mut self, node: NodeId, now: Ticks);

    /// When the next thing happens.
    fn next_at(&mut self) -> Option<Ticks>;

    /// All messages on their way, for each pair of nodes in the order of arrival; those that were held for a
    /// paused node have arrived.
    fn passages(&mut self) -> Vec<Passage>;

    /// Lets these messages arrive now.
    fn deliver(&mut self, world: &mut W, ids: &[u32]);

    /// Takes a message away.
    fn lose(&mut self, id: u32);

    /// Lets the first of these messages arrive later, and the others no earlier than it.
    fn delay(&mut self, env: &mut Environment, ids: &[u32], by: Ticks);

    /// Puts a copy of a message on its way.
    fn copy(&mut self, of: u32, id: u32, at: Ticks);
}
