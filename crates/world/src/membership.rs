//! The lives of members: they enter the cluster, renew their leases, learn views, leave.

use std::sync::Arc;

use skeptron_member::clock::MonoTime;
use skeptron_member::view::{Lease, View};
use skeptron_views::member::{Effect, End, Input, Membership};
use skeptron_views::views::{Join, JoinRefused, Outcome};

use crate::clock::{MICROSECOND, MILLISECOND, NEVER, Time};
use crate::history::Wrong;
use crate::machine::judged;
use crate::outcome::Property;
use crate::service::{ServiceMessage, Stop};
use crate::world::{Event, World};

/// Of the protocol between members, and of what guards the locks: all agree.
const VERSION: u32 = 1;
const PLANS: u64 = 1;

/// Whoever leaves while nothing goes wrong is out by then: less than half of the shortest lease.
const REMOVED_WITHIN: Time = 300 * MILLISECOND;

impl World {
    /// A new life of a member that is up asks to enter.
    pub(crate) fn begin_membership(&mut self, place: usize) {
        let Some(service) = &self.service else { return };
        let join = Join {
            id: self.sites[place].id,
            incarnation: self.view_chance.bits(),
            address: format!("member-{}:1", place + 1),
            api: Vec::new(),
            plans: PLANS,
            algorithms: String::new(),
            has_folder: true,
            version: VERSION,
        };
        let membership = Membership::new(join, service.voters.clone()).with_flaw(service.flaw);
        let site = &mut self.sites[place];
        site.membership = Some(membership);
        site.renew_at = NEVER;
        self.tell_membership(place, Input::Timer);
    }

    /// The moment has come that a membership asked for, or an earlier one.
    pub(crate) fn renew(&mut self, place: usize, boot: u64) {
        let site = &mut self.sites[place];
        if site.boot == boot && site.renew_at <= self.now {
            site.renew_at = NEVER;
            self.tell_membership(place, Input::Timer);
        }
    }

    pub(crate) fn tell_membership(&mut self, place: usize, input: Input) {
        let now = self.clock(place);
        let site = &mut self.sites[place];
        let Some(membership) = &mut site.membership else { return };
        let incarnation = membership.incarnation();
        let before = membership.lease();
        let mut out = Vec::new();
        membership.handle(now, input, &mut out);
        if let (Lease::Until(until), Some(service)) = (before, &mut self.service)
            && until <= now
        {
            service.history.over(incarnation);
        }
        for effect in out {
            match effect {
                Effect::Send { to, request } => {
                    self.post(place, to.place(), ServiceMessage::Request(request));
                }
                Effect::Installed(view) => self.install(place, incarnation, view),
                Effect::Prolonged(until) => {
                    self.judge_renewal(place, incarnation);
                    if self.lives(place, incarnation) {
                        self.take_lease(place, until);
                    }
                }
                Effect::Voters(_) => {}
                Effect::Over(end) => return self.over(place, end),
            }
        }
        self.start_if_ready(place);
        self.plan_renewal(place);
    }

    /// Tells the view service which lives cannot be reached: their links broke and are not mended.
    pub(crate) fn report_broken_links(&mut self, place: usize) {
        let site = &self.sites[place];
        if let (Some(life), Some(_)) = (&site.life, &site.membership) {
            let broken = life.effects.ends.iter().flatten().filter(|end| end.is_broken);
            let suspects = broken.filter_map(|end| end.link.incarnation()).collect();
            self.tell_membership(place, Input::Suspects(suspects));
        }
    }

    fn plan_renewal(&mut self, place: usize) {
        let site = &mut self.sites[place];
        let Some(membership) = &site.membership else { return };
        // A moment later, so that a membership that asks for the past does not stop the time.
        let due = site.clock.when(membership.next()).max(self.now + MICROSECOND);
        if due < site.renew_at {
            site.renew_at = due;
            let boot = site.boot;
            self.queue.plan(due, Event::Renew { at: place, boot });
        }
    }

    fn install(&mut self, place: usize, incarnation: u64, view: View) {
        let Some(service) = &mut self.service else { return };
        let judged = service.history.installed(incarnation, &view);
        self.judge_views(Some(place), judged.map(drop));
        if !self.lives(place, incarnation) {
            return;
        }
        let view = Arc::new(view);
        if let Some(life) = &mut self.sites[place].life {
            life.view = Arc::clone(&view);
        }
        self.update_links(place);
        self.with_core(place, |core, now, out| core.install(now, view, out));
    }

    /// A life begins to act when it knows its view and has a lease.
    fn start_if_ready(&mut self, place: usize) {
        let now = self.clock(place);
        let site = &self.sites[place];
        let Some(membership) = site.membership.as_ref().filter(|_| site.life.is_none()) else {
            return;
        };
        if let (Some(view), Lease::Until(until)) = (membership.view(), membership.lease())
            && now < until
        {
            let (view, incarnation) = (Arc::new(view.clone()), membership.incarnation());
            self.start_life(place, incarnation, view);
            self.take_lease(place, until);
        }
    }

    /// A life is over for the view service.
    fn over(&mut self, place: usize, end: End) {
        let life = self.sites[place].membership.as_ref().map(Membership::incarnation);
        if let (Some(incarnation), Some(service)) = (life, &mut self.service) {
            service.history.over(incarnation);
        }
        match end {
            End::Left => {
                let down = self.view_chance.below(500 * MILLISECOND);
                self.stop(place, Stop::Clean, down);
            }
            End::Refused(JoinRefused::Plans { .. } | JoinRefused::Version { .. }) => {
                self.violate(Property::Halted, None, Some(place), end.to_string());
            }
            End::RanOut | End::Removed | End::Refused(_) if self.sites[place].life.is_some() => {
                // The core halts, which begins the next life.
                self.with_core(place, |core, now, out| core.renew(now, Lease::Over, out));
            }
            End::RanOut | End::Removed | End::Refused(_) => self.begin_membership(place),
        }
    }

    /// A member has a lease until then, by its clock.
    fn take_lease(&mut self, place: usize, until: MonoTime) {
        self.with_core(place, |core, now, out| core.renew(now, Lease::Until(until), out));
        let (now, end) = (self.now, self.lease_end(place));
        for judge in &mut self.judges {
            judge.members.extend(judged(place), now, end);
        }
        for client in 0..self.clients.len() {
            let it = &self.clients[client];
            if it.is_embedded
                && it.at == place
                && let Some((lock, _)) = it.holds()
            {
                self.judges[lock].clients.extend(judged(client), now, end);
            }
        }
    }

    /// A member begins to leave: it takes no more requests, and waits until no client can believe in
    /// what it holds through it.
    pub(crate) fn begin_to_leave(&mut self, place: usize) {
        let Some(life) = self.sites[place].life.as_ref().filter(|it| !it.core.is_leaving()) else {
            return;
        };
        let incarnation = life.incarnation;
        self.survived.leaves += 1;
        self.with_core(place, |core, now, out| core.leave(now, out));
        self.with_core(place, |core, now, _| core.end_sessions(now));
        let at = self.now + self.view_chance.below(50 * MILLISECOND);
        self.queue.plan(at, Event::Leave { at: place, incarnation });
    }

    /// It has given everything up and says so, as soon as it has.
    pub(crate) fn leave(&mut self, place: usize, incarnation: u64) {
        if !self.lives(place, incarnation) {
            return;
        }
        // Clients may believe in what they hold here until they have moved away, or must know better.
        if let Some(Some(_)) = self.with_core(place, |core, now, _| core.end_sessions(now)) {
            let at = self.now + 20 * MILLISECOND;
            return self.queue.plan(at, Event::Leave { at: place, incarnation });
        }
        self.with_core(place, |core, now, out| core.close_sessions(now, out));
        self.with_core(place, |core, now, out| core.lose_all(now, out));
        self.end_life(place);
        if let Some(service) = &mut self.service {
            let out_by = self.at_rest.then_some(self.now + REMOVED_WITHIN);
            service.history.leaves(incarnation, self.now, out_by);
        }
        self.tell_membership(place, Input::Leave);
    }

    /// A voter knows of a decision.
    pub(crate) fn decided(&mut self, view: &View, outcomes: &[Outcome]) {
        let Some(service) = &mut self.service else { return };
        self.hash.mix(6 + self.now, view.epoch);
        let figures = &mut self.figures;
        let judged = service.history.decided(self.now, view, outcomes, figures);
        let is_new = matches!(judged, Ok(true));
        self.judge_views(None, judged.map(drop));
        if is_new {
            self.survived.views += 1;
            self.note_view(view);
            let count = |is_it: fn(&Outcome) -> bool| {
                outcomes.iter().filter(|outcome| is_it(outcome)).count() as u64
            };
            self.survived.moved_away += count(|it| matches!(it, Outcome::Away(_)));
            self.survived.taken_back += count(|it| matches!(it, Outcome::Back(_)));
        }
        for outcome in outcomes {
            if let Outcome::Left(member) | Outcome::Gone(member) = outcome
                && let Some(incarnation) = member.incarnation
            {
                self.judge_removal(member.id.place(), incarnation);
            }
        }
    }

    fn judge_views(&mut self, place: Option<usize>, judged: Result<(), Wrong>) {
        if let Err((property, detail)) = judged {
            self.violate(property, None, place, detail);
        }
    }

    /// Nobody believes in the lease of a life that is removed.
    fn judge_removal(&mut self, place: usize, incarnation: u64) {
        let now = self.clock(place);
        let site = &self.sites[place];
        let membership = site.membership.as_ref().filter(|it| it.incarnation() == incarnation);
        let until = match membership.map(Membership::lease) {
            Some(Lease::Until(until)) => until,
            _ => MonoTime::default(),
        };
        let life = site.life.as_ref().filter(|life| life.incarnation == incarnation);
        let until = until.max(life.map_or(MonoTime::default(), |life| life.core.lease()));
        if until > now {
            let left = until.since(now);
            let detail = format!("{} is removed and believes in its lease for {left:?}", site.id);
            self.violate(Property::Lease, None, Some(place), detail);
        }
    }

    fn judge_renewal(&mut self, place: usize, incarnation: u64) {
        let Some(service) = &self.service else { return };
        let judged = service.history.renewed(incarnation);
        self.judge_views(Some(place), judged);
    }
}
