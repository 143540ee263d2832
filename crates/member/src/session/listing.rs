//! What a member tells of its sessions.

use std::collections::BTreeMap;

use super::{Session, SessionHandle, Sessions};
use crate::MemberId;
use crate::clock::MonoTime;
use crate::report::{SessionSummary, milliseconds};

/// Of a session with more, only so many names of each kind are told.
const MOST_NAMES: usize = 100;

impl Sessions {
    /// The first sessions after that handle, by handle, and whether there are more.
    pub(crate) fn listing(
        &self,
        now: MonoTime,
        node: MemberId,
        after: u64,
        most: usize,
    ) -> (Vec<SessionSummary>, bool) {
        let mut first = BTreeMap::new();
        let mut more = false;
        for (id, session) in &self.read().by_id {
            let handle = id.handle();
            if handle.0 > after {
                first.insert(handle, session.clone());
            }
            if first.len() > most {
                first.pop_last();
                more = true;
            }
        }
        let told = first.into_iter().map(|(handle, it)| it.summary(now, node, handle));
        (told.collect(), more)
    }
}

impl Session {
    fn summary(&self, now: MonoTime, node: MemberId, session: SessionHandle) -> SessionSummary {
        let state = self.state();
        let (mut held, holds) = (state.listed(), state.listed().len());
        held.truncate(MOST_NAMES);
        let waiting = state.waits.keys().map(|claim| claim.lock.clone());
        SessionSummary {
            session,
            node,
            owner: self.owner.clone(),
            ttl_ms: milliseconds(self.ttl),
            heard_ms: milliseconds(now.since(state.heard)),
            moving: state.arriving.is_some(),
            held,
            holds: holds as u64,
            waiting: waiting.take(MOST_NAMES).collect(),
            waits: state.waits.len() as u64,
            waited_ms: state
                .waits
                .values()
                .map(|wait| milliseconds(now.since(wait.since)))
                .min()
                .unwrap_or(0),
        }
    }
}
