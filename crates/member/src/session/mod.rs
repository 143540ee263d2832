//! Sessions: what a client of this member holds and waits for, and that it is given back when nothing
//! is heard of the client any more.

mod acquire;
mod holdings;
mod lead;
mod listing;
mod moves;
mod types;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use skeptron_core::mutex::Mode;

use crate::clock::MonoTime;
use crate::effects::{Effects, Event, NotServed, Timer};
use crate::election::Proclaimed;
use crate::locks::Locks;
use crate::{Fence, Flaw, MemberId};

pub(crate) use acquire::Wish;
use holdings::{Holding, Holdings};
use moves::Arriving;
pub(crate) use moves::Settled;
pub use skeptron_types::session::{Held, MovedHold, SessionHandle, SessionId};
pub use types::{Alive, Begun, Claim, Life, Move, Place, SessionError, SessionReport};

/// How many acquires that are over a session remembers, in case one of them arrives late.
const MOST_OVER: usize = 1024;

/// Tickets are counted from 1.
const NO_TICKET: u64 = 0;

/// A session is looked at no later than after this time, so that the timers of those that were closed
/// do not pile up.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// All sessions of a member.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: RwLock<Open>,
}

#[derive(Debug, Default)]
struct Open {
    by_id: BTreeMap<SessionId, Arc<Session>>,
    /// No more are opened.
    closed: bool,
    /// Sessions can only release and move away: the member leaves. No client believes longer than until
    /// then in what it was told here.
    ending: Option<MonoTime>,
    /// Whether they can move.
    can_move: bool,
}

impl Open {
    /// What the client of a session is told while the member leaves.
    fn refusal(&self, member: MemberId) -> SessionError {
        if self.can_move { SessionError::Closing(member) } else { SessionError::Over }
    }
}

/// One client's session.
#[derive(Debug)]
pub(crate) struct Session {
    owner: String,
    ttl: Duration,
    /// Held while an acquire begins; taken before a lock's mutex.
    turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last sign of life.
    heard: MonoTime,
    over: bool,
    held: Holdings,
    waits: BTreeMap<Claim, Wait>,
    /// Acquires that were withdrawn or released, the latest last: they must come to nothing even if
    /// they, or a second try of them, arrive only now.
    acquires_over: VecDeque<u64>,
    /// Counts the waits, to tell one from another that took its place.
    serial: u64,
    /// Acquires up to this number belong to where it was before.
    requests_before: u64,
    /// The number of the move that brought it here; 0 if it was opened here.
    moved: u64,
    /// Set while the life where it was may still act.
    arriving: Option<Arriving>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    serial: u64,
    since: MonoTime,
    /// Where it stands in the lock's queue, once it does.
    ticket: Option<u64>,
}

/// What a waiter of a session carries in a lock's queue.
#[derive(Clone, Debug)]
pub(crate) struct QueuedAcquire {
    session: Arc<Session>,
    claim: Claim,
    mode: Mode,
    /// What the session says of itself, if it wants to lead.
    value: Option<Arc<str>>,
}

impl QueuedAcquire {
    /// What it says of itself as a leader.
    pub(crate) fn leads(&self) -> Option<Proclaimed> {
        self.value.as_ref().map(|value| Proclaimed { value: value.to_string(), version: 1 })
    }

    /// The lock is granted: hands it to the session, unless that is over or the acquire was withdrawn.
    pub(crate) fn keep(&self, fence: Fence) -> Result<(), NotServed> {
        let mut state = self.session.state();
        if state.over {
            return Err(NotServed::SessionOver);
        }
        // Whichever connection waits for it now: it is the same acquire.
        if state.waits.remove(&self.claim).is_none() {
            return Err(NotServed::Withdrawn);
        }
        let holding = Holding { fence, mode: self.mode, request: self.claim.request };
        // A late try of an acquire whose entry was lost must not bring another one.
        for lost in state.held.insert(&self.claim.lock, holding) {
            lost.request.into_iter().for_each(|request| state.remember(request));
        }
        Ok(())
    }

    /// The entry with the fence `before` is exclusive now, with this fence.
    pub(crate) fn keep_upgraded(&self, before: Fence, fence: Fence) -> Result<(), NotServed> {
        let former = self.session.state().held.find(&self.claim.lock, before);
        self.keep(fence)?;
        // A second try of the acquire that it came of must not bring another one.
        if let Ok(Holding { request: Some(request), .. }) = former {
            self.session.state().remember(request);
        }
        Ok(())
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session)
    }
}

impl Session {
    fn new(
        now: MonoTime,
        ttl: Duration,
        owner: String,
        (moved, requests_before): (u64, u64),
        arriving: Option<Arriving>,
    ) -> Arc<Self> {
        let state = State {
            heard: now,
            over: false,
            held: Holdings::default(),
            waits: BTreeMap::new(),
            acquires_over: VecDeque::new(),
            serial: 0,
            requests_before,
            moved,
            arriving,
        };
        Arc::new(Session { owner, ttl, turn: Mutex::default(), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it ends if nothing is heard of it any more. Nothing that it was told lets its client believe
    /// for longer.
    pub(crate) fn ends_at(&self) -> MonoTime {
        self.state().heard.after(self.ttl)
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    fn living(&self) -> Result<MutexGuard<'_, State>, SessionError> {
        let state = self.state();
        if state.over { Err(SessionError::Over) } else { Ok(state) }
    }
}

impl Sessions {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Open> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Open> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> usize {
        self.read().by_id.len()
    }

    /// How many locks sessions hold.
    pub(crate) fn held(&self) -> usize {
        self.read().by_id.values().map(|session| session.state().held.len()).sum()
    }

    pub(crate) fn open<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        (id, ttl, owner): (SessionId, Duration, String),
        most: usize,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        let mut open = self.write();
        if open.closed {
            return Err(SessionError::Closing(locks.id));
        }
        if open.by_id.len() >= most {
            return Err(SessionError::TooMany(most));
        }
        open.by_id.insert(id, Session::new(now, ttl, owner, (0, 0), None));
        effects.arm(Timer::Session(id), ttl.min(LOOK_AGAIN));
        Ok(())
    }

    /// The session, which has given a sign of life by this.
    fn find(
        &self,
        now: MonoTime,
        member: MemberId,
        id: SessionId,
    ) -> Result<Arc<Session>, SessionError> {
        let open = self.read();
        if open.ending.is_some() {
            return Err(open.refusal(member));
        }
        let session = open.by_id.get(&id).cloned().ok_or(SessionError::Over)?;
        let mut state = session.living()?;
        // One that is due to end gives no more signs.
        if now >= state.heard.after(session.ttl) {
            return Err(SessionError::Over);
        }
        // Threads may bring their signs in another order than they read the clock.
        state.heard = state.heard.max(now);
        drop(state);
        Ok(session)
    }

    /// The session that gives something back, which it may also while the member leaves.
    fn find_to_release(
        &self,
        now: MonoTime,
        member: MemberId,
        id: SessionId,
    ) -> Result<Arc<Session>, SessionError> {
        if self.read().ending.is_some() {
            // What is not here any more may have moved away.
            let session = self.read().by_id.get(&id).cloned();
            return session.ok_or_else(|| self.read().refusal(member));
        }
        self.find(now, member, id)
    }

    /// A sign of life.
    pub(crate) fn keep_alive<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
    ) -> Result<Alive, SessionError> {
        // Before it is seen whether the member leaves: it then waits for no more than this.
        let lease = locks.lease();
        let session = self.find(now, locks.id, id)?;
        let state = session.living()?;
        let (pending, held) = (state.arriving.is_some(), state.listed());
        drop(state);
        let valid = session.ttl.min(lease.since(now));
        let lost = |held: &Held| !pending && !is_held(now, locks, held);
        Ok(Alive { valid, pending, lost: held.into_iter().filter(lost).collect() })
    }

    pub(crate) fn report(
        &self,
        now: MonoTime,
        member: MemberId,
        id: SessionId,
    ) -> Result<SessionReport, SessionError> {
        let session = self.find(now, member, id)?;
        let state = session.living()?;
        Ok(session.report(&state))
    }

    /// The same without a sign of life; none if the session is over.
    pub(crate) fn peek(&self, id: SessionId) -> Option<SessionReport> {
        let session = self.read().by_id.get(&id).cloned()?;
        let state = session.living().ok()?;
        Some(session.report(&state))
    }

    /// How long a session goes on without a sign of life; none if it is over.
    pub(crate) fn left(&self, now: MonoTime, id: SessionId) -> Option<Duration> {
        let session = self.read().by_id.get(&id).cloned()?;
        let end = session.living().ok()?.heard.after(session.ttl);
        (now < end).then(|| end.since(now))
    }

    /// Gives back the entry with that fence.
    pub(crate) fn release<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        name: &str,
        fence: Fence,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), SessionError> {
        let session = self.find_to_release(now, locks.id, id)?;
        let mut state = session.living()?;
        if state.arriving.is_some() {
            return state.release_moving(name, fence);
        }
        let Holding { request, .. } = state.holding(name, fence)?;
        state.held.remove(name, fence);
        if let Some(request) = request
            && !locks.has(Flaw::ReleasedForgotten)
        {
            state.remember(request);
        }
        drop(state);
        if give_back(now, locks, name, fence, effects) {
            Ok(())
        } else {
            Err(SessionError::Lost(name.to_string()))
        }
    }

    /// Undoes an acquire, whether it was granted, still waits or is yet to arrive. Whether anything
    /// was held.
    pub(crate) fn withdraw<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        (name, request): (&str, u64),
        effects: &mut dyn Effects<W>,
    ) -> Result<bool, SessionError> {
        let session = self.find_to_release(now, locks.id, id)?;
        let mut state = session.living()?;
        state.settled()?;
        if !locks.has(Flaw::WithdrawnForgotten) {
            state.remember(request);
        }
        let claim = Claim { lock: name.to_string(), request: Some(request) };
        let wait = state.waits.remove(&claim);
        let held = state.held.claimed(&claim);
        if let Some(holding) = held {
            state.held.remove(name, holding.fence);
        }
        drop(state);
        if let Some(Wait { ticket: Some(ticket), .. }) = wait
            && let Some(lock) = locks.find(name)
            && let Some(who) = locks.cancel(now, &lock, ticket, effects)
        {
            effects.refuse(who, NotServed::Withdrawn);
        }
        match held {
            None => Ok(false),
            Some(Holding { fence, .. }) if give_back(now, locks, name, fence, effects) => Ok(true),
            Some(_) => Err(SessionError::Lost(name.to_string())),
        }
    }

    /// Calls the waits of a session for these locks off: they would never end.
    pub(crate) fn refuse_waits<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        (handle, names): (SessionHandle, &[String]),
        effects: &mut dyn Effects<W>,
    ) {
        let session =
            self.read().by_id.iter().find(|(id, _)| id.handle() == handle).map(|it| it.1.clone());
        let Some(session) = session else { return };
        let mut refused = Vec::new();
        session.state().waits.retain(|claim, wait| {
            let is_meant = wait.ticket.is_some() && names.contains(&claim.lock);
            if is_meant {
                refused.push((claim.lock.clone(), wait.ticket.unwrap_or(NO_TICKET)));
            }
            !is_meant
        });
        for (name, ticket) in refused {
            if let Some(lock) = locks.find(&name)
                && let Some(who) = locks.cancel(now, &lock, ticket, effects)
            {
                effects.refuse(who, NotServed::Deadlock);
            }
        }
    }

    /// Ends a session: what it holds is given back, what it waits for is called off. Returns what it
    /// held and waited for.
    pub(crate) fn close<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        effects: &mut dyn Effects<W>,
    ) -> Result<SessionReport, SessionError> {
        let session = self.write().by_id.remove(&id).ok_or(SessionError::Over)?;
        let report = session.report(&session.state());
        end(now, locks, &session, effects);
        Ok(report)
    }

    /// Ends all sessions, and opens no more. While the member leaves, what they hold stays held: its
    /// clients may have moved.
    pub(crate) fn close_all<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        effects: &mut dyn Effects<W>,
    ) {
        let mut open = self.write();
        open.closed = true;
        let ended = std::mem::take(&mut open.by_id);
        let have_moved = open.ending.is_some() && open.can_move;
        drop(open);
        // All of them first: what one gives back must not be granted to another that ends, too.
        for session in ended.values() {
            session.state().over = true;
        }
        for session in ended.values() {
            if have_moved {
                let held = std::mem::take(&mut session.state().held);
                for (name, holding) in held {
                    locks.hold_until_gone(now, &name, holding.fence, effects);
                }
            }
            end(now, locks, session, effects);
        }
    }

    /// From now on sessions can only release and move away; every client learns that at its next sign of
    /// life. Returns when the last of them that still holds something must know by its own clock; only
    /// then may others enter. Nobody was promised more than the lease of the moment in which this began: a
    /// client that stays, however long its TTL, does not keep this life from leaving until those that
    /// moved have to give up.
    pub(crate) fn begin_to_end<W>(&self, now: MonoTime, locks: &Locks<W>) -> Option<MonoTime> {
        let can_move = locks.life().is_some();
        let mut open = self.write();
        (open.closed, open.can_move) = (true, can_move);
        let promised = *open.ending.get_or_insert_with(|| locks.lease());
        let holding = open.by_id.values().filter_map(|session| {
            let state = session.state();
            // Also what it only brings: its client may believe that it arrives.
            let holds = !state.held.is_empty() || state.arriving.is_some();
            holds.then(|| state.heard.after(session.ttl).min(promised))
        });
        holding.max().filter(|&end| end > now)
    }

    /// Ends the session if nothing was heard of it for its TTL, or looks again later.
    pub(crate) fn expire<W>(
        &self,
        now: MonoTime,
        locks: &Locks<W>,
        id: SessionId,
        effects: &mut dyn Effects<W>,
    ) {
        let session = self.read().by_id.get(&id).cloned();
        let Some(session) = session else { return };
        let mut state = session.state();
        let end_at = state.heard.after(session.ttl);
        if now < end_at {
            return effects.arm(Timer::Session(id), end_at.since(now).min(LOOK_AGAIN));
        }
        if locks.has(Flaw::SessionNeverExpires) {
            return;
        }
        // From here on no sign of life is answered.
        state.over = true;
        drop(state);
        effects.tell(Event::SessionExpired { owner: &session.owner });
        self.write().by_id.remove(&id);
        if locks.has(Flaw::ExpiredSessionHolds) {
            session.state().held.clear();
        }
        end(now, locks, &session, effects);
    }
}

impl Session {
    fn report(&self, state: &State) -> SessionReport {
        SessionReport {
            owner: self.owner.clone(),
            ttl: self.ttl,
            held: state.listed(),
            waiting: state.waits.keys().map(|claim| claim.lock.clone()).collect(),
        }
    }
}

impl State {
    fn listed(&self) -> Vec<Held> {
        let moving = self.arriving.iter().flat_map(|arriving| arriving.held.iter());
        let held = self.held.iter().chain(moving);
        held.map(|(lock, holding)| Held { lock: lock.into(), fence: holding.fence }).collect()
    }

    /// The entry of a lock with this fence.
    fn holding(&self, name: &str, fence: Fence) -> Result<Holding, SessionError> {
        let lock = || name.to_string();
        self.held.find(name, fence).map_err(|other| match other {
            Some(held) => SessionError::OtherFence { lock: lock(), held, given: fence },
            None => SessionError::NotHeld(lock()),
        })
    }

    /// This acquire is over.
    fn remember(&mut self, request: u64) {
        if self.acquires_over.contains(&request) {
            return;
        }
        if self.acquires_over.len() == MOST_OVER {
            self.acquires_over.pop_front();
        }
        self.acquires_over.push_back(request);
    }

    fn forget(&mut self, claim: &Claim, serial: u64) -> Option<Wait> {
        let mine = self.waits.get(claim).is_some_and(|wait| wait.serial == serial);
        if mine { self.waits.remove(claim) } else { None }
    }
}

fn is_held<W>(now: MonoTime, locks: &Locks<W>, held: &Held) -> bool {
    locks.find(&held.lock).is_some_and(|lock| locks.is_held(now, &lock, held.fence))
}

fn give_back<W>(
    now: MonoTime,
    locks: &Locks<W>,
    name: &str,
    fence: Fence,
    effects: &mut dyn Effects<W>,
) -> bool {
    let Some(lock) = locks.find(name) else { return false };
    let was_held = locks.is_held(now, &lock, fence);
    locks.release(now, &lock, fence, effects) && was_held
}

/// The session is out of the list already; nothing is granted to it once it is over.
fn end<W>(now: MonoTime, locks: &Locks<W>, session: &Session, effects: &mut dyn Effects<W>) {
    let mut state = session.state();
    state.over = true;
    let held = std::mem::take(&mut state.held);
    let waits = std::mem::take(&mut state.waits);
    drop(state);
    for (claim, wait) in waits {
        if let Some(ticket) = wait.ticket
            && let Some(lock) = locks.find(&claim.lock)
            && let Some(who) = locks.cancel(now, &lock, ticket, effects)
        {
            effects.refuse(who, NotServed::SessionOver);
        }
    }
    for (name, holding) in held {
        give_back(now, locks, &name, holding.fence, effects);
    }
}

#[cfg(test)]
mod tests;
