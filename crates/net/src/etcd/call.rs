//! Requests to etcd's gateway: HTTP/1.1 over TCP or TLS.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::EtcdError;
use super::txn::{Answer, Keys, Txn};
use crate::UNPOISONED;
use crate::config::{EtcdConfig, EtcdTls, etcd_address};
use crate::http::{Connection, Tls};
use crate::tls::{self, TlsError};

/// How many connections to one endpoint are kept for later.
const MOST_IDLE: usize = 2;

/// Asks etcd.
pub(super) struct Caller {
    keys: Keys,
    endpoints: Vec<Endpoint>,
}

struct Endpoint {
    url: String,
    address: String,
    host: HeaderValue,
    tls: Option<Tls>,
    idle: Mutex<Vec<Connection>>,
}

impl Caller {
    pub(super) fn new(keys: Keys, config: &EtcdConfig) -> Result<Self, EtcdError> {
        let tls = config.tls.as_ref().map(client_config).transpose()?;
        let endpoints = config.endpoints.iter().map(|url| Endpoint::new(url, tls.as_ref()));
        Ok(Caller { keys, endpoints: endpoints.collect::<Result<_, _>>()? })
    }

    /// Carries a transaction out. Without an answer it may or may not have happened, or yet happen.
    pub(super) async fn txn(&self, endpoint: usize, txn: &Txn) -> Result<Answer, String> {
        let endpoint = self.endpoint(endpoint);
        let answer = endpoint.exchange("/v3/kv/txn", self.keys.request(txn).into()).await;
        let answer = answer.and_then(|body| self.keys.answer(&body).map_err(|bad| bad.to_string()));
        answer.map_err(|why| format!("{}: {why}", endpoint.url))
    }

    /// Tells whenever the view changes, until that cannot be told any more.
    pub(super) async fn watch(&self, endpoint: usize, heard: impl FnMut()) -> Result<(), String> {
        let endpoint = self.endpoint(endpoint);
        let mut connection = Connection::dial(&endpoint.address, endpoint.tls.as_ref()).await?;
        let request = endpoint.request("/v3/watch", self.keys.watch().into());
        Ok(connection.listen(request, heard).await?)
    }

    /// The key of the view.
    pub(super) fn view(&self) -> String {
        self.keys.view()
    }

    fn endpoint(&self, number: usize) -> &Endpoint {
        &self.endpoints[number % self.endpoints.len()]
    }
}

impl Endpoint {
    fn new(url: &str, tls: Option<&Arc<ClientConfig>>) -> Result<Self, EtcdError> {
        let wrong = || EtcdError::Endpoint(url.to_string());
        let (is_tls, address) = etcd_address(url).ok_or_else(wrong)?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
        let tls = match is_tls {
            false => None,
            true => {
                let name = ServerName::try_from(host).map_err(|_| wrong())?;
                Some((TlsConnector::from(Arc::clone(tls.ok_or_else(wrong)?)), name))
            }
        };
        Ok(Endpoint {
            url: url.to_string(),
            address: address.to_string(),
            host: HeaderValue::from_str(address).map_err(|_| wrong())?,
            tls,
            idle: Mutex::default(),
        })
    }

    /// One request and its answer. A kept connection may have been closed meanwhile; then it is asked
    /// again on a new one, since every transaction may happen twice.
    async fn exchange(&self, path: &'static str, body: Bytes) -> Result<Bytes, String> {
        let kept = self.idle.lock().expect(UNPOISONED).pop();
        if let Some(mut kept) = kept
            && let Ok(answer) = kept.exchange(self.request(path, body.clone())).await
        {
            self.keep(kept);
            return good(answer);
        }
        let mut connection = Connection::dial(&self.address, self.tls.as_ref()).await?;
        let answer = connection.exchange(self.request(path, body)).await?;
        self.keep(connection);
        good(answer)
    }

    fn request(&self, path: &'static str, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = hyper::Uri::from_static(path);
        request.headers_mut().insert(HOST, self.host.clone());
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().expect(UNPOISONED);
        if !connection.is_closed() && idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}

/// The body, unless it tells of an error.
fn good((status, body): (hyper::StatusCode, Bytes)) -> Result<Bytes, String> {
    if status.is_success() {
        return Ok(body);
    }
    let why = serde_json::from_slice::<serde_json::Value>(&body).ok();
    let why = why.as_ref().and_then(|why| why.get("error")?.as_str());
    Err(format!("{status}: {}", why.unwrap_or("no reason given")))
}

fn client_config(config: &EtcdTls) -> Result<Arc<ClientConfig>, EtcdError> {
    let own = config.own.as_ref().map(|(certificate, key)| (certificate.as_str(), key.as_str()));
    tls::client_config(&config.authority, own).map_err(|error| match error {
        TlsError::Unusable { what, why } => EtcdError::Tls { what, why },
        other => EtcdError::Endpoint(other.to_string()),
    })
}
