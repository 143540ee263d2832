//! Sessions that move: a client whose node died, left or cannot be reached goes on at another member. The
//! client says what it holds; when a view is installed in which the former life can no longer act, this
//! member keeps these locks for the session, and announces them as it announces what it keeps itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    Alive, Holding, Holdings, LOOK_AGAIN, Life, Move, MovedHold, Session, SessionError, SessionId,
    Sessions, State, end,
};
use skeptron_core::mutex::Mode;

use crate::clock::MonoTime;
use crate::effects::{Effects, Timer};
use crate::election::Proclaimed;
use crate::locks::Locks;
use crate::view::View;
use crate::{Fence, Flaw};

/// Locks that a session can bring at most.
const MOST_HELD: usize = 1000;

/// What a session brings from a life that may still act.
#[derive(Debug)]
pub(super) struct Arriving {
    from: Life,
    pub(super) held: Holdings,
    leads: BTreeMap<String, Proclaimed>,
}

impl State {
    /// Whether the session is here, and not only on its way.
    pub(super) fn settled(&self) -> Result<(), SessionError> {
        match &self.arriving {
            Some(arriving) => Err(SessionError::Moving(arriving.from.member)),
            None => Ok(()),
        }
    }

    /// The client gives back what it has not brought here yet.
    pub(super) fn release_moving(&mut self, name: &str, fence: Fence) -> Result<(), SessionError> {
        let held = self.arriving.as_mut().map(|arriving| &mut arriving.held);
        match held.and_then(|held| held.remove(name, fence)) {
            Some(_) => Ok(()),
            None => Err(SessionError::NotHeld(name.to_string())),
        }
    }
}

/// Whether what a session claims can be.
fn check(moved: &Move, view: &View) -> Result<(), SessionError> {
    if moved.held.len() > MOST_HELD {
        return Err(SessionError::BringsTooMany(MOST_HELD));
    }
    // Whatever is granted once these are kept has a later epoch, and so a larger fence. A member that is
    // behind does not know yet.
    let latest = view.epoch.max(moved.from.epoch);
    let cannot_be = |fence: Fence| fence.epoch() > latest || fence.epoch() == 0;
    match moved.held.iter().find(|hold| cannot_be(hold.fence)) {
        Some(MovedHold { lock, fence, .. }) => {
            Err(SessionError::NeverGranted { lock: lock.clone(), fence: *fence })
        }
        None => Ok(()),
    }
}

impl Sessions {
    /// A session comes from a life that its client cannot use any more. With nothing held it is here at
    /// once; else when that life is gone.
    pub(crate) fn move_here<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        moved: Move,
        most: usize,
        effects: &mut dyn Effects<W>,
    ) -> Result<Alive, SessionError> {
        let Move { id, from, number, .. } = moved;
        locks.in_view(|view| check(&moved, view))?;
        // It was here all the time, or this is a second try.
        let is_here = locks.life().is_some_and(|own| own.incarnation == from.incarnation)
            || self.read().by_id.get(&id).is_some_and(|it| it.state().moved >= number);
        if is_here {
            return self.keep_alive(now, locks, id);
        }
        let replaced =
            locks.in_view(|view| self.arrive(now, (locks.id, view), moved, most, locks))?;
        match replaced {
            // A move of an earlier time: its client has left it behind.
            Some(former) => end(now, locks, &former, effects),
            None => effects.arm(Timer::Session(id), LOOK_AGAIN.min(self.ttl(id))),
        }
        self.keep_alive(now, locks, id)
    }

    fn ttl(&self, id: SessionId) -> std::time::Duration {
        self.read().by_id.get(&id).map_or(LOOK_AGAIN, |session| session.ttl)
    }

    /// Takes note of a session, in a view that does not change meanwhile. Returns the former copy of it.
    fn arrive<W>(
        &self,
        now: MonoTime,
        (member, view): (crate::MemberId, &View),
        moved: Move,
        most: usize,
        locks: &Locks<W>,
    ) -> Result<Option<Arc<Session>>, SessionError> {
        let Move { id, from, number, ttl, owner, requests, held } = moved;
        if view.epoch < from.epoch {
            return Err(SessionError::Behind(member));
        }
        // What it held then may be somebody else's by now.
        if !held.is_empty() && !from.is_in(view) && !locks.has(Flaw::MovedLate) {
            return Err(SessionError::Over);
        }
        let mut open = self.write();
        if open.closed {
            return Err(SessionError::Closing(member));
        }
        if open.by_id.len() >= most && !open.by_id.contains_key(&id) {
            return Err(SessionError::TooMany(most));
        }
        let mut arriving = Arriving { from, held: Holdings::default(), leads: BTreeMap::new() };
        for MovedHold { lock, fence, mode, request, leads } in held {
            arriving.leads.extend(leads.map(|leads| (lock.clone(), leads)));
            arriving.held.insert(&lock, Holding { fence, mode, request });
        }
        let arriving = (!arriving.held.is_empty()).then_some(arriving);
        Ok(open.by_id.insert(id, Session::new(now, ttl, owner, (number, requests), arriving)))
    }

    /// The client goes on elsewhere and leaves behind what came of the move with this number, or of
    /// opening the session here (0). While the member leaves, what the session holds stays held: another
    /// member keeps it when this one is gone.
    pub(crate) fn leave_behind<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        number: u64,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        let mut open = self.write();
        let session = open.by_id.get(&id).cloned().ok_or(SessionError::Over)?;
        let mut state = session.state();
        // A later move has come here, and holds what it holds.
        if state.moved > number && !locks.has(Flaw::OlderMoveEnds) {
            return Ok(());
        }
        if !state.held.is_empty() && open.ending.is_none() {
            return Ok(());
        }
        state.over = true;
        let held = std::mem::take(&mut state.held);
        drop(state);
        open.by_id.remove(&id);
        drop(open);
        for (name, holding) in held {
            locks.hold_until_gone(now, &name, holding.fence, effects);
        }
        end(now, locks, &session, effects);
        Ok(())
    }

    /// Whether a session is on its way here with this entry.
    pub(crate) fn is_bringing(&self, name: &str, fence: Fence) -> bool {
        self.read().by_id.values().any(|session| {
            let state = session.state();
            state.arriving.as_ref().is_some_and(|it| it.held.find(name, fence).is_ok())
        })
    }

    /// The sessions whose former life can no longer act in this view, each with what it brings. They are
    /// here from now on.
    pub(crate) fn settle(&self, view: &View, flaw: Option<Flaw>) -> Vec<Settled> {
        let mut settled = Vec::new();
        for session in self.read().by_id.values() {
            let mut state = session.state();
            let acts = |arriving: &Arriving| {
                let from = arriving.from;
                let is_away = view.is_away(from.member, from.incarnation);
                from.is_in(view) && !(is_away && flaw == Some(Flaw::AwayAdopted))
            };
            if state.over || state.arriving.as_ref().is_none_or(acts) {
                continue;
            }
            let Some(Arriving { held, mut leads, .. }) = state.arriving.take() else { continue };
            for (lock, holding) in held {
                // If it cannot be kept, the session learns that it is lost.
                state.held.insert(&lock, holding);
                let Holding { fence, mode, .. } = holding;
                let (session, leads) = (Arc::clone(session), leads.remove(&lock));
                settled.push(Settled { lock, fence, mode, session, leads });
            }
        }
        settled
    }
}

/// A lock that a session brings.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) lock: String,
    pub(crate) fence: Fence,
    pub(crate) mode: Mode,
    pub(crate) session: Arc<Session>,
    pub(crate) leads: Option<Proclaimed>,
}
