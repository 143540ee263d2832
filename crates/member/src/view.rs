//! Views: who belongs to the cluster, decided once for all members. A view is an epoch and its
//! members; every envelope carries the epoch, and one of another epoch is never taken for one of this.

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;

use crate::MemberId;
use crate::clock::MonoTime;
use crate::locks::home_of;

/// One member of a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Who it is.
    pub id: MemberId,
    /// Which of its lives is meant; none if whichever comes first is.
    pub incarnation: Option<u64>,
    /// Where it listens for other members, `HOST:PORT`.
    pub address: String,
    /// Where it serves clients, as `https://HOST:PORT`; empty if that is not known.
    #[serde(default)]
    pub api: Vec<String>,
}

/// Who belongs to the cluster from this epoch to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct View {
    /// Its number, from 1.
    pub epoch: u64,
    /// Its members by ascending id. The place in this list is the member's rank, the [`NodeId`] that
    /// algorithms see.
    pub members: Vec<Member>,
    /// Lives that are not members but whose leases may still run, by ascending id: they go on with what
    /// they have, nobody asks them for anything, and a later view takes each of them back or forgets it.
    pub away: Vec<Member>,
}

impl View {
    /// A view of these members, by ascending id, while nobody is away.
    #[must_use]
    pub fn new(epoch: u64, members: Vec<Member>) -> Self {
        View { epoch, members, away: Vec::new() }
    }

    /// A view whose members live whichever life comes first, P1 at the first address.
    #[must_use]
    pub fn of_addresses(epoch: u64, addresses: Vec<String>) -> Self {
        let member = |(place, address)| Member {
            id: MemberId::at(place),
            incarnation: None,
            address,
            api: Vec::new(),
        };
        View::new(epoch, addresses.into_iter().enumerate().map(member).collect())
    }

    /// The rank of a member; none if it does not belong to the view.
    #[must_use]
    pub fn rank(&self, id: MemberId) -> Option<NodeId> {
        self.members.binary_search_by_key(&id, |member| member.id).ok().map(NodeId::new)
    }

    /// What is known of a member; none if it does not belong to the view.
    #[must_use]
    pub fn member(&self, id: MemberId) -> Option<&Member> {
        self.rank(id).map(|rank| &self.members[rank.index()])
    }

    /// The life that belongs to the view or is away, of the member with this id.
    #[must_use]
    pub fn life(&self, id: MemberId) -> Option<&Member> {
        self.member(id).or_else(|| self.away.iter().find(|member| member.id == id))
    }

    /// Whether this life is away.
    #[must_use]
    pub fn is_away(&self, id: MemberId, incarnation: u64) -> bool {
        let is_it = |life: &Member| life.id == id && life.incarnation == Some(incarnation);
        self.away.iter().any(is_it)
    }

    /// Whether it says which life of each member is meant. Where it does not, two members may have met
    /// different lives of a third one.
    #[must_use]
    pub fn names_lives(&self) -> bool {
        self.members.iter().all(|member| member.incarnation.is_some())
    }

    /// The rank of a lock's home: the member that lets it begin, and plays the algorithm's first part.
    #[must_use]
    pub fn home(&self, lock: &str) -> NodeId {
        home_of(lock, self)
    }

    /// All members, by ascending id.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = MemberId> + '_ {
        self.members.iter().map(|member| member.id)
    }
}

/// Until when a member may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// Membership never changes behind its back.
    Forever,
    /// Until then, by its own clock.
    Until(MonoTime),
    /// It has run out: whatever is held is lost, for the rest of this life.
    Over,
}
