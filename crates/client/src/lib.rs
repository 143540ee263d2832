//! A client of Skeptron nodes: locks and elections for programs that run anywhere.
//!
//! [`Client::connect`] opens a session at a node, keeps it alive, and moves it to another node when that
//! one fails. What the session holds is a [`Guard`], which knows by the client's own clock for how long
//! it is certainly valid.

mod connection;
mod endpoint;
mod grant;
mod guards;
mod nodes;
mod observe;
mod pool;
mod reentrant;
mod session;
pub mod tls;

// What the nodes' side needs as well (`skeptron-net`); no part of the client's interface.
#[doc(hidden)]
pub mod eager_poll;
#[doc(hidden)]
pub mod env;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod messages;
#[doc(hidden)]
pub mod native;
#[doc(hidden)]
pub mod socket;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde::de::DeserializeOwned;
use thiserror::Error;

use connection::{CallError, Caller, Unanswered, joined};
pub use endpoint::{Endpoint, InvalidEndpoint, is_loopback};
use grant::Wish;
pub use grant::{Guard, ReleaseError, UpgradeError};
pub use guards::Guards;
use messages::{DrainOrder, Leaving};
pub use messages::{Drained, Order, Ordered, Unlock, Unlocked};
use native::escaped;
use nodes::Nodes;
pub use observe::Observer;
pub use pool::ClientPool;
pub use reentrant::Reentrant;
use session::{ANSWER_WITHIN, Session, within};
use skeptron_types::election::Leadership;
use skeptron_types::report::{Cause, LockListing, NotGranted, SessionListing, Status};
// What the functions here return, so that a program needs no second crate.
pub use skeptron_types::{Fence, MemberId, Mode, UnknownMode, election, report};
use tls::Identity;

/// A mutex is poisoned by a panic under it; where this is said nothing under it can panic.
const UNPOISONED: &str = "nothing panics under this lock";

/// What a TTL is where nothing else is said.
const USUAL_TTL: Duration = Duration::from_secs(10);

/// How to reach a node, and as whom.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Tried in order.
    pub endpoints: Vec<Endpoint>,
    /// The token of the API, if it asks for one.
    pub token: Option<String>,
    /// The client's certificate, and whom to believe, for `https`.
    pub identity: Option<Identity>,
    /// How long after its last sign of life a session ends.
    pub ttl: Duration,
    /// What the holder is called in listings.
    pub owner: String,
    /// Whether a session may also go to nodes that its node names, not only to `endpoints`.
    pub discovery: bool,
    /// How sessions and observers speak to nodes.
    pub protocol: Protocol,
}

/// How sessions and observers speak to nodes. Listings and orders are asked for by HTTP in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Natively, and by HTTP where that is not spoken.
    #[default]
    Auto,
    /// Only by HTTP.
    Http,
    /// Only natively.
    Native,
}

/// A session with a node. Clones are the same session. It ends when they and all guards are dropped,
/// or when its process dies; then its locks are given back.
#[derive(Clone, Debug)]
pub struct Client {
    session: Arc<Session>,
}

/// Why a client gets nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// That is no endpoint.
    #[error(transparent)]
    Endpoint(#[from] InvalidEndpoint),
    /// The token cannot be sent.
    #[error("the token contains characters that are not allowed in an HTTP header")]
    Token,
    /// There are no certificates.
    #[error("https requires the certificates of the cluster; create them with `skeptron tls init`")]
    NoIdentity,
    /// The certificates are invalid.
    #[error("invalid certificates: {0}")]
    Identity(String),
    /// No endpoint answers.
    #[error("cannot reach a node: {0}")]
    Unreachable(String),
    /// Whoever answers does not accept this client's certificate, or the client not theirs, or only one
    /// side speaks TLS: asking again does not help.
    #[error("cannot use a node: {0}")]
    Mismatched(String),
    /// The node says no.
    #[error("rejected by the node: {0}")]
    Refused(String),
    /// The node says no, but will not always.
    #[error("rejected by the node: {0}")]
    Busy(String),
    /// The node says that it cannot grant now, or that the cluster cannot.
    #[error("{error}")]
    Unavailable {
        /// What it says.
        error: String,
        /// The same as data, as far as it says.
        causes: Vec<Cause>,
    },
    /// Another entry upgrades, and waits for this one.
    #[error("{0}")]
    UpgradeDenied(String),
    /// Whoever holds the lock waits for what this session holds.
    #[error("{0}; release its locks, and acquire locks in the order of their names")]
    Deadlock(String),
    /// The session has ended.
    #[error("the session has ended; its locks are lost")]
    SessionOver,
}

impl ClientError {
    /// None of these answered.
    fn unanswered(all: &[Unanswered]) -> Self {
        match all {
            [] => ClientError::Unreachable("no endpoint was given".to_string()),
            // Only if all say so: one that is down may be right, and come back.
            all if all.iter().all(Unanswered::lasts) => ClientError::Mismatched(joined(all)),
            _ => ClientError::Unreachable(joined(all)),
        }
    }
}

impl ClientConfig {
    /// At this endpoint, without a token or certificates, with a TTL of ten seconds.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        ClientConfig {
            endpoints: vec![endpoint],
            token: None,
            identity: None,
            ttl: USUAL_TTL,
            owner: String::new(),
            discovery: true,
            protocol: Protocol::Auto,
        }
    }
}

impl Client {
    /// Opens a session at the first endpoint that answers, and keeps it alive until dropped.
    ///
    /// # Errors
    /// If none answers, or it refuses.
    pub async fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let nodes = Arc::new(Nodes::new(&config)?);
        Ok(Client { session: Session::open(nodes, &config.owner).await? })
    }

    /// Opens another session with the same configuration, which uses the connections of this one: however
    /// many there are, one native connection to each node carries them all.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn another(&self, owner: &str) -> Result<Self, ClientError> {
        Ok(Client { session: Session::open(self.session.nodes(), owner).await? })
    }

    /// Waits for the lock. The future may be dropped at any time.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        loop {
            // Without a time limit it is refused only if the node made one up.
            if let Ok(guard) = self.acquire(name, Mode::EXCLUSIVE, None).await? {
                return Ok(guard);
            }
        }
    }

    async fn acquire(
        &self,
        name: &str,
        mode: Mode,
        wait: Option<Duration>,
    ) -> Result<Result<Guard, NotGranted>, ClientError> {
        grant::acquire(&self.session, (name, Wish::Enter(mode)), wait).await
    }

    /// Waits for an entry of this mode, beside others that tolerate it; no longer than `wait`, if that is
    /// given. If it was not granted in that time, says who holds it, or why the cluster cannot grant it.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn enter(
        &self,
        name: &str,
        mode: Mode,
        wait: Option<Duration>,
    ) -> Result<Result<Guard, NotGranted>, ClientError> {
        loop {
            // Without a time limit it is refused only if the node made one up.
            let entered = self.acquire(name, mode, wait).await?;
            if entered.is_ok() || wait.is_some() {
                return Ok(entered);
            }
        }
    }

    /// Waits for all of these locks, in the order of their names, so that nobody who does the same waits for
    /// another one for ever. Either all are held in the end or none; `wait` is for all of them together.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn enter_all(
        &self,
        names: &[&str],
        mode: Mode,
        wait: Option<Duration>,
    ) -> Result<Result<Guards, NotGranted>, ClientError> {
        let deadline = wait.map(|wait| env::now().after(wait));
        let names: BTreeSet<&str> = names.iter().copied().collect();
        let mut guards = Guards::default();
        for name in names {
            let left = deadline.map(env::until);
            match self.enter(name, mode, left).await? {
                Ok(guard) => guards.push(guard),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(guards))
    }

    /// Waits to lead an election, with a value that observers are shown; no longer than `wait`, if that is
    /// given. The guard's fence is the term; releasing it resigns, and [`Guard::proclaim`] changes the value.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn campaign(
        &self,
        name: &str,
        value: &str,
        wait: Option<Duration>,
    ) -> Result<Option<Guard>, ClientError> {
        granted_or_held(name, self.campaign_or_why(name, value, wait).await?)
    }

    /// The same; if it was not elected in that time, says who leads, or why the cluster cannot elect.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn campaign_or_why(
        &self,
        name: &str,
        value: &str,
        wait: Option<Duration>,
    ) -> Result<Result<Guard, NotGranted>, ClientError> {
        loop {
            // Without a time limit it is refused only if the node made one up.
            let wish = Wish::Lead(value.to_string());
            let campaign = grant::acquire(&self.session, (name, wish), wait).await?;
            if campaign.is_ok() || wait.is_some() {
                return Ok(campaign);
            }
        }
    }

    /// Who leads an election. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn leader(config: &ClientConfig, name: &str) -> Result<Leadership, ClientError> {
        look(config, &format!("/v1/leader?name={}", escaped(name))).await
    }

    /// Observes an election: the present leader, then every change. Needs no session.
    ///
    /// # Errors
    /// If no endpoint can be used.
    pub fn observe(config: &ClientConfig, name: &str) -> Result<Observer, ClientError> {
        Observer::new(config, name)
    }

    /// Takes the lock if no member holds it. None as soon as a member says that it holds it, and after
    /// a second if it was on its way to others.
    ///
    /// # Errors
    /// [`ClientError::Unavailable`] if no member says that it holds it and those that must agree cannot
    /// let it in; see [`ClientError`] for others.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        self.lock_within(name, Duration::ZERO).await
    }

    /// Waits for the lock, but no longer than that; none if others held it or waited for it, which the
    /// members may take a second more to say.
    ///
    /// # Errors
    /// [`ClientError::Unavailable`] if it was not granted because the cluster cannot; see [`ClientError`]
    /// for others.
    pub async fn lock_within(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        granted_or_held(name, self.lock_or_why(name, timeout).await?)
    }

    /// Waits for the lock, but no longer than that; if it was not granted in that time, says who holds
    /// it, or why the cluster cannot grant it. With no time at all, as [`Client::try_lock`].
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock_or_why(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Result<Guard, NotGranted>, ClientError> {
        self.acquire(name, Mode::EXCLUSIVE, Some(timeout)).await
    }

    /// The node, its view and its links. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn status(config: &ClientConfig) -> Result<Status, ClientError> {
        look(config, "/v1/status").await
    }

    /// All locks that are held or waited for at any member and whose names begin like that, by name.
    /// Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn locks(config: &ClientConfig, prefix: &str) -> Result<LockListing, ClientError> {
        let path = format!("/v1/locks?prefix={}", escaped(prefix));
        let mut all: LockListing = look(config, &path).await?;
        while let Some(next) = all.next.take() {
            all.append(look(config, &format!("{path}&after={}", escaped(&next))).await?);
        }
        Ok(all)
    }

    /// All sessions at any member, by handle. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn sessions(config: &ClientConfig) -> Result<SessionListing, ClientError> {
        let mut all: SessionListing = look(config, "/v1/sessions").await?;
        while let Some(next) = all.next.take() {
            all.append(look(config, &format!("/v1/sessions?after={next}")).await?);
        }
        Ok(all)
    }

    /// Gives an order to the voters, which have proposed it when this returns; [`Client::status`] shows
    /// when it is decided. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses; [`ClientError::Busy`] if it may be tried again.
    pub async fn order(config: &ClientConfig, order: Order) -> Result<Ordered, ClientError> {
        let ask = |caller: Arc<Caller>| async move {
            within(ANSWER_WITHIN, caller.post("/v1/voters", &order)).await
        };
        first(config, ask).await
    }

    /// Breaks a lock, wherever it is held. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses: nobody holds it, or with another fence.
    pub async fn unlock(config: &ClientConfig, unlock: &Unlock) -> Result<Unlocked, ClientError> {
        let ask = |caller: Arc<Caller>| async move {
            within(ANSWER_WITHIN, caller.post("/v1/unlock", unlock)).await
        };
        first(config, ask).await
    }

    /// Asks a node to leave the cluster and to end, and says which one it is. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn leave(config: &ClientConfig) -> Result<MemberId, ClientError> {
        let ask = |caller: Arc<Caller>| async move {
            within(ANSWER_WITHIN, caller.ask_plainly(Method::POST, "/v1/leave")).await
        };
        let Leaving { node, .. } = first(config, ask).await?;
        Ok(node)
    }

    /// Asks a node to serve no clients, or to serve them again, and says how far it is. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn drain(config: &ClientConfig, undo: bool) -> Result<Drained, ClientError> {
        let order = DrainOrder { undo };
        let ask = |caller: Arc<Caller>| async move {
            within(ANSWER_WITHIN, caller.post("/v1/drain", &order)).await
        };
        first(config, ask).await
    }

    /// Ends the session; what is held is given back.
    ///
    /// # Errors
    /// If the node cannot be told.
    pub async fn close(self) -> Result<(), ClientError> {
        Ok(self.session.end().await?)
    }
}

/// None if others held it or waited for it.
fn granted_or_held(
    name: &str,
    granted: Result<Guard, NotGranted>,
) -> Result<Option<Guard>, ClientError> {
    match granted {
        Ok(guard) => Ok(Some(guard)),
        Err(why) if why.is_outage() => {
            let error = format!("`{name}` was not granted: {why}");
            Err(ClientError::Unavailable { error, causes: why.causes })
        }
        Err(_) => Ok(None),
    }
}

async fn look<A: DeserializeOwned>(config: &ClientConfig, path: &str) -> Result<A, ClientError> {
    let ask = |caller: Arc<Caller>| async move {
        within(ANSWER_WITHIN, caller.ask_plainly(Method::GET, path)).await
    };
    first(config, ask).await
}

/// What the first endpoint says that answers and is not about to leave.
async fn first<A, F>(
    config: &ClientConfig,
    ask: impl Fn(Arc<Caller>) -> F,
) -> Result<A, ClientError>
where
    F: Future<Output = Result<A, CallError>>,
{
    // Whoever asks about a node means that one.
    let only = ClientConfig { discovery: false, ..config.clone() };
    Ok(Nodes::new(&only)?.first(ask).await?.1)
}
