//! What can happen next in a system that elects leaders.

use super::memory::Memory;
use super::scenario::ElectionScenario;
use super::state::{Move, Packet, State};
use super::world::World;
use crate::flight;
use crate::model::Enabled;

impl World {
    /// Everything that can happen next. What applications want comes first, what goes wrong comes last.
    pub(super) fn all_moves(
        &self,
        memory: &mut Memory<'_>,
        state: &State,
        moves: &mut Vec<Move>,
    ) -> Enabled {
        moves.clear();
        if self.is_endless(memory, state) || state.hurry > ElectionScenario::MOST_HURRY {
            return Enabled::More;
        }
        if let Some((node, most)) = self.draws(memory, state) {
            moves.extend((1..=most).map(|number| Move::Draw { node, number }));
            return Enabled::More;
        }
        let sites = state.sites[..self.nodes].iter().enumerate();
        moves.extend(sites.filter(|(_, site)| site.may_call).map(|(i, _)| Move::Call(i as u8)));
        let calls = moves.len();
        let mut late = false;
        for (place, packet) in self.deliverable(state) {
            moves.push(Move::Deliver(place));
            late |= packet.late;
        }
        let clocks = [self.alarms(memory, state, moves), self.notices(state, moves)];
        let runs = !state.flight.is_empty() || clocks.iter().any(|clock| clock.runs);
        let waits = late || clocks.iter().any(|clock| clock.waits);
        if runs && !waits {
            moves.push(Move::Tick);
        }
        let enabled = match moves.len() {
            0 => Enabled::Nothing,
            all if all == calls => Enabled::OnlyRequests,
            _ => Enabled::More,
        };
        self.faults(state, moves);
        enabled
    }

    /// Who waits for a random number, and from how many: it gets one before anything else happens, for nobody else can see
    /// when it is drawn.
    fn draws(&self, memory: &mut Memory<'_>, state: &State) -> Option<(u8, u8)> {
        let mut up = state.sites[..self.nodes].iter().enumerate().filter(|(_, site)| site.up);
        up.find_map(|(node, site)| match memory.facts(site.local).draws {
            0 => None,
            most => Some((node as u8, most)),
        })
    }

    /// The messages that can arrive next, with their places.
    fn deliverable<'s>(&self, state: &'s State) -> impl Iterator<Item = (u16, &'s Packet)> {
        let all = flight::deliverable(&state.flight, self.order);
        all.filter(move |(_, packet)| state.sites[packet.to as usize].up)
    }

    /// Alarms ring when they are due, after the messages that had to arrive by then; or too early.
    fn alarms(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) -> Clock {
        let mut clock = Clock::default();
        for (i, site) in state.sites[..self.nodes].iter().enumerate().filter(|(_, site)| site.up) {
            let facts = memory.facts(site.local);
            clock.runs |= facts.alarms > 0;
            clock.waits |= facts.due != 0;
            if facts.alarms == 0 || facts.due == 0 && state.budget.premature == 0 {
                continue;
            }
            let waits = self.waits_for_messages(state, i);
            for nth in 0..facts.alarms {
                let is_due = facts.due & 1 << nth != 0 && !waits;
                if is_due || state.budget.premature > 0 {
                    moves.push(Move::Expire { node: i as u8, nth });
                }
            }
        }
        clock
    }

    /// Whether messages must arrive at a node before its alarms ring.
    pub(super) fn waits_for_messages(&self, state: &State, node: usize) -> bool {
        state.flight.iter().any(|packet| packet.late && usize::from(packet.to) == node)
    }

    /// What detectors have to tell.
    fn notices(&self, state: &State, moves: &mut Vec<Move>) -> Clock {
        let mut clock = Clock::default();
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            if site.owed == 0 {
                continue;
            }
            for whom in (0..self.nodes).filter(|&whom| site.owed(whom) > 0) {
                moves.push(Move::Tell { node: i as u8, whom: whom as u8 });
                clock.runs = true;
                clock.waits |= site.owed(whom) > self.detector;
            }
        }
        clock
    }

    /// What goes wrong in the network and in the machines.
    fn faults(&self, state: &State, moves: &mut Vec<Move>) {
        let budget = state.budget;
        for (place, packet) in self.deliverable(state) {
            if budget.losses > 0 || packet.orphan {
                moves.push(Move::Lose(place));
            }
        }
        if budget.duplicates > 0 {
            moves.extend(self.deliverable(state).map(|(place, _)| Move::Duplicate(place)));
        }
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            let node = i as u8;
            if site.up && budget.crashes > 0 && self.victims & 1 << i != 0 {
                moves.push(Move::Crash(node));
            }
            if !site.up && budget.restarts > 0 {
                moves.push(Move::Restart(node));
            }
            if site.up && budget.suspicions > 0 {
                let others = (0..self.nodes).filter(|&whom| whom != i && state.sites[whom].up);
                let trusted = others.filter(|&whom| !site.suspects(whom));
                moves.extend(trusted.map(|whom| Move::Doubt { node, whom: whom as u8 }));
            }
        }
    }
}

/// What a tick must wait for.
#[derive(Clone, Copy, Default)]
struct Clock {
    /// Whether there is anything that time can change.
    runs: bool,
    /// Whether something must happen first.
    waits: bool,
}
