//! What happens to one lock at one node: the driver of the algorithm's node, under the lock's mutex.

use std::sync::Arc;
use std::time::Instant;

use skeptron_core::mutex::Phase;
use skeptron_core::{NodeId, Refused};
use tokio::sync::oneshot;

use super::cell::{Cell, Hold, Parked, State, Waiter};
use super::instance::{Effects, Factory, Turn};
use super::{MOST_COUNTED, Table, token};
use crate::guard::Guard;
use crate::observe::What;
use crate::wire::{Envelope, Payload};

/// One lock while its mutex is held.
pub(super) struct Act<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) cell: &'a Arc<Cell>,
    pub(super) state: &'a mut State,
    pub(super) epoch: u64,
    /// Whether the view has begun here.
    pub(super) begun: bool,
    /// Whether something waits to be flushed.
    pub(super) sent: bool,
}

/// What came of asking.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is yours.
    Granted(Guard),
    /// Wait with this ticket.
    Wait(u64, oneshot::Receiver<Guard>),
}

impl Act<'_> {
    fn factory(&self) -> &Factory {
        &self.table.factories[self.cell.plan]
    }

    /// Somebody here wants the lock: first in, first out, and without a waiter if it is in at once.
    pub(super) fn ask(&mut self, owner: &str) -> Answer {
        let since = Instant::now();
        self.table.observer.tell(|| What::Requested { lock: self.cell.name.to_string() });
        if self.state.waiters.is_empty() && self.request() {
            return Answer::Granted(self.take(owner.into(), since, since));
        }
        let (reply, receiver) = oneshot::channel();
        self.state.tickets += 1;
        let ticket = self.state.tickets;
        self.state.waiters.push_back(Waiter { ticket, since, owner: owner.into(), reply });
        self.table.observer.waiting.inc();
        Answer::Wait(ticket, receiver)
    }

    /// Whoever waited with this ticket went away.
    pub(super) fn forget(&mut self, ticket: u64) {
        // Tickets ascend.
        if let Ok(place) = self.state.waiters.binary_search_by_key(&ticket, |w| w.ticket) {
            self.state.waiters.remove(place);
            self.table.observer.waiting.dec();
            self.table.observer.tell(|| What::Withdrawn { lock: self.cell.name.to_string() });
        }
    }

    /// Asks the algorithm, if nobody here is in and nothing has been asked. Whether it is in at once.
    fn request(&mut self) -> bool {
        if !self.begun
            || self.state.phase != Phase::Idle
            || self.state.carried.is_some()
            || !self.table.may_enter()
        {
            return false;
        }
        self.begin();
        self.state.phase = Phase::Waiting;
        let asked = self.step(Turn::Request);
        debug_assert_eq!(asked, Ok(()), "an idle node takes a request");
        if self.state.phase == Phase::Waiting {
            self.fetch_parked();
        }
        if self.state.phase == Phase::Waiting && self.factory().restless {
            self.tell_others(|lock| Payload::Wake { lock });
        }
        self.state.phase == Phase::Inside
    }

    /// Begins the algorithm's node, if it has not begun in this view.
    fn begin(&mut self) {
        if self.state.instance.is_none() {
            self.state.instance = Some(self.factory().instance());
            let started = self.step(Turn::Start);
            debug_assert_eq!(started, Ok(()), "a fresh node starts");
        }
    }

    /// The algorithm is in; the entry is the caller's.
    fn take(&mut self, owner: Box<str>, asked: Instant, since: Instant) -> Guard {
        let fence = token(self.epoch, self.state.fence.attach());
        let observer = &self.table.observer;
        observer.acquire_seconds.observe((since - asked).as_secs_f64());
        observer.entries.inc();
        observer.held.inc();
        observer.tell(|| What::Entered { lock: self.cell.name.to_string(), fence });
        self.state.holder = Some(Hold { fence, since, owner });
        Guard::local(Arc::clone(self.table), Arc::clone(self.cell), fence)
    }

    /// The algorithm is in: the entry goes to the first waiter that is still there, or back.
    fn grant(&mut self) {
        while self.table.may_enter()
            && let Some(waiter) = self.state.waiters.pop_front()
        {
            self.table.observer.waiting.dec();
            let guard = self.take(waiter.owner, waiter.since, Instant::now());
            match waiter.reply.send(guard) {
                Ok(()) => return,
                Err(unwanted) => {
                    let (lock, fence) = (&self.cell.name, unwanted.fence());
                    self.table.observer.tell(|| What::Released { lock: lock.to_string(), fence });
                    unwanted.disarm();
                    self.vacate();
                    // Its fence was seen by nobody, but is never given out twice.
                    self.state.fence.enter();
                }
            }
        }
        self.hand_back();
    }

    /// Nobody here is in any more.
    fn vacate(&mut self) -> Option<Hold> {
        let hold = self.state.holder.take()?;
        self.table.observer.held.dec();
        Some(hold)
    }

    /// Out of the section, and in again if somebody here still waits.
    fn hand_back(&mut self) {
        self.state.handed = 0;
        self.state.phase = Phase::Idle;
        let left = self.step(Turn::Release);
        debug_assert_eq!(left, Ok(()), "a node that is inside takes a release");
        self.serve();
    }

    /// Asks for whoever waits here.
    pub(super) fn serve(&mut self) {
        if !self.state.waiters.is_empty() && self.state.holder.is_none() && self.request() {
            self.grant();
        }
    }

    /// The holder lets go. Whether it held it still.
    pub(super) fn release(&mut self, fence: u64) -> bool {
        if self.state.holder.as_ref().is_none_or(|hold| hold.fence != fence) {
            return false;
        }
        self.end_entry();
        true
    }

    /// Ends the entry, whoever had it.
    pub(super) fn end_entry(&mut self) {
        let Some(hold) = self.vacate() else { return };
        let observer = &self.table.observer;
        observer.hold_seconds.observe(hold.since.elapsed().as_secs_f64());
        observer.tell(|| What::Released { lock: self.cell.name.to_string(), fence: hold.fence });
        if self.state.carried.take().is_some() {
            let fence = self.state.fence.attach();
            self.tell_others(|lock| Payload::Freed { lock, fence });
            self.serve();
        } else if self.state.handed < self.table.handovers && !self.state.waiters.is_empty() {
            self.state.handed += 1;
            self.state.fence.enter();
            observer.handovers.inc();
            self.grant();
        } else {
            self.hand_back();
        }
    }

    /// A message of the algorithm arrived.
    pub(super) fn deliver(&mut self, from: NodeId, sequence: u64, fence: u64, message: &[u8]) {
        match self.state.carried {
            // Only somebody who knows that the holder of the earlier view has let go speaks of it.
            Some(holder) if holder != self.table.me => self.state.carried = None,
            Some(_) => {
                self.refuse(from, Refused::Unexpected("of a lock that is held here since before"));
                return;
            }
            None => {}
        }
        self.begin();
        self.state.fence.receive(fence);
        if self.should_park() {
            self.park(from, sequence, message);
            return;
        }
        let was_inside = self.state.phase == Phase::Inside;
        if let Err(refused) = self.step(Turn::Deliver { from, sequence, message }) {
            self.refuse(from, refused);
        } else if !was_inside && self.state.phase == Phase::Inside {
            self.grant();
        }
        self.serve();
    }

    /// Somebody elsewhere waits for a token that never rests: begin, and do not keep it.
    pub(super) fn wake(&mut self) {
        if self.state.carried.is_some() {
            return;
        }
        self.begin();
        self.state.idle_visits = 0;
        if self.state.parked.is_some() {
            self.fetch_parked();
        } else {
            self.state.hurry = true;
        }
    }

    /// A node that leaves asks us to fetch the token: ask, and let it rest here.
    pub(super) fn fetch(&mut self) {
        if self.request() {
            self.grant();
        }
    }

    /// The holder of an earlier view has let go.
    pub(super) fn freed(&mut self, by: NodeId, fence: u64) {
        if self.state.carried == Some(by) {
            self.state.carried = None;
            self.state.fence.receive(fence);
            self.serve();
        }
    }

    fn should_park(&mut self) -> bool {
        if !self.factory().restless || self.state.phase != Phase::Idle {
            return false;
        }
        self.state.parked.is_none() && !std::mem::take(&mut self.state.hurry)
    }

    /// Keeps an idle token for a while, twice as long at each idle visit.
    fn park(&mut self, from: NodeId, sequence: u64, message: &[u8]) {
        self.state.parked = Some(Parked { from, sequence, message: message.to_vec() });
        let wait = self.table.pace.after(self.state.idle_visits);
        self.state.idle_visits = self.state.idle_visits.saturating_add(1);
        self.table.unpark_later(self.cell, wait);
    }

    /// The algorithm gets what was kept from it.
    pub(super) fn fetch_parked(&mut self) {
        let Some(Parked { from, sequence, message }) = self.state.parked.take() else { return };
        if let Err(refused) = self.step(Turn::Deliver { from, sequence, message: &message }) {
            self.refuse(from, refused);
        }
    }

    /// Whether a member may have counted that far.
    pub(super) fn believes(&self, from: NodeId, fence: u64) -> bool {
        if fence > MOST_COUNTED {
            self.refuse(from, Refused::Unexpected("a fence that no number of entries leads to"));
        }
        fence <= MOST_COUNTED
    }

    fn refuse(&self, from: NodeId, refused: Refused) {
        self.table.observer.refused.inc();
        tracing::warn!(lock = &*self.cell.name, %from, %refused, "a message against the rules");
    }

    /// Tells every other member something about this lock.
    fn tell_others(&mut self, payload: impl for<'b> Fn(&'b str) -> Payload<'b>) {
        self.sent = true;
        for to in self.table.others() {
            let envelope = Envelope { epoch: self.epoch, payload: payload(&self.cell.name) };
            self.table.post.send(to, &envelope);
        }
    }

    /// One turn of the algorithm's node. It is in afterwards if `phase` says so.
    fn step(&mut self, turn: Turn<'_>) -> Result<(), Refused> {
        // It must have begun: whoever comes here has seen to that.
        let Some(mut instance) = self.state.instance.take() else { return Ok(()) };
        let taken = instance.step(turn, self);
        self.state.instance = Some(instance);
        taken
    }
}

impl Effects for Act<'_> {
    fn received(&mut self, from: NodeId, sequence: u64, kind: usize) {
        let factory = &self.table.factories[self.cell.plan];
        factory.received[kind].inc();
        self.table.observer.tell(|| What::Received {
            lock: self.cell.name.to_string(),
            from,
            sequence,
            message: factory.kinds[kind].to_string(),
        });
    }

    fn send(&mut self, to: NodeId, kind: usize, message: &[u8]) {
        let factory = &self.table.factories[self.cell.plan];
        factory.sent[kind].inc();
        // Its number is known only once it is queued, when it may be on its way already.
        let moment = self.table.observer.moment();
        let (lock, fence) = (&*self.cell.name, self.state.fence.attach());
        let payload = Payload::Message { lock, fence, message };
        let sequence = self.table.post.send(to, &Envelope { epoch: self.epoch, payload });
        self.table.observer.tell_of(moment, || What::Sent {
            lock: lock.to_string(),
            to,
            sequence,
            message: factory.kinds[kind].to_string(),
        });
        self.sent = true;
    }

    fn entered(&mut self) {
        self.state.phase = Phase::Inside;
        self.state.fence.enter();
    }
}
