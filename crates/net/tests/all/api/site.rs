//! A node with an API, and a client so simple that it shares nothing with the real one.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use skeptron_client::{Client, ClientConfig, Endpoint};
use skeptron_net::api::{Api, ApiConfig};
use skeptron_net::{
    Cluster, Config, Deadlocks, Init, LeaseSettings, MemberId, Membership, Node, Plan, Plans,
    VoterConfig,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nothing takes so long unless it is stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(60);

/// One node and its API.
pub(crate) struct Site {
    cluster: Cluster,
    pub(crate) api: Api,
}

impl Site {
    /// A cluster of one, with sessions as short as a test likes them.
    pub(crate) async fn start() -> Self {
        Site::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut ApiConfig)) -> Self {
        let mut config = config();
        change(&mut config);
        let cluster = cluster(1).await;
        let api = Api::start(cluster.nodes[0].clone(), config).await.unwrap();
        Site { cluster, api }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.cluster.nodes[0]
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.api.addresses()[0]
    }

    pub(crate) async fn http(&self) -> Http<TcpStream> {
        Http::over(TcpStream::connect(self.address()).await.unwrap())
    }

    pub(crate) fn client_config(&self) -> ClientConfig {
        ClientConfig::new(Endpoint::Http(self.address().to_string()))
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.client_config()).await.unwrap()
    }

    /// Waits until so many wait at the node.
    pub(crate) async fn waiters(&self, count: u64) {
        eventually(async || self.node().status().waiters == count).await;
    }

    /// Closes the API; the node stays.
    pub(crate) async fn close(self) -> Cluster {
        tokio::time::timeout(STUCK, self.api.shutdown()).await.expect("the API must close");
        self.cluster
    }

    pub(crate) async fn stop(self) {
        self.close().await.shutdown().await;
    }
}

pub(crate) fn config() -> ApiConfig {
    ApiConfig {
        listen: vec!["127.0.0.1:0".into()],
        ttl: (Duration::from_millis(100), Duration::from_secs(3600)),
        ..ApiConfig::default()
    }
}

/// Nodes with their APIs that end the youngest wait of a deadlock.
pub(crate) async fn cluster_refusing_deadlocks(nodes: usize) -> (Cluster, Vec<Api>) {
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let refuse = |config: &mut Config| config.deadlocks = Deadlocks::RefuseYoungest;
    let cluster = Cluster::start_with(nodes, plans, refuse).await.unwrap();
    let mut apis = Vec::new();
    for node in &cluster.nodes {
        apis.push(Api::start(node.clone(), config()).await.unwrap());
    }
    (cluster, apis)
}

pub(crate) async fn cluster(nodes: usize) -> Cluster {
    Cluster::start(nodes, Plans::new(Plan::named(Plan::DEFAULT).unwrap())).await.unwrap()
}

/// Waits until it is so.
pub(crate) async fn eventually(condition: impl AsyncFn() -> bool) {
    let so = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(STUCK, so).await.expect("it must become so");
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().expect("a refusal has a code").to_string()
    }

    pub(crate) fn fence(&self) -> u64 {
        assert_eq!(self.status, 200, "{}", self.text);
        let digits = self.json()["fence"].as_str().map(str::parse);
        digits.expect("a fence is a string").expect("a fence has only digits")
    }
}

/// HTTP/1.1 over one connection.
pub(crate) struct Http<S> {
    stream: S,
    /// What has been read too much.
    rest: Vec<u8>,
    /// Sent with each request.
    pub(crate) headers: Vec<(String, String)>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http<S> {
    pub(crate) fn over(stream: S) -> Self {
        Http { stream, rest: Vec::new(), headers: vec![("host".into(), "localhost".into())] }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, &body.to_string()).await
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, path, body).await;
        self.answer().await.expect("an answer")
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &str) {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let text =
            format!("{method} {path} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n{body}");
        self.raw(text.as_bytes()).await;
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        // Whoever is refused early may find the connection closed.
        let _ = self.stream.write_all(bytes).await;
    }

    /// The next answer; none if the connection ends first.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let head = self.until("\r\n\r\n").await?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let length: usize = length.unwrap_or(0);
        while self.rest.len() < length {
            self.more().await?;
        }
        let body = self.rest.drain(..length).collect();
        Some(Answer { status, head, text: String::from_utf8(body).unwrap() })
    }

    /// What comes up to and with this mark.
    pub(crate) async fn until(&mut self, mark: &str) -> Option<String> {
        loop {
            let place = self.rest.windows(mark.len()).position(|part| part == mark.as_bytes());
            if let Some(place) = place {
                let text = self.rest.drain(..place + mark.len()).collect();
                return Some(String::from_utf8(text).unwrap());
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Option<()> {
        let mut bytes = [0; 4096];
        let read = tokio::time::timeout(STUCK, self.stream.read(&mut bytes)).await;
        let read = read.expect("something must come").unwrap_or(0);
        self.rest.extend_from_slice(&bytes[..read]);
        (read > 0).then_some(())
    }

    /// A new session.
    pub(crate) async fn session(&mut self, ttl_ms: u64) -> String {
        let opened = self.post("/v1/sessions", json!({"ttl_ms": ttl_ms, "owner": "test"})).await;
        assert_eq!(opened.status, 200, "{}", opened.text);
        opened.json()["session"].as_str().unwrap().to_string()
    }

    pub(crate) async fn acquire(&mut self, session: &str, lock: &str, wait: Option<u64>) -> Answer {
        let asked = json!({"session": session, "lock": lock, "wait_ms": wait});
        self.post("/v1/acquire", asked).await
    }

    pub(crate) async fn release(&mut self, session: &str, lock: &str, fence: u64) -> Answer {
        let asked = json!({"session": session, "lock": lock, "fence": fence.to_string()});
        self.post("/v1/release", asked).await
    }
}

/// P2 of a cluster whose only voter, P1, is not there; or P1, which begins it.
pub(crate) async fn with_voter(folder: &Path, number: u32) -> (Node, Api) {
    let (first, me) = (MemberId::at(0), MemberId::new(number).unwrap());
    let lease = LeaseSettings { lease: Duration::from_millis(500), ..LeaseSettings::default() };
    let voters = VoterConfig {
        address: format!("127.0.0.1:{number}"),
        voters: [(first, "127.0.0.1:1".to_string())].into(),
        data: Some(folder.join(number.to_string())),
        init: (me == first).then_some(Init { lease, epoch_after: 0 }),
    };
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let membership = Membership::Voters(voters);
    let member = Config { membership, ..Config::new(me, Vec::new(), plans) };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let node = Node::start_at(member, listener).await.unwrap();
    let api = Api::start(node.clone(), config()).await.unwrap();
    (node, api)
}
