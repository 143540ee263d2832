//! What an algorithm for mutual exclusion claims: figures, each with the conditions under which it holds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Claim, Formula};

/// The published figures of an algorithm, for two nodes or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Of each quantity the sharpest first.
    pub figures: &'static [Published],
    /// Whether requests ordered by happened-before are served in that order.
    pub ordered: bool,
}

/// A published figure and when it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// What it is about.
    pub quantity: Quantity,
    /// Its value; delays in units of T.
    pub claim: Claim,
    /// All of these are needed; [`Condition::Sound`] always is.
    pub when: &'static [Condition],
}

/// What figures are published of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Messages per entry.
    Messages,
    /// From a request to the entry.
    ClientDelay,
    /// From an exit to the next entry, where the next one already waited at the exit.
    SyncDelay,
    /// Entries of others during one wait, at most.
    Bypass,
}

/// What must be so for a figure to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Nothing goes wrong, and channels are as good as the algorithm needs. Every claim needs it.
    Sound,
    /// One node asks, once, and nobody has asked before.
    First,
    /// One node alone asks; its first entry does not count.
    Again,
    /// One node alone asks.
    Lone,
    /// After each exit one of all nodes, chosen uniformly, asks when nothing is on its way any more.
    OneAtATime,
    /// Two nodes or more ask again as soon as they have left.
    Saturated,
    /// Every node asks.
    Everybody,
    /// Who asks does so at the beginning and again at each exit, without thinking.
    AtOnce,
    /// The coordinator does not ask.
    NotCoordinator,
    /// Only the coordinator asks.
    Coordinator,
    /// Who begins with the token does not ask.
    NotHolder,
    /// Only the node asks that begins with the token.
    Holder,
    /// Who asks needs the word of another node.
    AsksOthers,
    /// Who asks needs nobody's word but its own.
    AsksNobody,
    /// Every message takes equally long.
    ConstantLatency,
    /// What follows a message on its link arrives before a section that the message began is over:
    /// messages of one link take equally long, or no section is shorter than the slowest message.
    CloseBehind,
    /// Every section takes longer than the slowest message.
    LongSections,
    /// Channels keep the order.
    Fifo,
}

impl Claims {
    /// The most there can be of it in any run, where that is claimed.
    #[must_use]
    pub fn most(&self, quantity: Quantity) -> Option<Formula> {
        let always = |published: &&Published| published.when.is_empty();
        self.of(quantity).find(always).map(|published| published.claim.high)
    }

    /// What is claimed of it, the sharpest first.
    pub fn of(&self, quantity: Quantity) -> impl Iterator<Item = &'static Published> + use<> {
        self.figures.iter().filter(move |published| published.quantity == quantity)
    }

    /// The sharpest claim about it under such a load: first or further entries of a lone requester that
    /// needs others, one requester at a time, or saturation.
    #[must_use]
    pub fn under(&self, load: Condition, quantity: Quantity) -> Option<&'static Published> {
        let fits = |published: &&Published| {
            let needs_nobody = published.when.iter().any(|condition| condition.needs_nobody());
            !needs_nobody && published.load().is_none_or(|needed| needed.covers(load))
        };
        self.of(quantity).find(fits)
    }
}

impl Published {
    /// This is claimed then.
    #[must_use]
    pub const fn new(quantity: Quantity, claim: Claim, when: &'static [Condition]) -> Self {
        Published { quantity, claim, when }
    }

    /// Who must ask how often, if it matters.
    #[must_use]
    pub fn load(&self) -> Option<Condition> {
        self.when.iter().copied().find(|condition| condition.is_load())
    }

    /// The conditions in words.
    #[must_use]
    pub fn conditions(&self) -> String {
        match self.when {
            [] => "always".into(),
            when => when.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        }
    }
}

/// The value with its unit.
impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantity {
            Quantity::Messages => write!(f, "{}", self.claim),
            Quantity::ClientDelay | Quantity::SyncDelay => write!(f, "{} T", self.claim),
            Quantity::Bypass => write!(f, "at most {}", self.claim.high),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantity::Messages => "messages per entry",
            Quantity::ClientDelay => "client delay",
            Quantity::SyncDelay => "synchronisation delay",
            Quantity::Bypass => "entries of others during one wait",
        })
    }
}

impl Condition {
    /// Whether it says who asks how often.
    #[must_use]
    pub fn is_load(self) -> bool {
        use Condition::{Again, First, Lone, OneAtATime, Saturated};
        matches!(self, First | Again | Lone | OneAtATime | Saturated)
    }

    /// Whether a figure for this load holds under that one.
    #[must_use]
    pub fn covers(self, load: Condition) -> bool {
        self == load
            || self == Condition::Lone && [Condition::First, Condition::Again].contains(&load)
    }

    /// Whether it is about a requester that pays nothing.
    #[must_use]
    pub fn needs_nobody(self) -> bool {
        matches!(self, Condition::Coordinator | Condition::Holder | Condition::AsksNobody)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Sound => "no faults, and channels as good as it needs",
            Condition::First => "first entry of a lone requester",
            Condition::Again => "further entries of a lone requester",
            Condition::Lone => "a lone requester",
            Condition::OneAtATime => {
                "one uniformly chosen requester at a time, when nothing is on its way"
            }
            Condition::Saturated => "saturated: two or more, who ask again at once",
            Condition::Everybody => "everybody asks",
            Condition::AtOnce => "who asks does so at once",
            Condition::NotCoordinator => "the coordinator does not ask",
            Condition::Coordinator => "the coordinator asks",
            Condition::NotHolder => "who begins with the token does not ask",
            Condition::Holder => "who begins with the token asks",
            Condition::AsksOthers => "who asks needs others",
            Condition::AsksNobody => "who asks needs nobody else",
            Condition::ConstantLatency => "constant latency",
            Condition::CloseBehind => {
                "latency constant on each link, or no section shorter than a message"
            }
            Condition::LongSections => "sections longer than a message",
            Condition::Fifo => "FIFO channels",
        })
    }
}
