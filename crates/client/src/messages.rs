//! What goes over the API, as the server and the client write and read it.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skeptron_types::report::{Cause, Drain, NotGranted};
use skeptron_types::session::{Held, MovedHold, SessionId};
use skeptron_types::{Fence, MemberId, Mode};

/// An observer of an election hears something at least as often.
pub const HEARD_EVERY: Duration = Duration::from_secs(2);

/// The header of a request that is to be passed on to a life of another node: `NODE-LIFE`.
pub const RELAY: &str = "skeptron-relay";

/// The code of the refusal where only TLS is spoken.
pub const TLS_ONLY: &str = "tls-only";

/// The longest name that an owner may give itself, in bytes.
pub const MOST_OWNER_BYTES: usize = 200;

/// `POST /v1/sessions`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// How long after its last sign of life the session ends.
    pub ttl_ms: u64,
    /// What its holder is called in listings.
    #[serde(default)]
    pub owner: String,
}

/// The answer to [`OpenSession`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionOpened {
    pub session: SessionId,
    pub ttl_ms: u64,
    /// For how long the session is certainly valid without another sign of life.
    pub valid_ms: u64,
    /// Where it is, to be named when it moves; none if the members are fixed, so that it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SessionPlace>,
    #[serde(flatten)]
    pub cluster: ClusterInfo,
}

/// What a client should know of the cluster, with every answer to a sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// The epoch of the node's view.
    #[serde(default)]
    pub epoch: u64,
    /// Where some of the other members serve clients, unless the client knows them from this epoch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// The bound on every clock's rate error, in parts per million; none if the node does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<u32>,
}

/// One life of a node, as a session that moves away names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionPlace {
    pub node: MemberId,
    /// Which of its lives, in hexadecimal.
    pub life: Incarnation,
    /// A view in which it was a member.
    pub epoch: u64,
}

/// Which life of a node: 64 bits in hexadecimal, which not every reader of JSON can read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incarnation(pub u64);

impl Serialize for Incarnation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Incarnation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_plain = text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let read = is_plain.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        read.map(Incarnation).ok_or_else(|| D::Error::custom("a life has 16 hexadecimal digits"))
    }
}

/// `POST /v1/sessions/{session}/move`, at the node that the session moves to. The answer is [`Moved`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveSession {
    /// Where it was.
    pub from: SessionPlace,
    /// Larger than at every earlier try to move this session to any node.
    pub number: u64,
    pub ttl_ms: u64,
    #[serde(default)]
    pub owner: String,
    /// Acquires with numbers up to this come to nothing any more; what still waits gets a new number.
    #[serde(default)]
    pub requests: u64,
    /// What it still holds by the client's own clock.
    #[serde(default)]
    pub held: Vec<MovedHold>,
}

/// The answer to [`MoveSession`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moved {
    /// For how long this node lets the session live without another sign of life.
    pub valid_ms: u64,
    /// The life where it was may still act. Until it is gone, the client may believe no longer than until
    /// its TTL after its last sign of life there.
    pub pending: bool,
    /// What the session held and has lost.
    pub lost: Vec<Held>,
    /// Where it is now.
    pub place: SessionPlace,
    /// It has stayed where it was, which this node can reach: ask here, with the place as `skeptron-relay`.
    #[serde(default)]
    pub relayed: bool,
    #[serde(flatten)]
    pub cluster: ClusterInfo,
}

/// `POST /v1/sessions/{session}/moved`, at a node that a session has left.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftBehind {
    /// The number of the move that had brought it there; 0 if it was opened there.
    pub number: u64,
}

/// The answer to `POST /v1/sessions/{session}/keep-alive`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptAlive {
    /// For how long the session is certainly valid without another sign of life: no longer than its
    /// TTL, and than the node itself may act.
    pub valid_ms: u64,
    /// Whether the session moves here and the life where it was may still act.
    #[serde(default)]
    pub pending: bool,
    /// What the session held and the node has lost since.
    pub lost: Vec<Held>,
    #[serde(flatten)]
    pub cluster: ClusterInfo,
}

/// The answer to `GET /v1/sessions/{session}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    pub session: SessionId,
    pub owner: String,
    pub ttl_ms: u64,
    /// By name.
    pub held: Vec<Held>,
    /// The names of the locks it waits for, sorted.
    pub waiting: Vec<String>,
}

/// `POST /v1/acquire`. The answer is [`Held`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    pub session: SessionId,
    pub lock: String,
    /// None is for ever, 0 only if nobody has it.
    #[serde(default)]
    pub wait_ms: Option<u64>,
    /// A number that the session gives to this acquire alone: with the same number it is the same
    /// acquire tried again, with another one it waits until the first is released.
    #[serde(default)]
    pub request: Option<u64>,
    /// How many others it tolerates: `exclusive`, `shared` or `permits:K`.
    #[serde(default)]
    pub mode: Mode,
    /// The fence of an entry that the session holds with others and that is to be exclusive: the same entry
    /// with a new fence. While that waits, and if it is refused, the session holds it as before.
    #[serde(default)]
    pub upgrade: Option<Fence>,
}

impl Acquire {
    /// Of an exclusive entry.
    #[must_use]
    pub fn exclusive(
        session: SessionId,
        lock: String,
        wait_ms: Option<u64>,
        request: Option<u64>,
    ) -> Self {
        Acquire { session, lock, wait_ms, request, mode: Mode::EXCLUSIVE, upgrade: None }
    }
}

/// `POST /v1/downgrade`: an exclusive entry tolerates others from now on. The answer is [`Downgraded`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Downgrade {
    pub session: SessionId,
    pub lock: String,
    pub fence: Fence,
    /// How many others: `shared` or `permits:K`.
    pub mode: Mode,
}

/// The answer to [`Downgrade`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Downgraded {
    pub lock: String,
    /// As before.
    pub fence: Fence,
    pub mode: Mode,
}

/// `POST /v1/release`: of the entry with that fence, or of whatever came of that acquire.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    pub session: SessionId,
    pub lock: String,
    #[serde(default)]
    pub fence: Option<Fence>,
    #[serde(default)]
    pub request: Option<u64>,
}

/// The answer to [`Release`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Released {
    pub lock: String,
    /// Whether anything was held.
    pub released: bool,
}

/// `POST /v1/campaign`. The answer is [`Elected`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    pub session: SessionId,
    pub name: String,
    /// What observers are shown.
    #[serde(default)]
    pub value: String,
    /// None is for ever, 0 only if nobody leads.
    #[serde(default)]
    pub wait_ms: Option<u64>,
    /// As that of [`Acquire`].
    #[serde(default)]
    pub request: Option<u64>,
}

/// The answer to [`Campaign`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Elected {
    pub name: String,
    /// The fence of the entry.
    pub term: Fence,
}

/// `POST /v1/proclaim`. The answer is [`NewValue`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proclaim {
    pub session: SessionId,
    pub name: String,
    pub term: Fence,
    pub value: String,
    /// A number of the client's choice, larger than that of each earlier value of the term, so that the
    /// same may be sent again; the next one without it.
    #[serde(default)]
    pub version: Option<u64>,
}

/// The answer to [`Proclaim`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewValue {
    pub name: String,
    pub version: u64,
}

/// `POST /v1/resign`: from that term, or from whatever came of that campaign.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resign {
    pub session: SessionId,
    pub name: String,
    #[serde(default)]
    pub term: Option<Fence>,
    #[serde(default)]
    pub request: Option<u64>,
}

/// The answer to [`Resign`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Resigned {
    pub name: String,
    /// Whether it led.
    pub resigned: bool,
}

/// The answer to `GET /health`, `/ready` and `/live`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    pub node: MemberId,
    pub well: bool,
    /// Why not all locks can be granted, if so.
    pub causes: Vec<Cause>,
}

/// `POST /v1/voters`: an order to the voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// A member becomes a voter, when it has the log.
    AddVoter {
        /// Who.
        member: MemberId,
    },
    /// A voter votes no more.
    RemoveVoter {
        /// Who.
        member: MemberId,
    },
    /// One voter takes the place of another; of itself if its log is lost.
    ReplaceVoter {
        /// Who goes.
        old: MemberId,
        /// Who comes.
        new: MemberId,
    },
    /// A member is removed at once, without waiting for its lease: only if it is certainly off.
    RemoveMember {
        /// Who.
        member: MemberId,
    },
    /// Leases have this length from now on.
    Lease {
        /// In milliseconds.
        lease_ms: u64,
        /// The bound on clocks' rates, in parts per million; as it is without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift_ppm: Option<u32>,
    },
}

/// The answer to [`Order`]: it was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ordered {
    /// The seat of the new voter, if there is one.
    pub seat: Option<u64>,
}

/// The answer to `POST /v1/leave`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    pub node: MemberId,
    pub leaving: bool,
}

/// `POST /v1/unlock`: an administrator breaks a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unlock {
    /// Which lock.
    pub lock: String,
    /// The fence of the entry that is to end.
    pub fence: Fence,
    /// Why, for the audit log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether others may have it at once, although its holder may not know yet.
    #[serde(default)]
    pub now: bool,
}

/// The answer to [`Unlock`]: whoever held the lock has lost it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlocked {
    /// Which lock.
    pub lock: String,
    /// The fence of the entry.
    pub fence: Fence,
    /// Where it was held.
    pub node: MemberId,
    /// Whether others may have it already; else in `believed_ms`, or when its holder gives it back.
    pub handed_on: bool,
    /// For how long its former holder may still believe to hold it.
    pub believed_ms: u64,
}

/// `POST /v1/drain`: the node serves no clients, or serves them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainOrder {
    /// Serve again.
    #[serde(default)]
    pub undo: bool,
}

/// The answer to `POST /v1/drain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    /// Which node.
    pub node: MemberId,
    /// How far it is; none if it serves clients.
    pub drain: Option<Drain>,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// For programs.
    pub code: String,
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub remedy: String,
    /// If this node cannot grant: where members serve clients that may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Why a lock was not granted, or why none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Box<NotGranted>>,
}

impl Problem {
    /// Whether locks cannot be granted now, by the node or by the cluster.
    pub fn is_outage(&self) -> bool {
        matches!(self.code.as_str(), "unwell" | "unavailable" | "leaving")
    }
}
