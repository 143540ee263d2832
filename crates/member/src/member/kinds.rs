//! Entries that become exclusive, and exclusive ones that tolerate others.

use std::sync::Arc;

use skeptron_core::mutex::Mode;

use super::MemberCore;
use crate::Fence;
use crate::clock::MonoTime;
use crate::effects::Effects;
use crate::locks::{Acquired, Lock, LockError};
use crate::session::{Begun, Claim, SessionError, SessionId, Wish};

impl<W> MemberCore<W> {
    /// The entry with this fence wants to be exclusive without leaving; `who` waits for it, and gets a new
    /// fence. Until then the entry stays as it is.
    ///
    /// # Errors
    /// If it is held no longer, or another entry of this member wants the same.
    pub fn upgrade(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        fence: Fence,
        who: impl FnOnce() -> W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Acquired, LockError> {
        self.locks.upgrade(now, lock, fence, None, who, effects)
    }

    /// The exclusive entry with this fence goes on as one of this mode, with the same fence. Whether it was
    /// exclusive.
    pub fn downgrade(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        fence: Fence,
        mode: Mode,
        effects: &mut dyn Effects<W>,
    ) -> bool {
        self.locks.downgrade(now, lock, (fence, mode), effects)
    }

    /// A session wants the entry with this fence to be exclusive: as [`MemberCore::session_acquire`]. While it
    /// waits, and if it is denied, the session holds the entry as before.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn session_upgrade(
        &self,
        now: MonoTime,
        id: SessionId,
        (claim, fence): (Claim, Fence),
        who: W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Begun, SessionError> {
        self.sessions.acquire(now, &self.locks, id, (claim, Wish::Upgrade(fence)), who, effects)
    }

    /// A session goes on with others: its exclusive entry becomes one of this mode, with the same fence.
    ///
    /// # Errors
    /// If it does not hold it so any more.
    pub fn session_downgrade(
        &self,
        now: MonoTime,
        id: SessionId,
        entry: (&str, Fence, Mode),
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        self.sessions.downgrade(now, &self.locks, id, entry, effects)
    }
}
