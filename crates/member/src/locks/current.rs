//! The present view of a member, and what arrived too early for it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use skeptron_core::NodeId;

use super::claims::Peer;
use super::home::Home;
use super::instance::Layout;
use super::past::{Past, Pasts};
use crate::clock::MonoTime;
use crate::effects::Halt;
use crate::plan::Plans;
use crate::view::View;
use crate::{Fence, MemberId};

/// The present view. Whoever acts in it holds it for reading, whoever changes it for writing.
pub(super) struct Current {
    pub(super) view: Arc<View>,
    /// This member's rank.
    pub(super) me: NodeId,
    /// By plan.
    pub(super) layouts: Arc<[Layout]>,
    home: Mutex<Home>,
    /// The views before.
    pub(super) pasts: Pasts,
    /// Since when somebody has been away, if it is known.
    pub(super) away_since: Option<MonoTime>,
    /// How many elections each member watches here.
    watchers: Mutex<BTreeMap<MemberId, usize>>,
    /// Whether a new view has been asked for.
    asked_for_view: AtomicBool,
    /// What arrived of later views, in order, and its size.
    pub(super) early: VecDeque<Early>,
    pub(super) early_bytes: usize,
    /// Whose envelopes of later views were dropped, up to which of these.
    pub(super) dropped: BTreeMap<MemberId, u64>,
    /// By rank.
    pub(super) peers: Vec<Peer>,
    /// When it began here, as far as anybody looked at a clock.
    began: OnceLock<MonoTime>,
}

/// An envelope of a later view.
#[derive(Clone, Debug, Hash)]
pub(super) struct Early {
    pub(super) epoch: u64,
    pub(super) from: MemberId,
    pub(super) sequence: u64,
    /// As postcard.
    pub(super) payload: Vec<u8>,
}

impl Early {
    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.payload.len() + size_of::<Early>()
    }
}

impl Current {
    /// The view as `id` sees it, when it has announced nothing and heard nobody.
    pub(super) fn new(id: MemberId, view: Arc<View>, plans: &Plans) -> Result<Self, Halt> {
        let epoch = view.epoch;
        let me = view.rank(id).ok_or(Halt::Excluded(id, epoch))?;
        let members = view.members.len();
        let layouts = plans.all().map(|plan| Layout::new(plan, members));
        let layouts: Result<Arc<[Layout]>, _> = layouts.collect();
        let layouts = layouts.map_err(|why| Halt::Layout { epoch, why: why.to_string() })?;
        if epoch > Fence::MOST_EPOCHS {
            return Err(Halt::Layout { epoch, why: "there are no fences for it".to_string() });
        }
        let current = Current {
            peers: std::iter::repeat_with(Peer::default).take(members).collect(),
            view,
            me,
            layouts,
            home: Mutex::default(),
            pasts: Pasts::default(),
            away_since: None,
            watchers: Mutex::default(),
            asked_for_view: AtomicBool::new(false),
            early: VecDeque::new(),
            early_bytes: 0,
            dropped: BTreeMap::new(),
            began: OnceLock::new(),
        };
        let away = !current.view.away.is_empty();
        *current.home() = Home::new(me, current.others(), std::iter::empty(), away);
        Ok(current)
    }

    /// All ranks but this member's.
    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let me = self.me;
        NodeId::all(self.view.members.len()).filter(move |&rank| rank != me)
    }

    pub(super) fn home(&self) -> MutexGuard<'_, Home> {
        self.home.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watchers(&self) -> MutexGuard<'_, BTreeMap<MemberId, usize>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn home_of(&self, name: &str) -> NodeId {
        self.view.home(name)
    }

    pub(super) fn member(&self, rank: NodeId) -> MemberId {
        self.view.members[rank.index()].id
    }

    /// How long ago it began here.
    pub(super) fn age(&self, now: MonoTime) -> Duration {
        now.since(*self.began.get_or_init(|| now))
    }

    /// Whether this is the first time that a new view is asked for.
    pub(super) fn asks_for_view(&self) -> bool {
        !self.asked_for_view.swap(true, Ordering::Relaxed)
    }

    /// This view as it is left now, after those before it.
    pub(super) fn passed(&self) -> Pasts {
        let home = self.home();
        self.pasts.and(Past {
            view: Arc::clone(&self.view),
            me: self.me,
            heard_all: home.knows_all(),
            kept_elsewhere: home.kept_elsewhere(self.me),
        })
    }

    pub(super) fn copy(&self) -> Self {
        Current {
            view: Arc::clone(&self.view),
            me: self.me,
            layouts: Arc::clone(&self.layouts),
            home: Mutex::new(self.home().clone()),
            pasts: self.pasts.clone(),
            away_since: self.away_since,
            watchers: Mutex::new(self.watchers().clone()),
            asked_for_view: AtomicBool::new(self.asked_for_view.load(Ordering::Relaxed)),
            early: self.early.clone(),
            early_bytes: self.early_bytes,
            dropped: self.dropped.clone(),
            peers: self.peers.iter().map(Peer::copy).collect(),
            began: self.began.clone(),
        }
    }
}
