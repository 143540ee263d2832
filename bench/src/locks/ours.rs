//! Our own locks: in this process, and over the client API.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use skeptron_client::tls::Identity;
use skeptron_client::{Client, ClientConfig, ClientPool, Endpoint, Protocol};
use skeptron_net::report::{LinkState, Status};
use skeptron_net::tls::Authority;
use skeptron_net::{Cluster, Guard, MemberId, Node, Plan, Plans};
use tempfile::TempDir;

use super::server::{self, Server, free_ports};
use super::workload::{Locker, Workload};

/// Nodes in this process.
pub(crate) struct Embedded {
    pub(crate) cluster: Cluster,
}

impl Embedded {
    pub(super) async fn start(plan: &Plan, nodes: usize) -> Result<Self> {
        let plans = Plans::new(plan.clone());
        Ok(Embedded { cluster: Cluster::start(nodes, plans).await? })
    }

    /// The client of that number, at one node or at two in turn.
    pub(crate) fn client(&self, workload: Workload, number: usize) -> EmbeddedClient {
        let nodes = &self.cluster.nodes;
        let count = if workload == Workload::Fetch { 2 } else { 1 };
        let at = nodes.iter().cycle().skip(number % nodes.len()).take(count).cloned().collect();
        EmbeddedClient { at, turn: 0, held: None }
    }

    /// Messages of algorithms that all nodes have sent so far.
    pub(super) fn messages(&self) -> u64 {
        let metrics = self.cluster.nodes.iter().map(|node| node.metrics());
        metrics.map(|text| messages_sent(&text)).sum()
    }

    pub(crate) async fn stop(self) {
        self.cluster.shutdown().await;
    }
}

fn messages_sent(metrics: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with("skeptron_messages_sent_total"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// A task that locks at nodes of its own process.
pub(crate) struct EmbeddedClient {
    at: Vec<Node>,
    turn: usize,
    held: Option<Guard>,
}

impl Locker for EmbeddedClient {
    async fn acquire(&mut self, lock: &str) -> Result<Option<u64>> {
        let node = &self.at[self.turn];
        self.turn = (self.turn + 1) % self.at.len();
        let guard = node.lock(lock).await?;
        let fence = guard.fence().number();
        self.held = Some(guard);
        Ok(Some(fence))
    }

    async fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }
}

/// Nodes in processes of their own.
pub(crate) struct Apart {
    servers: Vec<Server>,
    ports: Vec<u16>,
    /// The folder of the certificates, and that of the clients.
    tls: Option<(TempDir, Identity)>,
}

/// Which way a client goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Http,
    HttpUnix,
    Native,
}

/// The name of the Unix socket in a server's folder.
const SOCKET: &str = "api.sock";

impl Apart {
    pub(crate) async fn start(plan: &Plan, nodes: usize) -> Result<Self> {
        Apart::launch(plan, nodes, None).await
    }

    /// The same, with certificates between nodes and for clients.
    pub(super) async fn start_with_tls(plan: &Plan, nodes: usize) -> Result<Self> {
        let folder = TempDir::with_prefix("skeptron-tls-")?;
        let authority = Authority::init(folder.path(), "bench", false)?;
        for place in 0..nodes {
            authority.issue_node(MemberId::at(place), &[], false)?;
        }
        authority.issue_client("bench", false)?;
        let identity = Identity::read(folder.path(), "client-bench")?;
        Apart::launch(plan, nodes, Some((folder, identity))).await
    }

    async fn launch(plan: &Plan, nodes: usize, tls: Option<(TempDir, Identity)>) -> Result<Self> {
        let ports = free_ports(2 * nodes)?;
        let (peers, clients) = ports.split_at(nodes);
        let members: Vec<String> = peers.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let program = server::skeptron()?;
        let voters = if members.len() < 3 { 1 } else { 3 };
        let mut servers = Vec::new();
        for (place, port) in clients.iter().enumerate() {
            servers.push(Server::start("node", &program, |command, folder| {
                // What is set for the product here is not meant for these nodes.
                let set = std::env::vars_os().map(|(name, _)| name);
                set.filter(|name| name.to_string_lossy().starts_with("SKEPTRON_")).for_each(
                    |name| {
                        command.env_remove(name);
                    },
                );
                command.arg("node").args((place == 0).then_some("--init"));
                match &tls {
                    Some((folder, _)) => command
                        .env("SKEPTRON_TLS_FOLDER", folder.path())
                        .env("SKEPTRON_API_TLS", "true"),
                    None => command.arg("--insecure"),
                };
                command.env("SKEPTRON_NODE", (place + 1).to_string());
                command.env("SKEPTRON_VOTERS", members[..voters].join(","));
                command.env("SKEPTRON_ADDRESS", &members[place]);
                command.env("SKEPTRON_DATA", folder.join("data"));
                command.env("SKEPTRON_ALGORITHM", plan.info().name);
                command.env("SKEPTRON_LOG_LEVEL", "warn");
                command.env("SKEPTRON_API_LISTEN", format!("127.0.0.1:{port}"));
                command.env("SKEPTRON_API_UNIX", folder.join(SOCKET));
                Ok(())
            })?);
        }
        let mut nodes = Apart { servers, ports: clients.to_vec(), tls };
        for place in 0..nodes.servers.len() {
            let config = nodes.config(Way::Http, place);
            nodes.servers[place]
                .until_ready(async || all_met(&config, members.len()).await)
                .await?;
        }
        Ok(nodes)
    }

    pub(crate) async fn client(&self, way: Way, number: usize) -> Result<ApiClient> {
        let client = Client::connect(self.config(way, number)).await?;
        Ok(ApiClient { sessions: Sessions::One(client), held: None })
    }

    /// Clients at all nodes, which take a lock at the one that its name selects.
    pub(super) fn pool(&self, number: usize) -> ClientPool {
        let all = (0..self.servers.len()).map(|place| self.config(Way::Native, place));
        let endpoints = all.flat_map(|config| config.endpoints).collect();
        ClientPool::new(&ClientConfig { endpoints, ..self.config(Way::Native, number) })
    }

    /// What the node at that place says of itself and its cluster.
    pub(crate) async fn status(&self, place: usize) -> Result<Status> {
        Ok(Client::status(&self.config(Way::Http, place)).await?)
    }

    /// Kills the node at that place, as `kill -9` does.
    pub(crate) fn kill(&mut self, place: usize) -> Result<()> {
        self.servers[place].kill()
    }

    fn config(&self, way: Way, number: usize) -> ClientConfig {
        let place = number % self.servers.len();
        let address = format!("127.0.0.1:{}", self.ports[place]);
        let endpoint = match (way, &self.tls) {
            (Way::HttpUnix, _) => Endpoint::Unix(self.servers[place].folder().join(SOCKET)),
            (_, Some(_)) => Endpoint::Https(address),
            (_, None) => Endpoint::Http(address),
        };
        ClientConfig {
            identity: self.tls.as_ref().map(|(_, identity)| identity.clone()),
            ttl: Duration::from_secs(30),
            owner: format!("bench {number}"),
            // Each node is measured by itself.
            discovery: false,
            protocol: if way == Way::Native { Protocol::Native } else { Protocol::Http },
            ..ClientConfig::new(endpoint)
        }
    }
}

async fn all_met(config: &ClientConfig, members: usize) -> Result<()> {
    let status = Client::status(config).await?;
    let present = status.members.len();
    ensure!(present == members, "{} knows {present} of {members} members", status.node);
    let down = status.members.iter().find(|member| member.link == LinkState::Down);
    match down {
        Some(member) => bail!("{} has no link to {}", status.node, member.node),
        None => Ok(()),
    }
}

/// A client of a node's API.
pub(crate) struct ApiClient {
    sessions: Sessions,
    held: Option<skeptron_client::Guard>,
}

/// At one node, or at each.
enum Sessions {
    One(Client),
    Pool(ClientPool),
}

impl From<ClientPool> for ApiClient {
    fn from(pool: ClientPool) -> Self {
        ApiClient { sessions: Sessions::Pool(pool), held: None }
    }
}

impl Locker for ApiClient {
    async fn acquire(&mut self, lock: &str) -> Result<Option<u64>> {
        let guard = match &self.sessions {
            Sessions::One(client) => client.lock(lock).await?,
            Sessions::Pool(pool) => pool.lock(lock).await?,
        };
        let fence = guard.fence().number();
        self.held = Some(guard);
        Ok(Some(fence))
    }

    async fn release(&mut self) -> Result<()> {
        match self.held.take() {
            Some(guard) => Ok(guard.release().await?),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn messages_are_summed_over_algorithms_and_kinds() {
        let metrics = "# TYPE skeptron_messages_sent counter\n\
            skeptron_messages_sent_total{algorithm=\"raymond\",message=\"TOKEN\"} 3\n\
            skeptron_messages_sent_total{algorithm=\"raymond\",message=\"REQUEST\"} 4\n\
            skeptron_messages_received_total{algorithm=\"raymond\",message=\"REQUEST\"} 9\n";
        assert_eq!(super::messages_sent(metrics), 7);
    }
}
