//! Performs effects while the core decides; what must wait until it has decided is noted.

use std::sync::Arc;
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use skeptron_member::query::PeerAnswer;
use skeptron_member::wire::{Envelope, Relay};
use skeptron_member::{
    Broken, Effects, Event, Fence, Halt, Lock, MemberId, NeedView, NotServed, Timer,
};

use super::{Guard, Shell, Waiter};
use crate::env;
use crate::supervise::supervised;

/// What the core wanted and could not be done while it was deciding.
#[derive(Default)]
pub(super) struct Done {
    pub(super) sent: bool,
    /// Somebody may wait for what the core's state is now.
    pub(super) changed: bool,
    pub(super) halted: Option<String>,
    pub(super) needs_view: Option<String>,
}

pub(super) struct Performing<'a> {
    pub(super) shell: &'a Arc<Shell>,
    pub(super) now: MonoTime,
    pub(super) done: Done,
}

impl Effects<Waiter> for Performing<'_> {
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        self.done.sent = true;
        if self.shell.links.congested() {
            self.shell.slow.note(&*self.shell.links, to, envelope);
        }
        self.shell.links.send(to, envelope)
    }

    fn grant(&mut self, waiter: Waiter, lock: &Arc<Lock<Waiter>>, fence: Fence) {
        match waiter {
            Waiter::Local(reply) => {
                let guard = Guard::new(Arc::clone(self.shell), Arc::clone(lock), fence);
                // A waiter leaves the queue before it goes, so it is there to take the guard.
                if let Err(Ok(unwanted)) = reply.send(Ok(guard)) {
                    unwanted.forget();
                }
            }
            // Its session holds it, whether or not somebody still listens.
            Waiter::Session(reply) => drop(reply.send(Ok(fence))),
        }
    }

    fn refuse(&mut self, waiter: Waiter, why: NotServed) {
        match waiter {
            Waiter::Local(reply) => drop(reply.send(Err(why))),
            Waiter::Session(reply) => drop(reply.send(Err(why))),
        }
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        let shell = Arc::downgrade(self.shell);
        let expiring = async move {
            env::sleep(after).await;
            if let Some(shell) = shell.upgrade() {
                shell.perform(|core, now, effects| core.expire(now, &timer, effects));
            }
        };
        let observer = Arc::clone(&self.shell.observer);
        self.shell.runtime.spawn(supervised(observer, "a timer", expiring));
    }

    fn answer(&mut self, from: MemberId, query: u64, told: &PeerAnswer) {
        self.shell.queries.answer(from, query, told);
    }

    fn relay(&mut self, from: MemberId, relay: Relay<'_>) {
        self.shell.take_relay(from, relay);
    }

    fn broken(&mut self, from: MemberId, order: u64, outcome: Broken) {
        self.shell.breaks.answer(from, order, outcome);
    }

    fn is_heard(&self) -> bool {
        self.shell.observer.is_heard()
    }

    fn tell(&mut self, event: Event<'_>) {
        self.done.changed |=
            matches!(event, Event::Met { .. } | Event::Broken { .. } | Event::Forgot { .. });
        if matches!(event, Event::Lost { .. } | Event::Broken { .. } | Event::SessionExpired { .. })
        {
            self.shell.observer.tell_loss();
        }
        if let Event::Leadership { lock, round, leadership } = event {
            self.shell.observers.tell(lock, round, leadership);
        }
        self.shell.observe(self.now, event);
    }

    fn need_view(&mut self, why: NeedView) {
        self.done.needs_view = Some(why.to_string());
    }

    fn halt(&mut self, why: &Halt) {
        self.done.halted = Some(why.to_string());
    }
}
