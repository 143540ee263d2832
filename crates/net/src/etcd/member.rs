//! What a member does with which answer of etcd, without I/O and clock.

use std::collections::BTreeMap;
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use skeptron_member::view::View;
use skeptron_views::views::{Command, Join, JoinRefused, LeaseSettings, Outcome, Views};
use thiserror::Error;

use super::observed::Observed;
use super::txn::{Answer, Compare, Seen, Txn, Write};

/// Requests whose sending is remembered. An answer to an older one is ignored.
const REMEMBERED: usize = 64;
/// How often to ask before the lease's length is known.
const FIRST_ASKED_EVERY: Duration = Duration::from_millis(300);
/// How often to ask at least, however long leases are.
const LAST_ASKED_EVERY: Duration = Duration::from_secs(1);

/// What happened.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// Begin this life; any former one has given up everything.
    Enter(Join),
    /// The moment of [`EtcdMember::next`] has come. Too early or too late does no harm.
    Timer,
    /// etcd answered.
    Answer { number: u64, answer: Answer },
    /// A request came to nothing, as far as is known.
    Failed { number: u64 },
    /// The view seems to have changed.
    Hint,
    /// A later view is needed.
    Renumber,
    /// Every right has been given up: leave the cluster.
    Leave,
}

/// What a driver has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Ask etcd, at the endpoint with this number modulo their count. It may be lost, delayed or
    /// duplicated.
    Send { number: u64, endpoint: usize, txn: Txn },
    /// A newer view, which includes this life.
    Installed(View),
    /// The lease runs until then, later than before.
    Prolonged(MonoTime),
    /// This member changed the view, or wrote the first one.
    Decided { is_first: bool, outcomes: Vec<Outcome> },
    /// It cannot enter yet; said once in a life.
    Waits(JoinRefused),
    /// This life is over.
    Over(End),
}

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum End {
    #[error("the lease expired: etcd did not answer in time")]
    RanOut,
    #[error("removed from the cluster")]
    Removed,
    #[error("left the cluster")]
    Left,
    #[error("join rejected: {0}")]
    Refused(JoinRefused),
    #[error(
        "the views in etcd were restored or deleted: the last known epoch is {known}, and etcd has \
         {found}; fences would fall. To continue anyway, restart all nodes"
    )]
    WentBack { known: u64, found: u64 },
    #[error("etcd was restored to an earlier state")]
    PutBack,
}

/// Rules that tests leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests leave rules out"))]
pub(super) enum Flaw {
    /// The holder counts from the answer, not from when it sent the renewal.
    CountsFromAnswer,
    /// A life is removed whether it was renewed meanwhile or not.
    RemovesUnseen,
    /// A life is removed after half of its lease.
    WaitsTooShort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Out,
    Entering,
    /// Until when it may act.
    Member(MonoTime),
    Leaving,
}

/// A request that may still be answered.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: MonoTime,
    endpoint: usize,
    /// The newest revision that was known then; an answer with an older one is of a store that was
    /// put back.
    revision: u64,
    /// If it succeeds, this life has renewed its lease.
    renews: Option<u64>,
    /// It was nothing but a renewal: if it fails, that life is none any more.
    is_poll: bool,
}

/// The view as it was last seen.
#[derive(Clone, Debug, Default)]
struct Known {
    /// When it was written; 0 if there is none.
    revision: u64,
    views: Option<Box<Views>>,
}

/// The lives of one member, as far as etcd is concerned.
///
/// Perform the effects of [`EtcdMember::handle`] in order, and call it with [`Input::Timer`] whenever
/// [`EtcdMember::next`] has come. One transaction renews the lease, brings the view and shows where
/// the other lives stand; it is sent every L_h/6, and again after L_h/10 if unanswered.
///
/// # Why nobody acts on a lease that others count as over
/// A life x renews by writing `lives/x`, provided that the key exists, and believes in its lease until
/// L_h after it *sent* that. Whoever removes x has seen the key at revision r, has waited for L_g since
/// it first *saw* r, and deletes the key in a transaction that fails unless the key is still at r. So
/// when x is removed, the last of its renewals that succeeded is the one that wrote r; none succeeds
/// afterwards, because the key is gone. That renewal, and every one before it, was sent before it was
/// written, which was before r was seen; L_h on the clock of x ends before L_g on the clock of the
/// observer if both are within the bound on drift. Which observer it is makes no difference, and neither
/// does who leads etcd: every transaction is ordered by etcd's consensus.
///
/// The length of leases changes only while the view is empty, when no lease runs.
#[derive(Debug)]
pub(super) struct EtcdMember {
    /// For a cluster that has no members.
    settings: LeaseSettings,
    /// For a cluster that does not exist yet.
    cluster: u128,
    join: Option<Join>,
    phase: Phase,
    known: Option<Known>,
    /// Of the newest answer.
    revision: u64,
    observed: Observed,
    sent: BTreeMap<u64, Sent>,
    number: u64,
    endpoint: usize,
    /// Nothing has come since the last request.
    unanswered: bool,
    /// When to renew, or to ask again.
    next: MonoTime,
    /// When there may be something to propose.
    wake: MonoTime,
    /// The change of the view that is under way, and until when its answer is waited for.
    proposal: Option<(u64, MonoTime)>,
    /// Whether the last change proposed begins the cluster, and what it would do.
    outcomes: (bool, Vec<Outcome>),
    /// That this life waits was said.
    has_waited: bool,
    /// The epoch of the view that this life has.
    installed: u64,
    /// A later view than of this epoch is needed.
    renumber: Option<u64>,
    /// Lives of this process that are over, and until when their clients may believe: whoever halted before
    /// its lease ended has promised more.
    over: BTreeMap<u64, MonoTime>,
    /// The epoch must not fall below the last one that was installed here.
    floor: Option<(u128, u64)>,
    flaw: Option<Flaw>,
}

impl EtcdMember {
    pub(super) fn new(settings: LeaseSettings, cluster: u128) -> Self {
        EtcdMember {
            settings,
            cluster,
            join: None,
            phase: Phase::Out,
            known: None,
            revision: 0,
            observed: Observed::default(),
            sent: BTreeMap::new(),
            number: 0,
            endpoint: 0,
            unanswered: false,
            next: MonoTime::default(),
            wake: MonoTime::NEVER,
            proposal: None,
            outcomes: (false, Vec::new()),
            has_waited: false,
            installed: 0,
            renumber: None,
            over: BTreeMap::new(),
            floor: None,
            flaw: None,
        }
    }

    /// The same, with a rule left out.
    #[cfg(test)]
    pub(super) fn with_flaw(self, flaw: Option<Flaw>) -> Self {
        EtcdMember { flaw, ..self }
    }

    /// The present life, or the last one.
    pub(super) fn incarnation(&self) -> u64 {
        self.join.as_ref().map_or(0, |join| join.incarnation)
    }

    /// How long leases are, once the view was seen.
    pub(super) fn settings(&self) -> Option<LeaseSettings> {
        self.views().map(Views::settings)
    }

    /// When [`Input::Timer`] is wanted.
    pub(super) fn next(&self) -> MonoTime {
        match self.phase {
            Phase::Out => MonoTime::NEVER,
            Phase::Member(until) => until.min(self.next).min(self.wake),
            Phase::Entering | Phase::Leaving => self.next.min(self.wake),
        }
    }

    /// Handles one input.
    pub(super) fn handle(&mut self, now: MonoTime, input: Input, out: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Member(until) if now >= until) {
            self.end(End::RanOut, out);
        }
        match input {
            Input::Enter(join) => {
                self.remember_end();
                self.join = Some(join);
                self.phase = Phase::Entering;
                self.next = now;
                // Whatever was seen before decides nothing about this life.
                self.known = None;
                self.has_waited = false;
            }
            Input::Timer => {}
            Input::Answer { number, answer } => self.take(now, number, answer, out),
            Input::Failed { number } => drop(self.forget(number)),
            Input::Hint => (self.next, self.unanswered) = (now, false),
            Input::Renumber => self.renumber = self.views().map(|views| views.view().epoch),
            Input::Leave => {
                if self.phase != Phase::Out {
                    self.phase = Phase::Leaving;
                }
            }
        }
        self.propose(now, out);
        self.poll(now, out);
    }

    /// Takes an answer: what it shows first, then what it grants.
    fn take(&mut self, now: MonoTime, number: u64, answer: Answer, out: &mut Vec<Effect>) {
        let proposed = self.proposal.map(|(proposed, _)| proposed);
        let Some(sent) = self.forget(number) else { return };
        if answer.succeeded && proposed == Some(number) {
            let (is_first, outcomes) = std::mem::take(&mut self.outcomes);
            out.push(Effect::Decided { is_first, outcomes });
        }
        self.unanswered = false;
        self.endpoint = sent.endpoint;
        if answer.revision < sent.revision {
            return self.put_back(out);
        }
        let (succeeded, is_newest) = (answer.succeeded, answer.revision >= self.revision);
        if is_newest {
            self.see(now, answer, out);
        }
        let mine = (self.phase != Phase::Out).then(|| self.incarnation());
        if succeeded && sent.renews.is_some() && sent.renews == mine {
            self.renewed(now, sent.at, out);
        } else if !succeeded && is_newest && sent.is_poll && sent.renews == mine {
            match self.phase {
                Phase::Member(_) => self.end(End::Removed, out),
                Phase::Entering => self.next = now.after(self.pause()),
                Phase::Leaving | Phase::Out => {}
            }
        }
    }

    /// Takes note of what etcd has. Older answers show nothing new.
    fn see(&mut self, now: MonoTime, answer: Answer, out: &mut Vec<Effect>) {
        self.revision = answer.revision;
        match answer.view {
            Seen::Known => {}
            Seen::Absent => self.known = Some(Known::default()),
            Seen::Newer { revision, views } => {
                self.known = Some(Known { revision, views: Some(views) });
            }
        }
        let Some(known) = &self.known else { return };
        let found = known.views.as_ref().map_or((0, 0), |it| (it.cluster(), it.view().epoch));
        if let Some((cluster, epoch)) = self.floor
            && (found.0 != cluster || found.1 < epoch)
        {
            return self.end(End::WentBack { known: epoch, found: found.1 }, out);
        }
        let view = known.views.as_ref().map(|views| views.view());
        let members = view.into_iter().flat_map(|view| &view.members);
        let members: Vec<u64> = members.filter_map(|member| member.incarnation).collect();
        let at = |life: u64| (life, answer.lives.get(&life).copied().unwrap_or(0));
        self.observed.see(now, members.iter().map(|&life| at(life)));
        self.over.retain(|life, _| members.contains(life));
        self.renumber.take_if(|epoch| *epoch < found.1);
        let is_member = members.contains(&self.incarnation());
        match self.phase {
            Phase::Member(_) if is_member => self.install(out),
            Phase::Member(_) => self.end(End::Removed, out),
            Phase::Leaving if !is_member => self.end(End::Left, out),
            Phase::Leaving | Phase::Entering | Phase::Out => {}
        }
    }

    /// Tells of the view, if it is a newer one.
    fn install(&mut self, out: &mut Vec<Effect>) {
        let Some(views) = self.views() else { return };
        let (newest, view) = ((views.cluster(), views.view().epoch), views.view().clone());
        if self.installed < newest.1 {
            self.installed = newest.1;
            self.floor = Some(newest);
            out.push(Effect::Installed(view));
        }
    }

    /// The lease counts from when the request was sent, and is never shortened.
    fn renewed(&mut self, now: MonoTime, sent: MonoTime, out: &mut Vec<Effect>) {
        let Some(hold) = self.hold() else { return };
        let from = if self.flaw == Some(Flaw::CountsFromAnswer) { now } else { sent };
        let granted = from.after(hold);
        let until = match self.phase {
            // It has never acted, so a lease that is over already does no harm: the next one counts.
            Phase::Entering if now < granted && self.is_member() => {
                self.installed = 0;
                self.install(out);
                granted
            }
            Phase::Member(until) if granted > until => granted,
            _ => return,
        };
        self.phase = Phase::Member(until);
        self.next = sent.after(hold / 6).max(now);
        out.push(Effect::Prolonged(until));
    }

    /// Revisions mean something else from now on.
    fn put_back(&mut self, out: &mut Vec<Effect>) {
        self.known = None;
        self.revision = 0;
        self.sent.clear();
        self.observed = Observed::default();
        self.end(End::PutBack, out);
    }

    /// Proposes whatever of the view should change now.
    fn propose(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        self.proposal.take_if(|(_, deadline)| now >= *deadline);
        if self.proposal.is_none()
            && let Some(commands) = self.wanted(now, out)
        {
            self.change(now, &commands, out);
        }
        let dues = self.others().map(|life| self.due(life)).filter(|&due| due > now);
        let deadline = self.proposal.map(|(_, deadline)| deadline);
        self.wake = deadline.or_else(|| dues.min()).unwrap_or(MonoTime::NEVER);
    }

    /// The commands that should be decided now.
    fn wanted(&mut self, now: MonoTime, out: &mut Vec<Effect>) -> Option<Vec<Command>> {
        let known = self.known.as_ref()?;
        let incarnation = self.incarnation();
        if self.phase == Phase::Leaving {
            return self.is_member().then(|| vec![Command::Leave { incarnation }]);
        }
        // Lives that end about together go in one view: a dead member would hold back the next.
        let lease = self.lease();
        let is_soon = |life| self.due(life) > now && self.due(life) < now.after(lease / 6);
        if self.phase == Phase::Out || self.others().any(is_soon) {
            return None;
        }
        let gone = self.others().filter(|&life| self.due(life) <= now);
        let mut commands: Vec<Command> =
            gone.map(|incarnation| Command::Gone { incarnation }).collect();
        let mut after = known.views.as_deref().cloned().unwrap_or_else(|| self.fresh());
        after.apply(&commands);
        let others = after.view().members.iter().filter_map(|member| member.incarnation);
        let mut others = others.filter(|&life| life != incarnation);
        let all_alive = others.all(|life| self.observed.is_fresh(now, life, lease / 2));
        match self.phase {
            Phase::Entering if after.member(incarnation).is_none() => {
                let join = self.join.clone()?;
                match after.admits(&join) {
                    Ok(()) if all_alive => {
                        if after.view().members.is_empty() {
                            commands.push(Command::Settings(self.settings));
                        }
                        commands.push(Command::Join(join));
                    }
                    Ok(()) => {}
                    Err(present @ JoinRefused::Present { .. }) => {
                        if !std::mem::replace(&mut self.has_waited, true) {
                            out.push(Effect::Waits(present));
                        }
                    }
                    Err(refused) => {
                        self.end(End::Refused(refused), out);
                        return None;
                    }
                }
            }
            Phase::Member(_) if all_alive && self.renumber.is_some() => {
                commands.push(Command::Renumber);
            }
            _ => {}
        }
        (!commands.is_empty()).then_some(commands)
    }

    /// Sends a change of the view, which happens only if nothing has changed since it was seen.
    fn change(&mut self, now: MonoTime, commands: &[Command], out: &mut Vec<Effect>) {
        let Some(known) = &self.known else { return };
        let mut views = known.views.clone().unwrap_or_else(|| Box::new(self.fresh()));
        let known_view = known.revision;
        let mut compares = vec![Compare::ViewAt(known_view)];
        let mut writes = Vec::new();
        let outcomes = views.apply(commands);
        writes.push(Write::View(views));
        let mut renews = None;
        for command in commands {
            match command {
                Command::Join(Join { incarnation: life, .. }) => {
                    writes.push(Write::Renew { life: *life, number: self.number + 1 });
                    renews = Some(*life);
                }
                Command::Gone { incarnation: life } => {
                    let (revision, _) = self.observed.standing(*life).unwrap_or_default();
                    if self.flaw != Some(Flaw::RemovesUnseen) {
                        compares.push(Compare::LifeAt { life: *life, revision });
                    }
                    writes.push(Write::End(*life));
                }
                Command::Leave { incarnation } => writes.push(Write::End(*incarnation)),
                Command::Away { .. }
                | Command::Back { .. }
                | Command::Settings(_)
                | Command::Renumber => {}
            }
        }
        let txn = Txn { compares, writes, known_view };
        let number = self.send(now, txn, renews, false, out);
        self.proposal = Some((number, now.after(self.pause() * 3)));
        self.outcomes = (known_view == 0, outcomes);
    }

    /// Renews, and looks at everything; at another endpoint if the last one brought nothing.
    fn poll(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        if self.phase == Phase::Out || now < self.next {
            return;
        }
        if self.unanswered {
            self.endpoint += 1;
        }
        let life = self.incarnation();
        let compares = vec![Compare::IsAlive(life)];
        let writes = vec![Write::Renew { life, number: self.number + 1 }];
        let known_view = self.known.as_ref().map_or(0, |known| known.revision);
        self.send(now, Txn { compares, writes, known_view }, Some(life), true, out);
        self.unanswered = true;
        self.next = now.after(self.pause());
    }

    fn send(
        &mut self,
        at: MonoTime,
        txn: Txn,
        renews: Option<u64>,
        is_poll: bool,
        out: &mut Vec<Effect>,
    ) -> u64 {
        self.number += 1;
        let (number, endpoint, revision) = (self.number, self.endpoint, self.revision);
        self.sent.insert(number, Sent { at, endpoint, revision, renews, is_poll });
        if self.sent.len() > REMEMBERED {
            self.sent.pop_first();
        }
        out.push(Effect::Send { number, endpoint, txn });
        number
    }

    fn forget(&mut self, number: u64) -> Option<Sent> {
        self.proposal.take_if(|(proposed, _)| *proposed == number);
        self.sent.remove(&number)
    }

    fn end(&mut self, end: End, out: &mut Vec<Effect>) {
        if self.phase == Phase::Out {
            return;
        }
        self.remember_end();
        self.phase = Phase::Out;
        self.renumber = None;
        out.push(Effect::Over(end));
    }

    /// This life acts no more, but what it promised holds until its lease ends.
    fn remember_end(&mut self) {
        let until = match self.phase {
            Phase::Member(until) => until,
            Phase::Out | Phase::Entering | Phase::Leaving => MonoTime::default(),
        };
        let end = self.over.entry(self.incarnation()).or_default();
        *end = until.max(*end);
    }

    fn views(&self) -> Option<&Views> {
        self.known.as_ref()?.views.as_deref()
    }

    /// A cluster that begins with this member.
    fn fresh(&self) -> Views {
        Views::new(self.cluster, self.settings, &[])
    }

    fn is_member(&self) -> bool {
        self.views().is_some_and(|views| views.member(self.incarnation()).is_some())
    }

    /// L_g.
    fn lease(&self) -> Duration {
        self.views().map_or(self.settings, Views::settings).lease
    }

    /// L_h, once known.
    fn hold(&self) -> Option<Duration> {
        self.views().map(|views| views.settings().hold())
    }

    /// How long an answer is waited for.
    fn pause(&self) -> Duration {
        self.hold().map_or(FIRST_ASKED_EVERY, |hold| (hold / 10).min(LAST_ASKED_EVERY))
    }

    /// The members' lives but this one.
    fn others(&self) -> impl Iterator<Item = u64> + '_ {
        let members = self.views().into_iter().flat_map(|views| &views.view().members);
        let mine = self.incarnation();
        members.filter_map(|member| member.incarnation).filter(move |&life| life != mine)
    }

    /// When the lease of another life is certainly over, and a little later, so that not everybody
    /// removes it at once.
    fn due(&self, life: u64) -> MonoTime {
        if let Some(&until) = self.over.get(&life) {
            return until;
        }
        let Some((_, since)) = self.observed.standing(life) else { return MonoTime::NEVER };
        let lease = match self.flaw {
            Some(Flaw::WaitsTooShort) => self.lease() / 2,
            _ => self.lease(),
        };
        let view = self.views().map(Views::view);
        let is_before = |other: &&skeptron_member::view::Member| {
            self.join.as_ref().is_some_and(|join| other.id < join.id)
        };
        let rank = view.map_or(0, |view| view.members.iter().filter(is_before).count());
        let turn = (lease / 60).saturating_mul(u32::try_from(rank).unwrap_or(u32::MAX));
        since.after(lease).after(turn.min(lease / 2))
    }
}
