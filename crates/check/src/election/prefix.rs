//! What has happened before a search begins: the steps of an election, taken again up to the state from which
//! everything is explored.

use skeptron_core::catalogue::Order;

use super::memory::Memory;
use super::state::{Budget, Move, Packet, Site, State};
use super::world::World;
use crate::flight;
use crate::model::Model as _;
use crate::prefix::{self, Already};
use crate::property::{Property, Step};
use crate::scenario::ScenarioError;

/// Whatever the next step is, there is budget for it.
pub(super) const FOR_ANY_STEP: Budget = Budget {
    calls: u8::MAX,
    losses: 1,
    duplicates: 1,
    crashes: 1,
    restarts: 1,
    premature: 1,
    suspicions: 1,
};

impl World {
    /// Takes steps before the search. They may be any that the system can take: budgets, rounds and calls count
    /// from where the search begins.
    pub(super) fn advance(&mut self, steps: &[Step]) -> Result<(), ScenarioError> {
        if steps.is_empty() {
            return Ok(());
        }
        let (order, budget) = (self.order, self.start.budget);
        let (initiators, most_rounds) = (self.initiators, self.most_rounds);
        let mut state = self.start.clone();
        state.flight.clone_from(&self.in_flight);
        // A step names a message by its place among those of its link in the order of sending.
        self.order = Order::Fifo;
        // Who called at once, because it suspected its leader, did so in a step of its own.
        self.initiators = 0;
        self.most_rounds = u32::MAX;
        let mut memory = self.memory(false);
        let mut has_called = 0u16;
        let mut keeps_assumptions = true;
        let mut rounds = 0u32;
        let mut found: Vec<(Property, usize, State, Move)> = Vec::new();
        for (number, &step) in steps.iter().enumerate() {
            let taken = self.move_of(&mut memory, &state, step);
            let taken = taken.ok_or(ScenarioError::NoSuchStep(number + 1))?;
            let is_assumed = self.is_assumed(&mut memory, &state, taken);
            keeps_assumptions &= is_assumed;
            // What it sets off may not be over, as when detectors do not trust yet who has come back.
            rounds += match taken {
                Move::Call(_) => 2,
                Move::Crash(_) => 3,
                Move::Restart(_) => 9,
                _ if is_assumed => 0,
                _ => 3,
            };
            match step {
                Step::Call(node) | Step::Restart(node) => has_called |= 1 << node.index(),
                Step::Crash(node) => has_called &= !(1 << node.index()),
                _ => {}
            }
            let before = state.clone();
            state.budget = FOR_ANY_STEP;
            let violated = self.take(&mut memory, &mut state, taken);
            let new = violated.iter().filter(|property| !found.iter().any(|f| f.0 == *property));
            let new: Vec<Property> = new.collect();
            found.extend(new.into_iter().map(|property| (property, number, before.clone(), taken)));
        }
        let newest = memory.newest(state.judge).round;
        drop(memory);
        (self.order, self.initiators) = (order, initiators);
        self.most_rounds = most_rounds + newest + rounds;
        if !keeps_assumptions {
            self.judged = self.judged.without(&[Property::Refused]);
            found.retain(|violation| violation.0 != Property::Refused);
        }
        state.budget = budget;
        state.hurry = 0;
        for (i, site) in state.sites[..self.nodes].iter_mut().enumerate() {
            let is_initiator = initiators & 1 << i != 0;
            site.may_call = site.up && is_initiator;
            site.called = is_initiator && has_called & 1 << i != 0;
        }
        self.forget_calls(&mut state);
        if budget.restarts == 0 {
            self.forget_the_dead(&mut state);
        }
        let already = found.into_iter().map(|(property, step, before, taken)| {
            let in_flight = before.flight.clone();
            let before = self.canonical(before);
            let place = |place| prefix::moved(place, &in_flight, &before.flight);
            let taken = match taken {
                Move::Deliver(at) => Move::Deliver(place(at)),
                other => other,
            };
            Already { property, step, before, in_flight, taken }
        });
        self.already = already.collect();
        self.after = steps.to_vec();
        self.in_flight.clone_from(&state.flight);
        self.start = self.canonical(state);
        Ok(())
    }

    fn canonical(&self, mut state: State) -> State {
        flight::sort(&mut state.flight, self.order);
        state
    }

    /// Who never comes back is gone, with all that is sent to it.
    fn forget_the_dead(&self, state: &mut State) {
        let sites = state.sites;
        state.flight.retain(|packet| sites[packet.to as usize].up);
        for site in state.sites[..self.nodes].iter_mut().filter(|site| !site.up) {
            *site = Site::default();
        }
    }

    /// The move that a step is, in a state whose messages are kept in the order of sending.
    fn move_of(&self, memory: &mut Memory<'_>, state: &State, step: Step) -> Option<Move> {
        let sites = &state.sites[..self.nodes];
        let up = |node: skeptron_core::NodeId| {
            let site = sites.get(node.index()).filter(|site| site.up)?;
            Some((node.index() as u8, site))
        };
        Some(match step {
            Step::Call(node) => Move::Call(up(node)?.0),
            Step::Deliver(which) => {
                up(which.to)?;
                Move::Deliver(flight::place(&state.flight, which)?)
            }
            Step::Expire { node, nth } => {
                let (node, site) = up(node)?;
                let is_set = nth < usize::from(memory.facts(site.local).alarms);
                is_set.then_some(Move::Expire { node, nth: nth as u8 })?
            }
            Step::Suspect { node, whom } => {
                let (node, site) = up(node)?;
                let (is_new, is_up) = (!site.suspects(whom.index()), sites.get(whom.index())?.up);
                let whom = whom.index() as u8;
                match is_new {
                    true if is_up => Move::Doubt { node, whom },
                    true => Move::Tell { node, whom },
                    false => return None,
                }
            }
            Step::Trust { node, whom } => {
                let (node, site) = up(node)?;
                let whom = (whom.index() < self.nodes).then_some(whom.index())?;
                site.suspects(whom).then_some(Move::Tell { node, whom: whom as u8 })?
            }
            Step::Tick => Move::Tick,
            Step::Lose(which) => Move::Lose(flight::place(&state.flight, which)?),
            Step::Duplicate(which) => Move::Duplicate(flight::place(&state.flight, which)?),
            Step::Crash(node) => Move::Crash(up(node)?.0),
            Step::Restart(node) => {
                let is_down = sites.get(node.index()).is_some_and(|site| !site.up);
                is_down.then_some(Move::Restart(node.index() as u8))?
            }
            Step::Draw { node, number } => {
                let (node, site) = up(node)?;
                let number = u8::try_from(number).ok()?;
                let may_be = (1..=memory.facts(site.local).draws).contains(&number);
                may_be.then_some(Move::Draw { node, number })?
            }
            Step::Request(_) | Step::Release(_) | Step::Access { .. } => return None,
        })
    }

    /// Whether messages arrive once and within the bound, alarms ring in time and detectors are right, as far as this
    /// move tells.
    fn is_assumed(&self, memory: &mut Memory<'_>, state: &State, step: Move) -> bool {
        let is_up = |packet: &Packet| state.sites[packet.to as usize].up;
        match step {
            Move::Lose(place) => {
                let packet = &state.flight[place as usize];
                packet.orphan || !is_up(packet)
            }
            Move::Duplicate(_) | Move::Doubt { .. } => false,
            Move::Expire { node, nth } => {
                let local = state.sites[node as usize].local;
                memory.facts(local).due & 1 << nth != 0
                    && !self.waits_for_messages(state, node.into())
            }
            Move::Tick => !state.flight.iter().any(|packet| packet.late && is_up(packet)),
            _ => true,
        }
    }
}
