//! What happens to one lock at one member: the driver of the algorithm's node, under the lock's mutex.

use std::sync::Arc;

use skeptron_core::mutex::sharing::Register;
use skeptron_core::mutex::{Mode, Phase};
use skeptron_core::{NodeId, Refused};

use super::current::Current;
use super::instance::{Layout, Turn};
use super::lock::{Hold, Lock, Pass, State, Waiter};
use super::{Acquired, Locks};
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, NeedView, NotServed};
use crate::election::Proclaimed;
use crate::session::{QueuedAcquire, Session};
use crate::wire::{Envelope, Payload};
use crate::{Fence, Flaw, MemberId};

/// One lock while its mutex is held.
pub(super) struct Act<'a, W> {
    pub(super) locks: &'a Locks<W>,
    pub(super) current: &'a Current,
    pub(super) lock: &'a Arc<Lock<W>>,
    pub(super) state: &'a mut State<W>,
    pub(super) now: MonoTime,
    pub(super) effects: &'a mut dyn Effects<W>,
}

impl<W> Act<'_, W> {
    pub(super) fn layout(&self) -> &Layout {
        &self.current.layouts[self.lock.plan]
    }

    pub(super) fn is_home(&self) -> bool {
        self.state.home == self.current.me
    }

    /// Who plays this part of the algorithm: the home plays the first one, the others follow by rank.
    pub(super) fn rank(&self, part: NodeId) -> NodeId {
        let members = self.current.view.members.len();
        let turned = part.index() + self.state.home.index() + members - self.layout().first.index();
        NodeId::new(turned % members)
    }

    /// Which part of the algorithm a member plays.
    pub(super) fn part(&self, rank: NodeId) -> NodeId {
        let members = self.current.view.members.len();
        let turned = rank.index() + self.layout().first.index() + members - self.state.home.index();
        NodeId::new(turned % members)
    }

    pub(super) fn member(&self, rank: NodeId) -> MemberId {
        self.current.view.members[rank.index()].id
    }

    pub(super) fn send(&mut self, to: NodeId, payload: Payload<'_>) {
        let envelope = Envelope { epoch: self.current.view.epoch, payload };
        self.effects.send(self.member(to), &envelope);
    }

    /// Somebody here wants the lock: first in, first out, and without a waiter if it is in at once.
    pub(super) fn ask(
        &mut self,
        owner: &str,
        mode: Mode,
        queued: Option<QueuedAcquire>,
        who: impl FnOnce() -> W,
    ) -> Acquired {
        self.effects.tell(Event::Requested { lock: &self.lock.name });
        let mut entered = None;
        let is_first = self.state.waiters.is_empty() && mode.is_exclusive();
        if is_first && self.state.is_exclusive() && self.request() {
            entered = self.take((owner.into(), mode), queued.as_ref(), self.now);
        }
        if let Some(fence) = entered
            && self.may_know(fence)
        {
            return Acquired::Granted(fence);
        }
        self.state.tickets += 1;
        let (ticket, since, owner) = (self.state.tickets, self.now, owner.into());
        let waiter = Waiter { ticket, mode, since, owner, queued, who: who() };
        if entered.is_some() {
            self.put_aside(waiter);
            return Acquired::Waiting(ticket);
        }
        if !mode.is_exclusive() && self.state.kept.is_none() {
            // Before it stands in the queue: what is on its way is for those before it.
            self.sharing();
        }
        self.state.waiters.push_back(waiter);
        self.locks.counts.waiting.add();
        self.locks.list(self.lock, self.state, self.now);
        self.lock.set_busy(true);
        if !self.state.is_exclusive() {
            self.serve();
        }
        Acquired::Waiting(ticket)
    }

    /// Takes the waiter with this ticket out of the queue, if it is still there.
    pub(super) fn withdraw(&mut self, ticket: u64) -> Option<W> {
        // Tickets ascend.
        let place = self.state.waiters.binary_search_by_key(&ticket, |w| w.ticket);
        let Ok(place) = place else {
            return self.withdraw_unseen(ticket).or_else(|| self.withdraw_upgrade(ticket));
        };
        let waiter = self.state.waiters.remove(place)?;
        self.locks.counts.waiting.remove(1);
        self.lock.set_busy(self.state.in_use());
        self.effects.tell(Event::Withdrawn { lock: &self.lock.name });
        if place == 0 {
            self.first_is_gone();
        }
        Some(waiter.who)
    }

    /// Puts somebody else in the place of the waiter with this ticket, if it is still there.
    pub(super) fn replace(&mut self, ticket: u64, who: W) -> Result<W, W> {
        match self.state.waiters.binary_search_by_key(&ticket, |w| w.ticket) {
            Ok(place) => Ok(std::mem::replace(&mut self.state.waiters[place].who, who)),
            Err(_) => {
                self.replace_unseen(ticket, who).or_else(|who| self.replace_upgrade(ticket, who))
            }
        }
    }

    /// Nobody who waits here is served any more.
    pub(super) fn refuse_all(&mut self, why: NotServed) {
        let waiters = std::mem::take(&mut self.state.waiters);
        self.locks.counts.waiting.remove(waiters.len());
        self.lock.set_busy(self.state.in_use());
        for waiter in waiters {
            self.effects.tell(Event::Withdrawn { lock: &self.lock.name });
            self.effects.refuse(waiter.who, why);
        }
        self.first_is_gone();
        self.refuse_unseen(why);
        self.refuse_upgrade(why);
    }

    /// Asks for a right, if nobody here is in and nothing has been asked. Whether it is in at once.
    fn request(&mut self) -> bool {
        if self.state.phase != Phase::Idle
            || self.state.holder.is_some()
            || !self.locks.may_enter(self.now)
        {
            return false;
        }
        let is_adopted = self.state.kept.is_some_and(|kept| kept.adopted);
        if is_adopted && !self.locks.has(Flaw::AdoptedHandedOn) {
            // It is nobody's here; whoever wants it asks like everybody else.
            if !self.free_if_wanted() || self.state.phase != Phase::Idle {
                return false;
            }
        } else if self.state.kept.is_some() {
            self.state.counter.enter();
            return true;
        }
        if self.state.holder.is_some() {
            return false;
        }
        // Those inside from before may have been told just now.
        self.opens() && self.state.is_exclusive() && self.request_inner()
    }

    /// The algorithm's node requests. Whether it is in at once.
    pub(super) fn request_inner(&mut self) -> bool {
        self.begin();
        self.state.phase = Phase::Waiting;
        if self.layout().passes_first_by && self.state.pass == Pass::NotAsked {
            self.state.pass = Pass::Asked;
            let (home, lock) = (self.state.home, Arc::clone(&self.lock.name));
            self.send(home, Payload::Ask { lock: &lock });
        }
        let asked = self.step(Turn::Request);
        debug_assert_eq!(asked, Ok(()), "an idle node takes a request");
        if self.state.phase == Phase::Waiting {
            self.fetch_parked();
        }
        if self.state.phase == Phase::Waiting && self.layout().restless {
            self.wake_others();
        }
        let is_inside = self.is_inside();
        if is_inside {
            self.begin_turn();
        }
        is_inside
    }

    /// The algorithm's entry is for all who wait here now, up to a limit: so members with many clients
    /// get as many entries as they have clients, and whoever comes later waits for the next turn.
    fn begin_turn(&mut self) {
        let others = self.state.waiters.len().saturating_sub(1);
        let others = u32::try_from(others).unwrap_or(u32::MAX);
        self.state.turn = others.min(self.locks.settings.handovers);
    }

    /// Whether the algorithm is in, and may be in this view.
    pub(super) fn is_inside(&self) -> bool {
        let may = !self.layout().passes_first_by
            || self.state.pass == Pass::Given
            || self.locks.has(Flaw::PassNotAwaited);
        self.state.phase == Phase::Inside && may
    }

    /// Whether the lock may begin here: its home has to know that nobody has a right from before, also
    /// nobody who is away. In a
    /// view that does not name the lives of its members everybody has to meet all of them first:
    /// whoever did anything in such a view has then met everybody, and everybody refuses a later life
    /// of it. If it may not, whoever keeps a right is told once that somebody wants the lock.
    pub(super) fn opens(&mut self) -> bool {
        let has_begun = if self.is_home() {
            self.state.has_begun()
        } else {
            self.state.node.is_some() || self.current.view.names_lives()
        };
        if has_begun {
            return true;
        }
        let own = self.state.own;
        let keepers = self.current.home().want_unless_open(&self.lock.name, own);
        let Some(keepers) = keepers else { return true };
        for keeper in keepers {
            self.tell_wanted(keeper);
        }
        // This member may have kept it, and have freed it just now.
        self.current.home().is_open(&self.lock.name, own || self.state.own)
    }

    /// Begins the algorithm's node, if it has not begun in this view.
    pub(super) fn begin(&mut self) {
        if self.state.node.is_none() {
            let part = self.part(self.current.me);
            self.state.node = Some(self.layout().instance(part));
            if self.is_home() {
                self.state.pass = Pass::Given;
            }
            let started = self.step(Turn::Start);
            debug_assert_eq!(started, Ok(()), "a fresh node starts");
        }
    }

    /// The lock is entered, and the entry is the caller's; none if the fences of this view are used up.
    pub(super) fn take(
        &mut self,
        (owner, mode): (Box<str>, Mode),
        queued: Option<&QueuedAcquire>,
        asked: MonoTime,
    ) -> Option<Fence> {
        let counter = self.state.counter.attach();
        if counter >= Fence::RENEWED_AT && self.current.asks_for_view() {
            self.effects.need_view(NeedView::Counter { lock: Arc::clone(&self.lock.name) });
        }
        let fence = Fence::new(self.current.view.epoch, counter)?;
        let waited = self.now.since(asked);
        self.effects.tell(Event::Entered { lock: &self.lock.name, fence, mode, waited });
        self.hold(
            (fence, mode),
            owner,
            queued.map(QueuedAcquire::session),
            queued.and_then(QueuedAcquire::leads),
        );
        Some(fence)
    }

    /// Somebody here has it from now on.
    pub(super) fn hold(
        &mut self,
        (fence, mode): (Fence, Mode),
        owner: Box<str>,
        session: Option<Arc<Session>>,
        leads: Option<Proclaimed>,
    ) {
        self.locks.counts.held.add();
        let since = self.now;
        let hold = Hold { fence, mode, since, owner, session, leads, moved: false, broken: None };
        if mode.is_exclusive() {
            self.state.holder = Some(hold);
        } else {
            self.state.sharers.push(hold);
        }
        self.locks.list(self.lock, self.state, self.now);
        self.lock.set_busy(true);
    }

    /// The lock is entered: the entry goes to the first waiter that still wants it, or back.
    fn grant(&mut self) {
        while self.locks.may_enter(self.now)
            && self.state.waiters.front().is_some_and(|waiter| waiter.mode.is_exclusive())
            && let Some(waiter) = self.state.waiters.pop_front()
        {
            let owner = (waiter.owner.clone(), waiter.mode);
            let taken = self.take(owner, waiter.queued.as_ref(), waiter.since);
            let Some(fence) = taken else {
                // The next view has fences again.
                return self.state.waiters.push_front(waiter);
            };
            self.locks.counts.waiting.remove(1);
            if !self.may_know(fence) {
                return self.put_aside(waiter);
            }
            let Waiter { queued, who, .. } = waiter;
            match queued.map_or(Ok(()), |queued| queued.keep(fence)) {
                Ok(()) => return self.effects.grant(who, self.lock, fence),
                Err(why) => {
                    self.effects.refuse(who, why);
                    self.vacate(fence);
                    // Its fence was seen by nobody, but is never given out twice.
                    self.state.counter.enter();
                }
            }
        }
        self.hand_back();
    }

    /// The entry with this fence is over.
    pub(super) fn vacate(&mut self, fence: Fence) -> Option<Hold> {
        let holder = self.state.holder.take_if(|hold| hold.fence == fence);
        let place = self.state.sharers.iter().position(|hold| hold.fence == fence);
        let hold = holder.or_else(|| place.map(|place| self.state.sharers.swap_remove(place)))?;
        self.locks.counts.held.remove(1);
        self.lock.set_busy(self.state.in_use());
        let held = self.now.since(hold.since);
        self.effects.tell(Event::Released { lock: &self.lock.name, fence: hold.fence, held });
        self.ended(&hold);
        Some(hold)
    }

    /// Out of the section, and in again if somebody here still waits.
    fn hand_back(&mut self) {
        self.lock.set_busy(self.state.in_use());
        if self.state.kept.is_some() {
            self.free_if_wanted();
            return;
        }
        self.state.turn = 0;
        self.state.phase = Phase::Idle;
        let left = self.step(Turn::Release);
        debug_assert_eq!(left, Ok(()), "a node that is inside takes a release");
        self.serve();
    }

    /// Asks for whoever waits here.
    pub(super) fn serve(&mut self) {
        if self.state.is_exclusive() && self.state.upgrade.is_none() {
            if self.state.waiters.is_empty() {
                return;
            }
            if self.request() {
                return self.grant();
            }
        }
        if !self.state.is_exclusive() || self.state.upgrade.is_some() {
            self.serve_sharing();
        }
    }

    /// The holder lets go. Whether it held it still.
    pub(super) fn release(&mut self, fence: Fence) -> bool {
        let any = self.state.holder.as_ref().filter(|_| self.locks.has(Flaw::AnyFenceReleases));
        let fence = any.map_or(fence, |hold| hold.fence);
        let was_held = self.state.entry(fence).is_some();
        self.end_entry(fence);
        was_held
    }

    /// Ends the exclusive entry, whoever had it.
    pub(super) fn end_holder(&mut self) {
        if let Some(hold) = &self.state.holder {
            self.end_entry(hold.fence);
        }
    }

    /// Ends the entry with this fence, whoever had it.
    pub(super) fn end_entry(&mut self, fence: Fence) {
        if !self.state.is_exclusive() && self.state.kept.is_none() {
            return self.end_sharing_entry(fence);
        }
        if self.vacate(fence).is_none() || self.free_if_wanted() {
            return;
        }
        let by_right = self.state.kept.is_some();
        if self.state.kept.is_some_and(|kept| kept.adopted)
            && !self.locks.has(Flaw::AdoptedHandedOn)
        {
            return;
        }
        if (by_right || self.state.turn > 0) && !self.state.waiters.is_empty() {
            self.state.turn = self.state.turn.saturating_sub(1);
            self.state.counter.enter();
            self.effects.tell(Event::HandedOver);
            self.grant();
        } else if !by_right {
            self.hand_back();
        }
    }

    /// Whoever holds it here has lost it; nobody here enters again. A member that halted hands nothing
    /// on: clients of it may believe in what they hold for a while.
    pub(super) fn lose(&mut self) {
        let lost = self.state.entries().filter(|hold| !hold.moved).map(|hold| hold.fence);
        for fence in lost.collect::<Vec<_>>() {
            self.effects.tell(Event::Lost { lock: &self.lock.name, fence });
            if self.locks.halted().is_some() {
                self.vacate(fence);
            } else {
                self.end_entry(fence);
            }
        }
    }

    pub(super) fn deliver(&mut self, from: NodeId, sequence: u64, payload: &Payload<'_>) {
        match *payload {
            Payload::Message { fence, ref register, message, .. } => {
                let counter = self.believed(from, fence);
                self.message((from, sequence), counter, register, message);
            }
            Payload::Sharing { fence, word, .. } => {
                let counter = self.believed(from, fence);
                self.hear(from, counter, word);
            }
            Payload::Wake { .. } => self.wake(),
            Payload::Take { .. } if !self.locks.is_leaving() => {
                if !self.state.is_exclusive() {
                    self.fetch_inner();
                } else if self.request() {
                    self.grant();
                }
            }
            Payload::Wanted { .. } if from == self.state.home => self.wanted(),
            Payload::Freed { counter, here, .. } if self.is_home() => {
                let counter = self.believed(from, counter);
                self.freed(from, counter, here);
            }
            Payload::Ask { .. } if self.is_home() => {
                self.state.pass = Pass::Given;
                let (lock, counter) = (Arc::clone(&self.lock.name), self.state.counter.attach());
                let register = self.register();
                self.send(from, Payload::Pass { lock: &lock, counter, register });
            }
            Payload::Pass { counter, ref register, .. } if from == self.state.home => {
                let counter = self.believed(from, counter);
                if self.learns(from, register) {
                    self.pass(counter);
                }
            }
            Payload::Unwatch { .. } | Payload::Seen { .. } => self.watcher_says(from, payload),
            Payload::Take { .. } => {}
            _ => self.refuse(from, "only the home of a lock says or is told this"),
        }
    }

    /// A message of the algorithm arrived.
    fn message(
        &mut self,
        (from, sequence): (NodeId, u64),
        counter: u64,
        register: &Register,
        message: &[u8],
    ) {
        // Also while a right from before is kept here: nobody enters before the home has let the lock
        // begin, and it waits for this member to give its right up.
        self.begin();
        self.state.counter.receive(counter);
        if !self.learns(from, register) {
            return;
        }
        if self.should_park() {
            self.park(from, sequence, message);
            return;
        }
        let was_inside = self.state.phase == Phase::Inside;
        let part = self.part(from);
        if let Err(refused) = self.step(Turn::Deliver { from: part, sequence, message }) {
            self.refuse(from, &refused.to_string());
        } else if !was_inside && self.is_inside() {
            self.admitted();
        }
        self.serve();
    }

    /// The home says that the lock may be entered in this view.
    fn pass(&mut self, counter: u64) {
        if self.state.pass != Pass::Asked {
            return;
        }
        self.state.pass = Pass::Given;
        self.state.counter.receive(counter);
        if self.state.phase == Phase::Inside && self.state.holder.is_none() {
            self.state.counter.enter();
            self.admitted();
        }
    }

    /// The algorithm lets this member in.
    fn admitted(&mut self) {
        self.begin_turn();
        if self.state.sharing.is_some() {
            self.admitted_to_share();
        } else {
            self.grant();
        }
    }

    pub(super) fn refuse(&mut self, from: NodeId, why: &str) {
        let from = self.member(from);
        self.effects.tell(Event::Refused { lock: &self.lock.name, from, why });
    }

    /// One turn of the algorithm's node. It is in afterwards if `phase` says so.
    pub(super) fn step(&mut self, turn: Turn<'_>) -> Result<(), Refused> {
        // It must have begun: whoever comes here has seen to that.
        let Some(mut node) = self.state.node.take() else { return Ok(()) };
        let taken = node.step(turn, self);
        self.state.node = Some(node);
        if taken.is_ok() {
            let (lock, epoch) = (&*self.lock.name, self.current.view.epoch);
            let part = self.part(self.current.me);
            self.effects.tell(Event::Stepped { lock, epoch, part, turn });
        }
        taken
    }
}
