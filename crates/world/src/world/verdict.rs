//! What is judged of a whole world: each entry, that everybody gets on, and that nothing is left behind.

use skeptron_core::mutex::Mode;
use skeptron_member::report::Holder;

use super::*;

impl World {
    pub(super) fn judge_entry(&mut self, place: usize, lock: usize, entry: (Fence, Mode)) {
        let until = self.lease_end(place);
        let (now, who) = (self.now, judged(place));
        let other = self.judges[lock].members.enter(who, entry, now, until);
        self.judge_other(place, lock, entry, other);
        self.judge_fence(place, lock, entry.0);
    }

    /// An entry has become another one.
    pub(super) fn judge_change(
        &mut self,
        place: usize,
        lock: usize,
        before: Fence,
        entry: (Fence, Mode),
    ) {
        let other = self.judges[lock].members.change(before, entry, self.now);
        self.judge_other(place, lock, entry, other);
        if entry.1.is_exclusive() {
            self.judge_fence(place, lock, entry.0);
        }
    }

    fn judge_other(
        &mut self,
        place: usize,
        lock: usize,
        (fence, mode): (Fence, Mode),
        other: Option<NodeId>,
    ) {
        if let Some(other) = other {
            let (name, other) = (self.sites[place].id, self.sites[other.index()].id);
            let detail =
                format!("{name} is inside as {mode} with fence {fence:?} while {other} is, too");
            self.violate(Property::Exclusion, Some(lock), Some(place), detail);
        }
    }

    fn judge_fence(&mut self, place: usize, lock: usize, fence: Fence) {
        let (now, name) = (self.now, self.sites[place].id);
        let before = self.judges[lock].fence(fence);
        let repeated = !self.promises_exclusion() && !self.judges[lock].is_unique(fence);
        if let Some(before) = before
            && (repeated || self.is_wrong(place, before))
        {
            let detail = format!("{name} enters with fence {fence:?} after {before:?}");
            self.violate(Property::Fence, Some(lock), Some(place), detail);
        }
        let quiet_until = self.service.as_ref().map_or(0, |service| service.quiet_until);
        if now < quiet_until {
            let left = (quiet_until - now) / MILLISECOND;
            let detail =
                format!("{name} enters {left} ms before leases of before a power loss end");
            self.violate(Property::Lease, Some(lock), Some(place), detail);
        }
    }

    /// Whether a fence that is not the highest is wrong. With clocks beyond the bound, somebody who does
    /// not know that it was removed may still enter, but never with a fence that a resource accepts.
    fn is_wrong(&self, place: usize, before: Fence) -> bool {
        if self.promises_exclusion() {
            return true;
        }
        let life = self.sites[place].life.as_ref().map(|life| life.incarnation);
        let history = self.service.as_ref().map(|service| &service.history);
        match (life, history) {
            (Some(life), Some(history)) => history.includes(before.epoch(), life),
            _ => true,
        }
    }

    /// Whether clocks keep to the bound, so that beliefs mean something.
    fn promises_exclusion(&self) -> bool {
        !self.options.faults.has(FaultKind::Clocks)
    }

    /// A member has heard of all others in this view.
    pub(super) fn met(&mut self, place: usize, epoch: u64) {
        if let Some(service) = &mut self.service {
            service.history.met(self.now, epoch, self.sites[place].id, &mut self.figures);
        }
    }

    /// What a life has sent counts when it is over.
    pub(crate) fn count_messages(&mut self, place: usize) {
        if let Some(life) = &mut self.sites[place].life {
            self.figures.lock_messages += std::mem::take(&mut life.effects.messages);
        }
    }

    /// When the lease of a member ends, in true time.
    pub(crate) fn lease_end(&self, place: usize) -> Time {
        let site = &self.sites[place];
        site.life.as_ref().map_or(self.now, |life| site.clock.when(life.core.lease()))
    }

    /// A core cannot go on.
    pub(super) fn halted(&mut self, place: usize, why: &Halt) {
        if self.service.is_none() || !matches!(why, Halt::Lease | Halt::Excluded(..)) {
            return self.violate(Property::Halted, None, Some(place), why.to_string());
        }
        self.survived.leases_over += u64::from(*why == Halt::Lease);
        let now = self.clock(place);
        if let Some(life) = &mut self.sites[place].life {
            life.core.lose_all(now, &mut life.effects);
        }
        // What that wants done still belongs to this life; then the next one begins.
        let deferred =
            self.sites[place].life.as_mut().map(|life| std::mem::take(&mut life.effects.deferred));
        for deed in deferred.into_iter().flatten() {
            self.perform_one(place, deed);
        }
        self.flush(place);
        self.end_life(place);
        self.begin_membership(place);
    }

    /// A client got on: it was in, or is done with something.
    pub(crate) fn progress(&mut self) {
        self.last_progress = self.now;
    }

    pub(super) fn all_done(&self) -> bool {
        self.clients.iter().all(Client::is_done)
    }

    /// With crashes, a fixed membership promises safety alone.
    pub(super) fn must_progress(&self) -> bool {
        self.promises_exclusion()
            && (self.service.is_some() || !self.options.faults.has(FaultKind::Crashes))
    }

    pub(super) fn heal(&mut self) {
        (self.healed, self.healed_at) = (true, Some(self.now));
        self.figures.entries_in_storm = self.entries;
        self.progress();
        for path in &mut self.paths {
            (path.cuts, path.slowness) = (0, 1);
        }
        (self.quality.loss, self.quality.duplication, self.quality.reordering) = (0, 0, 0);
        if let Some(service) = &mut self.service {
            service.heal();
        }
    }

    pub(super) fn judge_stall(&mut self) {
        let waiting = self.clients.iter().filter(|client| !client.is_done());
        let waiting: Vec<String> = waiting.map(|client| format!("{client}")).collect();
        let seconds = PATIENCE / SECOND;
        let mut detail =
            format!("nobody got on for {seconds} s without faults; {}", waiting.join("; "));
        let lock = self.clients.iter().find(|client| !client.is_done()).and_then(Client::lock);
        if let Some(lock) = lock {
            detail += &self.who_has(lock);
        }
        self.violate(Property::Progress, lock, None, detail);
    }

    /// What the members say of a lock.
    fn who_has(&self, lock: usize) -> String {
        let (mut told, name) = (String::new(), &self.names[lock]);
        for (place, site) in self.sites.iter().enumerate() {
            let Some(life) = &site.life else { continue };
            let listed = life.core.listing(self.clock(place), name);
            for it in listed.into_iter().filter(|it| it.name == *name) {
                let (node, waiters) = (it.node, it.waiters);
                told += &match it.holder {
                    Some(Holder { owner, fence, held_ms, .. }) => {
                        format!(
                            "; {owner} holds it at {node}, fence {fence:?}, for {held_ms} ms, {waiters} wait"
                        )
                    }
                    None => format!("; {waiters} wait at {node}"),
                };
            }
        }
        told
    }

    /// Everybody is done: what is left behind, and where?
    pub(super) fn left_behind(&self) -> Option<(Property, usize, String)> {
        if !self.must_progress() {
            return None;
        }
        let newest = self.service.as_ref().and_then(|service| service.history.newest());
        for (place, site) in self.sites.iter().enumerate() {
            let Some(life) = &site.life else {
                let detail = format!("{} did not come back", site.id);
                return Some((Property::Progress, place, detail));
            };
            if newest.is_some_and(|newest| *newest != *life.view) {
                let detail = format!("{} does not know the newest view", site.id);
                return Some((Property::Progress, place, detail));
            }
            let load = life.core.load();
            let ends = life.effects.ends.iter().flatten();
            let unacknowledged: usize = ends.map(|end| end.link.unacknowledged()).sum();
            let missing = life.core.missing();
            let left = (load.waiters, load.held_locks, load.sessions, load.backlog_bytes);
            if left != (0, 0, 0, 0) || unacknowledged > 0 || !missing.is_empty() {
                let detail = format!(
                    "{} still has {load:?}, {unacknowledged} unacknowledged, missing {missing:?}",
                    site.id
                );
                return Some((Property::Leak, place, detail));
            }
            // Since the last view nothing was used; only some rights were kept, and some names are watched.
            let kept = self.naming.most.map_or(usize::MAX, |most| most / 8);
            let most = kept.saturating_add(self.watched_names());
            if self.at_rest && load.known_locks > most {
                let detail = format!("{} still knows {} names", site.id, load.known_locks);
                return Some((Property::Leak, place, detail));
            }
        }
        if let Some((place, detail)) = self.observers_left_behind() {
            return Some((Property::Leadership, place, detail));
        }
        None
    }

    /// A rule is broken. The first one counts.
    pub(crate) fn violate(
        &mut self,
        property: Property,
        lock: Option<usize>,
        place: Option<usize>,
        detail: String,
    ) {
        let promised =
            self.promises_exclusion() || matches!(property, Property::Fence | Property::Views);
        self.survived.exclusions_broken += u64::from(!promised && property == Property::Exclusion);
        if self.violation.is_none() && promised {
            self.violation = Some(Violation {
                property,
                detail,
                at_nanos: self.now,
                lock: lock.map(|lock| self.names[lock].clone()),
                member: place.map(NodeId::new),
                seed: self.seed,
            });
        }
    }
}
