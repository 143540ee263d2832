//! A live cluster: nodes, links, locks, and what happens to one lock. Times are milliseconds.

use serde::{Deserialize, Serialize};
use skeptron_net::Fence;
use ts_rs::TS;

/// A cluster as it is now.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClusterView {
    /// Its name.
    pub name: String,
    /// The algorithm for locks that no prefix says otherwise of.
    pub algorithm: String,
    /// Algorithms by prefix of the lock's name.
    pub prefixes: Vec<(String, String)>,
    /// Whether locks may be taken from the page.
    pub may_try: bool,
    /// Whether members may be killed, restarted, paused and cut off from the page.
    pub may_act: bool,
    /// Its nodes and links.
    pub status: ClusterStatus,
    /// Its locks.
    pub locks: ClusterLocks,
}

/// Nodes and links, and what they have sent.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClusterStatus {
    /// When, since the stream began.
    pub at: f64,
    /// All members.
    pub nodes: Vec<ClusterNode>,
    /// From each node that can be looked into to each other one.
    pub links: Vec<ClusterLink>,
    /// The epoch of the latest view.
    pub epoch: u64,
    /// Who belongs to it.
    pub members: Vec<usize>,
    /// Who leads the voters, if there are any and that is known.
    pub leader: Option<usize>,
    /// Who decides who belongs to the cluster; nobody if that never changes.
    pub voters: Vec<usize>,
}

/// A member.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClusterNode {
    /// Which.
    pub node: usize,
    /// Where it listens for other nodes.
    pub address: String,
    /// Whether it takes part.
    pub state: MemberState,
    /// What it says of itself, if it can be looked into from here.
    pub own: Option<OwnStatus>,
}

/// How a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// It belongs to the latest view.
    Member,
    /// It runs, but does not belong to the latest view yet, or no longer.
    Entering,
    /// It was killed from here.
    Killed,
    /// It stands still.
    Paused,
    /// It is kept from hearing others, and others from hearing it.
    Cut,
    /// It cannot go on, and nobody goes on without it.
    Halted,
}

/// What a node says of itself.
#[derive(Clone, Debug, Serialize, TS)]
pub struct OwnStatus {
    /// Where it answers clients.
    pub api: Vec<String>,
    /// The view's epoch.
    pub epoch: u64,
    /// For how long it may still act on its own; none if it needs nobody's word.
    pub lease: Option<u64>,
    /// For how long it has been up.
    pub up: u64,
    /// Whether it takes no more requests.
    pub leaving: bool,
    /// Why it grants nothing any more, if so.
    pub halted: Option<String>,
    /// Whom it has not met; locks whose home it is are not granted before.
    pub awaited: Vec<usize>,
    /// Locks held at it.
    pub held: u64,
    /// Requests waiting at it.
    pub waiters: u64,
    /// Entries since it started.
    pub entries: u64,
    /// Messages since it started, by kind.
    pub messages: Vec<MessageTally>,
}

/// How many messages of one kind.
#[derive(Clone, Debug, Serialize, TS)]
pub struct MessageTally {
    /// Of which algorithm.
    pub algorithm: String,
    /// Its name in the paper.
    pub label: String,
    /// How many were sent.
    pub sent: u64,
    /// How many were taken.
    pub received: u64,
}

/// A link as one end sees it.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClusterLink {
    /// Who says so.
    pub from: usize,
    /// The other end.
    pub to: usize,
    /// Whether it is connected.
    pub up: bool,
    /// Why not, if that is known.
    pub trouble: Option<String>,
    /// How often it has been connected.
    pub connects: u64,
    /// Messages sent and not yet acknowledged.
    pub unacknowledged: u64,
}

/// The locks in use.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct ClusterLocks {
    /// When, since the stream began.
    pub at: f64,
    /// Some of them, by name.
    pub locks: Vec<ClusterLock>,
    /// How many there are.
    pub total: usize,
    /// Members that did not answer: what is held there is not listed.
    pub silent: Vec<usize>,
    /// What was asked for from the page.
    pub tries: Vec<ClusterTry>,
}

/// A lock in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct ClusterLock {
    /// Its name.
    pub name: String,
    /// The algorithm that guards it.
    pub algorithm: String,
    /// Whoever holds it.
    pub holder: Option<LockHolder>,
    /// Where somebody waits for it.
    pub waiting: Vec<LockQueue>,
}

/// Whoever holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct LockHolder {
    /// At which node.
    pub node: usize,
    /// The fence of the entry, as digits.
    #[ts(type = "string")]
    pub fence: Fence,
    /// For how long.
    pub held: u64,
    /// What it calls itself; empty if it has not said.
    pub owner: String,
}

/// Who waits for a lock at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
pub struct LockQueue {
    /// At which node.
    pub node: usize,
    /// How many.
    pub waiters: u32,
}

/// A lock that was asked for from the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct ClusterTry {
    /// At which node.
    pub node: usize,
    /// Which lock.
    pub lock: String,
    /// The fence of the entry, as digits; none while it waits.
    #[ts(type = "string | null")]
    pub fence: Option<Fence>,
}

/// Something that happened to the chosen lock at a node.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct LockEvent {
    /// When, since the stream began.
    pub at: f64,
    /// Where.
    pub node: usize,
    /// What.
    pub what: LockChange,
    /// The fence of the entry, as digits, where there is one.
    #[ts(type = "string | null")]
    pub fence: Option<Fence>,
}

/// What can happen to a lock at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum LockChange {
    /// Somebody asks for it.
    Requested,
    /// Somebody has it now.
    Granted,
    /// It was let go of.
    Released,
    /// Somebody waits no longer.
    Withdrawn,
    /// It was lost.
    Lost,
}

/// A message of the chosen lock, at one of its ends.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct MessageEvent {
    /// When, since the stream began.
    pub at: f64,
    /// Its number on the link between these two: the same at both ends.
    pub number: u64,
    /// Who sent it.
    pub from: usize,
    /// Who takes it.
    pub to: usize,
    /// Its name in the paper.
    pub label: String,
    /// What is written beside it; may be empty.
    pub payload: String,
    /// Whether it was taken; sent otherwise.
    pub received: bool,
}

/// Events that were left out because there were too many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, TS)]
pub struct Lagged {
    /// When that was noticed, since the stream began.
    pub at: f64,
    /// How many.
    pub missed: u64,
}

/// Something that happened to the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct ClusterEvent {
    /// When, since the stream began.
    pub at: f64,
    /// At which node, or to which.
    pub node: usize,
    /// What.
    pub what: ClusterChange,
    /// The epoch of the view, where one is meant.
    pub epoch: Option<u64>,
    /// Who belongs to that view, as far as it is still known.
    pub members: Vec<usize>,
    /// Why, where that is to be told.
    pub why: Option<String>,
}

/// What can happen to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum ClusterChange {
    /// The node was killed from here.
    Killed,
    /// It was started again.
    Restarted,
    /// It stands still from then on.
    Paused,
    /// It goes on.
    Resumed,
    /// It was cut off from others.
    Cut,
    /// It hears the others again.
    Healed,
    /// A view begins at the node.
    View,
    /// All members of the view have announced themselves to the node.
    Met,
    /// What the node held is lost; it begins anew, if it can.
    Halted,
}

/// Does something to a member.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ClusterAct {
    /// To which node.
    pub node: usize,
    /// What.
    pub act: ClusterActKind,
}

/// What can be done to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum ClusterActKind {
    /// End it, telling nobody.
    Kill,
    /// Start it again.
    Restart,
    /// Let it stand still.
    Pause,
    /// Let it go on.
    Resume,
    /// Keep it from all others.
    Cut,
    /// Let it back.
    Heal,
}

/// Asks for a lock from the page.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct TryAcquire {
    /// At which node.
    pub node: usize,
    /// Which lock.
    pub lock: String,
    /// Let go of it by itself after so long.
    pub hold: Option<u64>,
}

/// Gives a lock back that was asked for from the page.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct TryRelease {
    /// At which node.
    pub node: usize,
    /// Which lock.
    pub lock: String,
}
