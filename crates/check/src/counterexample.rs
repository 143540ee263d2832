//! A counterexample: the moves that the search found, told as steps that anybody can follow.

use serde::{Deserialize, Serialize};
use skeptron_core::{Entered, NodeId};

use crate::extreme::Figure;
use crate::flight;
use crate::memory::Memory;
use crate::model::{Model as _, Row as _};
use crate::prefix::Already;
use crate::property::{Property, Step, Which};
use crate::starvation::Starving;
use crate::state::{Move, Packet, Site, State, User};
use crate::world::{World, set_of, waiting};

/// How a property is violated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    /// In which states the nodes begin, by number; none where they begin as the scenario says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beginnings: Vec<u64>,
    /// What happens from there on.
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

/// Follows the moves from where the search began and says what is wrong at their end.
pub(crate) fn tell(
    world: &World,
    property: Property,
    moves: &[Move],
    cycle: Option<usize>,
) -> Counterexample {
    let retracer = Retracer::new(world, &world.start, &world.in_flight);
    follow(retracer, &world.after, property, moves, cycle)
}

/// How the run before the search violates something.
pub(crate) fn tell_already(
    world: &World,
    already: &Already<State, Packet, Move>,
) -> Counterexample {
    let Already { property, step, before, in_flight, taken } = already;
    let retracer = Retracer::new(world, before, in_flight);
    follow(retracer, &world.after[..*step], *property, &[*taken], None)
}

fn follow(
    mut retracer: Retracer<'_>,
    after: &[Step],
    property: Property,
    moves: &[Move],
    cycle: Option<usize>,
) -> Counterexample {
    let world = retracer.world;
    let mut before = retracer.state.clone();
    let mut steps = after.to_vec();
    for &step in moves {
        before.copy_from(&retracer.state, world.nodes);
        steps.extend(retracer.take(step));
    }
    let (node, detail) = match cycle {
        Some(_) if property == Property::Convergence => {
            (0, "this goes on for ever, and never leads to a legitimate state".into())
        }
        Some(_) => retracer.endless(),
        None => retracer.verdict(property, &before, moves.last().copied()),
    };
    let beginnings = beginnings(moves);
    let cycle = cycle.map(|begins| after.len() + begins - beginnings.len());
    let node = NodeId::new(node);
    Counterexample { beginnings, steps, node, detail, cycle, shortest: true }
}

struct Retracer<'a> {
    world: &'a World,
    memory: Memory<'a, Entered>,
    state: State,
    /// In the order of sending.
    in_flight: Vec<Packet>,
    /// Whose requests the last entry overtook, if it did.
    overtaken: u16,
    /// What the last message that arrived carried.
    last_fence: u8,
    /// How the last step broke the invariant, if it did.
    broken_invariant: Option<String>,
}

impl<'a> Retracer<'a> {
    fn new(world: &'a World, state: &State, in_flight: &[Packet]) -> Self {
        let mut memory = world.memory(false);
        memory.note_sent();
        Retracer {
            world,
            memory,
            state: state.clone(),
            in_flight: in_flight.to_vec(),
            overtaken: 0,
            last_fence: 0,
            broken_invariant: None,
        }
    }

    /// `None` if it is no step, but where a node begins.
    fn take(&mut self, step: Move) -> Option<Step> {
        let told = match step {
            Move::Begin(_) => {
                self.world.take(&mut self.memory, &mut self.state, step);
                self.note_changes();
                return None;
            }
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
            Move::Suspect { node, whom } => Step::Suspect { node: id(node), whom: id(whom) },
        };
        let who: usize = match step {
            Move::Request(node)
            | Move::Release(node)
            | Move::Crash(node)
            | Move::Suspect { node, .. } => node.into(),
            Move::Deliver(place) | Move::Lose(place) | Move::Duplicate(place) => {
                self.last_fence = self.state.flight[place as usize].fence;
                self.state.flight[place as usize].to.into()
            }
            Move::Begin(_) => unreachable!("it was taken above"),
        };
        let site: Site = self.state.sites[who];
        let already = waiting(&self.state, self.world.nodes);
        self.world.take(&mut self.memory, &mut self.state, step);
        // One that enters at once knew, or found waiting, whoever was known or waited before the step.
        let before = match (step, self.world.watch.by_time) {
            (Move::Request(_), true) => already,
            (Move::Request(_), false) => site.known,
            _ => site.before,
        };
        self.broken_invariant = self.world.breaks_invariant(&mut self.memory, &self.state);
        self.overtaken = before & waiting(&self.state, self.world.nodes);
        self.note_changes();
        Some(told)
    }

    /// Brings what is in flight up to date: what is known of a request may be forgotten by a step, and
    /// what a step sends comes last.
    fn note_changes(&mut self) {
        let mut new = self.state.flight.clone();
        for old in &mut self.in_flight {
            // What a message says and whose it is never changes; what the judges tie to it may.
            let same = |packet: &Packet| {
                (packet.from, packet.to, packet.message) == (old.from, old.to, old.message)
            };
            // Of several the likest one, then the one that knows most: the others knew less before.
            let likeness = |packet: &Packet| {
                let knows_no_more = packet.known & !old.known == 0;
                (packet.fence == old.fence, knows_no_more, packet.known.count_ones())
            };
            // Of those that are alike the oldest: what a step sends comes last.
            let places = (0..new.len()).rev().filter(|&place| same(&new[place]));
            let place = places.max_by_key(|&place| likeness(&new[place]));
            *old = new.remove(place.expect("what is in flight stays in flight"));
        }
        flight::append(&mut self.in_flight, new, self.memory.drain_sent());
    }

    /// The message at a place of the state, and where it stands in the order of sending.
    fn which(&self, place: u16) -> (Which, usize) {
        flight::which(&self.state.flight, place, &self.in_flight)
    }

    /// Where the violation shows, and what it is.
    fn verdict(&self, property: Property, before: &State, last: Option<Move>) -> (usize, String) {
        let actor = match last {
            Some(
                Move::Request(node)
                | Move::Release(node)
                | Move::Crash(node)
                | Move::Suspect { node, .. },
            ) => node.into(),
            Some(Move::Deliver(place) | Move::Lose(place) | Move::Duplicate(place)) => {
                before.flight[place as usize].to.into()
            }
            Some(Move::Begin(_)) | None => 0,
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
                somebody if self.world.admission.is_exclusive() => {
                    format!("{name} enters while {somebody} is inside")
                }
                somebody => {
                    format!("{name} enters while {somebody} is inside; {}", self.world.admission)
                }
            },
            Property::Order | Property::OrderByTime => {
                let overtaken = set_of(self.overtaken).map(|i| NodeId::new(i).to_string());
                let overtaken = overtaken.collect::<Vec<_>>().join(", ");
                let how = if property == Property::Order { "happened" } else { "was made" };
                format!("{name} enters before {overtaken}, whose request {how} before its own")
            }
            Property::Bypass => {
                let most = self.world.watch.bypass.unwrap_or_default();
                let sites = self.state.sites[..self.world.nodes].iter().enumerate();
                let passed = sites.filter(|(_, site)| site.bypassed > most);
                let passed: Vec<usize> = passed.map(|(i, _)| i).collect();
                let names: Vec<String> =
                    passed.iter().map(|&i| NodeId::new(i).to_string()).collect();
                let detail = format!(
                    "{name} enters, and {} others have by now passed {}",
                    most + 1,
                    names.join(", ")
                );
                return (passed.first().copied().unwrap_or(actor), detail);
            }
            Property::Extreme => self.extreme(name, before),
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
            Property::Closure => {
                format!("{name} leaves a legitimate state for one that is not")
            }
            Property::Convergence => {
                "nothing more has to happen, and this state is not legitimate".into()
            }
            Property::Invariant => self.broken_invariant.clone().unwrap_or_default(),
            Property::Starvation => unreachable!("that is told elsewhere"),
        };
        (actor, detail)
    }

    /// The value of the figure that is extreme here.
    fn extreme(&self, name: NodeId, before: &State) -> String {
        let site = before.sites[name.index()];
        match self.world.watch.figure.as_ref().map(|sought| sought.figure) {
            Some(Figure::Delay(_)) => {
                // The message that lets it in counts, too.
                let last = self.last_fence.max(site.fence);
                let messages = if last == 1 { "message" } else { "messages" };
                format!("{name} enters {last} {messages}, one after another, after its request")
            }
            Some(Figure::Bypass) => {
                let entries = if site.bypassed == 1 { "entry" } else { "entries" };
                format!("{name} enters after {} {entries} of others", site.bypassed)
            }
            _ => format!("everybody is served with {} messages", self.state.sent),
        }
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

/// Follows a run in which somebody starves, with clocks that grow, twice through its round. `None` if
/// it does not go like that.
pub(crate) fn tell_starving(world: &World, run: &Starving) -> Option<Counterexample> {
    let begins = run.begins.unwrap_or(run.moves.len());
    let round = &run.moves[begins..];
    let mut memory = world.memory(false);
    let mut state = world.start.clone();
    let mut steps = Vec::new();
    let mut served = 0;
    let mut possible = Vec::new();
    for (place, &step) in run.moves.iter().chain(round).enumerate() {
        world.moves(&mut memory, &state, &mut possible);
        if !possible.contains(&step) {
            return None;
        }
        steps.push(match step {
            Move::Request(node) => Step::Request(id(node)),
            Move::Release(node) => Step::Release(id(node)),
            // Kept by link and in the order of sending.
            Move::Deliver(place) => {
                let packet = state.flight[place as usize];
                let link = |other: &&Packet| (other.from, other.to) == (packet.from, packet.to);
                let nth = state.flight[..place as usize].iter().filter(link).count();
                Step::Deliver(Which { from: id(packet.from), to: id(packet.to), nth })
            }
            _ => return None,
        });
        let inside = |state: &State| {
            let sites = state.sites[..world.nodes].iter().enumerate();
            let inside = sites.filter(|(_, site)| site.user == User::Inside);
            inside.fold(0u16, |set, (i, _)| set | 1 << i)
        };
        let before = inside(&state);
        world.take(&mut memory, &mut state, step);
        if place >= begins {
            served |= inside(&state) & !before;
            if state.sites[run.who].user != User::Waiting {
                return None;
            }
        }
    }
    steps.truncate(run.moves.len());
    let who = NodeId::new(run.who);
    let others: Vec<String> = set_of(served).map(|i| NodeId::new(i).to_string()).collect();
    let detail = match (run.begins, &others[..]) {
        (None, _) => format!("{who} waits, and nothing happens unless somebody asks"),
        (Some(_), []) => format!("{who} waits for ever"),
        (Some(_), others) => {
            let verb = if others.len() == 1 { "enters" } else { "enter" };
            format!("{who} waits for ever, while {} {verb} again and again", others.join(" and "))
        }
    };
    let steps = [&world.after[..], &steps].concat();
    let cycle = run.begins.map(|begins| world.after.len() + begins);
    Some(Counterexample {
        beginnings: Vec::new(),
        steps,
        node: who,
        detail,
        cycle,
        shortest: false,
    })
}

/// The states in which nodes begin.
fn beginnings(moves: &[Move]) -> Vec<u64> {
    let begun = moves.iter().filter_map(|step| match step {
        Move::Begin(nth) => Some(u64::from(*nth)),
        _ => None,
    });
    begun.collect()
}

fn id(node: u8) -> NodeId {
    NodeId::new(node.into())
}
