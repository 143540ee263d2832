//! Three members of etcd, and a client of its lock service.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::grpc::{Field, Grpc, Message, field};
use super::server::{Server, free_ports};
use super::workload::Locker;

/// Three members on loopback, each with a folder of its own.
pub(in crate::cli::bench) struct Etcd {
    addresses: [SocketAddr; 3],
    servers: Vec<Server>,
}

impl Etcd {
    pub(in crate::cli::bench) async fn start(program: &Path) -> Result<Self> {
        let ports = free_ports(6)?;
        let (peers, clients) = ports.split_at(3);
        let addresses = std::array::from_fn(|k| SocketAddr::from(([127, 0, 0, 1], clients[k])));
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let member = |k: usize| format!("member{k}={}", url(peers[k]));
        let cluster = [member(0), member(1), member(2)].join(",");
        let mut servers = Vec::new();
        for k in 0..3 {
            servers.push(Server::start("etcd", program, |command, folder| {
                command.arg("--name").arg(format!("member{k}"));
                command.arg("--data-dir").arg(folder.join("data"));
                command.args(["--listen-client-urls", &url(clients[k])]);
                command.args(["--advertise-client-urls", &url(clients[k])]);
                command.args(["--listen-peer-urls", &url(peers[k])]);
                command.args(["--initial-advertise-peer-urls", &url(peers[k])]);
                command.args(["--initial-cluster", &cluster, "--initial-cluster-state", "new"]);
                Ok(())
            })?);
        }
        for (server, &address) in servers.iter_mut().zip(&addresses) {
            server.until_ready(async || EtcdClient::connect(address).await).await?;
        }
        Ok(Etcd { addresses, servers })
    }

    /// A client with a lease of its own, at one of the members.
    pub(in crate::cli::bench) async fn client(&self, number: usize) -> Result<EtcdClient> {
        EtcdClient::connect(self.addresses[number % 3]).await
    }

    /// The place of the member that leads, as the first one sees it.
    pub(in crate::cli::bench) async fn leader(&self) -> Result<usize> {
        let statuses = self.statuses().await?;
        let (leader, _) = statuses[0];
        let place = statuses.iter().position(|&(_, id)| id == leader);
        place.context("etcd has no leader")
    }

    /// Kills the member at that place, as `kill -9` does.
    pub(in crate::cli::bench) fn kill(&mut self, place: usize) -> Result<()> {
        self.servers[place].kill()
    }

    /// Whom each member takes for the leader, and which one it is itself.
    async fn statuses(&self) -> Result<[(u64, u64); 3]> {
        let mut statuses = [(0, 0); 3];
        for (status, &address) in statuses.iter_mut().zip(&self.addresses) {
            let mut connection = Grpc::connect(address).await?;
            let answer = connection.call("/etcdserverpb.Maintenance/Status", &[]).await?;
            let Some(Field::Bytes(header)) = field(&answer, 1) else {
                bail!("etcd gave no header")
            };
            let (Some(Field::Number(leader)), Some(Field::Number(id))) =
                (field(&answer, 4), field(header, 2))
            else {
                bail!("etcd does not say who leads")
            };
            *status = (leader, id);
        }
        Ok(statuses)
    }
}

/// One lease, one lock at a time.
pub(in crate::cli::bench) struct EtcdClient {
    connection: Grpc,
    lease: u64,
    /// The key that stands for the lock held.
    key: Vec<u8>,
}

/// Longer than any round: nothing has to be kept alive.
const LEASE_SECONDS: u64 = 3600;

impl EtcdClient {
    async fn connect(address: SocketAddr) -> Result<Self> {
        let mut connection = Grpc::connect(address).await?;
        let request = Message::default().number(1, LEASE_SECONDS).build();
        let answer = connection.call("/etcdserverpb.Lease/LeaseGrant", &request).await?;
        let Some(Field::Number(lease)) = field(&answer, 2) else { bail!("etcd gave no lease") };
        Ok(EtcdClient { connection, lease, key: Vec::new() })
    }
}

impl Locker for EtcdClient {
    async fn acquire(&mut self, lock: &str) -> Result<Option<u64>> {
        let request = Message::default().bytes(1, lock.as_bytes()).number(2, self.lease).build();
        let answer = self.connection.call("/v3lockpb.Lock/Lock", &request).await?;
        let Some(Field::Bytes(key)) = field(&answer, 2) else { bail!("etcd gave no key") };
        self.key = key.to_vec();
        Ok(None)
    }

    async fn release(&mut self) -> Result<()> {
        let request = Message::default().bytes(1, &self.key).build();
        let answer = self.connection.call("/v3lockpb.Lock/Unlock", &request).await;
        answer.map(drop).context("etcd does not unlock")
    }
}
