//! Requests that go through another member to the one where a session is: from the client to a member that
//! it can reach, and from there over the link between the two.

use std::collections::BTreeMap;

use skeptron_member::session::{Alive, Life, SessionId};
use skeptron_member::wire::Relay;
use skeptron_member::{Flaw, MemberId};

use crate::clock::{MILLISECOND, Time};
use crate::machine::judged;
use crate::sessions::{Answer, Op, Reply, Request};
use crate::world::{Event, World};

/// How long the member where a session is has to answer, before a move is taken after all.
const HOME_WITHIN: Time = 300 * MILLISECOND;

/// Through whom a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Via {
    /// The place of the member that passed it on.
    pub(crate) member: usize,
    /// The number of the move that it asks for there, if it does.
    pub(crate) moves: Option<u64>,
}

/// What is on its way between two members; the links carry its number.
#[derive(Debug)]
pub(crate) enum Passed {
    Request(Request),
    Answer(Reply),
    /// The connection on which this client waited is gone.
    Cancel(usize),
}

/// Everything that is on its way, and the moves that wait for a word of the member where the session is.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    last: u64,
    passed: BTreeMap<u64, Passed>,
    moves: BTreeMap<u64, Request>,
}

impl Relays {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl World {
    /// Whether that life is a member to which this one has a connection.
    fn reaches(&self, place: usize, life: Life) -> bool {
        let Some(own) = &self.sites[place].life else { return false };
        let view = own.core.view();
        let is_member =
            view.member(life.member).is_some_and(|it| it.incarnation == Some(life.incarnation));
        let end = own.effects.ends.get(life.member.place()).and_then(Option::as_ref);
        is_member && end.is_some_and(|end| end.connection.is_some())
    }

    /// Hands something to the link, once the present step is over.
    pub(crate) fn pass(&mut self, at: usize, to: usize, what: Passed) {
        let number = self.relays.number();
        self.relays.passed.insert(number, what);
        self.queue.plan(self.now, Event::Pass { at, to, number });
    }

    pub(crate) fn put_on_link(&mut self, at: usize, to: usize, number: u64) {
        let (id, to) = (number, MemberId::at(to));
        let relay = match self.relays.passed.get(&number) {
            Some(Passed::Request(_)) => Relay::Request { id, request: &[] },
            Some(Passed::Answer(_)) => Relay::Answer { id, answer: &[] },
            Some(Passed::Cancel(_)) => Relay::Cancel { id },
            None => return,
        };
        self.with_core(at, |core, _, out| core.relay(to, relay, out));
    }

    /// At a member: a client asks for something at the place of its session, elsewhere.
    pub(crate) fn pass_on(&mut self, place: usize, life: Life, mut request: Request) {
        if !self.reaches(place, life) {
            return;
        }
        let via = Via { member: place, moves: None };
        if self.settings.flaw == Some(Flaw::RelayPromises)
            && let Op::KeepAlive(session) = request.what
        {
            let valid = self.clients[request.client].ttl;
            let alive = Alive { valid, pending: false, lost: Vec::new() };
            let what = Answer::Alive { session, alive };
            let from = life.member.place();
            return self.hand_out(place, Reply::new(from, Some(life), &request, Some(via), what));
        }
        (request.pass, request.via) = (None, Some(via));
        self.pass(place, life.member.place(), Passed::Request(request));
    }

    /// At a member: a session wants to move here, from a life that can be reached. Whether it is asked first.
    pub(crate) fn asks_home(&mut self, place: usize, request: &Request) -> bool {
        let Op::Move(moved) = &request.what else { return false };
        if request.asked_home || !self.options.relays || !self.reaches(place, moved.from) {
            return false;
        }
        let (number, home) = (self.relays.number(), moved.from.member.place());
        let sign = Request {
            what: Op::KeepAlive(moved.id),
            via: Some(Via { member: place, moves: Some(number) }),
            ..request.clone()
        };
        self.relays.moves.insert(number, request.clone());
        self.pass(place, home, Passed::Request(sign));
        self.queue.plan(self.now + HOME_WITHIN, Event::HomeSilent { at: place, number });
        true
    }

    /// At a member: the life where a session is has not answered, or not kindly: the session moves here.
    pub(crate) fn move_after_all(&mut self, number: u64) {
        if let Some(request) = self.relays.moves.remove(&number) {
            let request = Request { asked_home: true, ..request };
            self.queue.plan(self.now, Event::Request(Box::new(request)));
        }
    }

    /// At a member: the link brings something of a client.
    pub(crate) fn take_relay(&mut self, place: usize, number: u64) {
        match self.relays.passed.remove(&number) {
            Some(Passed::Request(request)) => {
                let request = Request { to: place, ..request };
                self.queue.plan(self.now, Event::Request(Box::new(request)));
            }
            Some(Passed::Answer(reply)) => self.take_answer(place, reply),
            Some(Passed::Cancel(client)) => self.leave_waiting_place(place, client),
            None => {}
        }
    }

    fn take_answer(&mut self, place: usize, mut reply: Reply) {
        let Some(number) = reply.via.and_then(|via| via.moves) else {
            return self.hand_out(place, reply);
        };
        match reply.what {
            Answer::Alive { session, alive } => {
                let Some(request) = self.relays.moves.remove(&number) else { return };
                let Op::Move(moved) = request.what else { return };
                reply.what = Answer::Relayed { session, number: moved.number, alive };
                self.hand_out(place, reply);
            }
            Answer::Over => {
                self.relays.moves.remove(&number);
                self.hand_out(place, reply);
            }
            _ => self.move_after_all(number),
        }
    }

    /// At a member: the answer of another one goes to the client.
    fn hand_out(&mut self, place: usize, reply: Reply) {
        if let Some(takes) = self.client_latency(reply.client, place) {
            self.queue.plan(self.now + takes, Event::Reply(Box::new(reply)));
        }
    }

    /// At the client: a member can reach the life where the session is, which goes on there.
    pub(crate) fn take_relayed(
        &mut self,
        client: usize,
        via: usize,
        (session, number): (SessionId, u64),
        sent: skeptron_member::clock::MonoTime,
        alive: &Alive,
    ) {
        let drift = self.drift;
        let it = &mut self.clients[client];
        let ttl = it.ttl;
        let Some(own) = it.session.as_mut().filter(|own| own.id == session) else { return };
        let is_it = own.moves == number && !own.home_leaves;
        let Some(moving) = own.moving.take_if(|moving| is_it && moving.to == via) else { return };
        (own.via, own.is_answered, own.most_valid) = (Some(via), true, alive.valid);
        own.lives_until = own.lives_until.max(sent.after(drift.believed(ttl)));
        self.survived.sessions_relayed += 1;
        let until = self.promised(client, sent, alive.valid);
        self.believe_until(client, until);
        self.ask_at(client, via, Op::LeaveBehind { session, number });
        if let Some((at, number)) = moving.before {
            self.ask_at(client, at, Op::LeaveBehind { session, number });
        }
        if let Some((lock, fence)) = self.clients[client].holds()
            && alive.lost.iter().any(|held| held.fence == fence)
        {
            self.judges[lock].clients.leave(judged(client));
            self.think(client);
        }
    }
}
