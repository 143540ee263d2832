//! How a session acquires a lock.

use std::sync::{Arc, PoisonError};

use super::{
    Begun, Claim, Held, Holding, NO_TICKET, Place, Seat, SessionError, SessionId, Sessions, Wait,
};
use crate::Flaw;
use crate::clock::Moment;
use crate::effects::{Effects, NotServed};
use crate::locks::{Acquired, Locks};

impl Sessions {
    /// Begins an acquire, or finds that it has been granted already. If the same acquire waits on
    /// another connection, `who` takes its place there: that connection is as good as dead.
    pub(crate) fn acquire<W>(
        &self,
        now: Moment,
        locks: &Locks<W>,
        id: SessionId,
        (claim, value): (Claim, Option<Arc<str>>),
        who: W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Begun, SessionError> {
        let session = self.find(now, locks.id, id)?;
        session.living()?.settled()?;
        let lock = locks.lock(&claim.lock).inspect_err(|_| locks.make_room(now, effects))?;
        // One acquire of a session begins after the other, so that a second try finds the first one
        // either held or in the queue.
        let _turn = session.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = loop {
            let held = session.living()?.held.get(&claim.lock).copied();
            // A lock's mutex is taken before a session's, so this is asked between two looks.
            if let Some(Holding { fence, request }) = held
                && request == claim.request
                && locks.is_held(now, &lock, fence)
            {
                return Ok(Begun::Held(Held { lock: claim.lock, fence }));
            }
            let state = session.living()?;
            let holds = state.held.get(&claim.lock).map(|holding| holding.fence);
            if holds == held.map(|holding| holding.fence) {
                break state;
            }
        };
        let is_over = |request| {
            request <= state.requests_before && !locks.has(Flaw::MovedAcquired)
                || state.acquires_over.contains(&request)
        };
        if claim.request.is_some_and(is_over) {
            return Err(SessionError::Withdrawn(claim.lock));
        }
        state.serial += 1;
        let serial = state.serial;
        let waits = state.waits.get(&claim).copied();
        let ticket = waits.and_then(|wait| wait.ticket);
        state.waits.insert(claim.clone(), Wait { serial, ticket });
        drop(state);
        let place = Place { claim: claim.clone(), serial };
        let mut who = who;
        if let Some(ticket) = ticket {
            match locks.replace(now, &lock, ticket, who, effects) {
                Ok(replaced) => {
                    effects.refuse(replaced, NotServed::Replaced);
                    return Ok(Begun::Waiting(place));
                }
                // It was granted a moment ago, to the connection that waited before.
                Err(back) => {
                    let mut state = session.living()?;
                    if let Some(&Holding { fence, request }) = state.held.get(&claim.lock)
                        && request == claim.request
                    {
                        return Ok(Begun::Held(Held { lock: claim.lock, fence }));
                    }
                    state.waits.insert(claim.clone(), Wait { serial, ticket: None });
                    who = back;
                }
            }
        }
        let seat = Seat { session: Arc::clone(&session), claim: claim.clone(), value };
        let acquired =
            locks.acquire(now, &lock, &session.owner, Some(seat.clone()), || who, effects);
        match acquired {
            Ok(Acquired::Granted(fence)) => match seat.keep(fence) {
                Ok(()) => Ok(Begun::Held(Held { lock: claim.lock, fence })),
                Err(why) => {
                    locks.release(now, &lock, fence, effects);
                    Err(match why {
                        NotServed::Withdrawn => SessionError::Withdrawn(claim.lock),
                        _ => SessionError::Over,
                    })
                }
            },
            Ok(Acquired::Waiting(ticket)) => {
                let mut state = session.state();
                let waits = state.waits.get_mut(&claim).filter(|wait| wait.serial == serial);
                if let Some(wait) = waits {
                    wait.ticket = Some(ticket);
                    return Ok(Begun::Waiting(place));
                }
                // Ended, withdrawn, or tried again on another connection while it was being queued.
                let (over, replaced) = (state.over, state.waits.contains_key(&claim));
                let held = state.held.get(&claim.lock).copied();
                drop(state);
                let Some(who) = locks.cancel(now, &lock, ticket, effects) else {
                    return Ok(Begun::Waiting(place));
                };
                if let Some(Holding { fence, request }) = held
                    && request == claim.request
                {
                    return Ok(Begun::Held(Held { lock: claim.lock, fence }));
                }
                let why = match (over, replaced) {
                    (true, _) => NotServed::SessionOver,
                    (false, true) => NotServed::Replaced,
                    (false, false) => NotServed::Withdrawn,
                };
                effects.refuse(who, why);
                Ok(Begun::Waiting(place))
            }
            Err(error) => {
                session.state().forget(&claim, serial);
                Err(error.into())
            }
        }
    }

    /// Whoever waited there went away: with its connection, an acquire ends.
    pub(crate) fn leave_place<W>(
        &self,
        now: Moment,
        locks: &Locks<W>,
        id: SessionId,
        place: &Place,
        effects: &mut dyn Effects<W>,
    ) {
        let session = self.read().by_id.get(&id).cloned();
        let Some(session) = session else { return };
        let wait = session.state().forget(&place.claim, place.serial);
        let ticket = wait.and_then(|wait| wait.ticket).unwrap_or(NO_TICKET);
        // Also if it waits no longer: whoever is just granting it has told so when this returns.
        if let Some(lock) = locks.find(&place.claim.lock) {
            locks.cancel(now, &lock, ticket, effects);
        }
    }
}
