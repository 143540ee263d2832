//! What can happen next in a cluster.

use skeptron_core::catalogue::Order;

use super::local::Memory;
use super::state::{Move, NO_CELL, State};
use super::world::World;
use crate::flight;
use crate::game::Outlook;

impl World {
    /// Everything that can happen next. What may happen or not comes last.
    pub(super) fn all_moves(
        &self,
        memory: &mut Memory<'_>,
        state: &State,
        moves: &mut Vec<Move>,
    ) -> Outlook {
        moves.clear();
        self.duties(memory, state, moves);
        let duties = moves.len();
        self.wishes(memory, state, moves);
        self.faults(state, moves);
        match (duties, moves.len()) {
            (0, 0) => Outlook::Nothing,
            (0, _) => Outlook::OnlyRequests,
            _ => Outlook::More,
        }
    }

    /// What happens some time: messages arrive, holders let go, views are installed, and whoever cannot
    /// go on is excluded.
    fn duties(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) {
        for (_, packet) in flight::deliverable(&state.flight, Order::Fifo) {
            let (from, to) = (packet.from, packet.to);
            if state.sites[to as usize].cell != NO_CELL {
                moves.push(Move::Deliver { from, to });
            }
        }
        let present = state.views.present();
        for (i, site) in state.sites[..self.members].iter().enumerate() {
            let member = i as u8;
            let is_present = present.0[i] == site.life;
            if !site.is_fit() {
                // Somebody else is left: see `faults`.
                if is_present {
                    moves.push(Move::Exclude(member));
                }
                continue;
            }
            let mut installed = 0;
            if site.cell != NO_CELL {
                let facts = memory.facts(site.cell);
                installed = facts.epoch;
                if facts.is_inside {
                    moves.push(Move::Release(member));
                }
            }
            let later = installed + 1..=state.views.latest();
            let with_it = later.filter(|&epoch| state.views.of_epoch(epoch).0[i] == site.life);
            moves.extend(with_it.map(|epoch| Move::Install { member, epoch }));
        }
    }

    /// What applications and operators may want.
    fn wishes(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) {
        let spare = state.budget.views > self.to_exclude(state);
        for (i, site) in state.sites[..self.members].iter().enumerate() {
            let member = i as u8;
            if site.is_fit() && site.cell != NO_CELL {
                if site.left > 0 {
                    moves.push(Move::Ask(member));
                }
                if state.budget.cancels > 0 {
                    let waiting = memory.facts(site.cell).waiting;
                    moves.extend((0..waiting).map(|nth| Move::Cancel { member, nth }));
                }
            }
            // Of one that is still a member the new life takes the place.
            let takes_place = state.views.present().0[i] == site.life;
            if !site.is_fit() && state.budget.rejoins > 0 && (spare || takes_place) {
                moves.push(Move::Rejoin(member));
            }
        }
        if spare {
            moves.push(Move::Renumber);
        }
    }

    /// What goes wrong. Somebody is left who goes on, and views enough to exclude the others.
    fn faults(&self, state: &State, moves: &mut Vec<Move>) {
        for (_, packet) in flight::deliverable(&state.flight, Order::Fifo) {
            let (from, to) = (packet.from, packet.to);
            if !state.sites[from as usize].up {
                moves.push(Move::Reset { from, to });
            }
        }
        let sites = || state.sites[..self.members].iter().enumerate();
        let goes_on = |i: usize| sites().any(|(j, site)| j != i && site.is_fit());
        if state.budget.views <= self.to_exclude(state) {
            return;
        }
        for (i, site) in sites().filter(|&(i, site)| site.is_fit() && goes_on(i)) {
            if self.excludes_early && state.views.present().0[i] == site.life {
                moves.push(Move::Exclude(i as u8));
            }
            if state.budget.crashes > 0 {
                moves.push(Move::Crash(i as u8));
            }
            if state.budget.lease_ends > 0 && state.sites[i].cell != NO_CELL {
                moves.push(Move::EndLease(i as u8));
            }
        }
    }

    /// How many members of the present view cannot go on.
    fn to_exclude(&self, state: &State) -> u8 {
        let lives = state.views.present().0;
        let sites = state.sites[..self.members].iter().zip(lives);
        sites.filter(|(site, life)| *life == site.life && !site.is_fit()).count() as u8
    }
}
