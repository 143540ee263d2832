//! The lock table: one instance of an algorithm for each lock name, created on first use, and the
//! waiters of this node. Each lock has a mutex of its own; a step of its algorithm and what it sends
//! are one critical section, so the order of steps is the order on each link.

mod cell;
mod instance;
mod leaving;
mod queries;
mod rules;
mod views;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::Future;
use std::hash::BuildHasher as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use rustc_hash::FxBuildHasher;
use skeptron_core::{NodeId, SetupError};
use tokio::sync::{Notify, oneshot};

pub(crate) use cell::Cell;
use instance::Factory;
use queries::Queries;
use rules::{Act, Answer};
use views::Views;

use crate::config::{Config, Limits, Pace};
use crate::guard::Guard;
use crate::link::{Inbox, Post};
use crate::node::LockError;
use crate::observe::Observer;
use crate::plan::Plans;
use crate::view::{Lease, ViewService};
use crate::wire::{Envelope, Payload};

/// A fence: larger in every later view, and from entry to entry of one view.
fn token(epoch: u64, counter: u64) -> u64 {
    (epoch << 40) | (counter & ((1 << 40) - 1))
}

/// No lock is entered more often in one view: at a million entries a second it would take six days.
const MOST_COUNTED: u64 = 1 << 39;

/// Names are spread over so many maps, so that looking one up seldom waits.
const SHARDS: usize = 64;

type Shard = RwLock<HashMap<Arc<str>, Arc<Cell>, FxBuildHasher>>;

/// All locks of one node.
pub(crate) struct Table {
    reception: Arc<dyn Inbox>,
    me: NodeId,
    nodes: usize,
    plans: Plans,
    factories: Vec<Factory>,
    handovers: u32,
    pace: Pace,
    limits: Limits,
    shards: Vec<Shard>,
    views: RwLock<Views>,
    /// Wakes whoever waits for a view to begin.
    begins: Notify,
    service: Arc<dyn ViewService>,
    queries: Queries,
    post: Arc<dyn Post>,
    pub(crate) observer: Arc<Observer>,
    runtime: tokio::runtime::Handle,
    /// No new requests.
    leaving: AtomicBool,
    /// Whatever is held is lost, and nothing is entered any more.
    out: AtomicBool,
    /// Wakes whoever waits for that.
    gone: Notify,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("me", &self.me).finish_non_exhaustive()
    }
}

/// What came of asking for a lock.
#[derive(Debug)]
pub(crate) enum Asked {
    /// It is yours.
    Granted(Guard),
    /// It will be.
    Waiting(Wait),
}

/// Waits for a grant. Dropped, it leaves the queue; a grant that comes meanwhile is passed on.
#[derive(Debug)]
pub(crate) struct Wait {
    table: Arc<Table>,
    cell: Arc<Cell>,
    ticket: u64,
    receiver: oneshot::Receiver<Guard>,
}

impl Future for Wait {
    type Output = Result<Guard, LockError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let granted = ready!(Pin::new(&mut self.receiver).poll(context));
        Poll::Ready(granted.map_err(|_| LockError::Leaving(self.table.me)))
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.receiver.close();
        self.table.act(&self.cell, |act| act.forget(self.ticket));
    }
}

impl Table {
    /// The table of the node in `config`, which sends through `post`.
    ///
    /// # Errors
    /// If an algorithm cannot be built.
    pub(crate) fn new(
        config: &Config,
        service: Arc<dyn ViewService>,
        post: Arc<dyn Post>,
        observer: Arc<Observer>,
    ) -> Result<Arc<Self>, SetupError> {
        let me = config.node;
        let view = service.views().borrow().clone();
        let factories = config
            .plans
            .all()
            .map(|plan| Factory::new(plan, me, &observer))
            .collect::<Result<_, _>>()?;
        Ok(Arc::new_cyclic(|table| Table {
            reception: Arc::new(Reception(table.clone())),
            me,
            nodes: view.nodes(),
            plans: config.plans.clone(),
            factories,
            handovers: config.handovers,
            pace: config.pace,
            limits: config.limits,
            shards: std::iter::repeat_with(Shard::default).take(SHARDS).collect(),
            views: RwLock::new(Views::first(view.epoch, view.others(me).collect())),
            begins: Notify::new(),
            service,
            queries: Queries::default(),
            post,
            observer,
            runtime: tokio::runtime::Handle::current(),
            leaving: AtomicBool::new(false),
            out: AtomicBool::new(false),
            gone: Notify::new(),
        }))
    }

    /// Where links hand up what has arrived; it does not keep the table alive.
    pub(crate) fn reception(&self) -> &Arc<dyn Inbox> {
        &self.reception
    }

    /// Somebody here wants the lock.
    pub(crate) fn ask(self: &Arc<Self>, name: &str, owner: &str) -> Result<Asked, LockError> {
        let cell = self.cell(name)?;
        let asked = self.act(&cell, |act| {
            // Whoever shuts down looks at each lock after it said so.
            if self.is_leaving() {
                return Err(LockError::Leaving(self.me));
            }
            if act.state.waiters.len() >= self.limits.waiters {
                let (node, name, most) = (self.me, name.to_string(), self.limits.waiters);
                return Err(LockError::TooManyWaiters { node, name, most });
            }
            Ok(act.ask(owner))
        })?;
        Ok(match asked {
            Answer::Granted(guard) => Asked::Granted(guard),
            Answer::Wait(ticket, receiver) => {
                Asked::Waiting(Wait { table: Arc::clone(self), cell, ticket, receiver })
            }
        })
    }

    /// The holder lets go. Whether it held it still.
    pub(crate) fn release(self: &Arc<Self>, cell: &Arc<Cell>, fence: u64) -> bool {
        self.act(cell, |act| act.release(fence))
    }

    /// Whether an entry of this node is still one.
    pub(crate) fn is_held(&self, cell: &Cell, fence: u64) -> bool {
        self.may_enter() && cell.state().holder.as_ref().is_some_and(|hold| hold.fence == fence)
    }

    /// Waits until entries of this node are lost.
    pub(crate) async fn lost(&self) {
        loop {
            let gone = self.gone.notified();
            if self.out.load(Ordering::SeqCst) {
                return;
            }
            let lease = match self.service.lease() {
                Lease::Forever => None,
                Lease::Until(end) => Some(end),
                Lease::Over => return,
            };
            tokio::select! {
                () = gone => {}
                () = sleep_until(lease) => {}
            }
        }
    }

    /// The view's epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.view().epoch()
    }

    fn may_enter(&self) -> bool {
        let leased = match self.service.lease() {
            Lease::Forever => true,
            Lease::Until(end) => Instant::now() < end,
            Lease::Over => false,
        };
        leased && !self.out.load(Ordering::SeqCst)
    }

    fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let me = self.me;
        NodeId::all(self.nodes).filter(move |&node| node != me)
    }

    fn shard(&self, name: &str) -> &Shard {
        // The upper bits, since the map below uses the lower ones.
        &self.shards[(FxBuildHasher.hash_one(name) >> 40) as usize % SHARDS]
    }

    fn known(&self, name: &str) -> Option<Arc<Cell>> {
        let shard = self.shard(name).read().unwrap_or_else(PoisonError::into_inner);
        shard.get(name).cloned()
    }

    /// The lock of that name for somebody at this node, created on first use.
    fn cell(&self, name: &str) -> Result<Arc<Cell>, LockError> {
        self.cell_within(name, self.limits.locks)
    }

    /// The lock of that name for a member. Each has a limit of its own, and dropping what one of them
    /// says would leave others waiting for ever; so there is room for the names of all.
    fn members_cell(&self, name: &str) -> Result<Arc<Cell>, LockError> {
        self.cell_within(name, self.limits.locks.saturating_mul(self.nodes))
    }

    fn cell_within(&self, name: &str, most: usize) -> Result<Arc<Cell>, LockError> {
        if let Some(cell) = self.known(name) {
            return Ok(cell);
        }
        if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
            return Err(LockError::Name(name.escape_debug().to_string()));
        }
        if self.observer.locks.get() >= i64::try_from(most).unwrap_or(i64::MAX) {
            return Err(LockError::TooManyLocks { node: self.me, most });
        }
        let mut shard = self.shard(name).write().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = shard.get(name) {
            return Ok(Arc::clone(cell));
        }
        let name: Arc<str> = name.into();
        let cell = Arc::new(Cell::new(Arc::clone(&name), self.plans.index_for(&name)));
        shard.insert(name, Arc::clone(&cell));
        self.observer.locks.inc();
        Ok(cell)
    }

    /// All locks, in no order.
    fn cells(&self) -> Vec<Arc<Cell>> {
        let shards = self.shards.iter();
        shards
            .flat_map(|shard| {
                let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
                shard.values().cloned().collect::<Vec<_>>()
            })
            .collect()
    }

    /// Does something with a lock that this node itself wants done, and sends what comes of it.
    fn act<T>(self: &Arc<Self>, cell: &Arc<Cell>, rule: impl FnOnce(&mut Act<'_>) -> T) -> T {
        let (result, sent) = self.act_in(&self.view(), cell, rule);
        if sent {
            self.post.flush();
        }
        result
    }

    /// Does something with a lock in this view; whether something is to be flushed.
    fn act_in<T>(
        self: &Arc<Self>,
        views: &Views,
        cell: &Arc<Cell>,
        rule: impl FnOnce(&mut Act<'_>) -> T,
    ) -> (T, bool) {
        let mut state = cell.state();
        let (epoch, begun) = (views.epoch(), views.has_begun());
        let mut act = Act { table: self, cell, state: &mut state, epoch, begun, sent: false };
        let result = rule(&mut act);
        (result, act.sent)
    }

    /// Takes what a peer sent in this view. The link sends what comes of it.
    fn take_in(
        self: &Arc<Self>,
        views: &Views,
        from: NodeId,
        sequence: u64,
        payload: &Payload<'_>,
    ) {
        let lock = match *payload {
            Payload::Message { lock, .. }
            | Payload::Wake { lock }
            | Payload::Take { lock }
            | Payload::Freed { lock, .. } => lock,
            Payload::Announce { .. } | Payload::Query { .. } | Payload::Answer { .. } => return,
        };
        let cell = match self.members_cell(lock) {
            Ok(cell) => cell,
            Err(error) => {
                self.observer.refused.inc();
                tracing::error!(%from, %error, "a message for a lock that cannot be kept");
                return;
            }
        };
        self.act_in(views, &cell, |act| match *payload {
            Payload::Message { fence, .. } | Payload::Freed { fence, .. }
                if !act.believes(from, fence) => {}
            Payload::Message { fence, message, .. } => act.deliver(from, sequence, fence, message),
            Payload::Wake { .. } => act.wake(),
            Payload::Take { .. } if !self.is_leaving() => act.fetch(),
            Payload::Freed { fence, .. } => act.freed(from, fence),
            _ => {}
        });
    }

    /// Hands a kept token to the algorithm after a while.
    fn unpark_later(self: &Arc<Self>, cell: &Arc<Cell>, wait: Duration) {
        let (table, cell) = (Arc::downgrade(self), Arc::downgrade(cell));
        self.runtime.spawn(async move {
            tokio::time::sleep(wait).await;
            if let (Some(table), Some(cell)) = (table.upgrade(), cell.upgrade()) {
                table.act(&cell, |act| act.fetch_parked());
            }
        });
    }
}

/// What the links hand up goes to the table while there is one.
#[derive(Debug)]
struct Reception(Weak<Table>);

impl Inbox for Reception {
    fn receive(&self, from: NodeId, sequence: u64, envelope: &Envelope<'_>) {
        let Some(table) = self.0.upgrade() else { return };
        match &envelope.payload {
            // What a member knows does not depend on the view.
            Payload::Query { id, prefix, exact } => table.tell(from, *id, prefix, *exact),
            Payload::Answer { id, locks } => table.queries.answer(from, *id, locks),
            _ => table.judge(from, sequence, envelope),
        }
    }
}

/// For ever, if there is no such time.
async fn sleep_until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end.into()).await,
        None => std::future::pending().await,
    }
}
