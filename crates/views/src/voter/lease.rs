//! The leases that a leader grants (rules L2, L3, L5 to L7 and V11).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;

use super::away::Presence;
use super::standing::Attendance;
use super::{Effect, Voter};
use crate::flaw::Flaw;
use crate::protocol::{Answer, Request};
use crate::views::{Command, Join, JoinRefused, LeaseSettings, Outcome, Role};

/// Joins that wait at once. A cluster has hundreds of members; more is a fault of somebody.
const MAX_JOINING: usize = 4096;

/// Whoever wants to enter asks again and again; one that has been silent for so long may be dead.
const STILL_ASKS: Duration = Duration::from_secs(3);

/// What a voter knows only while it leads.
#[derive(Debug)]
pub(super) struct Leading {
    term: u64,
    since: MonoTime,
    /// What was granted in this term, by incarnation.
    granted: BTreeMap<u64, Granted>,
    /// Lives whose removal is proposed: they are not renewed any more.
    doomed: BTreeSet<u64>,
    /// Who can be heard.
    pub(super) presence: Presence,
    /// How the other voters stand.
    pub(super) attendance: Attendance,
    /// Renewals that no read has begun for.
    waiting: Vec<Renewal>,
    /// The read under way, with the renewals that it is for.
    reading: Option<Reading>,
    reads: u64,
    /// Renewals that are answered once this index is applied.
    confirmed: Vec<(u64, Renewal)>,
    /// Lives that want to enter, by incarnation.
    joining: BTreeMap<u64, Joining>,
    /// Lives that want to leave, by incarnation.
    leaving: BTreeMap<u64, MemberId>,
    /// Changes that an administrator ordered.
    pub(super) ordered: Vec<Command>,
    /// When leases last changed their length: the next change waits until no older lease can run.
    settings_since: MonoTime,
    /// The last entry with commands that this leader proposed: one at a time, so that several
    /// changes become one view.
    proposed: u64,
    /// The last entry that changes the voters.
    pub(super) reseated: u64,
}

#[derive(Clone, Copy, Debug)]
struct Granted {
    /// The newest renewal was received then.
    renewed: MonoTime,
    /// No lease that was granted in this term runs longer.
    end: MonoTime,
}

#[derive(Debug)]
struct Renewal {
    from: MemberId,
    incarnation: u64,
    number: u64,
    epoch: u64,
    received: MonoTime,
}

#[derive(Debug)]
struct Reading {
    context: u64,
    since: MonoTime,
    renewals: Vec<Renewal>,
}

#[derive(Debug)]
struct Joining {
    join: Join,
    received: MonoTime,
    /// The newest request: its answer starts the lease.
    number: u64,
}

impl Leading {
    fn new(term: u64, now: MonoTime) -> Self {
        Leading {
            term,
            since: now,
            granted: BTreeMap::new(),
            doomed: BTreeSet::new(),
            presence: Presence::default(),
            attendance: Attendance::default(),
            waiting: Vec::new(),
            reading: None,
            reads: 0,
            confirmed: Vec::new(),
            joining: BTreeMap::new(),
            leaving: BTreeMap::new(),
            ordered: Vec::new(),
            settings_since: now,
            proposed: 0,
            reseated: 0,
        }
    }

    pub(super) fn is_doomed(&self, incarnation: u64) -> bool {
        self.doomed.contains(&incarnation)
    }

    fn grant(&mut self, incarnation: u64, received: MonoTime, settings: LeaseSettings) {
        let end = received.after(settings.lease);
        let granted = self.granted.entry(incarnation).or_insert(Granted { renewed: received, end });
        granted.renewed = granted.renewed.max(received);
        granted.end = granted.end.max(end);
    }
}

impl Voter {
    /// Begins or ends the leader's knowledge when raft's role changes.
    pub(super) fn follow_leadership(&mut self, now: MonoTime) {
        let term = self.node.raft.term;
        if !self.leads() {
            self.leading = None;
        } else if self.leading.as_ref().is_none_or(|leading| leading.term != term) {
            self.leading = Some(Leading::new(term, now));
        }
    }

    pub(super) fn take_request(
        &mut self,
        now: MonoTime,
        from: MemberId,
        request: Request,
        out: &mut Vec<Effect>,
    ) {
        let Some(leading) = &mut self.leading else { return };
        let over = |incarnation| Effect::Answer { to: from, answer: Answer::Over { incarnation } };
        match request {
            Request::Enter { join, number } => {
                let incarnation = join.incarnation;
                if join.id != from {
                    return;
                }
                if self.views.life(incarnation).is_some_and(|member| member.id == from) {
                    leading.presence.heard(incarnation);
                    let received = now;
                    leading.waiting.push(Renewal { from, incarnation, number, epoch: 0, received });
                    return;
                }
                match self.views.admits(&join) {
                    Ok(()) | Err(JoinRefused::Present { .. }) => {
                        // A later life of the same member has taken the place of one that died waiting.
                        leading.joining.retain(|_, former| former.join.id != from);
                        if leading.joining.len() < MAX_JOINING {
                            let joining = Joining { join, received: now, number };
                            leading.joining.insert(incarnation, joining);
                        }
                    }
                    Err(reason) => {
                        let answer = Answer::Refused { incarnation, reason };
                        out.push(Effect::Answer { to: from, answer });
                    }
                }
            }
            Request::Renew { incarnation, number, epoch, suspects } => {
                if self.views.is_retired(incarnation) {
                    out.push(over(incarnation));
                } else {
                    if self.views.life(incarnation).is_some_and(|member| member.id == from) {
                        leading.presence.heard(incarnation);
                        leading.presence.reports(incarnation, suspects);
                    }
                    let received = now;
                    leading.waiting.push(Renewal { from, incarnation, number, epoch, received });
                }
            }
            Request::Leave { incarnation } => {
                if self.views.is_retired(incarnation) {
                    out.push(over(incarnation));
                } else if self.views.life(incarnation).is_none_or(|member| member.id == from) {
                    leading.leaving.insert(incarnation, from);
                }
            }
        }
    }

    /// Begins a read for all renewals that wait: one round of heartbeats shows that this voter led
    /// after they were received (L2).
    pub(super) fn confirm(&mut self, now: MonoTime) {
        let flawed = self.has_flaw(Flaw::NoReadIndex);
        let Some(leading) = &mut self.leading else { return };
        if leading.reading.is_some() || leading.waiting.is_empty() {
            return;
        }
        let renewals = std::mem::take(&mut leading.waiting);
        if flawed {
            leading.confirmed.extend(renewals.into_iter().map(|renewal| (self.applied, renewal)));
            return;
        }
        leading.reads += 1;
        let context = leading.reads;
        leading.reading = Some(Reading { context, since: now, renewals });
        self.node.read_index(read_context(leading.term, context));
    }

    /// Raft drops a read of a leader that has committed nothing in its term, and heartbeats get lost.
    pub(super) fn read_again(&mut self, now: MonoTime) {
        let patience = self.views.settings().lease / 6;
        let Some(leading) = &mut self.leading else { return };
        if leading.reading.as_ref().is_some_and(|reading| now.since(reading.since) > patience)
            && let Some(reading) = leading.reading.take()
        {
            leading.waiting.extend(reading.renewals);
        }
    }

    pub(super) fn take_read(&mut self, context: &[u8], index: u64) {
        let Some(leading) = &mut self.leading else { return };
        let is_it = |reading: &Reading| read_context(leading.term, reading.context) == context;
        if leading.reading.as_ref().is_some_and(is_it)
            && let Some(reading) = leading.reading.take()
        {
            leading.confirmed.extend(reading.renewals.into_iter().map(|renewal| (index, renewal)));
        }
    }

    /// Answers confirmed renewals once everything decided before them is known (L3).
    pub(super) fn acknowledge(&mut self, out: &mut Vec<Effect>) {
        let flaw = self.options.flaw;
        let Some(leading) = &mut self.leading else { return };
        let settings = self.views.settings();
        let hold = if flaw == Some(Flaw::NoDrift) { settings.lease } else { settings.hold() };
        let mut later = Vec::new();
        for (index, renewal) in std::mem::take(&mut leading.confirmed) {
            if self.applied < index && flaw != Some(Flaw::BeforeApplied) {
                later.push((index, renewal));
                continue;
            }
            let Renewal { from: to, incarnation, number, epoch: known, received } = renewal;
            let Some(member) = self.views.life(incarnation) else {
                out.push(Effect::Answer { to, answer: Answer::Over { incarnation } });
                continue;
            };
            let doomed = leading.doomed.contains(&incarnation) && flaw != Some(Flaw::NotDoomed);
            if member.id != to || doomed {
                continue;
            }
            leading.grant(incarnation, received, settings);
            if self.views.member(incarnation).is_none() {
                leading.presence.returns(incarnation);
            }
            let epoch = self.views.view().epoch;
            if known < epoch {
                let answer = Answer::View(self.views.view().clone());
                out.push(Effect::Answer { to, answer });
            }
            // A member that is to vote must learn it, though no view says so.
            let learns = self.views.seats().iter().any(|it| it.id == to && it.role != Role::Voter);
            if known < epoch || learns {
                out.push(Effect::Answer { to, answer: Answer::Voters(self.views.voters()) });
            }
            let drift = settings.drift;
            let answer = Answer::Renewed { incarnation, number, hold, drift, epoch };
            out.push(Effect::Answer { to, answer });
        }
        leading.confirmed = later;
    }

    /// Proposes what is due, as one entry: whoever is gone or leaves, and then planned changes.
    pub(super) fn propose_changes(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        // Before an entry of this term is applied the leader does not know what was decided.
        let knows = self.applied_term == self.node.raft.term || self.has_flaw(Flaw::BeforeApplied);
        let Some(leading) = &self.leading else { return };
        if !knows || self.applied < leading.proposed {
            return;
        }
        let gone = self.gone(leading, now);
        let mut commands: Vec<Command> =
            gone.iter().map(|&incarnation| Command::Gone { incarnation }).collect();
        commands.extend(self.leaves(out));
        let leaving: Vec<u64> = commands.iter().filter_map(removed).collect();
        let stays =
            |command: &Command| !changed(command).is_some_and(|life| leaving.contains(&life));
        commands.extend(self.absences(now).into_iter().filter(stays));
        let Some(leading) = &self.leading else { return };
        commands.extend(leading.ordered.iter().filter(|order| !is_planned(order)).cloned());
        let leaving: Vec<u64> = commands.iter().filter_map(removed).collect();
        let planned = self.planned(leading, now, &leaving);
        let takes_planned = !planned.is_empty();
        commands.extend(planned);
        if commands.is_empty() {
            return;
        }
        let data = postcard::to_stdvec(&commands).expect("commands fit into memory");
        // Dropped while leadership is handed over; the next settling tries again.
        if self.node.propose(Vec::new(), data).is_err() {
            return;
        }
        let proposed = self.node.raft.raft_log.last_index();
        let Some(leading) = &mut self.leading else { return };
        leading.proposed = proposed;
        leading.ordered.retain(|order| is_planned(order) && !takes_planned);
        leading.doomed.extend(leaving);
    }

    /// Members whose leases have certainly run out (L5), those that end within a sixth of a lease
    /// together: a dead member of a new view would hold its locks back for a lease (V11).
    fn gone(&self, leading: &Leading, now: MonoTime) -> Vec<u64> {
        let view = self.views.view();
        let ends = view.members.iter().chain(&view.away).filter_map(|member| member.incarnation);
        let ends: Vec<(u64, MonoTime)> = ends
            .filter(|incarnation| {
                !leading.doomed.contains(incarnation) || self.has_flaw(Flaw::NotDoomed)
            })
            .map(|incarnation| (incarnation, self.lease_end(leading, incarnation)))
            .collect();
        let Some(first) = ends.iter().map(|&(_, end)| end).min() else { return Vec::new() };
        if first >= now {
            return Vec::new();
        }
        let together = first.after(self.views.settings().lease / 6);
        if ends.iter().any(|&(_, end)| now <= end && end <= together) {
            return Vec::new();
        }
        ends.into_iter().filter(|&(_, end)| end < now).map(|(incarnation, _)| incarnation).collect()
    }

    /// No lease of this life runs longer, whoever granted it: those of older terms were sent for
    /// before this voter led (L5), under one of the last two settings (L7).
    fn lease_end(&self, leading: &Leading, incarnation: u64) -> MonoTime {
        let granted = leading.granted.get(&incarnation).map_or(MonoTime::default(), |it| it.end);
        if self.has_flaw(Flaw::NewLeaderDoesNotWait) {
            return granted;
        }
        if self.has_flaw(Flaw::AwayIsGone) && self.views.member(incarnation).is_none() {
            return MonoTime::default();
        }
        granted.max(leading.since.after(self.views.longest_lease()))
    }

    fn leaves(&mut self, out: &mut Vec<Effect>) -> Vec<Command> {
        let Some(leading) = &mut self.leading else { return Vec::new() };
        let mut commands = Vec::new();
        for (incarnation, to) in std::mem::take(&mut leading.leaving) {
            leading.joining.remove(&incarnation);
            if self.views.life(incarnation).is_some() {
                commands.push(Command::Leave { incarnation });
            } else {
                out.push(Effect::Answer { to, answer: Answer::Over { incarnation } });
            }
        }
        commands
    }

    /// Joins and new numbers, unless a member may be dead that nobody excludes yet (V11).
    fn planned(&self, leading: &Leading, now: MonoTime, leaving: &[u64]) -> Vec<Command> {
        let half = self.views.settings().lease / 2;
        let stays = |incarnation: &u64| !leaving.contains(incarnation);
        let is_silent = |incarnation: u64| {
            let renewed = leading.granted.get(&incarnation).map_or(leading.since, |it| it.renewed);
            now.since(renewed) > half
        };
        let members = || self.views.view().members.iter();
        if members().filter_map(|member| member.incarnation).filter(stays).any(is_silent) {
            return Vec::new();
        }
        // A name whose former life is a member or away waits until that is gone (L6).
        let is_free = |id: MemberId| {
            self.views
                .view()
                .life(id)
                .and_then(|member| member.incarnation)
                .is_none_or(|former| leaving.contains(&former))
        };
        let mut names = BTreeSet::new();
        let joins = leading
            .joining
            .values()
            .filter(|joining| now.since(joining.received) < STILL_ASKS)
            .filter(|joining| is_free(joining.join.id) && names.insert(joining.join.id))
            .map(|joining| Command::Join(joining.join.clone()));
        let orders = leading.ordered.iter().filter(|order| is_planned(order)).cloned();
        joins.chain(orders).collect()
    }

    /// What a leader does about a decision.
    pub(super) fn after_decision(
        &mut self,
        now: MonoTime,
        former_epoch: u64,
        outcomes: &[Outcome],
        out: &mut Vec<Effect>,
    ) {
        let flawed = self.has_flaw(Flaw::JoiningIsNotRenewing);
        let Some(leading) = &mut self.leading else { return };
        for outcome in outcomes {
            match outcome {
                Outcome::Joined(member) => {
                    let Some(incarnation) = member.incarnation else { continue };
                    // It has no lease yet, but gets the time to ask for one.
                    if !flawed {
                        leading.grant(incarnation, now, self.views.settings());
                    }
                    if let Some(joining) = leading.joining.remove(&incarnation) {
                        let Joining { received, number, .. } = joining;
                        let from = member.id;
                        let renewal = Renewal { from, incarnation, number, epoch: 0, received };
                        leading.waiting.push(renewal);
                    }
                }
                Outcome::Left(member) | Outcome::Gone(member) => {
                    let Some(incarnation) = member.incarnation else { continue };
                    leading.granted.remove(&incarnation);
                    leading.doomed.remove(&incarnation);
                    leading.presence.forget(incarnation);
                    let answer = Answer::Over { incarnation };
                    out.push(Effect::Answer { to: member.id, answer });
                }
                Outcome::Back(member) => {
                    if let Some(incarnation) = member.incarnation {
                        leading.presence.came_back(incarnation);
                    }
                }
                // It waits for the former life, as if it had come later.
                Outcome::Refused(_, JoinRefused::Present { .. }) => {}
                Outcome::Refused(join, reason) => {
                    leading.joining.remove(&join.incarnation);
                    let (incarnation, reason) = (join.incarnation, reason.clone());
                    let answer = Answer::Refused { incarnation, reason };
                    out.push(Effect::Answer { to: join.id, answer });
                }
                Outcome::Settings(_) => leading.settings_since = now,
                Outcome::Away(_) | Outcome::Renumbered | Outcome::Nothing => {}
            }
        }
        let view = self.views.view();
        if view.epoch != former_epoch {
            for member in &view.members {
                let answer = Answer::View(view.clone());
                out.push(Effect::Answer { to: member.id, answer });
            }
        }
    }

    /// Tells all members who votes now.
    pub(super) fn tell_voters(&self, out: &mut Vec<Effect>) {
        if self.leading.is_none() {
            return;
        }
        for member in &self.views.view().members {
            let answer = Answer::Voters(self.views.voters());
            out.push(Effect::Answer { to: member.id, answer });
        }
    }

    /// From when on leases may change their length: before that, leases of three lengths could run,
    /// and a new leader would not know the longest (L7).
    pub(super) fn settings_free_at(&self) -> Option<MonoTime> {
        let leading = self.leading.as_ref()?;
        Some(leading.settings_since.after(self.views.longest_lease()))
    }

    /// Counts until it is applied, which counts again.
    pub(super) fn settings_ordered(&mut self, now: MonoTime) {
        if let Some(leading) = &mut self.leading {
            leading.settings_since = now;
        }
    }
}

fn is_planned(command: &Command) -> bool {
    matches!(command, Command::Join(_) | Command::Renumber)
}

fn removed(command: &Command) -> Option<u64> {
    match command {
        Command::Leave { incarnation } | Command::Gone { incarnation } => Some(*incarnation),
        Command::Join(_) | Command::Settings(_) | Command::Renumber => None,
        Command::Away { .. } | Command::Back { .. } => None,
    }
}

fn changed(command: &Command) -> Option<u64> {
    match command {
        Command::Away { incarnation } | Command::Back { incarnation } => Some(*incarnation),
        _ => None,
    }
}

fn read_context(term: u64, number: u64) -> Vec<u8> {
    [term.to_le_bytes(), number.to_le_bytes()].concat()
}
