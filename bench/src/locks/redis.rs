//! A single Redis, and the usual recipe for a lock with it: set a key if it is not there, try again
//! later if it is, and delete it if it is still one's own. Nobody queues, so it is not fair.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{Client, ExistenceCheck, IntoConnectionInfo as _, Script, SetExpiry, SetOptions};

use super::server::{Server, free_ports};
use super::workload::Locker;

/// One server on loopback that keeps everything in memory.
pub(super) struct Redis {
    url: String,
    _server: Server,
}

impl Redis {
    pub(super) async fn start(program: &Path) -> Result<Self> {
        let port = free_ports(1)?[0];
        let url = format!("redis://127.0.0.1:{port}");
        let mut server = Server::start("redis", program, |command, folder| {
            command.arg("--port").arg(port.to_string());
            command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]);
            command.arg(folder);
            Ok(())
        })?;
        server.until_ready(async || RedisClient::connect(&url, 0).await).await?;
        Ok(Redis { url, _server: server })
    }

    pub(super) async fn client(&self, number: usize) -> Result<RedisClient> {
        RedisClient::connect(&self.url, number).await
    }
}

/// Deletes a key only if it has one's own value.
const GIVE_BACK: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// Between two tries at least; up to four times that at random. Recipes wait longer, 50 to 200 ms,
/// which would say more about sleeping than about Redis.
const PAUSE: Duration = Duration::from_millis(1);

/// How long a client may be dead before its lock is free.
const EXPIRY: SetExpiry = SetExpiry::PX(30_000);

/// A client that holds one lock at a time.
pub(super) struct RedisClient {
    connection: MultiplexedConnection,
    /// Its value of every key, which nobody else has.
    own: String,
    give_back: Script,
    held: String,
    tries: u64,
}

impl RedisClient {
    async fn connect(url: &str, number: usize) -> Result<Self> {
        let tcp = TcpSettings::default().set_nodelay(true);
        let client = Client::open(url.into_connection_info()?.set_tcp_settings(tcp))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let give_back = Script::new(GIVE_BACK);
        give_back.load_async(&mut connection).await?;
        Ok(RedisClient::over(connection, number))
    }

    /// Another client over the same connection.
    pub(super) fn another(&self, number: usize) -> Self {
        RedisClient::over(self.connection.clone(), number)
    }

    fn over(connection: MultiplexedConnection, number: usize) -> Self {
        let (own, give_back) = (format!("client-{number}"), Script::new(GIVE_BACK));
        RedisClient { connection, own, give_back, held: String::new(), tries: number as u64 }
    }

    /// Sets the key, unless somebody has.
    async fn set(&mut self, lock: &str) -> Result<bool> {
        let options = SetOptions::default();
        let options = options.conditional_set(ExistenceCheck::NX).with_expiration(EXPIRY);
        let mut set = redis::cmd("SET");
        let set = set.arg(lock).arg(&self.own).arg(options);
        let answer: Option<String> = set.query_async(&mut self.connection).await?;
        Ok(answer.is_some())
    }

    /// Waits between one and four times [`PAUSE`].
    async fn pause(&mut self) {
        self.tries = self.tries.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        tokio::time::sleep(PAUSE + PAUSE * ((self.tries >> 33) % 4) as u32).await;
    }
}

impl Locker for RedisClient {
    async fn acquire(&mut self, lock: &str) -> Result<Option<u64>> {
        self.held = lock.to_string();
        while !self.set(lock).await? {
            self.pause().await;
        }
        Ok(None)
    }

    async fn release(&mut self) -> Result<()> {
        let mut script = self.give_back.prepare_invoke();
        let script = script.key(&self.held).arg(&self.own);
        let deleted: u64 = script.invoke_async(&mut self.connection).await?;
        ensure!(deleted == 1, "Redis had given the lock away");
        Ok(())
    }
}
