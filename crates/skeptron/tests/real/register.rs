//! A counter that clients in processes of their own reach over a socket, and these clients: they may be
//! stopped and killed at any moment, also between the check that they hold the lock and the write.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use skeptron_client::{Client, Guard};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::history::{Op, Register, What};
use crate::nodes::{Program, reach};

pub(crate) const LOCK: &str = "counter";
/// Twice the lease of the nodes: sessions can move.
pub(crate) const TTL: Duration = Duration::from_secs(4);

/// How long a client waits at once.
const PATIENT: Duration = Duration::from_secs(5);

/// What a client says to the counter. It waits for an answer before it goes on.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    client: usize,
    fence: u64,
    valid_until: u64,
    ask: Ask,
}

#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    Read,
    /// It has seen that it holds the lock, and is about to write.
    Checked,
    Write {
        plain: u64,
        fenced: Option<u64>,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Answer {
    plain: u64,
    fenced: Option<u64>,
}

/// Now, in nanoseconds: the clock by which clients judge their sessions.
fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).unwrap();
    u64::try_from(Duration::from(time).as_nanos()).unwrap()
}

/// Serves the counter. `checked` is called with the number of a client that is about to write, and may
/// stop it: whatever it does is done before that client goes on.
pub(crate) fn serve(
    folder: &Path,
    register: Arc<Mutex<Register>>,
    checked: impl Fn(usize) + Send + Sync + 'static,
) -> JoinHandle<()> {
    let listener = UnixListener::bind(socket(folder)).unwrap();
    let checked = Arc::new(checked);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (register, checked) = (Arc::clone(&register), Arc::clone(&checked));
            // A client that was killed breaks off in the middle.
            tokio::spawn(async move { serve_one(stream, &register, &*checked).await.ok() });
        }
    })
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("counter.sock")
}

async fn serve_one(
    stream: UnixStream,
    register: &Mutex<Register>,
    checked: &(dyn Fn(usize) + Send + Sync),
) -> std::io::Result<()> {
    let (asks, mut answers) = stream.into_split();
    let mut asks = BufReader::new(asks).lines();
    while let Some(line) = asks.next_line().await? {
        let Asked { client, fence, valid_until, ask } = serde_json::from_str(&line)?;
        let what = What::Read { plain: 0, fenced: None };
        let op = Op { at: 0, client, fence, valid_until, what };
        let answer = match ask {
            Ask::Checked => {
                checked(client);
                Answer::default()
            }
            Ask::Read => {
                let mut register = register.lock().unwrap();
                let op = Op { at: now(), ..op };
                told(register.read(op))
            }
            Ask::Write { plain, fenced } => {
                let mut register = register.lock().unwrap();
                let op = Op { at: now(), ..op };
                told(register.write(op, plain, fenced))
            }
        };
        answers.write_all(line_of(&answer).as_bytes()).await?;
    }
    Ok(())
}

fn told(what: What) -> Answer {
    let (What::Read { plain, fenced } | What::Write { plain, fenced }) = what;
    Answer { plain, fenced }
}

fn line_of(said: &impl Serialize) -> String {
    let mut line = serde_json::to_string(said).unwrap();
    line.push('\n');
    line
}

/// What a client does to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    ToHold,
    /// A lock that is led, with a shorter TTL: who dies is soon replaced.
    ToLead,
}

/// Starts client `number`, which counts until it is killed, at whichever of the nodes answers.
pub(crate) fn start_client(folder: &Path, number: usize, nodes: usize, wants: Wants) -> Program {
    let own = std::env::current_exe().unwrap();
    let settings = format!("{FOLDER}={}", folder.display());
    let number_of = format!("{NUMBER}={number}");
    let count_of = format!("{NODES}={nodes}");
    let leads = format!("{LEADS}={}", wants == Wants::ToLead);
    let words = ["env", &settings, &number_of, &count_of, &leads, own.to_str().unwrap()];
    let how = ["--exact", "register::count_as_a_client", "--ignored", "--nocapture"];
    Program::start(&[&words[..], &how[..]].concat(), None, &folder.join(format!("{number}.log")))
}

const FOLDER: &str = "SKEPTRON_TEST_FOLDER";
const NUMBER: &str = "SKEPTRON_TEST_CLIENT";
const NODES: &str = "SKEPTRON_TEST_NODES";
const LEADS: &str = "SKEPTRON_TEST_LEADS";

/// One client; it is a test only because that is how a test can start itself again.
#[tokio::test]
#[ignore = "started by other tests as a process of its own"]
async fn count_as_a_client() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (number, nodes) = (number(NUMBER), number(NODES));
    let leads: bool = std::env::var(LEADS).unwrap().parse().unwrap();
    let ttl = if leads { TTL / 2 } else { TTL };
    let sockets: Vec<PathBuf> =
        (1..=nodes).map(|node| folder.join(format!("node-{node}.sock"))).collect();
    // Ends when the counter does.
    let Ok(stream) = UnixStream::connect(socket(&folder)).await else { return };
    let mut counter = Counter { number, stream: BufReader::new(stream) };
    for first in number.. {
        let config = reach(&sockets, first, ttl, format!("client {number}"));
        let Ok(client) = Client::connect(config).await else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let grant = async || match leads {
            true => client.campaign(LOCK, &number.to_string(), Some(PATIENT)).await,
            false => client.lock_within(LOCK, PATIENT).await,
        };
        // A session that is over is replaced.
        while let Ok(granted) = grant().await {
            let Some(guard) = granted else { continue };
            if counter.add_one(&guard).await.is_err() {
                return;
            }
            // It may have been lost; then it is over anyway.
            let _ = guard.release().await;
        }
    }
}

/// The counter, as a client sees it.
struct Counter {
    number: usize,
    stream: BufReader<UnixStream>,
}

impl Counter {
    /// Adds one as long as the lock is held: whoever has lost it writes nothing.
    async fn add_one(&mut self, guard: &Guard) -> std::io::Result<()> {
        let Some(read_until) = valid_until(guard) else { return Ok(()) };
        let Answer { plain, fenced } = self.ask(guard, read_until, Ask::Read).await?;
        sleep(Duration::from_millis(1)).await;
        let Some(write_until) = valid_until(guard) else { return Ok(()) };
        self.ask(guard, write_until, Ask::Checked).await?;
        let write = Ask::Write { plain: plain + 1, fenced: fenced.map(|fenced| fenced + 1) };
        self.ask(guard, write_until, write).await?;
        Ok(())
    }

    async fn ask(&mut self, guard: &Guard, valid_until: u64, ask: Ask) -> std::io::Result<Answer> {
        let fence = guard.fence().number();
        let asked = Asked { client: self.number, fence, valid_until, ask };
        self.stream.write_all(line_of(&asked).as_bytes()).await?;
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// Until when the lock is certainly held; none if it is lost. The clock is read first, so that this is
/// rather too early than too late.
fn valid_until(guard: &Guard) -> Option<u64> {
    let (now, left) = (now(), guard.valid_for());
    (!left.is_zero()).then(|| now + left.as_nanos() as u64)
}
