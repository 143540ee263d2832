//! Elections at the locks of a member: who is told of a leader, and when the leader itself is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

use skeptron_core::NodeId;

use super::current::Current;
use super::lock::{Hold, State, Waiter};
use super::rules::Act;
use super::{LockError, Locks};
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, NotServed};
use crate::election::{
    Leader, MOST_VALUE_BYTES, MOST_WATCHED, Observed, Proclaimed, Unwatched, WatchReport, Watches,
};
use crate::view::View;
use crate::wire::{Envelope, Payload};
use crate::{Fence, Flaw, MemberId};

/// Elections in one message at most: with the longest names they fit into the shortest frame.
const MOST_TOLD: usize = 200;

/// What there is of an election at a lock.
#[derive(Clone, Debug)]
pub(super) struct Election<W> {
    /// The members that watch it in this view.
    watchers: BTreeMap<MemberId, Watcher>,
    /// The campaign that has the entry; its client is told when all watchers have seen it.
    unseen: Option<Waiter<W>>,
}

#[derive(Clone, Copy, Debug)]
struct Watcher {
    /// To be repeated in whatever it is told.
    number: u64,
    /// The term of the leader that it has seen last.
    seen: Option<Fence>,
}

impl<W> State<W> {
    fn election(&mut self) -> &mut Election<W> {
        self.election
            .get_or_insert_with(|| Box::new(Election { watchers: BTreeMap::new(), unseen: None }))
    }

    /// The campaign whose client does not know yet that it has the entry.
    pub(super) fn unseen(&mut self) -> Option<&mut Waiter<W>> {
        self.election.as_mut()?.unseen.as_mut()
    }

    /// Whether the holder does not know yet that it has the entry.
    pub(super) fn is_unseen(&self) -> bool {
        self.election.as_ref().is_some_and(|election| election.unseen.is_some())
    }

    /// Watches belong to a view.
    pub(super) fn forget_watchers(&mut self) {
        if let Some(election) = &mut self.election {
            election.watchers.clear();
            if election.unseen.is_none() {
                self.election = None;
            }
        }
    }
}

impl<W> Act<'_, W> {
    /// The leader whose session has the entry.
    fn leader(&self) -> Option<Leader> {
        let hold = self.state.holder.as_ref()?;
        let Proclaimed { value, version } = hold.leads.clone()?;
        let (owner, node) = (super::listing::shortened(&hold.owner), self.locks.id);
        Some(Leader { term: hold.fence, value, version, owner, node })
    }

    /// Tells everybody who watches who leads now.
    fn tell_watchers(&mut self) {
        let Some(election) = &self.state.election else { return };
        let watchers: Vec<_> = election.watchers.iter().map(|(&id, it)| (id, it.number)).collect();
        for (watcher, number) in watchers {
            self.tell_watcher(watcher, number);
        }
    }

    fn tell_watcher(&mut self, watcher: MemberId, number: u64) {
        let leader = self.leader();
        if watcher == self.locks.id {
            let term = leader.as_ref().map(|leader| leader.term);
            let told = leader.map_or(WatchReport::Vacant(self.state.last_led), WatchReport::Leads);
            let (name, view) = (&*self.lock.name, &self.current.view);
            let heard = self.locks.hear(view, watcher, (name, number), told, self.effects);
            if let (Some(term), Ok(())) = (term, heard) {
                self.note_seen(watcher, term);
            }
            return;
        }
        let lock = &*self.lock.name;
        let payload = match &leader {
            Some(Leader { term, value, version, owner, .. }) => {
                Payload::Leads { lock, number, term: *term, version: *version, owner, value }
            }
            None => Payload::Vacant { lock, number, ended: self.state.last_led },
        };
        self.effects.send(watcher, &Envelope { epoch: self.current.view.epoch, payload });
    }

    fn note_seen(&mut self, watcher: MemberId, term: Fence) {
        if let Some(it) = self.state.election().watchers.get_mut(&watcher) {
            it.seen = Some(term);
        }
    }

    /// Whether everybody who watches has seen the leader of this term, and everybody has said whether it
    /// watches.
    fn is_seen(&self, term: Fence) -> bool {
        if self.locks.has(Flaw::LedUnseen) {
            return true;
        }
        let has_heard_all =
            self.current.home().missing().is_empty() || self.locks.has(Flaw::WatchersUnheard);
        let mut watchers = self.state.election.iter().flat_map(|it| it.watchers.values());
        has_heard_all && watchers.all(|it| it.seen == Some(term))
    }

    /// Somebody has the entry. Whether it may know: a leader not before everybody has seen it.
    pub(super) fn may_know(&mut self, fence: Fence) -> bool {
        if self.state.holder.as_ref().is_none_or(|hold| hold.leads.is_none()) {
            return true;
        }
        self.tell_watchers();
        self.is_seen(fence)
    }

    /// The campaign has the entry and does not know it yet.
    pub(super) fn put_aside(&mut self, waiter: Waiter<W>) {
        self.state.election().unseen = Some(waiter);
        self.locks.unseen().insert(Arc::clone(&self.lock.name));
    }

    /// Calls a campaign off that has the entry and does not know it yet.
    pub(super) fn withdraw_unseen(&mut self, ticket: u64) -> Option<W> {
        self.state.unseen().filter(|waiter| waiter.ticket == ticket)?;
        let waiter = self.take_unseen()?;
        self.effects.tell(Event::Withdrawn { lock: &self.lock.name });
        self.end_holder();
        Some(waiter.who)
    }

    /// Puts somebody else in its place.
    pub(super) fn replace_unseen(&mut self, ticket: u64, who: W) -> Result<W, W> {
        match self.state.unseen().filter(|waiter| waiter.ticket == ticket) {
            Some(waiter) => Ok(std::mem::replace(&mut waiter.who, who)),
            None => Err(who),
        }
    }

    /// Takes the campaign back whose client does not know yet that it has the entry.
    fn take_unseen(&mut self) -> Option<Waiter<W>> {
        let unseen = self.state.election.as_mut()?.unseen.take()?;
        self.locks.unseen().remove(&self.lock.name);
        Some(unseen)
    }

    /// Tells the client of a campaign that it leads, if everybody has seen it.
    pub(super) fn confirm(&mut self) {
        let fence = self.state.holder.as_ref().map(|hold| hold.fence);
        let Some(fence) = fence.filter(|&fence| self.is_seen(fence)) else { return };
        if !self.locks.may_enter(self.now) {
            return;
        }
        let Some(Waiter { queued, who, .. }) = self.take_unseen() else { return };
        match queued.map_or(Ok(()), |queued| queued.keep(fence)) {
            Ok(()) => self.effects.grant(who, self.lock, fence),
            Err(why) => {
                self.effects.refuse(who, why);
                self.end_holder();
            }
        }
    }

    /// A campaign that has the entry and does not know it yet is not served.
    pub(super) fn refuse_unseen(&mut self, why: NotServed) {
        if let Some(waiter) = self.take_unseen() {
            self.effects.tell(Event::Withdrawn { lock: &self.lock.name });
            self.effects.refuse(waiter.who, why);
            self.end_holder();
        }
    }

    /// An entry is over: whoever watches is told, and whoever had it without knowing.
    pub(super) fn ended(&mut self, hold: &Hold) {
        if let Some(waiter) = self.take_unseen() {
            let is_halted = self.locks.halted().is_some();
            let why = if is_halted { NotServed::Halted } else { NotServed::Withdrawn };
            self.effects.refuse(waiter.who, why);
        }
        // What a member that halted had may go on at another one.
        let tells = self.locks.halted().is_none() || self.locks.has(Flaw::HaltedEnds);
        if hold.leads.is_some() && tells {
            // A session that moved may have gone to several members, and lead at another one.
            let is_adopted = self.state.kept.is_some_and(|kept| kept.adopted);
            if !is_adopted || self.locks.has(Flaw::AdoptedEnds) {
                self.state.last_led = Some(hold.fence);
            }
            self.tell_watchers();
        }
    }

    /// The holder changes its value. Returns the version; none if it does not lead.
    fn proclaim(&mut self, fence: Fence, version: Option<u64>, value: &str) -> Option<u64> {
        let hold = self.state.holder.as_mut().filter(|hold| hold.fence == fence)?;
        let leads = hold.leads.as_mut()?;
        let version = version.unwrap_or(leads.version.saturating_add(1));
        if version > leads.version {
            *leads = Proclaimed { value: value.to_string(), version };
            self.tell_watchers();
        }
        Some(version)
    }

    /// A member watches this election from now on.
    fn watch(&mut self, watcher: MemberId, number: u64) {
        // What a member that halted had may go on at another one: it says nothing.
        if self.locks.halted().is_some() {
            return;
        }
        self.state.election().watchers.insert(watcher, Watcher { number, seen: None });
        self.tell_watcher(watcher, number);
        self.confirm();
    }

    /// A member watches it no longer.
    fn unwatch(&mut self, watcher: MemberId) -> bool {
        let Some(election) = &mut self.state.election else { return false };
        let watched = election.watchers.remove(&watcher).is_some();
        if election.watchers.is_empty() && election.unseen.is_none() {
            self.state.election = None;
        }
        self.confirm();
        watched
    }

    /// What a member says as one that watches this election.
    pub(super) fn watcher_says(&mut self, from: NodeId, payload: &Payload<'_>) {
        let from = self.member(from);
        match *payload {
            Payload::Unwatch { .. } if self.unwatch(from) => {
                *self.current.watchers().entry(from).or_default() -= 1;
            }
            Payload::Seen { term, .. } => {
                self.note_seen(from, term);
                self.confirm();
            }
            _ => {}
        }
    }
}

impl<W> Locks<W> {
    pub(super) fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn unseen(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.unseen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody here observes an election, and has seen a leader of the term `after` elsewhere. Returns
    /// what it is told at once.
    pub(crate) fn observe(
        &self,
        now: MonoTime,
        name: &str,
        after: Option<Fence>,
        effects: &mut dyn Effects<W>,
    ) -> Result<Observed, LockError> {
        let lock = self.lock(name)?;
        let current = self.current();
        if let Some(why) = self.halted() {
            return Err(LockError::Halted { member: self.id, why: why.clone() });
        }
        if self.is_leaving() {
            return Err(LockError::Leaving(self.id));
        }
        if after.is_some_and(|term| term.epoch() > current.view.epoch) {
            return Err(LockError::Behind(self.id));
        }
        // What is sent about watches is in the order in which they change.
        let _turn = self.watch_turn.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.watches().is_watched(name) && self.watches().len() >= MOST_WATCHED {
            return Err(LockError::TooManyWatched { member: self.id, most: MOST_WATCHED });
        }
        let begun = self.watches().observe(&lock.name, after, &current.view);
        let number = match begun {
            Ok(told) => return Ok(Observed { told, round: 0 }),
            Err(number) => number,
        };
        for to in current.others() {
            let payload = Payload::Watch { locks: vec![(&lock.name, number)] };
            send(&current, to, payload, effects);
        }
        self.act_in(&current, now, &lock, effects, |act| act.watch(self.id, number));
        Ok(Observed { told: None, round: number })
    }

    /// Somebody here observes it no longer.
    pub(crate) fn unobserve(&self, now: MonoTime, name: &str, effects: &mut dyn Effects<W>) {
        let current = self.current();
        let _turn = self.watch_turn.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.watches().leave(name) {
            return;
        }
        for to in current.others() {
            send(&current, to, Payload::Unwatch { lock: name }, effects);
        }
        if let Some(lock) = self.find(name) {
            self.act_in(&current, now, &lock, effects, |act| act.unwatch(self.id));
        }
    }

    /// A view begins: tells everybody which elections are watched here, before this member announces
    /// itself.
    pub(super) fn watch_again(
        &self,
        current: &Current,
        now: MonoTime,
        skipped: bool,
        effects: &mut dyn Effects<W>,
    ) {
        self.watches().begin_view(&current.view, skipped);
        let all = self.watches().all();
        if self.has(Flaw::WatchNotRenewed) {
            return;
        }
        for to in current.others() {
            for some in all.chunks(MOST_TOLD) {
                let locks = some.iter().map(|(name, number)| (&**name, *number)).collect();
                send(current, to, Payload::Watch { locks }, effects);
            }
        }
        for (name, number) in &all {
            if let Ok(lock) = self.lock_within(name, usize::MAX) {
                self.act_in(current, now, &lock, effects, |act| act.watch(self.id, *number));
            }
        }
    }

    /// A member watches these elections.
    pub(super) fn watched(
        &self,
        current: &Current,
        now: MonoTime,
        from: MemberId,
        locks: &[(&str, u64)],
        effects: &mut dyn Effects<W>,
    ) {
        let Some(rank) = current.view.rank(from) else { return };
        for &(name, number) in locks {
            let lock = self.members_lock(current, now, rank, name, effects);
            let Some(lock) = lock else { continue };
            let is_new = |act: &mut Act<'_, W>| {
                let election = act.state.election.as_ref();
                election.is_none_or(|it| !it.watchers.contains_key(&from))
            };
            self.act_in(current, now, &lock, effects, |act| {
                if is_new(act) {
                    let mut watching = current.watchers();
                    let count = watching.entry(from).or_default();
                    if *count >= MOST_WATCHED {
                        let why = "it watches more elections than a member may";
                        drop(watching);
                        return act.effects.tell(Event::Refused { lock: name, from, why });
                    }
                    *count += 1;
                }
                act.watch(from, number);
            });
        }
    }

    /// A member tells of an election that is watched here.
    pub(super) fn told(
        &self,
        current: &Current,
        from: MemberId,
        payload: &Payload<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        let view = &current.view;
        match *payload {
            Payload::Leads { lock, number, term, version, owner, value } => {
                if term.epoch() > view.epoch || value.len() > MOST_VALUE_BYTES {
                    let why = "it tells of a leader that cannot be";
                    return effects.tell(Event::Refused { lock, from, why });
                }
                let (value, owner) = (value.to_string(), owner.to_string());
                let leader = Leader { term, value, version, owner, node: from };
                let heard =
                    self.hear(view, from, (lock, number), WatchReport::Leads(leader), effects);
                if heard.is_ok() {
                    let seen = Payload::Seen { lock, term };
                    effects.send(from, &Envelope { epoch: view.epoch, payload: seen });
                }
            }
            Payload::Vacant { lock, number, ended } => {
                if ended.is_some_and(|term| term.epoch() > view.epoch) {
                    let why = "it tells of a term that cannot be";
                    return effects.tell(Event::Refused { lock, from, why });
                }
                // An answer to an earlier watch says nothing.
                let _ = self.hear(view, from, (lock, number), WatchReport::Vacant(ended), effects);
            }
            _ => {}
        }
    }

    fn hear(
        &self,
        view: &View,
        from: MemberId,
        (lock, number): (&str, u64),
        told: WatchReport,
        effects: &mut dyn Effects<W>,
    ) -> Result<(), Unwatched> {
        let mut watches = self.watches();
        // Under the mutex, so that observers are told in order.
        let flaw = self.settings.flaw;
        if let Some((round, leadership)) = watches.hear(view, from, (lock, number), told, flaw)? {
            effects.tell(Event::Leadership { lock, round, leadership: &leadership });
        }
        Ok(())
    }

    /// All members have announced themselves, so it is known who watches what.
    pub(super) fn confirm_all(
        &self,
        current: &Current,
        now: MonoTime,
        effects: &mut dyn Effects<W>,
    ) {
        let names: Vec<_> = self.unseen().iter().cloned().collect();
        for name in names {
            if let Some(lock) = self.find(&name) {
                self.act_in(current, now, &lock, effects, |act| act.confirm());
            }
        }
    }

    /// The holder of an entry changes its value. Returns the version; none if it does not lead.
    pub(crate) fn proclaim(
        &self,
        now: MonoTime,
        name: &str,
        fence: Fence,
        (version, value): (Option<u64>, &str),
        effects: &mut dyn Effects<W>,
    ) -> Option<u64> {
        let lock = self.find(name)?;
        self.act(now, &lock, effects, |act| act.proclaim(fence, version, value))
    }

    /// How many elections are watched here.
    pub(crate) fn watched_elections(&self) -> usize {
        self.watches().len()
    }
}

fn send<W>(current: &Current, to: NodeId, payload: Payload<'_>, effects: &mut dyn Effects<W>) {
    let (epoch, to) = (current.view.epoch, current.view.members[to.index()].id);
    effects.send(to, &Envelope { epoch, payload });
}
