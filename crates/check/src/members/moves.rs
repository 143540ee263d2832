//! What can happen next in a cluster.

use skeptron_core::catalogue::Order;

use super::local::Memory;
use super::state::{AWAY, Move, NO_CELL, Site, State};
use super::world::World;
use crate::flight;
use crate::model::Enabled;

impl World {
    /// Everything that can happen next. What may happen or not comes last.
    pub(super) fn all_moves(
        &self,
        memory: &mut Memory<'_>,
        state: &State,
        moves: &mut Vec<Move>,
    ) -> Enabled {
        moves.clear();
        self.duties(memory, state, moves);
        let duties = moves.len();
        self.wishes(memory, state, moves);
        self.faults(state, moves);
        match (duties, moves.len()) {
            (0, 0) => Enabled::Nothing,
            (0, _) => Enabled::OnlyRequests,
            _ => Enabled::More,
        }
    }

    /// What happens some time: messages arrive, holders let go, views are installed, and whoever cannot
    /// go on is excluded.
    fn duties(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) {
        for (_, packet) in flight::deliverable(&state.flight, Order::Fifo) {
            let (from, to) = (packet.from, packet.to);
            if state.sites[to as usize].local != NO_CELL {
                moves.push(Move::Deliver { from, to });
            }
        }
        let present = state.views.present();
        for (i, site) in state.sites[..self.members].iter().enumerate() {
            let member = i as u8;
            if !site.is_fit() {
                // Somebody else is left: see `faults`.
                if present.knows(i, site.life) {
                    moves.push(Move::Exclude(member));
                }
                continue;
            }
            if present.is_away(i, site.life) {
                moves.push(Move::Back(member));
            }
            let mut installed = 0;
            if site.local != NO_CELL {
                let facts = memory.facts(site.local);
                installed = facts.epoch;
                if facts.is_inside {
                    moves.push(Move::Release(member));
                }
                if self.strikes && self.is_over_elsewhere(state, installed) {
                    moves.push(Move::Strike(member));
                }
            }
            let later = installed + 1..=state.views.latest();
            let with_it = later.filter(|&epoch| state.views.of_epoch(epoch).has(i, site.life));
            moves.extend(with_it.map(|epoch| Move::Install { member, epoch }));
        }
    }

    /// What applications and operators may want.
    fn wishes(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) {
        let spare = state.budget.views > self.to_exclude(state);
        for (i, site) in state.sites[..self.members].iter().enumerate() {
            let member = i as u8;
            if site.is_fit() && site.local != NO_CELL {
                if site.left > 0 {
                    moves.push(Move::Ask(member));
                }
                if state.budget.cancels > 0 {
                    let waiting = memory.facts(site.local).waiting;
                    moves.extend((0..waiting).map(|nth| Move::Cancel { member, nth }));
                }
            }
            // Of one that is still a member the new life takes the place.
            let takes_place = state.views.present().knows(i, site.life);
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
        let present = state.views.present();
        let goes_on = |i: usize| {
            sites().any(|(j, site)| j != i && site.is_fit() && present.has(j, site.life))
        };
        let (views, to_exclude) = (state.budget.views, self.to_exclude(state));
        for (i, site) in sites().filter(|&(i, _)| goes_on(i)) {
            // It comes back, or is excluded, in one more view; one that crashed is excluded anyhow.
            let needs = to_exclude + 1 + u8::from(site.is_fit());
            if state.budget.aways > 0 && present.has(i, site.life) && views >= needs {
                moves.push(Move::Away(i as u8));
            }
            let is_counted = present.is_away(i, site.life);
            if !site.is_fit() || views <= to_exclude && !is_counted {
                continue;
            }
            if self.excludes_early && present.has(i, site.life) {
                moves.push(Move::Exclude(i as u8));
            }
            if state.budget.crashes > 0 {
                moves.push(Move::Crash(i as u8));
            }
            if state.budget.lease_ends > 0 && state.sites[i].local != NO_CELL {
                moves.push(Move::EndLease(i as u8));
            }
        }
    }

    /// How many members of the present view cannot go on, or are away: each needs another view.
    fn to_exclude(&self, state: &State) -> u8 {
        let present = state.views.present();
        let sites = state.sites[..self.members].iter().enumerate();
        let needs_view = |&(i, site): &(usize, &Site)| {
            present.is_away(i, site.life) || present.has(i, site.life) && !site.is_fit()
        };
        sites.filter(needs_view).count() as u8
    }

    /// Whether the lease of somebody who is away in this view is over.
    fn is_over_elsewhere(&self, state: &State, epoch: u8) -> bool {
        let view = state.views.of_epoch(epoch);
        let mut sites = state.sites[..self.members].iter().enumerate();
        sites.any(|(i, site)| {
            view.0[i] & AWAY != 0 && !(site.is_fit() && view.is_away(i, site.life))
        })
    }
}
