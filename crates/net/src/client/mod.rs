//! A client of a node's HTTP API.

mod connection;
mod endpoint;
mod grant;
mod session;

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::messages::{Leaving, Listing};
pub use crate::messages::{Order, Ordered};
use crate::tls::Identity;
use connection::{Caller, Trouble};
pub use endpoint::Endpoint;
pub use grant::Guard;
use session::{ANSWER_WITHIN, Session, within};
use skeptron_member::MemberId;
use skeptron_member::report::{LockStatus, Status};

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
    #[error(
        "`{0}` is no endpoint; it looks like http://127.0.0.1:7470, https://HOST:PORT or unix:PATH"
    )]
    Endpoint(String),
    /// The token cannot be sent.
    #[error("the token has characters that HTTP cannot carry")]
    Token,
    /// There are no certificates.
    #[error("https needs the certificates of the cluster; `skeptron tls init` makes them")]
    NoIdentity,
    /// The certificates are invalid.
    #[error("invalid certificates: {0}")]
    Identity(String),
    /// No endpoint answers.
    #[error("cannot reach a node: {0}")]
    Unreachable(String),
    /// The node says no.
    #[error("the node refused: {0}")]
    Refused(String),
    /// The node says no, but will not always.
    #[error("the node refused: {0}")]
    Busy(String),
    /// The session has ended.
    #[error("the session has ended; its locks are lost")]
    SessionOver,
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
        }
    }
}

impl Client {
    /// Opens a session at the first endpoint that answers, and keeps it alive until dropped.
    ///
    /// # Errors
    /// If none answers, or it refuses.
    pub async fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        Ok(Client { session: Session::open(&config).await? })
    }

    /// Waits for the lock. The future may be dropped at any time.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        loop {
            // Without a time limit none comes back only if the node made one up.
            if let Some(guard) = self.acquire(name, None).await? {
                return Ok(guard);
            }
        }
    }

    /// Takes the lock if no member holds it. None as soon as a member says that it holds it, and after
    /// a second if the members that must agree have not let it in by then.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        self.acquire(name, Some(Duration::ZERO)).await
    }

    /// Waits for the lock, but no longer than that; none if it was not granted in that time.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock_within(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        self.acquire(name, Some(timeout)).await
    }

    async fn acquire(
        &self,
        name: &str,
        wait: Option<Duration>,
    ) -> Result<Option<Guard>, ClientError> {
        grant::acquire(&self.session, name, wait).await
    }

    /// The node, its view and its links. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn status(config: &ClientConfig) -> Result<Status, ClientError> {
        look(config, "/v1/status").await
    }

    /// The locks of all members whose names begin like that, and who did not answer in time. Needs no
    /// session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn locks(
        config: &ClientConfig,
        prefix: &str,
    ) -> Result<(Vec<LockStatus>, Vec<MemberId>), ClientError> {
        let path = format!("/v1/locks?prefix={}", escaped(prefix));
        let Listing { locks, silent } = look(config, &path).await?;
        Ok((locks, silent))
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

    /// Asks a node to leave the cluster and to end, and says which one it is. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn leave(config: &ClientConfig) -> Result<MemberId, ClientError> {
        let ask = |caller: Arc<Caller>| async move {
            within(ANSWER_WITHIN, caller.ask(Method::POST, "/v1/leave")).await
        };
        let Leaving { node, .. } = first(config, ask).await?;
        Ok(node)
    }

    /// Ends the session; what is held is given back.
    ///
    /// # Errors
    /// If the node cannot be told.
    pub async fn close(self) -> Result<(), ClientError> {
        Ok(self.session.end().await?)
    }
}

async fn look<A: DeserializeOwned>(config: &ClientConfig, path: &str) -> Result<A, ClientError> {
    let ask = |caller: Arc<Caller>| async move {
        within(ANSWER_WITHIN, caller.ask(Method::GET, path)).await
    };
    first(config, ask).await
}

/// What the first endpoint says that answers and is not about to leave.
async fn first<A, F>(
    config: &ClientConfig,
    ask: impl Fn(Arc<Caller>) -> F,
) -> Result<A, ClientError>
where
    F: Future<Output = Result<A, Trouble>>,
{
    let callers =
        config.endpoints.iter().map(|endpoint| Caller::new(endpoint, config).map(Arc::new));
    let callers = callers.collect::<Result<Vec<_>, _>>()?;
    Ok(first_of(&callers, ask).await?.1)
}

/// The same of callers, and the place of the one that answers.
async fn first_of<A, F>(
    callers: &[Arc<Caller>],
    ask: impl Fn(Arc<Caller>) -> F,
) -> Result<(usize, A), ClientError>
where
    F: Future<Output = Result<A, Trouble>>,
{
    let mut unreachable = Vec::new();
    for (place, caller) in callers.iter().enumerate() {
        match ask(Arc::clone(caller)).await {
            Err(Trouble::Unreachable(why)) => unreachable.push(why),
            Err(Trouble::Refused(StatusCode::SERVICE_UNAVAILABLE, problem)) => {
                unreachable.push(format!("{}: {}", caller.endpoint(), problem.error));
            }
            answer => return Ok((place, answer?)),
        }
    }
    if unreachable.is_empty() {
        unreachable.push("no endpoint was given".to_string());
    }
    Err(ClientError::Unreachable(unreachable.join("; ")))
}

/// As it may stand in a query.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
