//! One member in the world: its lives, its clock, its ends of links, and what its core wants done.

use std::sync::Arc;
use std::time::Duration;

use skeptron_core::NodeId;
use skeptron_core::mutex::Mode;
use skeptron_member::clock::MonoTime;
use skeptron_member::election::Leadership;
use skeptron_member::link::Link;
use skeptron_member::link::handshake::{Hello, Terms};
use skeptron_member::query::PeerAnswer;
use skeptron_member::session::{Place, SessionId};
use skeptron_member::view::View;
use skeptron_member::wire::{Envelope, Relay};
use skeptron_member::{
    Effects, Event, Fence, Halt, Lock, MemberCore, MemberId, NeedView, NotServed, Timer,
};
use skeptron_views::disk::MemoryDisk;
use skeptron_views::member::Membership;

use crate::clock::{Clock, NEVER, Time};
use crate::names;
use crate::recorder::Step;
use crate::relay::Via;
use crate::service::SimulatedVoter;

/// Whoever waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Waiter {
    pub(crate) client: usize,
    /// Which of its goals it waits for.
    pub(crate) goal: u64,
    /// When it asked, by its own clock.
    pub(crate) sent: MonoTime,
    /// Through whom.
    pub(crate) via: Option<Via>,
}

/// One member.
pub(crate) struct Machine {
    pub(crate) id: MemberId,
    pub(crate) clock: Clock,
    /// Until when nothing happens here.
    pub(crate) paused_until: Time,
    /// The present life; none while it is down.
    pub(crate) life: Option<Life>,
    /// Counts its starts and stops: what was meant for an earlier one is ignored.
    pub(crate) boot: u64,
    /// How the present life stands with the view service; none while the member is down, or the
    /// membership fixed.
    pub(crate) membership: Option<Membership>,
    /// When the next look at it is planned.
    pub(crate) renew_at: Time,
    /// Its voter, if it has one and is up.
    pub(crate) voter: Option<SimulatedVoter>,
    /// The disk of its voter, while it is down.
    pub(crate) disk: MemoryDisk,
}

impl Machine {
    /// A member that is down.
    pub(crate) fn new(place: usize, clock: Clock) -> Self {
        Machine {
            id: MemberId::at(place),
            clock,
            paused_until: 0,
            life: None,
            boot: 0,
            membership: None,
            renew_at: NEVER,
            voter: None,
            disk: MemoryDisk::default(),
        }
    }
}

/// One life of a member.
pub(crate) struct Life {
    pub(crate) incarnation: u64,
    pub(crate) core: MemberCore<Waiter>,
    pub(crate) terms: Terms,
    pub(crate) view: Arc<View>,
    pub(crate) effects: CollectedEffects,
    /// The place where each client's connection waits, by client.
    pub(crate) places: Vec<Option<(SessionId, Place)>>,
}

/// One end of a link, and how far its connection is.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) link: Link,
    /// The connection, while there is one.
    pub(crate) connection: Option<u64>,
    pub(crate) handshake: Option<Handshake>,
    /// When the next look at it is planned.
    pub(crate) poll_at: Time,
    /// Whether a connection broke and none has come since.
    pub(crate) is_broken: bool,
    /// Whether something was sent since bytes last left.
    pub(crate) is_dirty: bool,
}

/// A connection that is not up yet.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) connection: u64,
    /// What the caller said, at the called one.
    pub(crate) hello: Option<Box<Hello>>,
    /// It is given up then.
    pub(crate) until: MonoTime,
}

/// What a core wants done, in its order.
#[derive(Debug)]
pub(crate) enum DeferredEffect {
    Granted { waiter: Waiter, lock: usize, fence: Fence },
    NotServed { waiter: Waiter, why: NotServed },
    Arm { timer: Timer, after: Duration },
    Entered { lock: usize, fence: Fence, mode: Mode },
    Changed { lock: usize, before: Fence, fence: Fence, mode: Mode },
    Left { lock: usize, fence: Fence },
    Refused { lock: Option<usize>, why: String },
    SessionExpired,
    Broken { lock: usize, fence: Fence },
    Forgot { names: usize },
    NeedView,
    Leadership { lock: usize, round: u64, leadership: Leadership },
    Met { epoch: u64 },
    Relay { number: u64 },
    Halted { why: Halt },
    Step(Step),
}

/// Takes what a core wants done. What it sends goes to the links at once, everything else waits for
/// the world.
pub(crate) struct CollectedEffects {
    /// By place of the peer.
    pub(crate) ends: Vec<Option<End>>,
    pub(crate) deferred: Vec<DeferredEffect>,
    pub(crate) names: Arc<[String]>,
    /// Of which lock the steps are recorded.
    pub(crate) recorded: Option<usize>,
    /// What was told, as a number.
    pub(crate) told: u64,
    /// How many messages of algorithms were sent.
    pub(crate) messages: u64,
}

impl CollectedEffects {
    fn lock(&self, name: &str) -> Option<usize> {
        names::place(&self.names, name)
    }

    fn change(&mut self, lock: &str, before: Fence, (fence, mode): (Fence, Mode)) {
        self.note(206, fence.number());
        if let Some(lock) = self.lock(lock) {
            self.deferred.push(DeferredEffect::Changed { lock, before, fence, mode });
        }
    }

    fn note(&mut self, what: u64, detail: u64) {
        self.told = (self.told.rotate_left(7) ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ detail;
    }
}

impl Effects<Waiter> for CollectedEffects {
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        let Some(Some(end)) = self.ends.get_mut(to.place()) else { return 0 };
        end.is_dirty = true;
        match end.link.send(envelope) {
            Ok(sequence) => sequence,
            Err(error) => {
                self.deferred
                    .push(DeferredEffect::Halted { why: Halt::Unsendable(error.to_string()) });
                0
            }
        }
    }

    fn grant(&mut self, waiter: Waiter, lock: &Arc<Lock<Waiter>>, fence: Fence) {
        if let Some(lock) = self.lock(lock.name()) {
            self.deferred.push(DeferredEffect::Granted { waiter, lock, fence });
        }
    }

    fn refuse(&mut self, waiter: Waiter, why: NotServed) {
        self.deferred.push(DeferredEffect::NotServed { waiter, why });
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.deferred.push(DeferredEffect::Arm { timer, after });
    }

    fn answer(&mut self, _from: MemberId, _query: u64, _told: &PeerAnswer) {}

    fn relay(&mut self, _from: MemberId, relay: Relay<'_>) {
        let (Relay::Request { id, .. } | Relay::Answer { id, .. } | Relay::Cancel { id }) = relay;
        self.note(205, id);
        self.deferred.push(DeferredEffect::Relay { number: id });
    }

    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Entered { lock, fence, mode, .. } => {
                self.note(1, fence.number());
                if let Some(lock) = self.lock(lock) {
                    self.deferred.push(DeferredEffect::Entered { lock, fence, mode });
                }
            }
            Event::Upgraded { lock, before, fence, .. } => {
                self.change(lock, before, (fence, Mode::EXCLUSIVE));
            }
            Event::Downgraded { lock, fence, mode } => self.change(lock, fence, (fence, mode)),
            Event::Released { lock, fence, .. } | Event::Lost { lock, fence } => {
                self.note(2, fence.number());
                if let Some(lock) = self.lock(lock) {
                    self.deferred.push(DeferredEffect::Left { lock, fence });
                }
            }
            Event::Sent { kind, sequence, .. } => {
                self.messages += 1;
                self.note(3 + kind as u64, sequence);
            }
            Event::Received { kind, sequence, .. } => self.note(100 + kind as u64, sequence),
            Event::Refused { lock, from, why } => {
                let (lock, why) = (self.lock(lock), format!("{from} is refused: {why}"));
                self.deferred.push(DeferredEffect::Refused { lock, why });
            }
            Event::Stepped { lock, epoch, part, turn } => {
                if let Some(recorded) = self.recorded
                    && self.names[recorded] == lock
                {
                    self.deferred.push(DeferredEffect::Step(Step::new(epoch, part, turn)));
                }
            }
            Event::Adopted { fence, .. } => self.note(204, fence.number()),
            Event::Broken { lock, fence } => {
                self.note(205, fence.number());
                if let Some(lock) = self.lock(lock) {
                    self.deferred.push(DeferredEffect::Broken { lock, fence });
                }
            }
            Event::Forgot { names } => self.deferred.push(DeferredEffect::Forgot { names }),
            Event::Leadership { lock, round, leadership } => {
                if let Some(lock) = self.lock(lock) {
                    let leadership = leadership.clone();
                    self.deferred.push(DeferredEffect::Leadership { lock, round, leadership });
                }
            }
            Event::SessionExpired { .. } => self.deferred.push(DeferredEffect::SessionExpired),
            Event::View { epoch, kept } => self.note(200, epoch << 20 | kept as u64),
            Event::Met { epoch } => {
                self.note(201, epoch);
                self.deferred.push(DeferredEffect::Met { epoch });
            }
            Event::Stale { from } => self.note(202, from.number().into()),
            Event::Requested { .. } | Event::HandedOver | Event::Withdrawn { .. } => {
                self.note(203, 0);
            }
        }
    }

    fn need_view(&mut self, _why: NeedView) {
        self.deferred.push(DeferredEffect::NeedView);
    }

    fn halt(&mut self, why: &Halt) {
        self.deferred.push(DeferredEffect::Halted { why: why.clone() });
    }
}

/// The place of a member or a client, as judges count.
pub(crate) fn judged(place: usize) -> NodeId {
    NodeId::new(place)
}
