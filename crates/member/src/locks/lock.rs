//! One lock at one member: its algorithm's node, whoever holds it here, and who waits here.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skeptron_core::NodeId;
use skeptron_core::monitor;
use skeptron_core::mutex::sharing::{Presence, Sharing};
use skeptron_core::mutex::{Mode, Phase};

use super::elections::Election;
use super::instance::Instance;
use crate::Fence;
use crate::clock::MonoTime;
use crate::election::Proclaimed;
use crate::session::{QueuedAcquire, Session};

/// One lock at one member.
pub struct Lock<W> {
    pub(super) name: Arc<str>,
    /// Which of the plans is for it.
    pub(super) plan: usize,
    /// Whether somebody here holds it or waits for it; to be read without the mutex.
    busy: AtomicBool,
    state: Mutex<State<W>>,
}

/// What changes of a lock.
#[derive(Clone)]
pub(super) struct State<W> {
    /// The view that everything up to `sharing` belongs to.
    pub(super) epoch: u64,
    /// Who lets it begin in this view.
    pub(super) home: NodeId,
    /// The algorithm's node; none before its first use in this view.
    pub(super) node: Option<Box<dyn Instance>>,
    /// Where the algorithm's node is.
    pub(super) phase: Phase,
    /// A right from an earlier view: this member enters without the algorithm.
    pub(super) kept: Option<Kept>,
    /// Whether the home has said that it may be entered, where the algorithm does not ask the home.
    pub(super) pass: Pass,
    /// Whether this member, its home, may let it begin although somebody is away.
    pub(super) own: bool,
    /// How many more waiters of this member enter before the others have their turn.
    pub(super) turn: u32,
    /// An idle token of a restless algorithm, kept for a while.
    pub(super) parked: Option<Parked>,
    /// Visits of an idle token in a row.
    pub(super) idle_visits: u32,
    /// Somebody elsewhere waits: the token's next visit is a short one.
    pub(super) hurry: bool,
    /// The counter of its fences.
    pub(super) counter: monitor::Fence,
    /// Who is inside elsewhere, and who waits for whom; none while all that is known of in this view is
    /// exclusive.
    pub(super) sharing: Option<Box<Sharing>>,
    /// Whoever holds it here and tolerates nobody.
    pub(super) holder: Option<Hold>,
    /// Whoever holds it here and tolerates others.
    pub(super) sharers: Vec<Hold>,
    /// The one of these that waits to be exclusive.
    pub(super) upgrade: Option<Box<Upgrade<W>>>,
    /// Who waits here, the first first.
    pub(super) waiters: VecDeque<Waiter<W>>,
    /// The last ticket given to a waiter.
    pub(super) tickets: u64,
    /// The last term that somebody led here, once it is over for good.
    pub(super) last_led: Option<Fence>,
    /// Who watches who holds it, and a leader that does not know it yet; none for most locks.
    pub(super) election: Option<Box<Election<W>>>,
    /// When it was last listed among the locks in recent use.
    pub(super) listed: Option<u64>,
}

/// A right from an earlier view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    /// Its home has said that somebody wants it.
    pub(super) wanted: bool,
    /// It was another life's, and is kept for a session that came from there. That may have gone to
    /// several members, so none of them may let anybody else in.
    pub(super) adopted: bool,
}

/// Whether the home has been asked, and has answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    #[default]
    NotAsked,
    Asked,
    Given,
}

/// An entry of this member.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) fence: Fence,
    pub(super) mode: Mode,
    pub(super) since: MonoTime,
    pub(super) owner: Box<str>,
    /// The session that has it; none if a program in this process does.
    pub(super) session: Option<Arc<Session>>,
    /// What it says of itself, if it leads.
    pub(super) leads: Option<Proclaimed>,
    /// Its session has moved away while this member leaves: it stays held for as long as this life acts.
    pub(super) moved: bool,
    /// An administrator has broken it, and it goes to the next one then.
    pub(super) broken: Option<MonoTime>,
}

/// Somebody who waits.
#[derive(Clone, Debug)]
pub(super) struct Waiter<W> {
    pub(super) ticket: u64,
    pub(super) mode: Mode,
    pub(super) since: MonoTime,
    pub(super) owner: Box<str>,
    /// The place in its session, if it has one.
    pub(super) queued: Option<QueuedAcquire>,
    pub(super) who: W,
}

/// An entry that waits to be exclusive.
#[derive(Clone, Debug)]
pub(super) struct Upgrade<W> {
    /// Of the entry.
    pub(super) fence: Fence,
    pub(super) waiter: Waiter<W>,
}

/// A message that is not handed to the algorithm yet.
#[derive(Clone, Debug, Hash)]
pub(super) struct Parked {
    pub(super) from: NodeId,
    pub(super) sequence: u64,
    pub(super) message: Vec<u8>,
}

impl<W> Lock<W> {
    pub(super) fn new(name: Arc<str>, plan: usize) -> Self {
        let state = State {
            epoch: 0,
            home: NodeId::new(0),
            node: None,
            phase: Phase::Idle,
            kept: None,
            pass: Pass::NotAsked,
            own: false,
            turn: 0,
            parked: None,
            idle_visits: 0,
            hurry: false,
            counter: monitor::Fence::default(),
            sharing: None,
            holder: None,
            sharers: Vec::new(),
            upgrade: None,
            waiters: VecDeque::new(),
            tickets: 0,
            last_led: None,
            election: None,
            listed: None,
        };
        Lock { name, plan, busy: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State<W>> {
        // Every rule leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    pub(super) fn set_busy(&self, busy: bool) {
        if self.is_busy() != busy {
            self.busy.store(busy, Ordering::Relaxed);
        }
    }

    /// An equal one, for a copy of its member.
    pub(super) fn copy(&self) -> Self
    where
        W: Clone,
    {
        Lock {
            name: Arc::clone(&self.name),
            plan: self.plan,
            busy: AtomicBool::new(self.is_busy()),
            state: Mutex::new(self.state().clone()),
        }
    }
}

impl<W> State<W> {
    /// Whether anybody here has to do with it.
    pub(super) fn in_use(&self) -> bool {
        self.entries().next().is_some() || !self.waiters.is_empty()
    }

    /// Whatever is inside here.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Hold> + Clone {
        self.holder.iter().chain(&self.sharers)
    }

    /// The entry with this fence.
    pub(super) fn entry(&mut self, fence: Fence) -> Option<&mut Hold> {
        self.holder.iter_mut().chain(&mut self.sharers).find(|hold| hold.fence == fence)
    }

    /// Whether the entry with this fence still is one.
    pub(super) fn holds(&self, fence: Fence) -> bool {
        self.entries().any(|hold| hold.fence == fence && hold.broken.is_none())
    }

    /// What is inside here and tolerates others.
    pub(super) fn presence(&self) -> Presence {
        let modes: Vec<Mode> = self.sharers.iter().map(|hold| hold.mode).collect();
        Presence::of(&modes)
    }

    /// Whether nobody is inside at another member, as far as this one knows.
    pub(super) fn is_alone(&self) -> bool {
        self.sharing.as_ref().is_none_or(|sharing| sharing.is_alone())
    }

    /// Whether only exclusive entries are known of, so that the algorithm alone decides.
    pub(super) fn is_exclusive(&self) -> bool {
        let next = self.waiters.front().is_none_or(|waiter| waiter.mode.is_exclusive());
        next && self.sharing.is_none() && self.sharers.is_empty()
    }

    /// Whether this member has taken part in it in this view, or has let somebody else.
    pub(super) fn has_begun(&self) -> bool {
        self.node.is_some() || self.pass != Pass::NotAsked
    }

    /// Whether the algorithm lets this member enter at once, so that nobody else can.
    pub(super) fn rests_here(&self) -> bool {
        self.phase == Phase::Idle && self.node.as_ref().is_some_and(|node| node.rests_here())
    }

    /// Leaves the old view: its algorithm's node goes, a right stays only if it is kept. Fences begin
    /// anew, since those of a later epoch are larger whatever their counters.
    pub(super) fn enter_view(&mut self, epoch: u64, home: NodeId, keeps: bool, own: bool) {
        self.epoch = epoch;
        self.home = home;
        self.node = None;
        self.phase = Phase::Idle;
        let adopted = self.kept.is_some_and(|kept| kept.adopted);
        self.kept = keeps.then_some(Kept { wanted: false, adopted });
        self.pass = Pass::NotAsked;
        self.own = own;
        self.turn = 0;
        self.parked = None;
        self.idle_visits = 0;
        self.hurry = false;
        self.counter = monitor::Fence::default();
        self.sharing = None;
        self.forget_watchers();
    }

    /// Equal for states with equal futures, whatever the time.
    pub(super) fn digest(&self, mut hasher: &mut dyn Hasher)
    where
        W: Hash,
    {
        (self.epoch, self.home, self.phase, self.kept, self.pass, self.turn).hash(&mut hasher);
        (&self.parked, self.hurry, self.counter, self.own).hash(&mut hasher);
        // A view change forgets what is not listed.
        self.listed.is_some().hash(&mut hasher);
        for hold in self.entries() {
            (hold.fence, hold.mode, hold.broken.is_some()).hash(&mut hasher);
        }
        (self.sharers.len(), &self.sharing, self.upgrade.is_some()).hash(&mut hasher);
        // Which tickets they have makes no difference.
        self.waiters.len().hash(&mut hasher);
        for waiter in &self.waiters {
            (&waiter.who, waiter.mode).hash(&mut hasher);
        }
        if let Some(node) = &self.node {
            node.digest(hasher);
        }
    }
}

impl Clone for Box<dyn Instance> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

impl<W> std::fmt::Debug for Lock<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").field("name", &self.name).finish_non_exhaustive()
    }
}
