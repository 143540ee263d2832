//! How acts are done: the same for every family of algorithms.

use skeptron_core::NodeId;
use skeptron_core::catalogue::Order;

use super::{Act, Deed, Hand, Impossible, cut};
use crate::engine::{Control, World};
use crate::environment::Environment;
use crate::faults::Fault;
use crate::scenario::ScenarioError;
use crate::trace::{Loss, What};
use crate::troubles::{self, Health};

/// How far a hand has come.
#[derive(Debug)]
pub(crate) struct Played {
    acts: Vec<Act>,
    /// How many records there were when each act happened that has.
    done: Vec<usize>,
}

impl Played {
    pub(crate) fn new(hand: &Hand) -> Self {
        Played { acts: hand.acts.clone(), done: Vec::new() }
    }

    /// What it does next.
    pub(crate) fn next(&self) -> Option<&Act> {
        self.acts.get(self.done.len())
    }

    /// What it has done.
    pub(crate) fn done(&self) -> &[Act] {
        &self.acts[..self.done.len()]
    }

    /// How many records there were when each act happened, unless one never does.
    pub(crate) fn into_places(self, records: usize) -> Result<Vec<usize>, ScenarioError> {
        let Some(act) = self.next() else { return Ok(self.done) };
        let why = Impossible::Never { after: act.after, records };
        Err(ScenarioError::Act { number: self.done.len() + 1, why })
    }
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// Its number in the trace.
    pub(crate) id: u32,
}

impl Passage {
    fn is(&self, message: u64) -> bool {
        u64::from(self.id) == message
    }

    fn is_on_the_way_of(&self, other: &Passage) -> bool {
        (self.from, self.to) == (other.from, other.to)
    }
}

/// Lets the hand do what it does at this point of the run, and says whether the run ends here.
pub(crate) fn ends_run<W: World>(
    world: &mut W,
    nodes: &mut dyn Control<W>,
) -> Result<bool, ScenarioError> {
    if world.environment().recorder.is_none() {
        return Ok(false);
    }
    let mut acted = act(world, nodes)?;
    // Before the hand goes on where everything rests, it is said who waits in vain.
    while nodes.next_at().is_none() && world.environment().played.next().is_some() {
        world.rest();
        if !act(world, nodes)? {
            break;
        }
        acted = true;
    }
    let env = world.environment();
    env.cut_short = env.records() >= env.most_records && nodes.next_at().is_some();
    Ok(env.cut_short || acted && world.is_done())
}

/// True if the hand did something.
fn act<W: World>(world: &mut W, nodes: &mut dyn Control<W>) -> Result<bool, ScenarioError> {
    let mut acted = false;
    while let Some((number, act)) = world.environment().next_act() {
        let next = nodes.next_at();
        let env = world.environment();
        env.now = next.map_or(act.t, |next| act.t.min(next)).max(env.now);
        env.hash.mix(env.now, act.after as u64);
        perform(world, nodes, &act.deed).map_err(|why| ScenarioError::Act { number, why })?;
        acted = true;
    }
    Ok(acted)
}

/// Does what the hand does.
fn perform<W: World>(
    world: &mut W,
    nodes: &mut dyn Control<W>,
    deed: &Deed,
) -> Result<(), Impossible> {
    let env = world.environment();
    env.may_turn(deed)?;
    match *deed {
        Deed::Request { node }
        | Deed::Release { node }
        | Deed::Call { node }
        | Deed::Draw { node, .. } => {
            env.awake(node)?;
            return world.command(nodes, deed);
        }
        Deed::Crash { node } => troubles::begin(world, nodes, Fault::Crash(node), None),
        Deed::Pause { node } => troubles::begin(world, nodes, Fault::Pause(node), None),
        Deed::Restart { node } | Deed::Resume { node } => {
            let turn = env.troubles.relieve(node);
            troubles::turn(world, nodes, turn);
        }
        Deed::Deliver { message } => {
            let (passage, way) = way_of(message, nodes)?;
            if env.troubles.health(passage.to) == Health::Paused {
                return Err(Impossible::Paused(passage.to));
            }
            // On a FIFO channel those before it, too.
            let end = way.iter().position(|&id| id == passage.id).unwrap_or(0);
            let begin = if env.order == Order::Fifo { 0 } else { end };
            nodes.deliver(world, &way[begin..=end]);
        }
        Deed::Drop { message } => {
            let (passage, _) = way_of(message, nodes)?;
            nodes.lose(passage.id);
            env.lost += 1;
            env.record(passage.from, || What::Lose { id: message, cause: Loss::Hand });
        }
        Deed::Duplicate { message } => {
            let (Passage { from, to, id }, _) = way_of(message, nodes)?;
            let copy = env.duplicate(from, id);
            let at = env.network.arrival(env.now, from, to);
            nodes.copy(id, copy, at);
        }
        Deed::Delay { message, by } => {
            let (passage, way) = way_of(message, nodes)?;
            // On a FIFO channel those behind it wait for it.
            let begin = way.iter().position(|&id| id == passage.id).unwrap_or(0);
            let end = if env.order == Order::Fifo { way.len() } else { begin + 1 };
            nodes.delay(env, &way[begin..end], by);
        }
        Deed::Cut { ref from, ref to, both_ways } => {
            troubles::begin(world, nodes, Fault::Cut(cut(from, to, both_ways)), None);
        }
        Deed::Mend if env.troubles.is_cut() => env.troubles.mend(),
        Deed::Mend => return Err(Impossible::NotCut),
    }
    Ok(())
}

/// A message, and the numbers of all on its way in the order of arrival.
fn way_of<W: World>(
    message: u64,
    nodes: &mut dyn Control<W>,
) -> Result<(Passage, Vec<u32>), Impossible> {
    let all = nodes.passages();
    let passage =
        *all.iter().find(|passage| passage.is(message)).ok_or(Impossible::NotInFlight(message))?;
    let way = all.iter().filter(|other| other.is_on_the_way_of(&passage));
    Ok((passage, way.map(|passage| passage.id).collect()))
}

impl Environment {
    /// The next act, counted from 1, if it happens at this point of the run.
    fn next_act(&mut self) -> Option<(usize, Act)> {
        let records = self.records();
        let act = self.played.next().filter(|act| act.after <= records)?.clone();
        self.played.done.push(records);
        Some((self.played.done.len(), act))
    }

    /// A message gets a copy now; returns its number.
    fn duplicate(&mut self, from: NodeId, id: u32) -> u32 {
        self.duplicated += 1;
        let Some(recorder) = &mut self.recorder else { return 0 };
        let copy = recorder.duplicate(self.now, from, id);
        recorder.end_of_step();
        copy
    }

    /// Who must be up, is.
    fn awake(&self, node: NodeId) -> Result<(), Impossible> {
        match self.troubles.health(node) {
            Health::Up => Ok(()),
            Health::Paused => Err(Impossible::Paused(node)),
            Health::Down => Err(Impossible::Down(node)),
        }
    }

    /// Whether a fault of the hand's befalls that node or ends there now.
    fn may_turn(&self, deed: &Deed) -> Result<(), Impossible> {
        let health = |node| self.troubles.health(node);
        match *deed {
            Deed::Crash { node } if health(node) == Health::Down => {
                Err(Impossible::DownAlready(node))
            }
            Deed::Pause { node } if health(node) == Health::Down => Err(Impossible::Down(node)),
            Deed::Pause { node } if health(node) == Health::Paused => {
                Err(Impossible::PausedAlready(node))
            }
            Deed::Restart { node } if health(node) != Health::Down => {
                Err(Impossible::NotDown(node))
            }
            Deed::Resume { node } if health(node) != Health::Paused => {
                Err(Impossible::NotPaused(node))
            }
            _ => Ok(()),
        }
    }

    /// Whether somebody stands still only because the hand has paused it.
    pub(crate) fn is_paused_by_hand(&self) -> bool {
        self.recorder.is_some()
            && self.played.done().iter().any(|act| match act.deed {
                Deed::Pause { node } => self.troubles.health(node) == Health::Paused,
                _ => false,
            })
    }
}
