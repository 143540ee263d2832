//! Requests of clients that are passed on to the member where their session is, and those that other
//! members pass on to this one. Members trust each other as to who the client is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::future::BoxFuture;
use rustc_hash::FxHashMap;
use skeptron_member::MemberId;
use skeptron_member::wire::Relay;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::Shell;
use crate::UNPOISONED;
use crate::env;
use crate::supervise::supervised;

/// Requests of this node's clients that wait for another member's answer, at most; an acquire that waits is one.
const MOST_OPEN: usize = 1024;
/// Requests of one member that are performed here at once: no fewer than it has.
const MOST_SERVED: usize = MOST_OPEN;
/// How often it is looked whether the member can still be reached.
const LOOK: Duration = Duration::from_millis(250);
/// The longest request that is passed on.
pub(crate) const MOST_REQUEST_BYTES: usize = 16 << 10;
/// The longest answer: it fits into the shortest frame that can be configured.
pub(crate) const MOST_ANSWER_BYTES: usize = 48 << 10;

/// Performs a request that another member has passed on.
pub(crate) type Perform = Box<dyn Fn(Vec<u8>) -> BoxFuture<'static, Vec<u8>> + Send + Sync>;

/// Why a request was not passed on, or not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotRelayed {
    #[error("that life of {0} cannot be reached")]
    Unreachable(MemberId),
    #[error("too many requests wait for answers of other members")]
    Full,
}

/// Requests whose answers are waited for: of whom, and who waits.
type Open = FxHashMap<u64, (MemberId, oneshot::Sender<Vec<u8>>)>;

/// What is passed on, in both directions. It outlives the lives of its node.
pub(crate) struct Relays {
    /// Begins at random: an answer to a former process must not be taken for one to this.
    last: AtomicU64,
    open: Mutex<Open>,
    served: Mutex<FxHashMap<MemberId, FxHashMap<u64, AbortHandle>>>,
    /// None while nobody answers clients here.
    perform: ArcSwapOption<Perform>,
}

impl Default for Relays {
    fn default() -> Self {
        let first = env::random().expect("the system has a source of randomness");
        Relays {
            last: AtomicU64::new(u64::from_le_bytes(first)),
            open: Mutex::default(),
            served: Mutex::default(),
            perform: ArcSwapOption::empty(),
        }
    }
}

impl Relays {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().expect(UNPOISONED)
    }

    fn served(&self) -> MutexGuard<'_, FxHashMap<MemberId, FxHashMap<u64, AbortHandle>>> {
        self.served.lock().expect(UNPOISONED)
    }

    /// From now on this performs what others pass on; with none nobody does.
    pub(crate) fn perform_by(&self, perform: Option<Perform>) {
        self.perform.store(perform.map(Arc::new));
    }

    fn begin(&self, to: MemberId) -> Result<(u64, oneshot::Receiver<Vec<u8>>), NotRelayed> {
        let mut open = self.open();
        if open.len() >= MOST_OPEN {
            return Err(NotRelayed::Full);
        }
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        open.insert(id, (to, sender));
        Ok((id, answer))
    }

    fn answered(&self, from: MemberId, id: u64, answer: &[u8]) {
        let mut open = self.open();
        if open.get(&id).is_some_and(|(to, _)| *to == from)
            && let Some((_, waiting)) = open.remove(&id)
        {
            let _ = waiting.send(answer.to_vec());
        }
    }

    /// A request is performed, or nobody waits for it any more.
    fn end(&self, from: MemberId, id: u64) -> Option<AbortHandle> {
        let mut served = self.served();
        let of_member = served.get_mut(&from)?;
        let ended = of_member.remove(&id);
        if of_member.is_empty() {
            served.remove(&from);
        }
        ended
    }
}

impl Shell {
    /// Whether that life is a member to which there is a link.
    pub(crate) fn reaches(&self, (to, life): (MemberId, u64)) -> bool {
        let view = self.core.view();
        view.member(to).is_some_and(|member| member.incarnation == Some(life))
            && self.links.is_up(to)
    }

    /// Passes a request on to a life of another member, and waits for its answer as long as that can be
    /// reached. Whoever drops it calls the request off.
    pub(crate) async fn pass_on(
        self: &Arc<Self>,
        life: (MemberId, u64),
        request: &[u8],
    ) -> Result<Vec<u8>, NotRelayed> {
        let (to, unreachable) = (life.0, NotRelayed::Unreachable(life.0));
        if !self.reaches(life) || self.links.is_congested(to) {
            return Err(unreachable);
        }
        let (id, mut answer) = self.relays.begin(to)?;
        let waiting = Waiting { shell: self, to, id };
        self.perform(|core, _, effects| core.relay(to, Relay::Request { id, request }, effects));
        loop {
            match env::timeout(LOOK, &mut answer).await {
                Some(Ok(answer)) => {
                    drop(waiting);
                    return if answer.is_empty() { Err(unreachable) } else { Ok(answer) };
                }
                Some(Err(_)) => return Err(unreachable),
                None if !self.reaches(life) => return Err(unreachable),
                None => {}
            }
        }
    }

    /// A member has passed something on, or answers. Called while the core decides.
    pub(super) fn take_relay(self: &Arc<Self>, from: MemberId, relay: Relay<'_>) {
        match relay {
            Relay::Request { id, request } => self.serve_relayed(from, id, request),
            Relay::Answer { id, answer } => self.relays.answered(from, id, answer),
            Relay::Cancel { id } => {
                if let Some(task) = self.relays.end(from, id) {
                    task.abort();
                }
            }
        }
    }

    fn serve_relayed(self: &Arc<Self>, from: MemberId, id: u64, request: &[u8]) {
        let mut served = self.relays.served();
        let of_member = served.entry(from).or_default();
        if of_member.len() >= MOST_SERVED || request.len() > MOST_REQUEST_BYTES {
            // A member that keeps to its own limits does not come here.
            return;
        }
        let perform = self.relays.perform.load_full();
        let (request, relays, shell) =
            (request.to_vec(), Arc::clone(&self.relays), Arc::downgrade(self));
        let serving = async move {
            let answer = match perform {
                Some(perform) => perform(request).await,
                None => Vec::new(),
            };
            relays.end(from, id);
            if let Some(shell) = shell.upgrade() {
                let answer = Relay::Answer { id, answer: &answer };
                shell.perform(|core, _, effects| core.relay(from, answer, effects));
            }
        };
        let observer = Arc::clone(&self.observer);
        // It ends only when this has been noted: the map is locked.
        let task = self.runtime.spawn(supervised(observer, "a request of another node", serving));
        if let Some(former) = of_member.insert(id, task.abort_handle()) {
            former.abort();
        }
    }
}

/// A request that waits for another member's answer.
struct Waiting<'a> {
    shell: &'a Arc<Shell>,
    to: MemberId,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let (to, id) = (self.to, self.id);
        // If it was answered, it is not open any more.
        if self.shell.relays.open().remove(&id).is_some() {
            let cancel = Relay::Cancel { id };
            self.shell.perform(|core, _, effects| core.relay(to, cancel, effects));
        }
    }
}
