//! What is known of each algorithm, as data: tests, tables, docs and the lab read it from here.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::claims::Claims;
use crate::monitor::Admission;
use crate::{Formula, Setup, election, mutex};

/// All that is said of one algorithm for mutual exclusion.
pub type Info = Entry<Claims>;

/// All that is said of one election algorithm.
pub type ElectionInfo = Entry<election::Claims>;

/// All that is said of one algorithm, or of one broken variant of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<C: 'static> {
    /// The name by which it is called everywhere.
    pub name: &'static str,
    /// Its name in prose.
    pub title: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What kind of algorithm it is.
    pub family: Family,
    /// The weakest channel on which it is correct.
    pub channel: Order,
    /// What it must be laid out on.
    pub layout: Layout,
    /// About how many bytes all its nodes take together, so that an impossible size is refused before
    /// the machine's memory is gone.
    pub memory: Formula,
    /// Its published figures, for two nodes or more.
    pub claims: C,
    /// The idea, in a few sentences.
    pub idea: &'static str,
    /// Its rules, in the order of the spec.
    pub rules: &'static [&'static str],
    /// Which steps follow which rule, and why: `2 REQUEST | {phase} = waiting; {stamp} {me} < {message.t} {from}; {sent} ∌ REPLY |
    /// {<}, so {me} defers`. That is a rule by its number and what comes in, a kind of message, or `start`, `request`, `release`,
    /// `call`, `suspect`, `trust`, `draw`, `expire`; what holds of the step, all of it; and the reason, if the rule does not say it all, in
    /// which `{<}` is the comparison that decided. For each rule the first line that fits a step counts.
    ///
    /// Names in braces stand for values: a variable by its field, as it was before the step, or with `'` after it; `me`,
    /// `from`, `whom`; `sent`, the kinds of the messages that are sent, and `to`, who gets the first; `enters` and `elects`, `yes`
    /// or `no`; `message`, what it says, and a part of it as `message.t`. `[first]` is the first of a list, `[from]` and `[me]`
    /// are the entries of nodes, `[round]` and `[by]` the parts of an epoch.
    pub fires: &'static [&'static str],
    /// What a node knows, under the names of the paper.
    pub variables: &'static [Variable],
    /// What it assumes, what it survives, and what is easily done wrong.
    pub notes: &'static [&'static str],
    /// What is wrong with it, if it is broken on purpose.
    pub broken: Option<Broken>,
}

impl Info {
    /// Whether `sim` and `check` offer kinds of locks over it: shared entries, semaphores, upgrades.
    #[must_use]
    pub fn offers_kinds(&self) -> bool {
        mutex::shared::offers_kinds(self)
    }

    /// Who may be inside together, so laid out: nobody with anybody, unless it is made for several.
    #[must_use]
    pub fn admission(&self, setup: &Setup) -> Admission {
        match (self.layout, setup.read_write()) {
            (Layout::Capacity, _) => Admission::AtOnce(setup.capacity()),
            (Layout::ReadWrite, Some(system)) => Admission::Readers(system.readers().clone()),
            _ => Admission::ONE,
        }
    }

    /// Whether it is self-stabilising: begun in any state, it comes to a legitimate one, and what it promises is
    /// promised from there on.
    #[must_use]
    pub fn is_stabilising(&self) -> bool {
        self.layout == Layout::Beginning
    }

    /// Whether its nodes are told of crashes, and go on without those that have crashed.
    #[must_use]
    pub fn has_detector(&self) -> bool {
        self.layout == Layout::Detector
    }

    /// Whether it can guard the locks of a cluster: correct, for one at a time, and from the beginning on.
    #[must_use]
    pub fn is_for_clusters(&self) -> bool {
        let is_exclusive = !matches!(self.layout, Layout::Capacity | Layout::ReadWrite);
        self.broken.is_none() && is_exclusive && !self.is_stabilising()
    }
}

impl ElectionInfo {
    /// Whether nodes draw random numbers, so that elections end with probability 1 and not in every run.
    #[must_use]
    pub fn is_randomised(&self) -> bool {
        self.family == Family::Anonymous
    }
}

/// A variable of the paper, as a field of a node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The field, as serde names it; one within another as in `token.queue`.
    pub field: &'static str,
    /// What the paper calls it. `token` where it tells whether the token is here.
    pub symbol: &'static str,
    /// What it says, in a few words.
    pub meaning: &'static str,
    /// How it counts, if it is a logical clock.
    pub clock: Option<OwnClock>,
}

/// How an algorithm's own logical clock differs from that of the lectures, which counts every local event
/// and every send, and is `max(C, t) + 1` after the receipt of what was sent at `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnClock {
    /// What it counts.
    pub counts: &'static str,
    /// What a receipt does to it.
    pub receipt: &'static str,
    /// Why that is enough.
    pub why: &'static str,
}

impl Variable {
    /// The variable that the paper calls `symbol`.
    #[must_use]
    pub const fn new(field: &'static str, symbol: &'static str, meaning: &'static str) -> Self {
        Variable { field, symbol, meaning, clock: None }
    }

    /// The logical clock, which the paper calls `symbol`.
    #[must_use]
    pub const fn clock(symbol: &'static str, own: OwnClock) -> Self {
        Variable { clock: Some(own), ..Variable::new("clock", symbol, "the logical clock") }
    }
}

/// What is wrong with a variant that ships in order to be refuted. Never offered to the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule that it gets wrong.
    pub flaw: &'static str,
    /// What that costs.
    pub breaks: Breaks,
    /// Arguments of `skeptron sim NAME` under which a few hundred seeds show it.
    pub shown_by: &'static str,
    /// Arguments of `skeptron check NAME` under which it is refuted: a small system of two nodes or
    /// more, on FIFO channels where those are enough.
    pub refuted_by: &'static str,
}

/// The variants of an algorithm: `SOUND`, and for each of its flaws the name of the variant that has it, what is [`Broken`]
/// there, and what else its entry says. Declares `VARIANTS`, and `flaw_of` a name.
macro_rules! variants {
    ($info:ident { $($flaw:ident = $name:literal $(with { $($other:tt)* })? { $($broken:tt)* })* }) => {
        const VARIANTS: &[$info] = &[
            SOUND,
            $($info { name: $name, broken: Some(Broken { $($broken)* }), $($($other)*)? ..SOUND },)*
        ];

        fn flaw_of(name: &str) -> Result<Flaw, SetupError> {
            match name {
                $($name => Ok(Flaw::$flaw),)*
                _ if name == SOUND.name => Ok(Flaw::None),
                _ => Err(SetupError::UnknownName(name.into())),
            }
        }
    };
}
pub(crate) use variants;

/// Which property a broken variant violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// More nodes inside at once than there may be.
    Safety,
    /// Somebody waits for ever, and nothing happens any more.
    Liveness,
    /// Somebody waits for ever while others are served.
    Starvation,
    /// A request is served before one that happened before it.
    Order,
    /// A node refuses what a peer that follows the same rules has sent.
    Refused,
    /// Two leaders in one epoch.
    Agreement,
    /// A leader that was dead already, or not the highest.
    Validity,
    /// An election never ends.
    Termination,
    /// A run that begins in some state never comes to a legitimate one.
    Convergence,
}

/// Kinds of algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// One node decides.
    Central,
    /// A requester asks everybody.
    Permission,
    /// A requester asks some, any two of whose sets meet.
    Quorum,
    /// Whoever has the token may enter.
    Token,
    /// Silence is taken for death.
    Timeout,
    /// Messages go round a ring.
    Ring,
    /// Groups merge.
    Group,
    /// Messages flood a network and come back.
    Wave,
    /// Nodes have no ids, so chance must tell them apart.
    Anonymous,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Central => "central",
            Family::Permission => "permission",
            Family::Quorum => "quorum",
            Family::Token => "token",
            Family::Timeout => "timeout",
            Family::Ring => "ring",
            Family::Group => "group",
            Family::Wave => "wave",
            Family::Anonymous => "anonymous",
        })
    }
}

/// The order in which a channel delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As sent.
    Fifo,
    /// Messages may overtake each other.
    Any,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Fifo => "fifo",
            Order::Any => "any",
        })
    }
}

/// What an algorithm must be laid out on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Nothing.
    None,
    /// One node is the coordinator.
    Coordinator,
    /// A quorum for each node.
    Quorums,
    /// An information structure.
    Structure,
    /// A tree.
    Tree,
    /// An arbitration rule.
    Arbitration,
    /// A ring.
    Ring,
    /// A network of links.
    Graph,
    /// How many may be inside at once.
    Capacity,
    /// Which nodes read, and a quorum for each reader and writer.
    ReadWrite,
    /// Clusters of nodes that are near each other.
    Clusters,
    /// The state in which each node begins, any; the algorithm recovers from it.
    Beginning,
    /// A failure detector that tells each node who has crashed.
    Detector,
}

/// An algorithm of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// For mutual exclusion.
    Mutex(&'static Info),
    /// For elections.
    Election(&'static ElectionInfo),
}

impl Algorithm {
    /// The algorithm of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let mutex = find(name).map(Algorithm::Mutex);
        mutex.or_else(|| find_election(name).map(Algorithm::Election))
    }
}

/// Everything for mutual exclusion that is offered, the broken variants included.
pub fn all() -> impl Iterator<Item = &'static Info> {
    mutex::families().iter().copied().flatten()
}

/// Everything for mutual exclusion that is correct.
pub fn sound() -> impl Iterator<Item = &'static Info> {
    all().filter(|info| info.broken.is_none())
}

/// Everything that can guard the locks of a cluster: correct, for one at a time, and from the beginning on.
pub fn for_clusters() -> impl Iterator<Item = &'static Info> {
    all().filter(|info| info.is_for_clusters())
}

/// The algorithm for mutual exclusion of that name, which may be a program.
#[must_use]
pub fn find(name: &str) -> Option<&'static Info> {
    let program = || mutex::foreign::find(name).map(mutex::foreign::Loaded::info);
    all().find(|info| info.name == name).or_else(program)
}

/// Every election algorithm that is offered, the broken variants included.
pub fn elections() -> impl Iterator<Item = &'static ElectionInfo> {
    election::families().iter().copied().flatten()
}

/// Every election algorithm that is correct.
pub fn sound_elections() -> impl Iterator<Item = &'static ElectionInfo> {
    elections().filter(|info| info.broken.is_none())
}

/// The election algorithm of that name.
#[must_use]
pub fn find_election(name: &str) -> Option<&'static ElectionInfo> {
    elections().find(|info| info.name == name)
}
