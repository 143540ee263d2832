//! How a session leads an election.

use std::sync::Arc;

use super::{Begun, Claim, SessionError, SessionId, Sessions, Wish};
use crate::Fence;
use crate::clock::MonoTime;
use crate::effects::Effects;
use crate::election::MOST_VALUE_BYTES;
use crate::locks::Locks;

impl Sessions {
    /// Acquires a lock to lead: as [`Sessions::acquire`], with a value that observers are shown.
    pub(crate) fn campaign<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        (claim, value): (Claim, &str),
        who: W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Begun, SessionError> {
        let value = Arc::from(allowed(value)?);
        self.acquire(now, locks, id, (claim, Wish::Lead(value)), who, effects)
    }

    /// Changes the value of a leader. Returns the version of the value.
    pub(crate) fn proclaim<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        (name, fence): (&str, Fence),
        (version, value): (Option<u64>, &str),
        effects: &mut dyn Effects<W>,
    ) -> Result<u64, SessionError> {
        let value = allowed(value)?;
        let session = self.find(now, locks.id, id)?;
        let state = session.living()?;
        state.settled()?;
        state.holding(name, fence)?;
        drop(state);
        let lock = locks.lock(name)?;
        if !locks.is_held(now, &lock, fence) {
            return Err(SessionError::Lost(name.to_string()));
        }
        let proclaimed = locks.proclaim(now, name, fence, (version, value), effects);
        proclaimed.ok_or_else(|| SessionError::NotLeading(name.to_string()))
    }
}

fn allowed(value: &str) -> Result<&str, SessionError> {
    if value.len() > MOST_VALUE_BYTES {
        Err(SessionError::LongValue(value.len()))
    } else {
        Ok(value)
    }
}
