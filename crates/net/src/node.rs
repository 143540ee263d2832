//! A node: links, view service and member core in one program.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use skeptron_member::plan::Plans;
use skeptron_member::report::{LockStatus, MessageCount, Status, milliseconds};
use skeptron_member::{Halt, LockError, MemberCore, MemberId, Settings};
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::env;
use crate::link::{Links, LinksError, Post as _, draw_incarnation};
use crate::observe::Observer;
use crate::shell::{Asked, Guard, Shell};
use crate::view::{Fixed, View, ViewService};

/// A member of the cluster. Clones are the same node; it ends with [`Node::shutdown`], or when the
/// last clone and the last guard are dropped.
///
/// ```
/// use skeptron_net::{Cluster, Plan, Plans};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = Cluster::start(3, Plans::new(Plan::named("naimi-trehel")?)).await?;
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
    shell: Arc<Shell>,
    links: Arc<Links>,
}

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The links cannot be set up.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// The member cannot begin in its first view.
    #[error(transparent)]
    Core(#[from] Halt),
    /// It cannot listen.
    #[error("cannot listen at {address}: {source}; is another node running there?")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: std::io::Error,
    },
}

impl Node {
    /// How long a leaving node waits for its tokens to be fetched.
    const FETCHED: Duration = Duration::from_secs(2);
    /// How long a leaving node waits for its peers to acknowledge.
    const ACKNOWLEDGED: Duration = Duration::from_secs(2);
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
        let view = service.views().borrow().clone();
        let settings = Settings {
            plans: config.plans.clone(),
            handovers: config.handovers,
            pace: config.pace,
            limits: config.limits,
            flaw: None,
        };
        let core = MemberCore::new(config.node, settings, Arc::clone(&view))?;
        let given = view.member(config.node).and_then(|member| member.incarnation);
        let incarnation = given.unwrap_or_else(draw_incarnation);
        let links = Links::new(&config, incarnation, view, listener, Arc::clone(&observer))?;
        let shell = Shell::new(core, service, Arc::clone(&links) as _, observer);
        links.start(shell.inbox());
        let linked = Arc::downgrade(&links);
        shell.start(move |view| {
            if let Some(links) = linked.upgrade() {
                links.set_view(view);
            }
        });
        Ok(Node { parts: Arc::new(Parts { config, shell, links }) })
    }

    /// Which member it is.
    #[must_use]
    pub fn id(&self) -> MemberId {
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
        self.relieved().await;
        match self.parts.shell.ask(name, owner)? {
            Asked::Granted(guard) => Ok(guard),
            Asked::Waiting(wait) => wait.await,
        }
    }

    /// Takes the lock if no member holds it. None as soon as a member says that it holds it, and after
    /// a second if the members that must agree have not let it in by then.
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
        let mut wait = match self.parts.shell.ask(name, owner)? {
            Asked::Granted(guard) => return Ok(Some(guard)),
            Asked::Waiting(wait) => wait,
        };
        match self.parts.shell.unless_held(name, &mut wait).await {
            Some(granted) => granted.map(Some),
            // What is held may be ours, granted while the members were asked.
            None => tokio::task::unconstrained(&mut wait).now_or_never().transpose(),
        }
    }

    /// Waits for the lock, but no longer than that; none if it was not granted in that time.
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
        env::timeout(timeout, self.lock_as(name, owner)).await.transpose()
    }

    /// The node, its view and its links.
    #[must_use]
    pub fn status(&self) -> Status {
        let Parts { config, shell, links } = &*self.parts;
        let core = shell.core();
        let load = core.load();
        Status {
            cluster: config.cluster.clone(),
            node: config.node,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epoch: core.view().epoch,
            algorithm: config.plans.default_algorithm().to_string(),
            prefixes: config
                .plans
                .prefixes()
                .map(|(prefix, algorithm)| (prefix.to_string(), algorithm.to_string()))
                .collect(),
            members: links.members(),
            up_ms: milliseconds(shell.observer.up()),
            known_locks: load.known_locks as u64,
            held_locks: load.held_locks as u64,
            waiters: load.waiters as u64,
            sessions: load.sessions as u64,
            awaited: core.missing(),
            leaving: core.is_leaving(),
            halted: core.halted().map(Halt::to_string),
        }
    }

    /// The view it is in.
    #[must_use]
    pub fn view(&self) -> Arc<View> {
        self.parts.shell.core().view()
    }

    /// The locks held or waited for at this node whose names begin like that, by name.
    #[must_use]
    pub fn local_locks(&self, prefix: &str) -> Vec<LockStatus> {
        self.parts.shell.core().listing(env::now(), prefix, false)
    }

    /// The same of all members, by name and node, and the members that did not answer in time.
    pub async fn locks(&self, prefix: &str) -> (Vec<LockStatus>, Vec<MemberId>) {
        self.parts.shell.all_locks(prefix).await
    }

    /// How many messages of each kind it has sent and taken.
    #[must_use]
    pub fn messages(&self) -> Vec<MessageCount> {
        self.parts.shell.messages()
    }

    /// Waits until no peer is too far behind for a new request.
    pub(crate) async fn relieved(&self) {
        if self.parts.links.congested() {
            self.parts.links.relieved().await;
        }
    }

    pub(crate) fn shell(&self) -> &Arc<Shell> {
        &self.parts.shell
    }

    /// The metrics in the text form of OpenMetrics.
    #[must_use]
    pub fn metrics(&self) -> String {
        let observer = &self.parts.shell.observer;
        observer.set_load(self.parts.shell.core().load());
        observer.metrics()
    }

    /// What can be seen from outside: events and counters.
    #[must_use]
    pub fn observer(&self) -> &Arc<Observer> {
        &self.parts.shell.observer
    }

    /// Waits until all members have met and all links are up.
    pub async fn ready(&self) {
        self.parts.shell.met().await;
        self.parts.links.all_up().await;
    }

    /// Cuts the connection to a peer, which is connected anew: for trying out what that does.
    pub fn cut(&self, peer: MemberId) {
        self.parts.links.cut(peer);
    }

    /// Takes no more requests, and tells whoever waits.
    pub fn leave(&self) {
        self.parts.shell.leave();
    }

    /// Whether it takes no more requests.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.parts.shell.core().is_leaving()
    }

    /// Waits until nothing is held here, but no longer than that.
    pub async fn idle_within(&self, grace: Duration) {
        self.parts.shell.idle_within(grace).await;
    }

    /// Takes no more requests, waits up to `grace` for what is held, passes resting tokens on, and
    /// ends when the peers have everything. What is still held then is lost.
    pub async fn shutdown(&self, grace: Duration) {
        let Parts { shell, links, .. } = &*self.parts;
        shell.leave();
        shell.idle_within(grace).await;
        shell.lose_all();
        shell.pass_tokens_on(Self::FETCHED).await;
        // A peer that is down acknowledges nothing; it is not waited for longer than that.
        env::timeout(Self::ACKNOWLEDGED, links.drained()).await;
        links.stop();
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
            let mut config = Config::new(MemberId::at(index), members.clone(), plans.clone());
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
            node.parts.shell.leave();
        }
        for node in &self.nodes {
            node.parts.shell.lose_all();
            node.parts.links.stop();
        }
    }
}
