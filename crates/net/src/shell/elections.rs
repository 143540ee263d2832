//! Observers of elections at this node, and sessions that lead.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skeptron_member::election::{Leadership, Observed, Seen};
use skeptron_member::session::{Claim, SessionError, SessionId};
use skeptron_member::{Fence, LockError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{SessionAcquire, Shell};

/// How many changes an observer may be behind before it is told that it has missed some.
const MOST_BEHIND: usize = 32;

/// Where observers are told, by election.
#[derive(Debug, Default)]
pub(super) struct Observers {
    by_name: Mutex<BTreeMap<String, broadcast::Sender<(u64, Leadership)>>>,
}

impl Observers {
    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, broadcast::Sender<(u64, Leadership)>>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, name: &str) -> broadcast::Receiver<(u64, Leadership)> {
        let mut by_name = self.by_name();
        let sender = by_name.entry(name.to_string());
        sender.or_insert_with(|| broadcast::Sender::new(MOST_BEHIND)).subscribe()
    }

    pub(super) fn tell(&self, name: &str, round: u64, told: &Leadership) {
        if let Some(sender) = self.by_name().get(name) {
            // Whoever is just going does not listen any more.
            let _ = sender.send((round, told.clone()));
        }
    }

    /// Nobody is told anything any more.
    pub(super) fn end(&self) {
        self.by_name().clear();
    }

    fn tidy(&self, name: &str) {
        let mut by_name = self.by_name();
        if by_name.get(name).is_some_and(|sender| sender.receiver_count() == 0) {
            by_name.remove(name);
        }
    }
}

impl Shell {
    /// Observes an election; the observer has seen a leader of the term `after` elsewhere.
    pub(crate) fn observe_election(
        self: &Arc<Self>,
        name: &str,
        after: Option<Fence>,
    ) -> Result<Observation, LockError> {
        // Before the core is asked: what it tells from then on must not be missed.
        let told = self.observers.listen(name);
        let begun = self.perform(|core, now, effects| core.observe(now, name, after, effects));
        let Observed { told: first, round } = begun.inspect_err(|_| self.observers.tidy(name))?;
        let (first, seen) = (first.map(|first| (u64::MAX, first)), Seen::after(after, round));
        let (shell, name) = (Arc::clone(self), name.to_string());
        Ok(Observation { shell, name, first, told: Some(told), seen, has_missed: false })
    }

    /// A session wants to lead.
    pub(crate) fn campaign(
        self: &Arc<Self>,
        id: SessionId,
        claim: Claim,
        value: &str,
    ) -> Result<SessionAcquire, SessionError> {
        self.session_begin(id, claim.lock.clone(), |core, now, who, effects| {
            core.campaign(now, id, (claim, value), who, effects)
        })
    }

    /// A leader changes its value. Returns the version of the value.
    pub(crate) fn proclaim(
        self: &Arc<Self>,
        id: SessionId,
        entry: (&str, Fence),
        value: (Option<u64>, &str),
    ) -> Result<u64, SessionError> {
        self.perform(|core, now, effects| core.proclaim(now, id, entry, value, effects))
    }
}

/// One observer of an election; ends when dropped.
#[derive(Debug)]
pub(crate) struct Observation {
    shell: Arc<Shell>,
    name: String,
    first: Option<(u64, Leadership)>,
    /// None only while it is dropped.
    told: Option<broadcast::Receiver<(u64, Leadership)>>,
    seen: Seen,
    has_missed: bool,
}

impl Observation {
    /// The leader at first, then the next change; none when this life of the node is over.
    pub(crate) async fn next(&mut self) -> Option<Leadership> {
        loop {
            let (round, mut told) = match self.first.take() {
                Some(first) => first,
                None => match self.told.as_mut()?.recv().await {
                    Ok(told) => told,
                    Err(RecvError::Lagged(_)) => {
                        self.has_missed = true;
                        continue;
                    }
                    Err(RecvError::Closed) => return None,
                },
            };
            told.missed |= self.has_missed;
            if let Some(news) = self.seen.news_of(round, told) {
                self.has_missed = false;
                return Some(news);
            }
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let name = &self.name;
        self.shell.perform(|core, now, effects| core.unobserve(now, name, effects));
        self.told = None;
        self.shell.observers.tidy(name);
    }
}
