//! Acquiring at a node: for programs in this process, and for sessions of its clients.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use skeptron_core::mutex::Mode;
use skeptron_member::clock::MonoTime;
use skeptron_member::session::{
    Alive, Begun, Claim, Held, Move, Place, SessionError, SessionId, SessionReport,
};
use skeptron_member::{Acquired, Effects, Fence, Lock, LockError, MemberCore, NotServed};
use tokio::sync::oneshot;

use super::{Guard, Shell, Waiter};
use crate::env;

impl Shell {
    /// Somebody in this process wants the lock.
    pub(crate) fn ask(
        self: &Arc<Self>,
        name: &str,
        (owner, mode): (&str, Mode),
    ) -> Result<LocalAcquire, LockError> {
        let make_room = |_: &LockError| {
            self.perform(|core, now, effects| core.make_room(now, effects));
        };
        let lock = self.core.lock(name).inspect_err(make_room)?;
        let mut receiver = None;
        let who = || {
            let (sender, waits) = oneshot::channel();
            receiver = Some(waits);
            Waiter::Local(sender)
        };
        let acquired = self
            .perform(|core, now, effects| core.acquire(now, &lock, (owner, mode), who, effects))?;
        Ok(self.asked(lock, acquired, receiver))
    }

    /// The entry with this fence is to be exclusive.
    pub(crate) fn ask_to_upgrade(
        self: &Arc<Self>,
        lock: Arc<Lock<Waiter>>,
        fence: Fence,
    ) -> Result<LocalAcquire, LockError> {
        let mut receiver = None;
        let who = || {
            let (sender, waits) = oneshot::channel();
            receiver = Some(waits);
            Waiter::Local(sender)
        };
        let upgraded =
            self.perform(|core, now, effects| core.upgrade(now, &lock, fence, who, effects))?;
        Ok(self.asked(lock, upgraded, receiver))
    }

    fn asked(
        self: &Arc<Self>,
        lock: Arc<Lock<Waiter>>,
        acquired: Acquired,
        receiver: Option<oneshot::Receiver<Result<Guard, NotServed>>>,
    ) -> LocalAcquire {
        match (acquired, receiver) {
            (Acquired::Waiting(ticket), Some(receiver)) => LocalAcquire::Waiting(Wait {
                shell: Arc::clone(self),
                lock,
                ticket,
                receiver,
                done: false,
            }),
            (Acquired::Granted(fence), _) => {
                LocalAcquire::Granted(Guard::new(Arc::clone(self), lock, fence))
            }
            (Acquired::Waiting(_), None) => unreachable!("whoever waits has been made"),
        }
    }

    pub(crate) fn open_session(
        self: &Arc<Self>,
        id: SessionId,
        ttl: Duration,
        owner: String,
        most: usize,
    ) -> Result<(), SessionError> {
        self.perform(|core, now, effects| core.open_session(now, id, ttl, owner, most, effects))
    }

    /// A session moves here.
    pub(crate) fn move_session(
        self: &Arc<Self>,
        moved: Move,
        most: usize,
    ) -> Result<Alive, SessionError> {
        self.perform(|core, now, effects| core.move_session(now, moved, most, effects))
    }

    /// A session has moved away.
    pub(crate) fn leave_session_behind(
        self: &Arc<Self>,
        id: SessionId,
        number: u64,
    ) -> Result<(), SessionError> {
        self.perform(|core, now, effects| core.leave_session_behind(now, id, number, effects))
    }

    /// A session wants a lock.
    pub(crate) fn session_acquire(
        self: &Arc<Self>,
        id: SessionId,
        (claim, mode): (Claim, Mode),
    ) -> Result<SessionAcquire, SessionError> {
        self.session_begin(id, claim.lock.clone(), |core, now, who, effects| {
            core.session_acquire(now, id, (claim, mode), who, effects)
        })
    }

    /// A session wants the entry with this fence to be exclusive.
    pub(crate) fn session_upgrade(
        self: &Arc<Self>,
        id: SessionId,
        (claim, fence): (Claim, Fence),
    ) -> Result<SessionAcquire, SessionError> {
        self.session_begin(id, claim.lock.clone(), |core, now, who, effects| {
            core.session_upgrade(now, id, (claim, fence), who, effects)
        })
    }

    /// An exclusive entry of a session tolerates others from now on.
    pub(crate) fn session_downgrade(
        self: &Arc<Self>,
        id: SessionId,
        entry: (&str, Fence, Mode),
    ) -> Result<(), SessionError> {
        self.perform(|core, now, effects| core.session_downgrade(now, id, entry, effects))
    }

    pub(super) fn session_begin(
        self: &Arc<Self>,
        id: SessionId,
        name: String,
        begin: impl FnOnce(
            &MemberCore<Waiter>,
            MonoTime,
            Waiter,
            &mut dyn Effects<Waiter>,
        ) -> Result<Begun, SessionError>,
    ) -> Result<SessionAcquire, SessionError> {
        let (sender, receiver) = oneshot::channel();
        let who = Waiter::Session(sender);
        let begun = self.perform(|core, now, effects| begin(core, now, who, effects))?;
        Ok(match begun {
            Begun::Held(held) => SessionAcquire::Held(held),
            Begun::Waiting(place) => SessionAcquire::Waiting(SessionWait {
                shell: Arc::clone(self),
                session: id,
                name,
                place,
                receiver,
            }),
        })
    }

    /// A session gives something back: the entry with that fence.
    pub(crate) fn session_release(
        self: &Arc<Self>,
        id: SessionId,
        lock: &str,
        fence: Fence,
    ) -> Result<(), SessionError> {
        self.perform(|core, now, effects| core.session_release(now, id, lock, fence, effects))
    }

    /// A session undoes an acquire. Whether anything was held.
    pub(crate) fn session_withdraw(
        self: &Arc<Self>,
        id: SessionId,
        lock: &str,
        request: u64,
    ) -> Result<bool, SessionError> {
        self.perform(|core, now, effects| core.session_withdraw(now, id, lock, request, effects))
    }

    /// Ends a session. Returns what it held and waited for.
    pub(crate) fn close_session(
        self: &Arc<Self>,
        id: SessionId,
    ) -> Result<SessionReport, SessionError> {
        self.perform(|core, now, effects| core.close_session(now, id, effects))
    }

    /// Ends all sessions, and opens no more.
    pub(crate) fn close_sessions(self: &Arc<Self>) {
        self.perform(|core, now, effects| core.close_sessions(now, effects));
    }

    /// Lets sessions only release and move away from now on, and waits until each has given back what it
    /// held, has moved, or counts as over by its client's own clock: only then may others enter.
    pub(crate) async fn drain_sessions(self: &Arc<Self>) {
        let mut is_told = false;
        while self.core.end_sessions(env::now()).is_some() {
            if !std::mem::replace(&mut is_told, true) {
                self.observer.tell_loss();
            }
            env::sleep(Self::LOOK).await;
        }
        // What one holds still that moved without a word must not be handed on.
        self.close_sessions();
    }
}

/// What came of asking for a lock.
#[derive(Debug)]
pub(crate) enum LocalAcquire {
    /// It is yours.
    Granted(Guard),
    /// It will be.
    Waiting(Wait),
}

/// Waits for a grant. Dropped, it leaves the queue; a grant that came meanwhile is released.
#[derive(Debug)]
pub(crate) struct Wait {
    shell: Arc<Shell>,
    lock: Arc<Lock<Waiter>>,
    ticket: u64,
    receiver: oneshot::Receiver<Result<Guard, NotServed>>,
    done: bool,
}

impl Future for Wait {
    type Output = Result<Guard, LockError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let granted = ready!(Pin::new(&mut self.receiver).poll(context));
        self.done = true;
        let member = self.shell.core.id();
        Poll::Ready(match granted {
            Ok(Ok(guard)) => Ok(guard),
            Ok(Err(NotServed::UpgradeDenied)) => {
                Err(LockError::UpgradeDenied(self.lock.name().to_string()))
            }
            Ok(Err(NotServed::Withdrawn)) => Err(LockError::NotHeld(self.lock.name().to_string())),
            _ => Err(match self.shell.core.halted() {
                Some(why) => LockError::Halted { member, why: why.clone() },
                None => LockError::Leaving(member),
            }),
        })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if !self.done {
            // The receiver is still there: whatever was granted before this is dropped with it.
            let (lock, ticket) = (&self.lock, self.ticket);
            self.shell.perform(|core, now, effects| core.cancel(now, lock, ticket, effects));
        }
    }
}

/// How an acquire of a session begins.
pub(crate) enum SessionAcquire {
    /// The session holds it.
    Held(Held),
    /// It waits.
    Waiting(SessionWait),
}

/// The wait of a session's request, left when dropped: with its connection, an acquire ends.
pub(crate) struct SessionWait {
    shell: Arc<Shell>,
    session: SessionId,
    name: String,
    place: Place,
    receiver: oneshot::Receiver<Result<Fence, NotServed>>,
}

impl SessionWait {
    /// Waits until the session holds the lock, or is not served.
    pub(crate) async fn granted(&mut self) -> Result<Held, NotServed> {
        let granted = (&mut self.receiver).await.unwrap_or(Err(NotServed::SessionOver));
        granted.map(|fence| Held { lock: self.name.clone(), fence })
    }

    /// Stops waiting; the lock may have been granted a moment before.
    pub(crate) fn give_up(mut self) -> Option<Result<Held, NotServed>> {
        self.leave();
        let granted = self.receiver.try_recv().ok()?;
        if granted == Err(NotServed::Withdrawn) {
            // Its turn came while it was leaving.
            return None;
        }
        Some(granted.map(|fence| Held { lock: self.name.clone(), fence }))
    }

    fn leave(&self) {
        let (id, place) = (self.session, &self.place);
        self.shell.perform(|core, now, effects| core.leave_place(now, id, place, effects));
    }
}

impl Drop for SessionWait {
    fn drop(&mut self) {
        self.leave();
    }
}
