//! What a change of views does to the locks: the instances of the old view stop, what is held is
//! announced and stays outside the algorithm until it is let go of, everything else begins anew.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use skeptron_core::NodeId;
use skeptron_core::mutex::Phase;

use super::Table;
use crate::observe::What;
use crate::view::View;
use crate::wire::{Envelope, Payload};

/// The view of a node, and what arrived too early for it.
#[derive(Debug)]
pub(super) struct Views {
    epoch: u64,
    gathering: Option<Gathering>,
    later: VecDeque<(NodeId, u64, Vec<u8>)>,
    later_bytes: usize,
}

/// A view that has not begun here: some members have not told what they hold.
#[derive(Debug)]
struct Gathering {
    missing: BTreeSet<NodeId>,
    carried: Vec<(String, NodeId)>,
}

/// When an envelope is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    Later,
    Never,
}

impl Views {
    /// Envelopes kept for later take so many bytes at most.
    const MOST_BYTES: usize = 16 << 20;

    /// The first view begins like every other, when all `others` have been heard: nobody holds
    /// anything yet, but a member that was restarted, or is there twice, is refused by those who have
    /// met its other life, so it never begins and grants nothing.
    pub(super) fn first(epoch: u64, others: BTreeSet<NodeId>) -> Self {
        let alone = others.is_empty();
        let gathering = (!alone).then(|| Gathering { missing: others, carried: Vec::new() });
        Views { epoch, gathering, later: VecDeque::new(), later_bytes: 0 }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the algorithms run.
    pub(super) fn has_begun(&self) -> bool {
        self.gathering.is_none()
    }

    fn when(&self, envelope: &Envelope<'_>) -> When {
        let announces = matches!(envelope.payload, Payload::Announce { .. });
        match envelope.epoch.cmp(&self.epoch) {
            std::cmp::Ordering::Less => When::Never,
            std::cmp::Ordering::Greater => When::Later,
            std::cmp::Ordering::Equal if self.has_begun() || announces => When::Now,
            std::cmp::Ordering::Equal => When::Later,
        }
    }
}

impl Table {
    pub(super) fn view(&self) -> RwLockReadGuard<'_, Views> {
        self.views.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn view_mut(&self) -> RwLockWriteGuard<'_, Views> {
        self.views.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an envelope now, keeps it for later, or drops it.
    pub(super) fn judge(self: &Arc<Self>, from: NodeId, sequence: u64, envelope: &Envelope<'_>) {
        loop {
            let views = self.view();
            match views.when(envelope) {
                When::Now => {
                    if let Payload::Announce { held, last } = &envelope.payload {
                        drop(views);
                        self.announced(from, held, *last);
                    } else {
                        self.take_in(&views, from, sequence, &envelope.payload);
                    }
                    return;
                }
                When::Never => {
                    self.observer.dropped.inc();
                    return;
                }
                When::Later => drop(views),
            }
            if self.keep(from, sequence, envelope) {
                return;
            }
        }
    }

    /// Keeps an envelope for later, unless its time has come meanwhile.
    fn keep(&self, from: NodeId, sequence: u64, envelope: &Envelope<'_>) -> bool {
        let mut views = self.view_mut();
        if views.when(envelope) != When::Later {
            return false;
        }
        let bytes = postcard::to_allocvec(envelope).expect("an envelope is plain data");
        if views.later_bytes + bytes.len() > Views::MOST_BYTES {
            self.observer.dropped.inc();
            tracing::error!(%from, "too much of a view that has not begun here; dropped");
            return true;
        }
        views.later_bytes += bytes.len();
        views.later.push_back((from, sequence, bytes));
        true
    }

    /// Tells the others that this node is there and holds nothing. To be called once.
    pub(crate) fn open(&self) {
        let epoch = self.epoch();
        for to in self.others() {
            self.announce(to, epoch, &[]);
        }
        self.post.flush();
    }

    /// Waits until a view has begun here.
    pub(crate) async fn begun(&self) {
        loop {
            let begins = self.begins.notified();
            if self.view().has_begun() {
                return;
            }
            begins.await;
        }
    }

    /// The members that have not been heard of in this view.
    pub(crate) fn awaited(&self) -> Vec<NodeId> {
        let views = self.view();
        let missing = views.gathering.as_ref().map(|gathering| &gathering.missing);
        missing.into_iter().flatten().copied().collect()
    }

    /// A new view has been decided.
    pub(crate) fn install(self: &Arc<Self>, view: &View) {
        if view.nodes() != self.nodes {
            tracing::error!(epoch = view.epoch, "a view of another size needs a restart; ignored");
            return;
        }
        let mut views = self.view_mut();
        if view.epoch <= views.epoch {
            return;
        }
        views.epoch = view.epoch;
        let missing = self.others().collect();
        views.gathering = Some(Gathering { missing, carried: Vec::new() });
        let held = self.stop_instances();
        for to in self.others() {
            self.announce(to, view.epoch, &held);
        }
        let begins = self.nodes == 1;
        if begins {
            views.gathering = None;
        }
        drop(views);
        self.post.flush();
        self.catch_up();
        if begins {
            self.began(view.epoch);
        }
    }

    /// Ends the algorithms of the old view; returns what is held here.
    fn stop_instances(&self) -> Vec<Arc<str>> {
        let mut held = Vec::new();
        for cell in self.cells() {
            let mut state = cell.state();
            state.instance = None;
            state.parked = None;
            state.phase = Phase::Idle;
            state.handed = 0;
            state.carried = state.holder.as_ref().map(|_| self.me);
            if state.carried.is_some() {
                held.push(Arc::clone(&cell.name));
            }
        }
        held
    }

    fn announce(&self, to: NodeId, epoch: u64, held: &[Arc<str>]) {
        let chunks = held.chunks(Payload::MOST_LISTED);
        let (mut left, empty) = (chunks.len(), chunks.len() == 0);
        let send = |held: Vec<&str>, last| {
            self.post.send(to, &Envelope { epoch, payload: Payload::Announce { held, last } });
        };
        for chunk in chunks {
            left -= 1;
            send(chunk.iter().map(|name| &**name).collect(), left == 0);
        }
        if empty {
            send(Vec::new(), true);
        }
    }

    /// `from` holds these from before.
    fn announced(self: &Arc<Self>, from: NodeId, held: &[&str], last: bool) {
        let mut views = self.view_mut();
        let epoch = views.epoch;
        let Some(gathering) = &mut views.gathering else { return };
        if !gathering.missing.contains(&from) {
            return;
        }
        gathering.carried.extend(held.iter().map(|&name| (name.to_string(), from)));
        if !last {
            return;
        }
        gathering.missing.remove(&from);
        if !gathering.missing.is_empty() {
            return;
        }
        for (name, holder) in std::mem::take(&mut gathering.carried) {
            match self.members_cell(&name) {
                Ok(cell) => cell.state().carried = Some(holder),
                Err(error) => tracing::error!(%error, "a held lock that was announced"),
            }
        }
        views.gathering = None;
        drop(views);
        self.began(epoch);
        self.catch_up();
    }

    /// The view has begun here: whoever waits is asked for again, in the old order.
    fn began(self: &Arc<Self>, epoch: u64) {
        tracing::info!(epoch, "the view begins");
        self.begins.notify_waiters();
        self.observer.tell(|| What::View { epoch });
        for cell in self.cells() {
            self.act(&cell, |act| act.serve());
        }
    }

    /// Takes what has been kept, as far as its time has come.
    fn catch_up(self: &Arc<Self>) {
        let kept = {
            let mut views = self.view_mut();
            views.later_bytes = 0;
            std::mem::take(&mut views.later)
        };
        for (from, sequence, bytes) in kept {
            let envelope = postcard::from_bytes(&bytes).expect("it was encoded here");
            self.judge(from, sequence, &envelope);
        }
        self.post.flush();
    }
}
