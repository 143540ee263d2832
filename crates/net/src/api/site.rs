//! What answers HTTP at some addresses, whatever it says: the front door of a node's API, and of pages
//! that need no node.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::door::{Caller, Door};
use super::listen::{self, Reception, Stage};
use super::{ApiConfig, ApiError};
use crate::env;
use crate::tls::{Callers, Identity};

/// How long a request that is being answered may take when the site closes.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A running site. Dropping it cuts all connections.
#[derive(Debug)]
pub struct Site {
    addresses: Vec<SocketAddr>,
    unix: Option<PathBuf>,
    places: Arc<Semaphore>,
    connections: u32,
    stage: watch::Sender<Stage>,
}

impl Site {
    /// Answers by `router` where, and those whom, `config` says; what it says of sessions does not
    /// matter here. `/`, `/ui/…` and `/health` are open to all.
    ///
    /// # Errors
    /// If it cannot listen, or anybody on the network could use it.
    pub async fn start(config: &ApiConfig, router: Router) -> Result<Self, ApiError> {
        Self::open(config, router, watch::Sender::new(Stage::Open)).await
    }

    /// The same, with a stage that others know already.
    pub(super) async fn open(
        config: &ApiConfig,
        router: Router,
        stage: watch::Sender<Stage>,
    ) -> Result<Self, ApiError> {
        if config.token.as_ref().is_some_and(String::is_empty) {
            return Err(ApiError::EmptyToken);
        }
        let tls = config.identity.as_ref().map(acceptor).transpose()?;
        let connections = listen::affordable(config.connections).min(1 << 28);
        let places = Arc::new(Semaphore::new(connections));
        let door = Door::new(config.token.clone());
        let reception = Reception::new(router, door, Arc::clone(&places), stage.subscribe());
        let connections = connections.try_into().expect("it was made to fit");
        let mut site = Site { addresses: Vec::new(), unix: None, places, connections, stage };
        site.listen(config, tls, &Arc::new(reception)).await?;
        Ok(site)
    }

    /// Listens everywhere before anybody is answered anywhere.
    async fn listen(
        &mut self,
        config: &ApiConfig,
        tls: Option<TlsAcceptor>,
        reception: &Arc<Reception>,
    ) -> Result<(), ApiError> {
        let mut listeners = Vec::new();
        for address in &config.listen {
            let bound = listen::bind_tcp(address).await;
            let (listener, at) =
                bound.map_err(|source| ApiError::Listen { address: address.clone(), source })?;
            let near = at.ip().is_loopback();
            if !near && tls.is_none() && config.token.is_none() {
                return Err(ApiError::Open(address.clone()));
            }
            if !near && tls.is_none() {
                tracing::warn!(%at, "the API's token crosses the network unencrypted; use TLS");
            }
            listeners.push((listener, if near { Caller::Neighbour } else { Caller::Stranger }));
            self.addresses.push(at);
        }
        if let Some(path) = &config.unix {
            let bound = listen::bind_unix(path).await;
            let (listener, owner) = bound.map_err(|source| ApiError::Listen {
                address: path.display().to_string(),
                source,
            })?;
            self.unix = Some(path.clone());
            tokio::spawn(Arc::clone(reception).receive_unix(listener, owner));
        }
        for (listener, caller) in listeners {
            tokio::spawn(Arc::clone(reception).receive_tcp(listener, caller, tls.clone()));
        }
        Ok(())
    }

    /// Where it listens; ports that the system chose are filled in.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes no new requests, and waits a moment for those that are being answered.
    pub async fn close(&self) {
        self.stage.send_replace(Stage::Closing);
        // When every place is free, every connection has ended; those that do not are cut by the drop.
        let all = self.places.acquire_many(self.connections);
        env::timeout(CLOSE_WITHIN, all).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stage.send_replace(Stage::Gone);
        if let Some(path) = &self.unix {
            // Another node finds out by itself that nobody listens there.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Takes TLS connections, with or without a certificate of the client: what it may do without one is
/// decided at each request.
fn acceptor(identity: &Identity) -> Result<TlsAcceptor, ApiError> {
    Ok(TlsAcceptor::from(identity.server_config(Callers::Anybody)?))
}
