//! Connections of clients: over TCP, plain or with TLS, and over a Unix socket.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::resource::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::door::{Caller, Door};
use super::refusal::Refusal;
use crate::env;
use crate::prompt::Prompt;
use crate::socket::tune;

/// The longest head of a request: its first line and its headers.
const MOST_HEAD_BYTES: usize = 16 << 10;
/// The most headers.
const MOST_HEADERS: usize = 64;
/// What is buffered of one connection.
const BUFFER_BYTES: usize = 64 << 10;
/// How long a connection may stay without a whole head, also between two requests.
const HEAD_WITHIN: Duration = Duration::from_secs(60);
/// How long a TLS handshake may take.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait when the system has no more descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// How far the API is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It answers.
    Open,
    /// It takes no new requests.
    Closing,
    /// Every connection is cut.
    Gone,
}

/// Goes with every request: tells answers that have no end of their own when to end.
#[derive(Clone, Debug)]
pub struct Closing(watch::Receiver<Stage>);

impl Closing {
    /// Waits until the site takes no new requests.
    pub async fn begun(mut self) {
        // Without a sender it is gone.
        let _ = self.0.wait_for(|stage| *stage > Stage::Open).await;
    }
}

/// Answers connections.
pub(super) struct Reception {
    router: TowerToHyperService<Router>,
    door: Door,
    places: Arc<Semaphore>,
    stage: watch::Receiver<Stage>,
    http: http1::Builder,
}

impl Reception {
    pub(super) fn new(
        router: Router,
        door: Door,
        places: Arc<Semaphore>,
        stage: watch::Receiver<Stage>,
    ) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_header_size(MOST_HEAD_BYTES)
            .max_headers(MOST_HEADERS)
            .max_buf_size(BUFFER_BYTES);
        Reception { router: TowerToHyperService::new(router), door, places, stage, http }
    }

    /// Answers whoever comes to `listener`, until the API closes.
    pub(super) async fn receive_tcp(
        self: Arc<Self>,
        listener: TcpListener,
        caller: Caller,
        tls: Option<TlsAcceptor>,
    ) {
        while let Some(accepted) = self.next(listener.accept()).await {
            let Ok((stream, _)) = accepted else {
                env::sleep(BREATH).await;
                continue;
            };
            let Some(place) = self.place() else {
                // Whoever speaks TLS could not read it yet; the others may as well know why.
                if tls.is_none() {
                    let _ = stream.try_write(no_place().as_bytes());
                }
                continue;
            };
            if tune(&stream).is_err() {
                // It was gone before it was answered.
                continue;
            }
            let reception = Arc::clone(&self);
            match tls.clone() {
                None => tokio::spawn(Prompt::new(reception.serve(stream, caller, place))),
                Some(tls) => tokio::spawn(Prompt::new(reception.serve_tls(stream, tls, place))),
            };
        }
    }

    /// Answers whoever comes to `listener` as its owner or as root, until the API closes.
    pub(super) async fn receive_unix(self: Arc<Self>, listener: UnixListener, owner: u32) {
        while let Some(accepted) = self.next(listener.accept()).await {
            let Ok((stream, _)) = accepted else {
                env::sleep(BREATH).await;
                continue;
            };
            // The file's mode says the same, but it is set a moment after the socket is there.
            let peer = stream.peer_cred().map(|peer| peer.uid());
            if !peer.is_ok_and(|peer| peer == owner || peer == 0) {
                continue;
            }
            let Some(place) = self.place() else {
                let _ = stream.try_write(no_place().as_bytes());
                continue;
            };
            tokio::spawn(Prompt::new(Arc::clone(&self).serve(stream, Caller::Owner, place)));
        }
    }

    /// Whoever comes next; none when the API closes.
    async fn next<T>(
        &self,
        accepted: impl Future<Output = io::Result<T>>,
    ) -> Option<io::Result<T>> {
        let mut stage = self.stage.clone();
        tokio::select! {
            accepted = accepted => Some(accepted),
            _ = stage.wait_for(|stage| *stage > Stage::Open) => None,
        }
    }

    fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    async fn serve_tls(
        self: Arc<Self>,
        stream: TcpStream,
        tls: TlsAcceptor,
        place: OwnedSemaphorePermit,
    ) {
        let greeted = env::timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await;
        let Some(Ok(stream)) = greeted else {
            tracing::debug!("a client made no TLS handshake");
            return;
        };
        let certified = stream.get_ref().1.peer_certificates().is_some();
        let caller = if certified { Caller::Certified } else { Caller::Stranger };
        self.serve(stream, caller, place).await;
    }

    async fn serve<I>(self: Arc<Self>, io: I, caller: Caller, place: OwnedSemaphorePermit)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(|request| self.answer(caller, request));
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(io), service));
        let mut stage = self.stage.clone();
        let open = tokio::select! {
            biased;
            _ = connection.as_mut() => false,
            _ = stage.wait_for(|stage| *stage > Stage::Open) => true,
        };
        if open {
            connection.as_mut().graceful_shutdown();
            let mut stage = self.stage.clone();
            tokio::select! {
                _ = connection => {}
                _ = stage.wait_for(|stage| *stage == Stage::Gone) => {}
            }
        }
        drop(place);
    }

    async fn answer(
        &self,
        caller: Caller,
        mut request: Request<Incoming>,
    ) -> Result<Response<axum::body::Body>, Infallible> {
        request.extensions_mut().insert(Closing(self.stage.clone()));
        match self.door.admit(caller, &request) {
            Ok(()) => self.router.call(request).await,
            Err(refusal) => Ok(refusal.into_response()),
        }
    }
}

/// What whoever comes when all places are taken is told, without being asked for anything.
fn no_place() -> String {
    let problem = Refusal::TooManyConnections.problem();
    let body = serde_json::to_string(&problem).expect("a problem is three texts");
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// How many of the wanted connections the process can afford: half of its descriptors are left to
/// the links between nodes and to whatever else the program does.
pub(super) fn affordable(wanted: usize) -> usize {
    let Ok((descriptors, _)) = getrlimit(Resource::RLIMIT_NOFILE) else { return wanted };
    let half = usize::try_from(descriptors / 2).unwrap_or(usize::MAX);
    if wanted > half {
        tracing::warn!(wanted, half, "fewer connections than wanted; raise `ulimit -n`");
    }
    wanted.min(half).max(1)
}

/// Listens at an address, and says where that is.
pub(super) async fn bind_tcp(address: &str) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Listens at a path that only its owner may use, and says who that is. A file that a dead process
/// left there is replaced.
pub(super) async fn bind_unix(path: &Path) -> io::Result<(UnixListener, u32)> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(path).await => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        listener => listener?,
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok((listener, std::fs::metadata(path)?.uid()))
}

/// Whether there is a socket at which nobody listens. Any other file is somebody's.
async fn is_stale(path: &Path) -> bool {
    if !std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        return false;
    }
    let refused = UnixStream::connect(path).await.err().map(|error| error.kind());
    refused == Some(io::ErrorKind::ConnectionRefused)
}
