//! Clients that tolerate others, and change what they tolerate while they are in.

use std::sync::Arc;

use skeptron_core::mutex::Mode;
use skeptron_member::{Acquired, Fence, LockError};

use crate::clients::Goal;
use crate::clock::MILLISECOND;
use crate::machine::{Waiter, judged};
use crate::world::{Wake, World};

impl World {
    /// How many others a client tolerates next.
    pub(crate) fn choose_mode(&mut self, client: usize) {
        let it = &mut self.clients[client];
        it.mode = Mode::EXCLUSIVE;
        if self.options.kinds && !it.campaigns {
            it.mode = match it.chance.below(8) {
                0..3 => Mode::EXCLUSIVE,
                3..6 => Mode::SHARED,
                k => Mode::permits(k as u32 - 4).unwrap_or_default(),
            };
        }
    }

    /// Whether a client that is in goes on as something else.
    fn changes(&mut self, client: usize) -> bool {
        let it = &mut self.clients[client];
        self.options.kinds && !it.campaigns && it.chance.below(4) == 0
    }

    /// A client inside its member goes on as something else, or leaves.
    pub(crate) fn change_or_release(&mut self, client: usize, lock: usize, fence: Fence) {
        if !self.change_inside(client, lock, fence) {
            self.release(client, lock, fence);
        }
    }

    /// A client with a session goes on as something else, or leaves.
    pub(crate) fn change_or_give_back(&mut self, client: usize, lock: usize, fence: Fence) {
        if !self.change_session(client, lock, fence) {
            self.give_back(client, lock, fence);
        }
    }

    fn change_inside(&mut self, client: usize, lock: usize, fence: Fence) -> bool {
        if !self.changes(client) {
            return false;
        }
        let names = Arc::clone(&self.names);
        let it = &mut self.clients[client];
        let at = it.at;
        if it.mode.is_exclusive() {
            it.mode = Mode::SHARED;
            let entry = (fence, Mode::SHARED);
            self.judges[lock].clients.change(fence, entry, self.now);
            self.go_on_holding(client, lock, fence);
            self.with_core(at, |core, now, out| {
                let handle = core.lock(&names[lock]);
                handle.is_ok_and(|it| core.downgrade(now, &it, fence, Mode::SHARED, out))
            });
            return true;
        }
        let gives_up = (it.chance.below(3) == 0).then(|| it.chance.below(20 * MILLISECOND));
        self.set_goal(client, Goal::Upgrading { lock, fence, request: 0 });
        let it = &self.clients[client];
        let (goal, sent) = (it.goal_number, it.clock.read(self.now));
        let upgraded = self.with_core(at, |core, now, out| {
            let handle = core.lock(&names[lock])?;
            core.upgrade(now, &handle, fence, || Waiter { client, goal, sent, via: None }, out)
        });
        let present = self.clients[client].goal_number == goal;
        match upgraded {
            Some(Ok(Acquired::Waiting(ticket))) if present => {
                self.clients[client].goal = Goal::Upgrading { lock, fence, request: ticket };
                if let Some(after) = gives_up {
                    self.plan_client(client, after, Wake::GiveUp);
                }
            }
            Some(Err(LockError::UpgradeDenied(_))) if present => {
                self.survived.upgrades_denied += 1;
                self.release(client, lock, fence);
            }
            Some(Ok(Acquired::Granted(_)) | Err(_)) | None if present => {
                self.release(client, lock, fence);
            }
            _ => {}
        }
        true
    }

    fn change_session(&mut self, client: usize, lock: usize, fence: Fence) -> bool {
        if !self.changes(client) {
            return false;
        }
        if !self.clients[client].mode.is_exclusive() {
            self.upgrade_session(client, lock, fence);
            return true;
        }
        // From now on it believes no more than that, whether its member hears of it or not.
        self.clients[client].mode = Mode::SHARED;
        self.judges[lock].clients.change(fence, (fence, Mode::SHARED), self.now);
        self.pursue(client, Goal::Downgrading { lock, fence });
        true
    }

    pub(crate) fn upgrade_session(&mut self, client: usize, lock: usize, fence: Fence) {
        let it = &mut self.clients[client];
        it.requests += 1;
        let request = it.requests;
        let gives_up = (it.chance.below(3) == 0).then(|| it.chance.below(30 * MILLISECOND));
        self.pursue(client, Goal::Upgrading { lock, fence, request });
        if let Some(after) = gives_up {
            self.plan_client(client, after, Wake::GiveUp);
        }
    }

    /// A client that tolerated others is told that it is exclusive.
    pub(crate) fn upgraded(&mut self, client: usize, lock: usize, before: Fence, fence: Fence) {
        let it = &mut self.clients[client];
        let believes = it.session.is_none_or(|own| own.believes_until > it.clock.read(self.now));
        if !believes {
            return self.give_up_holding(client, lock, fence);
        }
        it.mode = Mode::EXCLUSIVE;
        self.survived.upgrades += 1;
        let entry = (fence, Mode::EXCLUSIVE);
        let other = self.judges[lock].clients.change(before, entry, self.now);
        self.judge_believer(client, lock, entry, other);
        self.go_on_holding(client, lock, fence);
    }

    pub(crate) fn go_on_holding(&mut self, client: usize, lock: usize, fence: Fence) {
        self.set_goal(client, Goal::Holding { lock, fence });
        let after = self.clients[client].hold();
        self.plan_client(client, after, Wake::Next);
    }

    /// It leaves, and tells its member.
    pub(crate) fn give_back(&mut self, client: usize, lock: usize, fence: Fence) {
        self.judges[lock].clients.leave(judged(client));
        self.pursue(client, Goal::Releasing { lock, fence });
    }

    /// It does not believe in what it holds any more. An upgrade that was asked for comes to nothing.
    pub(crate) fn give_up_holding(&mut self, client: usize, lock: usize, fence: Fence) {
        self.judges[lock].clients.leave(judged(client));
        match self.clients[client].goal {
            Goal::Upgrading { request, fence: before, .. } if fence == before => {
                self.pursue(client, Goal::Withdrawing { lock, request, holds: Some(fence) });
            }
            _ => self.pursue(client, Goal::Releasing { lock, fence }),
        }
    }

    /// A lock was granted: the client is in if it believes so, and gives it back at once if not.
    pub(crate) fn hold_or_release(&mut self, client: usize, lock: usize, fence: Fence) {
        let it = &self.clients[client];
        let Some(session) = it.session else { return };
        if session.believes_until <= it.clock.read(self.now) {
            return self.pursue(client, Goal::Releasing { lock, fence });
        }
        let until = it.clock.when(session.believes_until);
        self.believe(client, lock, fence, until);
        self.go_on_holding(client, lock, fence);
    }
}
