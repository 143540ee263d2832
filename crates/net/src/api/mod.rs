//! The API of a node, in HTTP and natively: sessions, in which programs elsewhere take locks and give them back, and
//! everything that can be seen of the node. `docs/api.md` is its manual, `/openapi.json` its
//! description.

mod audit;
mod auth;
mod connection_limiter;
mod elections;
mod error;
mod front;
mod front_listen;
mod listen;
mod listeners;
mod listings;
mod monitoring;
mod moves;
mod native;
mod orders;
mod prefixed;
mod probes;
mod quota;
mod relay;
mod roles;
mod routes;
mod server;
mod service;
mod unlock;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use thiserror::Error;
use tokio::sync::watch;

use crate::env;
use crate::node::Node;
use crate::tls::Identity;
use listen::Stage;
use quota::Ledger;
use service::ApiService;

pub use elections::Observer;
pub use error::ErrorResponse;
pub use front::{FrontEnd, FrontEndApi, ListeningFrontEnd};
pub use listen::Closing;
pub use listeners::Listeners;
pub use quota::Quota;
pub use roles::{Client, Role};
pub use server::HttpServer;

/// 128 bits that nobody can guess; none if the system gives no randomness.
#[must_use]
pub fn unguessable() -> Option<u128> {
    env::random().map(u128::from_be_bytes)
}

/// Where and to whom the API answers.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// TCP addresses, `HOST:PORT`; may be none.
    pub listen: Vec<String>,
    /// Where clients of other nodes are told to come, `https://HOST:PORT` or `HOST:PORT`; without it, where
    /// it listens. See [`Listeners::advertised`].
    pub advertise: Option<Vec<String>>,
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
    /// Connections at most, and never more than half of the process's descriptors; a waiting acquire
    /// takes one. An eighth more may wait to say who they are, or keep a session alive.
    pub connections: usize,
    /// How much one client may have.
    pub quota: Quota,
    /// Who may do what. Without any, whoever is let in may do everything.
    pub roles: Vec<Role>,
}

/// The running API. Dropping it ends all sessions and cuts all connections.
#[derive(Debug)]
pub struct Api {
    node: Node,
    site: HttpServer,
    leave: Arc<watch::Sender<bool>>,
}

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
    /// The token is empty.
    #[error("the API's token is empty: set one that cannot be guessed, or remove the setting")]
    EmptyToken,
    /// The certificates are invalid.
    #[error(transparent)]
    Tls(#[from] crate::tls::TlsError),
}

impl Default for ApiConfig {
    fn default() -> Self {
        ApiConfig {
            listen: vec!["127.0.0.1:7470".to_string()],
            advertise: None,
            unix: None,
            token: None,
            identity: None,
            ttl: (Duration::from_secs(1), Duration::from_secs(3600)),
            sessions: 100_000,
            connections: 10_000,
            quota: Quota::default(),
            roles: Vec::new(),
        }
    }
}

impl Api {
    /// Serves the API of `node`.
    ///
    /// # Errors
    /// If it cannot listen, or anybody on the network could use it.
    pub async fn start(node: Node, config: ApiConfig) -> Result<Self, ApiError> {
        Self::start_with(node, config, Router::new()).await
    }

    /// Serves the API of `node` at listeners that are bound already, as [`Api::start_with`].
    ///
    /// # Errors
    /// If anybody on the network could use it.
    ///
    /// # Panics
    /// If `extra` has a path that the API has, too.
    pub async fn start_at(
        node: Node,
        config: ApiConfig,
        listeners: Listeners,
        extra: Router,
    ) -> Result<Self, ApiError> {
        Self::start_fronted(node, config, listeners, extra, None).await
    }

    /// The same, and answers in another protocol, too, if there is one.
    ///
    /// # Errors
    /// If anybody on the network could use it.
    ///
    /// # Panics
    /// If `extra` has a path that the API has, too.
    pub async fn start_fronted(
        node: Node,
        config: ApiConfig,
        listeners: Listeners,
        extra: Router,
        fronted: Option<ListeningFrontEnd>,
    ) -> Result<Self, ApiError> {
        node.observer().set_sessions_limit(config.sessions);
        let stage = watch::Sender::new(Stage::Open);
        let leave = Arc::new(watch::Sender::new(false));
        let service = ApiService {
            node: node.clone(),
            most_sessions: config.sessions,
            ttl: config.ttl,
            stage: stage.subscribe(),
            leave: Arc::clone(&leave),
            ledger: Arc::new(Ledger::new(config.quota)),
        };
        let service = Arc::new(service);
        let router = routes::router(Arc::clone(&service), extra);
        let observer = Arc::clone(node.observer());
        let mut relayed = router.clone();
        if let Some(ListeningFrontEnd { front, .. }) = &fronted {
            relayed = relayed.merge(front.relayed(FrontEndApi(Arc::clone(&service))));
        }
        let fronted = fronted
            .map(|fronted| (fronted.front.router(FrontEndApi(Arc::clone(&service))), fronted));
        let (own, watched) = ((router, Some(service)), (stage, observer));
        let site = HttpServer::open((&config, listeners), own, fronted, watched).await?;
        node.relays().perform_by(Some(relay::performer(relayed, site.auth())));
        Ok(Api { node, site, leave })
    }

    /// The same, with further paths, which only those may use who may use the others; `/` and `/ui/…`
    /// are open to all.
    ///
    /// # Errors
    /// If it cannot listen, or anybody on the network could use it.
    ///
    /// # Panics
    /// If `extra` has a path that the API has, too.
    pub async fn start_with(
        node: Node,
        config: ApiConfig,
        extra: Router,
    ) -> Result<Self, ApiError> {
        let listeners = Listeners::bind(&config).await?;
        Self::start_at(node, config, listeners, extra).await
    }

    /// Where it listens; ports that the system chose are filled in.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.site.addresses()
    }

    /// From now on these certificates, tokens and roles count; nothing else of `config` does. Whoever is
    /// connected by TLS has to connect again when its present request is answered.
    ///
    /// # Errors
    /// If they cannot be used; then nothing has changed.
    pub fn renew(&self, config: &ApiConfig) -> Result<(), ApiError> {
        self.site.renew(config)
    }

    /// Waits until a client asks the node to leave the cluster. Clients are refused while nobody waits.
    pub async fn asked_to_leave(&self) {
        // The sender lives as long as this.
        let _ = self.leave.subscribe().wait_for(|asked| *asked).await;
    }

    /// Lets every client know at its next sign of life that this node leaves, and waits until each has
    /// given back what it held, has moved to another node with it, or must have noticed by its own clock
    /// that it lost it. To be called before the node hands on what is held.
    pub async fn drain(&self) {
        if let Ok(shell) = self.node.shell() {
            shell.drain_sessions().await;
        }
    }

    /// Ends all sessions, whose locks are given back, and stops answering.
    pub async fn shutdown(self) {
        self.node.close_sessions();
        self.site.close().await;
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.node.relays().perform_by(None);
        self.node.close_sessions();
    }
}
