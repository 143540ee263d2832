//! How a session acquires a lock.

use std::sync::{Arc, PoisonError};

use super::{
    Begun, Claim, Held, Holding, NO_TICKET, Place, QueuedAcquire, SessionError, SessionId,
    Sessions, Wait,
};
use skeptron_core::mutex::Mode;

use crate::clock::MonoTime;
use crate::effects::{Effects, NotServed};
use crate::locks::{Acquired, LockError, Locks};
use crate::{Fence, Flaw};

/// What an acquire is to come to.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// An entry of this mode.
    Enter(Mode),
    /// An exclusive entry whose holder leads, and says this of itself.
    Lead(Arc<str>),
    /// The entry with this fence is to be exclusive.
    Upgrade(Fence),
}

impl Wish {
    fn mode(&self) -> Mode {
        if let Wish::Enter(mode) = self { *mode } else { Mode::EXCLUSIVE }
    }
}

impl Sessions {
    /// Begins an acquire, or finds that it has been granted already. If the same acquire waits on
    /// another connection, `who` takes its place there: that connection is as good as dead.
    pub(crate) fn acquire<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        (claim, wish): (Claim, Wish),
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
            let held = session.living()?.held.claimed(&claim);
            // A lock's mutex is taken before a session's, so this is asked between two looks.
            if let Some(Holding { fence, .. }) = held
                && locks.is_held(now, &lock, fence)
            {
                return Ok(Begun::Held(Held { lock: claim.lock, fence }));
            }
            let mut state = session.living()?;
            if state.held.claimed(&claim) != held {
                continue;
            }
            // It was granted and is lost: this may be a late try, of which nobody would learn that it was
            // granted again. Whoever still wants the lock asks with another number.
            if let (Some(Holding { request: Some(request), .. }), Wish::Enter(_) | Wish::Lead(_)) =
                (held, &wish)
            {
                state.remember(request);
            }
            break state;
        };
        let is_over = |request| {
            request <= state.requests_before && !locks.has(Flaw::MovedAcquired)
                || state.acquires_over.contains(&request)
        };
        if claim.request.is_some_and(is_over) {
            return Err(SessionError::Withdrawn(claim.lock));
        }
        if let Wish::Upgrade(fence) = wish {
            state.holding(&claim.lock, fence)?;
        }
        state.serial += 1;
        let serial = state.serial;
        let waits = state.waits.get(&claim).copied();
        let ticket = waits.and_then(|wait| wait.ticket);
        let since = waits.map_or(now, |wait| wait.since);
        state.waits.insert(claim.clone(), Wait { serial, since, ticket });
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
                    if let Some(Holding { fence, .. }) = state.held.claimed(&claim) {
                        return Ok(Begun::Held(Held { lock: claim.lock, fence }));
                    }
                    state.waits.insert(claim.clone(), Wait { serial, since, ticket: None });
                    who = back;
                }
            }
        }
        let mode = wish.mode();
        let value = if let Wish::Lead(value) = &wish { Some(Arc::clone(value)) } else { None };
        let queued =
            QueuedAcquire { session: Arc::clone(&session), claim: claim.clone(), mode, value };
        let acquired = match wish {
            Wish::Upgrade(fence) => {
                locks.upgrade(now, &lock, fence, Some(queued.clone()), || who, effects)
            }
            _ => {
                let owner = (session.owner.as_str(), mode);
                locks.acquire(now, &lock, owner, Some(queued.clone()), || who, effects)
            }
        };
        match acquired {
            Ok(Acquired::Granted(fence)) => match queued.keep(fence) {
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
                let held = state.held.claimed(&claim);
                drop(state);
                let Some(who) = locks.cancel(now, &lock, ticket, effects) else {
                    return Ok(Begun::Waiting(place));
                };
                if let Some(Holding { fence, .. }) = held {
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
                Err(match error {
                    LockError::NotHeld(name) => SessionError::Lost(name),
                    error => error.into(),
                })
            }
        }
    }

    /// The exclusive entry with this fence goes on as one of this mode.
    pub(crate) fn downgrade<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        (name, fence, mode): (&str, Fence, Mode),
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        let session = self.find(now, locks.id, id)?;
        let state = session.living()?;
        state.settled()?;
        let holding = state.holding(name, fence)?;
        drop(state);
        let lock = locks.lock(name)?;
        if holding.mode == mode {
            return Ok(());
        }
        if !locks.is_held(now, &lock, fence) {
            return Err(SessionError::Lost(name.to_string()));
        }
        if !locks.downgrade(now, &lock, (fence, mode), effects) {
            return Err(SessionError::NotExclusive(name.to_string()));
        }
        let mut state = session.living()?;
        if state.held.remove(name, fence).is_some() {
            state.held.insert(name, Holding { mode, ..holding });
        }
        Ok(())
    }

    /// Whoever waited there went away: with its connection, an acquire ends.
    pub(crate) fn leave_place<W>(
        &self,
        now: MonoTime,
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
