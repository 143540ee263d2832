//! Nodes that stop for ever, and what others are told of that.

use skeptron_core::Entered;

use crate::local::{Action, REQUEST, missed};
use crate::memory::Memory;
use crate::property::Properties;
use crate::scenario::CrashWhen;
use crate::state::{Move, Site, State, User};
use crate::world::World;

impl World {
    /// Whether a node may stop now.
    pub(crate) fn may_crash(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &State,
        node: usize,
    ) -> bool {
        let site = state.sites[node];
        if site.user == User::Down || self.victims & 1 << node == 0 {
            return false;
        }
        let mut could_enter = || {
            let outcome = memory.step(site.local, REQUEST);
            memory.actions(&outcome).contains(&Action::Emit(Entered))
        };
        match self.crash_when {
            CrashWhen::Any => true,
            CrashWhen::Idle => site.user == User::Idle && !could_enter(),
            CrashWhen::Waiting => site.user == User::Waiting,
            CrashWhen::Holding => {
                site.user == User::Inside || site.user == User::Idle && could_enter()
            }
        }
    }

    /// A node stops.
    pub(crate) fn crash(&self, state: &mut State, node: u8) {
        state.budget.crashes -= 1;
        self.forget(state, node);
        // A node that is down has no state, so that all its states are one.
        state.sites[node as usize] = Site { user: User::Down, ..Site::default() };
        if self.watch.fences && self.has_detector {
            // As `SurvivorFences`: what only the crashed have entered with does not count.
            let last = state.sites[..self.nodes].iter().map(|site| site.bypassed);
            state.highest = last.max().unwrap_or(0);
        }
        state.flight.retain(|packet| packet.to != node);
    }

    /// What failure detectors can tell: of those that have stopped, or of those that have not. A node to which a notice is
    /// no news has been told already.
    pub(crate) fn notices(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &State,
        moves: &mut Vec<Move>,
        of_stopped: bool,
    ) {
        let up = |node: usize| state.sites[node].user != User::Down;
        for node in (0..self.nodes).filter(|&node| up(node)) {
            let local = state.sites[node].local;
            for whom in (0..self.nodes).filter(|&whom| whom != node && up(whom) != of_stopped) {
                let outcome = memory.step(local, missed(whom));
                if outcome.local != local || !outcome.actions.is_empty() {
                    moves.push(Move::Suspect { node: node as u8, whom: whom as u8 });
                }
            }
        }
    }

    /// The failure detector of `node` tells that `whom` has crashed.
    pub(crate) fn tell(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &mut State,
        (node, whom): (u8, u8),
        found: &mut Properties,
    ) {
        if state.sites[whom as usize].user != User::Down {
            state.budget.suspicions -= 1;
        }
        self.give(memory, state, node.into(), missed(whom.into()), found);
    }
}
