//! Where messages never end: does anybody wait while they go round for ever?
//!
//! Where a token circulates the search meets no end at which to ask whether everybody was served.
//! There a run that never ends must stay for ever in a set of states that can all reach each other, a
//! strongly connected component. On such a round no user does anything, for users do only so much; so
//! it consists of deliveries. The run counts only if it is fair: what can be delivered all the time
//! is delivered some time, and who is inside leaves. So progress is violated exactly if there is a
//! component of deliveries in which somebody waits, nobody is inside, and every message that can be
//! delivered in all its states is delivered in one.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::local::{Explorable, Memory};
use crate::state::{Move, State, User};
use crate::world::{World, waiting};

/// A run in which somebody waits for ever: the moves, and from which one on they repeat. `Err` if there
/// are more than `most` states.
pub(crate) fn unfair_run<P: Explorable>(
    world: &World<P>,
    most: usize,
) -> Result<Option<(Vec<Move>, usize)>, TooMany> {
    let graph = Graph::build(world, most)?;
    for component in graph.components() {
        if let Some(run) = graph.endless_wait(world, &component) {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// There are more states than fit.
#[derive(Debug)]
pub(crate) struct TooMany;

/// The states, numbered by distance from the start.
struct Graph {
    rows: Vec<u32>,
    /// Where the row of each state begins, and where the last one ends.
    row_starts: Vec<usize>,
    /// How each was reached first: from which one, by which move.
    origins: Vec<(u32, Option<Move>)>,
    /// Deliveries and where they lead, from states in which somebody waits and nobody is inside.
    deliveries: Vec<(Move, u32)>,
    /// Where the deliveries from each state begin, and where the last ones end.
    delivery_starts: Vec<usize>,
}

impl Graph {
    fn build<P: Explorable>(world: &World<P>, most: usize) -> Result<Self, TooMany> {
        let mut memory = Memory::new(&world.locals, false);
        let mut graph = Graph {
            rows: Vec::new(),
            row_starts: vec![0],
            origins: vec![(0, None)],
            deliveries: Vec::new(),
            delivery_starts: vec![0],
        };
        let mut numbers = FxHashMap::default();
        numbers.insert(world.fingerprint(&mut memory, &world.start), 0);
        world.start.encode(world.nodes, &mut graph.rows);
        graph.row_starts.push(graph.rows.len());
        let (mut state, mut next_state) = (State::empty(), State::empty());
        let mut moves = Vec::new();
        let mut at = 0;
        while at < graph.origins.len() {
            if graph.origins.len() > most {
                return Err(TooMany);
            }
            state.decode(world.nodes, graph.row(at));
            let matters = waiting(&state, world.nodes) != 0
                && state.sites[..world.nodes].iter().all(|site| site.user != User::Inside);
            world.moves(&mut memory, &state, &mut moves);
            for &step in &moves {
                next_state.copy_from(&state, world.nodes);
                world.take(&mut memory, &mut next_state, step);
                let fingerprint = world.fingerprint(&mut memory, &next_state);
                let next = graph.origins.len() as u32;
                let number = *numbers.entry(fingerprint).or_insert(next);
                if number == next {
                    graph.origins.push((at as u32, Some(step)));
                    next_state.encode(world.nodes, &mut graph.rows);
                    graph.row_starts.push(graph.rows.len());
                }
                if matters && matches!(step, Move::Deliver(_)) {
                    graph.deliveries.push((step, number));
                }
            }
            graph.delivery_starts.push(graph.deliveries.len());
            at += 1;
        }
        Ok(graph)
    }

    fn row(&self, v: usize) -> &[u32] {
        &self.rows[self.row_starts[v]..self.row_starts[v + 1]]
    }

    fn deliveries(&self, v: usize) -> &[(Move, u32)] {
        &self.deliveries[self.delivery_starts[v]..self.delivery_starts[v + 1]]
    }

    /// The strongly connected components with more than one state, or one that leads to itself
    /// (Tarjan, without recursion).
    fn components(&self) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let n = self.origins.len();
        let (mut index, mut low, mut on_stack) = (vec![NEW; n], vec![0; n], vec![false; n]);
        let (mut stack, mut next, mut found) = (Vec::new(), 0, Vec::new());
        for root in 0..n {
            let mut calls = if index[root] == NEW { vec![(root, 0)] } else { Vec::new() };
            while let Some((v, edge)) = calls.pop() {
                if edge == 0 {
                    (index[v], low[v]) = (next, next);
                    next += 1;
                    stack.push(v);
                    on_stack[v] = true;
                }
                if let Some(&(_, to)) = self.deliveries(v).get(edge) {
                    let to = to as usize;
                    calls.push((v, edge + 1));
                    if index[to] == NEW {
                        calls.push((to, 0));
                    } else if on_stack[to] {
                        low[v] = low[v].min(index[to]);
                    }
                    continue;
                }
                if let Some(&(caller, _)) = calls.last() {
                    low[caller] = low[caller].min(low[v]);
                }
                if low[v] == index[v] {
                    let first = stack.iter().rposition(|&w| w == v).expect("it was pushed");
                    let component: Vec<usize> = stack.split_off(first);
                    component.iter().for_each(|&w| on_stack[w] = false);
                    let leads_to_itself =
                        self.deliveries(v).iter().any(|&(_, to)| to as usize == v);
                    if component.len() > 1 || leads_to_itself {
                        found.push(component);
                    }
                }
            }
        }
        // The nearest first, so that the run is short.
        found.sort_by_key(|component| component.iter().min().copied());
        found
    }

    fn endless_wait<P: Explorable>(
        &self,
        world: &World<P>,
        component: &[usize],
    ) -> Option<(Vec<Move>, usize)> {
        let members = FxHashSet::from_iter(component.iter().copied());
        let inside = |to: u32| members.contains(&(to as usize));
        // What can be delivered in a state, and what is delivered on some way through the component.
        let links = |v: usize, all: bool| {
            let mut state = State::empty();
            state.decode(world.nodes, self.row(v));
            let kept = self.deliveries(v).iter().filter(move |&&(_, to)| all || inside(to));
            kept.filter_map(move |&(step, _)| match step {
                Move::Deliver(place) => Some(state.flight[place as usize]),
                _ => None,
            })
        };
        let always = links(component[0], true)
            .filter(|packet| component.iter().all(|&v| links(v, true).any(|p| p == *packet)));
        for packet in always {
            if !component.iter().any(|&v| links(v, false).any(|p| p == packet)) {
                return None;
            }
        }
        // The way there and one short round: enough to see, though a fair run may take other ones, too.
        let entry = component.iter().copied().min().expect("a component has a state");
        let mut moves = Vec::new();
        let mut v = entry;
        while let (parent, Some(step)) = self.origins[v] {
            moves.push(step);
            v = parent as usize;
        }
        moves.reverse();
        let begins = moves.len();
        moves.extend(self.round(entry, &inside));
        Some((moves, begins))
    }

    /// The shortest way from a state back to itself.
    fn round(&self, entry: usize, inside: &impl Fn(u32) -> bool) -> Vec<Move> {
        let mut reached: FxHashMap<usize, (usize, Move)> = FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([entry]);
        while let Some(v) = queue.pop_front() {
            for &(step, to) in self.deliveries(v).iter().filter(|&&(_, to)| inside(to)) {
                let to = to as usize;
                if let std::collections::hash_map::Entry::Vacant(new) = reached.entry(to) {
                    new.insert((v, step));
                    queue.push_back(to);
                }
            }
            if reached.contains_key(&entry) {
                break;
            }
        }
        let mut moves = Vec::new();
        let mut at = entry;
        while let Some(&(before, step)) = reached.get(&at) {
            moves.push(step);
            at = before;
            if at == entry {
                break;
            }
        }
        moves.reverse();
        moves
    }
}
