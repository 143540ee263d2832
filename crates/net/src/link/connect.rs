//! Calling and answering: from a TCP stream to a connection whose other end is known.

use std::io;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use serde::de::DeserializeOwned;
use skeptron_member::MemberId;
use skeptron_member::link::handshake::{
    Answer, Hello, PREAMBLE_BYTES, Refusal, Stranger, Verdict, WORD_BYTES, check_preamble, preamble,
};
use skeptron_member::wire::{FrameError, append_frame, decode};
use thiserror::Error;
use tokio::net::TcpStream;

use super::peer::Peer;
use super::shared::Shared;
use super::transport::{Receiving, Sending, split};
use crate::tls;

/// A connection whose handshake is over.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
    /// What the peer said of itself.
    pub(crate) hello: Hello,
}

/// How links are protected.
#[derive(Clone, Debug)]
pub(crate) enum Protection {
    /// Not at all.
    None,
    /// By TLS, in both roles.
    Tls { client: Arc<rustls::ClientConfig>, server: Arc<rustls::ServerConfig> },
}

/// Why a handshake came to nothing.
#[derive(Debug, Error)]
pub(crate) enum ConnectError {
    /// Nobody there.
    #[error("{address} cannot be reached: {source}")]
    Unreachable { address: String, source: io::Error },
    /// The connection broke, or the certificates were refused.
    #[error("the handshake broke off: {0}")]
    Io(#[from] io::Error),
    /// Too slow.
    #[error("the handshake took too long")]
    TooSlow,
    /// No node, or another version.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// Not the words of a handshake.
    #[error("the handshake made no sense: {0}")]
    Frame(#[from] FrameError),
    /// We refuse it.
    #[error("{refusal}")]
    RefusedHere { from: MemberId, refusal: Refusal },
    /// It refuses us.
    #[error("{by} refuses: {refusal}")]
    RefusedThere { by: MemberId, refusal: Refusal },
}

/// Calls a peer.
///
/// # Errors
/// See [`ConnectError`].
pub(crate) async fn call(shared: &Shared, peer: &Peer) -> Result<Connection, ConnectError> {
    let address = peer.address();
    let stream = match TcpStream::connect(&address).await {
        Ok(stream) => stream,
        Err(source) => return Err(ConnectError::Unreachable { address, source }),
    };
    let tls = match &shared.protection {
        Protection::None => None,
        Protection::Tls { client, .. } => {
            let client = rustls::ClientConnection::new(Arc::clone(client), tls::node_name(peer.id));
            Some(client.map_err(io::Error::other)?.into())
        }
    };
    let (mut sending, mut receiving) = split(stream, tls, WORD_BYTES)?;
    let called = say_hello(shared, peer, &mut sending, &mut receiving).await;
    // TLS may have a last word for the peer, which says what was wrong.
    let _ = sending.write();
    let hello = called?;
    receiving.allow(shared.limits.frame_bytes);
    Ok(Connection { sending, receiving, hello })
}

async fn say_hello(
    shared: &Shared,
    peer: &Peer,
    sending: &mut Sending,
    receiving: &mut Receiving,
) -> Result<Hello, ConnectError> {
    sending.outgoing().extend(preamble());
    let (own, known) = shared.hello(peer);
    say(sending, &own).await?;
    check_preamble(hear_bytes(sending, receiving).await?)?;
    let hello = match hear::<Answer>(sending, receiving).await? {
        Answer::Welcome(hello) => hello,
        Answer::Refused(refusal) => {
            return Err(ConnectError::RefusedThere { by: peer.id, refusal });
        }
    };
    let checked = if hello.from == peer.id {
        // A view may have named another life meanwhile, for which `own` counts wrongly.
        shared.check(&hello, known)
    } else {
        Err(Refusal::Somebody { me: hello.from, meant: peer.id })
    };
    match checked {
        Ok(()) => {
            say(sending, &Verdict::Accepted).await?;
            Ok(hello)
        }
        Err(refusal) => {
            say(sending, &Verdict::Refused(refusal.clone())).await?;
            Err(ConnectError::RefusedHere { from: peer.id, refusal })
        }
    }
}

/// Answers whoever calls.
///
/// # Errors
/// See [`ConnectError`].
pub(crate) async fn answer(shared: &Shared, stream: TcpStream) -> Result<Connection, ConnectError> {
    let tls = match &shared.protection {
        Protection::None => None,
        Protection::Tls { server, .. } => {
            let server = rustls::ServerConnection::new(Arc::clone(server));
            Some(server.map_err(io::Error::other)?.into())
        }
    };
    let (mut sending, mut receiving) = split(stream, tls, WORD_BYTES)?;
    let answered = hear_hello(shared, &mut sending, &mut receiving).await;
    // TLS may have a last word for the peer, which says what was wrong.
    let _ = sending.write();
    let hello = answered?;
    receiving.allow(shared.limits.frame_bytes);
    Ok(Connection { sending, receiving, hello })
}

async fn hear_hello(
    shared: &Shared,
    sending: &mut Sending,
    receiving: &mut Receiving,
) -> Result<Hello, ConnectError> {
    let theirs = hear_bytes(sending, receiving).await?;
    let known = check_preamble(theirs);
    if !matches!(known, Err(Stranger::NoNode)) {
        // Another version of us understands at least this.
        sending.outgoing().extend(preamble());
    }
    if let Err(stranger) = known {
        sending.write_fully().await?;
        return Err(stranger.into());
    }
    let hello = hear::<Hello>(sending, receiving).await?;
    let own = match check_caller(shared, &hello, sending.tls()) {
        Ok(own) => own,
        Err(refusal) => {
            say(sending, &Answer::Refused(refusal.clone())).await?;
            return Err(ConnectError::RefusedHere { from: hello.from, refusal });
        }
    };
    say(sending, &Answer::Welcome(own)).await?;
    match hear::<Verdict>(sending, receiving).await? {
        Verdict::Accepted => Ok(hello),
        Verdict::Refused(refusal) => Err(ConnectError::RefusedThere { by: hello.from, refusal }),
    }
}

/// The higher id calls the lower, and shows its own certificate. Returns what to answer.
fn check_caller(
    shared: &Shared,
    hello: &Hello,
    tls: Option<&mut rustls::Connection>,
) -> Result<Hello, Refusal> {
    let (me, you) = (shared.me, hello.from);
    let peer = shared.peer(you);
    let (own, known) = peer.as_deref().map(|peer| shared.hello(peer)).unzip();
    shared.check(hello, known.flatten())?;
    let Some(own) = own.filter(|_| you > me) else {
        return Err(Refusal::Caller { me, you });
    };
    let Some(tls) = tls else { return Ok(own) };
    match tls.peer_certificates() {
        Some([certificate, ..]) if is_of(certificate, you) => Ok(own),
        _ => Err(Refusal::Certificate { you }),
    }
}

fn is_of(certificate: &CertificateDer<'_>, node: MemberId) -> bool {
    let parsed = rustls::server::ParsedCertificate::try_from(certificate);
    parsed.is_ok_and(|parsed| {
        rustls::client::verify_server_name(&parsed, &tls::node_name(node)).is_ok()
    })
}

async fn say(sending: &mut Sending, word: &impl serde::Serialize) -> Result<(), ConnectError> {
    append_frame(sending.outgoing(), word, WORD_BYTES)?;
    Ok(sending.write_fully().await?)
}

async fn hear<Word: DeserializeOwned>(
    sending: &mut Sending,
    receiving: &mut Receiving,
) -> Result<Word, ConnectError> {
    loop {
        if let Some(word) = receiving.next()? {
            return Ok(decode(word)?);
        }
        hear_more(sending, receiving).await?;
    }
}

async fn hear_bytes(
    sending: &mut Sending,
    receiving: &mut Receiving,
) -> Result<[u8; PREAMBLE_BYTES], ConnectError> {
    loop {
        if let Some(bytes) = receiving.next_bytes() {
            return Ok(bytes);
        }
        hear_more(sending, receiving).await?;
    }
}

async fn hear_more(sending: &mut Sending, receiving: &mut Receiving) -> io::Result<()> {
    if !receiving.decipher(sending.tls())? {
        // TLS itself may have to answer first.
        sending.write_fully().await?;
        receiving.wait().await?;
    }
    Ok(())
}
