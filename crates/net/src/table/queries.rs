//! What the members know of the locks: each knows who holds and waits at itself.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use skeptron_core::NodeId;
use tokio::sync::mpsc;

use super::Table;
use crate::report::{Holder, LockStatus, MessageCount, milliseconds};
use crate::wire::{Envelope, Payload};

type Answers = mpsc::Sender<(NodeId, Vec<LockStatus>)>;

/// The questions that are open.
#[derive(Debug, Default)]
pub(super) struct Queries {
    last: AtomicU64,
    open: Mutex<HashMap<u64, Answers>>,
}

/// A question; forgotten when dropped.
struct Open<'a> {
    queries: &'a Queries,
    id: u64,
    answers: mpsc::Receiver<(NodeId, Vec<LockStatus>)>,
}

impl Queries {
    fn ask(&self, members: usize) -> Open<'_> {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (sender, answers) = mpsc::channel(members);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        Open { queries: self, id, answers }
    }

    pub(super) fn answer(&self, from: NodeId, id: u64, locks: &[LockStatus]) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = open.get(&id) {
            // A member that answers more than once finds no room.
            let _ = answers.try_send((from, locks.to_vec()));
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.queries.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Table {
    /// How long a member has to answer.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The locks in use at this node, by name.
    pub(crate) fn local_locks(&self, prefix: &str, exact: bool) -> Vec<LockStatus> {
        let cells = if exact { self.known(prefix).into_iter().collect() } else { self.cells() };
        let mut locks: Vec<LockStatus> = cells
            .iter()
            .filter(|cell| cell.name.starts_with(prefix))
            .filter_map(|cell| {
                let state = cell.state();
                let holder = state.holder.as_ref().map(|hold| Holder {
                    fence: hold.fence,
                    held_ms: milliseconds(hold.since.elapsed()),
                    owner: hold.owner.to_string(),
                });
                state.in_use().then(|| LockStatus {
                    name: cell.name.to_string(),
                    algorithm: self.factories[cell.plan].algorithm.to_string(),
                    node: self.me,
                    holder,
                    waiters: u32::try_from(state.waiters.len()).unwrap_or(u32::MAX),
                })
            })
            .collect();
        locks.sort_by(|a, b| a.name.cmp(&b.name));
        locks
    }

    /// The messages of each algorithm here, by kind.
    pub(crate) fn messages(&self) -> Vec<MessageCount> {
        let mut counted: Vec<MessageCount> = Vec::new();
        for factory in &self.factories {
            // Two plans may have one algorithm, and with it one set of counters.
            if counted.iter().any(|count| count.algorithm == factory.algorithm) {
                continue;
            }
            counted.extend(factory.kinds.iter().enumerate().map(|(kind, message)| MessageCount {
                algorithm: factory.algorithm.to_string(),
                message: (*message).to_string(),
                sent: factory.sent[kind].get(),
                received: factory.received[kind].get(),
            }));
        }
        counted
    }

    /// The locks in use at all members, by name and node, and who did not answer.
    pub(crate) async fn all_locks(
        self: &Arc<Self>,
        prefix: &str,
        exact: bool,
    ) -> (Vec<LockStatus>, Vec<NodeId>) {
        let mut missing: BTreeSet<NodeId> = self.others().collect();
        let mut open = self.queries.ask(self.nodes);
        let epoch = self.view().epoch();
        // Whoever is far behind would only be asked more and more; it counts as silent.
        let asked = |to: &NodeId| self.post.is_up(*to) && !self.post.congested();
        let asked: Vec<NodeId> = self.others().filter(asked).collect();
        for &to in &asked {
            let payload = Payload::Query { id: open.id, prefix, exact };
            self.post.send(to, &Envelope { epoch, payload });
        }
        self.post.flush();
        let mut locks = self.local_locks(prefix, exact);
        let deadline = tokio::time::Instant::now() + Self::PATIENCE;
        while missing.iter().any(|node| asked.contains(node) && self.post.is_up(*node)) {
            let Ok(Some((from, theirs))) =
                tokio::time::timeout_at(deadline, open.answers.recv()).await
            else {
                break;
            };
            if missing.remove(&from) {
                locks.extend(theirs);
            }
        }
        locks.sort_by(|a, b| (&a.name, a.node).cmp(&(&b.name, b.node)));
        (locks, missing.into_iter().collect())
    }

    /// A member asks.
    pub(super) fn tell(&self, to: NodeId, id: u64, prefix: &str, exact: bool) {
        let mut locks = self.local_locks(prefix, exact);
        locks.truncate(Payload::MOST_LISTED);
        let epoch = self.view().epoch();
        self.post.send(to, &Envelope { epoch, payload: Payload::Answer { id, locks } });
    }
}
