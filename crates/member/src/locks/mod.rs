//! The locks of one member: one instance of an algorithm for each name, created on first use, and the
//! waiters of this member. Each lock has a mutex of its own; a step of its algorithm and what it sends
//! are one critical section, so the order of steps is the order on each link.
//!
//! Locks are taken in this order: the present view (for reading), one lock's mutex, then a session or
//! what the home knows.

mod broken;
mod claims;
mod current;
mod elections;
mod error;
mod forget;
mod home;
mod instance;
mod kept;
mod listing;
mod lock;
mod moves;
mod outcome;
mod past;
mod recent;
mod rules;
mod sharers;
mod term;
mod views;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxBuildHasher;
use skeptron_core::mutex::Mode;

pub use broken::Broken;
pub use error::LockError;
pub(crate) use home::home_of;
pub use instance::Turn;
pub use lock::Lock;

use crate::clock::MonoTime;
use crate::effects::{Effects, Event, Halt, NotServed};
use crate::election::Watches;
use crate::plan::Plans;
use crate::session::{Life, QueuedAcquire};
use crate::view::{Lease, View};
use crate::wire::{Envelope, Payload};
use crate::{Fence, Flaw, Limits, MemberId, Pace};
use current::Current;
use forget::{Names, Sweep};
use lock::State;
use recent::Recent;
use rules::Act;
use term::Term;

/// What a member must know besides its view.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which algorithm guards which lock.
    pub plans: Plans,
    /// How often in a row a lock may be handed over between those who waited at this member when the
    /// algorithm let it in.
    pub handovers: u32,
    /// How fast an idle token goes round.
    pub pace: Pace,
    /// What may take how much.
    pub limits: Limits,
    /// A rule to leave out, for tests of tests; none in every product.
    pub flaw: Option<Flaw>,
}

/// Locks that wait at their home because a life is away that may have a right to them: until it is back,
/// or gone for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// How many of those that somebody wants.
    pub locks: usize,
    /// Since when somebody has been away; none if it was so when this member came.
    pub since: Option<MonoTime>,
    /// Who is away.
    pub away: Vec<MemberId>,
}

/// What came of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It is held now, with this fence.
    Granted(Fence),
    /// The waiter stands in the queue with this ticket.
    Waiting(u64),
}

/// How many there are of something right now.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, number: usize) {
        self.0.fetch_sub(number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn copy(&self) -> Self {
        Count(AtomicUsize::new(self.get()))
    }
}

#[derive(Debug, Default)]
struct Counts {
    known: Count,
    held: Count,
    waiting: Count,
}

/// Names are spread over so many maps, so that looking one up seldom waits.
const SHARDS: usize = 64;

struct Shard<W> {
    names: RwLock<Names<W>>,
    recent: Mutex<Recent<W>>,
}

impl<W> Default for Shard<W> {
    fn default() -> Self {
        Shard { names: RwLock::default(), recent: Mutex::default() }
    }
}

/// All locks of one member.
pub(crate) struct Locks<W> {
    pub(crate) id: MemberId,
    /// Which of its lives; none if its first view did not say.
    incarnation: Option<u64>,
    settings: Settings,
    shards: Vec<Shard<W>>,
    current: RwLock<Current>,
    counts: Counts,
    term: Term,
    sweep: Mutex<Sweep>,
    /// The elections that are observed here.
    watches: Mutex<Watches>,
    /// Held while one of them begins or ends; taken before a lock's mutex.
    watch_turn: Mutex<()>,
    /// The locks with a leader that does not know it yet.
    unseen: Mutex<BTreeSet<Arc<str>>>,
    /// No new requests.
    leaving: AtomicBool,
    /// Why nothing is entered any more.
    halted: OnceLock<Halt>,
}

impl<W> Locks<W> {
    /// What arrives before it can be taken may take so many bytes: of later views, and of locks whose
    /// home this member is and that may not begin yet.
    pub(crate) const MOST_BACKLOG: usize = 16 << 20;

    pub(crate) fn new(id: MemberId, settings: Settings, view: Arc<View>) -> Result<Self, Halt> {
        let current = Current::new(id, view, &settings.plans)?;
        Ok(Locks {
            id,
            incarnation: current.view.member(id).and_then(|member| member.incarnation),
            settings,
            shards: std::iter::repeat_with(Shard::default).take(SHARDS).collect(),
            current: RwLock::new(current),
            counts: Counts::default(),
            term: Term::new(),
            sweep: Mutex::default(),
            watches: Mutex::default(),
            watch_turn: Mutex::default(),
            unseen: Mutex::default(),
            leaving: AtomicBool::new(false),
            halted: OnceLock::new(),
        })
    }

    /// This life, as sessions name it; none if the views do not say which life they mean.
    pub(crate) fn life(&self) -> Option<Life> {
        let (member, epoch) = (self.id, self.current().view.epoch);
        self.incarnation.map(|incarnation| Life { member, incarnation, epoch })
    }

    /// Looks at the present view, which does not change meanwhile. Nothing else of the locks may be
    /// asked for in there.
    pub(crate) fn in_view<T>(&self, look: impl FnOnce(&View) -> T) -> T {
        look(&self.current().view)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a rule is left out on purpose.
    pub(crate) fn has(&self, flaw: Flaw) -> bool {
        self.settings.flaw == Some(flaw)
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything may be entered now.
    fn may_enter(&self, now: MonoTime) -> bool {
        (self.term.runs(now) || self.has(Flaw::LeaseIgnored)) && self.halted.get().is_none()
    }

    /// Until when this member may act. What is over stays over.
    pub(crate) fn renew(&self, now: MonoTime, lease: Lease, effects: &mut dyn Effects<W>) {
        if !self.term.renew(now, lease) {
            self.stop(Halt::Lease, effects);
        }
    }

    pub(crate) fn lease(&self) -> MonoTime {
        self.term.end()
    }

    /// Nothing is entered any more, and nothing counts as held.
    pub(crate) fn stop(&self, why: Halt, effects: &mut dyn Effects<W>) {
        if self.halted.set(why).is_ok()
            && let Some(why) = self.halted.get()
        {
            effects.halt(why);
        }
    }

    pub(crate) fn halted(&self) -> Option<&Halt> {
        self.halted.get()
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }

    pub(crate) fn held(&self) -> usize {
        self.counts.held.get()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.counts.waiting.get()
    }

    pub(crate) fn known(&self) -> usize {
        self.counts.known.get()
    }

    fn shard(&self, name: &str) -> &Shard<W> {
        // The upper bits, since the map below uses the lower ones.
        &self.shards[(FxBuildHasher.hash_one(name) >> 40) as usize % SHARDS]
    }

    /// The lock of that name, if it is known: whatever is held or waited for is.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Lock<W>>> {
        let names = self.shard(name).names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(name).cloned()
    }

    /// The lock of that name for somebody at this member, created on first use.
    pub(crate) fn lock(&self, name: &str) -> Result<Arc<Lock<W>>, LockError> {
        self.lock_within(name, self.settings.limits.locks)
    }

    fn lock_within(&self, name: &str, most: usize) -> Result<Arc<Lock<W>>, LockError> {
        if let Some(lock) = self.find(name) {
            return Ok(lock);
        }
        if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
            return Err(LockError::Name(name.escape_debug().to_string()));
        }
        if self.counts.known.get() >= most {
            let forgets = self.incarnation.is_some();
            return Err(LockError::TooManyLocks { member: self.id, most, forgets });
        }
        let mut names = self.shard(name).names.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = names.get(name) {
            return Ok(Arc::clone(lock));
        }
        let plan = self.settings.plans.index_for(name);
        let lock = Arc::new(Lock::new(name.into(), plan));
        names.insert(Arc::clone(&lock));
        self.counts.known.add();
        Ok(lock)
    }

    /// All locks, by name.
    fn all(&self) -> Vec<Arc<Lock<W>>> {
        let shards = self.shards.iter();
        let mut all: Vec<_> = shards
            .flat_map(|shard| {
                let names = shard.names.read().unwrap_or_else(PoisonError::into_inner);
                names.all().cloned().collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Takes note that a lock is in use, so that a view change looks at it.
    fn list(&self, lock: &Arc<Lock<W>>, state: &mut State<W>, now: MonoTime) {
        let period = recent::period(now);
        if state.listed != Some(period) {
            state.listed = Some(period);
            let recent = &self.shard(&lock.name).recent;
            recent.lock().unwrap_or_else(PoisonError::into_inner).add(period, lock);
        }
    }

    /// Does something with a lock in the present view.
    fn act<T>(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        effects: &mut dyn Effects<W>,
        rule: impl FnOnce(&mut Act<'_, W>) -> T,
    ) -> T {
        self.act_in(&self.current(), now, lock, effects, rule)
    }

    fn act_in<T>(
        &self,
        current: &Current,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        effects: &mut dyn Effects<W>,
        rule: impl FnOnce(&mut Act<'_, W>) -> T,
    ) -> T {
        let mut state = lock.state();
        if state.epoch != current.view.epoch {
            // Whatever had a right or a waiter was converted when the view was installed.
            self.enter_view(current, lock, &mut state, false);
        }
        rule(&mut Act { locks: self, current, lock, state: &mut state, now, effects })
    }

    /// Somebody here wants the lock. `who` is asked for only if it has to wait.
    pub(crate) fn acquire(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        (owner, mode): (&str, Mode),
        queued: Option<QueuedAcquire>,
        who: impl FnOnce() -> W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Acquired, LockError> {
        self.make_room(now, effects);
        self.act(now, lock, effects, |act| {
            // Whoever shuts down looks at each lock after it said so.
            if self.is_leaving() {
                return Err(LockError::Leaving(self.id));
            }
            if let Some(why) = self.halted() {
                return Err(LockError::Halted { member: self.id, why: why.clone() });
            }
            let most = self.settings.limits.waiters;
            if act.state.waiters.len() >= most {
                let (member, name) = (self.id, lock.name.to_string());
                return Err(LockError::TooManyWaiters { member, name, most });
            }
            Ok(act.ask(owner, mode, queued, who))
        })
    }

    /// An entry of this member wants to be exclusive.
    pub(crate) fn upgrade(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        fence: Fence,
        queued: Option<QueuedAcquire>,
        who: impl FnOnce() -> W,
        effects: &mut dyn Effects<W>,
    ) -> Result<Acquired, LockError> {
        self.act(now, lock, effects, |act| {
            if self.is_leaving() {
                return Err(LockError::Leaving(self.id));
            }
            if let Some(why) = self.halted() {
                return Err(LockError::Halted { member: self.id, why: why.clone() });
            }
            act.upgrade(fence, queued, who)
        })
    }

    /// An exclusive entry goes on as one of this mode. Whether it was one.
    pub(crate) fn downgrade(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        (fence, mode): (Fence, Mode),
        effects: &mut dyn Effects<W>,
    ) -> bool {
        self.act(now, lock, effects, |act| act.downgrade(fence, mode))
    }

    /// The waiter with this ticket went away; returns it if it still waited.
    pub(crate) fn cancel(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        ticket: u64,
        effects: &mut dyn Effects<W>,
    ) -> Option<W> {
        self.act(now, lock, effects, |act| act.withdraw(ticket))
    }

    /// Puts somebody else in the place of the waiter with this ticket.
    pub(crate) fn replace(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        ticket: u64,
        who: W,
        effects: &mut dyn Effects<W>,
    ) -> Result<W, W> {
        self.act(now, lock, effects, |act| act.replace(ticket, who))
    }

    /// The holder lets go. Whether it held it still.
    pub(crate) fn release(
        &self,
        now: MonoTime,
        lock: &Arc<Lock<W>>,
        fence: Fence,
        effects: &mut dyn Effects<W>,
    ) -> bool {
        self.act(now, lock, effects, |act| act.release(fence))
    }

    /// The session of this entry has moved away while this member leaves: it is handed to nobody.
    pub(crate) fn hold_until_gone(
        &self,
        now: MonoTime,
        name: &str,
        fence: Fence,
        effects: &mut dyn Effects<W>,
    ) {
        if let Some(lock) = self.find(name) {
            let handed_on = self.has(Flaw::MovedHandedOn);
            self.act(now, &lock, effects, |act| {
                if handed_on {
                    act.release(fence);
                } else {
                    act.hold_until_gone(fence);
                }
            });
        }
    }

    /// Whether an entry of this member is still one.
    pub(crate) fn is_held(&self, now: MonoTime, lock: &Lock<W>, fence: Fence) -> bool {
        self.may_enter(now) && lock.state().holds(fence)
    }

    /// A restless token has been kept long enough.
    pub(crate) fn unpark(&self, now: MonoTime, name: &str, effects: &mut dyn Effects<W>) {
        if let Some(lock) = self.find(name) {
            self.act(now, &lock, effects, |act| act.fetch_parked());
        }
    }

    /// No more requests; whoever waits is told.
    pub(crate) fn leave(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        self.leaving.store(true, Ordering::SeqCst);
        self.refuse_waiters(now, NotServed::Leaving, effects);
    }

    /// Whoever waits is told that it will not be served.
    pub(crate) fn refuse_waiters(
        &self,
        now: MonoTime,
        why: NotServed,
        effects: &mut dyn Effects<W>,
    ) {
        // Every lock: somebody may be joining the queue of one that is not busy yet.
        for lock in &self.all() {
            self.act(now, lock, effects, |act| act.refuse_all(why));
        }
    }

    /// What is still held is lost: it stops counting as held first, then the algorithms are told.
    pub(crate) fn lose_all(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        self.term.give_up();
        for lock in &self.all() {
            self.act(now, lock, effects, |act| act.lose());
        }
    }

    /// The locks whose token rests here.
    pub(crate) fn resting(&self) -> Vec<Arc<Lock<W>>> {
        let current = self.current();
        let mut all = self.all();
        all.retain(|lock| rests_here(&current, lock));
        all
    }

    pub(crate) fn rests_here(&self, lock: &Lock<W>) -> bool {
        rests_here(&self.current(), lock)
    }

    /// Asks a member to fetch the tokens of these locks.
    pub(crate) fn offer(&self, to: MemberId, locks: &[Arc<Lock<W>>], effects: &mut dyn Effects<W>) {
        let epoch = self.current().view.epoch;
        for lock in locks {
            let payload = Payload::Take { lock: &lock.name };
            effects.send(to, &Envelope { epoch, payload });
        }
    }

    /// An equal one.
    pub(crate) fn copy(&self) -> Self
    where
        W: Clone,
    {
        let copy = Locks {
            id: self.id,
            incarnation: self.incarnation,
            settings: self.settings.clone(),
            shards: std::iter::repeat_with(Shard::default).take(SHARDS).collect(),
            current: RwLock::new(self.current().copy()),
            counts: Counts {
                known: self.counts.known.copy(),
                held: self.counts.held.copy(),
                waiting: self.counts.waiting.copy(),
            },
            term: self.term.copy(),
            sweep: Mutex::new(self.copied_sweep()),
            watches: Mutex::new(self.watches().clone()),
            watch_turn: Mutex::default(),
            unseen: Mutex::new(self.unseen().clone()),
            leaving: AtomicBool::new(self.is_leaving()),
            halted: self.halted.clone(),
        };
        for lock in self.all() {
            let lock = Arc::new(lock.copy());
            let shard = copy.shard(&lock.name);
            shard.names.write().unwrap_or_else(PoisonError::into_inner).insert(lock);
        }
        for (shard, copied) in self.shards.iter().zip(&copy.shards) {
            let recent = shard.recent.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = recent.copy(|name| copy.find(name));
            *copied.recent.lock().unwrap_or_else(PoisonError::into_inner) = recent;
        }
        copy
    }

    /// Equal for members with equal futures, whatever the time.
    pub(crate) fn digest(&self, mut hasher: &mut dyn Hasher)
    where
        W: Hash,
    {
        let current = self.current();
        (self.id, &*current.view, self.is_leaving(), self.halted()).hash(&mut hasher);
        (current.early.len(), &current.early).hash(&mut hasher);
        current.home().digest(hasher);
        let knows_all = current.home().knows_all();
        if !knows_all {
            current.pasts.digest(hasher);
        }
        for lock in self.all() {
            lock.name.hash(&mut hasher);
            let state = lock.state();
            if state.epoch == current.view.epoch {
                state.digest(hasher);
            } else if !knows_all {
                // Whether this member owned it then makes a difference yet.
                let begun = (state.has_begun(), state.rests_here(), state.own);
                (state.epoch, begun).hash(&mut hasher);
            }
        }
    }
}

fn rests_here<W>(current: &Current, lock: &Lock<W>) -> bool {
    current.layouts[lock.plan].has_token
        && lock.state().node.as_ref().is_some_and(|node| node.rests_here())
}
