//! Yardsticks: a bare round trip over loopback TCP, and a lock server that does no more than it must, in a process
//! of its own as all that is measured against it.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::server::{Server, free_ports};
use super::workload::Locker;
use crate::Verdict;

/// Sends back what it is sent.
pub(super) struct Echo {
    address: SocketAddr,
    _serving: JoinSet<()>,
}

/// A message of the size of a request with its envelope.
const MESSAGE: usize = 64;

impl Echo {
    pub(super) async fn start() -> Result<Self> {
        let (address, serving) = serve(0, async |stream: TcpStream| {
            let mut stream = stream;
            let mut message = [0; MESSAGE];
            while stream.read_exact(&mut message).await.is_ok() {
                if stream.write_all(&message).await.is_err() {
                    return;
                }
            }
        })
        .await?;
        Ok(Echo { address, _serving: serving })
    }

    pub(super) async fn client(&self) -> Result<EchoClient> {
        Ok(EchoClient(connect(self.address).await?))
    }
}

/// Waits for its message to come back, and calls that an entry.
pub(super) struct EchoClient(TcpStream);

impl Locker for EchoClient {
    async fn acquire(&mut self, _lock: &str) -> Result<Option<u64>> {
        let mut message = [7; MESSAGE];
        self.0.write_all(&message).await?;
        self.0.read_exact(&mut message).await?;
        Ok(None)
    }

    async fn release(&mut self) -> Result<()> {
        Ok(())
    }
}

/// One server, locks in memory, a queue for each: nothing survives it, and nothing is checked.
pub(super) struct Coordinator {
    address: SocketAddr,
    _server: Server,
}

/// Who holds a lock (nobody, if it is not there) and who waits for it.
type Queues = Arc<Mutex<HashMap<Box<[u8]>, VecDeque<Arc<OwnedWriteHalf>>>>>;

const ACQUIRE: u8 = 1;
const RELEASE: u8 = 2;

impl Coordinator {
    pub(super) async fn start() -> Result<Self> {
        let port = free_ports(1)?[0];
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let program = std::env::current_exe()?;
        let mut server = Server::start("coordinator", &program, |command, _| {
            command.args(["coordinator", &port.to_string()]);
            Ok(())
        })?;
        server.until_ready(async || connect(address).await).await?;
        Ok(Coordinator { address, _server: server })
    }

    pub(super) async fn client(&self) -> Result<CoordinatorClient> {
        let (reader, writer) = connect(self.address).await?.into_split();
        Ok(CoordinatorClient { reader, writer, held: String::new(), frame: Vec::new() })
    }
}

/// The process of the [`Coordinator`].
#[derive(Debug, Args)]
pub(crate) struct CoordinatorProcess {
    /// Where it listens on the loopback interface
    port: u16,
}

impl CoordinatorProcess {
    pub(crate) fn run(self) -> Result<Verdict> {
        // As nodes have it: waking a thread on another core costs more than an exchange.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(cores.div_ceil(2)).enable_all().build()?;
        runtime.block_on(async move {
            let queues = Queues::default();
            let serve_one = move |stream: TcpStream| answer(stream, queues.clone());
            let (_, mut serving) = serve(self.port, serve_one).await?;
            serving.join_next().await;
            Ok(Verdict::Fine)
        })
    }
}

async fn answer(stream: TcpStream, queues: Queues) {
    let (reader, writer) = stream.into_split();
    let (mut reader, writer) = (BufReader::new(reader), Arc::new(writer));
    while let Ok(length) = reader.read_u32().await {
        let mut frame = vec![0; length.min(1024) as usize];
        if frame.is_empty() || reader.read_exact(&mut frame).await.is_err() {
            return;
        }
        if frame[0] == ACQUIRE {
            enqueue(&queues, &frame[1..], &writer)
        } else {
            pass_on(&queues, &frame[1..]);
            say_yes(&writer);
        }
    }
}

fn enqueue(queues: &Queues, lock: &[u8], client: &Arc<OwnedWriteHalf>) {
    let mut queues = queues.lock().expect("nothing panics while it is locked");
    if let Some(waiting) = queues.get_mut(lock) {
        waiting.push_back(client.clone());
    } else {
        queues.insert(lock.into(), VecDeque::new());
        say_yes(client);
    }
}

fn pass_on(queues: &Queues, lock: &[u8]) {
    let mut queues = queues.lock().expect("nothing panics while it is locked");
    match queues.get_mut(lock).and_then(VecDeque::pop_front) {
        Some(next) => say_yes(&next),
        None => drop(queues.remove(lock)),
    }
}

/// A client has one request under way, so that one byte always fits. Whoever is gone hears nothing:
/// the clients of the bench stay to the end.
fn say_yes(client: &OwnedWriteHalf) {
    let _ = client.try_write(&[1]);
}

/// A client of the [`Coordinator`].
pub(super) struct CoordinatorClient {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    held: String,
    frame: Vec<u8>,
}

impl CoordinatorClient {
    async fn ask(&mut self, what: u8) -> Result<()> {
        let length = u32::try_from(self.held.len() + 1).context("the name is too long")?;
        self.frame.clear();
        self.frame.extend(length.to_be_bytes());
        self.frame.push(what);
        self.frame.extend(self.held.as_bytes());
        self.writer.write_all(&self.frame).await?;
        ensure!(self.reader.read_u8().await? == 1, "the coordinator said no");
        Ok(())
    }
}

impl Locker for CoordinatorClient {
    async fn acquire(&mut self, lock: &str) -> Result<Option<u64>> {
        self.held.clear();
        self.held.push_str(lock);
        self.ask(ACQUIRE).await?;
        Ok(None)
    }

    async fn release(&mut self) -> Result<()> {
        self.ask(RELEASE).await
    }
}

/// Serves each connection in a task of its own until the set of tasks is dropped; at any port if it is 0.
async fn serve<F>(
    port: u16,
    serve_one: impl Fn(TcpStream) -> F + Send + 'static,
) -> Result<(SocketAddr, JoinSet<()>)>
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            if stream.set_nodelay(true).is_ok() {
                connections.spawn(serve_one(stream));
            }
        }
    });
    Ok((address, serving))
}

async fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
