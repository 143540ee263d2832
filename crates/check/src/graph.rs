//! All states of a model at once, and the rounds in which some of its runs may go for ever.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::atomic::AtomicBool;

use rustc_hash::FxHashMap;

use crate::check::is_set;
use crate::model::{Coded as _, Model, Row as _};

/// There are more states than fit, or there was no time for all.
#[derive(Debug)]
pub(crate) struct Unfinished;

/// After so many states it is time to look whether the search is to end.
const LOOK_AFTER: usize = 1024;

/// The states, numbered by distance from the start.
pub(crate) struct Graph<'a, G: Model> {
    model: &'a G,
    rows: Vec<u32>,
    /// Where the row of each state begins, and where the last one ends.
    row_starts: Vec<usize>,
    /// How each was reached first: from which one, by which move.
    origins: Vec<(u32, Option<u16>)>,
    /// The moves that may be part of a round, and where they lead.
    edges: Vec<(u16, u32)>,
    /// Where the edges from each state begin, and where the last ones end.
    edge_starts: Vec<usize>,
}

impl<'a, G: Model> Graph<'a, G> {
    /// Finds all states, and of the moves between them those that `may_recur`.
    pub(crate) fn build(
        model: &'a G,
        most: usize,
        stop: Option<&AtomicBool>,
        may_recur: impl Fn(&G::State, G::Move) -> bool,
    ) -> Result<Self, Unfinished> {
        let mut memory = model.memory(false);
        let mut graph = Graph {
            model,
            rows: Vec::new(),
            row_starts: vec![0],
            origins: vec![(0, None)],
            edges: Vec::new(),
            edge_starts: vec![0],
        };
        let mut numbers = FxHashMap::default();
        numbers.insert(model.fingerprint(&mut memory, model.start()), 0);
        graph.keep(model.start());
        let (mut state, mut next_state) = (model.start().clone(), model.start().clone());
        let mut moves = Vec::new();
        let mut at = 0;
        while at < graph.origins.len() {
            if graph.origins.len() > most || at.is_multiple_of(LOOK_AFTER) && is_set(stop) {
                return Err(Unfinished);
            }
            state.decode(model.nodes(), graph.row(at));
            model.moves(&mut memory, &state, &mut moves);
            for &step in &moves {
                next_state.copy_from(&state, model.nodes());
                model.take(&mut memory, &mut next_state, step);
                let fingerprint = model.fingerprint(&mut memory, &next_state);
                let next = graph.origins.len() as u32;
                let number = *numbers.entry(fingerprint).or_insert(next);
                if number == next {
                    graph.origins.push((at as u32, Some(step.code())));
                    graph.keep(&next_state);
                }
                if may_recur(&state, step) {
                    graph.edges.push((step.code(), number));
                }
            }
            graph.edge_starts.push(graph.edges.len());
            at += 1;
        }
        Ok(graph)
    }

    fn keep(&mut self, state: &G::State) {
        state.encode(self.model.nodes(), &mut self.rows);
        self.row_starts.push(self.rows.len());
    }

    fn row(&self, v: usize) -> &[u32] {
        &self.rows[self.row_starts[v]..self.row_starts[v + 1]]
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    /// A state.
    pub(crate) fn state(&self, v: usize) -> G::State {
        let mut state = self.model.start().clone();
        self.read(v, &mut state);
        state
    }

    /// The same, in its place.
    pub(crate) fn read(&self, v: usize, state: &mut G::State) {
        state.decode(self.model.nodes(), self.row(v));
    }

    fn edges(&self, v: usize) -> &[(u16, u32)] {
        &self.edges[self.edge_starts[v]..self.edge_starts[v + 1]]
    }

    /// The moves from a state that may be part of a round, and where they lead.
    pub(crate) fn moves(&self, v: usize) -> impl Iterator<Item = (G::Move, usize)> {
        self.edges(v).iter().map(|&(code, to)| (G::Move::of_code(code), to as usize))
    }

    /// The strongly connected components of the states that are kept, with more than one state or one that leads to
    /// itself (Tarjan, without recursion), the nearest first.
    pub(crate) fn components(&self, is_kept: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let n = self.origins.len();
        let (mut index, mut low, mut on_stack) = (vec![NEW; n], vec![0; n], vec![false; n]);
        let (mut stack, mut next, mut found) = (Vec::new(), 0, Vec::new());
        for root in 0..n {
            let is_new = index[root] == NEW && is_kept(root);
            let mut calls = if is_new { vec![(root, 0)] } else { Vec::new() };
            while let Some((v, edge)) = calls.pop() {
                if edge == 0 {
                    (index[v], low[v]) = (next, next);
                    next += 1;
                    stack.push(v);
                    on_stack[v] = true;
                }
                if let Some(&(_, to)) = self.edges(v).get(edge) {
                    let to = to as usize;
                    calls.push((v, edge + 1));
                    if !is_kept(to) {
                        continue;
                    }
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
                    let leads_to_itself = self.edges(v).iter().any(|&(_, to)| to as usize == v);
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

    /// The shortest way from the start to a state.
    pub(crate) fn way_to(&self, mut v: usize) -> Vec<G::Move> {
        let mut moves = Vec::new();
        while let (parent, Some(code)) = self.origins[v] {
            moves.push(G::Move::of_code(code));
            v = parent as usize;
        }
        moves.reverse();
        moves
    }

    /// The shortest way from one state to another through states that are `inside`, at least one
    /// step long. `None` if there is none.
    pub(crate) fn way(
        &self,
        from: usize,
        to: usize,
        inside: &impl Fn(usize) -> bool,
    ) -> Option<Vec<G::Move>> {
        let mut reached: FxHashMap<usize, (usize, u16)> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(v) = queue.pop_front() {
            for &(code, next) in self.edges(v).iter().filter(|&&(_, next)| inside(next as usize)) {
                if let Entry::Vacant(new) = reached.entry(next as usize) {
                    new.insert((v, code));
                    queue.push_back(next as usize);
                }
            }
            if reached.contains_key(&to) {
                break;
            }
        }
        let mut moves = Vec::new();
        let mut at = to;
        loop {
            let &(before, code) = reached.get(&at)?;
            moves.push(G::Move::of_code(code));
            at = before;
            if at == from {
                break;
            }
        }
        moves.reverse();
        Some(moves)
    }
}
