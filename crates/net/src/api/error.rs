//! Why a request gets nothing: a status for the protocol, a code for programs, a sentence and a
//! remedy for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use skeptron_member::report::{Cause, NotGranted, lasted};
use skeptron_member::session::SessionError;
use skeptron_member::{Fence, LockError, MemberId, NotServed};
use skeptron_views::voter::AdminRefused;
use thiserror::Error;

use crate::error::NotEntered;
use crate::messages::{Problem, TLS_ONLY};
use crate::node::DrainRefused;
use crate::service::OrderError;
use crate::shell::relay::NotRelayed;

/// Why a request gets nothing.
#[derive(Debug, Error)]
pub(super) enum RequestError {
    #[error("invalid body: {0}")]
    Malformed(String),
    #[error("the body did not arrive completely within {0} s")]
    Slow(u64),
    #[error("the body has more than {0} bytes")]
    TooLarge(usize),
    #[error("{0}")]
    Invalid(String),
    #[error("authentication required: no valid token or client certificate was sent")]
    Stranger,
    #[error("the certificate of `{0}` has no role here")]
    NoRole(String),
    #[error("`{client}` may not {what}")]
    PermissionDenied { client: String, what: String },
    #[error("this client has too many {0}")]
    Quota(&'static str),
    #[error("this connection has too many {0}")]
    FullConnection(&'static str),
    #[error("no complete request arrived within {0} s")]
    Silent(u64),
    #[error("this address requires TLS")]
    TlsOnly,
    #[error("`{0}` is not a name of this machine")]
    ForeignHost(String),
    #[error("a page of `{0}` may not use this API")]
    ForeignOrigin(String),
    #[error("{0} was restarted since this session was there")]
    OtherLife(MemberId),
    #[error("the members of this cluster are fixed; sessions cannot move to {0}")]
    NoLives(MemberId),
    #[error("{0} does not answer this node")]
    NotRelayed(MemberId),
    #[error("too many requests wait for answers of other nodes")]
    ManyRelayed,
    #[error("no such path")]
    NoSuchPath,
    #[error("this path does not support that method")]
    NoSuchMethod,
    #[error(transparent)]
    NotEntered(#[from] NotEntered),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("{}", not_granted(.lock, *.wait_ms, .why))]
    NotGranted { lock: String, wait_ms: u64, why: NotGranted },
    #[error("nobody holds `{0}`")]
    NobodyHolds(String),
    #[error("`{lock}` is held with fence {held:#}, not {given:#}")]
    HeldOtherwise { lock: String, held: Fence, given: Fence },
    #[error("the session that holds `{0}` is moving to another node")]
    HolderMoves(String),
    #[error("the same acquire of `{0}` was sent again, and the later request waits instead")]
    Replaced(String),
    #[error("too many connections")]
    TooManyConnections,
    #[error("{0}")]
    Unwell(String),
    #[error("{}", joined(.0))]
    CannotGrant(Vec<Cause>),
    #[error("the system provides no random numbers")]
    NoRandomness,
    #[error("the members of this cluster are fixed; there are no voters")]
    NoVoters,
    #[error("etcd decides who belongs to this cluster, not voters: {0}")]
    Etcd(String),
    #[error("{0} is not a member, and a voter must be one")]
    NoMember(MemberId),
    #[error("{0} is not a voter and does not know the current `drift_ppm`")]
    NoDrift(MemberId),
    #[error("{0} is embedded in a program that cannot be stopped through the API")]
    Embedded(MemberId),
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error(transparent)]
    Drain(#[from] DrainRefused),
    #[error("{0} is drained and serves no clients")]
    Drained(MemberId),
}

impl From<NotRelayed> for RequestError {
    fn from(why: NotRelayed) -> Self {
        match why {
            NotRelayed::Unreachable(member) => RequestError::NotRelayed(member),
            NotRelayed::Full => RequestError::ManyRelayed,
        }
    }
}

impl RequestError {
    /// Of an acquire that waited at `member` and was not served.
    pub(super) fn not_served(why: NotServed, member: MemberId, lock: String) -> Self {
        match why {
            NotServed::Leaving => SessionError::Lock(LockError::Leaving(member)).into(),
            NotServed::Halted => {
                RequestError::Unwell(format!("{member} cannot grant locks any more"))
            }
            NotServed::SessionOver => SessionError::Over.into(),
            NotServed::Withdrawn => SessionError::Withdrawn(lock).into(),
            NotServed::UpgradeDenied => SessionError::Lock(LockError::UpgradeDenied(lock)).into(),
            NotServed::Replaced => RequestError::Replaced(lock),
            NotServed::Deadlock => SessionError::Lock(LockError::Deadlock(lock)).into(),
        }
    }

    /// The status and the code.
    pub(super) fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            RequestError::Malformed(_) => (StatusCode::BAD_REQUEST, "malformed"),
            RequestError::Slow(_) => (StatusCode::REQUEST_TIMEOUT, "slow"),
            RequestError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
            RequestError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            RequestError::Stranger => (StatusCode::UNAUTHORIZED, "stranger"),
            RequestError::NoRole(_) | RequestError::PermissionDenied { .. } => {
                (StatusCode::FORBIDDEN, "permission-denied")
            }
            RequestError::Quota(_) | RequestError::FullConnection(_) => {
                (StatusCode::TOO_MANY_REQUESTS, "quota")
            }
            RequestError::Silent(_) => (StatusCode::REQUEST_TIMEOUT, "slow"),
            RequestError::TlsOnly => (StatusCode::BAD_REQUEST, TLS_ONLY),
            RequestError::ForeignHost(_) => (StatusCode::FORBIDDEN, "foreign-host"),
            RequestError::ForeignOrigin(_) => (StatusCode::FORBIDDEN, "foreign-origin"),
            RequestError::NoSuchPath => (StatusCode::NOT_FOUND, "no-such-path"),
            RequestError::NoSuchMethod => (StatusCode::METHOD_NOT_ALLOWED, "no-such-method"),
            RequestError::Session(error) => match error {
                SessionError::Over => (StatusCode::GONE, "session-over"),
                SessionError::Withdrawn(_) => (StatusCode::CONFLICT, "withdrawn"),
                SessionError::NotHeld(_) => (StatusCode::NOT_FOUND, "not-held"),
                SessionError::OtherFence { .. } => (StatusCode::CONFLICT, "other-fence"),
                SessionError::Lost(_) => (StatusCode::CONFLICT, "lost"),
                SessionError::NotLeading(_) => (StatusCode::CONFLICT, "not-leading"),
                SessionError::NotExclusive(_) => (StatusCode::CONFLICT, "not-exclusive"),
                SessionError::Lock(LockError::UpgradeDenied(_)) => {
                    (StatusCode::CONFLICT, "upgrade-denied")
                }
                SessionError::Lock(LockError::NotHeld(_)) => (StatusCode::CONFLICT, "lost"),
                SessionError::Lock(LockError::Deadlock(_)) => (StatusCode::CONFLICT, "deadlock"),
                SessionError::Lock(LockError::Name(_))
                | SessionError::LongValue(_)
                | SessionError::BringsTooMany(_)
                | SessionError::NeverGranted { .. } => (StatusCode::BAD_REQUEST, "invalid"),
                SessionError::Moving(_)
                | SessionError::Behind(_)
                | SessionError::Lock(LockError::Behind(_)) => {
                    (StatusCode::SERVICE_UNAVAILABLE, "moving")
                }
                SessionError::Lock(LockError::Leaving(_)) | SessionError::Closing(_) => {
                    (StatusCode::SERVICE_UNAVAILABLE, "leaving")
                }
                SessionError::Lock(LockError::Halted { .. }) => {
                    (StatusCode::SERVICE_UNAVAILABLE, "unwell")
                }
                SessionError::Lock(_) | SessionError::TooMany(_) => {
                    (StatusCode::SERVICE_UNAVAILABLE, "full")
                }
            },
            RequestError::OtherLife(_) => (StatusCode::MISDIRECTED_REQUEST, "other-life"),
            RequestError::NotRelayed(_) => (StatusCode::SERVICE_UNAVAILABLE, "unreachable"),
            RequestError::ManyRelayed => (StatusCode::SERVICE_UNAVAILABLE, "full"),
            RequestError::NoLives(_) => (StatusCode::CONFLICT, "fixed"),
            RequestError::NotGranted { why, .. } if why.is_outage() => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
            }
            RequestError::NotGranted { .. } => (StatusCode::CONFLICT, "not-acquired"),
            RequestError::NobodyHolds(_) => (StatusCode::NOT_FOUND, "not-held"),
            RequestError::HeldOtherwise { .. } => (StatusCode::CONFLICT, "other-fence"),
            RequestError::HolderMoves(_) => (StatusCode::SERVICE_UNAVAILABLE, "moving"),
            RequestError::Replaced(_) => (StatusCode::CONFLICT, "replaced"),
            RequestError::TooManyConnections => (StatusCode::SERVICE_UNAVAILABLE, "full"),
            RequestError::Unwell(_)
            | RequestError::CannotGrant(_)
            | RequestError::NotEntered(_) => (StatusCode::SERVICE_UNAVAILABLE, "unwell"),
            RequestError::NoRandomness => (StatusCode::SERVICE_UNAVAILABLE, "no-randomness"),
            RequestError::NoVoters | RequestError::Etcd(_) => (StatusCode::CONFLICT, "no-voters"),
            RequestError::NoMember(_) => (StatusCode::CONFLICT, "refused"),
            RequestError::NoDrift(_) => (StatusCode::BAD_REQUEST, "invalid"),
            RequestError::Embedded(_) => (StatusCode::CONFLICT, "embedded"),
            RequestError::Drain(DrainRefused::Fixed(_)) => (StatusCode::CONFLICT, "fixed"),
            RequestError::Drain(_) => (StatusCode::CONFLICT, "refused"),
            RequestError::Drained(_) => (StatusCode::SERVICE_UNAVAILABLE, "leaving"),
            RequestError::Order(OrderError::NoLeader) => (StatusCode::GATEWAY_TIMEOUT, "no-leader"),
            RequestError::Order(OrderError::Refused(why)) => match why {
                AdminRefused::NotLeader(_)
                | AdminRefused::Busy
                | AdminRefused::Leads(_)
                | AdminRefused::TooSoon(_) => (StatusCode::CONFLICT, "busy"),
                AdminRefused::Settings => (StatusCode::BAD_REQUEST, "invalid"),
                AdminRefused::AlreadyVoter(_)
                | AdminRefused::NotVoter(_)
                | AdminRefused::NotMember(_)
                | AdminRefused::NoFolder(_)
                | AdminRefused::OnlyVoter(_) => (StatusCode::CONFLICT, "refused"),
            },
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            RequestError::Malformed(_) | RequestError::NoSuchPath | RequestError::NoSuchMethod => {
                "GET /openapi.json says which paths there are and what they take"
            }
            RequestError::Slow(_) => "send it at once",
            RequestError::TooLarge(_) => "send less",
            RequestError::Invalid(_) => "change it and try again",
            RequestError::Stranger => {
                "send `Authorization: Bearer TOKEN` with the API's token, or use a client certificate"
            }
            RequestError::NoRole(_) | RequestError::PermissionDenied { .. } => {
                "use another certificate or token, or change `[[api.roles]]` at the node"
            }
            RequestError::Quota(_) => "release some, or raise `api.quota_…` at the node",
            RequestError::FullConnection(_) => "open another connection",
            RequestError::Silent(_) => "send the request immediately after connecting",
            RequestError::TlsOnly => {
                "use https:// instead of http://, with the cluster's certificates"
            }
            RequestError::ForeignHost(_) => "use 127.0.0.1 or localhost",
            RequestError::ForeignOrigin(_) => {
                "send the request from a program or from a page of this node"
            }
            RequestError::Session(error) => match error {
                SessionError::Over => "its locks are lost; open another with POST /v1/sessions",
                SessionError::Withdrawn(_) => "give the next acquire another `request`",
                SessionError::NotHeld(_) => "GET /v1/sessions/{session} shows what it holds",
                SessionError::OtherFence { .. } => {
                    "release with the fence that the acquire was answered with"
                }
                SessionError::Lost(_) => {
                    "check the fence at the protected resource, and acquire again"
                }
                SessionError::NotLeading(_) => "acquire it with POST /v1/campaign to lead",
                SessionError::NotExclusive(_) => "release it, and acquire it with that `mode`",
                SessionError::Lock(LockError::UpgradeDenied(_)) => {
                    "release it, so that the other upgrade can continue, and acquire it as exclusive"
                }
                SessionError::Lock(LockError::Deadlock(_)) => {
                    "release its locks, and acquire locks in the order of their names"
                }
                SessionError::Lock(LockError::NotHeld(_)) => {
                    "check the fence at the protected resource, and acquire again"
                }
                SessionError::Lock(LockError::Name(_))
                | SessionError::LongValue(_)
                | SessionError::BringsTooMany(_)
                | SessionError::NeverGranted { .. } => "change it and try again",
                SessionError::Lock(LockError::Leaving(_) | LockError::Halted { .. })
                | SessionError::Closing(_) => {
                    "move the session to another node: POST /v1/sessions/{session}/move there"
                }
                SessionError::Moving(_)
                | SessionError::Behind(_)
                | SessionError::Lock(LockError::Behind(_)) => "try again soon",
                SessionError::Lock(_) => "use another node, or try again later",
                SessionError::TooMany(_) => "end some, or raise `api.sessions`",
            },
            RequestError::ManyRelayed => "try again later, or use another node",
            RequestError::OtherLife(_) | RequestError::NotRelayed(_) => {
                "POST /v1/sessions/{session}/move at any node, while the session is valid"
            }
            RequestError::NoLives(_) => "run the nodes with `voters`",
            RequestError::NobodyHolds(_) => "`skeptron locks` (GET /v1/locks) shows what is held",
            RequestError::HeldOtherwise { .. } => {
                "another client holds it now; to break that lock, repeat with its current fence"
            }
            RequestError::HolderMoves(_) => "try again in a few seconds",
            RequestError::NotGranted { why, .. } if why.is_outage() => {
                "wait longer with `wait_ms`; `skeptron status` (GET /v1/status) shows the members and links"
            }
            RequestError::NotGranted { .. } => "try again, or wait longer with `wait_ms`",
            RequestError::Replaced(_) => "wait for the answer to the later request",
            RequestError::TooManyConnections => "try again later, or raise `api.connections`",
            RequestError::NotEntered(_) => "use another node, or try again later",
            RequestError::Unwell(_) | RequestError::CannotGrant(_) => {
                "`skeptron status` (GET /v1/status) shows details"
            }
            RequestError::NoRandomness => "check the random number generator of the machine",
            RequestError::NoVoters => "run its nodes by `skeptron node`, with `voters`",
            RequestError::Etcd(_) => {
                "a crashed member is removed after its lease, and leases change only while all nodes are \
                 stopped: see docs/etcd.md"
            }
            RequestError::NoMember(_) => "start it first, and let it join the cluster",
            RequestError::NoDrift(_) => "send it to a voter, or include `drift_ppm`",
            RequestError::Embedded(_) => "stop that program",
            RequestError::Drain(DrainRefused::Fixed(_)) => "run the nodes with `voters`",
            RequestError::Drain(DrainRefused::Last(_)) => {
                "start another node first, or stop this one: `skeptron leave`"
            }
            RequestError::Drain(DrainRefused::Guards { .. }) => {
                "let that program release them first"
            }
            RequestError::Drain(DrainRefused::Ending(_)) => "use another node",
            RequestError::Drained(_) => {
                "use another node, or let it serve again: `skeptron drain --undo`"
            }
            RequestError::Order(OrderError::NoLeader) => {
                "look at `skeptron voters` and at `skeptron status` of each voter, and start those \
                 that are down"
            }
            RequestError::Order(OrderError::Refused(_)) if self.kind().1 == "busy" => {
                "try again soon"
            }
            RequestError::Order(OrderError::Refused(AdminRefused::NoFolder(_))) => {
                "or choose another member"
            }
            RequestError::Order(OrderError::Refused(AdminRefused::Settings)) => {
                "change it and try again"
            }
            RequestError::Order(_) => {
                "`skeptron voters` shows who votes, `skeptron members` who is a member"
            }
        }
    }

    /// What the body says.
    pub(super) fn problem(&self) -> Problem {
        let (_, code) = self.kind();
        let (error, remedy) = (self.to_string(), self.remedy().to_string());
        let why = match self {
            RequestError::NotGranted { why, .. } => Some(why.clone()),
            RequestError::CannotGrant(causes) => Some(NotGranted::because(causes.clone())),
            _ => None,
        };
        let why = why.map(Box::new);
        Problem { code: code.to_string(), error, remedy, nodes: Vec::new(), why }
    }
}

fn not_granted(lock: &str, wait_ms: u64, why: &NotGranted) -> String {
    match wait_ms {
        0 => format!("`{lock}` was not acquired at once: {why}"),
        _ => format!("timed out after {} waiting for `{lock}`: {why}", lasted(wait_ms)),
    }
}

fn joined(causes: &[Cause]) -> String {
    causes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Why a client gets nothing. Goes with the answer, too, for those who count.
#[derive(Clone, Debug)]
pub struct ErrorResponse {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) problem: Box<Problem>,
}

impl From<RequestError> for ErrorResponse {
    fn from(refusal: RequestError) -> Self {
        let (status, code) = refusal.kind();
        ErrorResponse { status, code, problem: Box::new(refusal.problem()) }
    }
}

impl ErrorResponse {
    /// For programs: one of the codes of `docs/api.md`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// For people.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.problem.error
    }

    /// Whether it is about who asks, or how much: whoever asks on is slowed.
    pub(super) fn is_slowed(&self) -> bool {
        is_slowed(self.code)
    }
}

pub(super) fn is_slowed(code: &str) -> bool {
    ["stranger", "permission-denied", "foreign-host", "foreign-origin", "quota", "full"]
        .contains(&code)
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        let refused = ErrorResponse::from(self);
        let status = refused.status;
        let mut response = (status, Json(&refused.problem)).into_response();
        response.extensions_mut().insert(refused);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
