//! The task that keeps a link up. It moves bytes and tells the link the time; what to do when is the
//! link's decision.

use std::convert::Infallible;
use std::sync::{Arc, Weak};

use skeptron_member::clock::MonoTime;
use skeptron_member::link::session::{Frame, Taken};
use skeptron_member::link::{LinkError, handshake_limit};
use skeptron_member::wire::decode;
use tokio::net::tcp::OwnedWriteHalf;

use super::connect::{ConnectError, Connection, call};
use super::peer::{Call, End, Peer};
use super::shared::Shared;
use super::transport::Receiving;
use crate::env;

/// Keeps the link to a peer up, until the task is ended.
pub(crate) async fn keep(shared: Arc<Shared>, peer: Arc<Peer>) {
    let dials = peer.dials();
    loop {
        let connection = if dials { dial(&shared, &peer).await } else { peer.offered().await };
        let Connection { sending, receiving, hello } = connection;
        let socket = sending.socket();
        let why = match peer.install(env::now(), sending, &hello) {
            Ok(()) => {
                let Err(why) = drive(&shared, &peer, receiving, &socket).await;
                why
            }
            Err(why) => why,
        };
        if is_fault(&why) {
            shared.signals.observer.rejected.inc();
        }
        peer.uninstall(env::now(), why);
    }
}

/// Whether the peer has done what a correct one does not.
fn is_fault(why: &End) -> bool {
    match why {
        End::Frame(_) => true,
        End::Link(error) => !matches!(error, LinkError::Silent(_) | LinkError::NotConnected),
        _ => false,
    }
}

/// Dials the peer until it answers, whenever the link says so.
async fn dial(shared: &Shared, peer: &Peer) -> Connection {
    loop {
        let mut at = peer.next_dial();
        while env::now() < at {
            tokio::select! {
                () = env::sleep_until(at) => {}
                () = peer.wake.notified() => at = peer.next_dial(),
            }
        }
        let called = match shared.blocked.contains(peer.id) {
            true => Some(Err(ConnectError::Blocked)),
            false => env::timeout(handshake_limit(&shared.limits), call(shared, peer)).await,
        };
        match called.unwrap_or(Err(ConnectError::TooSlow)) {
            Ok(connection) => return connection,
            Err(error) => peer.dial_failed(env::now(), error.to_string()),
        }
    }
}

/// Takes what arrives on a connection until it ends; says why it did.
async fn drive(
    shared: &Shared,
    peer: &Peer,
    mut receiving: Receiving,
    socket: &OwnedWriteHalf,
) -> Result<Infallible, End> {
    let mut is_blocked = false;
    let mut deadline = MonoTime::NEVER;
    let timer = env::sleep_until(deadline);
    let called = peer.wake.notified();
    tokio::pin!(timer, called);
    loop {
        // At first something may have come along with the last word of the handshake.
        let now = env::now();
        take(shared, peer, now, &mut receiving)?;
        // A timer that is too early costs less than setting it anew for each message.
        let next = peer.poll(now)?;
        if next < deadline {
            deadline = next;
            timer.set(env::sleep_until(deadline));
        }
        loop {
            tokio::select! {
                biased;
                () = &mut called => {
                    called.set(peer.wake.notified());
                    match peer.call() {
                        Call::End(why) => return Err(why),
                        Call::Blocked => is_blocked = true,
                        Call::Nothing => {}
                    }
                }
                read = receiving.wait() => {
                    read?;
                    peer.heard();
                    break;
                }
                _ = socket.writable(), if is_blocked => {
                    is_blocked = false;
                    peer.flush_on();
                }
                () = &mut timer => {
                    deadline = peer.poll(env::now())?;
                    timer.set(env::sleep_until(deadline));
                }
            }
        }
    }
}

/// Takes all frames that have been read, and sends what the inbox answers, also if one of them is bad.
fn take(shared: &Shared, peer: &Peer, now: MonoTime, receiving: &mut Receiving) -> Result<(), End> {
    let taken = take_frames(shared, peer, now, receiving);
    shared.flush();
    taken
}

fn take_frames(
    shared: &Shared,
    peer: &Peer,
    now: MonoTime,
    receiving: &mut Receiving,
) -> Result<(), End> {
    let inbox = shared.inbox.get().and_then(Weak::upgrade).ok_or(End::Stopped)?;
    if shared.blocked.contains(peer.id) {
        return Err(End::Cut);
    }
    loop {
        while let Some(body) = receiving.next()? {
            let frame: Frame<'_> = decode(body)?;
            let taken = peer.take(now, &frame, body.len())?;
            if let (Taken::Now, Frame::Data { sequence, envelope, .. }) = (taken, &frame) {
                inbox.receive(peer.id, *sequence, envelope);
            }
        }
        if !peer.decipher(receiving)? {
            return Ok(());
        }
    }
}
