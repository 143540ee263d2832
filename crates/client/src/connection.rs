//! Requests and answers: HTTP/1.1 over TCP, TLS or a Unix socket.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use rustls::pki_types::ServerName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;

use crate::UNPOISONED;
use crate::env;
use crate::http::{Connection, Stream, Tls, told};
use crate::messages::{Problem, RELAY, SessionPlace};
use crate::{ClientConfig, ClientError, Endpoint, InvalidEndpoint};
use skeptron_types::clock::Moment;

/// How long a connection may take to come about.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How many connections are kept for later.
const MOST_IDLE: usize = 8;
/// For how long: less than the server lets them be.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// Why there is no good answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// None came: the request may or may not have been carried out.
    Unreachable(String),
    /// The node says no.
    Refused(StatusCode, Problem),
}

/// Asks one node.
pub(crate) struct Caller {
    endpoint: Endpoint,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
    tls: Option<Tls>,
    idle: Mutex<Vec<(Connection, Moment)>>,
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
        let idle = Mutex::default();
        Ok(Caller { endpoint: endpoint.clone(), host, authorization, tls, idle })
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks for something that has no body.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
    ) -> Result<A, Trouble> {
        self.send(method, path, Bytes::new(), None).await
    }

    /// Asks with a body.
    pub(crate) async fn post<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        question: &Q,
    ) -> Result<A, Trouble> {
        let body = serde_json::to_vec(question).expect("a question has only names and numbers");
        self.send(Method::POST, path, body.into(), None).await
    }

    async fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        relay: Option<&HeaderValue>,
    ) -> Result<A, Trouble> {
        let (status, bytes) = self.exchange(method, path, body, relay).await?;
        let strange = |error: serde_json::Error| {
            let endpoint = &self.endpoint;
            Trouble::Unreachable(format!("{endpoint} answers {status}, which is no node: {error}"))
        };
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(strange);
        }
        let problem = serde_json::from_slice(&bytes).map_err(strange)?;
        Err(Trouble::Refused(status, problem))
    }

    /// One request and its answer. A kept connection may have been closed meanwhile, so a new one is
    /// tried when it breaks: everything that is asked may be asked twice.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        relay: Option<&HeaderValue>,
    ) -> Result<(StatusCode, Bytes), Trouble> {
        if let Some(mut kept) = self.kept() {
            let request = self.request(&method, path, body.clone(), relay)?;
            if let Ok(answer) = kept.exchange(request).await {
                self.keep(kept);
                return Ok(answer);
            }
        }
        let endpoint = &self.endpoint;
        let unreachable = |why: String| Trouble::Unreachable(format!("{endpoint}: {why}"));
        let mut connection = self.connect().await.map_err(unreachable)?;
        let request = self.request(&method, path, body, relay)?;
        let answer = connection.exchange(request).await.map_err(unreachable)?;
        self.keep(connection);
        Ok(answer)
    }

    /// Asks for an answer that does not end.
    pub(crate) async fn stream(&self, path: &str) -> Result<Stream, Trouble> {
        let endpoint = &self.endpoint;
        let unreachable = |why: String| Trouble::Unreachable(format!("{endpoint}: {why}"));
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
        match serde_json::from_slice(&said) {
            Ok(problem) => Err(Trouble::Refused(status, problem)),
            Err(_) => Err(unreachable(format!("answers {status}, which is no node"))),
        }
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        body: Bytes,
        relay: Option<&HeaderValue>,
    ) -> Result<Request<Full<Bytes>>, Trouble> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = path
            .parse()
            .map_err(|_| Trouble::Unreachable(format!("{}: `{path}` is no path", self.endpoint)))?;
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

    async fn connect(&self) -> Result<Connection, String> {
        let connection = env::timeout(CONNECT_WITHIN, self.dial()).await;
        connection.unwrap_or_else(|| Err(format!("no answer in {} s", CONNECT_WITHIN.as_secs())))
    }

    async fn dial(&self) -> Result<Connection, String> {
        match &self.endpoint {
            Endpoint::Unix(path) => {
                Connection::over(UnixStream::connect(path).await.map_err(told)?).await
            }
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
    relay: Option<HeaderValue>,
}

impl Route {
    pub(crate) fn direct(caller: Arc<Caller>) -> Self {
        Route { caller, relay: None }
    }

    /// Through another node.
    pub(crate) fn through(caller: Arc<Caller>, place: &SessionPlace) -> Self {
        let life = format!("{}-{:016x}", place.node.number(), place.life.0);
        Route { caller, relay: HeaderValue::from_str(&life).ok() }
    }

    pub(crate) fn is_same(&self, other: &Route) -> bool {
        Arc::ptr_eq(&self.caller, &other.caller) && self.relay == other.relay
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.relay.is_none()
    }

    /// Asks for something that has no body.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
    ) -> Result<A, Trouble> {
        self.caller.send(method, path, Bytes::new(), self.relay.as_ref()).await
    }

    /// Asks with a body.
    pub(crate) async fn post<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        question: &Q,
    ) -> Result<A, Trouble> {
        let body = serde_json::to_vec(question).expect("a question has only names and numbers");
        self.caller.send(Method::POST, path, body.into(), self.relay.as_ref()).await
    }
}

impl std::fmt::Debug for Caller {
    /// Where to, without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
