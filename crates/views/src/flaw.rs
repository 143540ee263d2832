//! Rules that can be switched off, one at a time, to show that the tests notice.

/// A rule of the leases that is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A new leader removes members without waiting for leases of older terms (L5).
    NewLeaderDoesNotWait,
    /// The holder counts from the answer, not from when it sent the request (L1, L4).
    CountsFromAnswer,
    /// A leader answers renewals without asking whether it still leads (L2).
    NoReadIndex,
    /// Renewals of a member whose removal is proposed are answered (L3, L5).
    NotDoomed,
    /// Renewals are answered before everything decided earlier is applied (L3).
    BeforeApplied,
    /// The holder believes for as long as the grantor, on whatever clock.
    NoDrift,
    /// A member that has just joined counts as never renewed (L5).
    JoiningIsNotRenewing,
    /// A late answer brings a lease back that had run out (L4).
    ComesBack,
    /// A voter says what it has not yet made durable.
    SendsBeforeSync,
    /// A voter does not look whether its log lacks what others know that it had.
    LostLogUnnoticed,
    /// A life that is away counts as gone before its lease has ended.
    AwayIsGone,
    /// A life that was away and renews its lease is not taken back.
    NotTakenBack,
    /// A member is away as soon as another reports that it cannot reach it.
    SuspectsDecide,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Flaw; 13] = [
        Flaw::NewLeaderDoesNotWait,
        Flaw::CountsFromAnswer,
        Flaw::NoReadIndex,
        Flaw::NotDoomed,
        Flaw::BeforeApplied,
        Flaw::NoDrift,
        Flaw::JoiningIsNotRenewing,
        Flaw::ComesBack,
        Flaw::SendsBeforeSync,
        Flaw::LostLogUnnoticed,
        Flaw::AwayIsGone,
        Flaw::NotTakenBack,
        Flaw::SuspectsDecide,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flaw::NewLeaderDoesNotWait => "new-leader-does-not-wait",
            Flaw::CountsFromAnswer => "lease-counted-from-answer",
            Flaw::NoReadIndex => "no-read-index",
            Flaw::NotDoomed => "not-doomed",
            Flaw::BeforeApplied => "before-applied",
            Flaw::NoDrift => "lease-drift-ignored",
            Flaw::JoiningIsNotRenewing => "joining-is-not-renewing",
            Flaw::ComesBack => "lease-comes-back",
            Flaw::SendsBeforeSync => "sends-before-sync",
            Flaw::LostLogUnnoticed => "lost-log-unnoticed",
            Flaw::AwayIsGone => "away-is-gone",
            Flaw::NotTakenBack => "not-taken-back",
            Flaw::SuspectsDecide => "suspects-decide",
        }
    }
}
