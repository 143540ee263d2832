//! The half of a node that gives permission: one permission, which may pass from holder to holder without
//! coming back.

use serde::{Deserialize, Serialize};

use super::Flaw;
use crate::mutex::queue::RequestQueue;
use crate::time::Timestamp;
use crate::{Counter, NodeId, NodeSet, Refused};

/// The arbiter of a node. Free means that its queue is empty, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Arbiter {
    flaw: Flaw,
    me: NodeId,
    /// Who may ask: every `i` with this node in its quorum.
    askers: NodeSet,
    /// Whose request has the permission, the paper's `lock`, as far as is known here: the holder may have
    /// passed it on already.
    lock: Option<Timestamp>,
    /// Who waits, the paper's `req_queue`. The holder was inquired iff the oldest is older than the lock.
    queue: RequestQueue,
    /// RELEASEs of requests to which the permission was passed, which came before the RELEASE that says so.
    early: Vec<Exit>,
}

/// What a RELEASE says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Exit {
    /// The request that has left the section.
    request: Timestamp,
    /// To which request it passed the permission.
    next: Option<Timestamp>,
}

/// What an arbiter says about a request, to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    /// You have the permission.
    Reply { to: Timestamp, next: Option<Timestamp> },
    /// Others come first.
    Fail { to: Timestamp },
    /// An older request came, can you still wait? And the next is `next`, if it needs a TRANSFER.
    Inquire { to: Timestamp, next: Option<Timestamp> },
    /// Pass the permission on to `next`.
    Transfer { to: Timestamp, next: Timestamp },
}

impl Arbiter {
    pub(super) fn new(flaw: Flaw, me: NodeId, askers: NodeSet) -> Self {
        let queue = RequestQueue::default();
        Arbiter { flaw, me, askers, lock: None, queue, early: Vec::new() }
    }

    /// Shows the stamps, for [`crate::Protocol::counters`].
    pub(super) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        let early =
            self.early.iter_mut().flat_map(|exit| [Some(&mut exit.request), exit.next.as_mut()]);
        for request in self.lock.iter_mut().chain(early.flatten()) {
            each(Counter::Clock, &mut request.clock);
        }
        self.queue.counters(each);
    }

    /// Whether a correct peer can have asked this. It asks again once it has left; until the RELEASEs are
    /// here that say so, its last request is the lock or still queued.
    pub(super) fn may_ask(&self, request: Timestamp) -> Result<(), Refused> {
        let known = self.queue.iter().chain(self.lock);
        let mut of_node = known.filter(|known| known.node == request.node);
        if !self.askers.contains(request.node) {
            Err(Refused::Unexpected("a REQUEST from a node that has other arbiters"))
        } else if of_node.clone().any(|known| known.clock >= request.clock) {
            Err(Refused::Unexpected("a REQUEST no later than one that is known"))
        } else if of_node.nth(1).is_some() {
            Err(Refused::Unexpected("a REQUEST while two of that node are known"))
        } else {
            Ok(())
        }
    }

    /// Whether a correct peer can have left. The permission was passed to it if it is not the lock.
    pub(super) fn may_release(&self, request: Timestamp) -> Result<(), Refused> {
        let is_early = self.queue.has(request) && !self.is_early(request);
        if self.lock == Some(request) || is_early {
            Ok(())
        } else {
            Err(Refused::Unexpected("a RELEASE of a request that cannot have had the permission"))
        }
    }

    /// Whether a correct peer can have given the permission back: it was inquired, so it is the lock.
    pub(super) fn may_yield(&self, request: Timestamp) -> Result<(), Refused> {
        if self.lock != Some(request) {
            Err(Refused::Unexpected("a YIELD of a request that is not the lock"))
        } else if self.queue.oldest().is_none_or(|oldest| request < oldest) {
            Err(Refused::Unexpected("a YIELD that was not asked for"))
        } else {
            Ok(())
        }
    }

    fn is_early(&self, request: Timestamp) -> bool {
        self.early.iter().any(|exit| exit.request == request)
    }

    /// A REQUEST r. Free: REPLY. Else queue it. FAIL to r's node, unless r is older than the lock and than all
    /// queued; if it is the oldest queued, the holder learns that it is next, and the oldest until now gets
    /// FAIL if it was told nothing yet.
    pub(super) fn request(&mut self, r: Timestamp) -> [Option<Say>; 2] {
        let oldest = self.queue.oldest();
        self.queue.insert(r);
        let Some(lock) = self.lock else { return [self.grant(), None] };
        if oldest.is_some_and(|oldest| oldest < r) {
            return [Some(Say::Fail { to: r }), None];
        }
        // Whoever is older than the lock was told nothing when it came; the holder was inquired for it.
        let hopeful = oldest.filter(|&oldest| oldest < lock);
        let fails = if lock < r { Some(r) } else { hopeful };
        let inquires = r < lock && hopeful.is_none();
        [fails.map(|to| Say::Fail { to }), self.announce(lock, inquires)]
    }

    /// Tells the holder who is next.
    fn announce(&self, lock: Timestamp, inquires: bool) -> Option<Say> {
        match self.next(lock) {
            next if inquires => Some(Say::Inquire { to: lock, next }),
            next => next.map(|next| Say::Transfer { to: lock, next }),
        }
    }

    /// To whom `holder` shall pass the permission. Where this node itself holds it or is next, the RELEASE alone
    /// takes no longer than passing on.
    fn next(&self, holder: Timestamp) -> Option<Timestamp> {
        self.queue.oldest().filter(|oldest| oldest.node != self.me && holder.node != self.me)
    }

    /// Gives the permission to the oldest in the queue.
    fn grant(&mut self) -> Option<Say> {
        self.lock = self.queue.pop();
        self.lock.map(|to| Say::Reply { to, next: self.next(to) })
    }

    /// YIELD: the lock goes back into the queue; REPLY to the oldest.
    pub(super) fn yielded(&mut self) -> Option<Say> {
        if let Some(lock) = self.lock.take() {
            self.queue.insert(lock);
        }
        self.grant()
    }

    /// RELEASE: the permission is with the request to which it was passed, or back here. One that comes early
    /// waits for the RELEASE of the holder before.
    pub(super) fn released(&mut self, request: Timestamp, next: Option<Timestamp>) -> Option<Say> {
        if self.lock != Some(request) {
            if self.flaw != Flaw::DropsEarly {
                let place = self.early.partition_point(|exit| exit.request < request);
                self.early.insert(place, Exit { request, next });
            }
            return None;
        }
        let mut passed = next;
        loop {
            // A request that is not queued was served before the permission came, and ignored it.
            let Some(lock) = passed.filter(|&next| self.queue.remove(next)) else {
                return self.grant();
            };
            self.lock = Some(lock);
            let Some(place) = self.early.iter().position(|exit| exit.request == lock) else {
                let is_older = self.queue.oldest().is_some_and(|oldest| oldest < lock);
                return self.announce(lock, is_older && self.flaw != Flaw::NoInquiryAfter);
            };
            passed = self.early.remove(place).next;
        }
    }
}
