//! What other members claim is believed within bounds that no correct member exceeds. Whoever exceeds them
//! can stop locks, as it could by silence, but neither use up their fences nor fill this member's memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use skeptron_core::NodeId;

use super::current::{Current, Early};
use super::home::HeldBack;
use super::lock::Lock;
use super::rules::Act;
use super::{LockError, Locks};
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, NeedView};
use crate::wire::{Envelope, Payload};
use crate::{Fence, MemberId};

/// No lock is entered more often in a second: an entry and its release are two steps under a mutex.
const MOST_A_SECOND: u64 = 1 << 24;

/// Nobody who may act enters a view this much later than another member: its lease would have ended; and
/// where members are fixed, nobody acts before it has met all others.
const LAG_SECONDS: u64 = 1800;

/// What is known of another member in one view.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// So many names are known because it used them.
    names: AtomicUsize,
    /// Whether nothing that it says is taken any more in this view.
    is_muted: AtomicBool,
}

impl Peer {
    pub(super) fn copy(&self) -> Self {
        Peer {
            names: AtomicUsize::new(self.names.load(Ordering::Relaxed)),
            is_muted: AtomicBool::new(self.is_muted()),
        }
    }

    pub(super) fn is_muted(&self) -> bool {
        self.is_muted.load(Ordering::SeqCst)
    }
}

/// The highest counter to which entries can have led in a view that began here so long ago, with so many
/// seconds for those who were faster.
fn most_counted(age: Duration, lag: u64) -> u64 {
    let seconds = age.as_secs() + 1 + lag;
    seconds.saturating_mul(MOST_A_SECOND).min(Fence::MOST_COUNTED)
}

impl<W> Locks<W> {
    /// The counter of a lock's fences that a member claims; if that cannot be, one that is above all that
    /// can, so that fences rise whatever the truth is, and last.
    pub(super) fn believed(
        current: &Current,
        now: MonoTime,
        (from, lock): (NodeId, &str),
        counter: u64,
        effects: &mut dyn Effects<W>,
    ) -> u64 {
        let age = current.age(now);
        // The others add their entries to what is believed here, and must be believed in turn.
        if counter <= most_counted(age, 2 * LAG_SECONDS) {
            return counter;
        }
        let (from, why) = (current.member(from), "a fence that no number of entries leads to");
        effects.tell(Event::Refused { lock, from, why });
        most_counted(age, LAG_SECONDS)
    }

    /// From now on nothing that this member says is taken in this view. Dropping a single message could
    /// let two in; taking none is as if all were still on their way. A later view begins with it anew.
    pub(super) fn mute(
        &self,
        current: &Current,
        rank: NodeId,
        why: &str,
        effects: &mut dyn Effects<W>,
    ) {
        if current.peers[rank.index()].is_muted.swap(true, Ordering::SeqCst) {
            return;
        }
        let from = current.member(rank);
        effects.tell(Event::Refused { lock: "", from, why });
        if current.asks_for_view() {
            effects.need_view(NeedView::Muted { member: from });
        }
    }

    /// The lock of that name for another member. What one of them says must not be dropped, so there is room
    /// for the names of all, twice: some may have been forgotten by those who used them but not yet here.
    /// No member may take more than half of it in a view.
    pub(super) fn members_lock(
        &self,
        current: &Current,
        now: MonoTime,
        rank: NodeId,
        name: &str,
        effects: &mut dyn Effects<W>,
    ) -> Option<Arc<Lock<W>>> {
        if let Some(lock) = self.find(name) {
            return Some(lock);
        }
        let most = self.settings.limits.locks.saturating_mul(2 * current.view.members.len());
        let names = &current.peers[rank.index()].names;
        let found = match names.load(Ordering::Relaxed) < most / 2 {
            true => self.lock_within(name, most),
            false => Err(LockError::TooManyLocks { member: self.id, most, forgets: true }),
        };
        match found {
            Ok(lock) => {
                names.fetch_add(1, Ordering::Relaxed);
                if self.incarnation.is_some() {
                    self.make_room_in(current, now, effects);
                }
                Some(lock)
            }
            Err(LockError::TooManyLocks { .. }) => {
                let why = "it uses too many lock names and is ignored in this view; raise \
                           `limits.locks` on all nodes, or remove it from the cluster";
                self.mute(current, rank, why, effects);
                None
            }
            Err(error) => {
                let (from, why) = (current.member(rank), &error.to_string());
                effects.tell(Event::Refused { lock: "", from, why });
                None
            }
        }
    }

    /// Keeps an envelope of a later view. If there is too much of these, the member that sent most of them
    /// is not listened to until a view begins of which nothing was dropped.
    pub(super) fn keep_early(
        &self,
        current: &mut Current,
        (from, sequence): (MemberId, u64),
        envelope: &Envelope<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        if let Some(dropped) = current.dropped.get_mut(&from) {
            *dropped = envelope.epoch.max(*dropped);
            return effects.tell(Event::Stale { from });
        }
        let payload = postcard::to_stdvec(&envelope.payload).expect("a payload is plain data");
        let early = Early { epoch: envelope.epoch, from, sequence, payload };
        current.early_bytes += early.bytes();
        current.early.push_back(early);
        if current.early_bytes <= Self::MOST_BACKLOG {
            return;
        }
        let bytes = |id: MemberId| -> usize {
            current.early.iter().filter(|it| it.from == id).map(Early::bytes).sum()
        };
        let Some(most) = current.view.ids().chain([from]).max_by_key(|&id| bytes(id)) else {
            return;
        };
        let early = std::mem::take(&mut current.early).into_iter();
        let (gone, kept): (VecDeque<_>, _) = early.partition(|early| early.from == most);
        current.early = kept;
        current.early_bytes -= gone.iter().map(Early::bytes).sum::<usize>();
        let epoch = gone.iter().map(|it| it.epoch).max().unwrap_or(envelope.epoch);
        current.dropped.insert(most, epoch);
        let why = "too much of it could not be taken yet, and was dropped";
        effects.tell(Event::Refused { lock: "", from: most, why });
    }

    /// In a view that has just begun: those of whom something was dropped are not listened to.
    pub(super) fn mute_dropped(&self, current: &Current, effects: &mut dyn Effects<W>) {
        for &id in current.dropped.keys() {
            if let Some(rank) = current.view.rank(id) {
                let why = "messages that it sent early were dropped, so it is ignored in this view";
                self.mute(current, rank, why, effects);
            }
        }
    }
}

impl<W> Act<'_, W> {
    pub(super) fn believed(&mut self, from: NodeId, counter: u64) -> u64 {
        let claim = (from, &*self.lock.name);
        Locks::believed(self.current, self.now, claim, counter, self.effects)
    }

    /// Takes what a member says about this lock in this view, or holds it back.
    pub(super) fn receive(&mut self, from: NodeId, sequence: u64, payload: &Payload<'_>) {
        let needs_home =
            matches!(payload, Payload::Message { .. } | Payload::Wake { .. } | Payload::Ask { .. });
        if !needs_home || self.opens() {
            return self.deliver(from, sequence, payload);
        }
        let payload = postcard::to_stdvec(payload).expect("a payload is plain data");
        let held_back = HeldBack { from, sequence, payload };
        let most = Locks::<W>::MOST_BACKLOG;
        let muted = self.current.home().hold_back(&self.lock.name, held_back, most);
        if let Some(rank) = muted {
            let why = "too many of its messages are held back, so it is ignored in this view";
            self.locks.mute(self.current, rank, why, self.effects);
        }
    }
}
