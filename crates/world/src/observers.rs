//! Observers of elections: one at every member for every lock that is used all the time but the last, one
//! for every such lock that goes from member to member, and one that goes from member to member and looks
//! at a name that is used for a while each time. What they see is compared with who believed to lead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skeptron_member::Fence;
use skeptron_member::election::{Leadership, Observed, Seen};

use crate::chance::{Chance, Purpose};
use crate::clock::MILLISECOND;
use crate::machine::judged;
use crate::options::Options;
use crate::outcome::Property;
use crate::world::{Event, World};

/// All observers, and what is known of those that lead.
#[derive(Debug)]
pub(crate) struct Elections {
    observers: Vec<Observer>,
    /// By lock.
    leaders: Vec<Leaders>,
    chance: Chance,
}

#[derive(Debug)]
struct Observer {
    lock: usize,
    /// The member that it is at; none if it is at none.
    at: Option<usize>,
    /// Whether it goes from member to member; else it is at one, whichever its life.
    roams: bool,
    /// Whether it also goes from name to name.
    wanders: bool,
    seen: Seen,
    terms: BTreeSet<Fence>,
    /// The terms up to this may have been missed; none if it has not been told anything yet.
    base: Option<Fence>,
    /// Whether nobody leads, as far as it knows.
    is_vacant: bool,
}

/// Who believed to lead with one lock.
#[derive(Clone, Debug, Default)]
struct Leaders {
    terms: BTreeSet<Fence>,
    /// The last term of each client that held the lock to lead last.
    last: BTreeMap<usize, Fence>,
}

impl Elections {
    /// Nobody watches but with `options.elections`: `usual` of so many `names`, and the others in turn.
    pub(crate) fn new(seed: u64, options: &Options, names: usize, usual: usize) -> Self {
        let (members, chance) = (options.members, Chance::new(seed, Purpose::Observers, 0));
        let observer = |lock, at: Option<usize>| Observer {
            lock,
            at,
            roams: at.is_none(),
            wanders: lock >= usual,
            seen: Seen::default(),
            terms: BTreeSet::new(),
            base: None,
            is_vacant: false,
        };
        let at = |lock| {
            // Nobody watches the last one for long, if there are several.
            let resident = if lock > 0 && lock + 1 == usual { 0 } else { members };
            let places = (0..resident).map(Some).chain([None]);
            places.map(move |place| observer(lock, place))
        };
        let wanderer = (usual < names).then(|| observer(usual, None));
        let mut observers: Vec<_> = (0..usual).flat_map(at).chain(wanderer).collect();
        if !options.elections {
            observers.clear();
        }
        Elections { observers, leaders: vec![Leaders::default(); names], chance }
    }
}

impl World {
    /// Those that roam begin to.
    pub(crate) fn plan_observers(&mut self) {
        for observer in 0..self.elections.observers.len() {
            if self.elections.observers[observer].roams {
                self.plan_observer(observer);
            }
        }
    }

    fn plan_observer(&mut self, observer: usize) {
        let after = self.elections.chance.below(600 * MILLISECOND);
        self.queue.plan(self.now + after, Event::Observer(observer));
    }

    /// A life of a member begins, and with it whoever observes there.
    pub(crate) fn begin_observers(&mut self, place: usize) {
        for observer in 0..self.elections.observers.len() {
            let it = &mut self.elections.observers[observer];
            if !it.roams && it.at == Some(place) {
                (it.seen, it.base, it.is_vacant) = (Seen::default(), None, false);
                it.terms.clear();
                self.begin_to_observe(observer, place);
            }
        }
    }

    /// A life of a member is over.
    pub(crate) fn end_observers(&mut self, place: usize) {
        for it in &mut self.elections.observers {
            if it.roams && it.at == Some(place) {
                it.at = None;
            }
        }
    }

    /// One that roams goes to another member.
    pub(crate) fn move_observer(&mut self, observer: usize) {
        let it = &mut self.elections.observers[observer];
        let (name, left) = (self.names[it.lock].clone(), it.at.take());
        if let Some(place) = left {
            self.with_core(place, |core, now, out| core.unobserve(now, &name, out));
        }
        let place = self.elections.chance.index(self.sites.len());
        let it = &mut self.elections.observers[observer];
        if it.wanders {
            let lately = self.elections.chance.index(4);
            (it.lock, it.seen) = (self.naming.order(lately), Seen::default());
            it.terms.clear();
        }
        (it.at, it.base) = (Some(place), None);
        if !self.begin_to_observe(observer, place) {
            self.elections.observers[observer].at = None;
        }
        if !self.healed {
            self.plan_observer(observer);
        }
    }

    /// Whether the member lets it.
    fn begin_to_observe(&mut self, observer: usize, place: usize) -> bool {
        let it = &self.elections.observers[observer];
        let (lock, after, names) = (it.lock, it.seen.term(), Arc::clone(&self.names));
        let begun =
            self.with_core(place, |core, now, out| core.observe(now, &names[lock], after, out));
        let Some(Ok(Observed { told, .. })) = begun else { return false };
        if let Some(told) = told {
            self.tell_observer(observer, place, (u64::MAX, &told));
        }
        true
    }

    /// A member tells whoever observes there.
    pub(crate) fn tell_observers(
        &mut self,
        place: usize,
        lock: usize,
        round: u64,
        told: &Leadership,
    ) {
        for observer in 0..self.elections.observers.len() {
            let it = &self.elections.observers[observer];
            if it.lock == lock && it.at == Some(place) {
                self.tell_observer(observer, place, (round, told));
            }
        }
    }

    fn tell_observer(&mut self, observer: usize, place: usize, (round, told): (u64, &Leadership)) {
        let it = &mut self.elections.observers[observer];
        let (lock, before) = (it.lock, it.seen.term());
        let Some(told) = it.seen.news_of(round, told.clone()) else { return };
        let leaders = &self.elections.leaders[lock];
        it.is_vacant = told.leader.is_none();
        if told.missed || it.base.is_none() {
            // Whoever led until now may have been missed.
            let latest = leaders.terms.last().copied();
            it.base = Some(latest.max(told.term).unwrap_or_default());
        }
        if told.leader.is_some()
            && let Some(term) = told.term
            && it.terms.insert(term)
        {
            self.survived.leaders_seen += 1;
        }
        let (who, term) = (self.sites[place].id, told.term.unwrap_or_default());
        let missed = it.missed_until(&leaders.terms, term);
        let believers = &self.judges[lock].clients;
        let leads = leaders
            .last
            .iter()
            .find(|&(&client, &led)| led <= term && believers.believes(judged(client), self.now));
        let leads = leads.map(|(&client, &led)| (client, led));
        if let Some(missed) = missed {
            let detail =
                format!("an observer at {who} has seen {term:?} after {before:?}, not {missed:?}");
            self.violate(Property::Leadership, Some(lock), Some(place), detail);
        }
        if let Some((client, led)) = leads.filter(|_| told.leader.is_none()) {
            let detail = format!(
                "an observer at {who} is told that nobody leads while client {} does with {led:?}",
                client + 1
            );
            self.violate(Property::Leadership, Some(lock), Some(place), detail);
        }
    }

    /// A client begins to believe that it leads, if it campaigned.
    pub(crate) fn judge_leader(&mut self, client: usize, lock: usize, fence: Fence) {
        let it = &self.clients[client];
        let leaders = &mut self.elections.leaders[lock];
        if it.is_embedded || !it.campaigns {
            leaders.last.remove(&client);
            return;
        }
        leaders.terms.insert(fence);
        leaders.last.insert(client, fence);
        let passed = self.elections.observers.iter().find(|it| {
            let passed = it.lock == lock && it.seen.term() > Some(fence);
            passed && it.base.is_some_and(|base| fence > base) && !it.terms.contains(&fence)
        });
        if let Some(place) = passed.and_then(|it| it.at) {
            let who = self.sites[place].id;
            let detail = format!(
                "client {} leads with {fence:?}, which an observer at {who} did not see",
                client + 1
            );
            self.violate(Property::Leadership, Some(lock), Some(place), detail);
        }
    }

    /// How many names are observed anywhere.
    pub(crate) fn watched_names(&self) -> usize {
        let observers = self.elections.observers.iter().filter(|it| it.at.is_some());
        observers.map(|it| it.lock).collect::<BTreeSet<_>>().len()
    }

    /// Everybody is done: who has not seen all, or does not know that nobody leads?
    pub(crate) fn observers_left_behind(&self) -> Option<(usize, String)> {
        for it in self.elections.observers.iter().filter(|it| !it.roams) {
            let place = it.at?;
            let (who, name) = (self.sites[place].id, &self.names[it.lock]);
            let last = Fence::from_number(u64::MAX);
            if let Some(missed) = it.missed_until(&self.elections.leaders[it.lock].terms, last) {
                return Some((place, format!("nobody at {who} saw {missed:?} lead `{name}`")));
            }
            if !it.is_vacant {
                let told = it.seen.term();
                let detail = format!("an observer of `{name}` at {who} still believes in {told:?}");
                return Some((place, detail));
            }
        }
        None
    }
}

impl Observer {
    /// A leader before this term that it should have seen, and has not.
    fn missed_until(&self, led: &BTreeSet<Fence>, term: Fence) -> Option<Fence> {
        let base = self.base.filter(|&base| base < term)?;
        led.range(base..term).copied().find(|led| *led > base && !self.terms.contains(led))
    }
}
