//! A counterexample: the moves that the search found, told as steps that anybody can follow.

use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::AccessEvent;

use super::state::{Move, Phase, State};
use super::world::World;
use crate::counterexample::Counterexample;
use crate::flight;
use crate::memory::Memory;
use crate::model::Model as _;
use crate::property::{Property, Step};
use crate::state::Packet;

/// Follows the moves and says what is wrong at their end.
pub(super) fn tell(world: &World, property: Property, moves: &[Move]) -> Counterexample {
    let mut memory = world.memory(false);
    memory.note_sent();
    let mut retracer = Retracer {
        world,
        memory,
        state: world.start.clone(),
        in_flight: world.start.flight.clone(),
        actor: 0,
    };
    let steps = moves.iter().map(|&step| retracer.take(step)).collect();
    let (node, detail) = retracer.verdict(property);
    let (beginnings, node) = (Vec::new(), NodeId::new(node));
    Counterexample { beginnings, steps, node, detail, cycle: None, shortest: true }
}

struct Retracer<'a> {
    world: &'a World,
    memory: Memory<'a, AccessEvent>,
    state: State,
    /// In the order of sending.
    in_flight: Vec<Packet>,
    /// Who acted last.
    actor: usize,
}

impl Retracer<'_> {
    fn take(&mut self, step: Move) -> Step {
        let told = match (step, self.world.access(&self.state, step)) {
            (_, Some((node, access))) => {
                self.actor = node;
                Step::Access { node: NodeId::new(node), access }
            }
            (Move::Deliver(place), None) => {
                let (which, index) = flight::which(&self.state.flight, place, &self.in_flight);
                self.in_flight.remove(index);
                self.actor = which.to.index();
                Step::Deliver(which)
            }
            (_, None) => unreachable!("a user asks for something"),
        };
        self.world.take(&mut self.memory, &mut self.state, step);
        self.note_changes();
        told
    }

    /// What a step sends comes last.
    fn note_changes(&mut self) {
        let mut new = self.state.flight.clone();
        for old in &self.in_flight {
            let place = new.iter().position(|packet| packet == old);
            new.remove(place.expect("what is in flight stays in flight"));
        }
        flight::append(&mut self.in_flight, new, self.memory.drain_sent());
    }

    /// Where the violation shows, and what it is.
    fn verdict(&self, property: Property) -> (usize, String) {
        let name = NodeId::new(self.actor);
        let detail = match property {
            Property::Exclusion => match self.world.inside(&self.state).crowded() {
                Some(crowd) => {
                    format!("{} is inside as {} among {}", crowd.node, crowd.mode, crowd.inside)
                }
                None => format!("{name} enters without having asked"),
            },
            Property::Fence => {
                format!("{name} enters with a fence that is not higher than those given out before")
            }
            Property::Progress => return self.endless(),
            Property::Messages => {
                let most = self.world.most_messages;
                format!("{} messages were sent, there may be {most}", self.state.sent)
            }
            Property::Rest => "nothing more happens, but not every node is idle".into(),
            Property::Refused => format!("{name} refuses what a correct peer or its user says"),
            _ => unreachable!("it is not judged here"),
        };
        (self.actor, detail)
    }

    /// Who is never served.
    fn endless(&self) -> (usize, String) {
        let sites = self.state.sites[..self.world.nodes].iter().enumerate();
        let upgrading = |site: &super::state::Site| site.find(Phase::Upgrading).is_some();
        let waiting: Vec<usize> = sites
            .filter(|(_, site)| site.is_waiting() || upgrading(site))
            .map(|(i, _)| i)
            .collect();
        let names: Vec<String> = waiting.iter().map(|&i| NodeId::new(i).to_string()).collect();
        let wait = if names.len() == 1 { "waits" } else { "wait" };
        let detail = format!("{} {wait} for ever", names.join(", "));
        (waiting.first().copied().unwrap_or_default(), detail)
    }
}
