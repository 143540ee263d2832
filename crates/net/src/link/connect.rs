//! Calling and answering: from a TCP stream to a connection whose other end is known.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::CertificateDer;
use serde::de::DeserializeOwned;
use skeptron_member::MemberId;
use skeptron_member::link::handshake::{
    Answer, Caller, HandshakeRefusal, Hello, Opening, PREAMBLE_BYTES, Stranger, Verdict,
    WORD_BYTES, check_preamble, preamble,
};
use skeptron_member::wire::{FrameError, append_frame, decode};
use thiserror::Error;
use tokio::net::TcpStream;

use super::listen::Callee;
use super::peer::Peer;
use super::shared::Shared;
use super::transport::{Receiving, Sending, split};
use crate::config::Security;
use crate::tls::{self, Callers, Identity, TlsError};

/// A connection of a link, whose handshake is over.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
    /// What the peer said of itself.
    pub(crate) hello: Hello,
}

/// A connection to the view service, whose handshake is over.
#[derive(Debug)]
pub(crate) struct ServiceConnection {
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
    /// Who is at the other end.
    pub(crate) peer: MemberId,
}

/// What a caller wanted, and got.
#[derive(Debug)]
pub(crate) enum Called {
    Link(Connection),
    Service(ServiceConnection),
}

/// How links are protected.
#[derive(Clone, Debug)]
pub(crate) enum Protection {
    /// Not at all.
    None,
    /// By TLS. Clones share the certificates.
    Tls(Arc<ArcSwap<Ends>>),
}

/// Certificates, for both ends of a connection.
#[derive(Debug)]
pub(crate) struct Ends {
    client: Arc<rustls::ClientConfig>,
    server: Arc<rustls::ServerConfig>,
}

impl Ends {
    fn new(identity: &Identity) -> Result<Self, TlsError> {
        let server = identity.server_config(Callers::Certified)?;
        Ok(Ends { client: identity.client_config()?, server })
    }
}

impl Protection {
    /// As configured.
    ///
    /// # Errors
    /// If the certificates cannot be used.
    pub(crate) fn new(security: &Security) -> Result<Self, TlsError> {
        Ok(match security {
            Security::Insecure => Protection::None,
            Security::Tls(identity) => {
                Protection::Tls(Arc::new(ArcSwap::from_pointee(Ends::new(identity)?)))
            }
        })
    }

    /// New connections have these certificates from now on.
    ///
    /// # Errors
    /// If they cannot be used; then the former ones stay.
    pub(crate) fn renew(&self, identity: &Identity) -> Result<(), TlsError> {
        if let Protection::Tls(ends) = self {
            ends.store(Arc::new(Ends::new(identity)?));
        }
        Ok(())
    }
}

/// Why a handshake came to nothing.
#[derive(Debug, Error)]
pub(crate) enum ConnectError {
    /// Nobody there.
    #[error("{address} cannot be reached: {source}")]
    Unreachable { address: String, source: io::Error },
    /// The connection broke, or the certificates were refused.
    #[error("the handshake failed: {0}")]
    Io(#[from] io::Error),
    /// Too slow.
    #[error("the handshake timed out")]
    TooSlow,
    /// Neither side is to hear of the other.
    #[error("this node has blocked it, to try out a partition")]
    Blocked,
    /// No node, or another version.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// Not the words of a handshake.
    #[error("invalid handshake: {0}")]
    Frame(#[from] FrameError),
    /// We refuse it.
    #[error("{refusal}")]
    RefusedHere { from: MemberId, refusal: HandshakeRefusal },
    /// It refuses us.
    #[error("{by} refuses: {refusal}")]
    RefusedThere { by: MemberId, refusal: HandshakeRefusal },
}

/// Calls a peer.
///
/// # Errors
/// See [`ConnectError`].
pub(crate) async fn call(shared: &Shared, peer: &Peer) -> Result<Connection, ConnectError> {
    let (mut sending, mut receiving) = dial(&shared.protection, peer.id, peer.address()).await?;
    let called = say_hello(shared, peer, &mut sending, &mut receiving).await;
    // TLS may have a last word for the peer, which says what was wrong.
    let _ = sending.write();
    let hello = called?;
    receiving.allow(shared.limits.frame_bytes);
    Ok(Connection { sending, receiving, hello })
}

/// Calls a node for its view service.
///
/// # Errors
/// See [`ConnectError`].
pub(crate) async fn call_service(
    protection: &Protection,
    frame_bytes: usize,
    address: String,
    caller: Caller,
) -> Result<ServiceConnection, ConnectError> {
    let peer = caller.to;
    let (mut sending, mut receiving) = dial(protection, peer, address).await?;
    sending.outgoing().extend(preamble());
    say(&mut sending, &Opening::Service(caller)).await?;
    check_preamble(hear_bytes(&mut sending, &mut receiving).await?)?;
    match hear::<Verdict>(&mut sending, &mut receiving).await? {
        Verdict::Accepted => {}
        Verdict::Refused(refusal) => {
            return Err(ConnectError::RefusedThere { by: peer, refusal });
        }
    }
    receiving.allow(frame_bytes);
    Ok(ServiceConnection { sending, receiving, peer })
}

async fn dial(
    protection: &Protection,
    peer: MemberId,
    address: String,
) -> Result<(Sending, Receiving), ConnectError> {
    let stream = match TcpStream::connect(&address).await {
        Ok(stream) => stream,
        Err(source) => return Err(ConnectError::Unreachable { address, source }),
    };
    let tls = match protection {
        Protection::None => None,
        Protection::Tls(ends) => {
            let client = Arc::clone(&ends.load().client);
            let client = rustls::ClientConnection::new(client, tls::node_name(peer));
            Some(client.map_err(io::Error::other)?.into())
        }
    };
    Ok(split(stream, tls, WORD_BYTES)?)
}

async fn say_hello(
    shared: &Shared,
    peer: &Peer,
    sending: &mut Sending,
    receiving: &mut Receiving,
) -> Result<Hello, ConnectError> {
    sending.outgoing().extend(preamble());
    let (own, known) = shared.hello(peer);
    say(sending, &Opening::Link(own)).await?;
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
        Err(HandshakeRefusal::Somebody { me: hello.from, meant: peer.id })
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
pub(crate) async fn answer(callee: &Callee, stream: TcpStream) -> Result<Called, ConnectError> {
    let tls = match &callee.protection {
        Protection::None => None,
        Protection::Tls(ends) => {
            let server = rustls::ServerConnection::new(Arc::clone(&ends.load().server));
            Some(server.map_err(io::Error::other)?.into())
        }
    };
    let (mut sending, mut receiving) = split(stream, tls, WORD_BYTES)?;
    let answered = hear_opening(callee, &mut sending, &mut receiving).await;
    // TLS may have a last word for the peer, which says what was wrong.
    let _ = sending.write();
    let opening = answered?;
    receiving.allow(callee.limits.frame_bytes);
    Ok(match opening {
        Opening::Link(hello) => Called::Link(Connection { sending, receiving, hello }),
        Opening::Service(Caller { from: peer, .. }) => {
            Called::Service(ServiceConnection { sending, receiving, peer })
        }
    })
}

async fn hear_opening(
    callee: &Callee,
    sending: &mut Sending,
    receiving: &mut Receiving,
) -> Result<Opening, ConnectError> {
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
    let opening = hear::<Opening>(sending, receiving).await?;
    let (Opening::Link(Hello { from, .. }) | Opening::Service(Caller { from, .. })) = &opening;
    if callee.blocked.contains(*from) {
        return Err(ConnectError::Blocked);
    }
    match &opening {
        Opening::Link(hello) => {
            let own = match check_linked(callee, hello, sending.tls()) {
                Ok(own) => own,
                Err(refusal) => {
                    say(sending, &Answer::Refused(refusal.clone())).await?;
                    return Err(ConnectError::RefusedHere { from: hello.from, refusal });
                }
            };
            say(sending, &Answer::Welcome(own)).await?;
            match hear::<Verdict>(sending, receiving).await? {
                Verdict::Accepted => {}
                Verdict::Refused(refusal) => {
                    return Err(ConnectError::RefusedThere { by: hello.from, refusal });
                }
            }
        }
        Opening::Service(caller) => {
            let from = caller.from;
            let checked =
                callee.check(caller).and_then(|()| check_certificate(from, sending.tls()));
            if let Err(refusal) = checked {
                say(sending, &Verdict::Refused(refusal.clone())).await?;
                return Err(ConnectError::RefusedHere { from, refusal });
            }
            say(sending, &Verdict::Accepted).await?;
        }
    }
    Ok(opening)
}

/// The higher id calls the lower, and shows its own certificate. Returns what to answer.
fn check_linked(
    callee: &Callee,
    hello: &Hello,
    tls: Option<&mut rustls::Connection>,
) -> Result<Hello, HandshakeRefusal> {
    let shared = callee.links().ok_or(HandshakeRefusal::NoMember { me: callee.me })?;
    let (me, you) = (shared.me, hello.from);
    let peer = shared.peer(you);
    let (own, known) = peer.as_deref().map(|peer| shared.hello(peer)).unzip();
    shared.check(hello, known.flatten())?;
    let Some(own) = own.filter(|_| you > me) else {
        return Err(HandshakeRefusal::Caller { me, you });
    };
    check_certificate(you, tls)?;
    Ok(own)
}

fn check_certificate(
    you: MemberId,
    tls: Option<&mut rustls::Connection>,
) -> Result<(), HandshakeRefusal> {
    let Some(tls) = tls else { return Ok(()) };
    match tls.peer_certificates() {
        Some([certificate, ..]) if is_of(certificate, you) => Ok(()),
        _ => Err(HandshakeRefusal::Certificate { you }),
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
