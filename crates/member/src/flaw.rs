//! Rules that can be left out on purpose.

use std::fmt;
use std::str::FromStr;

/// One rule that a member leaves out, so that tests can show that the judges of a simulated world
/// notice. Every product runs without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flaw {
    /// What arrives of a later view is dropped instead of kept.
    EarlyDropped,
    /// What arrives of a later view is taken in the present one.
    EarlyTaken,
    /// What arrives of an earlier view is taken.
    OldViewTaken,
    /// A message does not carry its sender's fence counter.
    FenceNotSent,
    /// A home does not learn the fence counter of the rights that were given up.
    FenceNotInherited,
    /// A release is accepted whatever its fence.
    AnyFenceReleases,
    /// Kept rights are not announced.
    KeptNotAnnounced,
    /// A home lets locks begin before all members have announced themselves.
    HomeOpensEarly,
    /// A home does not wait for those that keep a right.
    KeepersIgnored,
    /// A home drops what it held back when a lock begins.
    HeldBackDropped,
    /// A member says that it has given up a right, and keeps it.
    FreedButKept,
    /// A member enters without the home's word where its algorithm does not ask the home.
    PassNotAwaited,
    /// Locks are entered after the lease has ended.
    LeaseIgnored,
    /// A home lets begin what nobody announced although somebody is away.
    AwayIgnored,
    /// Whoever was away is struck off without a new epoch.
    AwayStruckInPlace,
    /// A home counts a lock as its own that it has let others have.
    OwnedThoughLetGo,
    /// A home counts a lock as its own although it had not heard everybody.
    OwnedUnheard,
    /// A home counts a lock as its own whose home it was not before.
    OwnedByAnyHome,
    /// An expired session keeps what it holds.
    ExpiredSessionHolds,
    /// A session stays in the list for ever.
    SessionNeverExpires,
    /// A withdrawn acquire that arrives late is taken.
    WithdrawnForgotten,
    /// A second try of an acquire that arrives after its release is taken.
    ReleasedForgotten,
    /// Of the links' driver: what has been delivered before is delivered again.
    DuplicatesTaken,
    /// Of the links' driver: another life of a peer takes the place of the former one without a view.
    RestartAccepted,
    /// Of the client: it believes in its locks for the whole TTL, whatever the clocks' rates.
    DriftIgnored,
    /// Of the client: it counts the TTL from the answer instead of from its own sending.
    CountedFromAnswer,
    /// A session is taken with what it held at a life that is gone already.
    MovedLate,
    /// What sessions bring is kept although the life it comes from is only away.
    AwayAdopted,
    /// What sessions brought is not announced.
    AdoptedNotAnnounced,
    /// What a session brought goes to other waiters of the member afterwards.
    AdoptedHandedOn,
    /// An acquire of before a move is taken where the session has moved to.
    MovedAcquired,
    /// A member that leaves hands on what its sessions took with them.
    MovedHandedOn,
    /// What is left behind is ended whichever move it came of.
    OlderMoveEnds,
    /// Of the client: while it moves, it believes as if it had arrived.
    PendingBelieved,
    /// Of the client: once it moves, it goes on to believe the member that it leaves behind.
    FormerBelieved,
    /// Of the client: it goes back to a member that leaves when a late answer of it arrives.
    LeavingTrusted,
    /// A member that passes a client's signs of life on to another one answers them by itself.
    RelayPromises,
    /// A lock to which a right is kept is forgotten.
    KeptForgotten,
    /// A lock that has begun in the present view is forgotten.
    BegunForgotten,
    /// Locks are forgotten before all members have announced themselves, or while one is away.
    ForgottenUnheard,
    /// A lock is forgotten that somebody has just looked up.
    ForgottenInHand,
    /// A lock that an administrator breaks goes to the next one although its holder may not know.
    BrokenAtOnce,
    /// A leader is told that it leads although somebody who watches has not seen it.
    LedUnseen,
    /// A leader is told that it leads although not everybody has said in this view whether it watches.
    WatchersUnheard,
    /// Watches are not told anew in a new view.
    WatchNotRenewed,
    /// Nobody counts as leader before everybody has answered.
    VacantUnheard,
    /// Observers are told of a leader before everybody has answered for the first time.
    BegunUnheard,
    /// What a session brought counts as over when one member that keeps it for it lets it go.
    AdoptedEnds,
    /// A member that halted says that its leaders' terms have ended.
    HaltedEnds,
    /// Entries that tolerate others are not announced in a new view.
    SharersNotAnnounced,
    /// A message does not carry the register of those inside.
    RegisterNotSent,
    /// A home lets a lock begin without those that were announced to be inside.
    RegisterNotInherited,
    /// A home counts a lock as its own although others are inside.
    OwnedThoughShared,
    /// A home takes the word of one that is inside for that of all, although somebody is away.
    AwaySharersIgnored,
    /// An entry that becomes exclusive keeps its fence.
    UpgradedWithoutFence,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Flaw; 55] = [
        Flaw::EarlyDropped,
        Flaw::EarlyTaken,
        Flaw::OldViewTaken,
        Flaw::FenceNotSent,
        Flaw::FenceNotInherited,
        Flaw::AnyFenceReleases,
        Flaw::KeptNotAnnounced,
        Flaw::HomeOpensEarly,
        Flaw::KeepersIgnored,
        Flaw::HeldBackDropped,
        Flaw::FreedButKept,
        Flaw::PassNotAwaited,
        Flaw::LeaseIgnored,
        Flaw::AwayIgnored,
        Flaw::AwayStruckInPlace,
        Flaw::OwnedThoughLetGo,
        Flaw::OwnedUnheard,
        Flaw::OwnedByAnyHome,
        Flaw::ExpiredSessionHolds,
        Flaw::SessionNeverExpires,
        Flaw::WithdrawnForgotten,
        Flaw::ReleasedForgotten,
        Flaw::DuplicatesTaken,
        Flaw::RestartAccepted,
        Flaw::DriftIgnored,
        Flaw::CountedFromAnswer,
        Flaw::MovedLate,
        Flaw::AwayAdopted,
        Flaw::AdoptedNotAnnounced,
        Flaw::AdoptedHandedOn,
        Flaw::MovedAcquired,
        Flaw::MovedHandedOn,
        Flaw::OlderMoveEnds,
        Flaw::PendingBelieved,
        Flaw::FormerBelieved,
        Flaw::LeavingTrusted,
        Flaw::RelayPromises,
        Flaw::KeptForgotten,
        Flaw::BegunForgotten,
        Flaw::ForgottenUnheard,
        Flaw::ForgottenInHand,
        Flaw::BrokenAtOnce,
        Flaw::LedUnseen,
        Flaw::WatchersUnheard,
        Flaw::WatchNotRenewed,
        Flaw::VacantUnheard,
        Flaw::BegunUnheard,
        Flaw::AdoptedEnds,
        Flaw::HaltedEnds,
        Flaw::SharersNotAnnounced,
        Flaw::RegisterNotSent,
        Flaw::RegisterNotInherited,
        Flaw::OwnedThoughShared,
        Flaw::AwaySharersIgnored,
        Flaw::UpgradedWithoutFence,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flaw::EarlyDropped => "early-dropped",
            Flaw::EarlyTaken => "early-taken",
            Flaw::OldViewTaken => "old-view-taken",
            Flaw::FenceNotSent => "fence-not-sent",
            Flaw::FenceNotInherited => "fence-not-inherited",
            Flaw::AnyFenceReleases => "any-fence-releases",
            Flaw::KeptNotAnnounced => "kept-not-announced",
            Flaw::HomeOpensEarly => "home-opens-early",
            Flaw::KeepersIgnored => "keepers-ignored",
            Flaw::HeldBackDropped => "held-back-dropped",
            Flaw::FreedButKept => "freed-but-kept",
            Flaw::PassNotAwaited => "pass-not-awaited",
            Flaw::LeaseIgnored => "lease-ignored",
            Flaw::AwayIgnored => "away-ignored",
            Flaw::AwayStruckInPlace => "away-struck-in-place",
            Flaw::OwnedThoughLetGo => "owned-though-let-go",
            Flaw::OwnedUnheard => "owned-unheard",
            Flaw::OwnedByAnyHome => "owned-by-any-home",
            Flaw::ExpiredSessionHolds => "expired-session-holds",
            Flaw::SessionNeverExpires => "session-never-expires",
            Flaw::WithdrawnForgotten => "withdrawn-forgotten",
            Flaw::ReleasedForgotten => "released-forgotten",
            Flaw::DuplicatesTaken => "duplicates-taken",
            Flaw::RestartAccepted => "restart-accepted",
            Flaw::DriftIgnored => "drift-ignored",
            Flaw::CountedFromAnswer => "counted-from-answer",
            Flaw::MovedLate => "moved-late",
            Flaw::AwayAdopted => "away-adopted",
            Flaw::AdoptedNotAnnounced => "adopted-not-announced",
            Flaw::AdoptedHandedOn => "adopted-handed-on",
            Flaw::MovedAcquired => "moved-acquired",
            Flaw::MovedHandedOn => "moved-handed-on",
            Flaw::OlderMoveEnds => "older-move-ends",
            Flaw::PendingBelieved => "pending-believed",
            Flaw::FormerBelieved => "former-believed",
            Flaw::LeavingTrusted => "leaving-trusted",
            Flaw::RelayPromises => "relay-promises",
            Flaw::KeptForgotten => "kept-forgotten",
            Flaw::BegunForgotten => "begun-forgotten",
            Flaw::ForgottenUnheard => "forgotten-unheard",
            Flaw::ForgottenInHand => "forgotten-in-hand",
            Flaw::BrokenAtOnce => "broken-at-once",
            Flaw::LedUnseen => "led-unseen",
            Flaw::WatchersUnheard => "watchers-unheard",
            Flaw::WatchNotRenewed => "watch-not-renewed",
            Flaw::VacantUnheard => "vacant-unheard",
            Flaw::BegunUnheard => "begun-unheard",
            Flaw::AdoptedEnds => "adopted-ends",
            Flaw::HaltedEnds => "halted-ends",
            Flaw::SharersNotAnnounced => "sharers-not-announced",
            Flaw::RegisterNotSent => "register-not-sent",
            Flaw::RegisterNotInherited => "register-not-inherited",
            Flaw::OwnedThoughShared => "owned-though-shared",
            Flaw::AwaySharersIgnored => "away-sharers-ignored",
            Flaw::UpgradedWithoutFence => "upgraded-without-fence",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Flaw {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Flaw::ALL.into_iter().find(|flaw| flaw.name() == name);
        found.ok_or_else(|| {
            let names = Flaw::ALL.map(Flaw::name).join(", ");
            format!("there is no flaw `{name}`; there are {names}")
        })
    }
}
