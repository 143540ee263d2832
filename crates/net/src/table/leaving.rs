//! How a node leaves: nothing new, what is held ends, and resting tokens go to a neighbour.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use skeptron_core::NodeId;
use tokio::time::Instant;

use super::Table;
use super::cell::Cell;
use crate::observe::What;
use crate::wire::{Envelope, Payload};

impl Table {
    /// How often a leaving node looks whether it may go.
    const LOOK: Duration = Duration::from_millis(5);

    /// Whether it takes no more requests.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }

    /// No more requests; whoever waits is told.
    pub(crate) fn leave(self: &Arc<Self>) {
        self.leaving.store(true, Ordering::SeqCst);
        for cell in self.cells() {
            let waiters = std::mem::take(&mut cell.state().waiters);
            for _ in &waiters {
                self.observer.tell(|| What::Withdrawn { lock: cell.name.to_string() });
            }
            self.observer.waiting.dec_by(i64::try_from(waiters.len()).unwrap_or(i64::MAX));
        }
    }

    /// Waits until nothing is held here, but no longer than that.
    pub(crate) async fn idle_within(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        while self.observer.held.get() > 0 && Instant::now() < deadline {
            tokio::time::sleep(Self::LOOK).await;
        }
    }

    /// What is still held is lost: the guards are told first, then the algorithms.
    pub(crate) fn lose_all(self: &Arc<Self>) {
        self.out.store(true, Ordering::SeqCst);
        self.gone.notify_waiters();
        for cell in self.cells() {
            self.act(&cell, |act| {
                if let Some(hold) = &act.state.holder {
                    let (lock, fence) = (cell.name.to_string(), hold.fence);
                    tracing::warn!(lock, fence, "lost: the node leaves");
                    self.observer.tell(|| What::Lost { lock, fence });
                }
                act.end_entry();
            });
        }
    }

    /// Asks a neighbour to fetch each token that rests here, and waits until they are gone, but no
    /// longer than that.
    pub(crate) async fn pass_tokens_on(self: &Arc<Self>, patience: Duration) {
        let Some(neighbour) = self.neighbour() else { return };
        let mut resting = self.cells();
        resting.retain(|cell| self.rests_here(cell));
        let epoch = self.view().epoch();
        for cell in &resting {
            let payload = Payload::Take { lock: &cell.name };
            self.post.send(neighbour, &Envelope { epoch, payload });
        }
        self.post.flush();
        let deadline = Instant::now() + patience;
        while !resting.is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Self::LOOK).await;
            resting.retain(|cell| self.rests_here(cell));
        }
    }

    fn rests_here(&self, cell: &Cell) -> bool {
        let has_token = self.factories[cell.plan].has_token;
        has_token && cell.state().instance.as_ref().is_some_and(|node| node.rests_here())
    }

    /// The next member that is connected.
    fn neighbour(&self) -> Option<NodeId> {
        let after = (1..self.nodes).map(|k| NodeId::new((self.me.index() + k) % self.nodes));
        after.into_iter().find(|&node| self.post.is_up(node))
    }
}
