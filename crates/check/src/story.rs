//! A counterexample: the moves that the search found, told as steps that anybody can follow.

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;

use crate::flight;
use crate::game::Game as _;
use crate::local::Memory;
use crate::property::{Property, Step, Which};
use crate::state::{Move, Packet, State, User};
use crate::world::{Lockable, World};

/// How a property is violated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    /// What happens, from the initial state on.
    pub steps: Vec<Step>,
    /// Where the violation shows.
    pub node: NodeId,
    /// What is wrong then.
    pub detail: String,
    /// From which step on the steps repeat for ever, if they do.
    pub cycle: Option<usize>,
    /// Whether no shorter one exists. Only a search that ran out of memory leaves that open.
    pub shortest: bool,
}

/// Follows the moves and says what is wrong at their end.
pub(crate) fn tell<P: Lockable>(
    world: &World<P>,
    property: Property,
    moves: &[Move],
    cycle: Option<usize>,
) -> Counterexample {
    let mut teller = Teller {
        world,
        memory: world.memory(false),
        state: world.start.clone(),
        in_flight: world.start.flight.clone(),
    };
    let mut before = world.start.clone();
    let mut steps = Vec::new();
    for &step in moves {
        before.copy_from(&teller.state, world.nodes);
        steps.push(teller.take(step));
    }
    let (node, detail) = match cycle {
        Some(_) => teller.endless(),
        None => teller.verdict(property, &before, moves.last().copied()),
    };
    Counterexample { steps, node: NodeId::new(node), detail, cycle, shortest: true }
}

struct Teller<'a, P: Lockable> {
    world: &'a World<P>,
    memory: Memory<'a, P>,
    state: State,
    /// In the order of sending.
    in_flight: Vec<Packet>,
}

impl<P: Lockable> Teller<'_, P> {
    fn take(&mut self, step: Move) -> Step {
        let told = match step {
            Move::Request(node) => Step::Request(id(node)),
            Move::Release(node) => Step::Release(id(node)),
            Move::Deliver(place) => {
                let (which, index) = self.which(place);
                self.in_flight.remove(index);
                Step::Deliver(which)
            }
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
            Move::Crash(node) => {
                self.in_flight.retain(|packet| packet.to != node);
                Step::Crash(id(node))
            }
        };
        self.world.take(&mut self.memory, &mut self.state, step);
        self.note_changes();
        told
    }

    /// Brings what is in flight up to date: what is known of a request may be forgotten by a step, and
    /// what a step sends comes last.
    fn note_changes(&mut self) {
        let mut new = self.state.flight.clone();
        for old in &mut self.in_flight {
            // A step never adds to what an old message carries.
            let same = |packet: &Packet| {
                (packet.from, packet.to, packet.letter, packet.fence)
                    == (old.from, old.to, old.letter, old.fence)
                    && packet.known & !old.known == 0
            };
            // Of several the one that knows most: the others knew less before.
            let places = (0..new.len()).filter(|&place| same(&new[place]));
            let place = places.max_by_key(|&place| new[place].known.count_ones());
            *old = new.remove(place.expect("what is in flight stays in flight"));
        }
        self.in_flight.append(&mut new);
    }

    /// The message at a place of the state, and where it stands in the order of sending.
    fn which(&self, place: u16) -> (Which, usize) {
        flight::which(&self.state.flight, place, &self.in_flight)
    }

    /// Where the violation shows, and what it is.
    fn verdict(&self, property: Property, before: &State, last: Option<Move>) -> (usize, String) {
        let actor = match last {
            Some(Move::Request(node) | Move::Release(node) | Move::Crash(node)) => node.into(),
            Some(Move::Deliver(place) | Move::Lose(place) | Move::Duplicate(place)) => {
                before.flight[place as usize].to.into()
            }
            None => 0,
        };
        let name = NodeId::new(actor);
        let others = |user: User, state: &State| {
            let sites = state.sites[..self.world.nodes].iter().enumerate();
            let them = sites.filter(|(i, site)| *i != actor && site.user == user);
            them.map(|(i, _)| NodeId::new(i).to_string()).collect::<Vec<_>>().join(", ")
        };
        let detail = match property {
            Property::Exclusion => match others(User::Inside, before) {
                nobody if nobody.is_empty() => format!("{name} enters without having asked"),
                somebody => format!("{name} enters while {somebody} is inside"),
            },
            Property::Order => {
                let overtaken = others(User::Waiting, before);
                format!("{name} enters before {overtaken}, whose request happened before its own")
            }
            Property::Fence => {
                format!("{name} enters with a fence that is not higher than those given out before")
            }
            Property::Progress => return self.endless(),
            Property::Messages => {
                let most = self.world.most_messages;
                format!("{} messages were sent, published are at most {most}", self.state.sent)
            }
            Property::Rest => "nothing more happens, but not every node is idle".into(),
            Property::Refused => format!("{name} refuses what a correct peer or its user says"),
            Property::Agreement | Property::Validity | Property::Termination => {
                unreachable!("nobody is elected here")
            }
        };
        (actor, detail)
    }

    /// Who is never served.
    fn endless(&self) -> (usize, String) {
        let sites = self.state.sites[..self.world.nodes].iter().enumerate();
        let waiting: Vec<usize> =
            sites.filter(|(_, site)| site.user == User::Waiting).map(|(i, _)| i).collect();
        let names: Vec<String> = waiting.iter().map(|&i| NodeId::new(i).to_string()).collect();
        let wait = if names.len() == 1 { "waits" } else { "wait" };
        let detail = format!("{} {wait} for ever", names.join(", "));
        (waiting.first().copied().unwrap_or_default(), detail)
    }
}

fn id(node: u8) -> NodeId {
    NodeId::new(node.into())
}
