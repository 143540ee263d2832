//! Views decided by voters: consensus in some of the members themselves. The rules are
//! [`skeptron_views`]; here are its messages, its file and its timers.

mod clocks;
mod driver;
mod exchange;
mod folder;
mod running_voter;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use skeptron_member::MemberId;
use skeptron_member::clock::Drift;
use skeptron_views::voter::{AdminAccepted, AdminRefused};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

pub use folder::DataError;
pub use skeptron_views::voter::Admin;

use crate::config::{Config, VoterConfig};
use crate::env;
use crate::link::LinksError;
use crate::link::block::Blocked;
use crate::link::connect::Protection;
use crate::link::listen::ServiceAcceptor;
use crate::observe::Observer;
use crate::supervise::supervised;
use crate::tls::{Identity, TlsError};
use crate::view::{Admission, NotAdmitted, ServiceReport, ViewService, answer};
use driver::{Driver, Input};
use exchange::Exchange;
use folder::Contents;

/// How long an order may take to find the leader.
const ORDER_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait before an order is tried again.
const ORDER_AGAIN: Duration = Duration::from_millis(200);
/// How long a starting cluster asks the other voters whether there is one already.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);
/// Words that wait to be read; more are lost.
const MOST_HEARD: usize = 4096;

/// Why a view service does not start.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// The folder.
    #[error(transparent)]
    Data(#[from] DataError),
    /// What is in it.
    #[error("the voter cannot start: {0}")]
    Voter(#[from] skeptron_views::voter::StartError),
    /// The certificates.
    #[error(transparent)]
    Links(#[from] LinksError),
}

/// Why an order was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// The leader refuses.
    #[error(transparent)]
    Refused(#[from] AdminRefused),
    /// Nobody leads.
    #[error(
        "no leading voter answered within {} s: a majority of the voters must be up and connected",
        ORDER_WITHIN.as_secs()
    )]
    NoLeader,
}

/// The view service of a node, which is a voter itself or not.
pub struct Voters {
    inputs: mpsc::UnboundedSender<Input>,
    report: watch::Receiver<ServiceReport>,
    exchange: Arc<Exchange>,
    disk_failed: watch::Receiver<Option<String>>,
}

impl Voters {
    /// Begins to take part in consensus, if this node votes, and to listen to those who do.
    ///
    /// # Errors
    /// If the folder cannot be used, or is not this voter's.
    pub(crate) async fn start(
        config: &Config,
        voters: &VoterConfig,
        blocked: Blocked,
        observer: Arc<Observer>,
    ) -> Result<Arc<Self>, ServiceError> {
        let (cluster, me) = (config.cluster.as_str(), config.node);
        let protection = Protection::new(&config.security).map_err(LinksError::from)?;
        let (heard, words) = mpsc::channel(MOST_HEARD);
        let mut addresses = voters.voters.clone();
        addresses.remove(&me);
        let whoami = (cluster.to_string(), me);
        let exchange =
            Exchange::new(whoami, (protection, blocked), config.limits, addresses, heard);
        let contents = match &voters.data {
            Some(folder) => Some(folder::open(folder, cluster, me)?),
            None => None,
        };
        let contents = match (contents, voters.init) {
            (Some(Contents::Empty(disk)), Some(settings)) => {
                let (exchange, others) = (Arc::clone(&exchange), voters.voters.keys().copied());
                if let Some(by) = exchange.begun(others, BEGUN_WITHIN).await {
                    return Err(DataError::Begun { by, cluster: cluster.to_string() }.into());
                }
                let (log, found) = folder::begin(disk, (cluster, me), voters, settings)?;
                Some(Contents::Log(Box::new(log), found))
            }
            (Some(Contents::Log(..)), Some(_)) => {
                let folder = voters.data.clone().unwrap_or_default();
                let source = skeptron_views::log::LogError::Exists;
                return Err(DataError::Log { folder, source }.into());
            }
            (contents, _) => contents,
        };
        let (inputs, received) = mpsc::unbounded_channel();
        let (fails, disk_failed) = watch::channel(None);
        let (driver, report) = Driver::new(
            config,
            voters,
            contents,
            &exchange,
            inputs.clone(),
            Arc::clone(&observer),
            fails,
        )?;
        let driving = driver.run(received, words);
        tokio::spawn(supervised(observer, "the view service", driving));
        Ok(Arc::new(Voters { inputs, report, exchange, disk_failed }))
    }

    /// Where other nodes' connections go.
    pub(crate) fn acceptor(&self) -> Arc<dyn ServiceAcceptor> {
        Arc::clone(&self.exchange) as _
    }

    /// New connections have these certificates from now on; present ones end.
    ///
    /// # Errors
    /// If they cannot be used; then the former ones stay.
    pub(crate) fn renew(&self, identity: &Identity) -> Result<(), TlsError> {
        self.exchange.renew(identity)
    }

    /// Gives an order to whoever leads, again and again while another change is under way or
    /// leadership is handed over.
    ///
    /// # Errors
    /// If it is refused, or nobody leads.
    pub async fn order(&self, order: Admin) -> Result<AdminAccepted, OrderError> {
        let deadline = env::now().after(ORDER_WITHIN);
        loop {
            let (reply, answer) = oneshot::channel();
            let _ = self.inputs.send(Input::Order { order, reply });
            let answer = env::timeout(ORDER_AGAIN * 5, answer).await;
            let refused = match answer {
                Some(Ok(Ok(accepted))) => return Ok(accepted),
                Some(Ok(Err(refused))) => refused,
                _ => AdminRefused::NotLeader(None),
            };
            let passes = match refused {
                AdminRefused::NotLeader(_) => Some(OrderError::NoLeader),
                AdminRefused::Busy | AdminRefused::Leads(_) => Some(refused.into()),
                _ => None,
            };
            match passes {
                None => return Err(refused.into()),
                Some(error) if env::now() >= deadline => return Err(error),
                Some(_) => env::sleep(ORDER_AGAIN).await,
            }
        }
    }

    /// Every later report, too.
    #[must_use]
    pub fn reports(&self) -> watch::Receiver<ServiceReport> {
        self.report.clone()
    }

    /// The last trouble of reaching a voter, until it is reached.
    #[must_use]
    pub fn trouble(&self, voter: MemberId) -> Option<String> {
        self.exchange.trouble(voter)
    }

    /// Whether a voter answered when it was called last, if only to refuse: then it belongs to a cluster
    /// already, or is no node of this one.
    #[must_use]
    pub fn answered(&self, voter: MemberId) -> bool {
        self.exchange.answered(voter)
    }

    /// Waits until what is on this voter's disk is unknown, and says why: the process should end, and a
    /// restart finds out.
    pub async fn disk_failed(&self) -> String {
        let mut failed = self.disk_failed.clone();
        let why = failed.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            // The node is gone.
            None => std::future::pending().await,
        }
    }

    /// Waits until the voter and the membership have ended, and the folder is free.
    pub(crate) async fn ended(&self) {
        self.inputs.closed().await;
    }
}

impl ViewService for Voters {
    fn enter(self: Arc<Self>) -> BoxFuture<'static, Result<Admission, NotAdmitted>> {
        async move { answer(|reply| drop(self.inputs.send(Input::Enter(reply)))).await }.boxed()
    }

    fn leave(self: Arc<Self>) -> BoxFuture<'static, bool> {
        async move {
            let (reply, left) = oneshot::channel();
            let _ = self.inputs.send(Input::Leave(reply));
            left.await.is_ok()
        }
        .boxed()
    }

    fn ask_for_view(&self, why: &str) {
        tracing::info!(why, "requesting a new view");
        let (reply, _) = oneshot::channel();
        let _ = self.inputs.send(Input::Order { order: Admin::Renumber, reply });
    }

    fn suspect(&self, lives: Vec<u64>) {
        let _ = self.inputs.send(Input::Suspects(lives));
    }

    fn stop(&self) {
        let _ = self.inputs.send(Input::Stop);
    }

    fn drift(&self) -> Option<Drift> {
        self.report.borrow().drift_ppm.map(|ppm| Drift { ppm })
    }

    fn report(&self) -> ServiceReport {
        self.report.borrow().clone()
    }
}

impl Drop for Voters {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Voters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Voters").finish_non_exhaustive()
    }
}
