//! Requests and answers of one node: natively on one connection for all, or by HTTP/1.1 where that is not
//! spoken; over TCP, TLS or a Unix socket.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use rustls::pki_types::ServerName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

use crate::UNPOISONED;
use crate::env;
use crate::http::{Connection, ConnectionError, Stream, Tls};
use crate::messages::{Problem, RELAY, SessionPlace, TLS_ONLY};
use crate::native::connection::{Broken, NoConnection};
use crate::native::{self, Ask, Reply};
use crate::socket::tune;
use crate::{ClientConfig, ClientError, Endpoint, InvalidEndpoint, Protocol};
use skeptron_types::clock::MonoTime;

/// How long a node may take to greet a native connection.
const GREETED_WITHIN: Duration = Duration::from_secs(1);
/// For how long HTTP is used where the native protocol is not spoken: by an older node, or by a proxy.
const NOT_SPOKEN_FOR: Duration = Duration::from_secs(60);
/// For how long where that could not be found out.
const UNCLEAR_FOR: Duration = Duration::from_secs(5);
const NOT_NATIVE: &str = "the native protocol is not spoken there; `--protocol http` may help";
const NO_REQUESTS: &str = "it takes no requests";
/// How long a connection may take to come about.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How many connections are kept for later.
const MOST_IDLE: usize = 8;
/// For how long: less than the server lets them be.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// Why there is no good answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// None came: the request may or may not have been carried out.
    Unreachable(Unanswered),
    /// The node says no.
    Refused(StatusCode, Problem),
}

impl CallError {
    pub(crate) fn silent(why: impl Into<String>) -> Self {
        CallError::Unreachable(Unanswered::now(why))
    }
}

/// Why no answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// Who was asked, if whoever noticed knows that.
    at: Option<Endpoint>,
    why: ConnectionError,
}

impl Unanswered {
    pub(crate) fn now(why: impl Into<String>) -> Self {
        Unanswered { at: None, why: ConnectionError::now(why) }
    }

    /// Whoever knows says who was asked.
    pub(crate) fn at(self, endpoint: &Endpoint) -> Self {
        Unanswered { at: self.at.or_else(|| Some(endpoint.clone())), ..self }
    }

    /// Whether it will not be answered later either.
    pub(crate) fn lasts(&self) -> bool {
        self.why.lasts
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(endpoint) => write!(f, "{endpoint}: {}", self.why.why),
            None => f.write_str(&self.why.why),
        }
    }
}

/// What all of them say.
pub(crate) fn joined(all: &[Unanswered]) -> String {
    all.iter().map(Unanswered::to_string).collect::<Vec<_>>().join("; ")
}

/// Asks one node.
pub(crate) struct Caller {
    endpoint: Endpoint,
    host: HeaderValue,
    token: Option<String>,
    authorization: Option<HeaderValue>,
    tls: Option<Tls>,
    idle: Mutex<Vec<(Connection, MonoTime)>>,
    protocol: Protocol,
    native: Mutex<Native>,
    /// Held while a native connection is made: one is enough.
    connecting: tokio::sync::Mutex<()>,
    /// Changes when the node asks for signs of life.
    looks: Arc<watch::Sender<u64>>,
}

/// What is known of the native protocol at a node.
enum Native {
    Untried,
    Up(Arc<native::Connection>),
    /// HTTP is used until then.
    NotBefore(MonoTime),
}

impl Caller {
    pub(crate) fn new(endpoint: &Endpoint, config: &ClientConfig) -> Result<Self, ClientError> {
        let host = match endpoint {
            Endpoint::Http(address) | Endpoint::Https(address) => address.as_str(),
            Endpoint::Unix(_) => "localhost",
        };
        let no_endpoint = |_| ClientError::Endpoint(InvalidEndpoint(endpoint.to_string()));
        let host = HeaderValue::from_str(host).map_err(no_endpoint)?;
        let authorization = config.token.as_deref().map(bearer).transpose()?;
        let tls = match endpoint {
            Endpoint::Https(address) => Some(tls(address, config)?),
            _ => None,
        };
        Ok(Caller {
            endpoint: endpoint.clone(),
            host,
            token: config.token.clone(),
            authorization,
            tls,
            idle: Mutex::default(),
            protocol: config.protocol,
            native: Mutex::new(Native::Untried),
            connecting: tokio::sync::Mutex::default(),
            looks: Arc::default(),
        })
    }

    /// Changes when the node asks for signs of life.
    pub(crate) fn looks(&self) -> watch::Receiver<u64> {
        self.looks.subscribe()
    }

    /// Asks, natively if the node speaks that. Everything that is asked may be asked twice.
    pub(crate) async fn ask(
        &self,
        question: Ask,
        relay: Option<&SessionPlace>,
    ) -> Result<Reply, CallError> {
        // A connection may have been closed meanwhile, so a new one is tried when it breaks.
        for _ in 0..2 {
            let Some((connection, is_new)) = self.native().await? else {
                return Box::pin(self.ask_http(&question, relay)).await;
            };
            match connection.ask(question.clone(), relay.cloned()).await {
                Ok(Reply::Refused(refused)) => return Err(refused.into()),
                Ok(reply) => return Ok(reply),
                Err(Broken::Again) => {}
                Err(Broken::Ended(why)) if is_new => {
                    return Err(self.unreachable(ConnectionError::now(why)));
                }
                Err(Broken::Ended(_)) => {}
            }
        }
        Err(self.unreachable(ConnectionError::now(NO_REQUESTS)))
    }

    /// Observes an election natively; none if the node does not speak that.
    pub(crate) async fn observe(
        &self,
        question: Ask,
    ) -> Result<Option<native::Observation>, CallError> {
        let Some((connection, _)) = self.native().await? else { return Ok(None) };
        let refused = |_| self.unreachable(ConnectionError::now(NO_REQUESTS));
        connection.observe(question).map(Some).map_err(refused)
    }

    /// Something was not answered in time: what is asked next goes over a new connection, in case the
    /// present one leads nowhere. Whoever waits for answers on it goes on waiting.
    pub(crate) fn doubt(&self) {
        let mut native = self.native_state();
        if matches!(*native, Native::Up(_)) {
            *native = Native::Untried;
        }
    }

    fn unreachable(&self, why: ConnectionError) -> CallError {
        CallError::Unreachable(Unanswered { at: Some(self.endpoint.clone()), why })
    }

    fn not_native(&self) -> CallError {
        self.unreachable(ConnectionError::now(NOT_NATIVE))
    }

    fn native_state(&self) -> MutexGuard<'_, Native> {
        self.native.lock().expect(UNPOISONED)
    }

    /// The native connection, if it takes requests; `Some(None)` if HTTP is to be used.
    fn present(&self) -> Option<Option<Arc<native::Connection>>> {
        match &*self.native_state() {
            Native::Up(connection) if connection.is_open() => Some(Some(Arc::clone(connection))),
            Native::NotBefore(moment) if env::now() < *moment => Some(None),
            _ => None,
        }
    }

    /// The native connection to the node, and whether it is new; none if HTTP is to be used.
    async fn native(&self) -> Result<Option<(Arc<native::Connection>, bool)>, CallError> {
        if self.protocol == Protocol::Http {
            return Ok(None);
        }
        let present = match self.present() {
            None => {
                let _connecting = self.connecting.lock().await;
                match self.present() {
                    None => {
                        // Connecting is rare, and its future is large: it would be part of every question's.
                        let up = Box::pin(self.greet()).await?;
                        return Ok(up.map(|up| (up, true)));
                    }
                    present => present,
                }
            }
            present => present,
        };
        match present.flatten() {
            None if self.protocol == Protocol::Native => Err(self.not_native()),
            present => Ok(present.map(|present| (present, false))),
        }
    }

    async fn greet(&self) -> Result<Option<Arc<native::Connection>>, CallError> {
        let io = within_time(CONNECT_WITHIN, self.dial_native()).await;
        let io = io.map_err(|why| self.unreachable(why))?;
        // Before it is known: whoever waits may have no time for an answer that does not come.
        *self.native_state() = Native::NotBefore(env::now().after(UNCLEAR_FOR));
        let greeting =
            native::Connection::greet(io, self.token.as_deref(), Arc::clone(&self.looks));
        let greeted = env::timeout(GREETED_WITHIN, greeting).await;
        match greeted.unwrap_or(Err(NoConnection::Unclear)) {
            Ok(connection) => {
                *self.native_state() = Native::Up(Arc::clone(&connection));
                Ok(Some(connection))
            }
            Err(why) if self.protocol == Protocol::Native => Err(match why {
                NoConnection::Refused(refused) => refused.into(),
                _ => self.not_native(),
            }),
            Err(NoConnection::NotSpoken) => {
                *self.native_state() = Native::NotBefore(env::now().after(NOT_SPOKEN_FOR));
                Ok(None)
            }
            // HTTP says why, or keeps what there is.
            Err(NoConnection::Unclear | NoConnection::Refused(_)) => Ok(None),
        }
    }

    async fn dial_native(&self) -> Result<Box<dyn native::Io>, ConnectionError> {
        let stream = match &self.endpoint {
            Endpoint::Unix(path) => {
                return Ok(Box::new(UnixStream::connect(path).await?));
            }
            Endpoint::Http(address) | Endpoint::Https(address) => {
                TcpStream::connect(address.as_str()).await?
            }
        };
        tune(&stream)?;
        match &self.tls {
            None => Ok(Box::new(stream)),
            Some((tls, name)) => Ok(Box::new(tls.connect(name.clone(), stream).await?)),
        }
    }

    async fn ask_http(
        &self,
        question: &Ask,
        relay: Option<&SessionPlace>,
    ) -> Result<Reply, CallError> {
        let (method, path, body) = question.to_http();
        let relay = relay.map(|place| {
            let life = format!("{}-{:016x}", place.node.number(), place.life.0);
            HeaderValue::from_str(&life).expect("digits and a dash")
        });
        let (status, bytes) = self.exchange(method, &path, body.into(), relay.as_ref()).await?;
        if status.is_success() {
            return question.read(&bytes).map_err(|error| self.strange(status, &error));
        }
        Err(self.refused(status, &bytes))
    }

    /// What it means that a node, or whoever is there, does not do it.
    fn refused(&self, status: StatusCode, said: &[u8]) -> CallError {
        match serde_json::from_slice::<Problem>(said) {
            // Nobody else would be asked otherwise: to this client the node is not there.
            Ok(problem) if problem.code == TLS_ONLY => {
                let Problem { error, remedy, .. } = problem;
                self.unreachable(ConnectionError::for_good(format!("{error}; {remedy}")))
            }
            Ok(problem) => CallError::Refused(status, problem),
            Err(error) => self.strange(status, &error),
        }
    }

    fn strange(&self, status: StatusCode, error: &serde_json::Error) -> CallError {
        self.unreachable(ConnectionError::now(format!(
            "answers {status}, which is no node: {error}"
        )))
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks for something that has no body.
    pub(crate) async fn ask_plainly<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
    ) -> Result<A, CallError> {
        self.send(method, path, Bytes::new()).await
    }

    /// Asks with a body.
    pub(crate) async fn post<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        question: &Q,
    ) -> Result<A, CallError> {
        let body = serde_json::to_vec(question).expect("a question has only names and numbers");
        self.send(Method::POST, path, body.into()).await
    }

    async fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<A, CallError> {
        let (status, bytes) = self.exchange(method, path, body, None).await?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| self.strange(status, &error));
        }
        Err(self.refused(status, &bytes))
    }

    /// One request and its answer. A kept connection may have been closed meanwhile, so a new one is
    /// tried when it breaks: everything that is asked may be asked twice.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        relay: Option<&HeaderValue>,
    ) -> Result<(StatusCode, Bytes), CallError> {
        if let Some(mut kept) = self.kept() {
            let request = self.request(&method, path, body.clone(), relay)?;
            if let Ok(answer) = kept.exchange(request).await {
                self.keep(kept);
                return Ok(answer);
            }
        }
        let unreachable = |why| self.unreachable(why);
        let mut connection = self.connect().await.map_err(unreachable)?;
        let request = self.request(&method, path, body, relay)?;
        let answer = connection.exchange(request).await.map_err(unreachable)?;
        self.keep(connection);
        Ok(answer)
    }

    /// Asks for an answer that does not end.
    pub(crate) async fn stream(&self, path: &str) -> Result<Stream, CallError> {
        let unreachable = |why| self.unreachable(why);
        let connection = self.connect().await.map_err(unreachable)?;
        let request = self.request(&Method::GET, path, Bytes::new(), None)?;
        let (status, mut stream) = connection.stream(request).await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(stream);
        }
        let mut said = Vec::new();
        while let Some(piece) = stream.next().await.map_err(unreachable)? {
            said.extend_from_slice(&piece);
        }
        Err(self.refused(status, &said))
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        body: Bytes,
        relay: Option<&HeaderValue>,
    ) -> Result<Request<Full<Bytes>>, CallError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = path
            .parse()
            .map_err(|_| self.unreachable(ConnectionError::now(format!("`{path}` is no path"))))?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(relay) = relay {
            headers.insert(RELAY, relay.clone());
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }

    /// The connection that was used last and is not too old.
    fn kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().expect(UNPOISONED);
        let (connection, since) = idle.pop()?;
        if env::now().since(since) < IDLE_FOR {
            return Some(connection);
        }
        // The others have been there for longer.
        idle.clear();
        None
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().expect(UNPOISONED);
        if !connection.is_closed() && idle.len() < MOST_IDLE {
            idle.push((connection, env::now()));
        }
    }

    async fn connect(&self) -> Result<Connection, ConnectionError> {
        Box::pin(within_time(CONNECT_WITHIN, self.dial())).await
    }

    async fn dial(&self) -> Result<Connection, ConnectionError> {
        match &self.endpoint {
            Endpoint::Unix(path) => Connection::over(UnixStream::connect(path).await?).await,
            Endpoint::Http(address) | Endpoint::Https(address) => {
                Connection::dial(address, self.tls.as_ref()).await
            }
        }
    }
}

/// The way to a session: to its node, or through another one that passes on what is asked.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) caller: Arc<Caller>,
    /// The place of the session, if the caller is not there.
    relay: Option<SessionPlace>,
}

impl Route {
    pub(crate) fn direct(caller: Arc<Caller>) -> Self {
        Route { caller, relay: None }
    }

    /// Through another node.
    pub(crate) fn through(caller: Arc<Caller>, place: &SessionPlace) -> Self {
        Route { caller, relay: Some(place.clone()) }
    }

    pub(crate) fn is_same(&self, other: &Route) -> bool {
        Arc::ptr_eq(&self.caller, &other.caller) && self.relay == other.relay
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.relay.is_none()
    }

    pub(crate) async fn ask(&self, question: Ask) -> Result<Reply, CallError> {
        self.caller.ask(question, self.relay.as_ref()).await
    }
}

impl From<native::Refused> for CallError {
    fn from(refused: native::Refused) -> Self {
        let status = StatusCode::from_u16(refused.status);
        CallError::Refused(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), refused.problem.0)
    }
}

/// A node that answers something else than what it was asked is none.
pub(crate) fn unexpected(reply: &Reply) -> CallError {
    CallError::silent(format!("the node answers something else: {reply:?}"))
}

async fn within_time<T>(
    time: Duration,
    made: impl Future<Output = Result<T, ConnectionError>>,
) -> Result<T, ConnectionError> {
    let made = env::timeout(time, made).await;
    made.unwrap_or_else(|| Err(ConnectionError::now(format!("no answer in {} s", time.as_secs()))))
}

impl fmt::Debug for Caller {
    /// Where to, without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

fn bearer(token: &str) -> Result<HeaderValue, ClientError> {
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value.map_err(|_| ClientError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

fn tls(
    address: &str,
    config: &ClientConfig,
) -> Result<(TlsConnector, ServerName<'static>), ClientError> {
    let identity = config.identity.as_ref().ok_or(ClientError::NoIdentity)?;
    let tls = identity.client_config().map_err(|error| ClientError::Identity(error.to_string()))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
    let name = ServerName::try_from(host);
    let name =
        name.map_err(|_| ClientError::Endpoint(InvalidEndpoint(format!("https://{address}"))))?;
    Ok((TlsConnector::from(Arc::clone(&tls)), name))
}

impl From<CallError> for ClientError {
    fn from(trouble: CallError) -> Self {
        match trouble {
            CallError::Unreachable(why) => ClientError::unanswered(&[why]),
            CallError::Refused(StatusCode::GONE, _) => ClientError::SessionOver,
            CallError::Refused(_, problem) if problem.code == "upgrade-denied" => {
                ClientError::UpgradeDenied(problem.error)
            }
            CallError::Refused(_, problem) if problem.code == "deadlock" => {
                ClientError::Deadlock(problem.error)
            }
            CallError::Refused(_, problem) if problem.code == "busy" => {
                ClientError::Busy(problem.error)
            }
            CallError::Refused(_, problem) if problem.is_outage() => {
                let causes = problem.why.map_or_else(Vec::new, |why| why.causes);
                ClientError::Unavailable { error: problem.error, causes }
            }
            CallError::Refused(_, problem) => {
                ClientError::Refused(format!("{}; {}", problem.error, problem.remedy))
            }
        }
    }
}
