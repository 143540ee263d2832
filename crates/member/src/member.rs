//! One member: its locks and its sessions behind one surface.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use skeptron_core::mutex::Mode;

use crate::clock::MonoTime;
use crate::effects::{Effects, Halt, NotServed, Timer};
use crate::election::Observed;
use crate::locks::{Acquired, Broken, Lock, LockError, Locks, Settings, Withheld};
use crate::report::LockStatus;
use crate::session::{
    Alive, Begun, Claim, Life, Move, Place, SessionError, SessionHandle, SessionId, SessionReport,
    Sessions, Wish,
};
use crate::view::{Lease, View};
use crate::wire::{Envelope, Payload, Relay};
use crate::{Fence, MemberId};

mod kinds;
mod query;

/// One life of a member: locks, views, lease, local waiters and sessions. It reads no clock, draws no
/// number and performs nothing: every call gets the time, and [`Effects`] takes what is to be done.
///
/// Calls may come from any thread; a step for a lock runs in the thread that brought its cause, under
/// that lock's mutex, and entering a lock again whose right is here allocates nothing.
///
/// The driver's manual: make it with the first view, call [`MemberCore::open`], then hand it whatever
/// happens: [`MemberCore::receive`] what links deliver, [`MemberCore::install`] each view that is
/// decided, [`MemberCore::renew`] each word on the lease (and when it ends), [`MemberCore::expire`]
/// each timer it armed. After each call, send what was queued. After [`Effects::halt`], call
/// [`MemberCore::lose_all`].
pub struct MemberCore<W> {
    locks: Locks<W>,
    sessions: Sessions,
}

impl<W> MemberCore<W> {
    /// The member `id` in its first view.
    ///
    /// # Errors
    /// If it does not belong to the view, or an algorithm cannot be laid out on it.
    pub fn new(id: MemberId, settings: Settings, view: Arc<View>) -> Result<Self, Halt> {
        Ok(MemberCore { locks: Locks::new(id, settings, view)?, sessions: Sessions::default() })
    }

    /// Who it is.
    #[must_use]
    pub fn id(&self) -> MemberId {
        self.locks.id
    }

    /// As it was made.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.locks.settings()
    }

    /// Tells the others that this member is there. To be called once, first.
    pub fn open(&self, effects: &mut dyn Effects<W>) {
        self.locks.open(effects);
    }

    /// A member sent this, the `sequence`-th on its link.
    pub fn receive(
        &self,
        now: MonoTime,
        from: MemberId,
        sequence: u64,
        envelope: &Envelope<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        match &envelope.payload {
            // What a member knows and holds does not depend on the view.
            Payload::Query { id, question } => self.tell(now, from, *id, question, effects),
            Payload::Answer { id, told } => effects.answer(from, *id, told),
            &Payload::Break { id, lock, fence, at_once } => {
                let outcome = self.break_lock(now, lock, fence, at_once, effects);
                let payload = Payload::Broken { id, outcome };
                effects.send(from, &Envelope { epoch: self.view().epoch, payload });
            }
            &Payload::Broken { id, outcome } => effects.broken(from, id, outcome),
            _ => self.locks.receive(now, from, sequence, envelope, effects),
        }
    }

    /// An administrator breaks the entry of a lock with this fence, if it is held at this member. A client
    /// is told with its next sign of life, a program in this process at once. The lock goes to the next one
    /// when its holder must know, or at once.
    pub fn break_lock(
        &self,
        now: MonoTime,
        lock: &str,
        fence: Fence,
        at_once: bool,
        effects: &mut dyn Effects<W>,
    ) -> Broken {
        match self.locks.break_entry(now, (lock, fence, at_once), effects) {
            Broken::NotHeld if self.sessions.is_bringing(lock, fence) => Broken::Moving,
            outcome => outcome,
        }
    }

    /// Orders these members to break a lock; each answer comes as [`Effects::broken`] with this id.
    pub fn order_break(
        &self,
        to: &[MemberId],
        id: u64,
        (lock, fence, at_once): (&str, Fence, bool),
        effects: &mut dyn Effects<W>,
    ) {
        let epoch = self.view().epoch;
        for &to in to {
            let payload = Payload::Break { id, lock, fence, at_once };
            effects.send(to, &Envelope { epoch, payload });
        }
    }

    /// A view has been decided. Earlier ones are ignored, and so are those in which this life is away: it
    /// goes on in its own view until a later one takes it back, or its lease ends.
    pub fn install(&self, now: MonoTime, view: Arc<View>, effects: &mut dyn Effects<W>) {
        self.locks.install(now, view, &self.sessions, effects);
    }

    /// Until when this life of the member may act. What is over stays over.
    pub fn renew(&self, now: MonoTime, lease: Lease, effects: &mut dyn Effects<W>) {
        self.locks.renew(now, lease, effects);
    }

    /// When the lease ends, by this member's clock.
    #[must_use]
    pub fn lease(&self) -> MonoTime {
        self.locks.lease()
    }

    /// A timer that the core had armed has rung.
    pub fn expire(&self, now: MonoTime, timer: &Timer, effects: &mut dyn Effects<W>) {
        match timer {
            Timer::Unpark(name) => self.locks.unpark(now, name, effects),
            Timer::Session(id) => self.sessions.expire(now, &self.locks, *id, effects),
            Timer::Forget => self.locks.forget(effects),
            Timer::Broken { lock, fence } => {
                self.locks.hand_on_broken(now, (lock, *fence), effects);
            }
        }
    }

    /// Asks for a new view if too many names are known and most are idle: then these are forgotten. An
    /// acquire does that by itself, unless it finds no room for its name.
    pub fn make_room(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        self.locks.make_room(now, effects);
    }

    /// Whether there is no room for this name until others are forgotten, which they will be.
    #[must_use]
    pub fn is_full(&self, name: &str) -> bool {
        self.locks.is_full(name)
    }

    /// The lock of that name, known from now on.
    ///
    /// # Errors
    /// If the name is invalid or there are too many.
    pub fn lock(&self, name: &str) -> Result<Arc<Lock<W>>, LockError> {
        self.locks.lock(name)
    }

    /// Somebody at this member wants the lock; `who` is made only if it has to wait.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn acquire(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        (owner, mode): (&str, Mode),
        who: impl FnOnce() -> W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Acquired, LockError> {
        self.locks.acquire(now, lock, (owner, mode), None, who, effects)
    }

    /// The waiter with this ticket waits no longer; returned if it still did. If not, it has been
    /// granted or refused.
    pub fn cancel(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        ticket: u64,
        effects: &mut dyn Effects<W>,
    ) -> Option<W> {
        self.locks.cancel(now, lock, ticket, effects)
    }

    /// The holder lets go. Whether it held it still.
    pub fn release(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        fence: Fence,
        effects: &mut dyn Effects<W>,
    ) -> bool {
        self.locks.release(now, lock, fence, effects)
    }

    /// Whether an entry of this member still is one.
    #[must_use]
    pub fn is_held(&self, now: MonoTime, lock: &Lock<W>, fence: Fence) -> bool {
        self.locks.is_held(now, lock, fence)
    }

    /// Opens a session with an id that the caller drew; at most `most` are open at once.
    ///
    /// # Errors
    /// If there are too many, or the member leaves.
    pub fn open_session(
        &self,
        now: MonoTime,
        id: SessionId,
        ttl: Duration,
        owner: String,
        most: usize,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        self.sessions.open(now, &self.locks, (id, ttl, owner), most, effects)
    }

    /// A sign of life of a session.
    ///
    /// # Errors
    /// If the session is over.
    pub fn keep_alive(&self, now: MonoTime, id: SessionId) -> Result<Alive, SessionError> {
        self.sessions.keep_alive(now, &self.locks, id)
    }

    /// What a session holds and waits for; asking is a sign of life.
    ///
    /// # Errors
    /// If the session is over.
    pub fn session(&self, now: MonoTime, id: SessionId) -> Result<SessionReport, SessionError> {
        self.sessions.report(now, self.id(), id)
    }

    /// The same, but not a sign of life; none if the session is over.
    #[must_use]
    pub fn peek_session(&self, id: SessionId) -> Option<SessionReport> {
        self.sessions.peek(id)
    }

    /// How long a session goes on if nothing is heard of it, without taking this for a sign of life; none if
    /// it is over.
    #[must_use]
    pub fn session_left(&self, now: MonoTime, id: SessionId) -> Option<Duration> {
        self.sessions.left(now, id)
    }

    /// This life, as a session that moves away names it; none where views do not name lives, so that
    /// sessions cannot move.
    #[must_use]
    pub fn life(&self) -> Option<Life> {
        self.locks.life()
    }

    /// A session moves here from a life that its client cannot use any more. At most `most` are open at
    /// once. Trying again with the same number is a sign of life.
    ///
    /// # Errors
    /// If what it held may be somebody else's by now, if this member does not know that life yet, if
    /// there are too many, or the member leaves.
    pub fn move_session(
        &self,
        now: MonoTime,
        moved: Move,
        most: usize,
        effects: &mut dyn Effects<W>,
    ) -> Result<Alive, SessionError> {
        self.sessions.move_here(now, &self.locks, moved, most, effects)
    }

    /// The client of a session has gone on elsewhere, and leaves behind what came of its move with this
    /// number, or of opening it here (0). What it holds stays held if this member leaves; else the
    /// session ends when it holds nothing.
    ///
    /// # Errors
    /// If the session is over.
    pub fn leave_session_behind(
        &self,
        now: MonoTime,
        id: SessionId,
        number: u64,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        self.sessions.leave_behind(now, &self.locks, id, number, effects)
    }

    /// A session wants a lock. The same claim again is the same acquire, and keeps its place.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn session_acquire(
        &self,
        now: MonoTime,
        id: SessionId,
        (claim, mode): (Claim, Mode),
        who: W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Begun, SessionError> {
        self.sessions.acquire(now, &self.locks, id, (claim, Wish::Enter(mode)), who, effects)
    }

    /// A session wants to lead an election: as [`MemberCore::session_acquire`], with a value that observers
    /// are shown. It is granted only when every member with observers knows. [`MemberCore::session_release`]
    /// and [`MemberCore::session_withdraw`] end the term.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn campaign(
        &self,
        now: MonoTime,
        id: SessionId,
        campaign: (Claim, &str),
        who: W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Begun, SessionError> {
        self.sessions.campaign(now, &self.locks, id, campaign, who, effects)
    }

    /// A leader changes its value. The same version again changes nothing; without one it is the next.
    /// Returns the version.
    ///
    /// # Errors
    /// If it does not lead any more.
    pub fn proclaim(
        &self,
        now: MonoTime,
        id: SessionId,
        entry: (&str, Fence),
        value: (Option<u64>, &str),
        effects: &mut dyn Effects<W>,
    ) -> Result<u64, SessionError> {
        self.sessions.proclaim(now, &self.locks, id, entry, value, effects)
    }

    /// Somebody observes an election here, and has seen a leader of the term `after` elsewhere, if any.
    /// Everything else comes as [`crate::Event::Leadership`], which may repeat what it has been told
    /// ([`crate::election::Seen`]). To be ended with [`MemberCore::unobserve`].
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn observe(
        &self,
        now: MonoTime,
        name: &str,
        after: Option<Fence>,
        effects: &mut dyn Effects<W>,
    ) -> Result<Observed, LockError> {
        self.locks.observe(now, name, after, effects)
    }

    /// Somebody observes an election no longer.
    pub fn unobserve(&self, now: MonoTime, name: &str, effects: &mut dyn Effects<W>) {
        self.locks.unobserve(now, name, effects);
    }

    /// Whoever waited at this place waits no longer.
    pub fn leave_place(
        &self,
        now: MonoTime,
        id: SessionId,
        place: &Place,
        effects: &mut dyn Effects<W>,
    ) {
        self.sessions.leave_place(now, &self.locks, id, place, effects);
    }

    /// Calls the waits of a session for these locks off, because they would never end. Whoever waits is told.
    pub fn refuse_waits(
        &self,
        now: MonoTime,
        session: SessionHandle,
        locks: &[String],
        effects: &mut dyn Effects<W>,
    ) {
        self.sessions.refuse_waits(now, &self.locks, (session, locks), effects);
    }

    /// A session gives back the entry with that fence.
    ///
    /// # Errors
    /// If it does not hold it any more.
    pub fn session_release(
        &self,
        now: MonoTime,
        id: SessionId,
        lock: &str,
        fence: Fence,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        self.sessions.release(now, &self.locks, id, lock, fence, effects)
    }

    /// A session undoes an acquire, whether it was granted, still waits or is yet to arrive. Whether
    /// anything was held.
    ///
    /// # Errors
    /// If the session is over, or what it held had been lost.
    pub fn session_withdraw(
        &self,
        now: MonoTime,
        id: SessionId,
        lock: &str,
        request: u64,
        effects: &mut dyn Effects<W>,
    ) -> Result<bool, SessionError> {
        self.sessions.withdraw(now, &self.locks, id, (lock, request), effects)
    }

    /// Ends a session and gives back what it holds. Returns what that was.
    ///
    /// # Errors
    /// If it is over already.
    pub fn close_session(
        &self,
        now: MonoTime,
        id: SessionId,
        effects: &mut dyn Effects<W>,
    ) -> Result<SessionReport, SessionError> {
        self.sessions.close(now, &self.locks, id, effects)
    }

    /// Ends all sessions, and opens no more.
    pub fn close_sessions(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        self.sessions.close_all(now, &self.locks, effects);
    }

    /// From now on sessions can only release and move away. Returns until when clients may still believe in what
    /// they hold; none if nothing is held.
    pub fn end_sessions(&self, now: MonoTime) -> Option<MonoTime> {
        self.sessions.begin_to_end(now, &self.locks)
    }

    /// Locks that the program which this member is part of holds itself, not a session.
    #[must_use]
    pub fn held_by_program(&self) -> usize {
        self.locks.held().saturating_sub(self.sessions.held())
    }

    /// Takes no more requests; whoever waits is told.
    pub fn leave(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        self.locks.leave(now, effects);
    }

    /// What is still held here is lost, and whoever waits is told.
    pub fn lose_all(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        self.locks.lose_all(now, effects);
        self.locks.refuse_waiters(now, NotServed::Halted, effects);
    }

    /// This life of the member is over, for a reason that its driver found.
    pub fn stop(&self, why: Halt, effects: &mut dyn Effects<W>) {
        self.locks.stop(why, effects);
    }

    /// Why this incarnation of the member has ended, if it is.
    #[must_use]
    pub fn halted(&self) -> Option<&Halt> {
        self.locks.halted()
    }

    /// Whether it takes no more requests.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.locks.is_leaving()
    }

    /// The locks whose token rests here.
    #[must_use]
    pub fn resting(&self) -> Vec<Arc<Lock<W>>> {
        self.locks.resting()
    }

    /// Whether the token of this lock rests here.
    #[must_use]
    pub fn rests_here(&self, lock: &Lock<W>) -> bool {
        self.locks.rests_here(lock)
    }

    /// Asks a member to fetch the tokens of these locks.
    pub fn offer(&self, to: MemberId, locks: &[Arc<Lock<W>>], effects: &mut dyn Effects<W>) {
        self.locks.offer(to, locks, effects);
    }

    /// All locks in use here whose names begin like that, by name.
    #[must_use]
    pub fn listing(&self, now: MonoTime, prefix: &str) -> Vec<LockStatus> {
        self.locks.listing(now, prefix, "", usize::MAX).0
    }

    /// Tells a member something of a client whose session is at one of the two; it comes there as
    /// [`Effects::relay`].
    pub fn relay(&self, to: MemberId, relay: Relay<'_>, effects: &mut dyn Effects<W>) {
        let epoch = self.view().epoch;
        effects.send(to, &Envelope { epoch, payload: Payload::Relay(relay) });
    }

    /// The present view.
    #[must_use]
    pub fn view(&self) -> Arc<View> {
        self.locks.view()
    }

    /// The members that have not announced themselves in this view: until then, locks whose home this
    /// member is do not begin.
    #[must_use]
    pub fn missing(&self) -> Vec<MemberId> {
        self.locks.missing()
    }

    /// What waits here because somebody is away; none if nobody is.
    #[must_use]
    pub fn withheld(&self) -> Option<Withheld> {
        self.locks.withheld()
    }

    /// How much there is of what must not pile up.
    #[must_use]
    pub fn load(&self) -> Load {
        Load {
            known_locks: self.locks.known(),
            held_locks: self.locks.held(),
            waiters: self.locks.waiting(),
            sessions: self.sessions.count(),
            backlog_bytes: self.locks.backlog(),
            recent_locks: self.locks.recent(),
            watched_elections: self.locks.watched_elections(),
        }
    }

    /// An equal member without its sessions, to try out what happens next.
    #[must_use]
    pub fn copy(&self) -> Self
    where
        W: Clone,
    {
        MemberCore { locks: self.locks.copy(), sessions: Sessions::default() }
    }

    /// Equal for members with equal futures, whatever the time and their sessions.
    pub fn digest(&self, hasher: &mut dyn Hasher)
    where
        W: Hash,
    {
        self.locks.digest(hasher);
    }
}

impl<W> std::fmt::Debug for MemberCore<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberCore").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// How much there is of what must not pile up at a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Lock names known.
    pub known_locks: usize,
    /// Locks held here.
    pub held_locks: usize,
    /// Requests waiting here.
    pub waiters: usize,
    /// Sessions open here.
    pub sessions: usize,
    /// Bytes that arrived and cannot be taken yet.
    pub backlog_bytes: usize,
    /// Locks that a view change would look at.
    pub recent_locks: usize,
    /// Elections that are observed here.
    pub watched_elections: usize,
}
