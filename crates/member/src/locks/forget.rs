//! Idle names are forgotten. Within a view a member cannot drop the node of an algorithm. But when all
//! members have announced themselves in a view, and nobody is away, a lock that has not begun in it and
//! that nobody here holds, waits for or keeps a right to is exactly like one that was never used: what it
//! was in earlier views is not asked for any more (`past` goes back to this view at most), and what its
//! home knows of it is kept by the home. So it is removed, in the background and in small portions.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::current::Current;
use super::lock::{Lock, State};
use super::{Locks, SHARDS};
use crate::Flaw;
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, NeedView, Timer};

/// Names looked at in one go: whoever uses one of the same shard, or installs a view, waits that long.
const PORTION: usize = 1000;

/// Between two portions.
const PAUSE: Duration = Duration::from_millis(1);

/// A new view is asked for again in the same view only after this time.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Between two views that are asked for.
const ASK_AFTER: Duration = Duration::from_millis(100);

/// The locks of one shard by name.
pub(super) struct Names<W> {
    by_name: FxHashMap<Arc<str>, Arc<Lock<W>>>,
    /// Those that the sweep has yet to look at: each goes back to the others, or is forgotten.
    unswept: FxHashMap<Arc<str>, Arc<Lock<W>>>,
}

impl<W> Default for Names<W> {
    fn default() -> Self {
        Names { by_name: FxHashMap::default(), unswept: FxHashMap::default() }
    }
}

impl<W> Names<W> {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Lock<W>>> {
        self.by_name.get(name).or_else(|| self.unswept.get(name))
    }

    /// Adds a lock whose name is not known.
    pub(super) fn insert(&mut self, lock: Arc<Lock<W>>) {
        self.by_name.insert(Arc::clone(&lock.name), lock);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Lock<W>>> {
        self.by_name.values().chain(self.unswept.values())
    }
}

/// How far the sweep is.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// Whether a timer is armed for its next portion.
    runs: bool,
    shard: usize,
    /// Whether the names of this shard have been set aside.
    began: bool,
    /// In which view a later one was last asked for, and when.
    asked: Option<(u64, MonoTime)>,
}

impl<W> Locks<W> {
    fn sweep(&self) -> std::sync::MutexGuard<'_, Sweep> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn copied_sweep(&self) -> Sweep {
        self.sweep().clone()
    }

    /// Whether what is idle may be forgotten now.
    fn may_forget(&self, current: &Current) -> bool {
        current.home().knows_all() || self.has(Flaw::ForgottenUnheard)
    }

    /// All members have met in this view: from the next portion on, what is idle is forgotten.
    pub(super) fn begin_to_forget(&self, current: &Current, effects: &mut dyn Effects<W>) {
        if self.known() == 0 || !self.may_forget(current) {
            return;
        }
        let mut sweep = self.sweep();
        (sweep.shard, sweep.began) = (0, false);
        if !std::mem::replace(&mut sweep.runs, true) {
            effects.arm(Timer::Forget, PAUSE);
        }
    }

    /// Forgets what is idle among the next names.
    pub(crate) fn forget(&self, effects: &mut dyn Effects<W>) {
        let (forgotten, more) = {
            let current = self.current();
            let mut sweep = self.sweep();
            if !self.may_forget(&current) || self.halted().is_some() {
                // It begins anew in the next view in which all have met.
                sweep.runs = false;
                return;
            }
            let forgotten = self.sweep_on(&current, &mut sweep);
            sweep.runs = sweep.shard < SHARDS;
            (forgotten, sweep.runs)
        };
        self.counts.known.remove(forgotten.len());
        if more {
            effects.arm(Timer::Forget, PAUSE);
        }
        effects.tell(Event::Forgot { names: forgotten.len() });
    }

    /// The next portion. What is forgotten is returned, so that its memory is freed without any lock.
    fn sweep_on(&self, current: &Current, sweep: &mut Sweep) -> Vec<Arc<Lock<W>>> {
        let (mut left, mut forgotten) = (PORTION, Vec::new());
        while left > 0 && sweep.shard < SHARDS {
            let shard = &self.shards[sweep.shard];
            let mut names = shard.names.write().unwrap_or_else(PoisonError::into_inner);
            let Names { by_name, unswept } = &mut *names;
            // A sweep that was broken off may have left some.
            if unswept.is_empty() && !std::mem::replace(&mut sweep.began, true) {
                std::mem::swap(by_name, unswept);
            }
            for (name, mut lock) in unswept.extract_if(|_, _| true).take(left) {
                left -= 1;
                if self.is_idle(current, &mut lock) {
                    forgotten.push(lock);
                } else {
                    by_name.insert(name, lock);
                }
            }
            if unswept.is_empty() && sweep.began {
                *unswept = FxHashMap::default();
                (sweep.shard, sweep.began) = (sweep.shard + 1, false);
            }
        }
        forgotten
    }

    /// Whether nobody would notice if the lock were made anew. Whoever has it in its hands would go on
    /// with this one while others get the next.
    fn is_idle(&self, current: &Current, lock: &mut Arc<Lock<W>>) -> bool {
        let flaw = self.settings.flaw;
        let is_in_hand = Arc::get_mut(lock).is_none();
        let state = lock.state();
        let epoch = current.view.epoch;
        match flaw {
            Some(Flaw::KeptForgotten) => state.waiters.is_empty() && !state.has_begun(),
            Some(Flaw::BegunForgotten) => !state.in_use() && state.kept.is_none(),
            Some(Flaw::ForgottenInHand) => state.is_as_new(epoch),
            _ => !is_in_hand && state.is_as_new(epoch),
        }
    }

    /// Asks for a new view if there are almost as many names as may be known, and most of them are idle.
    pub(crate) fn make_room(&self, now: MonoTime, effects: &mut dyn Effects<W>) {
        // Fixed members have no later view.
        if self.is_crowded() && self.incarnation.is_some() {
            self.make_room_in(&self.current(), now, effects);
        }
    }

    fn is_crowded(&self) -> bool {
        let most = self.settings.limits.locks;
        self.known() >= most - most / 4
    }

    pub(super) fn make_room_in(
        &self,
        current: &Current,
        now: MonoTime,
        effects: &mut dyn Effects<W>,
    ) {
        let in_use = self.held() + self.waiting();
        let is_idle = in_use <= self.settings.limits.locks / 2;
        // While somebody is away, a later view comes anyway.
        if !self.is_crowded() || !is_idle || !self.may_forget(current) {
            return;
        }
        let mut sweep = self.sweep();
        let epoch = current.view.epoch;
        let is_early = sweep.asked.is_some_and(|(asked, at)| {
            now < at.after(if asked == epoch { ASK_AGAIN } else { ASK_AFTER })
        });
        if !sweep.runs && !is_early {
            sweep.asked = Some((epoch, now));
            effects.need_view(NeedView::Names { known: self.known() });
        }
    }

    /// Whether no more names can be known until some are forgotten, which they will be.
    pub(crate) fn is_full(&self, name: &str) -> bool {
        self.known() >= self.settings.limits.locks
            && self.incarnation.is_some()
            && self.find(name).is_none()
    }
}

impl<W> State<W> {
    /// Whether it is, in the view of this epoch, what a lock is that was never used.
    fn is_as_new(&self, epoch: u64) -> bool {
        // A right of an earlier view that was not taken into this one is none any more, and watches belong
        // to a view.
        let knows = self.sharing.is_some() || self.election.is_some();
        let began = self.has_begun() || self.kept.is_some() || knows;
        // For whoever begins to watch now, a term of an earlier view is as if its member were new.
        let led_in_view = self.last_led.is_some_and(|term| term.epoch() >= epoch);
        !self.in_use() && (self.epoch != epoch || !began) && !led_in_view
    }
}
