//! A member's side of the view service: it enters, renews its lease, learns views, leaves.

use std::collections::BTreeMap;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::{Drift, MonoTime};
use skeptron_member::view::{Lease, View};

use crate::flaw::Flaw;
use crate::protocol::{Answer, Request};
use crate::views::{Join, JoinRefused, Role, Voters};

/// Requests whose sending is remembered. An answer to an older one is ignored.
const REMEMBERED: usize = 64;
/// How often to ask before any lease was granted.
const FIRST_ASKED_EVERY: Duration = Duration::from_millis(300);

/// What happened to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The moment of [`Membership::next`] has come. Too early or too late does no harm.
    Timer,
    /// A voter answered.
    Answer {
        /// Which one.
        from: MemberId,
        /// What it said.
        answer: Answer,
    },
    /// These lives, and no others, cannot be reached at present: their links broke and could not be
    /// mended at once. Whoever decides views hears of a new one immediately.
    Suspects(Vec<u64>),
    /// Every right has been given up: leave the cluster.
    Leave,
}

/// What a driver has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send it to a voter. It may be lost, delayed or duplicated.
    Send {
        /// To whom.
        to: MemberId,
        /// What.
        request: Request,
    },
    /// A newer view was decided.
    Installed(View),
    /// These vote at present, which may be known already.
    Voters(Voters),
    /// The lease runs until then, later than before.
    Prolonged(MonoTime),
    /// This life is over; the last effect that it has. A member that wants to go on begins a new
    /// [`Membership`] with a new incarnation.
    Over(End),
}

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// No renewal was confirmed in time.
    #[error("the lease expired: no leading voter answered in time")]
    RanOut,
    /// The cluster went on without it.
    #[error("removed from the cluster")]
    Removed,
    /// It asked to leave, and the cluster knows.
    #[error("left the cluster")]
    Left,
    /// It was not let in.
    #[error("join rejected: {0}")]
    Refused(JoinRefused),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Entering,
    /// Until when it may act.
    Member(MonoTime),
    Leaving,
    Over,
}

/// One life of a member, as far as the view service is concerned; without I/O and clock.
///
/// # How to drive it
/// Call `handle(now, Input::Timer, ..)` once at the start and whenever [`Membership::next`] has come, and
/// `handle` with every answer. Perform the effects in order. Whoever acts on the lease asks
/// [`Membership::lease`] and compares with the clock at the moment of acting: `Until(t)` is over at `t` even
/// before the timer has been handled. After `Over` nothing brings this life back.
#[derive(Clone, Debug)]
pub struct Membership {
    join: Join,
    voters: Vec<MemberId>,
    /// Who is asked next, as a place in `voters`.
    guess: usize,
    phase: Phase,
    /// When each request was sent, by number.
    sent: BTreeMap<u64, MonoTime>,
    number: u64,
    /// Lives that cannot be reached.
    suspects: Vec<u64>,
    /// L_h, once known.
    hold: Option<Duration>,
    drift: Option<Drift>,
    view: Option<View>,
    next: MonoTime,
    /// Nothing has come since the last request.
    unanswered: bool,
    flaw: Option<Flaw>,
}

impl Membership {
    /// A life that has not yet entered. The driver drew `join.incarnation`, never used before.
    ///
    /// # Panics
    /// If there are no voters.
    #[must_use]
    pub fn new(join: Join, voters: Vec<MemberId>) -> Self {
        assert!(!voters.is_empty(), "a cluster has voters");
        let guess = join.id.place() % voters.len();
        Membership {
            join,
            voters,
            guess,
            phase: Phase::Entering,
            sent: BTreeMap::new(),
            number: 0,
            suspects: Vec::new(),
            hold: None,
            drift: None,
            view: None,
            next: MonoTime::default(),
            unanswered: false,
            flaw: None,
        }
    }

    /// Switches a rule off.
    #[doc(hidden)]
    #[must_use]
    pub fn with_flaw(mut self, flaw: Option<Flaw>) -> Self {
        self.flaw = flaw;
        self
    }

    /// Until when this life may act; [`Lease::Over`] before it entered and while it leaves, too.
    #[must_use]
    pub fn lease(&self) -> Lease {
        match self.phase {
            Phase::Member(until) => Lease::Until(until),
            Phase::Entering | Phase::Leaving | Phase::Over => Lease::Over,
        }
    }

    /// The bound on every clock's rate error, as the leader said last.
    #[must_use]
    pub fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// The newest view that this life knows.
    #[must_use]
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Which life this is.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.join.incarnation
    }

    /// When [`Input::Timer`] is wanted.
    #[must_use]
    pub fn next(&self) -> MonoTime {
        match self.phase {
            Phase::Member(until) => self.next.min(until),
            Phase::Entering | Phase::Leaving => self.next,
            Phase::Over => MonoTime::NEVER,
        }
    }

    /// Handles one input.
    pub fn handle(&mut self, now: MonoTime, input: Input, out: &mut Vec<Effect>) {
        if let Phase::Member(until) = self.phase
            && now >= until
            && self.flaw != Some(Flaw::ComesBack)
        {
            self.end(End::RanOut, out);
        }
        if self.phase == Phase::Over {
            return;
        }
        match input {
            Input::Timer => {
                if now >= self.next {
                    self.ask(now, out);
                }
            }
            Input::Answer { from, answer } => self.take(now, from, answer, out),
            Input::Suspects(suspects) => self.suspect(now, suspects, out),
            Input::Leave => {
                if self.phase != Phase::Leaving {
                    self.phase = Phase::Leaving;
                    self.unanswered = false;
                    self.ask(now, out);
                }
            }
        }
    }

    /// Sends the next request; to another voter if the last one brought nothing (L1).
    fn ask(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        if self.unanswered {
            self.guess = (self.guess + 1) % self.voters.len();
        }
        let incarnation = self.join.incarnation;
        let request = match self.phase {
            Phase::Entering => Request::Enter { join: self.join.clone(), number: self.count(now) },
            Phase::Member(_) => {
                let epoch = self.view.as_ref().map_or(0, |view| view.epoch);
                let (number, suspects) = (self.count(now), self.suspects.clone());
                Request::Renew { incarnation, number, epoch, suspects }
            }
            Phase::Leaving => Request::Leave { incarnation },
            Phase::Over => return,
        };
        out.push(Effect::Send { to: self.voters[self.guess], request });
        self.unanswered = true;
        self.next = now.after(self.hold.map_or(FIRST_ASKED_EVERY, |hold| hold / 10));
    }

    /// Renews at once if there is somebody new to report, but not more often than ten times as usual.
    fn suspect(&mut self, now: MonoTime, suspects: Vec<u64>, out: &mut Vec<Effect>) {
        let is_new = suspects.iter().any(|life| !self.suspects.contains(life));
        self.suspects = suspects;
        let (Phase::Member(_), true, Some(hold)) = (self.phase, is_new, self.hold) else { return };
        let last = self.sent.last_key_value().map_or(now, |(_, &sent)| sent);
        self.next = self.next.min(last.after(hold / 60)).max(now);
        // Whoever was asked last has had no time to answer.
        self.unanswered = false;
        if now >= self.next {
            self.ask(now, out);
        }
    }

    fn count(&mut self, now: MonoTime) -> u64 {
        self.number += 1;
        self.sent.insert(self.number, now);
        if self.sent.len() > REMEMBERED {
            self.sent.pop_first();
        }
        self.number
    }

    fn take(&mut self, now: MonoTime, from: MemberId, answer: Answer, out: &mut Vec<Effect>) {
        let is_mine = |incarnation| incarnation == self.join.incarnation;
        match answer {
            Answer::Renewed { incarnation, number, hold, drift, .. } if is_mine(incarnation) => {
                self.drift = Some(drift);
                self.renewed(now, number, hold, out);
                self.prefer(from);
            }
            Answer::View(view) => self.learn(view, out),
            Answer::Voters(voters) => self.follow_voters(voters, out),
            Answer::NotLeader(leader) => {
                // Only the voter that was asked last knows better; a late answer must not mislead.
                if from != self.voters[self.guess] {
                    return;
                }
                match leader.filter(|&leader| leader != from) {
                    Some(leader) if self.prefer(leader) => {
                        self.unanswered = false;
                        self.next = self.next.min(now.after(self.pause()));
                    }
                    _ => {}
                }
            }
            Answer::Over { incarnation } if is_mine(incarnation) => {
                let left = self.phase == Phase::Leaving;
                self.end(if left { End::Left } else { End::Removed }, out);
            }
            Answer::Refused { incarnation, reason } if is_mine(incarnation) => {
                self.end(End::Refused(reason), out);
            }
            Answer::Renewed { .. } | Answer::Over { .. } | Answer::Refused { .. } => {}
        }
    }

    /// A hint is followed after a moment: two voters that point at each other must not make a storm.
    fn pause(&self) -> Duration {
        self.hold.map_or(FIRST_ASKED_EVERY, |hold| hold / 10) / 10
    }

    /// The lease counts from when the request was sent, and is never shortened (L4).
    fn renewed(&mut self, now: MonoTime, number: u64, hold: Duration, out: &mut Vec<Effect>) {
        let Some(&sent) = self.sent.get(&number) else { return };
        let from = if self.flaw == Some(Flaw::CountsFromAnswer) { now } else { sent };
        let granted = from.after(hold);
        let until = match self.phase {
            Phase::Entering => granted,
            Phase::Member(until) => until.max(granted),
            Phase::Leaving | Phase::Over => return,
        };
        self.hold = Some(hold);
        self.next = sent.after(hold / 6).max(now);
        self.unanswered = false;
        if self.phase != Phase::Member(until) {
            self.phase = Phase::Member(until);
            if now < until {
                out.push(Effect::Prolonged(until));
            } else if self.flaw != Some(Flaw::ComesBack) {
                self.end(End::RanOut, out);
            }
        }
    }

    /// Views never go back. One that an admitted life is not part of ends it, unless it is away.
    fn learn(&mut self, view: View, out: &mut Vec<Effect>) {
        if self.view.as_ref().is_some_and(|known| known.epoch >= view.epoch) {
            return;
        }
        let Join { id, incarnation, .. } = self.join;
        if view.is_away(id, incarnation) {
            // The others go on without it, but its lease runs: it keeps its view and what it has there.
            return;
        }
        let me = view.member(id).and_then(|member| member.incarnation);
        let includes_me = me == Some(incarnation);
        let had_me = self.view.is_some();
        if includes_me {
            self.view = Some(view.clone());
            out.push(Effect::Installed(view));
        } else if had_me {
            let left = self.phase == Phase::Leaving;
            self.end(if left { End::Left } else { End::Removed }, out);
        }
    }

    /// Asks those that vote now, whoever was configured.
    fn follow_voters(&mut self, voters: Voters, out: &mut Vec<Effect>) {
        let seats = voters.seats.iter().filter(|seat| seat.role == Role::Voter);
        let ids: Vec<MemberId> = seats.map(|seat| seat.id).collect();
        if ids.is_empty() {
            return;
        }
        let current = self.voters[self.guess];
        self.guess = ids.iter().position(|&voter| voter == current).unwrap_or(0);
        self.voters = ids;
        out.push(Effect::Voters(voters));
    }

    fn prefer(&mut self, voter: MemberId) -> bool {
        let place = self.voters.iter().position(|&other| other == voter);
        if let Some(place) = place {
            self.guess = place;
        }
        place.is_some()
    }

    fn end(&mut self, end: End, out: &mut Vec<Effect>) {
        self.phase = Phase::Over;
        self.sent.clear();
        out.push(Effect::Over(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_millis(3000);

    fn id(number: u32) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    fn life() -> Membership {
        let (address, api) = ("a:1".to_string(), Vec::new());
        let join = Join {
            id: id(4),
            incarnation: 40,
            address,
            api,
            plans: 0,
            algorithms: String::new(),
            has_folder: true,
            version: 1,
        };
        Membership::new(join, vec![id(1), id(2), id(3)])
    }

    fn handle(life: &mut Membership, millis: u64, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        life.handle(at(millis), input, &mut out);
        out
    }

    fn answer(from: u32, answer: Answer) -> Input {
        Input::Answer { from: id(from), answer }
    }

    fn renewed(number: u64) -> Input {
        let drift = Drift { ppm: 200 };
        answer(1, Answer::Renewed { incarnation: 40, number, hold: HOLD, drift, epoch: 1 })
    }

    fn sent_to(effects: &[Effect]) -> Vec<u32> {
        let to = |effect: &Effect| match effect {
            Effect::Send { to, .. } => Some(to.number()),
            _ => None,
        };
        effects.iter().filter_map(to).collect()
    }

    /// Entered at 0, answered at 100 ms.
    fn member() -> Membership {
        let mut life = life();
        assert_eq!(sent_to(&handle(&mut life, 0, Input::Timer)), [1]);
        assert_eq!(handle(&mut life, 100, renewed(1)), [Effect::Prolonged(at(3000))]);
        life
    }

    #[test]
    fn a_lease_counts_from_when_the_request_was_sent() {
        let mut life = member();
        assert_eq!(life.lease(), Lease::Until(at(3000)));
        assert_eq!(life.next(), at(500));
        handle(&mut life, 500, Input::Timer);
        assert_eq!(handle(&mut life, 790, renewed(2)), [Effect::Prolonged(at(3500))]);
        assert_eq!(handle(&mut life, 795, renewed(1)), [], "a late answer shortens nothing");
        assert_eq!(life.lease(), Lease::Until(at(3500)));
    }

    #[test]
    fn an_unanswered_request_goes_to_the_next_voter_after_a_tenth() {
        let mut life = member();
        assert_eq!(sent_to(&handle(&mut life, 500, Input::Timer)), [1]);
        assert_eq!(handle(&mut life, 799, Input::Timer), []);
        assert_eq!(sent_to(&handle(&mut life, 800, Input::Timer)), [2]);
        assert_eq!(sent_to(&handle(&mut life, 1100, Input::Timer)), [3]);
    }

    #[test]
    fn a_hint_is_followed_soon() {
        let mut life = member();
        handle(&mut life, 500, Input::Timer);
        assert_eq!(handle(&mut life, 510, answer(1, Answer::NotLeader(Some(id(3))))), []);
        assert_eq!(life.next(), at(540));
        assert_eq!(sent_to(&handle(&mut life, 540, Input::Timer)), [3]);
        handle(&mut life, 545, answer(1, Answer::NotLeader(Some(id(2)))));
        assert_eq!(sent_to(&handle(&mut life, 840, Input::Timer)), [1], "a late hint is ignored");
    }

    #[test]
    fn once_over_it_stays_over() {
        let mut life = member();
        handle(&mut life, 500, Input::Timer);
        assert_eq!(handle(&mut life, 3000, renewed(2)), [Effect::Over(End::RanOut)]);
        assert_eq!(handle(&mut life, 3001, renewed(2)), []);
        assert_eq!((life.lease(), life.next()), (Lease::Over, MonoTime::NEVER));
    }

    #[test]
    fn an_answer_to_another_life_changes_nothing() {
        let mut life = member();
        let (hold, drift) = (HOLD * 2, Drift { ppm: 1 });
        let other = Answer::Renewed { incarnation: 39, number: 1, hold, drift, epoch: 1 };
        assert_eq!(handle(&mut life, 200, answer(1, other)), []);
        assert_eq!(handle(&mut life, 200, answer(1, Answer::Over { incarnation: 39 })), []);
        assert_eq!(life.lease(), Lease::Until(at(3000)));
        assert_eq!(life.drift(), Some(Drift { ppm: 200 }));
    }

    #[test]
    fn views_never_go_back_and_one_without_it_ends_its_life() {
        let mut life = member();
        let me = skeptron_member::view::Member {
            id: id(4),
            incarnation: Some(40),
            address: "a:1".into(),
            api: Vec::new(),
        };
        let view = |epoch, members: &[_]| View::new(epoch, members.to_vec());
        let with = |epoch| view(epoch, std::slice::from_ref(&me));
        let learn = |life: &mut Membership, view| handle(life, 200, answer(1, Answer::View(view)));
        assert_eq!(learn(&mut life, view(2, &[])), [], "from before it was let in");
        assert_eq!(learn(&mut life, with(3)), [Effect::Installed(with(3))]);
        assert_eq!(learn(&mut life, with(3)), []);
        assert_eq!(learn(&mut life, view(2, &[])), []);
        assert_eq!(learn(&mut life, view(4, &[])), [Effect::Over(End::Removed)]);
    }

    #[test]
    fn a_life_that_is_away_keeps_its_view_and_is_taken_back() {
        let mut life = member();
        let me = |incarnation| skeptron_member::view::Member {
            id: id(4),
            incarnation: Some(incarnation),
            address: "a:1".into(),
            api: Vec::new(),
        };
        let with = |epoch| View::new(epoch, vec![me(40)]);
        let away = |epoch, life| View { away: vec![me(life)], ..View::new(epoch, Vec::new()) };
        let learn = |life: &mut Membership, view| handle(life, 200, answer(1, Answer::View(view)));
        learn(&mut life, with(3));
        assert_eq!(learn(&mut life, away(4, 40)), []);
        assert_eq!(life.view(), Some(&with(3)));
        assert_eq!(learn(&mut life, with(5)), [Effect::Installed(with(5))]);
        assert_eq!(learn(&mut life, away(6, 39)), [Effect::Over(End::Removed)], "another life");
    }

    #[test]
    fn a_broken_link_is_reported_at_once_but_not_in_a_storm() {
        let reported = |effects: &[Effect]| match effects {
            [Effect::Send { request: Request::Renew { suspects, .. }, .. }] => suspects.clone(),
            other => panic!("{other:?}"),
        };
        let mut life = member();
        assert_eq!(reported(&handle(&mut life, 200, Input::Suspects(vec![7]))), [7]);
        assert_eq!(handle(&mut life, 210, Input::Suspects(vec![7, 8])), []);
        assert_eq!(life.next(), at(250));
        assert_eq!(reported(&handle(&mut life, 250, Input::Timer)), [7, 8]);
        assert_eq!(handle(&mut life, 300, Input::Suspects(vec![8])), [], "that can wait");
        let renewed = handle(&mut life, 550, Input::Timer);
        assert_eq!((reported(&renewed), sent_to(&renewed)), (vec![8], vec![2]));
    }

    #[test]
    fn leaving_is_repeated_until_the_cluster_knows() {
        let mut life = member();
        assert_eq!(sent_to(&handle(&mut life, 200, Input::Leave)), [1]);
        assert_eq!(life.lease(), Lease::Over);
        assert_eq!(sent_to(&handle(&mut life, 500, Input::Timer)), [2]);
        let over = answer(1, Answer::Over { incarnation: 40 });
        assert_eq!(handle(&mut life, 600, over), [Effect::Over(End::Left)]);
    }
}
