//! The tasks: one listens, one keeps each link up.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use skeptron_core::NodeId;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout};

use super::connect::{ConnectError, Connection, answer, call};
use super::session::{Frame, Taken};
use super::shared::{Call, End, Link, Shared};
use super::transport::Receiving;
use crate::config::Limits;
use crate::wire::decode;

/// After so long the peer is told what was taken, if nothing was to be sent meanwhile.
const ACKNOWLEDGE_DELAY: Duration = Duration::from_millis(20);

/// Callers that have not yet said who they are, at most; the one that has taken longest goes first.
const MOST_STRANGERS: usize = 64;

/// So many signs of life fit into the time after which a silent peer is given up.
const SIGNS: u32 = 3;

/// Answers whoever calls.
pub(crate) async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    let mut strangers = JoinSet::new();
    let mut oldest_first = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Usually too many open files: others have to end first.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(shared.limits.backoff_first).await;
                continue;
            }
        };
        while strangers.try_join_next().is_some() {}
        oldest_first.retain(|stranger: &tokio::task::AbortHandle| !stranger.is_finished());
        if oldest_first.len() >= MOST_STRANGERS
            && let Some(oldest) = oldest_first.pop_front()
        {
            oldest.abort();
            shared.observer.rejected.inc();
        }
        oldest_first.push_back(strangers.spawn(meet(Arc::clone(&shared), stream)));
    }
}

/// Finds out who calls, and hands the connection to the link's task.
async fn meet(shared: Arc<Shared>, stream: TcpStream) {
    let met = timeout(handshake_limit(&shared), answer(&shared, stream)).await;
    match met.unwrap_or(Err(ConnectError::TooSlow)) {
        Ok(connection) => {
            if let Some(link) = shared.link(connection.hello.from) {
                link.offer(connection);
            }
        }
        Err(error) => {
            shared.observer.rejected.inc();
            match &error {
                ConnectError::RefusedHere { from: peer, .. }
                | ConnectError::RefusedThere { by: peer, .. } => {
                    if let Some(link) = shared.link(*peer) {
                        link.complain(error.to_string());
                    }
                }
                _ => tracing::debug!(%error, "a caller was turned away"),
            }
        }
    }
}

/// A handshake that takes longer is given up.
fn handshake_limit(shared: &Shared) -> Duration {
    shared.limits.silence / 2
}

/// Keeps the link to `peer` up, for ever.
pub(crate) async fn keep(shared: Arc<Shared>, peer: NodeId) {
    let Some(link) = shared.link(peer) else { return };
    let mut backoff = Backoff::new(&shared.limits);
    loop {
        // The higher id calls the lower, so that two never call each other at once.
        let connection = if peer < shared.me {
            connect(&shared, link, &mut backoff).await
        } else {
            link.offered().await
        };
        let Connection { sending, receiving, hello } = connection;
        let socket = sending.socket();
        let why = match shared.install(link, sending, &hello) {
            Ok(()) => drive(&shared, link, receiving, &socket, &mut backoff).await,
            Err(why) => why,
        };
        if matches!(&why, End::Frame(_) | End::Broken(_) | End::Refused(_) | End::Deaf(_)) {
            shared.observer.rejected.inc();
        }
        shared.uninstall(link, &why);
    }
}

/// Calls the peer until it answers, less and less often.
async fn connect(shared: &Shared, link: &Link, backoff: &mut Backoff) -> Connection {
    loop {
        sleep(backoff.next()).await;
        let called = timeout(handshake_limit(shared), call(shared, link.peer)).await;
        match called.unwrap_or(Err(ConnectError::TooSlow)) {
            Ok(connection) => return connection,
            Err(error) => link.complain(error.to_string()),
        }
    }
}

/// How long to wait before the next try: not at all for the first, then twice as long each time.
struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    fn new(limits: &Limits) -> Self {
        let &Limits { backoff_first: first, backoff_longest: longest, .. } = limits;
        Backoff { first, longest, next: Duration::ZERO }
    }

    fn next(&mut self) -> Duration {
        let now = self.next;
        self.next = (2 * now).clamp(self.first.min(self.longest), self.longest);
        now
    }

    /// The peer is there and makes sense: the next loss is news.
    fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Takes what arrives on a connection until it ends; says why it did.
async fn drive(
    shared: &Shared,
    link: &Link,
    mut receiving: Receiving,
    socket: &OwnedWriteHalf,
    backoff: &mut Backoff,
) -> End {
    let mut signs = interval_at(Instant::now() + sign_interval(shared), sign_interval(shared));
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut attention = Attention::new(link);
    let (mut is_blocked, mut owes) = (false, false);
    let acknowledge = sleep_until(Instant::now());
    let called = link.wake.notified();
    tokio::pin!(acknowledge, called);
    // Something may have come along with the last word of the handshake.
    let mut read = Ok(());
    loop {
        match read.map_err(End::Io).and_then(|()| take(shared, link, &mut receiving)) {
            Ok(()) if link.settle() && !owes => {
                owes = true;
                acknowledge.as_mut().reset(Instant::now() + ACKNOWLEDGE_DELAY);
            }
            Ok(()) => {}
            Err(why) => return why,
        }
        read = loop {
            tokio::select! {
                biased;
                () = &mut called => {
                    called.set(link.wake.notified());
                    match link.call() {
                        Call::End(why) => return why,
                        Call::Blocked => is_blocked = true,
                        Call::Nothing => {}
                    }
                }
                read = receiving.wait() => break read,
                _ = socket.writable(), if is_blocked => {
                    is_blocked = false;
                    link.flush_on();
                }
                () = &mut acknowledge, if owes => {
                    owes = link.acknowledge();
                    acknowledge.as_mut().reset(Instant::now() + ACKNOWLEDGE_DELAY);
                }
                _ = signs.tick() => {
                    link.give_sign();
                    if let Err(why) = attention.check(link, shared.limits.silence) {
                        return why;
                    }
                }
            }
        };
        attention.heard = true;
        backoff.reset();
    }
}

fn sign_interval(shared: &Shared) -> Duration {
    (shared.limits.silence / SIGNS).max(Duration::from_millis(1))
}

/// Takes all frames that have been read, and sends what the inbox answers.
fn take(shared: &Shared, link: &Link, receiving: &mut Receiving) -> Result<(), End> {
    let inbox = shared.inbox.get().and_then(Weak::upgrade).ok_or(End::Stopped)?;
    loop {
        while let Some(body) = receiving.next()? {
            let frame: Frame<'_> = decode(body)?;
            let taken = shared.take(link, &frame, body.len())?;
            if let (Taken::Now, Frame::Data { sequence, envelope, .. }) = (taken, &frame) {
                inbox.receive(link.peer, *sequence, envelope);
            }
        }
        if !link.decipher(receiving)? {
            break;
        }
    }
    shared.flush();
    Ok(())
}

/// Whether the peer still speaks and listens, looked at with each sign of life that is given.
struct Attention {
    heard: bool,
    silent: u32,
    /// Up to which of our messages it has acknowledged.
    acknowledged: u64,
    deaf: u32,
}

impl Attention {
    fn new(link: &Link) -> Self {
        let (acknowledged, _) = link.acknowledged();
        Attention { heard: true, silent: 0, acknowledged, deaf: 0 }
    }

    fn check(&mut self, link: &Link, silence: Duration) -> Result<(), End> {
        self.silent = if self.heard { 0 } else { self.silent + 1 };
        self.heard = false;
        let (acknowledged, is_all) = link.acknowledged();
        let listens = is_all || acknowledged > self.acknowledged;
        self.deaf = if listens { 0 } else { self.deaf + 1 };
        self.acknowledged = acknowledged;
        if self.silent >= SIGNS {
            Err(End::Silent(silence))
        } else if self.deaf > SIGNS {
            Err(End::Deaf(silence))
        } else {
            Ok(())
        }
    }
}
