//! A client of a node's HTTP API, with the same guard as the library.

use std::time::Duration;

use thiserror::Error;

use crate::guard::Guard;
use crate::report::{LockStatus, Status};
use crate::tls::Identity;

/// Where a node's API is: `http://HOST:PORT`, `https://HOST:PORT` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Plain HTTP.
    Http(String),
    /// HTTP over TLS.
    Https(String),
    /// A Unix socket.
    Unix(std::path::PathBuf),
}

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

/// A session with a node. Locks are given back when it ends, or when its process dies.
#[derive(Clone, Debug)]
pub struct Client {}

/// Why a client gets nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// That is no endpoint.
    #[error(
        "`{0}` is no endpoint; it looks like http://127.0.0.1:7470, https://HOST:PORT or unix:PATH"
    )]
    Endpoint(String),
    /// No endpoint answers.
    #[error("cannot reach a node: {0}")]
    Unreachable(String),
    /// The node says no.
    #[error("the node refused: {0}")]
    Refused(String),
    /// The session has ended.
    #[error("the session has ended; its locks are lost")]
    SessionOver,
}

impl std::str::FromStr for Endpoint {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let _ = text;
        todo!()
    }
}

impl Client {
    /// Opens a session at the first endpoint that answers, and keeps it alive until dropped.
    ///
    /// # Errors
    /// If none answers, or it refuses.
    pub async fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let _ = config;
        todo!()
    }

    /// Waits for the lock. The future may be dropped at any time.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        let _ = name;
        todo!()
    }

    /// Takes the lock if nobody holds it or waits for it.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        let _ = name;
        todo!()
    }

    /// Waits for the lock, but no longer than that; none if it was not to be had.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock_within(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        let _ = (name, timeout);
        todo!()
    }

    /// The node, its view and its links. Needs no session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn status(config: &ClientConfig) -> Result<Status, ClientError> {
        let _ = config;
        todo!()
    }

    /// The locks of all members whose names begin like that, and who did not answer in time. Needs no
    /// session.
    ///
    /// # Errors
    /// If no endpoint answers, or it refuses.
    pub async fn locks(
        config: &ClientConfig,
        prefix: &str,
    ) -> Result<(Vec<LockStatus>, Vec<skeptron_core::NodeId>), ClientError> {
        let _ = (config, prefix);
        todo!()
    }

    /// Ends the session; what is held is given back.
    ///
    /// # Errors
    /// If the node cannot be told.
    pub async fn close(self) -> Result<(), ClientError> {
        todo!()
    }
}
