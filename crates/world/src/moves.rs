//! Clients that go on at another member when theirs does not answer, or leaves.

use std::time::Duration;

use skeptron_member::Flaw;
use skeptron_member::clock::MonoTime;
use skeptron_member::election::Proclaimed;
use skeptron_member::session::{Alive, Life, Move, MovedHold, SessionId};

use crate::clients::{Goal, Moving};
use crate::sessions::Op;
use crate::world::World;

impl World {
    /// Asks for the lock with another number.
    pub(crate) fn acquire_anew(&mut self, client: usize, lock: usize) {
        let it = &mut self.clients[client];
        it.requests += 1;
        let request = it.requests;
        self.pursue(client, Goal::Acquiring { lock, request });
    }

    /// Whether this is where the client's session is, in the same life.
    pub(crate) fn is_home(&self, client: usize, from: usize, life: Option<Life>) -> bool {
        let it = &self.clients[client];
        let incarnation = |life: Option<Life>| life.map(|life| life.incarnation);
        it.session.is_none_or(|own| it.at == from && incarnation(own.life) == incarnation(life))
    }

    /// The member where the session is leaves: the session has to move, and that member waits until it has.
    pub(crate) fn home_leaves(&mut self, client: usize) {
        if let Some(own) = &mut self.clients[client].session {
            (own.home_leaves, own.is_answered) = (true, false);
        }
        self.look_for_another_member(client);
    }

    /// If nothing was heard since the last sign of life, the client tries to go on elsewhere.
    pub(crate) fn look_for_another_member(&mut self, client: usize) {
        let members = self.sites.len();
        let holds = self.holds(client);
        let it = &mut self.clients[client];
        let Some(own) = &mut it.session else { return };
        let is_answered = std::mem::replace(&mut own.is_answered, false);
        if own.life.is_some() && members == 1 && it.clock.read(self.now) >= own.lives_until {
            // There is nobody else to go to, and that life may be gone.
            return self.lose_session(client);
        }
        if own.life.is_none() || members == 1 || is_answered && own.moving.is_none() {
            return;
        }
        let goes_on = own.moving.is_some_and(|moving| moving.is_answered && moving.holds == holds);
        if !goes_on {
            let to = (it.at + 1 + it.chance.index(members - 1)) % members;
            let before = own.moving.map(|moving| (moving.to, own.moves));
            own.moves += 1;
            own.moving = Some(Moving { to, holds, is_answered: false, is_taken: false, before });
        }
        self.try_to_move(client);
    }

    /// What it believes to hold.
    fn holds(&self, client: usize) -> Option<(usize, skeptron_member::Fence)> {
        let it = &self.clients[client];
        let until = it.session.map_or(MonoTime::default(), |own| own.believes_until);
        it.holds().filter(|_| it.clock.read(self.now) < until)
    }

    fn try_to_move(&mut self, client: usize) {
        let it = &mut self.clients[client];
        let (ttl, requests, mode) = (it.ttl, it.requests, it.mode);
        let leads = it.campaigns.then(|| Proclaimed { value: "client".into(), version: 1 });
        let Some(own) = &mut it.session else { return };
        let (Some(from), Some(moving)) = (own.life, &mut own.moving) else { return };
        moving.is_answered = false;
        let held = moving.holds.map(|(lock, fence)| MovedHold {
            lock: self.names[lock].clone(),
            fence,
            mode,
            request: None,
            leads,
        });
        let (id, number, owner) = (own.id, own.moves, format!("client {client}"));
        let to = moving.to;
        let held = held.into_iter().collect();
        self.ask_at(
            client,
            to,
            Op::Move(Box::new(Move { id, from, number, ttl, owner, requests, held })),
        );
    }

    /// The member where the session is has answered: the client stays.
    pub(crate) fn answered_at_home(&mut self, client: usize, sent: MonoTime, valid: Duration) {
        let drift = self.drift;
        let it = &mut self.clients[client];
        let ttl = it.ttl;
        let Some(own) = &mut it.session else { return };
        own.is_answered = true;
        own.lives_until = own.lives_until.max(sent.after(drift.believed(ttl)));
        let Some(Moving { to, .. }) = own.moving.take() else {
            return self.believe_longer(client, sent, valid);
        };
        let (session, number) = (own.id, own.moves);
        let until = self.promised(client, sent, valid);
        self.believe_until(client, until);
        self.ask_at(client, to, Op::LeaveBehind { session, number });
    }

    /// Whether a member that promises this is about to lose its lease, and there are others.
    pub(crate) fn fades(&mut self, client: usize, valid: Duration) -> bool {
        let others = self.sites.len() > 1;
        let Some(own) = &mut self.clients[client].session else { return false };
        own.most_valid = own.most_valid.max(valid);
        others && own.life.is_some() && valid < own.most_valid / 3
    }

    /// The member where the session is answers, but its lease is not renewed: it counts as silent, so that the
    /// session moves while there is time.
    pub(crate) fn faded_at_home(&mut self, client: usize, sent: MonoTime, valid: Duration) {
        let drift = self.drift;
        let it = &mut self.clients[client];
        let ttl = it.ttl;
        let Some(own) = &mut it.session else { return };
        own.lives_until = own.lives_until.max(sent.after(drift.believed(ttl)));
        if own.moving.is_none() {
            self.believe_longer(client, sent, valid);
        }
    }

    /// The member to which the session moves has answered.
    pub(crate) fn take_moved(
        &mut self,
        client: usize,
        from: usize,
        life: Option<Life>,
        (session, number): (SessionId, u64),
        sent: MonoTime,
        alive: &Alive,
    ) {
        let (flaw, drift) = (self.settings.flaw, self.drift);
        let it = &mut self.clients[client];
        let (ttl, former) = (it.ttl, it.at);
        let Some(own) = it.session.as_mut().filter(|own| own.id == session) else { return };
        let Some(moving) = own.moving.as_mut().filter(|it| it.to == from && own.moves == number)
        else {
            return;
        };
        moving.is_answered = true;
        // The first word of another member is the only one that counts: others may go.
        let is_first = !std::mem::replace(&mut moving.is_taken, true);
        let before_that = moving.before.take();
        if alive.pending {
            // As when it has arrived: if nobody promises more, there is nowhere better to go.
            if is_first {
                own.most_valid = alive.valid;
            }
            let (lives_until, before) = (own.lives_until, own.believes_until);
            let (id, moved, home_leaves) = (own.id, own.moved, own.home_leaves);
            let mut until = self.promised(client, sent, alive.valid);
            if flaw != Some(Flaw::PendingBelieved) {
                until = until.min(lives_until);
            }
            let is_first = is_first && flaw != Some(Flaw::FormerBelieved);
            self.believe_until(client, if is_first { until } else { until.max(before) });
            // A member that leaves need not wait for what has gone.
            if let Some((at, number)) = before_that {
                self.ask_at(client, at, Op::LeaveBehind { session: id, number });
            }
            if home_leaves {
                self.ask_at(client, former, Op::LeaveBehind { session: id, number: moved });
            }
            return;
        }
        let holds = moving.holds;
        let behind = own.moved;
        own.moving = None;
        (own.life, own.moved, own.home_leaves) = (life, number, false);
        // A cluster whose leases were shortened promises less everywhere: there is nowhere better to go.
        own.most_valid = alive.valid;
        own.via = None;
        own.is_answered = true;
        // Late, it may have lost what it brought: what ended stays ended.
        own.lives_until = sent.after(drift.believed(ttl));
        it.at = from;
        self.survived.sessions_moved += u64::from(holds.is_some());
        let until = self.promised(client, sent, alive.valid);
        self.believe_until(client, until);
        self.ask_at(client, former, Op::LeaveBehind { session, number: behind });
        if let Goal::Acquiring { lock, .. } = self.clients[client].goal {
            self.acquire_anew(client, lock);
        }
        if let Goal::Upgrading { lock, fence, .. } = self.clients[client].goal {
            self.upgrade_session(client, lock, fence);
        }
        if let (Some((lock, fence)), Some(_)) = (self.clients[client].holds(), holds)
            && alive.lost.iter().any(|held| held.fence == fence)
        {
            self.judges[lock].clients.leave(crate::machine::judged(client));
            self.think(client);
        }
    }

    /// The member there does not take it: what it brings may be somebody else's, so another member may
    /// know more, or the session goes on without.
    pub(crate) fn cannot_move(&mut self, client: usize, from: usize) {
        if let Some(own) = &mut self.clients[client].session {
            own.moving = own.moving.filter(|moving| moving.to != from);
        }
    }
}
