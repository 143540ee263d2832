//! Mutual exclusion: one algorithm, one file.

mod arbiter;
mod candidate;
pub mod foreign;
mod permission;
mod queue;
mod rules;
pub mod shared;
pub mod sharing;
#[cfg(test)]
mod stage;
mod usage;

use serde::{Deserialize, Serialize};

use crate::catalogue::Info;
pub(crate) use crate::protocol::{kinds, known_peer};
use crate::{Message as _, Never, NodeId, Protocol, Refused, Setup, SetupError};
pub use rules::Rules;
pub use skeptron_types::{Mode, UnknownMode};
pub use usage::{Usage, UsageError};

/// What a node is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lock {
    /// By its application: I want in.
    Request,
    /// By its application: I am out again.
    Release,
    /// By its failure detector: that node has crashed. Only algorithms with
    /// [`Info::has_detector`] are told; to the others it means nothing.
    Suspect(NodeId),
}

/// What a node tells its application: you are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entered;

/// An algorithm for mutual exclusion.
pub trait Mutex: Protocol<Command = Lock, Timer = Never, Event = Entered> {
    /// What is known of the algorithm, and of each broken variant of it.
    const VARIANTS: &'static [Info];

    /// The nodes of a system in their initial state.
    ///
    /// # Errors
    /// If `name` is none of the variants or the setup lacks what the algorithm needs.
    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError>;

    /// The names of all kinds of messages; those of a program depend on which one it is.
    #[must_use]
    fn kinds(_info: &Info) -> &'static [&'static str] {
        Self::Message::KINDS
    }

    /// In how many states a node may begin, the messages to others that it then finds in its channels included, where
    /// the algorithm recovers from any state: [`Setup::with_beginnings`] chooses one of them. 0 where it needs the
    /// right beginning.
    #[must_use]
    fn beginnings(_name: &str, _nodes: usize) -> u64 {
        0
    }

    /// Whether all that the algorithm promises holds from here on. Messages of one link stand in the order of sending.
    /// Begun in its initial state, an algorithm is always in such a state.
    #[must_use]
    fn is_legitimate(_nodes: &[&Self], _in_flight: &[(NodeId, NodeId, &Self::Message)]) -> bool {
        true
    }
}

/// Where a node is between two requests of its application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It does not want in.
    #[default]
    Idle,
    /// It asked and waits.
    Waiting,
    /// It is in the section.
    Inside,
}

impl Phase {
    /// A request is in order only when idle; then the node waits.
    pub(crate) fn request(&mut self) -> Result<(), Refused> {
        self.pass(Phase::Idle, Phase::Waiting, Refused::Busy)
    }

    /// A release is in order only inside; then the node is idle.
    pub(crate) fn release(&mut self) -> Result<(), Refused> {
        self.pass(Phase::Inside, Phase::Idle, Refused::NotHeld)
    }

    fn pass(&mut self, from: Phase, to: Phase, refused: Refused) -> Result<(), Refused> {
        if *self != from {
            return Err(refused);
        }
        *self = to;
        Ok(())
    }
}

/// Does something with an algorithm whose type is known only by its name; see [`dispatch`].
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// The algorithm's type is `P`.
    fn visit<P: Mutex>(self) -> Self::Output;
}

/// Declares the modules and the list. Adding an algorithm is its file and its line below.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $file:ident :: $algorithm:ident,)*) => {
        $($(#[$doc])* pub mod $file;)*

        /// The variants of each algorithm, the correct ones first.
        pub(crate) fn families() -> &'static [&'static [Info]] {
            &[$(<$file::$algorithm as Mutex>::VARIANTS,)*]
        }

        /// Calls `visitor` with the type that implements `info`: one static dispatch per run, none
        /// per event.
        ///
        /// # Panics
        /// If `info` is neither of the catalogue nor of a program.
        pub fn dispatch<V: Visitor>(info: &Info, visitor: V) -> V::Output {
            $(if <$file::$algorithm as Mutex>::VARIANTS.iter().any(|v| v.name == info.name) {
                return visitor.visit::<$file::$algorithm>();
            })*
            if foreign::find(info.name).is_some() {
                return visitor.visit::<foreign::Foreign>();
            }
            panic!("`{}` is not in the catalogue", info.name)
        }
    };
}

algorithms! {
    central::Central,
    lamport::Lamport,
    ricart_agrawala::RicartAgrawala,
    carvalho_roucairol::CarvalhoRoucairol,
    raymond_k::RaymondK,
    maekawa::Maekawa,
    sanders::Sanders,
    cao_singhal::CaoSinghal,
    agrawal_el_abbadi::AgrawalElAbbadi,
    quorum_readers_writers::QuorumReadersWriters,
    token_ring::TokenRing,
    dijkstra::Dijkstra,
    suzuki_kasami::SuzukiKasami,
    singhal::Singhal,
    raymond::Raymond,
    naimi_trehel::NaimiTrehel,
    ricart_agrawala_token::RicartAgrawalaToken,
    neilsen_mizuno::NeilsenMizuno,
    lodha_kshemkalyani::LodhaKshemkalyani,
    singhal_1992::Singhal1992,
    composed::Composed,
}
