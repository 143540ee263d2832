//! Entries that tolerate others: the algorithm's node is the inner lock, and [`Sharing`] has the rules. A lock
//! comes here when somebody in this view wants it so, or has it so from before.

use std::sync::Arc;

use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::{Access, AccessEvent, Duty, Register, Sharing, SharingMessage};
use skeptron_core::mutex::{Mode, Phase};

use super::lock::{Upgrade, Waiter};
use super::rules::Act;
use super::{Acquired, LockError, Turn};
use crate::effects::{Event, NotServed};
use crate::session::QueuedAcquire;
use crate::wire::Payload;
use crate::{Fence, Flaw};

impl<W> Act<'_, W> {
    /// The rules at this member; from now on they decide in this view.
    pub(super) fn sharing(&mut self) -> &mut Sharing {
        if self.state.sharing.is_none() {
            let phase = match self.state.phase {
                Phase::Idle => Phase::Idle,
                Phase::Inside if self.is_inside() => Phase::Inside,
                _ => Phase::Waiting,
            };
            let first = self.state.waiters.front().map(|waiter| waiter.mode);
            let wish = first.filter(|_| phase == Phase::Waiting);
            let entries = self.state.sharers.iter().map(|hold| hold.mode).collect();
            let place = (self.current.me, self.current.view.members.len());
            let inside = (self.state.holder.is_some(), wish);
            self.state.sharing = Some(Box::new(Sharing::amid(place, phase, inside, entries, None)));
        }
        self.state.sharing.as_mut().expect("it was made just now")
    }

    /// Who is inside, as whoever gets the inner lock is told.
    pub(super) fn register(&self) -> Register {
        let known = self.state.sharing.as_ref().filter(|_| !self.locks.has(Flaw::RegisterNotSent));
        known.map_or_else(Register::default, |sharing| sharing.register().clone())
    }

    /// Takes note of who is inside; false if nobody can have written that.
    pub(super) fn learns(&mut self, from: NodeId, register: &Register) -> bool {
        if register.version == 0 && register.rows.is_empty() {
            return true;
        }
        if self.state.kept.is_some() {
            self.refuse(from, "nobody else can be inside a lock that is kept here");
            return false;
        }
        let sharing = self.sharing();
        match sharing.check(register) {
            Ok(()) => {
                sharing.learn(register.clone());
                true
            }
            Err(refused) => {
                self.refuse(from, &refused.to_string());
                false
            }
        }
    }

    /// A member says something about those inside.
    pub(super) fn hear(&mut self, from: NodeId, counter: u64, word: SharingMessage) {
        if self.state.kept.is_some() {
            return self
                .refuse(from, "nobody else can hold the inner lock of a lock that is kept here");
        }
        self.state.counter.receive(counter);
        let mut duties = Vec::new();
        match self.sharing().hear(from, word, &mut duties) {
            Ok(()) => self.perform(duties),
            Err(refused) => self.refuse(from, &refused.to_string()),
        }
    }

    /// The algorithm lets this member in: it holds the inner lock.
    pub(super) fn admitted_to_share(&mut self) {
        let mut duties = Vec::new();
        self.sharing().admitted(&mut duties);
        self.perform(duties);
    }

    /// Asks for whoever is first here, and for the entry that waits to be exclusive.
    pub(super) fn serve_sharing(&mut self) {
        let waits = !self.state.waiters.is_empty() || self.state.upgrade.is_some();
        if !waits || !self.locks.may_enter(self.now) {
            return;
        }
        if self.state.kept.is_some() {
            self.free_if_wanted();
            return;
        }
        self.sharing();
        self.perform(Vec::new());
    }

    /// Fetches the inner lock for a member that leaves.
    pub(super) fn fetch_inner(&mut self) {
        if self.state.kept.is_none() && self.opens() {
            self.begin();
            let mut duties = Vec::new();
            self.sharing().fetch(&mut duties);
            self.perform(duties);
        }
    }

    /// Whoever waited first does so no longer.
    pub(super) fn first_is_gone(&mut self) {
        if self.state.sharing.as_ref().is_some_and(|sharing| sharing.is_wanted()) {
            self.access(Access::CancelEnter);
        } else if !self.state.is_exclusive() {
            self.serve();
        }
    }

    fn access(&mut self, access: Access) {
        let mut duties = Vec::new();
        let taken = self.sharing().access(access, &mut duties);
        debug_assert_eq!(taken, Ok(()), "{access:?} comes at its time");
        self.perform(duties);
    }

    /// Does what the rules want done, and whatever follows from that, in order.
    fn perform(&mut self, mut duties: Vec<Duty>) {
        let mut next = 0;
        loop {
            let Some(&duty) = duties.get(next) else {
                if self.ask_for_first(&mut duties) {
                    continue;
                }
                return;
            };
            next += 1;
            match duty {
                Duty::Acquire => {
                    if self.request_inner() {
                        self.sharing().admitted(&mut duties);
                    }
                }
                Duty::Release => self.release_inner(&mut duties),
                Duty::Tell(to, word) => {
                    let (lock, fence) = (Arc::clone(&self.lock.name), self.state.counter.attach());
                    self.send(to, Payload::Sharing { lock: &lock, fence, word });
                }
                Duty::Emit(AccessEvent::Entered) => self.let_in(&mut duties),
                Duty::Emit(AccessEvent::Upgraded) => self.upgraded(&mut duties),
                Duty::Emit(AccessEvent::Denied) => self.refuse_upgrade(NotServed::UpgradeDenied),
            }
        }
    }

    /// Whether there was something to ask for.
    fn ask_for_first(&mut self, duties: &mut Vec<Duty>) -> bool {
        if !self.locks.may_enter(self.now) || self.has_no_fences() {
            return false;
        }
        let waits = !self.state.waiters.is_empty() || self.state.upgrade.is_some();
        if !waits || !self.opens() {
            return false;
        }
        self.begin();
        let sharing = self.state.sharing.as_ref();
        if sharing.is_none_or(|sharing| sharing.is_exclusive()) {
            return false;
        }
        let upgrade = self.state.upgrade.as_ref().map(|upgrade| upgrade.fence);
        if let Some(fence) = upgrade
            && !self.sharing().is_upgrading()
            && let Some(mode) = self.state.entry(fence).map(|hold| hold.mode)
        {
            let taken = self.sharing().access(Access::Upgrade(mode), duties);
            debug_assert_eq!(taken, Ok(()), "the entry is inside");
            return true;
        }
        if let Some(mode) = self.state.waiters.front().map(|waiter| waiter.mode)
            && !self.sharing().is_wanted()
        {
            let taken = self.sharing().access(Access::Enter(mode), duties);
            debug_assert_eq!(taken, Ok(()), "nobody else waits");
            return true;
        }
        false
    }

    /// Nothing needs the inner lock: the next one of this turn goes first, then the others.
    fn release_inner(&mut self, duties: &mut Vec<Duty>) {
        if self.state.turn > 0 && !self.state.waiters.is_empty() && self.ask_for_first(duties) {
            self.state.turn -= 1;
            self.effects.tell(Event::HandedOver);
        } else if self.sharing().release() {
            self.state.turn = 0;
            self.state.phase = Phase::Idle;
            let left = self.step(Turn::Release);
            debug_assert_eq!(left, Ok(()), "a node that is inside takes a release");
        }
    }

    /// Whether the fences of this view are used up.
    fn has_no_fences(&self) -> bool {
        Fence::new(self.current.view.epoch, self.state.counter.attach() + 1).is_none()
    }

    /// The first that waits is inside.
    fn let_in(&mut self, duties: &mut Vec<Duty>) {
        let Some(waiter) = self.state.waiters.pop_front() else { return };
        let mode = waiter.mode;
        self.state.counter.enter();
        let owner = (waiter.owner.clone(), mode);
        let may_enter = self.locks.may_enter(self.now);
        let taken =
            may_enter.then(|| self.take(owner, waiter.queued.as_ref(), waiter.since)).flatten();
        let Some(fence) = taken else {
            self.state.waiters.push_front(waiter);
            return self.leave(mode, duties);
        };
        self.locks.counts.waiting.remove(1);
        if mode.is_exclusive() && !self.may_know(fence) {
            return self.put_aside(waiter);
        }
        let Waiter { queued, who, .. } = waiter;
        match queued.map_or(Ok(()), |queued| queued.keep(fence)) {
            Ok(()) => self.effects.grant(who, self.lock, fence),
            Err(why) => {
                self.effects.refuse(who, why);
                self.vacate(fence);
                self.leave(mode, duties);
            }
        }
    }

    fn leave(&mut self, mode: Mode, duties: &mut Vec<Duty>) {
        let left = self.sharing().access(Access::Leave(mode), duties);
        debug_assert_eq!(left, Ok(()), "it was inside");
    }

    /// Ends the entry with this fence.
    pub(super) fn end_sharing_entry(&mut self, fence: Fence) {
        self.refuse_upgrade_of(fence);
        // While it is inside: the rules begin with what there is.
        self.sharing();
        let Some(hold) = self.vacate(fence) else { return };
        let mut duties = Vec::new();
        self.leave(hold.mode, &mut duties);
        self.perform(duties);
    }

    /// An entry wants to be exclusive.
    pub(super) fn upgrade(
        &mut self,
        fence: Fence,
        queued: Option<QueuedAcquire>,
        who: impl FnOnce() -> W,
    ) -> Result<Acquired, LockError> {
        let name = || self.lock.name.to_string();
        if self.state.holder.as_ref().is_some_and(|hold| hold.fence == fence) {
            return Ok(Acquired::Granted(fence));
        }
        let is_upgraded = self.state.upgrade.is_some();
        let (denied, not_held) = (LockError::UpgradeDenied(name()), LockError::NotHeld(name()));
        let hold = self.state.entry(fence).filter(|hold| hold.broken.is_none());
        let Some(hold) = hold else { return Err(not_held) };
        if is_upgraded {
            return Err(denied);
        }
        let (owner, mode) = (hold.owner.clone(), Mode::EXCLUSIVE);
        self.state.tickets += 1;
        let (ticket, since) = (self.state.tickets, self.now);
        let waiter = Waiter { ticket, mode, since, owner, queued, who: who() };
        self.state.upgrade = Some(Box::new(Upgrade { fence, waiter }));
        self.serve();
        Ok(Acquired::Waiting(ticket))
    }

    /// The entry that wanted it is exclusive.
    fn upgraded(&mut self, duties: &mut Vec<Duty>) {
        let Some(upgrade) = self.state.upgrade.take() else { return };
        let Upgrade { fence: before, waiter } = *upgrade;
        let place = self.state.sharers.iter().position(|hold| hold.fence == before);
        let Some(place) = place else { return };
        let counter = self.state.counter.enter();
        let fence = Fence::new(self.current.view.epoch, counter)
            .filter(|_| self.locks.may_enter(self.now))
            .map(|fence| if self.locks.has(Flaw::UpgradedWithoutFence) { before } else { fence });
        let kept = match (fence, waiter.queued.as_ref()) {
            (None, _) => Err(NotServed::Withdrawn),
            (Some(fence), Some(queued)) => queued.keep_upgraded(before, fence),
            (Some(_), None) => Ok(()),
        };
        if let (Some(fence), Ok(())) = (fence, kept) {
            let mut hold = self.state.sharers.swap_remove(place);
            (hold.fence, hold.mode) = (fence, Mode::EXCLUSIVE);
            self.state.holder = Some(hold);
            let waited = self.now.since(waiter.since);
            self.effects.tell(Event::Upgraded { lock: &self.lock.name, before, fence, waited });
            return self.effects.grant(waiter.who, self.lock, fence);
        }
        // It stays as it was, for as long as its session has it.
        let mode = self.state.sharers[place].mode;
        let lowered = self.sharing().access(Access::Downgrade(mode), duties);
        debug_assert_eq!(lowered, Ok(()), "it is exclusive");
        self.effects.refuse(waiter.who, kept.err().unwrap_or(NotServed::Withdrawn));
    }

    /// The entry with this fence is over, or has been lost.
    pub(super) fn refuse_upgrade_of(&mut self, fence: Fence) {
        if self.state.upgrade.as_ref().is_some_and(|upgrade| upgrade.fence == fence) {
            self.refuse_upgrade(NotServed::Withdrawn);
        }
    }

    /// The entry that waits to be exclusive does not get it.
    pub(super) fn refuse_upgrade(&mut self, why: NotServed) {
        if let Some(upgrade) = self.take_upgrade(|_| true) {
            self.effects.refuse(upgrade.who, why);
        }
    }

    pub(super) fn withdraw_upgrade(&mut self, ticket: u64) -> Option<W> {
        self.take_upgrade(|waiter| waiter.ticket == ticket).map(|waiter| waiter.who)
    }

    pub(super) fn replace_upgrade(&mut self, ticket: u64, who: W) -> Result<W, W> {
        match self.state.upgrade.as_mut().filter(|upgrade| upgrade.waiter.ticket == ticket) {
            Some(upgrade) => Ok(std::mem::replace(&mut upgrade.waiter.who, who)),
            None => Err(who),
        }
    }

    fn take_upgrade(&mut self, which: impl FnOnce(&Waiter<W>) -> bool) -> Option<Waiter<W>> {
        let upgrade = self.state.upgrade.take_if(|upgrade| which(&upgrade.waiter))?;
        if self.state.sharing.as_ref().is_some_and(|sharing| sharing.is_upgrading()) {
            self.access(Access::CancelUpgrade);
        }
        Some(upgrade.waiter)
    }

    /// The exclusive entry with this fence goes on as one of this mode. Whether it was exclusive.
    pub(super) fn downgrade(&mut self, fence: Fence, mode: Mode) -> bool {
        let is_led = self.state.holder.as_ref().is_some_and(|hold| hold.leads.is_some());
        if is_led || mode.is_exclusive() {
            return false;
        }
        let is_kept = self.state.kept.is_some();
        if !is_kept && self.state.holder.as_ref().is_some_and(|hold| hold.fence == fence) {
            self.sharing();
        }
        let Some(mut hold) = self.state.holder.take_if(|hold| hold.fence == fence) else {
            return false;
        };
        hold.mode = mode;
        self.state.sharers.push(hold);
        self.effects.tell(Event::Downgraded { lock: &self.lock.name, fence, mode });
        if is_kept {
            self.free_if_wanted();
        } else {
            self.access(Access::Downgrade(mode));
        }
        true
    }
}
