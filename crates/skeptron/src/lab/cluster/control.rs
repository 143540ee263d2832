//! Kills, restarts, pauses and separates the members of this process, and serves their APIs.

use std::collections::BTreeSet;
use std::sync::{Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use skeptron_net::api::{Api, ApiConfig, ApiError, Listeners, ListeningFrontEnd};
use skeptron_net::{Cluster, MemberId, Node, StartError};
use thiserror::Error;
use tokio::sync::Mutex;

use super::Live;
use crate::lab::wire::ClusterChange;

/// A port may be held a moment longer by who had it before.
const PORT_WITHIN: Duration = Duration::from_secs(5);

/// Why something is not done to a member.
#[derive(Debug, Error)]
pub enum ActError {
    /// Somebody else's cluster.
    #[error("here members are not killed from the page; try it with `skeptron up`")]
    OnlyWatched,
    /// Nobody goes on without a member.
    #[error(
        "the layout of this cluster fits its members only, so none of them may go; start `skeptron up` \
         without a layout"
    )]
    Fixed,
    /// It is.
    #[error("{0} is killed already; restart it first")]
    Killed(MemberId),
    /// It is not.
    #[error("{0} runs; kill it first")]
    Runs(MemberId),
    /// No new life.
    #[error(transparent)]
    Start(#[from] StartError),
    /// No new life for its clients.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// What this process runs.
#[derive(Debug)]
pub(super) struct Control {
    running: Mutex<Option<Running>>,
    shown: StdMutex<Shown>,
    /// Whether members may come and go.
    is_voting: bool,
}

#[derive(Debug)]
struct Running {
    cluster: Cluster,
    /// None while the member is killed.
    apis: Vec<Option<Api>>,
    /// Where each answers, also after a restart; and clients of etcd.
    configs: Vec<(ApiConfig, Vec<String>)>,
    page: Router,
}

/// Where a member answers clients.
#[derive(Debug)]
pub struct Answering {
    /// Whom.
    pub config: ApiConfig,
    /// Where.
    pub listeners: Listeners,
    /// Where those of etcd, if anywhere.
    pub etcd: Option<Listeners>,
}

/// Who is how, for those who only look.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) killed: BTreeSet<MemberId>,
    pub(super) paused: BTreeSet<MemberId>,
    /// Groups that hear nobody else.
    pub(super) apart: Vec<BTreeSet<MemberId>>,
}

impl Shown {
    /// Whether a member is kept from the others.
    pub(super) fn is_apart(&self, id: MemberId) -> bool {
        self.apart.iter().any(|group| group.contains(&id))
    }
}

impl Control {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Takes the cluster over, and serves the API of each member with the page at its listeners; says where.
    ///
    /// # Errors
    /// If one of them cannot be served.
    pub async fn serve(
        &self,
        cluster: Cluster,
        apis: Vec<Answering>,
        page: Router,
        is_voting: bool,
    ) -> Result<Vec<String>, (MemberId, ApiError)> {
        let mut running = Running { cluster, apis: Vec::new(), configs: Vec::new(), page };
        for (node, answering) in running.cluster.nodes.iter().zip(apis) {
            let Answering { mut config, listeners, etcd } = answering;
            // The same port after a restart, also one that the system chose.
            config.listen = listeners.addresses().map(|at| at.to_string()).collect();
            let at = etcd.iter().flat_map(Listeners::addresses).map(|at| at.to_string()).collect();
            let (page, etcd) = (running.page.clone(), etcd.map(fronted));
            let served =
                Api::start_fronted(node.clone(), config.clone(), listeners, page, etcd).await;
            let api = served.map_err(|error| (node.id(), error))?;
            running.configs.push((config, at));
            running.apis.push(Some(api));
        }
        let url = |address: &String| format!("http://{address}");
        let urls = |(config, _): &(ApiConfig, _)| config.listen.iter().map(url).collect();
        let urls: Vec<Vec<String>> = running.configs.iter().map(urls).collect();
        self.answers_at(urls.clone());
        let running = Mutex::new(Some(running));
        let control = Control { running, shown: StdMutex::default(), is_voting };
        self.control.get_or_init(|| control);
        Ok(urls.into_iter().flatten().collect())
    }

    /// Whether members may be killed from the page.
    pub(super) fn may_act(&self) -> bool {
        self.control.get().is_some_and(|control| control.is_voting)
    }

    /// Who is killed, and who is kept from the others.
    pub(super) fn shown(&self) -> Shown {
        self.control.get().map(|control| control.shown().clone()).unwrap_or_default()
    }

    /// The members that are killed.
    #[must_use]
    pub fn killed(&self) -> BTreeSet<MemberId> {
        self.shown().killed
    }

    /// The groups that hear nobody else.
    #[must_use]
    pub fn apart(&self) -> Vec<BTreeSet<MemberId>> {
        self.shown().apart
    }

    fn control(&self) -> Result<&Control, ActError> {
        match self.control.get() {
            None => Err(ActError::OnlyWatched),
            Some(control) if !control.is_voting => Err(ActError::Fixed),
            Some(control) => Ok(control),
        }
    }

    /// Ends a member and its API as if its process had been killed.
    ///
    /// # Errors
    /// If it is killed already, or nobody goes on without it.
    pub async fn kill(&self, id: MemberId) -> Result<(), ActError> {
        let control = self.control()?;
        let mut running = control.running.lock().await;
        let Some(Running { cluster, apis, .. }) = &mut *running else { return Ok(()) };
        if cluster.killed().contains(&id) {
            return Err(ActError::Killed(id));
        }
        cluster.kill(id);
        // Cuts every connection of its clients.
        apis[id.place()] = None;
        let mut shown = control.shown();
        shown.killed.insert(id);
        shown.paused.remove(&id);
        drop(shown);
        if let Some(tries) = &self.tries {
            tries.forget(id);
        }
        self.tell(id, ClusterChange::Killed);
        Ok(())
    }

    /// Starts a member that was killed again; it enters the cluster by itself.
    ///
    /// # Errors
    /// If it runs, or does not start.
    pub async fn restart(&self, id: MemberId) -> Result<(), ActError> {
        let control = self.control()?;
        let mut running = control.running.lock().await;
        let Some(Running { cluster, apis, configs, page }) = &mut *running else { return Ok(()) };
        if !cluster.killed().contains(&id) {
            return Err(ActError::Runs(id));
        }
        cluster.restart(id).await?;
        let node = &cluster.nodes[id.place()];
        self.replace(node.clone());
        control.shown().killed.remove(&id);
        self.tell(id, ClusterChange::Restarted);
        apis[id.place()] = Some(serve_again(node, &configs[id.place()], page).await?);
        Ok(())
    }

    /// Lets a member stand still as if its process had been stopped, or go on. The others soon do without
    /// it, and when it goes on it finds that its lease is over.
    pub(super) async fn pause(&self, id: MemberId, is_paused: bool) -> Result<(), ActError> {
        let control = self.control()?;
        let running = control.running.lock().await;
        let Some(Running { cluster, .. }) = &*running else { return Ok(()) };
        if cluster.killed().contains(&id) {
            return Err(ActError::Killed(id));
        }
        let node = &cluster.nodes[id.place()];
        let was_paused = control.shown().paused.contains(&id);
        match (was_paused, is_paused) {
            (false, true) => {
                node.pause();
                control.shown().paused.insert(id);
                self.tell(id, ClusterChange::Paused);
            }
            (true, false) => {
                control.shown().paused.remove(&id);
                node.resume();
                self.tell(id, ClusterChange::Resumed);
            }
            _ => {}
        }
        Ok(())
    }

    /// From now on these groups neither hear nor speak to each other, nor to the rest.
    ///
    /// # Errors
    /// If nobody goes on without a member.
    pub async fn separate(&self, groups: Vec<BTreeSet<MemberId>>) -> Result<(), ActError> {
        let control = self.control()?;
        let mut running = control.running.lock().await;
        let Some(Running { cluster, .. }) = &mut *running else { return Ok(()) };
        cluster.partition(&groups);
        let ids: Vec<MemberId> = cluster.nodes.iter().map(Node::id).collect();
        let former = std::mem::replace(&mut control.shown().apart, groups);
        let (before, after) = (Shown { apart: former, ..Shown::default() }, self.shown());
        for id in ids {
            match (before.is_apart(id), after.is_apart(id)) {
                (false, true) => self.tell(id, ClusterChange::Cut),
                (true, false) => self.tell(id, ClusterChange::Healed),
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps one member from all others, or lets it back.
    pub(super) async fn cut(&self, id: MemberId, is_cut: bool) -> Result<(), ActError> {
        let mut groups = self.shown().apart;
        groups.retain_mut(|group| {
            group.remove(&id);
            !group.is_empty()
        });
        groups.extend(is_cut.then(|| BTreeSet::from([id])));
        self.separate(groups).await
    }

    fn tell(&self, id: MemberId, what: ClusterChange) {
        // Nobody may be looking.
        let _ = self.acts.send((Instant::now(), id, what));
    }

    /// Ends all members. Nobody gets a lock on the way out, whose holder may still believe that it has
    /// it.
    pub async fn end(&self) {
        let Some(control) = self.control.get() else { return };
        let Some(running) = control.running.lock().await.take() else { return };
        let Running { cluster, apis, .. } = running;
        cluster.nodes.iter().for_each(Node::leave);
        for api in apis.into_iter().flatten() {
            api.shutdown().await;
        }
        cluster.shutdown().await;
    }
}

async fn serve_again(
    node: &Node,
    (config, etcd): &(ApiConfig, Vec<String>),
    page: &Router,
) -> Result<Api, ApiError> {
    let began = Instant::now();
    loop {
        let served = async {
            let listeners = Listeners::bind(config).await?;
            let etcd = match etcd.is_empty() {
                true => None,
                false => Some(fronted(Listeners::bind_at(etcd).await?)),
            };
            Api::start_fronted(node.clone(), config.clone(), listeners, page.clone(), etcd).await
        };
        match served.await {
            Err(ApiError::Listen { .. }) if began.elapsed() < PORT_WITHIN => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            served => return served,
        }
    }
}

/// Answers clients of etcd.
fn fronted(listeners: Listeners) -> ListeningFrontEnd {
    let urls = listeners.addresses().map(|at| format!("http://{at}")).collect();
    skeptron_etcd_api::front("skeptron", listeners, urls)
}
