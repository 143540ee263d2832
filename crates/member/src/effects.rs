//! What a member core wants done.

use std::sync::Arc;
use std::time::Duration;

use skeptron_core::NodeId;
use skeptron_core::mutex::Mode;
use thiserror::Error;

use crate::election::Leadership;
use crate::locks::{Broken, Lock, Turn};
use crate::query::PeerAnswer;
use crate::session::SessionId;
use crate::wire::{Envelope, Relay};
use crate::{Fence, MemberId};

/// Performs what a member core decides. Calls come while a lock's mutex is held, so that the order of
/// decisions about a lock is the order of its effects: they must not block, and must not call the core.
///
/// `W` is whoever waits for a lock: a channel on a real node, a client's number in a simulated one. The
/// core only keeps it and hands it back, in exactly one of [`Effects::grant`] and [`Effects::refuse`],
/// or drops it: when the wait is cancelled, and when an acquire of a session is answered at once.
pub trait Effects<W> {
    /// Queue this for a member, behind everything queued for it before; returns its number on the
    /// link, 0 if it is no member. What is queued leaves when the core's call has returned.
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64;

    /// `waiter` holds the lock now, with this fence.
    fn grant(&mut self, waiter: W, lock: &Arc<Lock<W>>, fence: Fence);

    /// `waiter` is not served.
    fn refuse(&mut self, waiter: W, why: NotServed);

    /// Call [`crate::MemberCore::expire`] with this timer after so long.
    fn arm(&mut self, timer: Timer, after: Duration);

    /// A member answers a query.
    fn answer(&mut self, from: MemberId, query: u64, told: &PeerAnswer);

    /// A member passes a request of a client on, or answers one.
    fn relay(&mut self, _from: MemberId, _relay: Relay<'_>) {}

    /// A member says what came of the order to break a lock.
    fn broken(&mut self, _from: MemberId, _order: u64, _outcome: Broken) {}

    /// Whether somebody observes it, so that it is worth saying what messages say.
    fn is_heard(&self) -> bool {
        false
    }

    /// Something that an observer may want to know.
    fn tell(&mut self, event: Event<'_>);

    /// Whoever decides views should decide a new one.
    fn need_view(&mut self, why: NeedView);

    /// This life of the member is over: everything held is lost and nothing more is granted. Only
    /// another life in another view can go on.
    fn halt(&mut self, why: &Halt);
}

/// Why somebody who waited gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotServed {
    /// The member leaves.
    Leaving,
    /// The member cannot go on; [`crate::MemberCore::halted`] says why.
    Halted,
    /// The session of the waiter is over.
    SessionOver,
    /// The acquire was withdrawn.
    Withdrawn,
    /// The same acquire waits elsewhere now.
    Replaced,
    /// Another one upgrades, and waits for this entry to be released.
    UpgradeDenied,
    /// Whoever holds the lock waits for what the waiter's session holds.
    Deadlock,
}

/// What a member core wants to be woken for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// An idle token of a lock has rested long enough.
    Unpark(Arc<str>),
    /// A session may have expired.
    Session(SessionId),
    /// More idle names can be forgotten.
    Forget,
    /// Whoever held a lock that was broken must know by now.
    Broken {
        /// Which lock.
        lock: Arc<str>,
        /// The fence of the entry.
        fence: Fence,
    },
}

/// Why a new view is needed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum NeedView {
    /// A lock has been entered so often that its fences run out.
    #[error("the fences of `{lock}` run out in this view")]
    Counter {
        /// Which lock.
        lock: Arc<str>,
    },
    /// A member says what no correct member would, and is not listened to.
    #[error("{member} exceeded its limits and is ignored in this view")]
    Muted {
        /// Who.
        member: MemberId,
    },
    /// Almost as many names are known as may be, and most of them are idle.
    #[error(
        "{known} lock names are known, most of them idle; a new view is needed to forget those"
    )]
    Names {
        /// How many are known.
        known: usize,
    },
}

/// Why a member cannot go on. Each of these would mean to drop something that was acknowledged, and a
/// token that is dropped is lost for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum Halt {
    /// Its lease is over.
    #[error("the lease expired before it was renewed")]
    Lease,
    /// A view was decided without it, or with another of its lives.
    #[error("this incarnation of {0} is not in the view of epoch {1}")]
    Excluded(MemberId, u64),
    /// An algorithm has no layout for the members of a view.
    #[error("no layout for the view of epoch {epoch}: {why}")]
    Layout {
        /// Of which view.
        epoch: u64,
        /// Why not.
        why: String,
    },
    /// Something could not be put on a link.
    #[error("a message cannot be sent: {0}; raise `limits.frame_bytes` on all nodes")]
    Unsendable(String),
}

/// Something that happened at a member.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Somebody here asked for a lock.
    Requested {
        /// Which.
        lock: &'a str,
    },
    /// Somebody here holds it now.
    Entered {
        /// Which.
        lock: &'a str,
        /// The fence of the entry.
        fence: Fence,
        /// What it tolerates.
        mode: Mode,
        /// Since the request.
        waited: Duration,
    },
    /// Somebody here holds what it held at a life that is gone: not a new entry.
    Adopted {
        /// Which.
        lock: &'a str,
        /// The fence of the entry.
        fence: Fence,
    },
    /// An entry that tolerated others is exclusive now.
    Upgraded {
        /// Of which lock.
        lock: &'a str,
        /// Its fence before.
        before: Fence,
        /// Its fence from now on.
        fence: Fence,
        /// Since the request.
        waited: Duration,
    },
    /// An exclusive entry tolerates others from now on.
    Downgraded {
        /// Of which lock.
        lock: &'a str,
        /// Its fence.
        fence: Fence,
        /// What it tolerates.
        mode: Mode,
    },
    /// The entry went from waiter to waiter of this member, without the algorithm.
    HandedOver,
    /// It was released here.
    Released {
        /// Which.
        lock: &'a str,
        /// The fence of the entry.
        fence: Fence,
        /// Since the entry.
        held: Duration,
    },
    /// Somebody here waits for it no longer.
    Withdrawn {
        /// Which.
        lock: &'a str,
    },
    /// It was lost here.
    Lost {
        /// Which.
        lock: &'a str,
        /// The fence of the entry.
        fence: Fence,
    },
    /// An administrator has broken it here: its holder has lost it.
    Broken {
        /// Which.
        lock: &'a str,
        /// The fence of the entry.
        fence: Fence,
    },
    /// A message of its algorithm was queued.
    Sent {
        /// Of which lock.
        lock: &'a str,
        /// The place of its plan.
        plan: usize,
        /// Which kind of message.
        kind: usize,
        /// Its name in the paper.
        message: &'static str,
        /// What it says, briefly; empty if nobody observes it.
        payload: &'a str,
        /// To whom.
        to: MemberId,
        /// Its number on the link there, the same at the receipt.
        sequence: u64,
    },
    /// A message of its algorithm was taken.
    Received {
        /// Of which lock.
        lock: &'a str,
        /// The place of its plan.
        plan: usize,
        /// Which kind of message.
        kind: usize,
        /// Its name in the paper.
        message: &'static str,
        /// What it says, briefly; empty if nobody observes it.
        payload: &'a str,
        /// From whom.
        from: MemberId,
        /// Its number on the link from there, the same at the sending.
        sequence: u64,
    },
    /// The algorithm's node took a turn; comes after whatever that caused.
    Stepped {
        /// Of which lock.
        lock: &'a str,
        /// In which view.
        epoch: u64,
        /// Which part it plays, as the algorithm counts its nodes.
        part: NodeId,
        /// What happened to it.
        turn: Turn<'a>,
    },
    /// A member sent something that no correct member would have sent.
    Refused {
        /// Of which lock.
        lock: &'a str,
        /// Who.
        from: MemberId,
        /// What is wrong with it.
        why: &'a str,
    },
    /// Something of an earlier view was dropped, or of a member that is not listened to.
    Stale {
        /// Who sent it.
        from: MemberId,
    },
    /// A view begins here.
    View {
        /// Its epoch.
        epoch: u64,
        /// How many locks are kept from before.
        kept: usize,
    },
    /// All members have announced themselves in this view.
    Met {
        /// Its epoch.
        epoch: u64,
    },
    /// Idle names were forgotten.
    Forgot {
        /// How many.
        names: usize,
    },
    /// Whoever observes this election here is to be told this: after what was told of it before.
    Leadership {
        /// Which.
        lock: &'a str,
        /// The last round of answers that is complete; see [`crate::MemberCore::observe`].
        round: u64,
        /// Who leads.
        leadership: &'a Leadership,
    },
    /// A session ended because nothing was heard of it.
    SessionExpired {
        /// What its client is called.
        owner: &'a str,
    },
}
