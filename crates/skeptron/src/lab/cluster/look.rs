//! What a cluster is like right now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skeptron_net::report::{
    self, LinkState, ListedLock, LockListing, MemberStatus, MessageCount, Status,
};
use skeptron_net::{MemberId, Node};
use tokio::sync::Mutex;

use super::Live;
use super::control::Shown;
use crate::lab::wire::{
    ClusterLink, ClusterLock, ClusterLocks, ClusterNode, ClusterStatus, ClusterView, LockHolder,
    LockQueue, MemberState, MessageTally, OwnStatus,
};

/// So many locks are listed at most; of the others only the number is told.
const MOST_LISTED: usize = 200;
/// And so many are counted at most.
const MOST_COUNTED: usize = 100_000;
/// What is known is this old at least before somebody looks again.
const PAUSE: Duration = Duration::from_millis(150);
/// What is known is this old at most.
const STALE: Duration = Duration::from_secs(1);
/// Looking takes no more than this part of the time.
const SHARE: u32 = 10;

/// The last look at the locks, which all who watch share.
#[derive(Debug, Default)]
pub(super) struct Look {
    last: Mutex<Option<Arc<Seen>>>,
}

/// The locks at some moment.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) when: Instant,
    /// How long looking took.
    took: Duration,
    /// What moves with every change at the nodes of this process.
    signs: Vec<(u64, u64, u64)>,
    locks: Vec<ClusterLock>,
    total: usize,
    silent: Vec<usize>,
}

impl Seen {
    fn is_fresh(&self, live: &Live) -> bool {
        // Whoever sees one node only must ask the others, and does not do so often.
        let may_last = !live.is_whole() || self.signs == live.signs();
        let pause = if may_last { STALE } else { PAUSE };
        self.when.elapsed() < pause.max(self.took * SHARE)
    }

    /// Whether anything but the passing of time is different.
    pub(super) fn differs(&self, other: &Seen) -> bool {
        let same = |a: &ClusterLock, b: &ClusterLock| {
            let entry = |lock: &ClusterLock| lock.holder.as_ref().map(|h| (h.node, h.fence));
            a.name == b.name && entry(a) == entry(b) && a.waiting == b.waiting
        };
        self.total != other.total
            || self.silent != other.silent
            || self.locks.len() != other.locks.len()
            || !self.locks.iter().zip(&other.locks).all(|(a, b)| same(a, b))
    }

    /// As the page is told, whose time began then.
    pub(super) fn told(&self, live: &Live, began: Instant) -> ClusterLocks {
        ClusterLocks {
            at: since(began, self.when),
            locks: self.locks.clone(),
            total: self.total,
            silent: self.silent.clone(),
            tries: live.tries.as_ref().map(super::Tries::all).unwrap_or_default(),
        }
    }
}

impl Live {
    /// Everything.
    pub(super) async fn view(&self) -> ClusterView {
        let now = Instant::now();
        let first = self.nodes()[0].status();
        ClusterView {
            name: first.cluster,
            algorithm: first.algorithm,
            prefixes: first.prefixes,
            may_try: self.tries.is_some(),
            may_act: self.may_act(),
            status: self.status(now),
            locks: self.locks().await.told(self, now),
        }
    }

    /// Nodes and links now, for a page whose time began then.
    pub(super) fn status(&self, began: Instant) -> ClusterStatus {
        let (nodes, shown) = (self.nodes(), self.shown());
        let looked: Vec<Status> = nodes.iter().map(Node::status).collect();
        let alive = || looked.iter().filter(|status| !shown.killed.contains(&status.node));
        // Whoever is in the latest view knows best who belongs to it; one that stands still knows nothing.
        let awake = alive().filter(|status| !shown.paused.contains(&status.node));
        let best = awake.filter(|status| status.halted.is_none()).max_by_key(|it| it.epoch);
        let members = best.map_or(&[][..], |status| &status.members);
        let elsewhere = members.iter().filter(|it| looked.iter().all(|own| own.node != it.node));
        let mut told: Vec<ClusterNode> = elsewhere.map(far).collect();
        for (place, (node, status)) in nodes.iter().zip(&looked).enumerate() {
            told.push(ClusterNode {
                node: number(status.node),
                address: node.address().to_string(),
                state: state(status, members, &shown),
                own: Some(self.own(place, node, status)),
            });
        }
        told.sort_by_key(|node| node.node);
        let looked: Vec<Status> = alive().cloned().collect();
        let best = best.or(looked.first());
        let voting = best.iter().flat_map(|best| &best.views.voters).filter(|voter| voter.votes);
        let mut voters: Vec<usize> = voting.map(|voter| number(voter.node)).collect();
        voters.sort_unstable();
        ClusterStatus {
            at: since(began, Instant::now()),
            nodes: told,
            links: looked.iter().flat_map(|status| links(status, &looked)).collect(),
            epoch: best.map_or(0, |best| best.epoch),
            members: members.iter().map(|member| number(member.node)).collect(),
            leader: best.and_then(|best| best.views.leader).map(number),
            voters,
        }
    }

    fn own(&self, place: usize, node: &Node, status: &Status) -> OwnStatus {
        let apis = self.apis.get().and_then(|apis| apis.get(place));
        OwnStatus {
            api: apis.cloned().unwrap_or_default(),
            epoch: status.epoch,
            lease: status.lease_left_ms,
            up: status.up_ms,
            leaving: status.leaving,
            halted: status.halted.clone(),
            awaited: status.awaited.iter().copied().map(number).collect(),
            held: status.held_locks,
            waiters: status.waiters,
            entries: node.observer().entries.get(),
            messages: node.messages().into_iter().map(tally).collect(),
        }
    }

    fn is_whole(&self) -> bool {
        self.tries.is_some()
    }

    /// What moves with every change at the nodes of this process, nearly always.
    fn signs(&self) -> Vec<(u64, u64, u64)> {
        let signs = |node: &Node| {
            let Status { held_locks, waiters, .. } = node.status();
            (node.observer().entries.get(), held_locks, waiters)
        };
        self.nodes().iter().map(signs).collect()
    }

    /// The locks, as they are now or were a moment ago.
    pub(super) async fn locks(&self) -> Arc<Seen> {
        let mut last = self.look.last.lock().await;
        if let Some(seen) = last.as_ref().filter(|seen| seen.is_fresh(self)) {
            return Arc::clone(seen);
        }
        let seen = Arc::new(self.look().await);
        *last = Some(Arc::clone(&seen));
        seen
    }

    async fn look(&self) -> Seen {
        let (when, signs) = (Instant::now(), self.signs());
        let nodes = self.nodes();
        let listing = if self.is_whole() {
            let Shown { killed, paused, .. } = self.shown();
            let answers = |id: MemberId| !killed.contains(&id) && !paused.contains(&id);
            let answering = nodes.iter().filter(|node| answers(node.id()));
            let known = answering.flat_map(|node| node.local_locks("")).collect();
            LockListing::new(known, paused.into_iter().collect(), false, MOST_COUNTED)
        } else {
            nodes[0].locks("", "", MOST_COUNTED).await
        };
        let total = listing.locks.len();
        let locks = listing.locks.into_iter().take(MOST_LISTED).map(line).collect();
        let silent = listing.silent.into_iter().map(number).collect();
        Seen { when, took: when.elapsed(), signs, locks, total, silent }
    }
}

/// A member in another process.
fn far(member: &MemberStatus) -> ClusterNode {
    let (node, address) = (number(member.node), member.address.clone());
    ClusterNode { node, address, state: MemberState::Member, own: None }
}

fn state(status: &Status, members: &[MemberStatus], shown: &Shown) -> MemberState {
    if shown.killed.contains(&status.node) {
        MemberState::Killed
    } else if shown.paused.contains(&status.node) {
        MemberState::Paused
    } else if shown.is_apart(status.node) {
        MemberState::Cut
    } else if members.iter().any(|member| member.node == status.node) && status.halted.is_none() {
        MemberState::Member
    } else if status.views.kind == "fixed" {
        MemberState::Halted
    } else {
        MemberState::Entering
    }
}

fn line(lock: ListedLock) -> ClusterLock {
    let holder = lock.holder.map(|holder| LockHolder {
        node: number(holder.node),
        fence: holder.fence,
        held: holder.held_ms,
        owner: holder.owner,
    });
    let queue =
        |queue: report::LockQueue| LockQueue { node: number(queue.node), waiters: queue.waiters };
    let waiting = lock.waiting.into_iter().map(queue).collect();
    ClusterLock { name: lock.name, algorithm: lock.algorithm, holder, waiting }
}

/// The links of one node, each link once: as the end sees it that can be looked into, and as the first
/// of two such ends unless only the other knows of trouble.
fn links(status: &Status, looked: &[Status]) -> Vec<ClusterLink> {
    let view = |of: &Status, to: MemberId| of.members.iter().find(|m| m.node == to).cloned();
    let link = |member: &MemberStatus| {
        let other = looked.iter().find(|other| other.node == member.node);
        if member.link == LinkState::Own || (other.is_some() && member.node < status.node) {
            return None;
        }
        let theirs = other.and_then(|other| view(other, status.node));
        let worse = theirs.filter(|theirs| theirs.link == LinkState::Down);
        let (from, to) = (number(status.node), number(member.node));
        Some(match worse {
            Some(theirs) => told(to, from, &theirs),
            None => told(from, to, member),
        })
    };
    status.members.iter().filter_map(link).collect()
}

fn told(from: usize, to: usize, member: &MemberStatus) -> ClusterLink {
    ClusterLink {
        from,
        to,
        up: member.link == LinkState::Up,
        trouble: member.trouble.clone(),
        connects: member.connects,
        unacknowledged: member.unacknowledged,
    }
}

fn tally(count: MessageCount) -> MessageTally {
    let MessageCount { algorithm, message: label, sent, received } = count;
    MessageTally { algorithm, label, sent, received }
}

/// As people count.
pub(super) fn number(node: MemberId) -> usize {
    node.place() + 1
}

/// Milliseconds from `began` to `when`, which may lie before it.
pub(super) fn since(began: Instant, when: Instant) -> f64 {
    let (after, before) =
        (when.saturating_duration_since(began), began.saturating_duration_since(when));
    (after.as_secs_f64() - before.as_secs_f64()) * 1e3
}
