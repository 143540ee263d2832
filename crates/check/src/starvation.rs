//! Requests without end: does anybody wait for ever while others are served?
//!
//! A run that never ends stays, from some step on, in states that can all reach each other. Such a run is
//! fair if the oldest message of a link does not stay there for ever and whoever is inside leaves some
//! time; users need not ask again. Somebody starves exactly if there is a strongly connected component in
//! which it waits all the time and which is fair: what is possible in all its states happens on one of
//! its steps. So is a state in which somebody waits and nothing happens unless somebody asks.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{Graph, Unfinished};
use crate::model::Model as _;
use crate::state::{Move, State, User};
use crate::world::{World, set_of, waiting};

/// A run in which somebody starves.
pub(crate) struct Starving {
    pub(crate) moves: Vec<Move>,
    /// From which one on they repeat; none if nothing more has to happen.
    pub(crate) begins: Option<usize>,
    pub(crate) who: usize,
}

/// What the search came to, and how many states there are.
pub(crate) struct Searched {
    pub(crate) found: Option<Starving>,
    pub(crate) states: usize,
}

/// Looks for a run in which somebody starves. `Err` if there are more than `most` states, or the search
/// is stopped.
pub(crate) fn starving_run(
    world: &World,
    most: usize,
    stop: Option<&AtomicBool>,
) -> Result<Searched, Unfinished> {
    let graph = Graph::build(world, most, stop, |state, _| waiting(state, world.nodes) != 0)?;
    let states = graph.len();
    let mut state = world.start().clone();
    let mut waits = Vec::with_capacity(states);
    let mut rest = None;
    for v in 0..states {
        graph.read(v, &mut state);
        let who = waiting(&state, world.nodes);
        waits.push(who);
        let goes_on = |(step, _): (Move, usize)| !matches!(step, Move::Request(_));
        if rest.is_none() && who != 0 && !graph.moves(v).any(goes_on) {
            rest = Some(Starving {
                moves: graph.way_to(v),
                begins: None,
                who: who.trailing_zeros() as usize,
            });
        }
    }
    let ever = waits.iter().fold(0, |all, who| all | who);
    let search = Search { world, graph: &graph };
    let endless = set_of(ever).filter_map(|who| {
        let components = graph.components(|v| waits[v] & 1 << who != 0);
        components.iter().find_map(|component| search.fair_round(component, who))
    });
    // The shortest of what was found for each node.
    let found = rest.into_iter().chain(endless).min_by_key(|run| run.moves.len());
    Ok(Searched { found, states })
}

/// What has to happen some time: the oldest message of a link arrives, or a node leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Duty {
    Deliver(u8, u8),
    Release(u8),
}

struct Search<'a> {
    world: &'a World,
    graph: &'a Graph<'a, World>,
}

impl Search<'_> {
    /// The duties of a state.
    fn duties(&self, state: &State) -> FxHashSet<Duty> {
        let sites = state.sites[..self.world.nodes].iter().enumerate();
        let inside = sites.filter(|(_, site)| site.user == User::Inside);
        let links = state.flight.iter().map(|packet| Duty::Deliver(packet.from, packet.to));
        links.chain(inside.map(|(i, _)| Duty::Release(i as u8))).collect()
    }

    /// Which duty a step does, if it does one.
    fn done(&self, state: &State, step: Move) -> Option<Duty> {
        match step {
            Move::Release(node) => Some(Duty::Release(node)),
            Move::Deliver(place) => {
                let link = |place: usize| (state.flight[place].from, state.flight[place].to);
                let place = usize::from(place);
                let is_oldest = place == 0 || link(place - 1) != link(place);
                is_oldest.then(|| Duty::Deliver(link(place).0, link(place).1))
            }
            _ => None,
        }
    }

    /// A round through a component that does every duty which cannot be put off for ever, and the way
    /// to it.
    fn fair_round(&self, component: &[usize], who: usize) -> Option<Starving> {
        let members = FxHashSet::from_iter(component.iter().copied());
        let mut state = self.graph.state(component[0]);
        let mut always = self.duties(&state);
        let mut done = FxHashSet::default();
        for &v in component {
            self.graph.read(v, &mut state);
            let here = self.duties(&state);
            always.retain(|duty| here.contains(duty));
            let steps = self.graph.moves(v).filter(|(_, to)| members.contains(to));
            done.extend(steps.filter_map(|(step, _)| self.done(&state, step)));
        }
        if always.iter().any(|duty| !done.contains(duty)) {
            return None;
        }
        let entry = component.iter().copied().min()?;
        let prefix = self.graph.way_to(entry);
        let (mut round, mut at) = (Vec::new(), entry);
        // What is due at the entry is done, or not due somewhere on the round.
        let mut due: Vec<Duty> = self.duties(&self.graph.state(entry)).into_iter().collect();
        due.sort_by_key(|duty| format!("{duty:?}"));
        while let Some(&duty) = due.first() {
            let ends = |v: usize, step: Move, to: usize| {
                self.done(&self.graph.state(v), step) == Some(duty)
                    || !self.duties(&self.graph.state(to)).contains(&duty)
            };
            for (step, to) in self.way(at, &members, ends)? {
                let did = self.done(&self.graph.state(at), step);
                let next = self.duties(&self.graph.state(to));
                due.retain(|duty| Some(*duty) != did && next.contains(duty));
                round.push(step);
                at = to;
            }
        }
        if at != entry || round.is_empty() {
            let back = self.way(at, &members, |_, _, to| to == entry)?;
            round.extend(back.into_iter().map(|(step, _)| step));
        }
        let begins = Some(prefix.len());
        Some(Starving { moves: [prefix, round].concat(), begins, who })
    }

    /// The shortest way from a state within the component up to a step that `ends` it.
    fn way(
        &self,
        from: usize,
        members: &FxHashSet<usize>,
        ends: impl Fn(usize, Move, usize) -> bool,
    ) -> Option<Vec<(Move, usize)>> {
        let mut reached: FxHashMap<usize, (usize, Move)> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(v) = queue.pop_front() {
            for (step, to) in self.graph.moves(v).filter(|(_, to)| members.contains(to)) {
                if ends(v, step, to) {
                    let mut way = vec![(step, to)];
                    let mut at = v;
                    while at != from {
                        let (before, step) = reached[&at];
                        way.push((step, at));
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                if to != from && !reached.contains_key(&to) {
                    reached.insert(to, (v, step));
                    queue.push_back(to);
                }
            }
        }
        None
    }
}
