//! Who calls whom, and whether they belong together: the words before a link is up. No clock, no I/O.
//!
//! The caller says [`preamble`] and [`Opening`]. For a link, which is a [`Hello`], the called one answers
//! [`preamble`] and [`Answer::Welcome`] with a hello of its own, which the caller accepts with
//! [`Verdict::Accepted`]. For the view service, which is a [`Caller`], it answers [`preamble`] and a
//! [`Verdict`]. Either may refuse instead, and says why.

use serde::{Deserialize, Serialize};
use skeptron_types::{fnv1a, fnv1a_after};
use thiserror::Error;

use crate::MemberId;
use crate::plan::Plans;
use crate::view::View;

/// The version of everything that travels between nodes: the major one in the high byte, the minor one
/// in the low byte. Members of one major version whose minor versions differ by one understand each
/// other, so that a cluster can be upgraded one member after another.
pub const VERSION: u16 = 0x0600;

/// What both sides say first, in every version: a name and the version.
pub const PREAMBLE_BYTES: usize = MAGIC.len() + 2;

/// The longest word of a handshake; no honest one comes near it.
pub const WORD_BYTES: usize = 1024;

const MAGIC: [u8; 8] = *b"SKEPTRON";

/// Who a node is, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its cluster.
    pub cluster: String,
    /// Which member it is.
    pub from: MemberId,
    /// Which member it believes to speak to.
    pub to: MemberId,
    /// Which of its lives this is.
    pub incarnation: u64,
    /// The epoch of its view; one that is behind may connect and learn.
    pub epoch: u64,
    /// A digest of that view's members: in one epoch there is one list.
    pub members: u64,
    /// A digest of the algorithms and their layouts.
    pub plans: u64,
    /// The number of the last message that it has taken from the other.
    pub received: u64,
}

/// What a caller wants; its first word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opening {
    /// To be the other end of a link between two lives.
    Link(Hello),
    /// To speak to the view service, as any node of the cluster may, member or not.
    Service(Caller),
}

/// Who speaks to the view service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Its cluster.
    pub cluster: String,
    /// The cluster's number, if it knows it.
    pub number: Option<u128>,
    /// Which node it is.
    pub from: MemberId,
    /// Which node it believes to speak to.
    pub to: MemberId,
}

impl Caller {
    /// Whether the caller belongs to the same cluster and means this node, which is `me`.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self, me: &Caller) -> Result<(), HandshakeRefusal> {
        if self.cluster != me.cluster {
            let (mine, yours) = (me.cluster.clone(), self.cluster.clone());
            return Err(HandshakeRefusal::Cluster { me: me.from, mine, yours });
        }
        if self.to != me.from {
            return Err(HandshakeRefusal::Somebody { me: me.from, meant: self.to });
        }
        if self.from == me.from {
            return Err(HandshakeRefusal::Caller { me: me.from, you: self.from });
        }
        match (self.number, me.number) {
            (Some(theirs), Some(mine)) if theirs != mine => {
                Err(HandshakeRefusal::Namesake { me: me.from, cluster: me.cluster.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// What is said to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// We belong together.
    Welcome(Hello),
    /// We do not.
    Refused(HandshakeRefusal),
}

/// What the caller says to the hello of the called one, and the called one to a [`Caller`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The link is up.
    Accepted,
    /// It is not.
    Refused(HandshakeRefusal),
}

/// Why a node refuses another. Said to the other, too, so it names both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum HandshakeRefusal {
    /// Another cluster.
    #[error(
        "{me} belongs to the cluster {mine:?} and the other to {yours:?}; correct `cluster` or the \
         address in one of the two"
    )]
    Cluster {
        /// Who refuses.
        me: MemberId,
        /// Its cluster.
        mine: String,
        /// The other's cluster.
        yours: String,
    },
    /// Somebody else was meant.
    #[error(
        "{me} answered at the address of {meant}; correct `node` there, or the address of {meant} \
         under `voters` here"
    )]
    Somebody {
        /// Who refuses.
        me: MemberId,
        /// Who was meant.
        meant: MemberId,
    },
    /// The caller is no member that has to call.
    #[error(
        "{you} may not connect to {me}: it is not in the view of {me}; if two nodes have the same \
         number, correct `node` at one of them"
    )]
    Caller {
        /// Who refuses.
        me: MemberId,
        /// Who calls.
        you: MemberId,
    },
    /// Another cluster of the same name.
    #[error(
        "there are two clusters with the name {cluster:?}, and {me} belongs to the other one; rename one \
         of them, or correct the addresses of the voters; to move a node from its old cluster to \
         this one, stop it and move its `data` folder away"
    )]
    Namesake {
        /// Who refuses.
        me: MemberId,
        /// The name.
        cluster: String,
    },
    /// It is not a member now.
    #[error("{me} is not a member at present; it will join the cluster by itself")]
    NoMember {
        /// Who refuses.
        me: MemberId,
    },
    /// It has no view service.
    #[error("{me} has a fixed membership; run all nodes of a cluster with the same `views`")]
    NoService {
        /// Who refuses.
        me: MemberId,
    },
    /// The certificate is somebody else's.
    #[error("{you} uses the certificate of another node; give each node its own")]
    Certificate {
        /// Who shows it.
        you: MemberId,
    },
    /// The lists of members differ.
    #[error(
        "{me} and {you} have different lists of members in one epoch; if their members are fixed, make the \
         lists the same and restart both, or else their clusters have the same name: rename one"
    )]
    Members {
        /// Who refuses.
        me: MemberId,
        /// Who is refused.
        you: MemberId,
    },
    /// The algorithms differ.
    #[error(
        "{me} and {you} are configured with different algorithms or layouts: `skeptron status` at each shows \
         them; make `algorithm` and `[[prefix]]` the same and restart both"
    )]
    Plans {
        /// Who refuses.
        me: MemberId,
        /// Who is refused.
        you: MemberId,
    },
    /// The view names another life of the node.
    #[error(
        "{me} expects another incarnation of {you} in epoch {epoch}; {you} can connect once a \
         later view contains this one"
    )]
    NotInView {
        /// Who refuses.
        me: MemberId,
        /// Who is refused.
        you: MemberId,
        /// The epoch of the view of whoever refuses.
        epoch: u64,
    },
    /// The node has been restarted.
    #[error(
        "{you} was restarted and has lost its state; with fixed members it cannot rejoin: restart \
         all nodes of the cluster"
    )]
    Restarted {
        /// Which node.
        you: MemberId,
    },
}

/// Why the first bytes are no [`preamble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Stranger {
    /// Something else speaks there.
    #[error("the other side is not a Skeptron node, or only one of the two uses TLS")]
    NoNode,
    /// Another version.
    #[error(
        "it uses version {}.{} of the protocol between nodes, this node version {}.{}; upgrade by one \
         minor version at a time, on all nodes before the next",
        theirs >> 8, theirs & 0xff, VERSION >> 8, VERSION & 0xff
    )]
    Version {
        /// The other's version.
        theirs: u16,
    },
}

/// The first bytes of both sides.
pub fn preamble() -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Whether these first bytes are of a node of this version, or of the minor one before or after it.
///
/// # Errors
/// If they are not.
pub fn check_preamble(bytes: [u8; PREAMBLE_BYTES]) -> Result<(), Stranger> {
    let [magic @ .., low, high] = bytes;
    match u16::from_le_bytes([low, high]) {
        _ if magic != MAGIC => Err(Stranger::NoNode),
        theirs if theirs >> 8 == VERSION >> 8 && theirs.abs_diff(VERSION) <= 1 => Ok(()),
        theirs => Err(Stranger::Version { theirs }),
    }
}

/// What this member says of itself, and expects of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    cluster: String,
    me: MemberId,
    incarnation: u64,
    plans: u64,
}

impl Terms {
    /// As configured, in this life of the member.
    #[must_use]
    pub fn new(cluster: &str, me: MemberId, incarnation: u64, plans: &Plans) -> Self {
        Terms { cluster: cluster.to_string(), me, incarnation, plans: plans_digest(plans) }
    }

    /// What this member says to `to`.
    #[must_use]
    pub fn hello(&self, to: MemberId, view: &View, received: u64) -> Hello {
        let &Terms { ref cluster, me: from, incarnation, plans } = self;
        let (epoch, members) = (view.epoch, members_digest(view));
        Hello { cluster: cluster.clone(), from, to, incarnation, epoch, members, plans, received }
    }

    /// Whether whoever says this is the other end of one of our links. `known` is the only life of it
    /// that we accept, if we have chosen one.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(
        &self,
        hello: &Hello,
        view: &View,
        known: Option<u64>,
    ) -> Result<(), HandshakeRefusal> {
        let (me, you) = (self.me, hello.from);
        if hello.cluster != self.cluster {
            let (mine, yours) = (self.cluster.clone(), hello.cluster.clone());
            return Err(HandshakeRefusal::Cluster { me, mine, yours });
        }
        if hello.to != me {
            return Err(HandshakeRefusal::Somebody { me, meant: hello.to });
        }
        if hello.epoch == view.epoch && hello.members != members_digest(view) {
            return Err(HandshakeRefusal::Members { me, you });
        }
        if you == me || view.life(you).is_none() {
            return Err(HandshakeRefusal::Caller { me, you });
        }
        if hello.plans != self.plans {
            return Err(HandshakeRefusal::Plans { me, you });
        }
        let named = view.life(you).and_then(|life| life.incarnation);
        match known {
            Some(known) if known == hello.incarnation => Ok(()),
            Some(_) if named.is_some() => {
                Err(HandshakeRefusal::NotInView { me, you, epoch: view.epoch })
            }
            Some(_) => Err(HandshakeRefusal::Restarted { you }),
            None => Ok(()),
        }
    }
}

/// A digest of the algorithms and their layouts, the same at all members that fit together.
#[must_use]
pub fn plans_digest(plans: &Plans) -> u64 {
    digest(plans.described())
}

fn members_digest(view: &View) -> u64 {
    digest(view.members.iter().map(|member| encode(&(member.id, &member.address))))
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("what is configured fits into memory")
}

/// Of the parts and their lengths.
fn digest(parts: impl Iterator<Item = impl AsRef<[u8]>>) -> u64 {
    parts.fold(fnv1a([]), |hash, part| {
        let part = part.as_ref();
        let length = (part.len() as u64).to_le_bytes();
        fnv1a_after(hash, length.iter().chain(part).copied())
    })
}
