//! Questions to the other members: who holds and waits for what.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;
use skeptron_member::MemberId;
use skeptron_member::report::LockStatus;
use tokio::sync::mpsc;

use super::Shell;
use crate::env;

/// How long a member has to answer a query.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

impl Shell {
    /// The locks in use at all members, by name and member, and who did not answer.
    pub(crate) async fn all_locks(
        self: &Arc<Self>,
        prefix: &str,
    ) -> (Vec<LockStatus>, Vec<MemberId>) {
        let mut open = self.query(prefix, false);
        let mut locks = self.core.listing(env::now(), prefix, false);
        let all = async {
            while let Some(theirs) = open.next().await {
                locks.extend(theirs)
            }
        };
        // Whoever has not answered by then is told to be silent.
        let _ = env::timeout(ANSWER_WITHIN, all).await;
        locks.sort_by(|a, b| (&a.name, a.node).cmp(&(&b.name, b.node)));
        (locks, open.silent())
    }

    /// Waits for `granted`, but only while no member says that it holds the lock, and no longer than a
    /// member may take to answer.
    pub(crate) async fn unless_held<T>(
        self: &Arc<Self>,
        name: &str,
        granted: impl Future<Output = T>,
    ) -> Option<T> {
        let mut open = self.query(name, true);
        let is_held = |locks: &[LockStatus]| locks.iter().any(|lock| lock.holder.is_some());
        let held_elsewhere = async {
            // It may be held here by somebody else.
            if is_held(&self.core.listing(env::now(), name, true)) {
                return;
            }
            while let Some(theirs) = open.next().await {
                if is_held(&theirs) {
                    return;
                }
            }
            // Nobody holds it: the grant is on its way.
            std::future::pending().await
        };
        let granted_or_held = async {
            tokio::select! {
                biased;
                granted = granted => Some(granted),
                () = held_elsewhere => None,
            }
        };
        env::timeout(ANSWER_WITHIN, granted_or_held).await.flatten()
    }

    fn query(self: &Arc<Self>, prefix: &str, exact: bool) -> Query {
        let me = self.core.id();
        let view = self.core.view();
        let (asked, unreachable): (Vec<MemberId>, Vec<MemberId>) =
            // Whoever is far behind would only be asked more and more; it counts as silent.
            view.ids().filter(|&id| id != me).partition(|&id| self.post.is_up(id) && !self.post.is_congested(id));
        let query = self.queries.open(self, asked.clone(), unreachable);
        self.perform(|core, _, effects| core.query(&asked, query.id, prefix, exact, effects));
        query
    }
}

/// What a member answered.
type Answer = (MemberId, Vec<LockStatus>);

/// The questions to other members that are open.
#[derive(Debug, Default)]
pub(super) struct Queries {
    last: AtomicU64,
    open: Mutex<FxHashMap<u64, mpsc::Sender<Answer>>>,
}

impl Queries {
    fn open(&self, shell: &Arc<Shell>, asked: Vec<MemberId>, unreachable: Vec<MemberId>) -> Query {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (sender, answers) = mpsc::channel(asked.len().max(1));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        Query { shell: Arc::clone(shell), id, asked, unreachable, answers }
    }

    pub(super) fn answer(&self, from: MemberId, id: u64, locks: &[LockStatus]) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = open.get(&id) {
            // A member that answers more than once finds no room.
            let _ = answers.try_send((from, locks.to_vec()));
        }
    }
}

/// A question to other members; forgotten when dropped.
struct Query {
    shell: Arc<Shell>,
    id: u64,
    /// Who has not answered yet.
    asked: Vec<MemberId>,
    unreachable: Vec<MemberId>,
    answers: mpsc::Receiver<Answer>,
}

impl Query {
    /// The next answer; none when everybody has answered who can.
    async fn next(&mut self) -> Option<Vec<LockStatus>> {
        while self.asked.iter().any(|&id| self.shell.post.is_up(id)) {
            let (from, locks) = self.answers.recv().await?;
            if let Some(place) = self.asked.iter().position(|&id| id == from) {
                self.asked.swap_remove(place);
                return Some(locks);
            }
        }
        None
    }

    /// Who has not answered.
    fn silent(&self) -> Vec<MemberId> {
        let mut silent: Vec<_> = self.asked.iter().chain(&self.unreachable).copied().collect();
        silent.sort_unstable();
        silent
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let mut open = self.shell.queries.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.id);
    }
}
