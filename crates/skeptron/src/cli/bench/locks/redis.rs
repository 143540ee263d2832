//! A single Redis, and the usual recipe for a lock with it: set a key if it is not there, try again
//! later if it is, and delete it if it is still one's own. Nobody queues, so it is not fair.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::server::{Server, free_ports};
use super::workload::Locker;

/// One server on loopback that keeps everything in memory.
pub(super) struct Redis {
    address: SocketAddr,
    _server: Server,
}

impl Redis {
    pub(super) async fn start(program: &Path) -> Result<Self> {
        let port = free_ports(1)?[0];
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server::start("redis", program, |command, folder| {
            command.arg("--port").arg(port.to_string());
            command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]);
            command.arg(folder);
            Ok(())
        })?;
        server.until_ready(async || RedisClient::connect(address, 0).await).await?;
        Ok(Redis { address, _server: server })
    }

    pub(super) async fn client(&self, number: usize) -> Result<RedisClient> {
        RedisClient::connect(self.address, number).await
    }
}

/// Deletes a key only if it has one's own value.
const GIVE_BACK: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// Between two tries at least; up to four times that at random. Recipes wait longer, 50 to 200 ms,
/// which would say more about sleeping than about Redis.
const PAUSE: Duration = Duration::from_millis(1);

/// A client that holds one lock at a time.
pub(super) struct RedisClient {
    stream: BufReader<TcpStream>,
    /// Its value of every key, which nobody else has.
    own: String,
    /// Of the script that gives back.
    script: String,
    held: String,
    tries: u64,
}

/// What Redis says.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Nothing,
    Text(String),
    Number(i64),
}

impl RedisClient {
    async fn connect(address: SocketAddr, number: usize) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut client = RedisClient {
            stream: BufReader::new(stream),
            own: format!("client-{number}"),
            script: String::new(),
            held: String::new(),
            tries: number as u64,
        };
        match client.ask(&["SCRIPT", "LOAD", GIVE_BACK]).await? {
            Reply::Text(digest) => client.script = digest,
            reply => bail!("Redis takes no script: {reply:?}"),
        }
        Ok(client)
    }

    async fn ask(&mut self, words: &[&str]) -> Result<Reply> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.stream.write_all(request.as_bytes()).await?;
        self.reply().await
    }

    async fn reply(&mut self) -> Result<Reply> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let (kind, rest) = line.trim_end().split_at_checked(1).context("Redis hung up")?;
        Ok(match kind {
            "+" => Reply::Text(rest.to_string()),
            ":" => Reply::Number(rest.parse()?),
            "$" if rest == "-1" => Reply::Nothing,
            "$" => Reply::Text(self.text(rest.parse()?).await?),
            _ => bail!("Redis says {}", line.trim_end()),
        })
    }

    async fn text(&mut self, length: usize) -> Result<String> {
        ensure!(length < 1 << 16, "{length} bytes are no answer to these questions");
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes).await?;
        bytes.truncate(length);
        Ok(String::from_utf8(bytes)?)
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
        let own = self.own.clone();
        while self.ask(&["SET", lock, &own, "NX", "PX", "30000"]).await? == Reply::Nothing {
            self.pause().await;
        }
        Ok(None)
    }

    async fn release(&mut self) -> Result<()> {
        let (script, held, own) = (self.script.clone(), self.held.clone(), self.own.clone());
        let reply = self.ask(&["EVALSHA", &script, "1", &held, &own]).await?;
        ensure!(reply == Reply::Number(1), "Redis had given the lock away: {reply:?}");
        Ok(())
    }
}
