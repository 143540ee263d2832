//! Why a node does not start, or grants nothing.

use skeptron_member::{Halt, MemberId};
use thiserror::Error;

use crate::config::ConfigError;
use crate::etcd::EtcdError;
use crate::link::LinksError;
use crate::service::ServiceError;

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The links cannot be set up.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// The view service cannot start.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// etcd cannot be spoken to like that.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
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

/// A node that has never been a member.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{member} grants no locks: {why}")]
pub struct NotEntered {
    pub(crate) member: MemberId,
    pub(crate) why: String,
}
