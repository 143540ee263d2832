//! A node: links, view service and member core in one program.

mod acquire;
mod drain;
mod life;
mod others;
mod renew;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt as _;
use skeptron_member::clock::MonoTime;
use skeptron_member::report::{
    Drain, LockListing, LockStatus, MemberStatus, MessageCount, SessionListing, Status,
    milliseconds,
};
use skeptron_member::session::SessionHandle;
use skeptron_member::{Halt, LockError, MemberCore, MemberId};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::config::{Config, Membership, Security};
use crate::env;
use crate::error::{NotEntered, StartError};
use crate::etcd::Etcd;
use crate::link::block::Blocked;
use crate::link::listen::Listener;
use crate::link::{Links, draw_incarnation};
use crate::observe::Observer;
use crate::service::Voters;
use crate::shell::Shell;
use crate::shell::relay::Relays;
use crate::supervise::supervised;
use crate::view::{Fixed, NotAdmitted, View, ViewService};

pub use drain::DrainRefused;
use drain::Draining;

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

struct Parts {
    config: Config,
    observer: Arc<Observer>,
    listener: Arc<Listener>,
    service: Arc<dyn ViewService>,
    /// The voters, if they decide.
    voters: Option<Arc<Voters>>,
    /// The present life, or the last one; none before the first.
    present: ArcSwapOption<Life>,
    /// Why the last try to enter came to nothing.
    refused: watch::Sender<Option<NotAdmitted>>,
    relays: Arc<Relays>,
    /// It begins no other life.
    is_closed: AtomicBool,
    /// Whether it shall serve no clients.
    drain: Draining,
    /// Counts lives.
    lives: watch::Sender<u64>,
    /// Enters anew whenever a life is over.
    living: OnceLock<AbortHandle>,
}

/// One life of the node as a member.
#[derive(Debug)]
struct Life {
    shell: Arc<Shell>,
    links: Arc<Links>,
}

impl Life {
    /// The members and their links.
    fn members(&self) -> Vec<MemberStatus> {
        let view = self.shell.core().view();
        let life = |id| Some(format!("{:016x}", view.member(id)?.incarnation?));
        let api = |id| view.member(id).map(|member| member.api.clone()).unwrap_or_default();
        let members = self.links.members().into_iter();
        members.map(|it| MemberStatus { life: life(it.node), api: api(it.node), ..it }).collect()
    }
}

impl Node {
    /// How long a leaving node waits for its tokens to be fetched.
    const FETCHED: Duration = Duration::from_secs(2);
    /// How long a leaving node waits for its peers to acknowledge.
    const ACKNOWLEDGED: Duration = Duration::from_secs(2);
    /// How long a node waits before it tries to enter again.
    const REFUSED: Duration = Duration::from_secs(2);

    /// Starts a member. Returns at once: it enters the cluster and links come up in the background,
    /// and requests wait for that.
    ///
    /// # Errors
    /// If the configuration is wrong, its address cannot be listened at, or its folder is not its own.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        config.check()?;
        let address = config.listen_address().to_string();
        let listening = match tokio::net::TcpListener::bind(&address).await {
            Ok(listener) => listener.into_std(),
            Err(error) => Err(error),
        };
        let listener = listening.map_err(|source| StartError::Listen { address, source })?;
        Node::start_at(config, listener).await
    }

    /// Starts a member on a listener that is bound already.
    ///
    /// # Errors
    /// If the configuration is wrong, or its folder is not its own.
    pub async fn start_at(config: Config, listener: TcpListener) -> Result<Self, StartError> {
        Node::start_blocking(config, listener, BTreeSet::new()).await
    }

    /// The same, with these peers blocked from the beginning.
    pub(crate) async fn start_blocking(
        config: Config,
        listener: TcpListener,
        peers: BTreeSet<MemberId>,
    ) -> Result<Self, StartError> {
        config.check()?;
        let blocked = Blocked::default();
        blocked.set(peers);
        let observer = Arc::new(Observer::new(config.node));
        if let Security::Tls(identity) = &config.security
            && let Ok(own) = identity.own()
        {
            observer.set_certificate(own.not_after);
        }
        match config.membership.clone() {
            Membership::Fixed(members) => {
                let fixed = Arc::new(Fixed::new(members, draw_incarnation()));
                let listener = Listener::new(&config, listener, blocked, Arc::clone(&observer))?;
                Node::assemble(config, listener, observer, fixed, None)
            }
            Membership::Voters(voters) => {
                let (watching, block) = (Arc::clone(&observer), blocked.clone());
                let voters = Voters::start(&config, &voters, block, watching).await?;
                let listener = Listener::new(&config, listener, blocked, Arc::clone(&observer))?;
                let service = Arc::clone(&voters) as Arc<dyn ViewService>;
                Node::assemble(config, listener, observer, service, Some(voters))
            }
            Membership::Etcd(etcd) => {
                let etcd = Etcd::start(&config, &etcd, Arc::clone(&observer))?;
                let listener = Listener::new(&config, listener, blocked, Arc::clone(&observer))?;
                Node::assemble(config, listener, observer, etcd, None)
            }
        }
    }

    fn assemble(
        config: Config,
        listener: Listener,
        observer: Arc<Observer>,
        service: Arc<dyn ViewService>,
        voters: Option<Arc<Voters>>,
    ) -> Result<Self, StartError> {
        let listener = Arc::new(listener);
        if let Some(voters) = &voters {
            listener.connect(&voters.acceptor());
        }
        let mut entering = Arc::clone(&service).enter();
        let parts = Arc::new(Parts {
            config,
            observer,
            listener,
            service,
            voters,
            present: ArcSwapOption::empty(),
            refused: watch::Sender::new(None),
            relays: Arc::default(),
            is_closed: AtomicBool::new(false),
            drain: Draining::default(),
            lives: watch::Sender::new(0),
            living: OnceLock::new(),
        });
        // Where nobody has to be asked the node is a member at once.
        let first = match (&mut entering).now_or_never() {
            Some(Ok(admission)) => Some(parts.begin(admission)?),
            Some(Err(refused)) => {
                parts.refused.send_replace(Some(refused));
                None
            }
            None => None,
        };
        let living = life::live(Arc::downgrade(&parts), first, entering);
        let observer = Arc::clone(&parts.observer);
        let living = tokio::spawn(supervised(observer, "entering the cluster", living));
        parts.living.get_or_init(|| living.abort_handle());
        Ok(Node { parts })
    }

    /// Which member it is.
    #[must_use]
    pub fn id(&self) -> MemberId {
        self.parts.config.node
    }

    /// Where other nodes find it.
    #[must_use]
    pub fn address(&self) -> &str {
        self.parts.config.address()
    }

    /// The node, its view and its links.
    #[must_use]
    pub fn status(&self) -> Status {
        let Parts { config, observer, service, present, .. } = &*self.parts;
        let life = present.load();
        let core = life.as_ref().map(|life| life.shell.core());
        let load = core.map(MemberCore::load).unwrap_or_default();
        let withheld = core.and_then(MemberCore::withheld);
        let mut status = Status {
            cluster: config.cluster.clone(),
            node: config.node,
            version: env!("CARGO_PKG_VERSION").to_string(),
            epoch: core.map_or(0, |core| core.view().epoch),
            algorithm: config.plans.default_algorithm().to_string(),
            prefixes: config
                .plans
                .prefixes()
                .map(|(prefix, algorithm)| (prefix.to_string(), algorithm.to_string()))
                .collect(),
            members: life.as_ref().map(|life| self.unless_out(life.members())).unwrap_or_default(),
            up_ms: milliseconds(observer.up()),
            known_locks: load.known_locks as u64,
            held_locks: load.held_locks as u64,
            waiters: load.waiters as u64,
            sessions: load.sessions as u64,
            awaited: core.map(MemberCore::missing).unwrap_or_default(),
            away: withheld.as_ref().map(|withheld| withheld.away.clone()).unwrap_or_default(),
            away_ms: withheld
                .as_ref()
                .and_then(|withheld| withheld.since)
                .map(|since| milliseconds(env::now().since(since))),
            withheld_locks: withheld.map_or(0, |withheld| withheld.locks as u64),
            views: service.report(),
            lease_left_ms: core
                .map(MemberCore::lease)
                .filter(|&lease| lease != MonoTime::NEVER)
                .map(|lease| milliseconds(env::until(lease))),
            leaving: core.is_some_and(MemberCore::is_leaving),
            drain: self.drained(),
            halted: self.trouble(),
            causes: Vec::new(),
        };
        status.causes = status.find_causes(observer.failure().is_some(), life.is_some());
        status
    }

    /// Why it grants nothing at present, if so.
    fn trouble(&self) -> Option<String> {
        if let Some(failure) = self.parts.observer.failure() {
            return Some(failure);
        }
        match &*self.parts.present.load() {
            Some(life) => life.shell.core().halted().map(Halt::to_string),
            None => Some(match &*self.parts.refused.borrow() {
                Some(refused) => refused.to_string(),
                None => "it has not entered the cluster yet".to_string(),
            }),
        }
    }

    /// The view it is in; none before it has entered the cluster.
    #[must_use]
    pub fn view(&self) -> Option<Arc<View>> {
        self.parts.present.load().as_ref().map(|life| life.shell.core().view())
    }

    /// The locks held or waited for at this node whose names begin like that, by name.
    #[must_use]
    pub fn local_locks(&self, prefix: &str) -> Vec<LockStatus> {
        let life = self.living();
        life.map(|life| life.shell.core().listing(env::now(), prefix)).unwrap_or_default()
    }

    /// The first locks held or waited for at any member whose names begin like that and come after
    /// another name; `most` at most.
    pub async fn locks(&self, prefix: &str, after: &str, most: usize) -> LockListing {
        match self.living() {
            Ok(life) => life.shell.all_locks(prefix, after, most).await,
            Err(silent) => LockListing::new(Vec::new(), silent, false, most),
        }
    }

    /// The first sessions at any member whose handles come after another; `most` at most.
    pub async fn sessions(&self, after: SessionHandle, most: usize) -> SessionListing {
        match self.living() {
            Ok(life) => life.shell.all_sessions(after, most).await,
            Err(silent) => SessionListing::new(Vec::new(), silent, false, most),
        }
    }

    /// The present life if the node is a member. Otherwise what it knew of locks and sessions is not true
    /// any more, and the others are not asked: all members that it knew of.
    fn living(&self) -> Result<Arc<Life>, Vec<MemberId>> {
        let Some(life) = self.parts.present.load_full() else { return Err(vec![self.id()]) };
        let core = life.shell.core();
        if core.halted().is_none() && self.drained() != Some(Drain::Drained) {
            return Ok(life);
        }
        Err(core.view().ids().collect())
    }

    /// How many messages of each kind it has sent and taken.
    #[must_use]
    pub fn messages(&self) -> Vec<MessageCount> {
        let life = self.parts.present.load();
        life.as_ref().map(|life| life.shell.messages()).unwrap_or_default()
    }

    /// The present life, as soon as there has been one.
    ///
    /// # Errors
    /// If the node ends before that.
    async fn life(&self) -> Result<Arc<Life>, LockError> {
        if let Some(life) = &*self.parts.present.load() {
            return Ok(Arc::clone(life));
        }
        let mut lives = self.parts.lives.subscribe();
        loop {
            if let Some(life) = self.parts.present.load_full() {
                return Ok(life);
            }
            if self.parts.is_closed.load(Ordering::Acquire) {
                return Err(LockError::Leaving(self.id()));
            }
            // The sender is a field of what is borrowed here.
            let _ = lives.changed().await;
        }
    }

    /// The shell of the present life, or of the last one.
    ///
    /// # Errors
    /// If the node has never been a member.
    pub(crate) fn shell(&self) -> Result<Arc<Shell>, NotEntered> {
        match &*self.parts.present.load() {
            Some(life) => Ok(Arc::clone(&life.shell)),
            None => Err(NotEntered { member: self.id(), why: self.trouble().unwrap_or_default() }),
        }
    }

    /// What goes on to other members for clients here, and comes from them.
    pub(crate) fn relays(&self) -> &Relays {
        &self.parts.relays
    }

    /// Ends all sessions, and opens no more.
    pub(crate) fn close_sessions(&self) {
        if let Ok(shell) = self.shell() {
            shell.close_sessions();
        }
    }

    /// The voters that decide who belongs to the cluster; none if somebody else does.
    #[must_use]
    pub fn voters(&self) -> Option<&Arc<Voters>> {
        self.parts.voters.as_ref()
    }

    /// Waits until the node has entered the cluster for the first time.
    ///
    /// # Errors
    /// If the cluster refuses it. It goes on trying.
    pub async fn entered(&self) -> Result<(), NotAdmitted> {
        let mut refused = self.parts.refused.subscribe();
        tokio::select! {
            biased;
            Ok(_) = self.life() => Ok(()),
            Ok(refused) = refused.wait_for(Option::is_some) => {
                Err(refused.clone().unwrap_or_else(|| NotAdmitted(String::new())))
            }
        }
    }

    /// The metrics in the text form of OpenMetrics.
    #[must_use]
    pub fn metrics(&self) -> String {
        let observer = &self.parts.observer;
        observer.set_status(&self.status());
        if let Some(life) = &*self.parts.present.load() {
            observer.set_load(life.shell.core().load());
        }
        observer.metrics()
    }

    /// What can be seen from outside: events and counters.
    #[must_use]
    pub fn observer(&self) -> &Arc<Observer> {
        &self.parts.observer
    }

    /// Waits until all members have met and all links are up.
    pub async fn ready(&self) {
        let Ok(life) = self.life().await else { return };
        life.shell.met().await;
        life.links.all_up().await;
    }

    /// Cuts the connection to a peer, which is connected anew: for trying out what that does.
    pub fn cut(&self, peer: MemberId) {
        if let Some(life) = &*self.parts.present.load() {
            life.links.cut(peer);
        }
    }

    /// Neither speaks to these peers nor hears them from now on, and to all others as usual: for
    /// trying out what a partition does.
    pub fn block(&self, peers: BTreeSet<MemberId>) {
        self.parts.listener.blocked().set(peers.clone());
        peers.into_iter().for_each(|peer| self.cut(peer));
    }

    /// Stands still from now on, as if its process had been stopped (SIGSTOP): none of its tasks takes a
    /// step, what arrives waits, and time goes on, so that its lease ends unnoticed. For trying out what
    /// that does.
    pub fn pause(&self) {
        self.parts.observer.pause.close();
    }

    /// Goes on after [`Node::pause`].
    pub fn resume(&self) {
        self.parts.observer.pause.open();
    }

    /// Takes no more requests, tells whoever waits, and begins no other life.
    pub fn leave(&self) {
        self.parts.close();
        self.resume();
        if let Some(life) = &*self.parts.present.load() {
            life.shell.leave();
        }
    }

    /// Whether it takes no more requests.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.parts.present.load().as_ref().is_some_and(|life| life.shell.core().is_leaving())
    }

    /// Waits until nothing is held here, but no longer than that.
    pub async fn idle_within(&self, grace: Duration) {
        if let Some(life) = self.parts.present.load_full() {
            life.shell.idle_within(grace).await;
        }
    }

    /// Takes no more requests, waits up to `grace` for what is held, leaves the cluster, and ends when
    /// the others know. What is still held then is lost.
    pub async fn shutdown(&self, grace: Duration) {
        let Parts { service, present, listener, .. } = &*self.parts;
        self.parts.close();
        if let Some(life) = present.load_full() {
            life.shell.leave();
            life.shell.idle_within(grace).await;
            life.shell.lose_all();
            if !Arc::clone(service).leave().await {
                // Nobody goes on without this member, so what it has must be fetched.
                life.shell.pass_tokens_on(Self::FETCHED).await;
                // A peer that is down acknowledges nothing; it is not waited for longer than that.
                env::timeout(Self::ACKNOWLEDGED, life.links.drained()).await;
            }
            life.links.stop();
        }
        listener.stop();
    }

    /// Takes no more requests, and loses what it holds.
    pub(crate) fn stop(&self) {
        self.parts.close();
        if let Some(life) = self.parts.present.load_full() {
            life.shell.lose_all();
            life.links.stop();
        }
        self.parts.listener.stop();
        self.parts.service.stop();
    }

    /// Waits until a node that was ended writes no more: another life may use its folder.
    pub(crate) async fn ended(&self) {
        if let Some(voters) = &self.parts.voters {
            voters.ended().await;
        }
    }

    /// Ends at once, as if its process had been killed: nobody is told, and what it holds is lost when
    /// its lease ends.
    pub fn kill(&self) {
        let Parts { present, listener, service, .. } = &*self.parts;
        self.parts.close();
        listener.stop();
        service.stop();
        if let Some(life) = present.load_full() {
            life.links.stop();
            life.shell.stop_living();
        }
        // What stands still would never end.
        self.resume();
    }
}

impl Parts {
    /// No other life begins; whoever waits for one is told.
    fn close(&self) {
        self.living.get().inspect(|living| living.abort());
        self.is_closed.store(true, Ordering::Release);
        self.lives.send_modify(|_| {});
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("node", &self.config.node).finish_non_exhaustive()
    }
}
