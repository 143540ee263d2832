//! What a node must know to start.

use skeptron_core::Setup;
use skeptron_member::MemberId;
use skeptron_member::plan::Plans;
pub use skeptron_member::{Limits, Pace};
use thiserror::Error;

use crate::tls::Identity;

/// Everything a node must know to start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster's name; nodes of another cluster are refused.
    pub cluster: String,
    /// Which member this node is.
    pub node: MemberId,
    /// Where each member listens for other nodes, `HOST:PORT`, P1 first.
    pub members: Vec<String>,
    /// Where this node listens for other nodes; its own address among the members if not given.
    pub listen: Option<String>,
    /// How links are protected.
    pub security: Security,
    /// Which algorithm guards which lock.
    pub plans: Plans,
    /// How often in a row a lock may be handed over between waiters of this node without asking the
    /// algorithm. 0 is as fair as the algorithm; more is faster where an entry costs messages.
    pub handovers: u32,
    /// How fast an idle token goes round.
    pub pace: Pace,
    /// What may take how much.
    pub limits: Limits,
}

/// How links between nodes are protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// Plain TCP; only between addresses of the loopback interface.
    Insecure,
    /// TLS, each side proving by its certificate which node it is.
    Tls(Identity),
}

/// Why a node cannot start from this.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The node is none of the members.
    #[error("this node is {node}, but there are only {members} members; list its address, too")]
    NoMember {
        /// Which node.
        node: MemberId,
        /// How many members.
        members: usize,
    },
    /// An algorithm is laid out on another number of nodes.
    #[error("{algorithm} is laid out on {given} nodes, but the cluster has {members} members")]
    WrongSize {
        /// Which.
        algorithm: &'static str,
        /// Its nodes.
        given: usize,
        /// How many members.
        members: usize,
    },
    /// Two members listen at one address.
    #[error("{first} and {second} have the same address {address}")]
    SameAddress {
        /// One.
        first: MemberId,
        /// The other.
        second: MemberId,
        /// Where.
        address: String,
    },
    /// The cluster's name is empty or too long.
    #[error("a cluster's name has 1 to 100 bytes; this one has {0}")]
    ClusterName(usize),
    /// Plain TCP beyond the loopback interface.
    #[error(
        "{address} is not on the loopback interface: without TLS nodes speak only there; run \
         `skeptron tls init` and name the certificates, or use 127.0.0.1"
    )]
    PlainBeyondLoopback {
        /// Which address.
        address: String,
    },
}

impl Config {
    /// A member of a cluster whose nodes speak plain TCP on the loopback interface.
    #[must_use]
    pub fn new(node: MemberId, members: Vec<String>, plans: Plans) -> Self {
        Config {
            cluster: "skeptron".to_string(),
            node,
            members,
            listen: None,
            security: Security::Insecure,
            plans,
            handovers: 0,
            pace: Pace::default(),
            limits: Limits::default(),
        }
    }

    /// The first thing that is wrong with it, if anything is.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let members = self.members.len();
        if self.node.place() >= members {
            return Err(ConfigError::NoMember { node: self.node, members });
        }
        if !(1..=100).contains(&self.cluster.len()) {
            return Err(ConfigError::ClusterName(self.cluster.len()));
        }
        for plan in self.plans.all() {
            if let Some(given) = plan.given().map(Setup::nodes).filter(|&given| given != members) {
                let algorithm = plan.info().name;
                return Err(ConfigError::WrongSize { algorithm, given, members });
            }
        }
        for (second, address) in self.members.iter().enumerate() {
            if let Some(first) = self.members[..second].iter().position(|other| other == address) {
                let (first, second) = (MemberId::at(first), MemberId::at(second));
                return Err(ConfigError::SameAddress { first, second, address: address.clone() });
            }
        }
        if matches!(self.security, Security::Insecure) {
            let used = self.members.iter().chain(&self.listen);
            if let Some(address) = used.into_iter().find(|address| !is_loopback(address)) {
                return Err(ConfigError::PlainBeyondLoopback { address: address.clone() });
            }
        }
        Ok(())
    }

    /// Where this node listens for other nodes.
    #[must_use]
    pub fn listen_address(&self) -> &str {
        self.listen.as_deref().unwrap_or(&self.members[self.node.place()])
    }
}

/// Whether `HOST:PORT` is of the loopback interface, without asking the network.
#[must_use]
pub fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
