//! Connections between nodes go through here, and suffer.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use skeptron_testing::Chance;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// What happens to all connections that a relay has at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Both ends see it break, perhaps in the middle of a frame.
    Cut,
    /// Nothing gets through for a while.
    Stall(Duration),
    /// What is sent seems to arrive and is lost; after a while it breaks.
    Swallow(Duration),
    /// The same, but only of what is sent to the node behind, or only of what it sends.
    SwallowOneWay { to_node: bool, time: Duration },
}

/// How far apart the nodes behind a relay seem to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distance {
    /// One way, in milliseconds: each packet's delay is drawn between the two.
    pub(crate) delay_ms: (u64, u64),
    /// Packets of a hundred that come late by a retransmission: that is what TCP makes of a loss.
    pub(crate) loss_percent: u64,
}

/// A retransmission after a loss takes at least that long on Linux.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// Listens in a node's stead and passes everything on to it.
pub(crate) struct Relay {
    troubles: broadcast::Sender<Trouble>,
    _serving: JoinSet<()>,
}

impl Relay {
    /// Listens at `address` for the node at `target`.
    pub(crate) async fn start(
        address: SocketAddr,
        target: SocketAddr,
        distance: Option<Distance>,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("the address is ours");
        let troubles = broadcast::Sender::new(64);
        let mut serving = JoinSet::new();
        let sender = troubles.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            for number in 0.. {
                let Ok((near, _)) = listener.accept().await else { return };
                let chance = Chance::new(u64::from(address.port()) << 32 | number);
                connections.spawn(pass_on(near, target, sender.clone(), distance, chance));
            }
        });
        Relay { troubles, _serving: serving }
    }

    /// Lets that happen to its connections.
    pub(crate) fn make(&self, trouble: Trouble) {
        // Without a connection nobody listens: nothing happens.
        let _ = self.troubles.send(trouble);
    }
}

async fn pass_on(
    near: TcpStream,
    target: SocketAddr,
    troubles: broadcast::Sender<Trouble>,
    distance: Option<Distance>,
    chance: Chance,
) {
    // The node behind is not there yet, or has gone: whoever came must try again.
    let Ok(far) = TcpStream::connect(target).await else { return };
    if near.set_nodelay(true).is_err() || far.set_nodelay(true).is_err() {
        return;
    }
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let pipe = |from, to, to_node| Pipe {
        from,
        to,
        to_node,
        troubles: troubles.subscribe(),
        distance,
        chance: chance.clone(),
    };
    let (there, back) = (pipe(near_in, far_out, true), pipe(far_in, near_out, false));
    // Whichever way ends first ends both: a relay that keeps one way open would be another kind of
    // trouble than the ones above.
    tokio::select! {
        () = there.run() => {}
        () = back.run() => {}
    }
}

/// One direction of one connection.
struct Pipe {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    /// Which direction.
    to_node: bool,
    troubles: broadcast::Receiver<Trouble>,
    distance: Option<Distance>,
    chance: Chance,
}

/// What a pipe does next.
enum Step {
    Troubled(Trouble),
    Read(usize),
    Due,
    Over,
}

impl Pipe {
    async fn run(mut self) {
        let mut buffer = [0; 16 << 10];
        let mut under_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        loop {
            match self.step(&mut buffer, under_way.front().map(|(due, _)| *due)).await {
                Step::Troubled(Trouble::Cut) | Step::Over => return,
                Step::Troubled(Trouble::Stall(time)) => sleep(time).await,
                Step::Troubled(Trouble::Swallow(time)) => return self.swallow(time).await,
                Step::Troubled(Trouble::SwallowOneWay { to_node, time }) => {
                    if to_node == self.to_node {
                        return self.swallow(time).await;
                    }
                }
                Step::Read(length) => {
                    let due = self.due(under_way.back().map(|(due, _)| *due));
                    under_way.push_back((due, buffer[..length].to_vec()));
                }
                Step::Due => {
                    let Some((_, bytes)) = under_way.pop_front() else { continue };
                    if self.to.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn step(&mut self, buffer: &mut [u8], due: Option<Instant>) -> Step {
        let until_due = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            trouble = self.troubles.recv() => trouble.map_or(Step::Over, Step::Troubled),
            () = until_due => Step::Due,
            read = self.from.read(buffer) => match read {
                Ok(length) if length > 0 => Step::Read(length),
                _ => Step::Over,
            },
        }
    }

    /// When what is read now arrives: never before what was read earlier.
    fn due(&mut self, last: Option<Instant>) -> Instant {
        let now = Instant::now();
        let Some(distance) = self.distance else { return now };
        let (least, most) = distance.delay_ms;
        let mut delay = Duration::from_millis(least + self.chance.below(most - least + 1));
        if self.chance.below(100) < distance.loss_percent {
            delay += RETRANSMISSION;
        }
        last.map_or(now + delay, |last| last.max(now + delay))
    }

    async fn swallow(&mut self, time: Duration) {
        let mut buffer = [0; 16 << 10];
        let reading = async { while matches!(self.from.read(&mut buffer).await, Ok(1..)) {} };
        // Its end is noticed only then, too.
        let _ = tokio::time::timeout(time, reading).await;
        sleep(Duration::from_millis(1)).await;
    }
}
