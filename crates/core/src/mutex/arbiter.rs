//! The half of a quorum node that gives permission (spec 2.5 and 2.6): one current grant, the rest
//! waits in a queue.

use serde::{Deserialize, Serialize};

use super::permission::{Flaw, Word};
use super::queue::RequestQueue;
use crate::time::Timestamp;
use crate::{Counter, NodeId, NodeSet, Refused};

/// The arbiter of a node. Free means that its queue is empty: whoever frees it goes on with
/// [`Self::grant_next`] until nothing comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Arbiter {
    flaw: Flaw,
    /// Who may ask: every `i` with this node in `R_i`.
    askers: NodeSet,
    /// `St`: whose grants come back with a RELEASE.
    status: NodeSet,
    /// The current grant, the papers' lock.
    grant: Option<Timestamp>,
    /// Who waits. Whether the current grant was inquired about needs no flag: it was iff a queued
    /// request is older, since the grant was the oldest when given and nothing leaves the queue
    /// before it comes back.
    queue: RequestQueue,
}

impl Arbiter {
    pub(super) fn new(flaw: Flaw, askers: NodeSet, status: NodeSet) -> Self {
        Arbiter { flaw, askers, status, grant: None, queue: RequestQueue::default() }
    }

    /// Whether one request is older than another one.
    fn is_older(&self, a: Timestamp, b: Timestamp) -> bool {
        match self.flaw {
            Flaw::IdFirst => (a.node, a.clock) < (b.node, b.clock),
            _ => a < b,
        }
    }

    fn queue(&mut self, request: Timestamp) {
        match self.flaw {
            Flaw::IdFirst => self.queue.insert_by_id(request),
            _ => self.queue.insert(request),
        }
    }

    /// Shows the stamps, for [`crate::Protocol::counters`].
    pub(super) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        if let Some(grant) = &mut self.grant {
            each(Counter::Clock, &mut grant.clock);
        }
        self.queue.counters(each);
    }

    /// Whether a correct peer can have asked this. It asks again only once it was granted, so it
    /// queues one request, which a REQUEST that overtakes its sender's RELEASE adds to the grant.
    pub(super) fn may_ask(&self, request: Timestamp) -> Result<(), Refused> {
        if !self.askers.contains(request.node) {
            Err(Refused::Unexpected("a REQUEST from a node that has other arbiters"))
        } else if self.queue.has_of(request.node) {
            Err(Refused::Unexpected("a REQUEST while one of that node is queued"))
        } else if self.grant.is_some_and(|c| c.node == request.node && c.clock >= request.clock) {
            Err(Refused::Unexpected("a REQUEST no later than the one that is granted"))
        } else {
            Ok(())
        }
    }

    /// Whether a correct peer can have given this back. It has the LOCKED by then, and no later
    /// grant is given before: in any order of delivery it is the current one.
    pub(super) fn may_return(&self, word: Word, request: Timestamp) -> Result<(), Refused> {
        let is_granted = self.grant.is_some_and(|grant| match self.flaw {
            Flaw::Untagged => grant.node == request.node,
            _ => grant == request,
        });
        if !is_granted {
            Err(Refused::Unexpected("a request comes back that is not the one granted"))
        } else if word == Word::Relinquish
            && self.flaw != Flaw::Untagged
            && self.queue.oldest().is_none_or(|o| self.is_older(request, o))
        {
            Err(Refused::Unexpected("a RELINQUISH that was not asked for"))
        } else {
            Ok(())
        }
    }

    /// Busy with c: queue r; if r is older than c and than every other queued request, INQUIRE to
    /// c's node, once per grant, and FAILED to the request that was the oldest queued one until
    /// now; else FAILED to r's node. Returns what to say about which request.
    pub(super) fn request(&mut self, r: Timestamp) -> Option<(Word, Timestamp)> {
        let oldest = self.queue.oldest();
        self.queue(r);
        let c = self.grant?;
        if self.flaw == Flaw::Naive {
            return None;
        }
        if self.is_older(c, r) || oldest.is_some_and(|o| self.is_older(o, r)) {
            return Some((Word::Failed, r));
        }
        match oldest {
            // It came after c was granted, or it would have been granted first; so it was the reason
            // for the INQUIRE and was told nothing itself. One younger than c needs no word: it was
            // told when it came or has relinquished, since of those who wait only the oldest may not
            // know, and that one is granted at the next change.
            Some(o) if self.is_older(o, c) => {
                (self.flaw != Flaw::Published).then_some((Word::Failed, o))
            }
            _ => Some((Word::Inquire, c)),
        }
    }

    /// RELINQUISH: c goes back into the queue.
    pub(super) fn relinquished(&mut self) {
        if let Some(c) = self.grant.take() {
            self.queue(c);
        }
    }

    /// RELEASE: remove it.
    pub(super) fn released(&mut self) {
        if self.flaw != Flaw::NeverFree || self.queue.oldest().is_some() {
            self.grant = None;
        }
    }

    /// A node has crashed: what it was granted is free again. What it has queued stays until the present grant comes
    /// back, for that may have been inquired about on its account.
    pub(super) fn forget(&mut self, crashed: NodeId) {
        self.askers.remove(crashed);
        if self.grant.is_some_and(|grant| grant.node == crashed) {
            self.grant = None;
        }
    }

    /// Free: grant the oldest queued request; busy only if that requester is in St.
    pub(super) fn grant_next(&mut self) -> Option<Timestamp> {
        if self.grant.is_some() {
            return None;
        }
        let oldest = loop {
            let oldest = self.queue.pop()?;
            if self.askers.contains(oldest.node) {
                break oldest;
            }
        };
        if self.status.contains(oldest.node) || self.flaw == Flaw::AlwaysBusy {
            self.grant = Some(oldest);
        }
        Some(oldest)
    }
}
