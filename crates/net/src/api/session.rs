//! Sessions: what a client holds and waits for, and that it is given back when nothing is heard of
//! the client any more.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;
use skeptron_core::NodeId;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::messages::{Held, SessionId, SessionStatus};
use super::refusal::Refusal;
use crate::UNPOISONED;
use crate::guard::Guard;
use crate::observe::Observer;
use crate::report::milliseconds;

/// How many withdrawn acquires a session remembers, in case one of them arrives late.
const MOST_WITHDRAWN: usize = 1024;

/// How often it is looked whether a session has given everything back.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// All sessions of a node.
#[derive(Debug)]
pub(super) struct Sessions {
    open: RwLock<Open>,
    most: usize,
    node: NodeId,
    observer: Arc<Observer>,
}

#[derive(Debug, Default)]
struct Open {
    by_id: FxHashMap<SessionId, Arc<Session>>,
    /// No more are opened.
    closed: bool,
    /// Nothing but releases is answered: the node leaves.
    ending: bool,
}

impl Open {
    /// The session, which has given a sign of life by this, unless all of them end.
    fn find(&self, id: SessionId) -> Result<Arc<Session>, Refusal> {
        let session = self.by_id.get(&id).cloned().ok_or(Refusal::SessionOver)?;
        if !self.ending {
            session.living()?.heard = Instant::now();
        }
        Ok(session)
    }
}

impl Sessions {
    /// At most `most` of them.
    pub(super) fn new(most: usize, node: NodeId, observer: Arc<Observer>) -> Self {
        Sessions { open: RwLock::default(), most, node, observer }
    }

    /// A new session.
    pub(super) fn open(
        self: &Arc<Self>,
        ttl: Duration,
        owner: String,
    ) -> Result<Arc<Session>, Refusal> {
        let id = SessionId::draw().ok_or(Refusal::NoRandomness)?;
        let session = Arc::new(Session { id, owner, ttl, state: Mutex::new(State::new()) });
        let mut open = self.open.write().expect(UNPOISONED);
        if open.closed {
            return Err(Refusal::Closing(self.node));
        }
        if open.by_id.len() >= self.most {
            return Err(Refusal::TooManySessions(self.most));
        }
        let watch = tokio::spawn(watch(Arc::downgrade(self), Arc::clone(&session)));
        session.state().watch = Some(watch.abort_handle());
        open.by_id.insert(id, Arc::clone(&session));
        self.observer.sessions.inc();
        Ok(session)
    }

    /// The session, which has given a sign of life by this.
    pub(super) fn find(&self, id: SessionId) -> Result<Arc<Session>, Refusal> {
        let open = self.open.read().expect(UNPOISONED);
        if open.ending { Err(Refusal::SessionOver) } else { open.find(id) }
    }

    /// The session that gives something back, which it may also while the node leaves.
    pub(super) fn find_to_release(&self, id: SessionId) -> Result<Arc<Session>, Refusal> {
        self.open.read().expect(UNPOISONED).find(id)
    }

    fn begin_to_end(&self) -> Vec<Arc<Session>> {
        let mut open = self.open.write().expect(UNPOISONED);
        (open.closed, open.ending) = (true, true);
        open.by_id.values().cloned().collect()
    }

    /// Tells every session at its next sign of life that it is over, and waits until each has given
    /// back what it held or counts as over by its own clock: only then may others enter.
    pub(super) async fn drain(&self) {
        for session in self.begin_to_end() {
            while session.holds_until().is_some_and(|end| Instant::now() < end) {
                tokio::time::sleep(DRAIN_LOOK).await;
            }
        }
    }

    /// Ends a session: what it holds is given back, what it waits for is called off.
    pub(super) fn end(&self, session: &Session) {
        let removed = self.open.write().expect(UNPOISONED).by_id.remove(&session.id);
        if removed.is_some() {
            self.observer.sessions.dec();
        }
        session.end();
    }

    /// Ends all sessions, and opens no more.
    pub(super) fn close(&self) {
        let mut open = self.open.write().expect(UNPOISONED);
        open.closed = true;
        let ended = std::mem::take(&mut open.by_id);
        drop(open);
        for session in ended.values() {
            self.observer.sessions.dec();
            session.end();
        }
    }
}

/// Ends the session when nothing is heard of it for its TTL.
async fn watch(sessions: Weak<Sessions>, session: Arc<Session>) {
    while let Some(deadline) = session.deadline() {
        tokio::time::sleep_until(deadline).await;
    }
    if let Some(sessions) = sessions.upgrade() {
        tracing::info!(session = ?session.id, owner = session.owner, "a session was not kept alive");
        sessions.observer.expired_sessions.inc();
        sessions.end(&session);
    }
}

/// One client's session.
#[derive(Debug)]
pub(super) struct Session {
    id: SessionId,
    owner: String,
    ttl: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last sign of life.
    heard: Instant,
    over: bool,
    held: HashMap<String, Holding>,
    waits: HashMap<Claim, Wait>,
    /// Acquires that must come to nothing even if they arrive only now, the latest last.
    withdrawn: VecDeque<u64>,
    /// Counts the waits, to tell one from another that took its place.
    serial: u64,
    /// The task that ends the session in time.
    watch: Option<AbortHandle>,
}

/// What an acquire is for. The same claim again is the same acquire, tried again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    pub(super) lock: String,
    pub(super) request: Option<u64>,
}

#[derive(Debug)]
struct Holding {
    guard: Guard,
    request: Option<u64>,
}

#[derive(Debug)]
struct Wait {
    serial: u64,
    call_off: oneshot::Sender<CalledOff>,
}

/// Why a wait ends without a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalledOff {
    SessionOver,
    Withdrawn,
    Replaced,
}

/// How an acquire begins.
#[derive(Debug)]
pub(super) enum Begun {
    /// It had been granted before, with this fence.
    Held(u64),
    /// It has to wait.
    Waiting(Waiting),
}

impl State {
    fn new() -> Self {
        State {
            heard: Instant::now(),
            over: false,
            held: HashMap::new(),
            waits: HashMap::new(),
            withdrawn: VecDeque::new(),
            serial: 0,
            watch: None,
        }
    }

    fn is_withdrawn(&self, request: Option<u64>) -> bool {
        request.is_some_and(|request| self.withdrawn.contains(&request))
    }
}

impl Session {
    /// Its name.
    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    /// Who it is.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// How long after its last sign of life it ends.
    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// What it held and the node has lost since.
    pub(super) fn lost(&self) -> Result<Vec<Held>, Refusal> {
        let state = self.living()?;
        let lost = state.held.values().filter(|holding| !holding.guard.is_valid());
        Ok(lost.map(Holding::told).collect())
    }

    /// What it holds and what it waits for.
    pub(super) fn status(&self) -> Result<SessionStatus, Refusal> {
        let state = self.living()?;
        let mut held: Vec<Held> = state.held.values().map(Holding::told).collect();
        let mut waiting: Vec<String> = state.waits.keys().map(|c| c.lock.clone()).collect();
        drop(state);
        held.sort();
        waiting.sort();
        let (session, owner, ttl_ms) = (self.id, self.owner.clone(), milliseconds(self.ttl));
        Ok(SessionStatus { session, owner, ttl_ms, held, waiting })
    }

    /// Begins an acquire, or finds that it has been granted already. The same acquire, still waiting
    /// on another connection, gives way: that connection is as good as dead.
    pub(super) fn begin(self: &Arc<Self>, claim: Claim) -> Result<Begun, Refusal> {
        let mut state = self.living()?;
        if state.is_withdrawn(claim.request) {
            return Err(Refusal::Withdrawn(claim.lock));
        }
        if let Some(fence) = state.fence_of(&claim) {
            return Ok(Begun::Held(fence));
        }
        state.serial += 1;
        let serial = state.serial;
        let (call_off, called_off) = oneshot::channel();
        if let Some(replaced) = state.waits.insert(claim.clone(), Wait { serial, call_off }) {
            // It may have ended by itself a moment ago.
            let _ = replaced.call_off.send(CalledOff::Replaced);
        }
        drop(state);
        Ok(Begun::Waiting(Waiting { session: Arc::clone(self), claim, serial, called_off }))
    }

    /// Gives up the entry with that fence, which the caller then releases.
    pub(super) fn let_go(&self, lock: &str, fence: u64) -> Result<Guard, Refusal> {
        let mut state = self.living()?;
        let held = state.held.get(lock).map(|holding| holding.guard.fence());
        match held {
            None => Err(Refusal::NotHeld(lock.to_string())),
            Some(held) if held != fence => {
                Err(Refusal::OtherFence { lock: lock.to_string(), held, given: fence })
            }
            Some(_) => Ok(state.held.remove(lock).expect("it was there just now").guard),
        }
    }

    /// Undoes an acquire, whether it was granted, still waits or is yet to arrive; what it held is
    /// the caller's to release.
    pub(super) fn withdraw(&self, lock: String, request: u64) -> Result<Option<Guard>, Refusal> {
        let mut state = self.living()?;
        if state.withdrawn.len() == MOST_WITHDRAWN {
            state.withdrawn.pop_front();
        }
        state.withdrawn.push_back(request);
        let claim = Claim { lock, request: Some(request) };
        if let Some(wait) = state.waits.remove(&claim) {
            // It may have ended by itself a moment ago.
            let _ = wait.call_off.send(CalledOff::Withdrawn);
        }
        match state.held.entry(claim.lock) {
            Entry::Occupied(held) if held.get().request == Some(request) => {
                Ok(Some(held.remove().guard))
            }
            _ => Ok(None),
        }
    }

    /// Until when its client may believe that it holds something; none if it holds nothing.
    fn holds_until(&self) -> Option<Instant> {
        let state = self.state();
        (!state.over && !state.held.is_empty()).then(|| state.heard + self.ttl)
    }

    /// Until when it lives if nothing more is heard; none if it is over, or over by now.
    fn deadline(&self) -> Option<Instant> {
        let mut state = self.state();
        let now = Instant::now();
        if !state.waits.is_empty() {
            state.heard = now;
        }
        let deadline = state.heard + self.ttl;
        state.over |= deadline <= now;
        (!state.over).then_some(deadline)
    }

    fn end(&self) {
        let mut state = self.state();
        state.over = true;
        let held = std::mem::take(&mut state.held);
        let waits = std::mem::take(&mut state.waits);
        let watch = state.watch.take();
        drop(state);
        for wait in waits.into_values() {
            // It may have ended by itself a moment ago.
            let _ = wait.call_off.send(CalledOff::SessionOver);
        }
        // Guards release when they are dropped, which may wake others: not under the mutex.
        drop(held);
        if let Some(watch) = watch {
            watch.abort();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }

    fn living(&self) -> Result<MutexGuard<'_, State>, Refusal> {
        let state = self.state();
        if state.over { Err(Refusal::SessionOver) } else { Ok(state) }
    }
}

impl State {
    /// The fence of the claim if it has been granted and is not lost.
    fn fence_of(&self, claim: &Claim) -> Option<u64> {
        let holding = self.held.get(&claim.lock)?;
        let same = holding.request == claim.request && holding.guard.is_valid();
        same.then(|| holding.guard.fence())
    }
}

impl Holding {
    fn told(&self) -> Held {
        Held { lock: self.guard.name().to_string(), fence: self.guard.fence() }
    }
}

/// A place among the waits of a session, left when dropped: with its connection, an acquire ends.
#[derive(Debug)]
pub(super) struct Waiting {
    session: Arc<Session>,
    claim: Claim,
    serial: u64,
    called_off: oneshot::Receiver<CalledOff>,
}

impl Waiting {
    /// Waits until the wait is called off.
    pub(super) async fn called_off(&mut self) -> Refusal {
        let why = (&mut self.called_off).await;
        self.refusal(why.unwrap_or(CalledOff::SessionOver))
    }

    /// Hands the granted lock to the session. If the session is over or the wait was called off
    /// meanwhile, the lock is released.
    pub(super) fn keep(mut self, guard: Guard) -> Result<Held, Refusal> {
        let session = Arc::clone(&self.session);
        let mut state = session.state();
        let mine = state.waits.get(&self.claim).is_some_and(|wait| wait.serial == self.serial);
        if !mine {
            drop(state);
            let why = self.called_off.try_recv().unwrap_or(CalledOff::SessionOver);
            return Err(self.refusal(why));
        }
        let held = Held { lock: self.claim.lock.clone(), fence: guard.fence() };
        let holding = Holding { guard, request: self.claim.request };
        // Whatever stood there had been lost, or the lock would not have been granted again.
        let lost = state.held.insert(held.lock.clone(), holding);
        drop(state);
        drop(lost);
        Ok(held)
    }

    fn refusal(&self, why: CalledOff) -> Refusal {
        match why {
            CalledOff::SessionOver => Refusal::SessionOver,
            CalledOff::Withdrawn => Refusal::Withdrawn(self.claim.lock.clone()),
            CalledOff::Replaced => Refusal::Replaced(self.claim.lock.clone()),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.session.state();
        let mine = state.waits.get(&self.claim).is_some_and(|wait| wait.serial == self.serial);
        if mine {
            state.waits.remove(&self.claim);
            state.heard = Instant::now();
        }
    }
}
