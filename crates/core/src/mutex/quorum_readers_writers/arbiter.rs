//! The half of a node that gives permission: several readers or one writer, the oldest request first.

use serde::{Deserialize, Serialize};

use super::Flaw;
use crate::time::Timestamp;
use crate::{Counter, NodeSet, Refused};

/// A request, and whether it is to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Ask {
    pub(super) request: Timestamp,
    pub(super) writes: bool,
}

/// Who has a grant of this arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Grant {
    ask: Ask,
    /// Whether it was asked for back.
    inquired: bool,
}

/// The arbiter of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Arbiter {
    flaw: Flaw,
    /// Who may ask.
    askers: NodeSet,
    /// Who may only read.
    readers: NodeSet,
    /// Readers, or a writer; by request.
    granted: Vec<Grant>,
    /// The oldest request first.
    queue: Vec<Ask>,
}

impl Arbiter {
    pub(super) fn new(flaw: Flaw, askers: NodeSet, readers: NodeSet) -> Self {
        Arbiter { flaw, askers, readers, granted: Vec::new(), queue: Vec::new() }
    }

    /// Shows the stamps, for [`crate::Protocol::counters`].
    pub(super) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.granted
            .iter_mut()
            .for_each(|grant| each(Counter::Clock, &mut grant.ask.request.clock));
        self.queue.iter_mut().for_each(|ask| each(Counter::Clock, &mut ask.request.clock));
    }

    /// Whether a correct peer can have asked this. It asks again only once it was granted and has left, so a
    /// REQUEST that overtakes its sender's RELEASE is later than the grant.
    pub(super) fn may_ask(&self, request: Timestamp, writes: bool) -> Result<(), Refused> {
        let is_of = |ask: &Ask| ask.request.node == request.node;
        let mut grants = self.granted.iter().filter(|grant| is_of(&grant.ask));
        if !self.askers.contains(request.node) {
            Err(Refused::Unexpected("a request from a node that has other arbiters"))
        } else if writes == self.readers.contains(request.node) {
            Err(Refused::Unexpected("a reader that writes, or a writer that reads"))
        } else if self.queue.iter().any(is_of) {
            Err(Refused::Unexpected("a request while one of that node is queued"))
        } else if grants.any(|grant| grant.ask.request.clock >= request.clock) {
            Err(Refused::Unexpected("a request no later than one that is granted"))
        } else {
            Ok(())
        }
    }

    fn grant_of(&self, request: Timestamp) -> Option<&Grant> {
        self.granted.iter().find(|grant| grant.ask.request == request)
    }

    /// Whether a correct peer can have left.
    pub(super) fn may_release(&self, request: Timestamp) -> Result<(), Refused> {
        match self.grant_of(request) {
            Some(_) => Ok(()),
            None => Err(Refused::Unexpected("a RELEASE of a request that is not granted")),
        }
    }

    /// Whether a correct peer can have given its grant back: it was asked to.
    pub(super) fn may_relinquish(&self, request: Timestamp) -> Result<(), Refused> {
        match self.grant_of(request) {
            Some(grant) if grant.inquired => Ok(()),
            _ => Err(Refused::Unexpected("a RELINQUISH that was not asked for")),
        }
    }

    pub(super) fn queue(&mut self, ask: Ask) {
        let place = self.queue.partition_point(|other| self.is_before(other, &ask));
        self.queue.insert(place, ask);
    }

    pub(super) fn relinquished(&mut self, request: Timestamp) {
        if let Some(ask) = self.released(request) {
            self.queue(ask);
        }
    }

    pub(super) fn released(&mut self, request: Timestamp) -> Option<Ask> {
        let place = self.granted.iter().position(|grant| grant.ask.request == request)?;
        Some(self.granted.remove(place).ask)
    }

    /// Whether one request comes before another one: it is older.
    fn is_before(&self, one: &Ask, other: &Ask) -> bool {
        match self.flaw {
            Flaw::ReadersFirst => (one.writes, one) < (other.writes, other),
            _ => one < other,
        }
    }

    /// Whether a request can have a grant beside those that have one.
    fn fits(&self, ask: &Ask) -> bool {
        self.granted.is_empty() || !ask.writes && self.granted.iter().all(|g| !g.ask.writes)
    }

    /// Grants the oldest queued request, if it fits.
    pub(super) fn grant_next(&mut self) -> Option<Timestamp> {
        self.queue.first().filter(|ask| self.fits(ask))?;
        let ask = self.queue.remove(0);
        let place = self.granted.partition_point(|grant| grant.ask < ask);
        self.granted.insert(place, Grant { ask, inquired: false });
        Some(ask.request)
    }

    /// Of those who have a grant and are younger than the oldest queued request, the next one to be asked.
    pub(super) fn inquire_next(&mut self) -> Option<Timestamp> {
        let oldest = *self.queue.first()?;
        if self.flaw == Flaw::NoInquiry {
            return None;
        }
        let is_asked = |grant: &Grant| !grant.inquired && self.is_before(&oldest, &grant.ask);
        let place = self.granted.iter().position(is_asked)?;
        self.granted[place].inquired = true;
        Some(self.granted[place].ask.request)
    }
}
