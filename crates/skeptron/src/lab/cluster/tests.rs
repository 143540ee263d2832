//! Live clusters on the loopback interface, looked at through the lab's paths.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use skeptron_net::api::{ApiConfig, Listeners};
use skeptron_net::{Cluster, Config, LeaseSettings, MemberId, Node, Plan, Plans};
use tokio::time::timeout;
use tower_service::Service as _;

use super::{Answering, Live, router};

/// Whatever takes longer than this is stuck.
const STUCK: Duration = Duration::from_secs(60);

async fn up(nodes: usize, algorithm: &str) -> (Cluster, Router) {
    let plans = Plans::new(Plan::named(algorithm).unwrap());
    let cluster = Cluster::start(nodes, plans).await.unwrap();
    let live = Live::whole(cluster.nodes.clone());
    live.answers_at((0..nodes).map(|k| vec![format!("http://127.0.0.1:{}", 7470 + k)]).collect());
    (cluster, router(live))
}

async fn ask(router: &Router, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path);
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let answer = router.clone().call(request.body(body).unwrap()).await.unwrap();
    let status = answer.status();
    let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

async fn acquire(router: &Router, node: usize, lock: &str, hold: Option<u64>) -> Value {
    let mut body = json!({ "node": node, "lock": lock });
    if let Some(hold) = hold {
        body["hold"] = json!(hold);
    }
    let (status, tried) = ask(router, "POST", "/lab/cluster/acquire", body).await;
    assert_eq!(status, StatusCode::OK, "{tried}");
    tried
}

/// A fence, which is a string of digits wherever JSON is spoken.
fn fence_of(value: &Value) -> u64 {
    value.as_str().and_then(|digits| digits.parse().ok()).expect("a fence is a string of digits")
}

/// A lock whose home is this node.
fn name_at_home(node: &Node) -> String {
    let view = node.view().expect("a fixed membership begins at once");
    let mut names = (0..).map(|number| format!("lock {number}"));
    names.find(|name| view.rank(node.id()) == Some(view.home(name))).expect("homes are spread")
}

/// A stream of events, read as a page does.
struct Stream {
    body: axum::body::BodyDataStream,
    rest: String,
}

impl Stream {
    async fn open(router: &Router, path: &str) -> Self {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = router.clone().call(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        Stream { body: answer.into_body().into_data_stream(), rest: String::new() }
    }

    /// The next event; none when the stream has ended.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((block, rest)) = self.rest.split_once("\n\n") {
                let value = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|text| text.trim().to_string())
                };
                let read = value("event:").zip(value("data:"));
                self.rest = rest.to_string();
                match read {
                    Some((event, data)) => {
                        return Some((event, serde_json::from_str(&data).unwrap()));
                    }
                    None => continue,
                }
            }
            let part = timeout(STUCK, self.body.next()).await.expect("the stream goes on")?;
            self.rest.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
        }
    }

    /// The next event of that name that is as wanted.
    async fn wait(&mut self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (event, data) = self.next().await.expect("the stream goes on");
            if event == name && wanted(&data) {
                return data;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_one_lock_tell_one_story() {
    for algorithm in ["naimi-trehel", "maekawa"] {
        let (cluster, router) = up(3, algorithm).await;
        let mut stream = Stream::open(&router, "/lab/cluster/events?lock=demo").await;
        // From then on everything is heard.
        stream.wait("status", |_| true).await;
        for round in 0..3 {
            for node in 1..=3 {
                acquire(&router, node, "demo", Some(5)).await;
                acquire(&router, node, "other", Some(5)).await;
            }
            let mut released = 0;
            let (mut sent, mut taken) = (BTreeMap::new(), Vec::new());
            let (mut fence, mut inside) = (0, None);
            let mut early = f64::INFINITY;
            while released < 3 || taken.iter().any(|(way, _)| !sent.contains_key(way)) {
                let (event, data) = stream.next().await.unwrap();
                match &*event {
                    "message" => {
                        let way = [&data["from"], &data["to"], &data["number"]]
                            .map(|number| number.as_u64().unwrap());
                        let seen = (data["label"].clone(), data["at"].as_f64().unwrap());
                        if data["received"] == json!(true) {
                            taken.push((way, seen));
                        } else {
                            sent.insert(way, seen);
                        }
                    }
                    "lock" => match data["what"].as_str().unwrap() {
                        "granted" => {
                            let next = fence_of(&data["fence"]);
                            assert!(next > fence, "{algorithm}, round {round}: {data}");
                            assert_eq!(inside, None, "{algorithm}, round {round}: {data}");
                            (fence, inside) = (next, data["node"].as_u64());
                        }
                        "released" => {
                            assert_eq!(data["node"].as_u64(), inside.take());
                            released += 1;
                        }
                        other => assert_eq!(other, "requested"),
                    },
                    "lagged" => panic!("a reader that keeps up is told everything"),
                    _ => {}
                }
            }
            for (way, (label, at)) in &taken {
                assert_eq!(&sent[way].0, label, "{algorithm}, round {round}: {way:?}");
                early = early.min(at - sent[way].1);
            }
            assert!(early >= 0.0, "{algorithm}: a message was taken before it was sent");
            assert!(!taken.is_empty() || round > 0, "{algorithm}");
        }
        cluster.shutdown().await;
        while stream.next().await.is_some() {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_taken_and_given_back_from_the_page() {
    let (cluster, router) = up(3, "suzuki-kasami").await;
    let mut stream = Stream::open(&router, "/lab/cluster/events").await;
    let first = acquire(&router, 1, "demo", None).await;
    let held = |node: u64| move |data: &Value| data["locks"][0]["holder"]["node"] == json!(node);
    let locks = stream.wait("locks", held(1)).await;
    assert_eq!(locks["locks"][0]["name"], json!("demo"));
    assert_eq!(locks["tries"][0]["fence"], locks["locks"][0]["holder"]["fence"]);
    let second = acquire(&router, 2, "demo", None).await;
    assert_eq!(second["fence"], Value::Null, "it waits: {second}");
    let waits = |data: &Value| data["locks"][0]["waiting"] == json!([{"node": 2, "waiters": 1}]);
    stream.wait("locks", waits).await;
    let (status, _) =
        ask(&router, "POST", "/lab/cluster/release", json!({"node": 1, "lock": "demo"})).await;
    assert_eq!(status, StatusCode::OK);
    let locks = stream.wait("locks", held(2)).await;
    let before = if first["fence"].is_null() { 0 } else { fence_of(&first["fence"]) };
    assert!(fence_of(&locks["locks"][0]["holder"]["fence"]) > before);
    // One that waits is given up in the same way.
    acquire(&router, 3, "demo", None).await;
    stream.wait("locks", |data| data["locks"][0]["waiting"][0]["node"] == json!(3)).await;
    for node in [3, 2] {
        let body = json!({"node": node, "lock": "demo"});
        let (status, said) = ask(&router, "POST", "/lab/cluster/release", body).await;
        assert_eq!(status, StatusCode::OK, "{said}");
    }
    let nothing = |data: &Value| data["total"] == json!(0) && data["tries"] == json!([]);
    stream.wait("locks", nothing).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_view_shows_nodes_links_and_counts() {
    let (cluster, router) = up(3, "suzuki-kasami").await;
    let lock = name_at_home(&cluster.nodes[0]);
    cluster.nodes[2].lock(&lock).await.unwrap().release().await.unwrap();
    let (status, view) = ask(&router, "GET", "/lab/cluster", Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(view["algorithm"], json!("suzuki-kasami"));
    assert_eq!(view["may_try"], json!(true));
    let nodes = view["status"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 3);
    assert_eq!(nodes[1]["own"]["api"], json!(["http://127.0.0.1:7471"]));
    assert_eq!(nodes[2]["own"]["entries"], json!(1));
    let requests = json!({
        "algorithm": "suzuki-kasami", "label": "REQUEST", "sent": 2, "received": 0
    });
    let messages = nodes[2]["own"]["messages"].as_array().unwrap();
    assert!(messages.contains(&requests), "{messages:?}");
    let links = view["status"]["links"].as_array().unwrap();
    let ends: Vec<_> = links.iter().map(|link| (&link["from"], &link["to"])).collect();
    let (one, two, three) = (json!(1), json!(2), json!(3));
    assert_eq!(ends, [(&one, &two), (&one, &three), (&two, &three)]);
    assert!(links.iter().all(|link| link["up"] == json!(true)));
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_tried_is_refused_with_a_reason() {
    let (cluster, router) = up(2, "central").await;
    for (path, body, said) in [
        ("acquire", json!({"node": 0, "lock": "a"}), "no node 0 here; say 1 to 2"),
        ("acquire", json!({"node": 3, "lock": "a"}), "no node 3 here"),
        ("acquire", json!({"node": 1, "lock": ""}), "1 to 255 bytes"),
        ("acquire", json!({"node": 1, "lock": "a\nb"}), "no control characters"),
        ("acquire", json!({"node": 1, "lock": "x".repeat(256)}), "1 to 255 bytes"),
        ("acquire", json!({"node": 1, "lock": "a", "hold": 0}), "from 1 to 60000 ms"),
        ("acquire", json!({"node": 1, "lock": "a", "hold": 60_001}), "from 1 to 60000 ms"),
        ("acquire", json!({"node": 1}), "missing field `lock`"),
        ("acquire", json!({"node": -1, "lock": "a"}), "invalid value"),
        ("acquire", json!({"node": 1, "lock": "a", "for": 1}), "unknown field `for`"),
        ("release", json!({"node": 1, "lock": "a"}), "acquire it first"),
        ("release", json!([]), "not what the path takes"),
    ] {
        let (status, answer) = ask(&router, "POST", &format!("/lab/cluster/{path}"), body).await;
        assert!(status.is_client_error(), "{status}");
        assert!(answer["error"].as_str().unwrap().contains(said), "{answer}");
    }
    let (status, answer) = ask(&router, "GET", "/lab/cluster/events?look=a", Value::Null).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    for number in 0..100 {
        acquire(&router, 1 + number % 2, &format!("lock {}", number / 2), None).await;
    }
    let again = json!({"node": 1, "lock": "lock 0"});
    let (_, answer) = ask(&router, "POST", "/lab/cluster/acquire", again).await;
    assert!(answer["error"].as_str().unwrap().contains("release it first"), "{answer}");
    let more = json!({"node": 1, "lock": "more"});
    let (_, answer) = ask(&router, "POST", "/lab/cluster/acquire", more).await;
    assert!(answer["error"].as_str().unwrap().contains("100 locks already"), "{answer}");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_page_is_told_what_it_missed() {
    let (cluster, router) = up(1, "central").await;
    let mut stream = Stream::open(&router, "/lab/cluster/events?lock=demo").await;
    stream.wait("status", |_| true).await;
    for _ in 0..5_000 {
        cluster.nodes[0].lock("demo").await.unwrap().release().await.unwrap();
    }
    let lagged = stream.wait("lagged", |_| true).await;
    assert!(lagged["missed"].as_u64().unwrap() > 0);
    let last = cluster.nodes[0].lock("demo").await.unwrap().fence();
    stream.wait("lock", |data| data["fence"] == json!(last)).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_alone_shows_itself_and_its_view_of_the_others() {
    let (cluster, _) = up(3, "suzuki-kasami").await;
    let router = router(Live::alone(cluster.nodes[1].clone()));
    let guard = cluster.nodes[0].lock("far").await.unwrap();
    let (_, view) = ask(&router, "GET", "/lab/cluster", Value::Null).await;
    assert_eq!(view["may_try"], json!(false));
    let own = |place: usize| view["status"]["nodes"][place]["own"].is_object();
    assert_eq!([own(0), own(1), own(2)], [false, true, false]);
    let links = view["status"]["links"].as_array().unwrap();
    let ends: Vec<_> = links.iter().map(|link| (&link["from"], &link["to"])).collect();
    let (one, two, three) = (json!(1), json!(2), json!(3));
    assert_eq!(ends, [(&two, &one), (&two, &three)]);
    assert_eq!(view["locks"]["locks"][0]["holder"]["fence"], json!(guard.fence()));
    let body = json!({"node": 2, "lock": "a"});
    let (status, answer) = ask(&router, "POST", "/lab/cluster/acquire", body).await;
    assert!(status.is_client_error());
    assert!(answer["error"].as_str().unwrap().contains("skeptron lock"), "{answer}");
    let mut stream = Stream::open(&router, "/lab/cluster/events?lock=far").await;
    stream.wait("status", |_| true).await;
    guard.release().await.unwrap();
    drop(cluster.nodes[1].lock("far").await.unwrap());
    stream.wait("lock", |data| data["what"] == json!("granted")).await;
    cluster.shutdown().await;
}

#[tokio::test]
async fn a_cluster_that_waits_for_somebody_says_so() {
    let members = vec!["127.0.0.1:1".to_string(), "127.0.0.1:0".to_string()];
    let plans = Plans::new(Plan::named("central").unwrap());
    let config = Config::new(MemberId::at(1), members, plans);
    let node = Node::start(config).await.unwrap();
    let router = router(Live::alone(node.clone()));
    let (_, view) = ask(&router, "GET", "/lab/cluster", Value::Null).await;
    assert_eq!(view["status"]["nodes"][1]["own"]["awaited"], json!([1]));
    assert_eq!(view["status"]["links"][0]["up"], json!(false));
    assert!(view["status"]["links"][0]["trouble"].is_string());
    assert_eq!(view["locks"]["silent"], json!([1]));
    node.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_watches_is_told_of_kills_and_of_the_views_that_follow() {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let lease = LeaseSettings { lease: Duration::from_secs(1), ..LeaseSettings::default() };
    let cluster = Cluster::start_voting(3, 3, plans, folder.path(), lease).await.unwrap();
    let live = Live::whole(cluster.nodes.clone());
    let config = ApiConfig { listen: vec!["127.0.0.1:0".to_string()], ..ApiConfig::default() };
    let mut apis = Vec::new();
    for _ in 0..3 {
        let listeners = Listeners::bind(&config).await.unwrap();
        apis.push(Answering { config: config.clone(), listeners, etcd: None });
    }
    live.serve(cluster, apis, Router::new(), true).await.unwrap();
    let router = router(std::sync::Arc::clone(&live));
    let act = async |node: usize, act: &str| {
        ask(&router, "POST", "/lab/cluster/act", json!({"node": node, "act": act})).await
    };
    let mut stream = Stream::open(&router, "/lab/cluster/events?lock=demo").await;
    stream.wait("status", |_| true).await;
    let (status, answer) = act(3, "restart").await;
    assert!(
        status.is_client_error() && answer["error"].as_str().unwrap().contains("kill it first")
    );
    acquire(&router, 3, "demo", None).await;
    let (status, view) = act(3, "kill").await;
    assert_eq!((status, &view["status"]["nodes"][2]["state"]), (StatusCode::OK, &json!("killed")));
    assert_eq!(view["locks"]["tries"], json!([]), "what was tried there is over");
    stream.wait("cluster", |data| data["what"] == "killed" && data["node"] == 3).await;
    stream.wait("cluster", |data| data["what"] == "view" && data["members"] == json!([1, 2])).await;
    assert_eq!(act(3, "kill").await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(act(3, "restart").await.0, StatusCode::OK);
    stream.wait("cluster", |data| data["what"] == "restarted").await;
    // Also of the node that has taken its place.
    stream.wait("cluster", |data| data["what"] == "met" && data["node"] == 3).await;
    stream.wait("status", |data| data["nodes"][2]["state"] == "member").await;
    act(2, "cut").await;
    stream.wait("status", |data| data["nodes"][1]["state"] == "cut").await;
    stream.wait("cluster", |data| data["what"] == "view" && data["members"] == json!([1, 3])).await;
    act(2, "heal").await;
    stream.wait("status", |data| data["members"] == json!([1, 2, 3])).await;
    act(3, "pause").await;
    stream.wait("cluster", |data| data["what"] == "paused" && data["node"] == 3).await;
    stream.wait("status", |data| data["nodes"][2]["state"] == "paused").await;
    stream.wait("cluster", |data| data["what"] == "view" && data["members"] == json!([1, 2])).await;
    let (status, answer) =
        ask(&router, "POST", "/lab/cluster/acquire", json!({"node": 3, "lock": "demo"})).await;
    assert!(status.is_client_error() && answer["error"].as_str().unwrap().contains("is paused"));
    act(3, "resume").await;
    stream.wait("cluster", |data| data["what"] == "resumed" && data["node"] == 3).await;
    stream.wait("status", |data| data["members"] == json!([1, 2, 3])).await;
    // One that stands still can be killed, and begins anew.
    act(3, "pause").await;
    assert_eq!(act(3, "kill").await.0, StatusCode::OK);
    assert_eq!(act(3, "pause").await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(act(3, "restart").await.0, StatusCode::OK);
    stream.wait("status", |data| data["nodes"][2]["state"] == "member").await;
    live.end().await;
}
