//! Locks that are taken and given back from the page.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use skeptron_net::{Fence, Guard, LockError, MemberId, Node};
use thiserror::Error;
use tokio::sync::oneshot;

use super::look::number;
use crate::lab::wire::{ClusterTry, TryAcquire};

/// So much may be held and waited for at a time.
const MOST: usize = 100;
/// Nobody holds a lock longer from the page.
const LONGEST_HOLD: Duration = Duration::from_secs(60);
/// Nobody waits longer from the page.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// What the page calls itself as the owner of a lock.
const OWNER: &str = "the lab";

/// Why a try from the page comes to nothing.
#[derive(Debug, Error)]
pub(super) enum TryError {
    #[error("the page holds and waits for {MOST} locks already; release some first")]
    TooMany,
    #[error("{0} has asked for `{1}` from the page already; release it first")]
    Already(MemberId, String),
    #[error("{0} has not asked for `{1}` from the page; acquire it first")]
    NotTried(MemberId, String),
    #[error("`hold` is a time from 1 to {} ms, not {given}", LONGEST_HOLD.as_millis())]
    Hold { given: u64 },
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Everything that is held or waited for from the page.
#[derive(Debug, Default)]
pub(super) struct Tries {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    tries: BTreeMap<(MemberId, String), Try>,
    /// Counts them, so that one that ends does not take a later one of the same name with it.
    last: u64,
}

#[derive(Debug)]
struct Try {
    id: u64,
    fence: Option<Fence>,
    /// Dropped, it ends the try.
    _stop: oneshot::Sender<()>,
}

type Wait = Pin<Box<dyn Future<Output = Result<Guard, LockError>> + Send>>;

impl Tries {
    /// All of them.
    pub(super) fn all(&self) -> Vec<ClusterTry> {
        let kept = lock(&self.kept);
        let told =
            |((node, name), tried): (&(MemberId, String), &Try)| told(*node, name, tried.fence);
        kept.tries.iter().map(told).collect()
    }

    /// Begins one, and says whether it is in at once.
    pub(super) fn acquire(&self, node: &Node, asked: &TryAcquire) -> Result<ClusterTry, TryError> {
        let hold = asked.hold.map_or(LONGEST_HOLD, Duration::from_millis);
        if hold.is_zero() || hold > LONGEST_HOLD {
            return Err(TryError::Hold { given: asked.hold.unwrap_or_default() });
        }
        let (id, name) = (node.id(), &asked.lock);
        let mut kept = lock(&self.kept);
        if kept.tries.contains_key(&(id, name.clone())) {
            return Err(TryError::Already(id, name.clone()));
        }
        if kept.tries.len() >= MOST {
            return Err(TryError::TooMany);
        }
        let (asking, wanted) = (node.clone(), name.clone());
        let mut wait: Wait = Box::pin(async move { asking.lock_as(&wanted, OWNER).await });
        // The first look says whether the node takes the name, and perhaps that it is in.
        let granted = tokio::task::unconstrained(&mut wait).now_or_never().transpose()?;
        let fence = granted.as_ref().map(Guard::fence);
        let (stop, stopped) = oneshot::channel();
        kept.last += 1;
        let running = Running {
            kept: Arc::downgrade(&self.kept),
            key: (id, name.clone()),
            id: kept.last,
            stopped,
        };
        let tried = Try { id: kept.last, fence, _stop: stop };
        kept.tries.insert(running.key.clone(), tried);
        tokio::spawn(running.run(granted, wait, hold));
        Ok(told(id, name, fence))
    }

    /// Ends one: what it holds is let go of, what it waits for no longer wanted.
    pub(super) fn release(&self, id: MemberId, name: &str) -> Result<ClusterTry, TryError> {
        let ended = lock(&self.kept).tries.remove(&(id, name.to_string()));
        let ended = ended.ok_or_else(|| TryError::NotTried(id, name.to_string()))?;
        Ok(told(id, name, ended.fence))
    }

    /// Ends all at a node that is no more.
    pub(super) fn forget(&self, node: MemberId) {
        lock(&self.kept).tries.retain(|(id, _), _| *id != node);
    }
}

/// One try on its way.
struct Running {
    kept: Weak<Mutex<Kept>>,
    key: (MemberId, String),
    id: u64,
    /// Comes when nobody wants it any more.
    stopped: oneshot::Receiver<()>,
}

impl Running {
    async fn run(mut self, granted: Option<Guard>, wait: Wait, hold: Duration) {
        let guard = match granted {
            Some(guard) => Some(guard),
            None => self.wait(wait).await,
        };
        if let Some(guard) = &guard {
            self.change(|tried| tried.fence = Some(guard.fence()));
            tokio::select! {
                () = tokio::time::sleep(hold) => {}
                () = guard.lost() => {}
                _ = &mut self.stopped => {}
            }
        }
        // Whoever sees it released may ask again.
        self.forget();
        drop(guard);
    }

    /// The grant, unless nobody wants it any more or it takes too long.
    async fn wait(&mut self, wait: Wait) -> Option<Guard> {
        tokio::select! {
            guard = wait => guard.ok(),
            () = tokio::time::sleep(LONGEST_WAIT) => None,
            _ = &mut self.stopped => None,
        }
    }

    fn change(&self, change: impl FnOnce(&mut Try)) {
        let Some(kept) = self.kept.upgrade() else { return };
        let mut kept = lock(&kept);
        if let Some(tried) = kept.tries.get_mut(&self.key).filter(|tried| tried.id == self.id) {
            change(tried);
        }
    }

    fn forget(&self) {
        let Some(kept) = self.kept.upgrade() else { return };
        let mut kept = lock(&kept);
        if kept.tries.get(&self.key).is_some_and(|tried| tried.id == self.id) {
            kept.tries.remove(&self.key);
        }
    }
}

fn told(node: MemberId, lock: &str, fence: Option<Fence>) -> ClusterTry {
    ClusterTry { node: number(node), lock: lock.to_string(), fence }
}

/// A panic elsewhere leaves the tries as they were.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
