//! What a node must know to start.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use skeptron_core::Setup;
use skeptron_member::link::handshake::{VERSION, plans_digest};
use skeptron_member::plan::Plans;
use skeptron_member::{Fence, MemberId};
pub use skeptron_member::{Limits, Pace};
pub use skeptron_views::views::LeaseSettings;
use skeptron_views::views::{Join, version};
use thiserror::Error;

use crate::tls::Identity;
use crate::view::algorithms;
use skeptron_client::{Endpoint, is_loopback};

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
    /// How often in a row a lock may be handed over between those who waited at this node when the
    /// algorithm let it in. With 0 nodes take turns; with more, clients do, whatever their nodes.
    pub handovers: u32,
    /// What becomes of sessions that wait for each other for ever.
    pub deadlocks: Deadlocks,
    /// How fast an idle token goes round.
    pub pace: Pace,
    /// What may take how much.
    pub limits: Limits,
    /// Where clients reach this node, as `https://HOST:PORT`: clients of the other nodes are told.
    pub api: Vec<String>,
}

/// What becomes of sessions that wait for each other for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deadlocks {
    /// They are told of in the log, the metrics and the events.
    #[default]
    Report,
    /// The wait that began last is refused, too.
    RefuseYoungest,
}

/// Who decides who belongs to the cluster.
#[derive(Clone, Debug)]
pub enum Membership {
    /// Nobody: always these, where they listen for other nodes, `HOST:PORT`, P1 first. A member that
    /// dies is waited for.
    Fixed(Vec<String>),
    /// Some of the members, by consensus.
    Voters(VoterConfig),
    /// An etcd cluster that exists already.
    Etcd(EtcdConfig),
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
    pub init: Option<Init>,
}

/// How a new cluster begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Init {
    /// How long leases are at first.
    pub lease: LeaseSettings,
    /// Its epochs are above this one, and so are its fences above those of a cluster that ended there.
    pub epoch_after: u64,
}

/// What a member must know of the etcd cluster that keeps the views.
#[derive(Clone, Debug)]
pub struct EtcdConfig {
    /// Where other nodes find this one, `HOST:PORT`.
    pub address: String,
    /// Where etcd serves clients, `http://HOST:PORT` or `https://HOST:PORT`; the next one is asked when
    /// one does not answer.
    pub endpoints: Vec<String>,
    /// Whom to believe at `https` endpoints.
    pub tls: Option<EtcdTls>,
    /// What all keys begin with; the cluster's name follows.
    pub prefix: String,
    /// How long leases are, if this node is the first of the cluster.
    pub lease: LeaseSettings,
}

/// How etcd is spoken to over TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdTls {
    /// The certificate of the authority that certified etcd's servers, PEM.
    pub authority: String,
    /// The certificate and key that etcd wants to see, PEM.
    pub own: Option<(String, String)>,
}

/// Without the key.
impl std::fmt::Debug for EtcdTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EtcdTls").field("authority", &self.authority).finish_non_exhaustive()
    }
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
    #[error("no voters are configured; list at least one address under `voters`")]
    NoVoters,
    /// Nobody decides.
    #[error("no etcd endpoint is configured; list at least one under `etcd.endpoints`")]
    NoEndpoints,
    /// This is no endpoint.
    #[error(
        "`{0}` is not an endpoint of etcd; use http://127.0.0.1:2379 or https://etcd1.example:2379"
    )]
    Endpoint(String),
    /// Nobody is believed there.
    #[error("{0} needs the certificate of etcd's authority; set `etcd.tls.authority`")]
    NoEtcdAuthority(String),
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
    /// Hardly an epoch would be left.
    #[error(
        "a new cluster cannot begin after epoch {epoch}; the largest possible is {}",
        Init::LAST_EPOCH
    )]
    LateEpoch {
        /// As asked for.
        epoch: u64,
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
    /// Clients cannot come there.
    #[error(
        "`{0}` is not an address for clients; use https://HOST:PORT, http://HOST:PORT or HOST:PORT"
    )]
    Advertised(String),
    /// All members keep them all.
    #[error("{given} addresses for clients are too many; at most {}", Join::MOST_API)]
    ManyAdvertised {
        /// How many.
        given: usize,
    },
    /// The cluster's name is empty or too long.
    #[error("a cluster's name has 1 to 100 bytes; this one has {0}")]
    ClusterName(usize),
    /// Plain TCP beyond the loopback interface.
    #[error(
        "{address} is not on the loopback interface: without TLS nodes communicate only there; run \
         `skeptron tls init` and configure the certificates, or use 127.0.0.1"
    )]
    PlainBeyondLoopback {
        /// Which address.
        address: String,
    },
}

impl Init {
    /// Half of the epochs that fences have room for are left to the cluster.
    const LAST_EPOCH: u64 = Fence::MOST_EPOCHS / 2;
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
            handovers: 64,
            deadlocks: Deadlocks::Report,
            pace: Pace::default(),
            limits: Limits::default(),
            api: Vec::new(),
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
        let is_url = |url: &String| {
            url.len() <= Join::MOST_API_BYTES
                && matches!(url.parse(), Ok(Endpoint::Http(_) | Endpoint::Https(_)))
        };
        if let Some(url) = self.api.iter().find(|url| !is_url(url)) {
            return Err(ConfigError::Advertised(url.clone()));
        }
        if self.api.len() > Join::MOST_API {
            return Err(ConfigError::ManyAdvertised { given: self.api.len() });
        }
        match &self.membership {
            Membership::Fixed(members) => self.check_fixed(members)?,
            Membership::Voters(voters) => self.check_voters(voters)?,
            Membership::Etcd(etcd) => self.check_etcd(etcd)?,
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
        self.check_layouts()?;
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
        if let Some(epoch) = init.map(|it| it.epoch_after).filter(|&it| it > Init::LAST_EPOCH) {
            return Err(ConfigError::LateEpoch { epoch });
        }
        Ok(())
    }

    fn check_etcd(&self, config: &EtcdConfig) -> Result<(), ConfigError> {
        if config.endpoints.is_empty() {
            return Err(ConfigError::NoEndpoints);
        }
        for endpoint in &config.endpoints {
            match etcd_address(endpoint) {
                None => return Err(ConfigError::Endpoint(endpoint.clone())),
                Some((true, _)) if config.tls.is_none() => {
                    return Err(ConfigError::NoEtcdAuthority(endpoint.clone()));
                }
                Some(_) => {}
            }
        }
        self.check_layouts()
    }

    /// Where members come and go, no layout is for one number of them only.
    fn check_layouts(&self) -> Result<(), ConfigError> {
        match self.plans.all().find(|plan| plan.given().is_some()) {
            Some(plan) => Err(ConfigError::PinnedLayout { algorithm: plan.info().name }),
            None => Ok(()),
        }
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
            Membership::Etcd(config) => vec![(self.node, config.address.clone())],
        }
    }

    /// Where other nodes find this one.
    #[must_use]
    pub fn address(&self) -> &str {
        match &self.membership {
            Membership::Fixed(members) => &members[self.node.place()],
            Membership::Voters(config) => &config.address,
            Membership::Etcd(config) => &config.address,
        }
    }

    /// Where this node listens for other nodes.
    #[must_use]
    pub fn listen_address(&self) -> &str {
        self.listen.as_deref().unwrap_or_else(|| self.address())
    }

    /// What its member says of itself when it joins; each life has an incarnation of its own.
    pub(crate) fn join(&self, address: &str, has_folder: bool) -> Join {
        Join {
            id: self.node,
            incarnation: 0,
            address: address.to_string(),
            api: self.api.clone(),
            plans: plans_digest(&self.plans),
            algorithms: algorithms(&self.plans),
            has_folder,
            version: version(VERSION >> 8, VERSION & 0xff),
        }
    }
}

/// Whether an endpoint of etcd is spoken to over TLS, and its `HOST:PORT`; none if it is none.
pub(crate) fn etcd_address(endpoint: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = endpoint.split_once("://")?;
    let address = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = address.rsplit_once(':')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    let is_address = !host.is_empty()
        && host.chars().all(is_plain)
        && port.parse().is_ok_and(|port: u16| port > 0);
    match scheme {
        "http" if is_address => Some((false, address)),
        "https" if is_address => Some((true, address)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_etcd_are_read() {
        assert_eq!(etcd_address("http://127.0.0.1:2379"), Some((false, "127.0.0.1:2379")));
        assert_eq!(etcd_address("https://[::1]:2379/"), Some((true, "[::1]:2379")));
        for wrong in [
            "",
            "127.0.0.1:2379",
            "http://h",
            "http://:1",
            "ftp://h:1",
            "http://h:0",
            "http://h:1/x",
        ] {
            assert_eq!(etcd_address(wrong), None, "{wrong}");
        }
    }
}
