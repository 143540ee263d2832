//! Whoever decides views: one that never fails, with a clock of its own. It stands for what consensus
//! will do. Leases are granted as runtime.md §4 says, in its simplest form: the member counts from
//! its sending, the oracle from the receipt.

use std::sync::Arc;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::Moment;
use skeptron_member::view::{Lease, Member, View};

use crate::clients::Goal;
use crate::clock::{Clock, MILLISECOND, NEVER, SECOND, Time};
use crate::faults::FaultKind;
use crate::site::judged;
use crate::world::{Event, World};

/// The lease as the oracle counts it.
const LEASE: Duration = Duration::from_millis(400);
/// How often it looks whose lease is over and who wants to join.
const TICK: Time = 20 * MILLISECOND;

/// Decides views and grants leases.
#[derive(Debug)]
pub(crate) struct Oracle {
    pub(crate) view: Arc<View>,
    /// Whether members need leases.
    pub(crate) leases: bool,
    clock: Clock,
    /// When each member's lease was last renewed, by the oracle's clock.
    renewed: Vec<Moment>,
    /// Which life of a member wants to join, and when it said so by its own clock.
    joining: Vec<Option<(u64, Moment)>>,
    /// Who is cut off from it.
    pub(crate) unheard: Vec<bool>,
    renumber_at: Time,
}

/// What happens between members and the oracle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// The oracle looks around.
    Tick,
    /// A member asks for another lease.
    Ask { member: usize, incarnation: u64 },
    /// That arrives.
    Renew { member: usize, incarnation: u64, sent: Moment },
    /// The answer arrives.
    Renewed { member: usize, incarnation: u64, sent: Moment },
    /// A member's lease may be over.
    LeaseEnds { member: usize, incarnation: u64 },
    /// A member that is up wants to belong to a view.
    AskToJoin { member: usize, incarnation: u64 },
    /// That arrives.
    Join { member: usize, incarnation: u64, sent: Moment },
}

impl Word {
    /// The member that must not stand still for this to happen.
    pub(crate) fn member(&self) -> Option<usize> {
        match *self {
            Word::Ask { member, .. }
            | Word::Renewed { member, .. }
            | Word::LeaseEnds { member, .. }
            | Word::AskToJoin { member, .. } => Some(member),
            Word::Tick | Word::Renew { .. } | Word::Join { .. } => None,
        }
    }
}

impl Oracle {
    pub(crate) fn new(view: Arc<View>, leases: bool, clock: Clock) -> Self {
        let members = view.members.len();
        Oracle {
            view,
            leases,
            renewed: vec![clock.read(0); members],
            clock,
            joining: vec![None; members],
            unheard: vec![false; members],
            renumber_at: 0,
        }
    }
}

impl World {
    /// For how long a member believes in its lease.
    fn hold(&self) -> Duration {
        self.drift.believed(LEASE)
    }

    pub(crate) fn begin_leases(&mut self) {
        if !self.oracle.leases {
            return;
        }
        for place in 0..self.sites.len() {
            let until = self.clock(place).after(self.hold());
            self.take_lease(place, until);
            if let Some(life) = &self.sites[place].life {
                let incarnation = life.incarnation;
                self.plan_word(0, Word::Ask { member: place, incarnation });
            }
        }
    }

    pub(crate) fn plan_views(&mut self) {
        if self.options.faults.has(FaultKind::Views) {
            self.oracle.renumber_at = self.view_chance.below(SECOND);
            self.plan_word(TICK, Word::Tick);
        }
    }

    fn plan_word(&mut self, after: Time, word: Word) {
        self.queue.plan(self.now + after, Event::Oracle(word));
    }

    /// Between a member and the oracle; not every word arrives.
    fn send_word(&mut self, member: usize, word: Word) {
        if self.oracle.unheard[member] && !self.healed
            || self.view_chance.happens(self.quality.loss)
        {
            self.survived.lost += 1;
            return;
        }
        let late = self.view_chance.below(20) == 0 && !self.healed;
        let most = if late { 200 * MILLISECOND } else { 2 * MILLISECOND };
        let after = self.view_chance.below(most);
        self.plan_word(after, word);
    }

    pub(crate) fn hear_oracle(&mut self, word: Word) {
        match word {
            Word::Tick => {
                self.decide();
                self.plan_word(TICK, Word::Tick);
            }
            Word::Ask { member, incarnation } => {
                if self.lives(member, incarnation) {
                    let sent = self.clock(member);
                    self.send_word(member, Word::Renew { member, incarnation, sent });
                    self.plan_word(self.hold().as_nanos() as Time / 6, word);
                }
            }
            Word::Renew { member, incarnation, sent } => {
                if self.is_member(member, incarnation) {
                    let now = self.oracle.clock.read(self.now);
                    self.oracle.renewed[member] = self.oracle.renewed[member].max(now);
                    self.send_word(member, Word::Renewed { member, incarnation, sent });
                }
            }
            Word::Renewed { member, incarnation, sent } => {
                if self.lives(member, incarnation) {
                    let until = sent.after(self.hold());
                    self.take_lease(member, until);
                    // The answer names the epoch, so nobody stays behind.
                    let view = Arc::clone(&self.oracle.view);
                    self.learn_view(member, incarnation, view, Moment::NEVER);
                }
            }
            Word::LeaseEnds { member, incarnation } => {
                let now = self.clock(member);
                let site = &self.sites[member];
                let is_over = site.life.as_ref().is_some_and(|life| life.core.lease() <= now);
                if self.lives(member, incarnation) && is_over {
                    self.with_core(member, |core, now, desk| core.renew(now, Lease::Over, desk));
                }
            }
            Word::AskToJoin { member, incarnation } => {
                if self.sites[member].joining == Some(incarnation) {
                    let sent = self.clock(member);
                    self.send_word(member, Word::Join { member, incarnation, sent });
                    self.plan_word(50 * MILLISECOND, word);
                }
            }
            Word::Join { member, incarnation, sent } => {
                if !self.is_member(member, incarnation) {
                    self.oracle.joining[member] = Some((incarnation, sent));
                }
            }
        }
    }

    fn is_member(&self, place: usize, incarnation: u64) -> bool {
        let member = self.oracle.view.member(MemberId::at(place));
        member.is_some_and(|member| member.incarnation == Some(incarnation))
    }

    /// A member has a lease until then, by its clock.
    fn take_lease(&mut self, place: usize, until: Moment) {
        let Some(life) = &self.sites[place].life else { return };
        let lease = life.core.lease();
        let until = if lease == Moment::NEVER { until } else { until.max(lease) };
        self.with_core(place, |core, now, desk| core.renew(now, Lease::Until(until), desk));
        let Some(life) = &self.sites[place].life else { return };
        let incarnation = life.incarnation;
        let (now, end) = (self.now, self.lease_end(place));
        for judge in &mut self.judges {
            judge.members.extend(judged(place), now, end);
        }
        for client in 0..self.clients.len() {
            let it = &self.clients[client];
            if it.is_embedded
                && it.at == place
                && let Goal::Holding { lock, .. } = it.goal
            {
                self.judges[lock].clients.extend(judged(client), now, end);
            }
        }
        if end != NEVER {
            let word = Word::LeaseEnds { member: place, incarnation };
            self.queue.plan(end.max(now), Event::Oracle(word));
        }
    }

    /// Another life of a member wants to belong to the cluster after a while.
    pub(crate) fn join_later(&mut self, place: usize) {
        let incarnation = self.view_chance.bits();
        self.sites[place].joining = Some(incarnation);
        let after = self.view_chance.below(300 * MILLISECOND);
        self.plan_word(after, Word::AskToJoin { member: place, incarnation });
    }

    /// Excludes those whose lease is over, takes in who wants to join, and renumbers now and then.
    fn decide(&mut self) {
        let mut members = self.oracle.view.members.clone();
        let mut leases = vec![Moment::NEVER; self.sites.len()];
        let mut changes = false;
        if self.oracle.leases {
            let now = self.oracle.clock.read(self.now);
            let renewed = &self.oracle.renewed;
            let count = members.len();
            members.retain(|member| now <= renewed[member.id.place()].after(LEASE));
            changes = members.len() != count;
            for (place, lease) in leases.iter_mut().enumerate() {
                let id = MemberId::at(place);
                let is_there = members.iter().any(|member| member.id == id);
                if !is_there && let Some((incarnation, sent)) = self.oracle.joining[place].take() {
                    let address = format!("member-{}:1", place + 1);
                    members.push(Member { id, incarnation: Some(incarnation), address });
                    self.oracle.renewed[place] = now;
                    *lease = sent.after(self.drift.believed(LEASE));
                    changes = true;
                }
            }
            members.sort_by_key(|member| member.id);
        }
        let renumbers = !self.healed && self.now >= self.oracle.renumber_at;
        if renumbers {
            let after = self.view_chance.pick(&[60, 300, 1000]) * MILLISECOND;
            self.oracle.renumber_at = self.now + self.view_chance.below(after);
        }
        if !changes && !renumbers {
            return;
        }
        self.survived.views += 1;
        let view = Arc::new(View::new(self.oracle.view.epoch + 1, members));
        self.oracle.view = Arc::clone(&view);
        self.note_view(&view);
        for member in &view.members {
            let at = member.id.place();
            let life = self.sites[at].life.as_ref().map(|life| life.incarnation);
            let Some(incarnation) = member.incarnation.or(life) else { continue };
            let late = self.view_chance.below(4) == 0 && !self.healed;
            let after = self.view_chance.below(if late { 150 } else { 3 } * MILLISECOND);
            let (view, lease) = (Arc::clone(&view), leases[at]);
            self.queue.plan(self.now + after, Event::View { at, incarnation, view, lease });
        }
    }

    /// A member learns of a view.
    pub(crate) fn learn_view(
        &mut self,
        place: usize,
        incarnation: u64,
        view: Arc<View>,
        lease: Moment,
    ) {
        if self.sites[place].joining == Some(incarnation) && lease != Moment::NEVER {
            self.start_life(place, incarnation, view, None);
            self.take_lease(place, lease);
            self.plan_word(0, Word::Ask { member: place, incarnation });
            return;
        }
        let Some(life) = &mut self.sites[place].life else { return };
        if life.incarnation == incarnation && view.epoch > life.view.epoch {
            life.view = Arc::clone(&view);
            self.update_links(place);
            self.with_core(place, |core, now, desk| core.install(now, view, desk));
        }
    }
}
