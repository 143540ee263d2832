//! Connections of clients: over TCP, plain or with TLS, and over a Unix socket.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::resource::{Resource, getrlimit};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::audit::{Act, Audit};
use super::auth::{Auth, Caller, is_open};
use super::connection_limiter::{ConnectionLimiter, ConnectionSlot};
use super::error::{ErrorResponse, RequestError};
use super::front::FrontEnd;
use super::native;
use super::prefixed::Prefixed;
use super::roles::{Client, is_order};
use super::service::ApiService;
use crate::eager_poll::EagerPoll;
use crate::env;
use crate::observe::Observer;
use crate::socket::tune;
use crate::supervise::supervised;
use crate::tls::Certificate;

/// The longest head of a request: its first line and its headers.
pub(super) const MOST_HEAD_BYTES: usize = 16 << 10;
/// The most headers.
pub(super) const MOST_HEADERS: usize = 64;
/// What is buffered of one connection.
pub(super) const BUFFER_BYTES: usize = 64 << 10;
/// How long a connection may stay without a whole head, also between two requests.
pub(super) const HEAD_WITHIN: Duration = Duration::from_secs(60);
/// What is read of a connection to detect its protocol, at most.
const FIRST_BYTES: usize = 4 << 10;
/// How long a new connection may take until its first request has a whole head.
const FIRST_WITHIN: Duration = Duration::from_secs(5);
/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 22;
/// How long a TLS handshake may take.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection that has to go may take to be told, or to finish its answer.
pub(super) const GONE_WITHIN: Duration = Duration::from_secs(1);
/// The longest order that is read.
const MOST_ORDER_BYTES: usize = 64 << 10;
/// How long to wait between two strangers when they come too fast.
const BETWEEN_STRANGERS: Duration = Duration::from_millis(2);
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
    pub(super) fn new(stage: watch::Receiver<Stage>) -> Self {
        Closing(stage)
    }

    /// Waits until the site takes no new requests.
    pub async fn begun(mut self) {
        // Without a sender it is gone.
        let _ = self.0.wait_for(|stage| *stage > Stage::Open).await;
    }
}

/// The protocol of an address.
pub(super) enum Protocols {
    /// HTTP/1.1.
    Http,
    /// The same, and the native protocol, whose clients this service answers.
    Native(Arc<ApiService>),
    /// Another protocol, over HTTP/1.1 or HTTP/2.
    Other(Arc<dyn FrontEnd>),
}

/// Answers connections.
pub(super) struct ConnectionHandler {
    router: TowerToHyperService<Router>,
    protocols: Protocols,
    pub(super) auth: Arc<ArcSwap<Auth>>,
    limiter: Arc<ConnectionLimiter>,
    /// Connections that one client may have.
    pub(super) quota: Option<usize>,
    pub(super) audit: Audit,
    pub(super) watched: Watched,
    http: http1::Builder,
}

/// What every connection watches.
#[derive(Clone)]
pub(super) struct Watched {
    pub(super) stage: watch::Receiver<Stage>,
    /// Changes when certificates do: whoever came before comes again.
    pub(super) renewed: watch::Receiver<u64>,
    pub(super) observer: Arc<Observer>,
}

/// Why a connection ends that could go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The API closes.
    Closing,
    /// Somebody else gets its place.
    Cut,
    /// It has not asked for anything.
    Silent,
    /// There are new certificates.
    Renewed,
}

impl ConnectionHandler {
    pub(super) fn new(
        (router, protocols): (Router, Protocols),
        auth: Arc<ArcSwap<Auth>>,
        (limiter, quota): (Arc<ConnectionLimiter>, Option<usize>),
        watched: Watched,
    ) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_header_size(MOST_HEAD_BYTES)
            .max_headers(MOST_HEADERS)
            .max_buf_size(BUFFER_BYTES);
        let router = TowerToHyperService::new(router);
        ConnectionHandler {
            router,
            protocols,
            auth,
            limiter,
            quota,
            audit: Audit::new(),
            watched,
            http,
        }
    }

    /// Which other protocol it serves, if not the API's own.
    pub(super) fn front(&self) -> Option<&dyn FrontEnd> {
        match &self.protocols {
            Protocols::Other(front) => Some(front.as_ref()),
            Protocols::Http | Protocols::Native(_) => None,
        }
    }

    /// Listens in the background.
    pub(super) fn supervise(&self, receiving: impl Future<Output = ()> + Send + 'static) {
        let observer = Arc::clone(&self.watched.observer);
        tokio::spawn(supervised(observer, "the listener for clients", receiving));
    }

    /// Answers one connection in the background.
    fn spawn(&self, serving: impl Future<Output = ()> + Send + 'static) {
        // What a request has changed by half is used by all later ones.
        let observer = Arc::clone(&self.watched.observer);
        tokio::spawn(supervised(observer, "a request", EagerPoll::new(serving)));
    }

    /// Answers whoever comes to `listener`, until the API closes.
    pub(super) async fn receive_tcp(
        self: Arc<Self>,
        listener: TcpListener,
        caller: Caller,
        tls: Option<Arc<ArcSwap<ServerConfig>>>,
    ) {
        while let Some(accepted) = self.next(listener.accept()).await {
            let Ok((stream, from)) = accepted else {
                env::sleep(BREATH).await;
                continue;
            };
            let place = match self.limiter.enter(Some(from.ip())) {
                Ok(place) => place,
                Err(refusal) => {
                    self.limiter.refused(Some(from.ip()), refusal.kind().1, &refusal.to_string());
                    // A TLS client could not read it yet; the others may as well know why.
                    if tls.is_none() && self.front().is_none() {
                        let _ = stream.try_write(unasked(&refusal).as_bytes());
                    }
                    continue;
                }
            };
            if tune(&stream).is_err() {
                // It was gone before it was answered.
                continue;
            }
            let (handler, caller) = (Arc::clone(&self), caller.clone());
            let in_a_rush = place.in_a_rush;
            match &tls {
                None => self.spawn(handler.serve(stream, caller, place)),
                Some(tls) => {
                    let tls = TlsAcceptor::from(self.offered(tls.load_full()));
                    self.spawn(handler.serve_tls(stream, tls, place));
                }
            }
            if in_a_rush {
                // The system keeps whoever comes meanwhile, in order.
                env::sleep(BETWEEN_STRANGERS).await;
            }
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
            match self.limiter.enter(None) {
                Ok(place) => self.spawn(Arc::clone(&self).serve(stream, Caller::Owner, place)),
                Err(refusal) => {
                    self.limiter.refused(None, refusal.kind().1, &refusal.to_string());
                    let _ = stream.try_write(unasked(&refusal).as_bytes());
                }
            }
        }
    }

    /// Whoever comes next; none when the API closes.
    async fn next<T>(
        &self,
        accepted: impl Future<Output = io::Result<T>>,
    ) -> Option<io::Result<T>> {
        let mut stage = self.watched.stage.clone();
        tokio::select! {
            accepted = accepted => Some(accepted),
            _ = stage.wait_for(|stage| *stage > Stage::Open) => None,
        }
    }

    async fn serve_tls(
        self: Arc<Self>,
        stream: TcpStream,
        tls: TlsAcceptor,
        place: ConnectionSlot,
    ) {
        let handshake = async {
            if self.front().is_none() && is_plain(&stream).await {
                return Err(Some(stream));
            }
            match tls.accept(stream).into_fallible().await {
                Ok(stream) => Ok(stream),
                Err((why, stream)) => {
                    tracing::debug!("a TLS handshake with a client failed: {why}");
                    let_read(stream).await;
                    Err(None)
                }
            }
        };
        let greeted = tokio::select! {
            greeted = env::timeout(HANDSHAKE_WITHIN, handshake) => greeted,
            () = place.cut() => None,
        };
        let stream = match greeted {
            Some(Ok(stream)) => stream,
            Some(Err(Some(mut plain))) => {
                // What is left unread would make the system take the answer back.
                let _ = plain.try_read(&mut [0; FIRST_BYTES]);
                return refuse(&mut plain, &place, &RequestError::TlsOnly).await;
            }
            Some(Err(None)) | None => return,
        };
        let certificate = stream.get_ref().1.peer_certificates().and_then(|all| all.first());
        let caller = match certificate {
            None => Caller::Stranger,
            Some(certificate) => {
                let name = Certificate::read(certificate).map(|certificate| certificate.name);
                Caller::Certified(name.unwrap_or_default().into())
            }
        };
        self.serve(stream, caller, place).await;
    }

    async fn serve<I>(self: Arc<Self>, mut io: I, caller: Caller, place: ConnectionSlot)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        if self.front().is_some() {
            return self.serve_front(io, caller, place).await;
        }
        let mut first = pin!(env::sleep(FIRST_WITHIN));
        let mut stage = self.watched.stage.clone();
        // The first byte tells one protocol from the other.
        let mut received = Vec::with_capacity(FIRST_BYTES);
        let refusal = tokio::select! {
            biased;
            read = io.read_buf(&mut received) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) => None,
            },
            _ = stage.wait_for(|stage| *stage > Stage::Open) => return,
            () = place.cut() => Some(RequestError::TooManyConnections),
            () = first.as_mut() => Some(RequestError::Silent(FIRST_WITHIN.as_secs())),
        };
        if let Some(refusal) = refusal {
            return refuse(io, &place, &refusal).await;
        }
        match &self.protocols {
            Protocols::Native(service) if native::begins_with(received[0]) => {
                self.serve_native(service, (io, received), (caller, &place), first).await;
            }
            _ => self.serve_http(Prefixed::new(received, io), caller, place, first).await,
        }
    }

    async fn serve_http<I>(
        &self,
        io: I,
        caller: Caller,
        place: ConnectionSlot,
        mut first: Pin<&mut impl Future<Output = ()>>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let has_asked = AtomicBool::new(false);
        let service = service_fn(|request| {
            has_asked.store(true, Ordering::Relaxed);
            self.answer(&caller, &place, request)
        });
        let mut connection = self.http.serve_connection(TokioIo::new(io), service);
        let Watched { mut stage, mut renewed, .. } = self.watched.clone();
        renewed.mark_unchanged();
        let mut is_early = true;
        let end = loop {
            tokio::select! {
                biased;
                _ = Pin::new(&mut connection) => return,
                _ = stage.wait_for(|stage| *stage > Stage::Open) => break End::Closing,
                () = place.cut() => break End::Cut,
                Ok(()) = renewed.changed() => break End::Renewed,
                () = first.as_mut(), if is_early => match has_asked.load(Ordering::Relaxed) {
                    true => is_early = false,
                    false => break End::Silent,
                },
            }
        };
        if matches!(end, End::Cut | End::Silent) && !has_asked.load(Ordering::Relaxed) {
            let refusal = match end {
                End::Silent => RequestError::Silent(FIRST_WITHIN.as_secs()),
                _ => RequestError::TooManyConnections,
            };
            return refuse(connection.into_parts().io.into_inner(), &place, &refusal).await;
        }
        Pin::new(&mut connection).graceful_shutdown();
        let is_over = async {
            match end {
                End::Cut => env::sleep(GONE_WITHIN).await,
                _ => drop(stage.wait_for(|stage| *stage == Stage::Gone).await),
            }
        };
        tokio::select! {
            _ = connection => {}
            () = is_over => {}
        }
    }

    pub(super) async fn answer(
        &self,
        caller: &Caller,
        place: &ConnectionSlot,
        mut request: Request<Incoming>,
    ) -> Result<Response<Body>, Infallible> {
        request.extensions_mut().insert(Closing(self.watched.stage.clone()));
        let path = request.uri().path();
        let (method, path) = (request.method().clone(), path.to_string());
        let mut counts_as = path.as_str();
        if let Some(front) = self.front() {
            front.tell_who(request.headers_mut());
            counts_as = front.counts_as(&path);
        }
        let admitted = self.auth.load().admit(caller, &request, counts_as);
        let name = match &admitted {
            Ok(client) => Arc::clone(client.name()),
            Err(denied) => Arc::clone(&denied.client),
        };
        let act = Act { client: &name, address: place.address, method: &method, path: &path };
        let mut response = match admitted {
            Ok(client) => {
                let asked = (&act, counts_as);
                let mut response = self.answer_client(client.clone(), place, asked, request).await;
                if let Some(refused) = client.noted() {
                    response.extensions_mut().insert(refused.clone());
                }
                response
            }
            Err(denied) => self.refusal(&request, RequestError::from(denied)),
        };
        let refused = response.extensions_mut().remove::<ErrorResponse>();
        if let Some(ErrorResponse { status, code, problem }) =
            refused.filter(ErrorResponse::is_slowed)
        {
            if status != StatusCode::SERVICE_UNAVAILABLE {
                self.audit.refused(&act, code, status);
            }
            env::sleep(place.refused(code, &problem.error)).await;
        }
        Ok(response)
    }

    /// Answers somebody who was let in.
    async fn answer_client(
        &self,
        client: Client,
        place: &ConnectionSlot,
        (act, counts_as): (&Act<'_>, &str),
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let is_open = is_open(counts_as);
        if is_open && self.front().is_none() {
            return self.call(request.map(Body::new)).await;
        }
        let for_session = is_for_session(counts_as);
        let begun =
            if is_open { Ok(true) } else { place.begin(client.name(), for_session, self.quota) };
        let stays = match begun {
            Ok(stays) => stays,
            Err(refusal) => return closing(self.refusal(&request, refusal)),
        };
        request.extensions_mut().insert(client);
        let response = match is_order(act.method, counts_as) {
            true => self.order(act, request).await,
            false => self.call(request.map(Body::new)).await,
        };
        place.end(response.status().is_success() && (for_session || counts_as == "/v1/sessions"));
        if stays { response } else { closing(response) }
    }

    /// The answer to somebody who is refused, as its protocol has it.
    fn refusal(&self, request: &Request<Incoming>, refusal: RequestError) -> Response<Body> {
        let Some(front) = self.front() else { return refusal.into_response() };
        let mut asked = Request::new(());
        asked.uri_mut().clone_from(request.uri());
        asked.headers_mut().clone_from(request.headers());
        let refused = ErrorResponse::from(refusal);
        let mut response = front.refusal(&asked, &refused);
        response.extensions_mut().insert(refused);
        response
    }

    /// Answers an order, and writes down what it was.
    async fn order(&self, act: &Act<'_>, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let read = Limited::new(body, MOST_ORDER_BYTES).collect();
        let body = match env::timeout(FIRST_WITHIN, read).await {
            Some(Ok(body)) => body.to_bytes(),
            Some(Err(error)) if error.is::<LengthLimitError>() => {
                return RequestError::TooLarge(MOST_ORDER_BYTES).into_response();
            }
            Some(Err(error)) => return RequestError::Malformed(error.to_string()).into_response(),
            None => return RequestError::Slow(FIRST_WITHIN.as_secs()).into_response(),
        };
        let request = Request::from_parts(parts, Body::from(body.clone()));
        let response = self.call(request).await;
        self.audit.done(act, &body, response.status());
        response
    }

    async fn call(&self, request: Request<Body>) -> Response<Body> {
        match self.router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// Whether a path keeps a session alive, or gives something back.
fn is_for_session(path: &str) -> bool {
    path.starts_with("/v1/sessions/") || path == "/v1/release"
}

/// The answer, after which the connection ends.
fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Whether a new connection, once it says something, does not begin with a TLS handshake.
async fn is_plain(stream: &TcpStream) -> bool {
    let mut first = [0];
    matches!(stream.peek(&mut first).await, Ok(1)) && first[0] != TLS_HANDSHAKE
}

/// Lets the other end read why it is cut off: what it still sends would make the system take that back.
async fn let_read(mut stream: TcpStream) {
    let told = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    let _ = env::timeout(GONE_WITHIN, told).await;
}

/// Tells somebody who has not asked for anything that it has to go.
async fn refuse(mut io: impl AsyncWrite + Unpin, place: &ConnectionSlot, refusal: &RequestError) {
    place.refused(refusal.kind().1, &refusal.to_string());
    let told = async {
        io.write_all(unasked(refusal).as_bytes()).await?;
        io.shutdown().await
    };
    // Whether or not it reads that.
    let _ = env::timeout(GONE_WITHIN, told).await;
}

/// What whoever has to go is told without having asked.
fn unasked(refusal: &RequestError) -> String {
    let body = serde_json::to_string(&refusal.problem()).expect("a problem is three texts");
    let (status, _) = refusal.kind();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n\
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
        tracing::warn!(wanted, half, "fewer connections than configured; raise `ulimit -n`");
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
