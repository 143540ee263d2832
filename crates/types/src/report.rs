//! What a node says of itself and its locks: the same types for the library, the client API and the
//! command line.

mod cause;
mod deadlock;
mod listing;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Fence, MemberId, Mode};
pub use cause::{Cause, NotGranted, Reason, why_not_granted};
pub use deadlock::{Deadlock, Stuck, deadlocks};
pub use listing::{ListedLock, LockListing, LockQueue, SessionListing, SessionSummary};

/// One lock as one node sees it: who holds it and who waits for it *there*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockStatus {
    /// Its name.
    pub name: String,
    /// The algorithm that guards it.
    pub algorithm: String,
    /// Where this is known.
    pub node: MemberId,
    /// Whoever holds it there; of several that tolerate each other, the last to enter.
    pub holder: Option<Holder>,
    /// How many hold it there.
    pub inside: u32,
    /// How many wait for it there.
    pub waiters: u32,
}

/// Whoever holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// At which node.
    pub node: MemberId,
    /// What the holder calls itself; empty if it has not said.
    pub owner: String,
    /// The fence of the entry.
    pub fence: Fence,
    /// How many others it tolerates.
    #[serde(default)]
    pub mode: Mode,
    /// For how long at that node, in milliseconds: it begins anew when the session moves.
    pub held_ms: u64,
}

/// How many messages of one kind a node has sent and taken since it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCount {
    /// The algorithm whose message it is.
    pub algorithm: String,
    /// Its name in the paper.
    pub message: String,
    /// How many were sent.
    pub sent: u64,
    /// How many were taken.
    pub received: u64,
}

/// A node and its links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The cluster's name.
    pub cluster: String,
    /// The node that answers.
    pub node: MemberId,
    /// Its version.
    pub version: String,
    /// The view's epoch.
    pub epoch: u64,
    /// The algorithm for locks that no prefix says otherwise of.
    pub algorithm: String,
    /// Algorithms by prefix of the lock name, the longest match wins.
    pub prefixes: Vec<(String, String)>,
    /// The members, the node itself included.
    pub members: Vec<MemberStatus>,
    /// For how long the node has been up, in milliseconds.
    pub up_ms: u64,
    /// Lock names that it knows.
    pub known_locks: u64,
    /// Locks held at it.
    pub held_locks: u64,
    /// Requests waiting at it.
    pub waiters: u64,
    /// Sessions open at it.
    pub sessions: u64,
    /// The members that have not announced themselves to it in this view: until then locks whose home
    /// it is are not granted.
    pub awaited: Vec<MemberId>,
    /// Members that are not heard of but may still have rights: a lock that nobody else keeps waits until
    /// each is back or certainly gone.
    pub away: Vec<MemberId>,
    /// For how long somebody has been away, in milliseconds, as far as the node knows.
    pub away_ms: Option<u64>,
    /// Locks whose home the node is, that somebody wants and that wait for that.
    pub withheld_locks: u64,
    /// Who decides who belongs to the cluster, and how that stands.
    pub views: ServiceReport,
    /// For how long the node may still act without a word of the view service, in milliseconds; none if
    /// it needs none.
    pub lease_left_ms: Option<u64>,
    /// Whether it is leaving and takes no more requests.
    pub leaving: bool,
    /// Whether an administrator told it to serve no clients, and how far that is.
    pub drain: Option<Drain>,
    /// Why it cannot go on and grants nothing any more, if so.
    pub halted: Option<String>,
    /// Why it cannot grant locks, or not all of them; none if all is well.
    pub causes: Vec<Cause>,
}

/// How far a node is that was told to serve no clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drain {
    /// Its clients are told to go elsewhere.
    Draining,
    /// It has no clients and is no member. If it has a vote, it votes.
    Drained,
}

/// How a view service stands, as a node sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceReport {
    /// What decides: `fixed`, `voters` or `etcd`.
    pub kind: String,
    /// Who leads it, if that is known.
    pub leader: Option<MemberId>,
    /// The leader's term, at a voter.
    pub term: Option<u64>,
    /// Who votes, and who is about to.
    pub voters: Vec<VoterStatus>,
    /// Where etcd is asked, if it decides.
    pub endpoints: Vec<String>,
    /// Why nothing can be decided at present as far as this node knows, if so.
    pub trouble: Option<String>,
    /// By how much the rate of a member's clock differs from the leader's, at most, in parts per million;
    /// at the leader, after some minutes.
    pub clock_rate_ppm: Option<u64>,
    /// Why this node does not vote any more, if it did.
    pub voter_halted: Option<String>,
    /// How long leases are, in milliseconds, at a voter.
    pub lease_ms: Option<u64>,
    /// The bound on every clock's rate error, in parts per million, once it is known.
    pub drift_ppm: Option<u32>,
}

/// One voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoterStatus {
    /// Which member.
    pub node: MemberId,
    /// Its raft id, which is not the member's number: a member that is made a voter again gets a larger
    /// one.
    pub seat: u64,
    /// Whether it votes already, or is being sent the log.
    pub votes: bool,
    /// How it stands, as the leader sees it.
    pub state: VoterState,
    /// For how long it has not answered the leader, in whole seconds told as milliseconds; none if it does.
    pub silent_ms: Option<u64>,
    /// Where it was last.
    pub address: Option<String>,
}

/// How a voter stands, as the leader sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VoterState {
    /// Nobody leads, or the leader has not been heard of this voter yet.
    #[default]
    Unknown,
    /// It answers, and has what was decided.
    Up,
    /// It answers, but lacks decisions.
    Behind,
    /// It does not answer: its node is down or cut off, or runs without its voter.
    Silent,
}

impl ServiceReport {
    /// How many voters there are, and how many of them are up.
    #[must_use]
    pub fn voting(&self) -> (usize, usize) {
        let voting = || self.voters.iter().filter(|voter| voter.votes);
        (voting().count(), voting().filter(|voter| voter.state == VoterState::Up).count())
    }

    /// How many more voters may fail now without stopping the cluster; none if no majority is up, or
    /// that is not known.
    #[must_use]
    pub fn may_fail(&self) -> Option<usize> {
        let (all, up) = self.voting();
        up.checked_sub(all / 2 + 1)
    }
}

/// One member as the answering node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Which.
    pub node: MemberId,
    /// Where it listens for other nodes.
    pub address: String,
    /// Where clients reach it, as it said when it entered.
    #[serde(default)]
    pub api: Vec<String>,
    /// Which of its lives is a member, in hexadecimal; none if members are fixed.
    pub life: Option<String>,
    /// The link to it.
    pub link: LinkState,
    /// Why the link is down, if it is known.
    pub trouble: Option<String>,
    /// For how long the link has been down, in milliseconds; none if it is not.
    pub down_ms: Option<u64>,
    /// How often the link has been connected.
    pub connects: u64,
    /// Messages sent and not yet acknowledged.
    pub unacknowledged: u64,
}

/// Whether a member can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// The node itself.
    Own,
    /// Connected.
    Up,
    /// Not connected; being tried again.
    Down,
}

/// Whole milliseconds, as times are told.
#[must_use]
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How long something has lasted, as precisely as anybody wants to know.
#[must_use]
pub fn lasted(ms: u64) -> String {
    match ms / 1_000 {
        0 => format!("{ms} ms"),
        1..=9 => format!("{:.1} s", ms as f64 / 1_000.0),
        seconds @ 10..=59 => format!("{seconds} s"),
        seconds @ 60..=3_599 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(states: &[VoterState]) -> ServiceReport {
        let voter = |(place, &state): (usize, &VoterState)| VoterStatus {
            node: MemberId::at(place),
            seat: 10 + place as u64,
            votes: true,
            state,
            silent_ms: None,
            address: None,
        };
        let voters = states.iter().enumerate().map(voter).collect();
        ServiceReport { voters, ..ServiceReport::default() }
    }

    #[test]
    fn the_longer_the_coarser() {
        assert_eq!(lasted(12), "12 ms");
        assert_eq!(lasted(1_250), "1.2 s");
        assert_eq!(lasted(59_999), "59 s");
        assert_eq!(lasted(61_000), "1 min 1 s");
        assert_eq!(lasted(3_700_000), "1 h 1 min");
    }

    #[test]
    fn as_many_may_fail_as_leave_a_majority_of_those_that_are_up() {
        use VoterState::{Behind, Silent, Unknown, Up};
        for (states, expected) in [
            (&[Up][..], Some(0)),
            (&[Up, Up], Some(0)),
            (&[Up, Up, Up], Some(1)),
            (&[Up, Up, Silent], Some(0)),
            (&[Up, Up, Behind], Some(0)),
            (&[Up, Silent, Silent], None),
            (&[Unknown, Unknown, Unknown], None),
            (&[Up, Up, Up, Up, Silent], Some(1)),
            (&[Up, Up, Up, Up], Some(1)),
        ] {
            assert_eq!(report(states).may_fail(), expected, "{states:?}");
        }
    }
}
