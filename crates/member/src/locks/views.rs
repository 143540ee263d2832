//! What a change of views does to the locks. A right stays where it is: whoever holds or keeps a lock
//! goes on entering it. Everything else is forgotten, and a lock's home lets it begin anew when every
//! member has said that it keeps no right to it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};

use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::Presence;

use super::current::{Current, Early};
use super::home::Home;
use super::lock::{Lock, State};
use super::{Effects, Event, Flaw, Halt, Locks, MemberId, MonoTime, Withheld, recent};
use crate::session::{Sessions, Settled};
use crate::view::View;
use crate::wire::{Envelope, Payload};

/// Locks in one announcement at most: with the longest names they fit into the shortest frame.
const MOST_ANNOUNCED: usize = 200;

/// A lock to which a right is kept in a view, or in which this member has entries inside that tolerate
/// others: its home, its name, the counter of its last fence, and those entries.
type KeptLock = (NodeId, Arc<str>, u64, Option<Presence>);

/// Idle rights kept across a view change at most; the others are given up. Fewer where few names may be
/// known: what is kept cannot be forgotten.
const MOST_IDLE_KEPT: usize = 10_000;

impl<W> Locks<W> {
    /// The present view.
    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.current().view)
    }

    /// The members that have not announced themselves in this view.
    pub(crate) fn missing(&self) -> Vec<MemberId> {
        let current = self.current();
        let home = current.home();
        home.missing().iter().map(|rank| current.view.members[rank.index()].id).collect()
    }

    /// How many bytes wait for a later view or for a lock to begin.
    pub(crate) fn backlog(&self) -> usize {
        let current = self.current();
        let held_back = current.home().held_back_bytes();
        current.early_bytes + held_back
    }

    /// Tells the others that this member is there and keeps nothing. To be called once, first.
    pub(crate) fn open(&self, effects: &mut dyn Effects<W>) {
        let current = self.current();
        effects.tell(Event::View { epoch: current.view.epoch, kept: 0 });
        for to in current.others() {
            announce(&current, to, &[], effects);
        }
    }

    /// Takes what a member sent: now, when its view begins here, or never.
    pub(crate) fn receive(
        &self,
        now: MonoTime,
        from: MemberId,
        sequence: u64,
        envelope: &Envelope<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        // What a client says, or is told, does not depend on the view.
        if let Payload::Relay(relay) = envelope.payload {
            return effects.relay(from, relay);
        }
        loop {
            let current = self.current();
            match envelope.epoch.cmp(&current.view.epoch) {
                std::cmp::Ordering::Less if !self.has(Flaw::OldViewTaken) => {
                    return effects.tell(Event::Stale { from });
                }
                std::cmp::Ordering::Less | std::cmp::Ordering::Equal => {
                    let payload = &envelope.payload;
                    return self.take_in(&current, now, from, sequence, payload, effects);
                }
                std::cmp::Ordering::Greater if self.has(Flaw::EarlyTaken) => {
                    let payload = &envelope.payload;
                    return self.take_in(&current, now, from, sequence, payload, effects);
                }
                std::cmp::Ordering::Greater => drop(current),
            }
            if self.keep(from, sequence, envelope, effects) {
                return;
            }
        }
    }

    /// Keeps an envelope of a later view, unless that has begun meanwhile.
    fn keep(
        &self,
        from: MemberId,
        sequence: u64,
        envelope: &Envelope<'_>,
        effects: &mut dyn Effects<W>,
    ) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if envelope.epoch <= current.view.epoch {
            return false;
        }
        if self.has(Flaw::EarlyDropped) {
            return true;
        }
        self.keep_early(&mut current, (from, sequence), envelope, effects);
        true
    }

    /// Takes what a member sent in the present view.
    fn take_in(
        &self,
        current: &Current,
        now: MonoTime,
        from: MemberId,
        sequence: u64,
        payload: &Payload<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        let Some(rank) = current.view.rank(from) else {
            let why = "it does not belong to this view";
            return effects.tell(Event::Refused { lock: "", from, why });
        };
        current.age(now);
        if current.peers[rank.index()].is_muted() {
            return effects.tell(Event::Stale { from });
        }
        let lock = match *payload {
            Payload::Message { lock, .. }
            | Payload::Wake { lock }
            | Payload::Take { lock }
            | Payload::Wanted { lock }
            | Payload::Freed { lock, .. }
            | Payload::Sharing { lock, .. }
            | Payload::Ask { lock }
            | Payload::Pass { lock, .. }
            | Payload::Unwatch { lock }
            | Payload::Seen { lock, .. } => lock,
            Payload::Announce { ref kept, last } => {
                return self.announced(current, now, rank, kept, last, effects);
            }
            Payload::Watch { ref locks } => {
                return self.watched(current, now, from, locks, effects);
            }
            Payload::Leads { .. } | Payload::Vacant { .. } => {
                return self.told(current, from, payload, effects);
            }
            Payload::Query { .. }
            | Payload::Answer { .. }
            | Payload::Break { .. }
            | Payload::Broken { .. }
            | Payload::Relay(_) => return,
        };
        if let Some(lock) = self.members_lock(current, now, rank, lock, effects) {
            let act = |act: &mut super::Act<'_, W>| act.receive(rank, sequence, payload);
            self.act_in(current, now, &lock, effects, act);
        }
    }

    /// `from` has entered this view and keeps these locks, whose home this member is.
    fn announced(
        &self,
        current: &Current,
        now: MonoTime,
        from: NodeId,
        kept: &[(&str, u64, Option<Presence>)],
        last: bool,
        effects: &mut dyn Effects<W>,
    ) {
        let member = current.view.members[from.index()].id;
        if !current.home().missing().contains(&from) {
            let why = "it announces itself twice";
            return effects.tell(Event::Refused { lock: "", from: member, why });
        }
        for &(name, counter, here) in kept {
            if current.home_of(name) != current.me {
                let why = "it announces a lock whose home this member is not";
                effects.tell(Event::Refused { lock: name, from: member, why });
                continue;
            }
            let counter = Self::believed(current, now, (from, name), counter, effects);
            let lock = self.members_lock(current, now, from, name, effects);
            // Whoever says too much is not listened to: the home waits for its word in vain.
            if current.peers[from.index()].is_muted() {
                return;
            }
            let Some(lock) = lock else { continue };
            self.act_in(current, now, &lock, effects, |act| {
                if self.has(Flaw::KeepersIgnored) {
                    return;
                }
                if current.home().keeps(from, Arc::clone(&lock.name), counter, here) {
                    act.tell_wanted(from);
                }
                if here.is_some() && self.has(Flaw::AwaySharersIgnored) {
                    current.home().ignore_away(&lock.name);
                }
            });
        }
        if last && current.home().announced(from) {
            self.met(current, now, effects);
        }
    }

    /// All members have announced themselves: what nobody keeps may begin.
    fn met(&self, current: &Current, now: MonoTime, effects: &mut dyn Effects<W>) {
        effects.tell(Event::Met { epoch: current.view.epoch });
        self.begin_to_forget(current, effects);
        let unkept = current.home().unkept();
        for name in unkept {
            if let Some(lock) = self.find(&name) {
                self.act_in(current, now, &lock, effects, |act| act.open_if_free());
            }
        }
        self.confirm_all(current, now, effects);
    }

    /// A view has been decided. Entering it, announcing what is kept and taking what had arrived for it
    /// is one transition: nothing else happens at this member meanwhile.
    pub(crate) fn install(
        &self,
        now: MonoTime,
        view: Arc<View>,
        sessions: &Sessions,
        effects: &mut dyn Effects<W>,
    ) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if self.has(Flaw::AwayStruckInPlace) && view.epoch == current.view.epoch {
            current.home().forget_away();
            return self.met(&current, now, effects);
        }
        // Others go on without this member; it has what it had, in its own view, until its lease ends.
        let is_away = self.incarnation.is_some_and(|life| view.is_away(self.id, life));
        if view.epoch <= current.view.epoch || is_away {
            return;
        }
        let named = view.member(self.id).and_then(|member| member.incarnation);
        if self.incarnation.is_some() && named != self.incarnation {
            return self.stop(Halt::Excluded(self.id, view.epoch), effects);
        }
        let mut next = match Current::new(self.id, view, &self.settings.plans) {
            Ok(next) => next,
            Err(halt) => return self.stop(halt, effects),
        };
        let epoch = next.view.epoch;
        let (early, later): (VecDeque<_>, _) = std::mem::take(&mut current.early)
            .into_iter()
            .filter(|early| early.epoch >= epoch)
            .partition(|early| early.epoch == epoch);
        next.early_bytes = later.iter().map(Early::bytes).sum();
        next.early = later;
        next.dropped = std::mem::take(&mut current.dropped);
        next.dropped.retain(|_, dropped| *dropped >= epoch);
        next.pasts = current.passed();
        if !next.view.away.is_empty() {
            next.away_since = current.away_since.or(Some(now));
        }
        let skipped = epoch > current.view.epoch + 1;
        *current = next;
        let current = &*current;
        current.age(now);

        let (mut kept, waiting) = self.convert(current, now);
        self.adopt(current, now, sessions, &mut kept, effects);
        effects.tell(Event::View { epoch, kept: kept.len() });
        let kept_for = |home: NodeId| {
            let announced = !self.has(Flaw::KeptNotAnnounced);
            let shared = !self.has(Flaw::SharersNotAnnounced);
            let at_home = kept.iter().filter(move |(at, _, _, here)| {
                announced && *at == home && (here.is_none() || shared)
            });
            at_home.map(|(_, name, counter, here)| (Arc::clone(name), *counter, *here))
        };
        let away = !current.view.away.is_empty() && !self.has(Flaw::AwayIgnored);
        let home = Home::new(current.me, current.others(), kept_for(current.me), away);
        *current.home() = home.opening_early(self.has(Flaw::HomeOpensEarly));
        self.watch_again(current, now, skipped, effects);
        for to in current.others() {
            announce(current, to, &kept_for(to).collect::<Vec<_>>(), effects);
        }
        self.mute_dropped(current, effects);
        if current.view.members.len() == 1 {
            self.met(current, now, effects);
        }
        for Early { from, sequence, payload, .. } in early {
            let payload = postcard::from_bytes(&payload).expect("it was encoded here");
            self.take_in(current, now, from, sequence, &payload, effects);
        }
        for lock in waiting {
            self.act_in(current, now, &lock, effects, |act| act.serve());
        }
    }

    /// Keeps what sessions bring whose former life can no longer act.
    fn adopt(
        &self,
        current: &Current,
        now: MonoTime,
        sessions: &Sessions,
        kept: &mut Vec<KeptLock>,
        effects: &mut dyn Effects<W>,
    ) {
        // Those that are inside with others already.
        let inside = kept.iter().enumerate().filter(|(_, (_, _, _, here))| here.is_some());
        let mut inside: BTreeMap<_, _> =
            inside.map(|(place, (_, name, _, _))| (Arc::clone(name), place)).collect();
        for Settled { lock, fence, mode, session, leads } in
            sessions.settle(&current.view, self.settings.flaw)
        {
            // One more name than allowed does less harm than a lock that two hold.
            let Ok(lock) = self.lock_within(&lock, usize::MAX) else { continue };
            let adopt = |act: &mut super::Act<'_, W>| act.adopt((fence, mode), session, leads);
            let adopted = self.act_in(current, now, &lock, effects, adopt);
            if !adopted || self.has(Flaw::AdoptedNotAnnounced) {
                continue;
            }
            let here = Some(lock.state().presence()).filter(|_| !mode.is_exclusive());
            if let Some(&place) = inside.get(&lock.name) {
                kept[place].3 = here;
                continue;
            }
            if here.is_some() {
                inside.insert(Arc::clone(&lock.name), kept.len());
            }
            kept.push((current.home_of(&lock.name), Arc::clone(&lock.name), 0, here));
        }
    }

    /// Takes the locks in recent use into the present view. Returns those to which a right is kept, or
    /// that are held here with others, and those that somebody here waits for.
    fn convert(&self, current: &Current, now: MonoTime) -> (Vec<KeptLock>, Vec<Arc<Lock<W>>>) {
        let (mut kept, mut waiting, mut idle) = (Vec::new(), Vec::new(), 0);
        let most_idle = MOST_IDLE_KEPT.min(self.settings.limits.locks / 8);
        let period = recent::period(now);
        for shard in &self.shards {
            let recent = || shard.recent.lock().unwrap_or_else(PoisonError::into_inner);
            let listed: Vec<_> = recent().drain().collect();
            for lock in listed {
                let mut state = lock.state();
                if state.epoch == current.view.epoch {
                    continue;
                }
                let is_recent = state.listed.is_some_and(|listed| listed + 1 >= period);
                let rests = is_recent
                    && idle < most_idle
                    && state.entries().next().is_none()
                    && state.is_alone()
                    && (state.kept.is_some()
                        || current.layouts[lock.plan].has_token && state.rests_here());
                idle += usize::from(rests);
                let keeps = rests || state.holder.is_some();
                self.enter_view(current, &lock, &mut state, keeps);
                let here = Some(state.presence()).filter(|here| here.count > 0);
                if keeps || here.is_some() {
                    kept.push((state.home, Arc::clone(&lock.name), state.counter.attach(), here));
                }
                if !state.waiters.is_empty() || state.upgrade.is_some() {
                    waiting.push(Arc::clone(&lock));
                }
                // What leaves the list must be listed anew at its next use, also in this period.
                state.listed = (keeps || state.in_use()).then_some(period);
                if state.listed.is_some() {
                    recent().add(period, &lock);
                }
            }
        }
        (kept, waiting)
    }

    /// Takes a lock into the present view.
    pub(super) fn enter_view(
        &self,
        current: &Current,
        lock: &Lock<W>,
        state: &mut State<W>,
        keeps: bool,
    ) {
        let home = current.home_of(&lock.name);
        let own = home == current.me
            && !current.view.away.is_empty()
            && current.pasts.owned(&lock.name, state, self.settings.flaw);
        state.enter_view(current.view.epoch, home, keeps, own);
    }

    /// What waits because somebody is away; none if nobody is.
    pub(crate) fn withheld(&self) -> Option<Withheld> {
        let current = self.current();
        let away: Vec<MemberId> = current.view.away.iter().map(|life| life.id).collect();
        let locks = current.home().withheld();
        (!away.is_empty()).then_some(Withheld { locks, since: current.away_since, away })
    }

    /// How many locks a view change would look at.
    pub(crate) fn recent(&self) -> usize {
        let recent = |shard: &super::Shard<W>| {
            shard.recent.lock().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.shards.iter().map(recent).sum()
    }
}

fn announce<W>(
    current: &Current,
    to: NodeId,
    kept: &[(Arc<str>, u64, Option<Presence>)],
    effects: &mut dyn Effects<W>,
) {
    let (epoch, to) = (current.view.epoch, current.view.members[to.index()].id);
    let mut chunks = kept.chunks(MOST_ANNOUNCED).peekable();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let kept = chunk.iter().map(|(name, counter, here)| (&**name, *counter, *here)).collect();
        let last = chunks.peek().is_none();
        effects.send(to, &Envelope { epoch, payload: Payload::Announce { kept, last } });
        if last {
            return;
        }
    }
}
