//! Elections: one algorithm, one file.

pub(crate) mod circle;
pub(crate) mod claims;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod storm;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::circle::{Alarm, Way};
pub use self::claims::{Case, Claims, Initiators, RingOrder};
use crate::catalogue::ElectionInfo;
pub(crate) use crate::protocol::kinds;
use crate::{NodeId, Protocol, Refused, Setup, SetupError};

/// What a node is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notice {
    /// By its application: somebody must be elected, for the leader does not answer, or this node has
    /// just come back. While an election is under way here it means nothing new.
    Call,
    /// By its failure detector: that node has crashed, as far as it knows.
    Suspect(NodeId),
    /// By its failure detector: that node, suspected before, is alive after all.
    Trust(NodeId),
    /// By its driver: the random number that it has asked for by [`Election::draws`], from 1 on.
    Drawn(u32),
}

/// Why a node that never draws does not take a random number.
pub(crate) const NOT_DRAWN: Refused = Refused::Unexpected("no random number was asked for");

/// Names one election. A later one has a higher epoch; whoever begins one puts its own id into it,
/// so that two nodes never begin the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch {
    /// Counts elections, as far as the one who began it knew.
    pub round: u32,
    /// Who began it.
    pub by: NodeId,
}

impl Epoch {
    /// Before the first election.
    pub const FIRST: Epoch = Epoch { round: 0, by: NodeId::new(0) };

    /// The one that `by` begins when this is the highest that it knows.
    #[must_use]
    pub fn next(self, by: NodeId) -> Self {
        // At the end of all rounds there is no higher one, but never a lower one either.
        self.max(Epoch { round: self.round.saturating_add(1), by })
    }
}

/// More elections than any system holds. Whoever speaks of a later one is not believed, so that there
/// is always a next epoch.
const MOST_ROUNDS: u32 = u32::MAX / 2;

/// Refuses an epoch that no node of a system of `n` can have begun.
pub(crate) fn known_epoch(epoch: Epoch, n: usize) -> Result<(), Refused> {
    if epoch.by.index() >= n {
        Err(Refused::Unexpected("the epoch was begun by no node of this system"))
    } else if epoch.round > MOST_ROUNDS {
        Err(Refused::Unexpected("the epoch is later than any that a system reaches"))
    } else {
        Ok(())
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.round, self.by)
    }
}

/// What a node tells its application: this is the leader now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Elected {
    /// Who leads.
    pub leader: NodeId,
    /// Since which election.
    pub epoch: Epoch,
}

/// An election algorithm.
///
/// A driver follows these rules. Before the first election everybody takes the highest id for the
/// leader. A node is told `Suspect` and `Trust` by its failure detector only when that changes. An
/// initiator that suspects the leader it names is given `Call`, then and whenever else its application
/// wants an election. A node that comes back after a crash is [`Election::recovered`], then given
/// `Start` and `Call`. A node that [`Election::draws`] after an input is given `Drawn` next, before anything else.
pub trait Election: Protocol<Command = Notice, Event = Elected> {
    /// What is known of the algorithm, and of each broken variant of it.
    const VARIANTS: &'static [ElectionInfo];

    /// The nodes of a system in their initial state.
    ///
    /// # Errors
    /// If `name` is none of the variants or the setup lacks what the algorithm needs.
    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError>;

    /// The highest epoch that the node knows of. Never falls.
    fn epoch(&self) -> Epoch;

    /// The node after a crash: all that it knows then is what it was built with and what it kept in
    /// stable storage, which is the epoch and nothing else.
    #[must_use]
    fn recovered(&self) -> Self;

    /// If it waits for a random number: the highest of those to draw from, which begin at 1 and are all as likely; at most the
    /// number of nodes. Chance is an input, so a node stays a function of its inputs, and its driver decides where numbers
    /// come from.
    fn draws(&self) -> Option<u32> {
        None
    }

    /// Its neighbour towards the leader, where the election builds a tree.
    fn parent(&self) -> Option<NodeId> {
        None
    }
}

/// Does something with an algorithm whose type is known only by its name; see [`dispatch`].
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// The algorithm's type is `P`.
    fn visit<P: Election>(self) -> Self::Output;
}

/// Declares the modules and the list. Adding an algorithm is its file and its line below.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $file:ident :: $algorithm:ident,)*) => {
        $($(#[$doc])* pub mod $file;)*

        /// The variants of each algorithm, the correct ones first.
        pub(crate) fn families() -> &'static [&'static [ElectionInfo]] {
            &[$(<$file::$algorithm as Election>::VARIANTS,)*]
        }

        /// Calls `visitor` with the type that implements `info`: one static dispatch per run, none
        /// per event.
        ///
        /// # Panics
        /// If `info` is not of the catalogue.
        pub fn dispatch<V: Visitor>(info: &ElectionInfo, visitor: V) -> V::Output {
            $(if <$file::$algorithm as Election>::VARIANTS.iter().any(|v| v.name == info.name) {
                return visitor.visit::<$file::$algorithm>();
            })*
            panic!("`{}` is not in the catalogue", info.name)
        }
    };
}

algorithms! {
    bully::Bully,
    ring::Ring,
    chang_roberts::ChangRoberts,
    hirschberg_sinclair::HirschbergSinclair,
    peterson::Peterson,
    franklin::Franklin,
    itai_rodeh::ItaiRodeh,
    invitation::Invitation,
    spanning_tree::SpanningTree,
}
