//! A server for HTTP and the native protocol: the API of a node, or pages that need no node.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use rustls::ServerConfig;
use skeptron_member::MemberId;
use tokio::sync::watch;

use super::auth::{Auth, Caller};
use super::connection_limiter::ConnectionLimiter;
use super::front::ListeningFrontEnd;
use super::listen::{self, ConnectionHandler, Protocols, Stage, Watched};
use super::listeners::Listeners;
use super::service::ApiService;
use super::{ApiConfig, ApiError};
use crate::env;
use crate::observe::Observer;
use crate::tls::Callers;

/// How long a request that is being answered may take when the site closes.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A running site. Dropping it cuts all connections.
#[derive(Debug)]
pub struct HttpServer {
    addresses: Vec<SocketAddr>,
    unix: Option<PathBuf>,
    limiter: Arc<ConnectionLimiter>,
    stage: watch::Sender<Stage>,
    auth: Arc<ArcSwap<Auth>>,
    /// With which certificates clients are answered, if with any.
    tls: Option<Arc<ArcSwap<ServerConfig>>>,
    /// Counts certificates.
    renewed: watch::Sender<u64>,
    /// An address without TLS that other machines can reach.
    exposed: Option<String>,
}

impl HttpServer {
    /// Answers by `router` where, and those whom, `config` says; what it says of sessions does not
    /// matter here. `/`, `/ui/…` and `/health` are open to all.
    ///
    /// # Errors
    /// If it cannot listen, or anybody on the network could use it.
    pub async fn start(config: &ApiConfig, router: Router) -> Result<Self, ApiError> {
        // Pages that need no node are watched by nobody.
        let observer = Arc::new(Observer::new(MemberId::at(0)));
        let listeners = Listeners::bind(config).await?;
        let stage = watch::Sender::new(Stage::Open);
        Self::open((config, listeners), (router, None), None, (stage, observer)).await
    }

    /// The same, with a stage that others know already, a service for those who speak the native protocol, and
    /// a front end for those who speak another one.
    pub(super) async fn open(
        (config, listeners): (&ApiConfig, Listeners),
        (router, service): (Router, Option<Arc<ApiService>>),
        fronted: Option<(Router, ListeningFrontEnd)>,
        (stage, observer): (watch::Sender<Stage>, Arc<Observer>),
    ) -> Result<Self, ApiError> {
        check_tokens(config)?;
        let tls = config.identity.as_ref().map(|it| it.server_config(Callers::Anybody));
        let tls = tls.transpose()?.map(|tls| Arc::new(ArcSwap::new(tls)));
        let connections = listen::affordable(config.connections);
        let (limits, watching) = (config.quota, Arc::clone(&observer));
        let limiter =
            Arc::new(ConnectionLimiter::new(connections, limits.address_connections, watching));
        let auth = Arc::new(ArcSwap::from_pointee(Auth::new(config.token.clone(), &config.roles)));
        let renewed = watch::Sender::new(0);
        let watched = Watched { stage: stage.subscribe(), renewed: renewed.subscribe(), observer };
        let places = (Arc::clone(&limiter), limits.connections);
        let handler = |router, protocols| {
            let (auth, places, watched) = (Arc::clone(&auth), places.clone(), watched.clone());
            Arc::new(ConnectionHandler::new((router, protocols), auth, places, watched))
        };
        let own = (listeners, handler(router, service.map_or(Protocols::Http, Protocols::Native)));
        let other =
            fronted.map(|(router, it)| (it.listeners, handler(router, Protocols::Other(it.front))));
        let (addresses, unix, exposed) = (Vec::new(), None, None);
        let mut site = HttpServer { addresses, unix, limiter, stage, auth, tls, renewed, exposed };
        site.listen(config, own, other).await?;
        Ok(site)
    }

    /// From now on these certificates, tokens and roles count. Whoever came with TLS comes again.
    ///
    /// # Errors
    /// If they cannot be used; then nothing has changed.
    pub(super) fn renew(&self, config: &ApiConfig) -> Result<(), ApiError> {
        check_tokens(config)?;
        if let Some(address) = &self.exposed
            && is_open(config)
        {
            return Err(ApiError::Open(address.clone()));
        }
        let tls = config.identity.as_ref().map(|it| it.server_config(Callers::Anybody));
        let tls = tls.transpose()?;
        match (&self.tls, tls) {
            (Some(present), Some(tls)) => {
                present.store(tls);
                self.renewed.send_modify(|count| *count += 1);
            }
            (None, None) => {}
            _ => tracing::warn!("enabling or disabling TLS for the API needs a restart"),
        }
        self.auth.store(Arc::new(Auth::new(config.token.clone(), &config.roles)));
        Ok(())
    }

    /// Listens everywhere before anybody is answered anywhere.
    async fn listen(
        &mut self,
        config: &ApiConfig,
        (own, handler): (Listeners, Arc<ConnectionHandler>),
        other: Option<(Listeners, Arc<ConnectionHandler>)>,
    ) -> Result<(), ApiError> {
        self.addresses.extend(own.addresses());
        let mut listeners = Vec::new();
        for (bound, handler) in [(own, Arc::clone(&handler))].into_iter().chain(other) {
            for (listener, at, address) in bound.into_parts() {
                let near = at.ip().is_loopback();
                if !near && self.tls.is_none() {
                    if is_open(config) {
                        return Err(ApiError::Open(address));
                    }
                    self.exposed = Some(address);
                    tracing::warn!(%at, "the API's token is sent unencrypted; use TLS");
                }
                let caller = if near { Caller::Neighbour } else { Caller::Stranger };
                listeners.push((listener, caller, Arc::clone(&handler)));
            }
        }
        if let Some(path) = &config.unix {
            let bound = listen::bind_unix(path).await;
            let (listener, owner) = bound.map_err(|source| ApiError::Listen {
                address: path.display().to_string(),
                source,
            })?;
            self.unix = Some(path.clone());
            handler.supervise(Arc::clone(&handler).receive_unix(listener, owner));
        }
        for (listener, caller, handler) in listeners {
            let receiving = Arc::clone(&handler).receive_tcp(listener, caller, self.tls.clone());
            handler.supervise(receiving);
        }
        Ok(())
    }

    pub(super) fn auth(&self) -> Arc<ArcSwap<Auth>> {
        Arc::clone(&self.auth)
    }

    /// Where it listens; ports that the system chose are filled in.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes no new requests, and waits a moment for those that are being answered.
    pub async fn close(&self) {
        self.stage.send_replace(Stage::Closing);
        // Those that do not end are cut by the drop.
        env::timeout(CLOSE_WITHIN, self.limiter.all_gone()).await;
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stage.send_replace(Stage::Gone);
        if let Some(path) = &self.unix {
            // Another node finds out by itself that nobody listens there.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether nobody would be asked who they are.
fn is_open(config: &ApiConfig) -> bool {
    config.token.is_none() && config.roles.is_empty()
}

fn check_tokens(config: &ApiConfig) -> Result<(), ApiError> {
    let mut tokens =
        config.token.iter().chain(config.roles.iter().filter_map(|it| it.token.as_ref()));
    if tokens.any(String::is_empty) { Err(ApiError::EmptyToken) } else { Ok(()) }
}
