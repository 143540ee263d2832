//! Clients with sessions, and what a real member's API does for them.

use std::sync::Arc;
use std::time::Duration;

use skeptron_core::mutex::Mode;
use skeptron_member::clock::MonoTime;
use skeptron_member::session::{Alive, Begun, Claim, Held, Life, Move, SessionError, SessionId};
use skeptron_member::{Fence, Flaw, LockError, NotServed};

use crate::clients::{Goal, OwnSession};
use crate::clock::{MICROSECOND, MILLISECOND, Time};
use crate::faults::FaultKind;
use crate::machine::{Waiter, judged};
use crate::relay::{Passed, Via};
use crate::world::{Event, Wake, World};

/// Something that a client asks its member.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client: usize,
    /// The place of the member.
    pub(crate) to: usize,
    /// Where it is to be passed on to.
    pub(crate) pass: Option<Life>,
    /// Through whom it came.
    pub(crate) via: Option<Via>,
    /// Whether the life that a session comes from was asked already.
    pub(crate) asked_home: bool,
    pub(crate) goal: u64,
    /// When it was sent, by the client's clock.
    pub(crate) sent: MonoTime,
    pub(crate) what: Op,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Open,
    KeepAlive(SessionId),
    Move(Box<Move>),
    LeaveBehind { session: SessionId, number: u64 },
    Acquire { session: SessionId, lock: usize, request: u64 },
    Withdraw { session: SessionId, lock: usize, request: u64 },
    Upgrade { session: SessionId, lock: usize, fence: Fence, request: u64 },
    Downgrade { session: SessionId, lock: usize, fence: Fence },
    Release { session: SessionId, lock: usize, fence: Fence },
    Close(SessionId),
}

/// What a member replies.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) client: usize,
    /// The place of the member.
    pub(crate) from: usize,
    /// Which of its lives, if the views say.
    pub(crate) life: Option<Life>,
    /// Through whom.
    pub(crate) via: Option<Via>,
    goal: u64,
    /// Of the request.
    pub(crate) sent: MonoTime,
    pub(crate) what: Answer,
}

impl Reply {
    /// To this request, of this life of the member at that place.
    pub(crate) fn new(
        from: usize,
        life: Option<Life>,
        request: &Request,
        via: Option<Via>,
        what: Answer,
    ) -> Self {
        let &Request { client, goal, sent, .. } = request;
        Reply { client, from, life, via, goal, sent, what }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Opened { session: SessionId, valid: Duration },
    Alive { session: SessionId, alive: Alive },
    Moved { session: SessionId, number: u64, alive: Alive },
    Relayed { session: SessionId, number: u64, alive: Alive },
    Leaving,
    Held { lock: usize, fence: Fence, valid: Duration },
    Withdrawn,
    Denied,
    Downgraded,
    Released,
    Closed,
    Over,
}

impl World {
    /// How long a message between a client and its member takes; none if it gets lost.
    pub(crate) fn client_latency(&mut self, client: usize, place: usize) -> Option<Time> {
        let (loss, slow) = (self.quality.loss, self.options.faults.has(FaultKind::Slow));
        let slow = slow && !self.healed;
        let (cut_off, until) = self.clients[client].cut_off;
        let is_cut = cut_off == place && self.now < until && !self.healed;
        let chance = &mut self.clients[client].chance;
        if chance.happens(loss) || is_cut {
            self.survived.lost += 1;
            return None;
        }
        let late = slow && chance.below(100) == 0;
        let jitter = if late { 300 * MILLISECOND } else { 200 * MICROSECOND };
        Some(20 * MICROSECOND + chance.below(jitter))
    }

    /// Asks where the session is, through another member if that is how it is reached.
    fn ask(&mut self, client: usize, what: Op) {
        let it = &self.clients[client];
        match it.session.and_then(|own| own.via.zip(own.life)) {
            Some((via, life)) => self.ask_through(client, via, Some(life), what),
            None => self.ask_at(client, it.at, what),
        }
    }

    pub(crate) fn ask_at(&mut self, client: usize, to: usize, what: Op) {
        self.ask_through(client, to, None, what);
    }

    fn ask_through(&mut self, client: usize, to: usize, pass: Option<Life>, what: Op) {
        let it = &self.clients[client];
        let (goal, sent) = (it.goal_number, it.clock.read(self.now));
        let (via, asked_home) = (None, false);
        let request = Request { client, to, pass, via, asked_home, goal, sent, what };
        if let Some(takes) = self.client_latency(client, to) {
            self.queue.plan(self.now + takes, Event::Request(Box::new(request)));
        }
    }

    fn reply(&mut self, from: usize, to: Waiter, what: Answer) {
        let Waiter { client, goal, sent, via } = to;
        let life = self.sites[from].life.as_ref().and_then(|life| life.core.life());
        let reply = Reply { client, from, life, via, goal, sent, what };
        if let Some(via) = via {
            return self.pass(from, via.member, Passed::Answer(reply));
        }
        if let Some(takes) = self.client_latency(client, from) {
            self.queue.plan(self.now + takes, Event::Reply(Box::new(reply)));
        }
    }

    /// A client with a session acts.
    pub(crate) fn wake_session_client(&mut self, client: usize, what: Wake) {
        let goal = self.clients[client].goal;
        match (what, goal) {
            (Wake::Next, Goal::Idle) => self.choose(client),
            (Wake::Next, Goal::Holding { lock, fence }) => {
                self.change_or_give_back(client, lock, fence);
            }
            (Wake::GiveUp, Goal::Acquiring { lock, request }) => {
                self.pursue(client, Goal::Withdrawing { lock, request, holds: None });
            }
            (Wake::GiveUp, Goal::Upgrading { lock, fence, request }) => {
                self.judges[lock].clients.leave(judged(client));
                self.pursue(client, Goal::Withdrawing { lock, request, holds: Some(fence) });
            }
            (Wake::Retry, _) => self.try_goal(client),
            _ => {}
        }
    }

    /// What an idle client does next.
    fn choose(&mut self, client: usize) {
        let it = &self.clients[client];
        match (it.entries_left, &it.session) {
            (0, None) => {
                self.set_goal(client, Goal::Done);
                self.progress();
            }
            (0, Some(_)) => self.pursue(client, Goal::Closing),
            (_, None) => self.pursue(client, Goal::Opening),
            (_, Some(_)) => {
                let lock = self.choose_lock(client);
                let it = &mut self.clients[client];
                it.requests += 1;
                let request = it.requests;
                it.campaigns = self.options.elections && it.chance.below(4) > 0;
                self.choose_mode(client);
                let it = &mut self.clients[client];
                let gives_up = it.chance.below(20) == 0;
                self.pursue(client, Goal::Acquiring { lock, request });
                if gives_up {
                    let after = self.clients[client].chance.below(30 * MILLISECOND);
                    self.plan_client(client, after, Wake::GiveUp);
                }
            }
        }
    }

    pub(crate) fn pursue(&mut self, client: usize, goal: Goal) {
        self.set_goal(client, goal);
        self.try_goal(client);
    }

    /// Asks for what the client is about, and again if no answer comes.
    pub(crate) fn try_goal(&mut self, client: usize) {
        let (members, has_views) = (self.sites.len(), self.service.is_some());
        let it = &mut self.clients[client];
        let session = it.session.map(|session| session.id);
        if it.goal == Goal::Opening && has_views && it.chance.below(2) == 0 {
            it.at = it.chance.index(members);
        }
        let op = match (it.goal, session) {
            (Goal::Opening, _) => Op::Open,
            (Goal::Acquiring { lock, request }, Some(session)) => {
                Op::Acquire { session, lock, request }
            }
            (Goal::Withdrawing { lock, request, .. }, Some(session)) => {
                Op::Withdraw { session, lock, request }
            }
            (Goal::Upgrading { lock, fence, request }, Some(session)) => {
                Op::Upgrade { session, lock, fence, request }
            }
            (Goal::Downgrading { lock, fence }, Some(session)) => {
                Op::Downgrade { session, lock, fence }
            }
            (Goal::Releasing { lock, fence }, Some(session)) => {
                Op::Release { session, lock, fence }
            }
            (Goal::Closing, Some(session)) => Op::Close(session),
            _ => return,
        };
        let after = it.chance.between(60 * MILLISECOND, 200 * MILLISECOND);
        self.ask(client, op);
        self.plan_client(client, after, Wake::Retry);
    }

    /// A session needs a sign of life, if it is still the one.
    pub(crate) fn keep_alive(&mut self, client: usize, number: u64) {
        let it = &self.clients[client];
        let Some(session) = it.session.filter(|session| session.number == number) else { return };
        if it.is_done() {
            return;
        }
        self.ask(client, Op::KeepAlive(session.id));
        if session.via.is_some() {
            // Perhaps the member is reached straight again.
            self.ask_at(client, self.clients[client].at, Op::KeepAlive(session.id));
        }
        self.look_for_another_member(client);
        self.plan_keep_alive(client, number);
    }

    fn plan_keep_alive(&mut self, client: usize, number: u64) {
        let it = &self.clients[client];
        // A sign that is not answered is the first hint that another member must be found.
        let pace = if self.service.is_some() { 200 } else { 1000 };
        let pace = (it.ttl / 3).min(Duration::from_millis(pace));
        let at = it.clock.when(it.clock.read(self.now).after(pace));
        let event = Event::Client { client, goal: number, what: Wake::KeepAlive };
        self.queue.plan(at.max(self.now), event);
    }

    /// At the member: for how long a client may believe, from when it asked.
    fn valid(&self, place: usize, ttl: Duration) -> Duration {
        let lease =
            self.sites[place].life.as_ref().map_or(MonoTime::default(), |it| it.core.lease());
        ttl.min(lease.since(self.clock(place)))
    }

    /// At the member: a request arrives.
    pub(crate) fn serve_request(&mut self, request: Request) {
        if self.sites[request.to].life.is_none() || self.asks_home(request.to, &request) {
            return;
        }
        if let Some(life) = request.pass {
            return self.pass_on(request.to, life, request);
        }
        let Request { client, to: place, via, goal, sent, what, .. } = request;
        let asker = Waiter { client, goal, sent, via };
        let ttl = self.clients[client].ttl;
        let names = Arc::clone(&self.names);
        let answer = match what {
            Op::Open => {
                let id = u128::from(self.chance.bits()) << 64 | u128::from(self.chance.bits());
                let session = SessionId(id);
                let opened = self.with_core(place, |core, now, out| {
                    core.open_session(now, session, ttl, format!("client {client}"), 1000, out)
                });
                match opened {
                    Some(Ok(())) => Some(Answer::Opened { session, valid: self.valid(place, ttl) }),
                    _ => None,
                }
            }
            Op::KeepAlive(session) => {
                match self.with_core(place, |core, now, _| core.keep_alive(now, session)) {
                    Some(Ok(alive)) => Some(Answer::Alive { session, alive }),
                    Some(Err(SessionError::Closing(_))) => Some(Answer::Leaving),
                    Some(Err(_)) => Some(Answer::Over),
                    None => None,
                }
            }
            Op::Move(moved) => {
                let (session, number) = (moved.id, moved.number);
                let alive = self
                    .with_core(place, |core, now, out| core.move_session(now, *moved, 1000, out));
                match alive {
                    Some(Ok(alive)) => Some(Answer::Moved { session, number, alive }),
                    Some(Err(SessionError::Over)) => Some(Answer::Over),
                    Some(Err(_)) | None => None,
                }
            }
            Op::LeaveBehind { session, number } => {
                self.with_core(place, |core, now, out| {
                    core.leave_session_behind(now, session, number, out)
                });
                None
            }
            Op::Acquire { session, lock, request } => {
                self.serve_acquire(place, asker, (session, lock, request), None)
            }
            Op::Upgrade { session, lock, fence, request } => {
                self.serve_acquire(place, asker, (session, lock, request), Some(fence))
            }
            Op::Downgrade { session, lock, fence } => {
                let downgraded = self.with_core(place, |core, now, out| {
                    core.session_downgrade(now, session, (&names[lock], fence, Mode::SHARED), out)
                });
                answered(downgraded, Answer::Downgraded)
            }
            Op::Withdraw { session, lock, request } => {
                let withdrawn = self.with_core(place, |core, now, out| {
                    core.session_withdraw(now, session, &names[lock], request, out)
                });
                answered(withdrawn, Answer::Withdrawn)
            }
            Op::Release { session, lock, fence } => {
                let released = self.with_core(place, |core, now, out| {
                    core.session_release(now, session, &names[lock], fence, out)
                });
                answered(released, Answer::Released)
            }
            Op::Close(session) => {
                let closed =
                    self.with_core(place, |core, now, out| core.close_session(now, session, out));
                answered(closed, Answer::Closed)
            }
        };
        if let Some(answer) = answer {
            self.reply(place, asker, answer);
        }
    }

    fn serve_acquire(
        &mut self,
        place: usize,
        waiter: Waiter,
        (session, lock, request): (SessionId, usize, u64),
        upgrades: Option<Fence>,
    ) -> Option<Answer> {
        let claim = Claim { lock: self.names[lock].clone(), request: Some(request) };
        let client = waiter.client;
        let (campaigns, mode) = (self.clients[client].campaigns, self.clients[client].mode);
        let begun = self.with_core(place, |core, now, out| {
            if let Some(fence) = upgrades {
                core.session_upgrade(now, session, (claim, fence), waiter, out)
            } else if campaigns {
                core.campaign(now, session, (claim, "client"), waiter, out)
            } else {
                core.session_acquire(now, session, (claim, mode), waiter, out)
            }
        });
        match begun? {
            Ok(Begun::Held(held)) => {
                let valid = self.valid(place, self.clients[client].ttl);
                Some(Answer::Held { lock, fence: held.fence, valid })
            }
            Ok(Begun::Waiting(waits)) => {
                if let Some(life) = &mut self.sites[place].life {
                    life.places[client] = Some((session, waits));
                }
                None
            }
            Err(SessionError::Withdrawn(_)) => Some(Answer::Withdrawn),
            Err(SessionError::Over) => Some(Answer::Over),
            Err(SessionError::Closing(_)) => Some(Answer::Leaving),
            Err(SessionError::Moving(_)) => None,
            Err(SessionError::Lock(LockError::UpgradeDenied(_))) => Some(Answer::Denied),
            Err(
                SessionError::NotHeld(_) | SessionError::OtherFence { .. } | SessionError::Lost(_),
            ) => Some(Answer::Denied),
            Err(SessionError::Lock(error)) => {
                self.judge_refusal(client, place, &error);
                None
            }
            Err(_) => None,
        }
    }

    /// At the member: the connection on which a client waits is gone.
    pub(crate) fn break_client_connection(&mut self, client: usize) {
        let it = &self.clients[client];
        match it.session.and_then(|own| own.via) {
            Some(via) => self.pass(via, it.at, Passed::Cancel(client)),
            None => self.leave_waiting_place(it.at, client),
        }
    }

    pub(crate) fn leave_waiting_place(&mut self, place: usize, client: usize) {
        let Some(life) = &mut self.sites[place].life else { return };
        if let Some((session, waits)) = life.places[client].take() {
            self.survived.resets += 1;
            self.with_core(place, |core, now, out| core.leave_place(now, session, &waits, out));
        }
    }

    pub(crate) fn reply_granted(
        &mut self,
        place: usize,
        waiter: Waiter,
        lock: usize,
        fence: Fence,
    ) {
        let valid = self.valid(place, self.clients[waiter.client].ttl);
        self.reply(place, waiter, Answer::Held { lock, fence, valid });
    }

    pub(crate) fn reply_not_served(&mut self, place: usize, waiter: Waiter, why: NotServed) {
        match why {
            NotServed::SessionOver => self.reply(place, waiter, Answer::Over),
            NotServed::Withdrawn => self.reply(place, waiter, Answer::Withdrawn),
            NotServed::Leaving => self.reply(place, waiter, Answer::Leaving),
            NotServed::UpgradeDenied => self.reply(place, waiter, Answer::Denied),
            NotServed::Halted | NotServed::Replaced | NotServed::Deadlock => {}
        }
    }

    /// At the client: a reply arrives.
    pub(crate) fn take_reply(&mut self, reply: Reply) {
        let Reply { client, from, life, via, goal, sent, what } = reply;
        let present = self.clients[client].goal;
        let is_meant = goal == self.clients[client].goal_number;
        let is_home = self.is_home(client, from, life);
        let drift = self.drift;
        match (what, present) {
            (Answer::Opened { session, valid }, Goal::Opening) if is_meant => {
                let it = &mut self.clients[client];
                it.sessions += 1;
                let number = it.sessions;
                it.at = from;
                it.session = Some(OwnSession {
                    id: session,
                    number,
                    most_valid: valid,
                    believes_until: MonoTime::default(),
                    life,
                    lives_until: sent.after(drift.believed(it.ttl)),
                    via: None,
                    is_answered: true,
                    home_leaves: false,
                    moved: 0,
                    moves: 0,
                    moving: None,
                });
                self.believe_longer(client, sent, valid);
                self.plan_keep_alive(client, number);
                self.think(client);
            }
            (Answer::Alive { session, alive }, _) if is_home => {
                let own = self.clients[client].session;
                let trusts = self.settings.flaw == Some(Flaw::LeavingTrusted);
                if own.is_none_or(|own| own.id != session || own.home_leaves && !trusts) {
                    return;
                }
                if let (Some(own), None) = (&mut self.clients[client].session, via) {
                    own.via = None;
                }
                match self.fades(client, alive.valid) {
                    true => self.faded_at_home(client, sent, alive.valid),
                    false => self.answered_at_home(client, sent, alive.valid),
                }
                if let Some((lock, fence)) = self.clients[client].holds()
                    && alive.lost.contains(&Held { lock: self.names[lock].clone(), fence })
                {
                    self.judges[lock].clients.leave(judged(client));
                    self.think(client);
                }
            }
            (Answer::Moved { session, number, alive }, _) => {
                self.take_moved(client, from, life, (session, number), sent, &alive);
            }
            (Answer::Relayed { session, number, alive }, _) if is_home => {
                let through = via.map_or(from, |via| via.member);
                self.take_relayed(client, through, (session, number), sent, &alive);
            }
            (Answer::Leaving, _) if is_home => self.home_leaves(client),
            // What is granted where it was while it moves is not brought along.
            (Answer::Held { .. }, Goal::Acquiring { .. } | Goal::Upgrading { .. })
                if self.clients[client].session.is_some_and(|own| own.moving.is_some()) => {}
            (Answer::Held { lock, fence, valid }, Goal::Acquiring { .. })
                if is_meant && is_home =>
            {
                self.believe_longer(client, sent, valid);
                self.hold_or_release(client, lock, fence);
            }
            (Answer::Held { lock, fence, valid }, Goal::Upgrading { fence: before, .. })
                if is_meant && is_home =>
            {
                self.believe_longer(client, sent, valid);
                self.upgraded(client, lock, before, fence);
            }
            (Answer::Denied | Answer::Withdrawn, Goal::Upgrading { lock, fence, .. })
                if is_meant && is_home =>
            {
                self.survived.upgrades_denied += 1;
                self.give_back(client, lock, fence);
            }
            // It was granted and lost before the client heard of it.
            (Answer::Withdrawn, Goal::Acquiring { lock, .. }) if is_meant && is_home => {
                self.acquire_anew(client, lock);
            }
            (Answer::Downgraded, Goal::Downgrading { lock, fence }) if is_meant && is_home => {
                self.go_on_holding(client, lock, fence);
            }
            (Answer::Withdrawn, Goal::Withdrawing { lock, holds: Some(fence), .. }) if is_meant => {
                self.pursue(client, Goal::Releasing { lock, fence });
            }
            (Answer::Withdrawn, Goal::Withdrawing { .. })
            | (Answer::Released, Goal::Releasing { .. })
                if is_meant =>
            {
                self.progress();
                self.think(client);
            }
            (Answer::Closed, Goal::Closing) if is_meant => self.finish(client),
            (Answer::Over, _) if is_home && is_meant => self.lose_session(client),
            (Answer::Over, _) if !is_home => self.cannot_move(client, from),
            _ => {}
        }
    }

    /// The member has heard of the client since it sent this.
    pub(crate) fn believe_longer(&mut self, client: usize, sent: MonoTime, valid: Duration) {
        let until = self.promised(client, sent, valid);
        let before = self.clients[client].session.map(|own| own.believes_until);
        self.believe_until(client, until.max(before.unwrap_or_default()));
    }

    /// Until when the client may believe a member that promises this.
    pub(crate) fn promised(&self, client: usize, sent: MonoTime, valid: Duration) -> MonoTime {
        let flaw = self.settings.flaw;
        let now = self.clients[client].clock.read(self.now);
        let from = if flaw == Some(Flaw::CountedFromAnswer) { now } else { sent };
        let drifts = flaw != Some(Flaw::DriftIgnored);
        from.after(if drifts { self.drift.believed(valid) } else { valid })
    }

    /// The client believes until then. What it did not believe in any more is over, whatever the word.
    pub(crate) fn believe_until(&mut self, client: usize, until: MonoTime) {
        let it = &mut self.clients[client];
        let now = it.clock.read(self.now);
        let Some(session) = &mut it.session else { return };
        let before = std::mem::replace(&mut session.believes_until, until);
        let Some((lock, fence)) = it.holds() else { return };
        if now >= before {
            return self.give_up_holding(client, lock, fence);
        }
        let until = it.clock.when(until);
        self.judges[lock].clients.set(judged(client), self.now, until);
    }

    /// Its session is over, and with it whatever it held.
    pub(crate) fn lose_session(&mut self, client: usize) {
        let it = &mut self.clients[client];
        it.session = None;
        if it.goal == Goal::Closing {
            return self.finish(client);
        }
        if let Some((lock, _)) = it.holds() {
            self.judges[lock].clients.leave(judged(client));
        }
        self.think(client);
    }

    fn finish(&mut self, client: usize) {
        self.clients[client].session = None;
        self.set_goal(client, Goal::Done);
        self.progress();
    }
}

/// What the client is told: whatever it is not, it was done before or cannot be done any more.
fn answered<T>(result: Option<Result<T, SessionError>>, done: Answer) -> Option<Answer> {
    match result? {
        Err(SessionError::Over) => Some(Answer::Over),
        Err(SessionError::Closing(_)) => Some(Answer::Leaving),
        Err(SessionError::Moving(_)) => None,
        Ok(_) | Err(_) => Some(done),
    }
}
