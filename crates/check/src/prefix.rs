//! What has happened before a search begins: the steps of a run, taken again up to the state from which
//! everything is explored.

use skeptron_core::catalogue::Order;

use crate::flight::{self, Flying};
use crate::memory::Memory;
use crate::model::Model as _;
use crate::property::{Property, Step};
use crate::scenario::ScenarioError;
use crate::state::{Budget, Move, Site, State, User};
use crate::world::World;

/// A property that the run so far violates, and the moment just before it does.
pub(crate) struct Already<S, F, M> {
    pub(crate) property: Property,
    /// Which step does.
    pub(crate) step: usize,
    pub(crate) before: S,
    /// In the order of sending.
    pub(crate) in_flight: Vec<F>,
    pub(crate) taken: M,
}

impl World {
    /// The search begins in a state whose messages are kept in the order of sending.
    pub(crate) fn begin(&mut self, start: State) {
        self.in_flight.clone_from(&start.flight);
        self.start = self.canonical(start);
    }

    fn canonical(&self, mut state: State) -> State {
        flight::sort(&mut state.flight, self.kept());
        state
    }

    /// Takes steps before the search. They may be any that the system can take: budgets and requests
    /// count from where the search begins.
    pub(crate) fn advance(&mut self, steps: &[Step]) -> Result<(), ScenarioError> {
        let (order, budget) = (self.order, self.start.budget);
        let left = self.start.sites.map(|site| site.left);
        let mut state = self.start.clone();
        state.flight.clone_from(&self.in_flight);
        state.sites[..self.nodes].iter_mut().for_each(|site| site.left = Site::ENDLESS);
        // A step names a message by its place among those of its link in the order of sending.
        self.order = Order::Fifo;
        let mut memory = Memory::new(&*self.node_table, false);
        let mut found: Vec<(Property, usize, State, Move)> = Vec::new();
        for (number, &step) in steps.iter().enumerate() {
            let taken = move_of(&state, self.nodes, step);
            let taken = taken.ok_or(ScenarioError::NoSuchStep(number + 1))?;
            let before = state.clone();
            state.budget = Budget { losses: 1, duplicates: 1, crashes: 1, suspicions: 1 };
            let violated = self.take(&mut memory, &mut state, taken);
            let new = violated.iter().filter(|property| !found.iter().any(|f| f.0 == *property));
            let new: Vec<Property> = new.collect();
            found.extend(new.into_iter().map(|property| (property, number, before.clone(), taken)));
        }
        drop(memory);
        self.order = order;
        state.budget = budget;
        for (site, left) in state.sites[..self.nodes].iter_mut().zip(left) {
            site.left = if site.user == User::Down { 0 } else { left };
        }
        let already = found.into_iter().map(|(property, step, before, taken)| {
            let in_flight = before.flight.clone();
            let before = self.canonical(before);
            let place = |place| moved(place, &in_flight, &before.flight);
            let taken = match taken {
                Move::Deliver(at) => Move::Deliver(place(at)),
                Move::Lose(at) => Move::Lose(place(at)),
                Move::Duplicate(at) => Move::Duplicate(place(at)),
                other => other,
            };
            Already { property, step, before, in_flight, taken }
        });
        self.already = already.collect();
        self.after = steps.to_vec();
        self.begin(state);
        Ok(())
    }
}

/// The move that a step is, in a state whose messages are kept in the order of sending.
fn move_of(state: &State, nodes: usize, step: Step) -> Option<Move> {
    let is = |node: skeptron_core::NodeId, user: User| {
        node.index() < nodes && state.sites[node.index()].user == user
    };
    let place = |which| flight::place(&state.flight, which);
    match step {
        Step::Request(node) if is(node, User::Idle) => Some(Move::Request(node.index() as u8)),
        Step::Release(node) if is(node, User::Inside) => Some(Move::Release(node.index() as u8)),
        Step::Crash(node) if node.index() < nodes && !is(node, User::Down) => {
            Some(Move::Crash(node.index() as u8))
        }
        Step::Suspect { node, whom } if whom.index() < nodes => {
            let is_up = node.index() < nodes && !is(node, User::Down);
            let [node, whom] = [node, whom].map(|node| node.index() as u8);
            is_up.then_some(Move::Suspect { node, whom })
        }
        Step::Deliver(which) => place(which).map(Move::Deliver),
        Step::Lose(which) => place(which).map(Move::Lose),
        Step::Duplicate(which) => place(which).map(Move::Duplicate),
        _ => None,
    }
}

/// Where the message at a place is among the same messages in another order.
pub(crate) fn moved<F: Flying>(place: u16, from: &[F], to: &[F]) -> u16 {
    let same = to.iter().position(|packet| *packet == from[place as usize]);
    same.map_or(place, |place| place as u16)
}
