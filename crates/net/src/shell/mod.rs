//! Performs what the member core decides: the only place where the core meets links, channels, timers
//! and observers. A step runs in the thread that brought its cause.

mod breaking;
mod deadlocks;
mod effects;
mod elections;
mod guard;
mod observe;
mod query;
pub(crate) mod relay;
mod slow;
mod wait;
mod why;

use std::sync::{Arc, Weak};
use std::time::Duration;

use skeptron_core::mutex::Mode;
use skeptron_member::clock::MonoTime;
use skeptron_member::wire::Envelope;
use skeptron_member::{Effects, Fence, Halt, Lock, MemberCore, MemberId, NotServed};
use tokio::sync::{Notify, oneshot, watch};

use crate::env;
use crate::link::{Inbox, LinkSender};
use crate::observe::{Observer, What};
use crate::supervise::supervised;
use crate::view::{Lease, Member, View, ViewService};
use breaking::BreakOrders;
use effects::{Done, Performing};
pub(crate) use elections::Observation;
use elections::Observers;
pub use guard::Guard;
use observe::{Counters, counters};
use query::Queries;
use relay::Relays;
use slow::Slow;
pub(crate) use wait::{LocalAcquire, SessionAcquire, SessionWait};

/// A member core and what performs its effects.
pub(crate) struct Shell {
    core: MemberCore<Waiter>,
    links: Arc<dyn LinkSender>,
    service: Arc<dyn ViewService>,
    /// PeerAnswer when this life is over.
    ended: Arc<Notify>,
    pub(crate) observer: Arc<Observer>,
    inbox: Arc<dyn Inbox>,
    /// By plan.
    counters: Vec<Counters>,
    queries: Queries,
    relays: Arc<Relays>,
    breaks: BreakOrders,
    observers: Observers,
    /// Locks that need a peer which is far behind.
    slow: Slow,
    /// Timers run here.
    runtime: tokio::runtime::Handle,
    /// Wakes whoever waits for the core's state to change: members have met, or everything is lost.
    changed: Notify,
}

/// Whoever waits for a lock.
pub(crate) enum Waiter {
    /// A program in this process.
    Local(oneshot::Sender<Result<Guard, NotServed>>),
    /// A request of a session, which holds the lock itself.
    Session(oneshot::Sender<Result<Fence, NotServed>>),
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shell").field("member", &self.core.id()).finish_non_exhaustive()
    }
}

impl Shell {
    /// How often somebody who waits for a count to fall looks again.
    const LOOK: Duration = Duration::from_millis(5);

    /// So often, and so long each time, is waited for idle names to be forgotten.
    const ROOM_TRIES: u32 = 10;
    const ROOM_WITHIN: Duration = Duration::from_secs(1);

    /// The shell of `core`, which sends through `links`. To be called inside a tokio runtime.
    pub(crate) fn new(
        core: MemberCore<Waiter>,
        (service, ended, relays): (Arc<dyn ViewService>, Arc<Notify>, Arc<Relays>),
        links: Arc<dyn LinkSender>,
        observer: Arc<Observer>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|shell| Shell {
            counters: counters(&core.settings().plans, &observer),
            core,
            links,
            service,
            ended,
            observer,
            inbox: Arc::new(ShellInbox(shell.clone())),
            queries: Queries::default(),
            relays,
            breaks: BreakOrders::default(),
            observers: Observers::default(),
            slow: Slow::default(),
            runtime: tokio::runtime::Handle::current(),
            changed: Notify::new(),
        })
    }

    /// Where links hand up what has arrived; it does not keep the shell alive.
    pub(crate) fn inbox(&self) -> &Arc<dyn Inbox> {
        &self.inbox
    }

    /// The core, for questions that have no effects.
    pub(crate) fn core(&self) -> &MemberCore<Waiter> {
        &self.core
    }

    /// Announces the member, and follows views and lease as long as it lives.
    pub(crate) fn start(
        self: &Arc<Self>,
        (mut views, mut leases): (watch::Receiver<Arc<View>>, watch::Receiver<Lease>),
        set_view: impl Fn(&Arc<View>) + Send + 'static,
    ) {
        self.perform(|core, _, effects| core.open(effects));
        let shell = Arc::downgrade(self);
        // Before anybody can use this life: nobody may be promised more than its lease.
        let lease = *leases.borrow_and_update();
        self.perform(|core, now, effects| core.renew(now, lease, effects));
        let mut ends = self.core.lease();
        views.mark_changed();
        let following = async move {
            loop {
                tokio::select! {
                    changed = views.changed() => {
                        let Some(shell) = shell.upgrade() else { return };
                        if changed.is_err() {
                            // Nobody decides about this life any more, and its last word may be unread.
                            return shell.perform(|core, now, effects| core.renew(now, Lease::Over, effects));
                        }
                        let view = views.borrow_and_update().clone();
                        tell_change(&shell.core.view(), &view);
                        set_view(&view);
                        shell.perform(|core, now, effects| core.install(now, view, effects));
                    }
                    changed = leases.changed() => {
                        let Some(shell) = shell.upgrade() else { return };
                        let lease = if changed.is_ok() { *leases.borrow_and_update() } else { Lease::Over };
                        shell.perform(|core, now, effects| core.renew(now, lease, effects));
                        if lease == Lease::Over {
                            return;
                        }
                        ends = shell.core.lease();
                    }
                    () = env::sleep_until(ends) => {
                        let Some(shell) = shell.upgrade() else { return };
                        return shell.perform(|core, now, effects| core.renew(now, Lease::Over, effects));
                    }
                }
            }
        };
        let observer = Arc::clone(&self.observer);
        self.runtime.spawn(supervised(observer, "following views and lease", following));
    }

    /// Lets the core decide something, and performs it.
    fn perform<T>(
        self: &Arc<Self>,
        decide: impl FnOnce(&MemberCore<Waiter>, MonoTime, &mut dyn Effects<Waiter>) -> T,
    ) -> T {
        let (result, done) = self.decide(decide);
        if done.sent {
            self.links.flush();
        }
        self.settle(done);
        result
    }

    /// Lets the core decide something; what it sends is queued, but not flushed.
    fn decide<T>(
        self: &Arc<Self>,
        decide: impl FnOnce(&MemberCore<Waiter>, MonoTime, &mut dyn Effects<Waiter>) -> T,
    ) -> (T, Done) {
        let now = env::now();
        let mut performing = Performing { shell: self, now, done: Done::default() };
        let result = decide(&self.core, now, &mut performing);
        (result, performing.done)
    }

    /// What could not be done while the core was deciding.
    fn settle(self: &Arc<Self>, done: Done) {
        if let Some(why) = done.halted {
            tracing::error!(member = %self.core.id(), why, "this member has halted; its locks are lost");
            self.observer.tell(|| What::Halted { why: why.clone() });
            self.perform(|core, now, effects| core.lose_all(now, effects));
            self.observers.end();
            self.changed.notify_waiters();
            self.ended.notify_one();
        }
        if let Some(why) = done.needs_view {
            self.service.ask_for_view(&why);
        }
        if done.changed {
            self.changed.notify_waiters();
        }
    }

    /// The holder lets go. Whether it held it still.
    pub(crate) fn release(self: &Arc<Self>, lock: &Arc<Lock<Waiter>>, fence: Fence) -> bool {
        self.perform(|core, now, effects| core.release(now, lock, fence, effects))
    }

    /// An exclusive entry tolerates others from now on. Whether it was one.
    pub(crate) fn downgrade(
        self: &Arc<Self>,
        lock: &Arc<Lock<Waiter>>,
        fence: Fence,
        mode: Mode,
    ) -> bool {
        self.perform(|core, now, effects| core.downgrade(now, lock, fence, mode, effects))
    }

    /// Whether an entry of this member still is one.
    pub(crate) fn is_held(&self, lock: &Lock<Waiter>, fence: Fence) -> bool {
        self.core.is_held(env::now(), lock, fence)
    }

    /// Waits until this entry is lost.
    pub(crate) async fn lost(&self, lock: &Lock<Waiter>, fence: Fence) {
        self.until(|core| !core.is_held(env::now(), lock, fence)).await;
    }

    /// Waits while a new request for this lock would add to what a peer is behind, and a while for room for
    /// its name.
    pub(crate) async fn relieved(self: &Arc<Self>, name: &str) {
        if self.links.congested() {
            self.slow.relieved(&*self.links, name).await;
        }
        for _ in 0..Self::ROOM_TRIES {
            if !self.core.is_full(name) {
                return;
            }
            self.perform(|core, now, effects| core.make_room(now, effects));
            env::timeout(Self::ROOM_WITHIN, self.until(|core| !core.is_full(name))).await;
        }
    }

    /// Waits until all members have met in the present view.
    pub(crate) async fn met(&self) {
        self.until(|core| core.missing().is_empty()).await;
    }

    async fn until(&self, holds: impl Fn(&MemberCore<Waiter>) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed, so looking comes second.
            changed.as_mut().enable();
            if holds(&self.core) {
                return;
            }
            changed.await;
        }
    }

    /// Takes no more requests; whoever waits is told.
    pub(crate) fn leave(self: &Arc<Self>) {
        self.perform(|core, now, effects| core.leave(now, effects));
    }

    /// Waits until nothing is held here, but no longer than that.
    pub(crate) async fn idle_within(&self, grace: Duration) {
        let deadline = env::now().after(grace);
        while self.core.load().held_locks > 0 && env::now() < deadline {
            env::sleep(Self::LOOK).await;
        }
    }

    /// Ends this life without telling anybody.
    pub(crate) fn stop_living(self: &Arc<Self>) {
        self.perform(|core, now, effects| core.renew(now, Lease::Over, effects));
    }

    /// What is still held is lost.
    pub(crate) fn lose_all(self: &Arc<Self>) {
        self.perform(|core, now, effects| core.lose_all(now, effects));
        self.changed.notify_waiters();
    }

    /// Asks a neighbour to fetch each token that rests here, and waits until they are gone, but no
    /// longer than that.
    pub(crate) async fn pass_tokens_on(self: &Arc<Self>, patience: Duration) {
        let Some(neighbour) = self.neighbour() else { return };
        let mut resting = self.core.resting();
        self.perform(|core, _, effects| core.offer(neighbour, &resting, effects));
        let deadline = env::now().after(patience);
        while !resting.is_empty() && env::now() < deadline {
            env::sleep(Self::LOOK).await;
            resting.retain(|lock| self.core.rests_here(lock));
        }
    }

    /// The next member that is connected.
    fn neighbour(&self) -> Option<MemberId> {
        let me = self.core.id();
        let view = self.core.view();
        let (before, after): (Vec<_>, Vec<_>) =
            view.ids().filter(|&id| id != me).partition(|&id| id < me);
        after.into_iter().chain(before).find(|&id| self.links.is_up(id))
    }
}

/// One line for each view, with what changed.
fn tell_change(former: &View, view: &View) {
    if view.epoch <= former.epoch {
        return;
    }
    let members: Vec<String> = view.ids().map(|id| id.to_string()).collect();
    tracing::info!(
        epoch = view.epoch,
        "new view: {}; members {}",
        view_change(former, view),
        members.join(" ")
    );
}

/// Why there is another view, as far as the two tell.
fn view_change(former: &View, view: &View) -> String {
    let is_in = |list: &[Member], life: &Member| {
        list.iter().any(|it| (it.id, it.incarnation) == (life.id, life.incarnation))
    };
    let came = view.members.iter().filter(|it| !is_in(&former.members, it)).map(|it| {
        let what = match (is_in(&former.away, it), former.life(it.id)) {
            (true, _) => "is back",
            (false, Some(_)) => "joined again",
            (false, None) => "joined",
        };
        format!("{} {what}", it.id)
    });
    let away = view.away.iter().filter(|it| !is_in(&former.away, it));
    let away = away.map(|it| format!("{} is not heard of, and may still hold locks", it.id));
    let went = former.members.iter().chain(&former.away).filter(|it| view.life(it.id).is_none());
    let went = went.map(|it| match is_in(&former.away, it) {
        true => format!("{} is gone: its lease ended, or it was removed", it.id),
        false => format!("{} left or was removed", it.id),
    });
    let changes: Vec<String> = came.chain(away).chain(went).collect();
    match changes.is_empty() {
        true => "the same members, to forget idle locks".to_string(),
        false => changes.join(", "),
    }
}

/// What the links hand up goes to the shell while there is one.
struct ShellInbox(Weak<Shell>);

impl Inbox for ShellInbox {
    fn receive(&self, from: MemberId, sequence: u64, envelope: &Envelope<'_>) {
        let Some(shell) = self.0.upgrade() else { return };
        // The link flushes when it has handed up all that it read.
        let ((), done) = shell.decide(|core, now, effects| {
            core.receive(now, from, sequence, envelope, effects);
        });
        shell.settle(done);
    }

    fn cannot_go_on(&self, why: String) {
        let Some(shell) = self.0.upgrade() else { return };
        shell.perform(|core, _, effects| core.stop(Halt::Unsendable(why), effects));
    }
}

#[cfg(test)]
mod tests;
