//! Waiting requests in the order of their timestamps.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::{Counter, NodeId};

/// Requests ordered by `(clock, id)`. A sorted ring buffer: new requests are nearly always the
/// latest and served ones the oldest, so both ends are cheap, and a warm queue does not allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct RequestQueue(VecDeque<Timestamp>);

impl RequestQueue {
    /// The oldest request.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        self.0.front().copied()
    }

    /// Adds a request.
    pub(crate) fn insert(&mut self, request: Timestamp) {
        let place = self.0.partition_point(|&other| other < request);
        self.0.insert(place, request);
    }

    /// Adds a request to a queue that is ordered by id, and by clock only within one node: a mistake.
    pub(crate) fn insert_by_id(&mut self, request: Timestamp) {
        let key = |request: &Timestamp| (request.node, request.clock);
        let place = self.0.partition_point(|other| key(other) < key(&request));
        self.0.insert(place, request);
    }

    /// Takes the oldest request out.
    pub(crate) fn pop(&mut self) -> Option<Timestamp> {
        self.0.pop_front()
    }

    /// Takes all requests out.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes the request of `node`; false if there is none.
    pub(crate) fn remove_of(&mut self, node: NodeId) -> bool {
        let place = self.0.iter().position(|request| request.node == node);
        place.is_some_and(|place| self.0.remove(place).is_some())
    }

    /// Removes that request; false if it is not here.
    pub(crate) fn remove(&mut self, request: Timestamp) -> bool {
        let place = self.0.iter().position(|&other| other == request);
        place.is_some_and(|place| self.0.remove(place).is_some())
    }

    /// Whether that request is here.
    pub(crate) fn has(&self, request: Timestamp) -> bool {
        self.0.contains(&request)
    }

    /// All requests, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Timestamp> + Clone {
        self.0.iter().copied()
    }

    /// Shows the stamps, for [`crate::Protocol::counters`].
    pub(crate) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.0.iter_mut().for_each(|request| each(Counter::Clock, &mut request.clock));
    }

    /// Whether `node` has a request here.
    pub(crate) fn has_of(&self, node: NodeId) -> bool {
        self.0.iter().any(|request| request.node == node)
    }
}
