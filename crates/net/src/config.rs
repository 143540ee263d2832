//! What a node must know to start.

use std::collections::BTreeMap;
use std::path::PathBuf;

use skeptron_core::Setup;
use skeptron_member::MemberId;
use skeptron_member::plan::Plans;
pub use skeptron_member::{Limits, Pace};
pub use skeptron_views::views::LeaseSettings;
use thiserror::Error;

use crate::tls::Identity;

/// Everything a node must know to start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster's name; nodes of another cluster are refused.
    pub cluster: String,
    /// Which member this node is.
    pub node: MemberId,
    /// Who decides who belongs to the cluster.
    pub membership: Membership,
    /// Where this node listens for other nodes; where they find it if not given.
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

/// Who decides who belongs to the cluster.
#[derive(Clone, Debug)]
pub enum Membership {
    /// Nobody: always these, where they listen for other nodes, `HOST:PORT`, P1 first. A member that
    /// dies is waited for.
    Fixed(Vec<String>),
    /// Some of the members, by consensus.
    Voters(VoterConfig),
}

/// What a member must know of the voters, or be to be one.
#[derive(Clone, Debug)]
pub struct VoterConfig {
    /// Where other nodes find this one, `HOST:PORT`.
    pub address: String,
    /// Where the voters are; at least one that still votes. Who votes at present they say themselves.
    pub voters: BTreeMap<MemberId, String>,
    /// The folder of a voter's log; a member without one cannot become a voter.
    pub data: Option<PathBuf>,
    /// Begin a new cluster, of which this node is the first voter.
    pub init: Option<LeaseSettings>,
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
    /// Nobody decides.
    #[error("no voters are named; list at least one address under `voters`")]
    NoVoters,
    /// The number of members may change.
    #[error(
        "{algorithm} has a layout for one number of members only, but the members of this cluster may \
         change; leave the layout out, and each view gets one of its own size"
    )]
    PinnedLayout {
        /// Which.
        algorithm: &'static str,
    },
    /// Two addresses for this node.
    #[error("{node} is at {listed} among the voters, but its own address is {address}")]
    TwoAddresses {
        /// Which node.
        node: MemberId,
        /// Among the voters.
        listed: String,
        /// Its own.
        address: String,
    },
    /// A voter without a folder.
    #[error("{node} is one of the voters and needs a folder for its log; set `data`")]
    NoData {
        /// Which node.
        node: MemberId,
    },
    /// A cluster has one beginning.
    #[error(
        "a new cluster begins at {first}, the first of the voters, not at {node}; start {first} with \
         --init, and {node} without"
    )]
    InitElsewhere {
        /// Which node.
        node: MemberId,
        /// Where it begins.
        first: MemberId,
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
            membership: Membership::Fixed(members),
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
        if !(1..=100).contains(&self.cluster.len()) {
            return Err(ConfigError::ClusterName(self.cluster.len()));
        }
        match &self.membership {
            Membership::Fixed(members) => self.check_fixed(members)?,
            Membership::Voters(voters) => self.check_voters(voters)?,
        }
        let known = self.known_addresses();
        for (place, (second, address)) in known.iter().enumerate() {
            if let Some((first, _)) = known[..place].iter().find(|(_, other)| other == address) {
                let (first, second) = (*first, *second);
                return Err(ConfigError::SameAddress { first, second, address: address.clone() });
            }
        }
        if matches!(self.security, Security::Insecure) {
            let used = known.iter().map(|(_, address)| address).chain(&self.listen);
            if let Some(address) = used.into_iter().find(|address| !is_loopback(address)) {
                return Err(ConfigError::PlainBeyondLoopback { address: address.clone() });
            }
        }
        Ok(())
    }

    fn check_fixed(&self, members: &[String]) -> Result<(), ConfigError> {
        let members = members.len();
        if self.node.place() >= members {
            return Err(ConfigError::NoMember { node: self.node, members });
        }
        for plan in self.plans.all() {
            if let Some(given) = plan.given().map(Setup::nodes).filter(|&given| given != members) {
                let algorithm = plan.info().name;
                return Err(ConfigError::WrongSize { algorithm, given, members });
            }
        }
        Ok(())
    }

    fn check_voters(&self, config: &VoterConfig) -> Result<(), ConfigError> {
        let VoterConfig { address, voters, data, init } = config;
        let Some((&first, _)) = voters.first_key_value() else {
            return Err(ConfigError::NoVoters);
        };
        if let Some(plan) = self.plans.all().find(|plan| plan.given().is_some()) {
            return Err(ConfigError::PinnedLayout { algorithm: plan.info().name });
        }
        if let Some(other) = voters.get(&self.node).filter(|other| *other != address) {
            let (listed, address) = (other.clone(), address.clone());
            return Err(ConfigError::TwoAddresses { node: self.node, listed, address });
        }
        let votes = voters.contains_key(&self.node) || init.is_some();
        if votes && data.is_none() {
            return Err(ConfigError::NoData { node: self.node });
        }
        if init.is_some() && first != self.node {
            return Err(ConfigError::InitElsewhere { node: self.node, first });
        }
        Ok(())
    }

    /// Where nodes are, as far as it is configured.
    fn known_addresses(&self) -> Vec<(MemberId, String)> {
        match &self.membership {
            Membership::Fixed(members) => {
                let member =
                    |(place, address): (usize, &String)| (MemberId::at(place), address.clone());
                members.iter().enumerate().map(member).collect()
            }
            Membership::Voters(VoterConfig { address, voters, .. }) => {
                let mut known = voters.clone();
                known.insert(self.node, address.clone());
                known.into_iter().collect()
            }
        }
    }

    /// Where other nodes find this one.
    #[must_use]
    pub fn address(&self) -> &str {
        match &self.membership {
            Membership::Fixed(members) => &members[self.node.place()],
            Membership::Voters(config) => &config.address,
        }
    }

    /// Where this node listens for other nodes.
    #[must_use]
    pub fn listen_address(&self) -> &str {
        self.listen.as_deref().unwrap_or_else(|| self.address())
    }
}

/// Whether `HOST:PORT` is of the loopback interface, without asking the network.
#[must_use]
pub fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
