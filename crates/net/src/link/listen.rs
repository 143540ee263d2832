//! One socket for all lives of a node, at which other nodes call: for a link to the present life, or for
//! the view service.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use skeptron_member::link::handshake::{Caller, HandshakeRefusal};
use skeptron_member::link::handshake_limit;
use skeptron_member::{Limits, MemberId};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::block::Blocked;
use super::connect::{Called, ConnectError, Protection, ServiceConnection, answer};
use super::shared::Shared;
use super::{Links, LinksError};
use crate::config::Config;
use crate::env;
use crate::observe::Observer;
use crate::supervise::supervised;

/// Callers that have not yet said who they are, at most; the one that has taken longest goes first.
const MOST_STRANGERS: usize = 64;

/// Takes connections to the view service.
pub(crate) trait ServiceAcceptor: Send + Sync + 'static {
    /// What this node would say of itself as a caller.
    fn myself(&self) -> Caller;

    /// A node has called.
    fn take(&self, connection: ServiceConnection);
}

/// Listens as long as it lives.
pub(crate) struct Listener {
    callee: Arc<Callee>,
    task: AbortHandle,
}

/// Whom callers find.
pub(crate) struct Callee {
    pub(crate) me: MemberId,
    pub(crate) protection: Protection,
    pub(crate) limits: Limits,
    pub(crate) blocked: Blocked,
    observer: Arc<Observer>,
    /// The links of the present life.
    links: Mutex<Weak<Shared>>,
    acceptor: OnceLock<Weak<dyn ServiceAcceptor>>,
}

impl Listener {
    /// Listens with this socket. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// If the socket or the certificates cannot be used.
    pub(crate) fn new(
        config: &Config,
        socket: std::net::TcpListener,
        blocked: Blocked,
        observer: Arc<Observer>,
    ) -> Result<Self, LinksError> {
        let address = socket.local_addr().map_or_else(|_| "?".into(), |here| here.to_string());
        let socket = socket
            .set_nonblocking(true)
            .and_then(|()| TcpListener::from_std(socket))
            .map_err(|source: io::Error| LinksError::Listen { address, source })?;
        let callee = Arc::new(Callee {
            me: config.node,
            protection: Protection::new(&config.security)?,
            limits: config.limits,
            blocked,
            observer,
            links: Mutex::new(Weak::new()),
            acceptor: OnceLock::new(),
        });
        let listening = listen(Arc::clone(&callee), socket);
        let observer = Arc::clone(&callee.observer);
        let task = tokio::spawn(supervised(observer, "the listener for nodes", listening));
        let task = task.abort_handle();
        Ok(Listener { callee, task })
    }

    /// From now on callers find these links.
    pub(crate) fn serve(&self, links: &Links) {
        *self.callee.links.lock().unwrap_or_else(PoisonError::into_inner) =
            Arc::downgrade(&links.shared);
    }

    /// From now on callers find this view service; a second call does nothing.
    pub(crate) fn connect(&self, acceptor: &Arc<dyn ServiceAcceptor>) {
        self.callee.acceptor.get_or_init(|| Arc::downgrade(acceptor));
    }

    /// How connections are protected.
    pub(crate) fn protection(&self) -> Protection {
        self.callee.protection.clone()
    }

    /// With whom there are no connections.
    pub(crate) fn blocked(&self) -> Blocked {
        self.callee.blocked.clone()
    }

    /// Closes the socket.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("node", &self.callee.me).finish_non_exhaustive()
    }
}

impl Callee {
    /// The links of the present life, if there is one.
    pub(crate) fn links(&self) -> Option<Arc<Shared>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    fn acceptor(&self) -> Option<Arc<dyn ServiceAcceptor>> {
        self.acceptor.get().and_then(Weak::upgrade)
    }

    /// Whether this caller may speak to the view service.
    ///
    /// # Errors
    /// If not.
    pub(crate) fn check(&self, caller: &Caller) -> Result<(), HandshakeRefusal> {
        let acceptor = self.acceptor().ok_or(HandshakeRefusal::NoService { me: self.me })?;
        caller.check(&acceptor.myself())
    }
}

/// Answers whoever calls.
async fn listen(callee: Arc<Callee>, socket: TcpListener) {
    let mut strangers = JoinSet::new();
    let mut oldest_first = VecDeque::new();
    loop {
        let stream = match socket.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Usually too many open files: others have to end first.
                tracing::warn!(%error, "a connection could not be accepted");
                env::sleep(callee.limits.backoff_first).await;
                continue;
            }
        };
        while strangers.try_join_next().is_some() {}
        oldest_first.retain(|stranger: &AbortHandle| !stranger.is_finished());
        if oldest_first.len() >= MOST_STRANGERS
            && let Some(oldest) = oldest_first.pop_front()
        {
            oldest.abort();
            callee.observer.rejected.inc();
        }
        let meeting = meet(Arc::clone(&callee), stream);
        let observer = Arc::clone(&callee.observer);
        let meeting = async { supervised(observer, "a handshake", meeting).await.unwrap_or(()) };
        oldest_first.push_back(strangers.spawn(meeting));
    }
}

/// Finds out who calls, and hands the connection on.
async fn meet(callee: Arc<Callee>, stream: TcpStream) {
    let met = env::timeout(handshake_limit(&callee.limits), answer(&callee, stream)).await;
    let peer = |id| callee.links().and_then(|links| links.peer(id));
    match met.unwrap_or(Err(ConnectError::TooSlow)) {
        Ok(Called::Link(connection)) => {
            if let Some(peer) = peer(connection.hello.from) {
                peer.offer(connection);
            }
        }
        Ok(Called::Service(connection)) => {
            if let Some(acceptor) = callee.acceptor() {
                acceptor.take(connection);
            }
        }
        Err(error) => {
            callee.observer.rejected.inc();
            match &error {
                ConnectError::RefusedHere { from: id, .. }
                | ConnectError::RefusedThere { by: id, .. } => {
                    if let Some(peer) = peer(*id) {
                        peer.complain(env::now(), error.to_string());
                    }
                }
                _ => tracing::debug!(%error, "a connection was rejected"),
            }
        }
    }
}
