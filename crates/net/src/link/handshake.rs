//! Who calls whom, and whether they belong together: the words before a link is up. No clock, no I/O.
//!
//! The caller says [`preamble`] and [`Hello`]; the called one answers [`preamble`] and
//! [`Answer::Welcome`] with a hello of its own, which the caller accepts with another welcome. Either
//! may say [`Answer::Refused`] instead, and why.

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use thiserror::Error;

use crate::config::Config;
use crate::view::View;

/// The version of everything that travels between nodes.
pub(crate) const VERSION: u16 = 1;

/// What both sides say first, in every version: a name and the version.
pub(crate) const PREAMBLE_BYTES: usize = MAGIC.len() + 2;

/// The longest word of a handshake; no honest one comes near it.
pub(crate) const WORD_BYTES: usize = 1024;

const MAGIC: [u8; 8] = *b"SKEPTRON";

/// Who a node is, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Its cluster.
    pub(crate) cluster: String,
    /// Which member it is.
    pub(crate) from: NodeId,
    /// Which member it believes to speak to.
    pub(crate) to: NodeId,
    /// Which of its lives this is.
    pub(crate) incarnation: u64,
    /// The epoch of its view.
    pub(crate) epoch: u64,
    /// A digest of the members' addresses.
    pub(crate) members: u64,
    /// A digest of the algorithms and their layouts.
    pub(crate) plans: u64,
    /// The number of the last message that it has taken from the other.
    pub(crate) received: u64,
}

/// What is said to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// We belong together.
    Welcome(Hello),
    /// We do not.
    Refused(Refusal),
}

/// What the caller says to the hello of the called one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// The link is up.
    Accepted,
    /// It is not.
    Refused(Refusal),
}

/// Why a node refuses another. Said to the other, too, so it names both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub(crate) enum Refusal {
    /// Another cluster.
    #[error(
        "{me} belongs to the cluster {mine:?} and the other to {yours:?}; correct `cluster` or the \
         address in one of the two"
    )]
    Cluster {
        /// Who refuses.
        me: NodeId,
        /// Its cluster.
        mine: String,
        /// The other's cluster.
        yours: String,
    },
    /// Somebody else was meant.
    #[error("{meant} was called, but {me} answers there; correct the list of members")]
    Somebody {
        /// Who refuses.
        me: NodeId,
        /// Who was meant.
        meant: NodeId,
    },
    /// The caller is no member that has to call.
    #[error("{you} is no member that calls {me}; correct `node` or the list of members")]
    Caller {
        /// Who refuses.
        me: NodeId,
        /// Who calls.
        you: NodeId,
    },
    /// The certificate is somebody else's.
    #[error("the certificate of {you} is not that of {you}; give each node its own")]
    Certificate {
        /// Who shows it.
        you: NodeId,
    },
    /// The lists of members differ.
    #[error("{me} and {you} have different lists of members; make them the same and restart both")]
    Members {
        /// Who refuses.
        me: NodeId,
        /// Who is refused.
        you: NodeId,
    },
    /// The algorithms differ.
    #[error(
        "{me} and {you} are configured with different algorithms or layouts; make them the same and \
         restart both"
    )]
    Plans {
        /// Who refuses.
        me: NodeId,
        /// Who is refused.
        you: NodeId,
    },
    /// One has not yet heard of the other's view.
    #[error("{me} is in epoch {mine} and {you} in epoch {yours}; the one behind has to catch up")]
    Epoch {
        /// Who refuses.
        me: NodeId,
        /// Its epoch.
        mine: u64,
        /// Who is refused.
        you: NodeId,
        /// The other's epoch.
        yours: u64,
    },
    /// The node has been restarted.
    #[error(
        "{you} has been restarted and has lost its memory; a fixed membership cannot take it back: \
         restart all nodes of the cluster"
    )]
    Restarted {
        /// Which node.
        you: NodeId,
    },
}

/// Why the first bytes are no [`preamble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Stranger {
    /// Something else speaks there.
    #[error("whatever speaks there is no Skeptron node, or only one of the two uses TLS")]
    NoNode,
    /// Another version.
    #[error(
        "it speaks version {theirs} of the protocol between nodes, this node version {VERSION}; \
         run the same release everywhere"
    )]
    Version {
        /// The other's version.
        theirs: u16,
    },
}

/// The first bytes of both sides.
pub(crate) fn preamble() -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Whether these first bytes are of a node of this version.
///
/// # Errors
/// If they are not.
pub(crate) fn check_preamble(bytes: [u8; PREAMBLE_BYTES]) -> Result<(), Stranger> {
    let [magic @ .., low, high] = bytes;
    match u16::from_le_bytes([low, high]) {
        _ if magic != MAGIC => Err(Stranger::NoNode),
        VERSION => Ok(()),
        theirs => Err(Stranger::Version { theirs }),
    }
}

/// What this node says of itself, and expects of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    cluster: String,
    me: NodeId,
    nodes: usize,
    incarnation: u64,
    members: u64,
    plans: u64,
}

impl Terms {
    /// As configured, in this life of the node.
    pub(crate) fn new(config: &Config, view: &View, incarnation: u64) -> Self {
        let addresses = view.members.iter().map(|member| member.address.as_bytes());
        let prefixes: Vec<_> = config.plans.prefixes().collect();
        let plans = config.plans.all().map(|plan| (plan.info().name, plan.setup()));
        let plans = std::iter::once(encode(&prefixes)).chain(plans.map(|plan| encode(&plan)));
        Terms {
            cluster: config.cluster.clone(),
            me: config.node,
            nodes: view.nodes(),
            incarnation,
            members: digest(addresses),
            plans: digest(plans),
        }
    }

    /// What this node says to `to`.
    pub(crate) fn hello(&self, to: NodeId, epoch: u64, received: u64) -> Hello {
        let &Terms { ref cluster, me: from, incarnation, members, plans, .. } = self;
        Hello { cluster: cluster.clone(), from, to, incarnation, epoch, members, plans, received }
    }

    /// Whether whoever says this is the other end of one of our links. `epoch` is ours, `known` the
    /// only life of it that we accept, if we have chosen one.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn check(
        &self,
        hello: &Hello,
        epoch: u64,
        known: impl FnOnce(NodeId) -> Option<u64>,
    ) -> Result<(), Refusal> {
        let (me, you) = (self.me, hello.from);
        if hello.cluster != self.cluster {
            let (mine, yours) = (self.cluster.clone(), hello.cluster.clone());
            return Err(Refusal::Cluster { me, mine, yours });
        }
        if hello.to != me {
            return Err(Refusal::Somebody { me, meant: hello.to });
        }
        if hello.members != self.members {
            return Err(Refusal::Members { me, you });
        }
        if you == me || you.index() >= self.nodes {
            return Err(Refusal::Caller { me, you });
        }
        if hello.plans != self.plans {
            return Err(Refusal::Plans { me, you });
        }
        if hello.epoch != epoch {
            return Err(Refusal::Epoch { me, mine: epoch, you, yours: hello.epoch });
        }
        match known(you) {
            Some(known) if known != hello.incarnation => Err(Refusal::Restarted { you }),
            _ => Ok(()),
        }
    }
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("what is configured fits into memory")
}

/// FNV-1a over the parts and their lengths: the same in every build, which is all that is asked of it.
fn digest(parts: impl Iterator<Item = impl AsRef<[u8]>>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    parts.fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        let part = part.as_ref();
        let length = (part.len() as u64).to_le_bytes();
        length.iter().chain(part).fold(hash, |hash, &byte| step(hash, byte))
    })
}
