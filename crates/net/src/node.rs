//! A node: links, view and lock table in one program.

use std::sync::Arc;
use std::time::Duration;

use skeptron_core::NodeId;
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::guard::Guard;
use crate::observe::Observer;
use crate::plan::Plans;
use crate::report::{LockStatus, Status};
use crate::view::ViewService;

/// A member of the cluster. Clones are the same node.
#[derive(Clone, Debug)]
pub struct Node {}

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The certificates are no good.
    #[error(transparent)]
    Tls(#[from] crate::tls::TlsError),
    /// It cannot listen.
    #[error("cannot listen at {address}: {source}; is another node running there?")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// Why a lock is not to be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// The name cannot be one.
    #[error("a lock's name has 1 to 255 bytes and no control characters; `{0}` does not")]
    Name(String),
    /// The node leaves.
    #[error("{0} is shutting down and takes no more requests; ask another node")]
    Leaving(NodeId),
    /// Too many names.
    #[error("{node} knows {most} locks already; raise `limits.locks`")]
    TooManyLocks {
        /// Which node.
        node: NodeId,
        /// How many it may know.
        most: usize,
    },
    /// Too many waiters.
    #[error("{most} wait at {node} for `{name}` already; raise `limits.waiters`")]
    TooManyWaiters {
        /// Which node.
        node: NodeId,
        /// Which lock.
        name: String,
        /// How many may wait.
        most: usize,
    },
}

impl Node {
    /// Starts a member of a cluster whose membership is fixed. Returns at once: links come up in the
    /// background, and requests wait for them.
    ///
    /// # Errors
    /// If the configuration is wrong or its address cannot be listened at.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let _ = config;
        todo!()
    }

    /// Starts a member on a listener that is bound already, under a view service.
    ///
    /// # Errors
    /// If the configuration is wrong.
    pub async fn start_on(
        config: Config,
        listener: std::net::TcpListener,
        views: Arc<dyn ViewService>,
    ) -> Result<Self, StartError> {
        let _ = (config, listener, views);
        todo!()
    }

    /// Which member it is.
    #[must_use]
    pub fn id(&self) -> NodeId {
        todo!()
    }

    /// Waits for the lock. The future may be dropped at any time.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock(&self, name: &str) -> Result<Guard, LockError> {
        self.lock_as(name, "").await
    }

    /// As [`Node::lock`], telling those who look who it is.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock_as(&self, name: &str, owner: &str) -> Result<Guard, LockError> {
        let _ = (name, owner);
        todo!()
    }

    /// Takes the lock if nobody, on any member, holds it or waits for it.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, LockError> {
        self.try_lock_as(name, "").await
    }

    /// As [`Node::try_lock`], telling those who look who it is.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn try_lock_as(&self, name: &str, owner: &str) -> Result<Option<Guard>, LockError> {
        let _ = (name, owner);
        todo!()
    }

    /// Waits for the lock, but no longer than that; none if it was not to be had.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock_within(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, LockError> {
        match tokio::time::timeout(timeout, self.lock(name)).await {
            Ok(guard) => guard.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The node, its view and its links.
    #[must_use]
    pub fn status(&self) -> Status {
        todo!()
    }

    /// The locks held or waited for at this node whose names begin like that, by name.
    #[must_use]
    pub fn local_locks(&self, prefix: &str) -> Vec<LockStatus> {
        let _ = prefix;
        todo!()
    }

    /// The same of all members, by name and node, and the members that did not answer in time.
    pub async fn locks(&self, prefix: &str) -> (Vec<LockStatus>, Vec<NodeId>) {
        let _ = prefix;
        todo!()
    }

    /// What can be seen from outside: events and metrics.
    #[must_use]
    pub fn observer(&self) -> &Arc<Observer> {
        todo!()
    }

    /// Cuts the connection to a peer, which is connected anew: for trying out what that does.
    pub fn cut(&self, peer: NodeId) {
        let _ = peer;
        todo!()
    }

    /// Takes no more requests, waits up to `grace` for what is held, passes resting tokens on, and
    /// ends when the peers have everything. What is still held then is lost.
    pub async fn shutdown(&self, grace: Duration) {
        let _ = grace;
        todo!()
    }
}

/// All members of a cluster in one process, on the loopback interface.
#[derive(Debug)]
pub struct Cluster {
    /// The members, P1 first.
    pub nodes: Vec<Node>,
}

impl Cluster {
    /// Starts `nodes` members on ports that the system chooses, with plain TCP, and waits until all
    /// links are up.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start(nodes: usize, plans: Plans) -> Result<Self, StartError> {
        let _ = (nodes, plans);
        todo!()
    }

    /// The same, each configuration as `change` leaves it.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start_with(
        nodes: usize,
        plans: Plans,
        change: impl Fn(&mut Config),
    ) -> Result<Self, StartError> {
        let _ = (nodes, plans, change);
        todo!()
    }

    /// Shuts all members down.
    pub async fn shutdown(self) {
        todo!()
    }
}
