//! Nodes with etcd's API, and two ways to ask them: gRPC by clients that are generated from our own
//! description, and JSON over HTTP/1.1.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use skeptron_etcd_api::front;
use skeptron_etcd_api::proto::etcdserverpb::lease_client::LeaseClient;
use skeptron_etcd_api::proto::v3electionpb::election_client::ElectionClient;
use skeptron_etcd_api::proto::v3lockpb::lock_client::LockClient;
use skeptron_net::api::{Api, ApiConfig, Listeners};
use skeptron_net::{Cluster, LeaseSettings, Plan, Plans};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long members that died are waited for: longer than a busy machine keeps a living one from its turn.
pub(crate) const LEASE: Duration = Duration::from_secs(4);
/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

/// Members of one cluster that answer clients of etcd.
pub(crate) struct Site {
    pub(crate) cluster: Cluster,
    pub(crate) apis: Vec<Option<Api>>,
    at: Vec<SocketAddr>,
    _folder: tempfile::TempDir,
}

impl Site {
    pub(crate) async fn start(members: usize) -> Self {
        Site::start_with(members, |_| {}).await
    }

    pub(crate) async fn start_with(members: usize, change: impl Fn(&mut ApiConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
        let lease = LeaseSettings { lease: LEASE, ..LeaseSettings::default() };
        let starting = Cluster::start_voting(members, members, plans, folder.path(), lease);
        let cluster = within(starting).await.unwrap();
        let (mut apis, mut at) = (Vec::new(), Vec::new());
        for node in &cluster.nodes {
            let mut config = ApiConfig { listen: Vec::new(), ..ApiConfig::default() };
            change(&mut config);
            let listeners = Listeners::bind_at(&["127.0.0.1:0".to_string()]).await.unwrap();
            at.extend(listeners.addresses());
            let urls = listeners.addresses().map(|at| format!("http://{at}")).collect();
            let fronted = front("test", listeners, urls);
            let own = Listeners::bind(&config).await.unwrap();
            let starting =
                Api::start_fronted(node.clone(), config, own, Router::new(), Some(fronted));
            apis.push(Some(starting.await.unwrap()));
        }
        Site { cluster, apis, at, _folder: folder }
    }

    pub(crate) fn at(&self, place: usize) -> SocketAddr {
        self.at[place]
    }

    /// Ends a member without a word.
    pub(crate) fn kill(&mut self, place: usize) {
        self.cluster.kill(skeptron_net::MemberId::at(place));
        self.apis[place] = None;
    }

    pub(crate) async fn clients(&self, place: usize) -> Clients {
        let stream = TcpStream::connect(self.at(place)).await.unwrap();
        Clients::over(stream).await
    }

    pub(crate) async fn post(&self, place: usize, path: &str, body: &str) -> (u16, String) {
        post(self.at(place), path, "", body).await
    }
}

/// Clients of one member, over one connection.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) lease: LeaseClient<Http2>,
    pub(crate) lock: LockClient<Http2>,
    pub(crate) election: ElectionClient<Http2>,
    pub(crate) channel: Http2,
}

impl Clients {
    pub(crate) async fn over<I>(stream: I) -> Self
    where
        I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let channel = Http2(sender);
        let at = hyper::Uri::from_static("http://127.0.0.1");
        Clients {
            lease: LeaseClient::with_origin(channel.clone(), at.clone()),
            lock: LockClient::with_origin(channel.clone(), at.clone()),
            election: ElectionClient::with_origin(channel.clone(), at),
            channel,
        }
    }
}

/// An HTTP/2 connection, as the generated clients use one.
#[derive(Clone)]
pub(crate) struct Http2(SendRequest<tonic::body::Body>);

impl tower_service::Service<hyper::Request<tonic::body::Body>> for Http2 {
    type Response = hyper::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: hyper::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Asks once over HTTP/1.1, with further lines in the head. Returns the status and the body.
pub(crate) async fn post(at: SocketAddr, path: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n{head}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        // Each chunk is a line with its length and a line with its content, which ends itself.
        let lines = body.split("\r\n").skip(1).step_by(2);
        return (status, lines.collect::<String>());
    }
    (status, body.to_string())
}
