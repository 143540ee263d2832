//! Three members of etcd, and a client of its lock service.

use std::path::Path;

use anyhow::{Context as _, Result};
use etcd_client::{Client, LockOptions};

use super::server::{Server, free_ports};
use super::workload::Locker;

/// Three members on loopback, each with a folder of its own.
pub(crate) struct Etcd {
    urls: [String; 3],
    servers: Vec<Server>,
}

impl Etcd {
    pub(crate) async fn start(program: &Path) -> Result<Self> {
        let ports = free_ports(6)?;
        let (peers, clients) = ports.split_at(3);
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let urls: [String; 3] = std::array::from_fn(|k| url(clients[k]));
        let member = |k: usize| format!("member{k}={}", url(peers[k]));
        let cluster = [member(0), member(1), member(2)].join(",");
        let mut servers = Vec::new();
        for k in 0..3 {
            servers.push(Server::start("etcd", program, |command, folder| {
                command.arg("--name").arg(format!("member{k}"));
                command.arg("--data-dir").arg(folder.join("data"));
                command.args(["--listen-client-urls", &urls[k]]);
                command.args(["--advertise-client-urls", &urls[k]]);
                command.args(["--listen-peer-urls", &url(peers[k])]);
                command.args(["--initial-advertise-peer-urls", &url(peers[k])]);
                command.args(["--initial-cluster", &cluster, "--initial-cluster-state", "new"]);
                Ok(())
            })?);
        }
        for (server, url) in servers.iter_mut().zip(&urls) {
            server.until_ready(async || EtcdClient::connect(url).await).await?;
        }
        Ok(Etcd { urls, servers })
    }

    /// A client with a lease of its own, at one of the members.
    pub(crate) async fn client(&self, number: usize) -> Result<EtcdClient> {
        EtcdClient::connect(&self.urls[number % 3]).await
    }

    /// The place of the member that leads, as the first one sees it.
    pub(crate) async fn leader(&self) -> Result<usize> {
        let mut ids = [0; 3];
        let mut leader = None;
        for (id, url) in ids.iter_mut().zip(&self.urls) {
            let status = Client::connect([url], None).await?.status().await?;
            *id = status.header().context("etcd gave no header")?.member_id();
            leader.get_or_insert(status.leader());
        }
        ids.iter().position(|&id| Some(id) == leader).context("etcd has no leader")
    }

    /// Kills the member at that place, as `kill -9` does.
    pub(crate) fn kill(&mut self, place: usize) -> Result<()> {
        self.servers[place].kill()
    }
}

/// One lease, one lock at a time.
pub(crate) struct EtcdClient {
    client: Client,
    lease: i64,
    /// The key that stands for the lock held.
    key: Vec<u8>,
}

/// Longer than any round: nothing has to be kept alive.
const LEASE_SECONDS: i64 = 3600;

impl EtcdClient {
    async fn connect(url: &str) -> Result<Self> {
        let mut client = Client::connect([url], None).await?;
        let lease = client.lease_grant(LEASE_SECONDS, None).await?.id();
        Ok(EtcdClient { client, lease, key: Vec::new() })
    }
}

impl Locker for EtcdClient {
    async fn acquire(&mut self, lock: &str) -> Result<Option<u64>> {
        let options = LockOptions::new().with_lease(self.lease);
        self.key = self.client.lock(lock, Some(options)).await?.key().to_vec();
        Ok(None)
    }

    async fn release(&mut self) -> Result<()> {
        let answer = self.client.unlock(self.key.as_slice()).await;
        answer.map(drop).context("etcd does not unlock")
    }
}
