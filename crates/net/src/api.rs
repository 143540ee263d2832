//! The HTTP API of a node.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::node::Node;
use crate::tls::Identity;

/// Where and to whom the API answers.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// TCP addresses, `HOST:PORT`; may be none.
    pub listen: Vec<String>,
    /// A Unix socket, if any; only its owner may use it.
    pub unix: Option<PathBuf>,
    /// Whoever shows this token is let in.
    pub token: Option<String>,
    /// With it the TCP addresses speak TLS, and whoever shows a certificate of the authority is let in.
    pub identity: Option<Identity>,
    /// The shortest and the longest TTL of a session.
    pub ttl: (Duration, Duration),
    /// Sessions at most.
    pub sessions: usize,
}

/// The running API.
#[derive(Debug)]
pub struct Api {}

/// Why the API does not start.
#[derive(Debug, Error)]
pub enum ApiError {
    /// It cannot listen.
    #[error("the API cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Nobody would be asked who they are.
    #[error(
        "the API at {0} can be reached from other machines: give it a token (`api.token`) or \
         certificates, or let it listen on 127.0.0.1"
    )]
    Open(String),
    /// The certificates are no good.
    #[error(transparent)]
    Tls(#[from] crate::tls::TlsError),
}

impl Default for ApiConfig {
    fn default() -> Self {
        ApiConfig {
            listen: vec!["127.0.0.1:7470".to_string()],
            unix: None,
            token: None,
            identity: None,
            ttl: (Duration::from_secs(1), Duration::from_secs(3600)),
            sessions: 100_000,
        }
    }
}

impl Api {
    /// Serves the API of `node`.
    ///
    /// # Errors
    /// If it cannot listen, or anybody on the network could use it.
    pub async fn start(node: Node, config: ApiConfig) -> Result<Self, ApiError> {
        let _ = (node, config);
        todo!()
    }

    /// Where it listens; ports that the system chose are filled in.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        todo!()
    }

    /// Ends all sessions, whose locks are given back, and stops answering.
    pub async fn shutdown(self) {
        todo!()
    }
}
