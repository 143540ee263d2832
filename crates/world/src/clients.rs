//! Clients: what they want next, and those that live inside their member's process.

use std::fmt;
use std::time::Duration;

use skeptron_core::NodeId;
use skeptron_core::mutex::Mode;
use skeptron_member::clock::MonoTime;
use skeptron_member::session::{Life, SessionId};
use skeptron_member::{Acquired, Fence, NotServed};

use crate::chance::{Chance, Purpose};
use crate::clock::{Clock, MICROSECOND, MILLISECOND, Time};
use crate::faults::FaultKind;
use crate::machine::{Waiter, judged};
use crate::options::Options;
use crate::outcome::Property;
use crate::world::{Event, Wake, World};

#[derive(Debug)]
pub(crate) struct Client {
    place: usize,
    /// The member that it is at.
    pub(crate) at: usize,
    /// Whether it lives in its member's process; else it has a session.
    pub(crate) is_embedded: bool,
    /// Whether it holds and pauses now and then for as long as views take, so that a run has some.
    lingers: bool,
    pub(crate) clock: Clock,
    pub(crate) chance: Chance,
    pub(crate) paused_until: Time,
    /// The member that it cannot reach, and until when.
    pub(crate) cut_off: (usize, Time),
    /// Since when there has been no room for the names that it wants.
    pub(crate) refused_since: Option<Time>,
    /// How often it still wants in.
    pub(crate) entries_left: u32,
    pub(crate) goal: Goal,
    /// Counts the goals: what was meant for an earlier one is ignored.
    pub(crate) goal_number: u64,
    /// The TTL of its sessions.
    pub(crate) ttl: Duration,
    pub(crate) session: Option<OwnSession>,
    /// Counts its sessions and acquires.
    pub(crate) sessions: u64,
    pub(crate) requests: u64,
    /// Whether it wants to lead with the lock that it is about.
    pub(crate) campaigns: bool,
    /// How many others it tolerates there.
    pub(crate) mode: Mode,
}

/// What a client is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Idle,
    /// Inside its member: it stands in the queue.
    Waiting {
        lock: usize,
        ticket: Option<u64>,
    },
    Opening,
    Acquiring {
        lock: usize,
        request: u64,
    },
    Withdrawing {
        lock: usize,
        request: u64,
        /// To be released afterwards.
        holds: Option<Fence>,
    },
    Holding {
        lock: usize,
        fence: Fence,
    },
    /// It holds it, and waits to be exclusive.
    Upgrading {
        lock: usize,
        fence: Fence,
        /// The number of the request of a session, or the ticket inside a member.
        request: u64,
    },
    /// It holds it, and tolerates others from now on.
    Downgrading {
        lock: usize,
        fence: Fence,
    },
    Releasing {
        lock: usize,
        fence: Fence,
    },
    Closing,
    Done,
}

/// A session as its client knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnSession {
    pub(crate) id: SessionId,
    pub(crate) number: u64,
    /// The most that a member promised it.
    pub(crate) most_valid: Duration,
    /// Until when it believes in what it holds, by its own clock.
    pub(crate) believes_until: MonoTime,
    /// Where it is; none if the membership is fixed.
    pub(crate) life: Option<Life>,
    /// Until when the session certainly lives there, whatever that member's lease.
    pub(crate) lives_until: MonoTime,
    /// The member through which it is reached; none if straight.
    pub(crate) via: Option<usize>,
    /// Whether that member answered since the last sign of life.
    pub(crate) is_answered: bool,
    /// Whether that member leaves: the session does not go on there, whatever arrives late.
    pub(crate) home_leaves: bool,
    /// The number of the move that brought it there; 0 if it was opened there.
    pub(crate) moved: u64,
    /// The number of the last try to move.
    pub(crate) moves: u64,
    /// Where it moves to.
    pub(crate) moving: Option<Moving>,
}

/// A session on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving {
    pub(crate) to: usize,
    /// What it brings.
    pub(crate) holds: Option<(usize, Fence)>,
    /// Whether the member there answered since the last try.
    pub(crate) is_answered: bool,
    /// Whether it ever did.
    pub(crate) is_taken: bool,
    /// Where it was to move before, and with which number: to be left behind.
    pub(crate) before: Option<(usize, u64)>,
}

impl Client {
    pub(crate) fn new(seed: u64, place: usize, clock: Clock, options: &Options) -> Self {
        let mut chance = Chance::new(seed, Purpose::Client, place);
        let has_views = options.faults.has(FaultKind::Views);
        // Only a session that outlives leases can move.
        let long = has_views && chance.below(3) > 0;
        let ttl = if long { chance.between(1500, 9000) } else { chance.between(300, 900) };
        Client {
            place,
            at: chance.index(options.members),
            is_embedded: chance.below(2) == 0,
            lingers: has_views,
            clock,
            paused_until: 0,
            cut_off: (0, 0),
            refused_since: None,
            entries_left: options.entries,
            goal: Goal::Idle,
            goal_number: 0,
            ttl: Duration::from_nanos(ttl * MILLISECOND),
            session: None,
            sessions: 0,
            requests: 0,
            campaigns: false,
            mode: Mode::EXCLUSIVE,
            chance,
        }
    }

    /// Whether it may go on at another member: its sessions outlive most leases.
    fn can_move(&self) -> bool {
        !self.is_embedded && self.ttl >= Duration::from_millis(1500)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.goal == Goal::Done
    }

    /// The lock that it is about.
    pub(crate) fn lock(&self) -> Option<usize> {
        match self.goal {
            Goal::Waiting { lock, .. }
            | Goal::Acquiring { lock, .. }
            | Goal::Withdrawing { lock, .. }
            | Goal::Holding { lock, .. }
            | Goal::Upgrading { lock, .. }
            | Goal::Downgrading { lock, .. }
            | Goal::Releasing { lock, .. } => Some(lock),
            Goal::Idle | Goal::Opening | Goal::Closing | Goal::Done => None,
        }
    }

    pub(crate) fn holds(&self) -> Option<(usize, Fence)> {
        match self.goal {
            Goal::Holding { lock, fence }
            | Goal::Upgrading { lock, fence, .. }
            | Goal::Downgrading { lock, fence } => Some((lock, fence)),
            _ => None,
        }
    }

    /// For how long it stays in.
    pub(crate) fn hold(&mut self) -> Time {
        // Long enough for members to come and go meanwhile.
        if self.lingers && self.can_move() && self.chance.below(15) == 0 {
            return self.chance.below(4000 * MILLISECOND);
        }
        if self.lingers && self.chance.below(40) == 0 {
            return self.chance.below(600 * MILLISECOND);
        }
        match self.chance.below(10) {
            0 | 1 => 0,
            2 => self.chance.below(5 * MILLISECOND),
            _ => self.chance.below(300 * MICROSECOND),
        }
    }

    /// For how long it wants nothing.
    pub(crate) fn think(&mut self) -> Time {
        if self.lingers && self.chance.below(20) == 0 {
            return self.chance.below(1000 * MILLISECOND);
        }
        match self.chance.below(100) {
            0 => self.chance.below(40 * MILLISECOND),
            1..=40 => 0,
            _ => self.chance.below(1_000 * MICROSECOND),
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_embedded { "inside" } else { "with a session at" };
        let (place, at) = (self.place + 1, self.at + 1);
        write!(f, "client {place} {kind} P{at} is at {:?}, {} to go", self.goal, self.entries_left)
    }
}

impl World {
    /// Wakes a client after some time, for its present goal.
    pub(crate) fn plan_client(&mut self, client: usize, after: Time, what: Wake) {
        let goal = self.clients[client].goal_number;
        self.queue.plan(self.now + after, Event::Client { client, goal, what });
    }

    pub(crate) fn set_goal(&mut self, client: usize, goal: Goal) {
        let client = &mut self.clients[client];
        client.goal_number += 1;
        client.goal = goal;
    }

    /// A client is through with something and thinks of the next.
    pub(crate) fn think(&mut self, client: usize) {
        self.set_goal(client, Goal::Idle);
        let after = self.clients[client].think();
        self.plan_client(client, after, Wake::Next);
    }

    pub(crate) fn wake_client(&mut self, client: usize, goal: u64, what: Wake) {
        let is_embedded = self.clients[client].is_embedded;
        match what {
            Wake::KeepAlive => return self.keep_alive(client, goal),
            Wake::ReleaseAgain { lock, fence } => return self.release_again(client, lock, fence),
            _ if goal != self.clients[client].goal_number => return,
            _ => {}
        }
        match (what, self.clients[client].goal) {
            (Wake::Next, Goal::Idle) if is_embedded => self.acquire(client),
            (Wake::Next, Goal::Holding { lock, fence }) if is_embedded => {
                self.change_or_release(client, lock, fence);
            }
            (Wake::GiveUp, Goal::Upgrading { lock, fence, request }) if is_embedded => {
                self.cancel(client, lock, request);
                self.release(client, lock, fence);
            }
            (Wake::GiveUp, Goal::Waiting { lock, ticket: Some(ticket) }) => {
                self.cancel(client, lock, ticket);
                self.think(client);
            }
            _ if !is_embedded => self.wake_session_client(client, what),
            _ => {}
        }
    }

    /// A client inside its member asks for a lock.
    fn acquire(&mut self, client: usize) {
        if self.clients[client].entries_left == 0 {
            self.set_goal(client, Goal::Done);
            return self.progress();
        }
        let lock = self.choose_lock(client);
        self.choose_mode(client);
        let it = &mut self.clients[client];
        let (at, mode) = (it.at, it.mode);
        let gives_up = (it.chance.below(20) == 0).then(|| it.chance.below(20 * MILLISECOND));
        self.set_goal(client, Goal::Waiting { lock, ticket: None });
        let it = &self.clients[client];
        let (goal, sent) = (it.goal_number, it.clock.read(self.now));
        let names = std::sync::Arc::clone(&self.names);
        let acquired = self.with_core(at, |core, now, out| {
            let known = core.lock(&names[lock]);
            let handle = known.inspect_err(|_| core.make_room(now, out))?;
            let who = || Waiter { client, goal, sent, via: None };
            core.acquire(now, &handle, ("client", mode), who, out)
        });
        match acquired {
            Some(Ok(Acquired::Granted(fence))) => self.enter(client, lock, fence),
            Some(Ok(Acquired::Waiting(given))) => {
                let it = &mut self.clients[client];
                if let Goal::Waiting { ticket, .. } = &mut it.goal
                    && it.goal_number == goal
                {
                    *ticket = Some(given);
                    if let Some(after) = gives_up {
                        self.plan_client(client, after, Wake::GiveUp);
                    }
                }
            }
            // Its member is down or gives up; the next life takes it.
            Some(Err(error)) => {
                self.judge_refusal(client, at, &error);
                self.try_later(client);
            }
            None => self.try_later(client),
        }
    }

    pub(crate) fn try_later(&mut self, client: usize) {
        self.set_goal(client, Goal::Idle);
        let after = if self.service.is_some() { 50 } else { 20 };
        self.plan_client(client, after * MILLISECOND, Wake::Next);
    }

    /// A client inside its member is in.
    fn enter(&mut self, client: usize, lock: usize, fence: Fence) {
        let until = self.lease_end(self.clients[client].at);
        self.believe(client, lock, fence, until);
        self.set_goal(client, Goal::Holding { lock, fence });
        let after = self.clients[client].hold();
        self.plan_client(client, after, Wake::Next);
    }

    /// A client believes to hold a lock from now on.
    pub(crate) fn believe(&mut self, client: usize, lock: usize, fence: Fence, until: Time) {
        let entry = (fence, self.clients[client].mode);
        let other = self.judges[lock].clients.enter(judged(client), entry, self.now, until);
        self.entries += 1;
        self.clients[client].refused_since = None;
        self.clients[client].entries_left = self.clients[client].entries_left.saturating_sub(1);
        self.progress();
        self.hash.mix(8 + client as u64, fence.number());
        self.judge_leader(client, lock, fence);
        self.judge_believer(client, lock, entry, other);
    }

    pub(crate) fn judge_believer(
        &mut self,
        client: usize,
        lock: usize,
        (fence, mode): (Fence, Mode),
        other: Option<NodeId>,
    ) {
        if let Some(other) = other {
            let at = self.clients[client].at;
            let detail = format!(
                "client {} believes to hold it as {mode} with fence {fence:?} while client {} does",
                client + 1,
                other.index() + 1
            );
            self.violate(Property::Exclusion, Some(lock), Some(at), detail);
        }
    }

    pub(crate) fn release(&mut self, client: usize, lock: usize, fence: Fence) {
        self.judges[lock].clients.leave(judged(client));
        let it = &mut self.clients[client];
        let at = it.at;
        let again = (it.chance.below(30) == 0).then(|| it.chance.below(4 * MILLISECOND));
        self.set_goal(client, Goal::Idle);
        let released = self.release_in_core(at, lock, fence);
        if released == Some(false) && self.service.is_none() {
            let detail = format!("client {} lost fence {fence:?} while it was in", client + 1);
            self.violate(Property::Exclusion, Some(lock), Some(at), detail);
        }
        if let Some(after) = again {
            self.plan_client(client, after, Wake::ReleaseAgain { lock, fence });
        }
        self.think(client);
    }

    /// A guard that was released already is released once more: nothing may come of it.
    fn release_again(&mut self, client: usize, lock: usize, fence: Fence) {
        let at = self.clients[client].at;
        self.release_in_core(at, lock, fence);
    }

    fn release_in_core(&mut self, at: usize, lock: usize, fence: Fence) -> Option<bool> {
        let names = std::sync::Arc::clone(&self.names);
        self.with_core(at, |core, now, out| {
            core.lock(&names[lock]).is_ok_and(|handle| core.release(now, &handle, fence, out))
        })
    }

    fn cancel(&mut self, client: usize, lock: usize, ticket: u64) {
        let at = self.clients[client].at;
        let names = std::sync::Arc::clone(&self.names);
        let cancelled = self.with_core(at, |core, now, out| {
            core.lock(&names[lock]).ok().and_then(|handle| core.cancel(now, &handle, ticket, out))
        });
        if cancelled == Some(None) {
            let detail = format!("client {} was neither granted nor refused", client + 1);
            self.violate(Property::Progress, Some(lock), Some(at), detail);
        }
    }

    /// A core grants a lock to a waiter.
    pub(crate) fn granted(&mut self, place: usize, waiter: Waiter, lock: usize, fence: Fence) {
        let client = &self.clients[waiter.client];
        if !client.is_embedded {
            return self.reply_granted(place, waiter, lock, fence);
        }
        match client.goal {
            _ if client.goal_number != waiter.goal => {}
            Goal::Upgrading { fence: before, .. } => {
                self.upgraded(waiter.client, lock, before, fence);
            }
            _ => self.enter(waiter.client, lock, fence),
        }
    }

    /// An administrator has broken a lock: whoever lives inside the member knows at once.
    pub(crate) fn broken(&mut self, place: usize, lock: usize, fence: Fence) {
        self.survived.locks_broken += 1;
        let inside = |it: &Client| it.is_embedded && it.at == place;
        let holds = Some((lock, fence));
        let holder = self.clients.iter().position(|it| inside(it) && it.holds() == holds);
        if let Some(client) = holder {
            self.judges[lock].clients.leave(judged(client));
            self.think(client);
        }
    }

    /// A core does not serve a waiter.
    pub(crate) fn not_served(&mut self, place: usize, waiter: Waiter, why: NotServed) {
        let client = &self.clients[waiter.client];
        if !client.is_embedded {
            return self.reply_not_served(place, waiter, why);
        }
        match client.goal {
            _ if client.goal_number != waiter.goal => {}
            Goal::Upgrading { lock, fence, .. } => self.release(waiter.client, lock, fence),
            _ => self.try_later(waiter.client),
        }
    }

    /// A life of a member is over, and with it whoever lives inside.
    pub(crate) fn end_life(&mut self, place: usize) {
        self.count_messages(place);
        self.sites[place].life = None;
        self.end_observers(place);
        for judge in &mut self.judges {
            judge.members.leave(judged(place));
        }
        for client in 0..self.clients.len() {
            let it = &self.clients[client];
            if it.is_embedded && it.at == place && !it.is_done() {
                for judge in &mut self.judges {
                    judge.clients.leave(judged(client));
                }
                self.try_later(client);
            }
        }
    }
}
