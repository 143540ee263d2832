//! A counterexample: the moves that the search found, told as steps that anybody can follow.

use skeptron_core::NodeId;
use skeptron_core::monitor::LeadershipViolation;

use super::memory::Memory;
use super::prefix::FOR_ANY_STEP;
use super::state::{Move, Packet, State};
use super::world::{Lack, World};
use crate::counterexample::Counterexample;
use crate::flight::{self, Flying as _};
use crate::model::Model as _;
use crate::prefix::Already;
use crate::property::{Property, Step, Which};

/// Follows the moves from where the search began and says what is wrong at their end.
pub(super) fn tell(
    world: &World,
    property: Property,
    moves: &[Move],
    cycle: Option<usize>,
) -> Counterexample {
    let retracer = Retracer::new(world, &world.start, &world.in_flight);
    follow(retracer, &world.after, property, moves, cycle)
}

/// How the run before the search violates something.
pub(super) fn tell_already(
    world: &World,
    already: &Already<State, Packet, Move>,
) -> Counterexample {
    let Already { property, step, before, in_flight, taken } = already;
    let mut before = before.clone();
    // It was allowed to happen.
    before.budget = FOR_ANY_STEP;
    let retracer = Retracer::new(world, &before, in_flight);
    follow(retracer, &world.after[..*step], *property, &[*taken], None)
}

fn follow(
    mut retracer: Retracer<'_>,
    after: &[Step],
    property: Property,
    moves: &[Move],
    cycle: Option<usize>,
) -> Counterexample {
    let mut steps = after.to_vec();
    steps.extend(moves.iter().map(|&step| retracer.take(step)));
    let (node, detail) = match cycle {
        Some(_) => (retracer.actor, "this goes on for ever, and nobody is elected for good".into()),
        None => retracer.verdict(property),
    };
    let (beginnings, node) = (Vec::new(), NodeId::new(node));
    let (shortest, cycle) = (cycle.is_none(), cycle.map(|begins| after.len() + begins));
    Counterexample { beginnings, steps, node, detail, cycle, shortest }
}

struct Retracer<'a> {
    world: &'a World,
    memory: Memory<'a>,
    state: State,
    /// In the order of sending.
    in_flight: Vec<Packet>,
    /// Who acted last.
    actor: usize,
}

impl<'a> Retracer<'a> {
    fn new(world: &'a World, state: &State, in_flight: &[Packet]) -> Self {
        let mut memory = world.memory(false);
        memory.nodes.note_sent();
        let (state, in_flight) = (state.clone(), in_flight.to_vec());
        Retracer { world, memory, state, in_flight, actor: 0 }
    }

    fn take(&mut self, step: Move) -> Step {
        let told = match step {
            Move::Call(node) => Step::Call(self.acts(node)),
            Move::Deliver(place) => {
                let (which, index) = self.which(place);
                self.in_flight.remove(index);
                self.actor = which.to.index();
                Step::Deliver(which)
            }
            Move::Expire { node, nth } => Step::Expire { node: self.acts(node), nth: nth.into() },
            Move::Tell { node, whom } | Move::Doubt { node, whom } => {
                let suspects = self.state.sites[node as usize].suspects(whom.into());
                let (node, whom) = (self.acts(node), NodeId::new(whom.into()));
                if suspects { Step::Trust { node, whom } } else { Step::Suspect { node, whom } }
            }
            Move::Tick => Step::Tick,
            Move::Lose(place) => {
                let (which, index) = self.which(place);
                self.in_flight.remove(index);
                Step::Lose(which)
            }
            Move::Duplicate(place) => {
                let (which, index) = self.which(place);
                let copy = self.in_flight[index];
                self.in_flight.insert(index, copy);
                Step::Duplicate(which)
            }
            Move::Crash(node) => Step::Crash(self.acts(node)),
            Move::Restart(node) => Step::Restart(self.acts(node)),
            Move::Draw { node, number } => {
                Step::Draw { node: self.acts(node), number: number.into() }
            }
        };
        self.world.take(&mut self.memory, &mut self.state, step);
        self.note_changes();
        told
    }

    fn acts(&mut self, node: u8) -> NodeId {
        self.actor = node.into();
        NodeId::new(node.into())
    }

    /// Brings what is in flight up to date: a step may lose messages or make them late, and what it
    /// sends comes last.
    fn note_changes(&mut self) {
        let mut new = self.state.flight.clone();
        self.in_flight.retain_mut(|old| {
            // A message never becomes early again, nor its sender alive.
            let same = |packet: &Packet| {
                (packet.link(), packet.message) == (old.link(), old.message)
                    && packet.late >= old.late
                    && packet.orphan >= old.orphan
            };
            let place = (0..new.len()).filter(|&place| same(&new[place]));
            // The one that is most like it.
            match place.min_by_key(|&place| (new[place].late, new[place].orphan)) {
                Some(place) => {
                    *old = new.remove(place);
                    true
                }
                None => false,
            }
        });
        flight::append(&mut self.in_flight, new, self.memory.nodes.drain_sent());
    }

    /// The message at a place of the state, and where it stands in the order of sending.
    fn which(&self, place: u16) -> (Which, usize) {
        flight::which(&self.state.flight, place, &self.in_flight)
    }

    /// Where the violation shows, and what it is.
    fn verdict(&mut self, property: Property) -> (usize, String) {
        match (property, self.memory.discord) {
            (Property::Agreement | Property::Validity, Some((node, elected, discord))) => {
                let (leader, epoch) = (elected.leader, elected.epoch);
                let who = if node == leader { "itself".into() } else { leader.to_string() };
                let why = match discord {
                    LeadershipViolation::Other(other) => {
                        format!("but {other} was named in that epoch before")
                    }
                    LeadershipViolation::Dead => "which was down when that epoch began".into(),
                    LeadershipViolation::Passed(higher) => {
                        format!("but {higher} is higher and was alive")
                    }
                };
                (node.index(), format!("{node} names {who} in epoch {epoch}, {why}"))
            }
            (Property::Termination, _) => self.lack(),
            _ => (self.actor, format!("{} refuses what it is told", NodeId::new(self.actor))),
        }
    }

    fn lack(&mut self) -> (usize, String) {
        if self.world.is_endless(&mut self.memory, &self.state) {
            let rounds = self.world.most_rounds;
            let detail =
                format!("elections are begun again and again: more than {rounds} rounds so far");
            return (self.actor, detail);
        }
        match self.world.leaderless(&self.state) {
            Some((node, Lack::Leader)) => {
                let name = NodeId::new(node);
                let detail = match self.state.sites[node].named {
                    super::state::NOBODY => {
                        format!("nothing more happens, and {name} names nobody")
                    }
                    named => {
                        let is_up = self.state.sites[named as usize].up;
                        let state = if is_up { "cut off" } else { "down" };
                        let named = NodeId::new(named.into());
                        format!("nothing more happens, and {name} names {named}, which is {state}")
                    }
                };
                (node, detail)
            }
            Some((node, Lack::Consent)) => {
                (node, "nothing more happens, and they name different leaders".into())
            }
            None => {
                let name = NodeId::new(self.actor);
                (self.actor, format!("{name} calls again and again within one step"))
            }
        }
    }
}
