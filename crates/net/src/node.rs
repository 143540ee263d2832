//! A node: links, view and lock table in one program.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use skeptron_core::{NodeId, SetupError};
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::guard::Guard;
use crate::link::{Links, Post as _};
use crate::observe::Observer;
use crate::plan::Plans;
use crate::report::{LockStatus, MessageCount, Status, milliseconds};
use crate::table::{Asked, Table};
use crate::view::{Fixed, ViewService};

/// A member of the cluster. Clones are the same node; it ends with [`Node::shutdown`], or when the
/// last clone and the last guard are dropped.
///
/// ```
/// use skeptron_net::{Cluster, Plan, Plans};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = Cluster::start(3, Plans::new(Plan::named("naimi-trehel", 3)?)).await?;
/// let guard = cluster.nodes[0].lock("orders/42").await?;
/// // Somebody at another node waits meanwhile.
/// let other = cluster.nodes[1].clone();
/// let waiting = tokio::spawn(async move { other.lock("orders/42").await });
/// let first = guard.fence();
/// guard.release().await?;
/// assert!(waiting.await??.fence() > first);
/// # cluster.shutdown().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    config: Config,
    table: Arc<Table>,
    links: Arc<Links>,
}

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The certificates are no good.
    #[error(transparent)]
    Tls(#[from] crate::tls::TlsError),
    /// An algorithm cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
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
    /// How long a leaving node waits for its tokens to be fetched.
    const FETCHED: Duration = Duration::from_secs(2);
    /// How long a leaving node waits for its peers to acknowledge.
    const ACKNOWLEDGED: Duration = Duration::from_secs(2);
    /// How often [`Node::try_lock`] asks who holds a lock that nobody seems to hold.
    const TRIES: usize = 20;
    /// How long it waits for the grant each time.
    const TRY: Duration = Duration::from_millis(100);

    /// Starts a member of a cluster whose membership is fixed. Returns at once: links come up in the
    /// background, and requests wait until all members have met once.
    ///
    /// # Errors
    /// If the configuration is wrong or its address cannot be listened at.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        config.check()?;
        let address = config.listen_address().to_string();
        let listening = match tokio::net::TcpListener::bind(&address).await {
            Ok(listener) => listener.into_std(),
            Err(error) => Err(error),
        };
        let listener = listening.map_err(|source| StartError::Listen { address, source })?;
        let views = Arc::new(Fixed::new(config.members.clone()));
        Node::start_on(config, listener, views).await
    }

    /// Starts a member on a listener that is bound already, under a view service.
    ///
    /// # Errors
    /// If the configuration is wrong.
    pub async fn start_on(
        config: Config,
        listener: TcpListener,
        service: Arc<dyn ViewService>,
    ) -> Result<Self, StartError> {
        config.check()?;
        let observer = Arc::new(Observer::new(config.node));
        let views = service.views();
        let view = views.borrow().clone();
        let links = Links::new(&config, view, listener, Arc::clone(&observer))?;
        let table = Table::new(&config, service, Arc::clone(&links) as _, observer)?;
        links.start(table.reception());
        table.open();
        follow(views, &table, &links);
        Ok(Node { parts: Arc::new(Parts { config, table, links }) })
    }

    /// Which member it is.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.parts.config.node
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
        // A task that asks again and again gets it at once each time, and must let others run.
        tokio::task::coop::consume_budget().await;
        if self.parts.links.congested() {
            self.parts.links.relieved().await;
        }
        match self.parts.table.ask(name, owner)? {
            Asked::Granted(guard) => Ok(guard),
            Asked::Waiting(wait) => wait.await,
        }
    }

    /// Takes the lock if nobody, on any member, holds it; none if somebody does, or if the members
    /// that must agree cannot be reached.
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
        tokio::task::coop::consume_budget().await;
        let mut wait = match self.parts.table.ask(name, owner)? {
            Asked::Granted(guard) => return Ok(Some(guard)),
            Asked::Waiting(wait) => wait,
        };
        for _ in 0..Self::TRIES {
            // The grant may come while the members are asked.
            let (locks, _) = tokio::select! {
                biased;
                guard = &mut wait => return guard.map(Some),
                known = self.parts.table.all_locks(name, true) => known,
            };
            if locks.iter().any(|lock| lock.holder.is_some()) {
                // It may be ours, granted while the members were asked.
                return tokio::task::unconstrained(&mut wait).now_or_never().transpose();
            }
            if let Ok(guard) = tokio::time::timeout(Self::TRY, &mut wait).await {
                return guard.map(Some);
            }
        }
        Ok(None)
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
        self.lock_within_as(name, "", timeout).await
    }

    /// As [`Node::lock_within`], telling those who look who it is.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock_within_as(
        &self,
        name: &str,
        owner: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, LockError> {
        match tokio::time::timeout(timeout, self.lock_as(name, owner)).await {
            Ok(guard) => guard.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The node, its view and its links.
    #[must_use]
    pub fn status(&self) -> Status {
        let Parts { config, table, links } = &*self.parts;
        let count = |gauge: i64| u64::try_from(gauge).unwrap_or(0);
        let observer = &table.observer;
        Status {
            cluster: config.cluster.clone(),
            node: config.node,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epoch: table.epoch(),
            algorithm: config.plans.default_algorithm().to_string(),
            prefixes: config
                .plans
                .prefixes()
                .map(|(prefix, algorithm)| (prefix.to_string(), algorithm.to_string()))
                .collect(),
            members: links.members(),
            up_ms: milliseconds(observer.up()),
            known_locks: count(observer.locks.get()),
            held_locks: count(observer.held.get()),
            waiters: count(observer.waiting.get()),
            awaited: table.awaited(),
            leaving: table.is_leaving(),
        }
    }

    /// The locks held or waited for at this node whose names begin like that, by name.
    #[must_use]
    pub fn local_locks(&self, prefix: &str) -> Vec<LockStatus> {
        self.parts.table.local_locks(prefix, false)
    }

    /// The same of all members, by name and node, and the members that did not answer in time.
    pub async fn locks(&self, prefix: &str) -> (Vec<LockStatus>, Vec<NodeId>) {
        self.parts.table.all_locks(prefix, false).await
    }

    /// How many messages of each kind it has sent and taken.
    #[must_use]
    pub fn messages(&self) -> Vec<MessageCount> {
        self.parts.table.messages()
    }

    /// What can be seen from outside: events and metrics.
    #[must_use]
    pub fn observer(&self) -> &Arc<Observer> {
        &self.parts.table.observer
    }

    /// Waits until all members have met and all links are up.
    pub async fn ready(&self) {
        self.parts.table.begun().await;
        self.parts.links.all_up().await;
    }

    /// Cuts the connection to a peer, which is connected anew: for trying out what that does.
    pub fn cut(&self, peer: NodeId) {
        self.parts.links.cut(peer);
    }

    /// Takes no more requests, and tells whoever waits.
    pub fn leave(&self) {
        self.parts.table.leave();
    }

    /// Whether it takes no more requests.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.parts.table.is_leaving()
    }

    /// Waits until nothing is held here, but no longer than that.
    pub async fn idle_within(&self, grace: Duration) {
        self.parts.table.idle_within(grace).await;
    }

    /// Takes no more requests, waits up to `grace` for what is held, passes resting tokens on, and
    /// ends when the peers have everything. What is still held then is lost.
    pub async fn shutdown(&self, grace: Duration) {
        let Parts { table, links, .. } = &*self.parts;
        table.leave();
        table.idle_within(grace).await;
        table.lose_all();
        table.pass_tokens_on(Self::FETCHED).await;
        // A peer that is down acknowledges nothing; it is not waited for longer than that.
        let _ = tokio::time::timeout(Self::ACKNOWLEDGED, links.drained()).await;
        links.stop();
    }
}

/// Installs every view that is decided, as long as the node lives.
fn follow(
    mut views: tokio::sync::watch::Receiver<Arc<crate::view::View>>,
    table: &Arc<Table>,
    links: &Arc<Links>,
) {
    let (table, links) = (Arc::downgrade(table), Arc::downgrade(links));
    tokio::spawn(async move {
        while views.changed().await.is_ok() {
            let view = views.borrow_and_update().clone();
            let (Some(table), Some(links)) = (table.upgrade(), links.upgrade()) else { return };
            links.set_epoch(view.epoch);
            table.install(&view);
        }
    });
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
        Cluster::start_with(nodes, plans, |_| {}).await
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
        Cluster::start_under(nodes, plans, change, |members| Arc::new(Fixed::new(members))).await
    }

    /// The same, under the view service that `service` makes of the members' addresses for each node.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start_under(
        nodes: usize,
        plans: Plans,
        change: impl Fn(&mut Config),
        service: impl Fn(Vec<String>) -> Arc<dyn ViewService>,
    ) -> Result<Self, StartError> {
        let listening = |source| StartError::Listen { address: "127.0.0.1:0".into(), source };
        let bind = |_| {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?.to_string();
            Ok((listener, address))
        };
        let bound = (0..nodes).map(bind).collect::<Result<Vec<_>, _>>().map_err(listening)?;
        let members: Vec<String> = bound.iter().map(|(_, address)| address.clone()).collect();
        let mut started = Vec::with_capacity(nodes);
        for (index, (listener, _)) in bound.into_iter().enumerate() {
            let mut config = Config::new(NodeId::new(index), members.clone(), plans.clone());
            change(&mut config);
            started.push(Node::start_on(config, listener, service(members.clone())).await?);
        }
        for node in &started {
            node.ready().await;
        }
        Ok(Cluster { nodes: started })
    }

    /// Ends all members at once: nobody is left to pass tokens on to.
    pub async fn shutdown(self) {
        for node in &self.nodes {
            node.parts.table.leave();
        }
        for node in &self.nodes {
            node.parts.table.lose_all();
            node.parts.links.stop();
        }
    }
}
