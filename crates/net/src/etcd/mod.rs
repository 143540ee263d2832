//! Views and leases kept in an etcd cluster that exists already.
//!
//! etcd's own leases are not used: its leader counts them, and a deposed leader may answer for a while.
//! Everything is one kind of transaction, ordered by etcd's consensus; `EtcdMember` has the
//! rules and why they are safe, [`skeptron_views::views::Views`] is the value of the one key `view`.

mod call;
mod driver;
mod member;
mod observed;
mod txn;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use skeptron_client::is_loopback;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use crate::config::{Config, EtcdConfig, etcd_address};
use crate::observe::Observer;
use crate::supervise::supervised;
use crate::tls::Part;
use crate::view::{Admission, NotAdmitted, ServiceReport, ViewService, answer};
use call::Caller;
use driver::{Driver, Order};
use txn::Keys;

/// Why etcd cannot be spoken to.
#[derive(Debug, Error)]
pub enum EtcdError {
    /// A file of the TLS settings.
    #[error("the {what} for etcd is invalid: {why}; check the files named under `etcd.tls`")]
    Tls {
        /// Which part.
        what: Part,
        /// What is wrong with it.
        why: String,
    },
    /// This is no endpoint.
    #[error("`{0}` is not an endpoint of etcd")]
    Endpoint(String),
}

/// The view service of a node whose cluster is kept in etcd.
#[derive(Debug)]
pub struct Etcd {
    orders: mpsc::UnboundedSender<Order>,
    report: watch::Receiver<ServiceReport>,
}

impl Etcd {
    /// Begins to speak with etcd, which need not be up yet.
    ///
    /// # Errors
    /// If the certificates cannot be used.
    pub(crate) fn start(
        config: &Config,
        etcd: &EtcdConfig,
        observer: Arc<Observer>,
    ) -> Result<Arc<Self>, EtcdError> {
        let caller = Caller::new(Keys::new(&etcd.prefix, &config.cluster), etcd)?;
        let is_open = |endpoint: &&String| {
            etcd_address(endpoint).is_some_and(|(tls, address)| !tls && !is_loopback(address))
        };
        for endpoint in etcd.endpoints.iter().filter(is_open) {
            tracing::warn!(
                endpoint,
                "the connection to etcd has no TLS: anyone on the network path can change the membership"
            );
        }
        let (orders, received) = mpsc::unbounded_channel();
        let watching = Arc::clone(&observer);
        let (driver, report) = Driver::new(config, etcd, caller, orders.clone(), watching);
        tokio::spawn(supervised(observer, "the view service", driver.run(received)));
        Ok(Arc::new(Etcd { orders, report }))
    }
}

impl ViewService for Etcd {
    fn enter(self: Arc<Self>) -> BoxFuture<'static, Result<Admission, NotAdmitted>> {
        async move { answer(|reply| drop(self.orders.send(Order::Enter(reply)))).await }.boxed()
    }

    fn leave(self: Arc<Self>) -> BoxFuture<'static, bool> {
        async move {
            let (reply, left) = oneshot::channel();
            let _ = self.orders.send(Order::Leave(reply));
            left.await.is_ok()
        }
        .boxed()
    }

    fn ask_for_view(&self, why: &str) {
        tracing::info!(why, "requesting a new view");
        let _ = self.orders.send(Order::Renumber);
    }

    fn stop(&self) {
        let _ = self.orders.send(Order::Stop);
    }

    fn report(&self) -> ServiceReport {
        self.report.borrow().clone()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.stop();
    }
}
