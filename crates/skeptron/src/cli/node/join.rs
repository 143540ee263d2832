//! `skeptron join`.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _, UdpSocket};

use anyhow::{Context as _, Result};
use clap::Args;

use super::super::Verdict;
use super::super::{names, runtime};
use super::configure::Configured;
use super::settings::{Given, Loaded};
use super::{serve, variable};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron join 10.0.0.1:7570 10.0.0.2:7570 10.0.0.3:7570 --node 4 --tls certs --cluster orders
  skeptron join 2=10.0.0.2:7570 --node 17 --tls certs     one voter is enough; P2 is at that address
  skeptron join 127.0.0.1:7570 --node 4 --insecure --api 127.0.0.1:7480
  skeptron join 10.0.0.1:7570 --node 4 --tls certs --data /var/lib/skeptron
                                                          … so that it may become a voter later

Runs a node of a cluster that exists, without a file of settings; it is a member until it ends.
All settings of `skeptron node` can be given by variables, as SKEPTRON_ALGORITHM, which must be
that of the cluster.")]
pub(crate) struct JoinArgs {
    /// Where voters are, P1 first; or with the voter's number, as in 2=10.0.0.2:7570
    #[arg(required = true, value_name = "VOTER")]
    voters: Vec<String>,
    /// Which member this is: a number that no other member has
    #[arg(long, value_name = "K")]
    node: u32,
    /// Where the others find this node, HOST:PORT [default: where this machine is for the first voter,
    /// port 7570, or any free port if the two are the same]
    #[arg(long)]
    address: Option<String>,
    /// A folder for the log of a voter, so that this node may become one
    #[arg(long, value_name = "FOLDER")]
    data: Option<String>,
    /// The cluster's name [default: skeptron]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The folder with ca.pem, node-K.pem and node-K.key
    #[arg(long, value_name = "FOLDER", conflicts_with = "insecure")]
    tls: Option<String>,
    /// Plain TCP between nodes, which is for one machine only
    #[arg(long)]
    insecure: bool,
    /// Where clients are answered, HOST:PORT; port 0 lets the system choose [default: 127.0.0.1:7470]
    #[arg(long, value_name = "ADDRESS")]
    api: Option<String>,
    /// When ready, say so as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Where nodes listen for each other by default.
const PORT: u16 = 7570;

impl JoinArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let text = |key, option, text: &Option<String>| Some(Given::by(option, key, text.clone()?));
        let mut given: Vec<Given> = [
            text("address", "--address", &self.address),
            text("data", "--data", &self.data),
            text("cluster", "--cluster", &self.cluster),
            text("tls.folder", "--tls", &self.tls),
            self.insecure.then(|| Given::by("--insecure", "insecure", true)),
            self.api.clone().map(|api| Given::by("--api", "api.listen", vec![api])),
        ]
        .into_iter()
        .flatten()
        .collect();
        given.push(Given::by("--node", "node", self.node));
        given.push(Given::by("VOTER", "voters", self.voters.clone()));
        let mut loaded = Loaded::load(None, variable, &given)?;
        let first = self.voters[0].rsplit('=').next().unwrap_or_default();
        if loaded.settings.address.is_none() && !self.is_listed() {
            let own = own_address(first).with_context(|| {
                format!("{first}: cannot find out where this machine is for it; give --address")
            })?;
            given.push(Given::by("--address", "address", own.to_string()));
            loaded = Loaded::load(None, variable, &given)?;
        }
        let configured = Configured::new(&loaded, None)?;
        let again = || Configured::new(&Loaded::load(None, variable, &given)?, None);
        runtime::on_half_of_the_cores(serve::serve(configured, true, &again, self.json, out))
    }

    /// Whether this node is one of the voters that were given.
    fn is_listed(&self) -> bool {
        self.voters.iter().enumerate().any(|(place, text)| match text.split_once('=') {
            Some((number, _)) => names::member(number).is_ok_and(|it| it.number() == self.node),
            None => u32::try_from(place + 1) == Ok(self.node),
        })
    }
}

/// Where this machine is for a voter.
fn own_address(voter: &str) -> Result<SocketAddr> {
    let voter = voter.to_socket_addrs()?.next().context("it has no address")?;
    let any: IpAddr = match voter {
        SocketAddr::V4(_) => [0; 4].into(),
        SocketAddr::V6(_) => [0; 16].into(),
    };
    // Nothing is sent: the system only chooses the way.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(voter)?;
    let own = socket.local_addr()?.ip();
    match own == voter.ip() {
        true => Ok(TcpListener::bind((own, 0))?.local_addr()?),
        false => Ok(SocketAddr::new(own, PORT)),
    }
}
