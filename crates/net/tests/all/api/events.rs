//! Watching a node: events, metrics, health.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use skeptron_net::api::Api;
use tokio::net::TcpStream;

use crate::api::site::{Http, STUCK, Site, cluster, config};

/// The next line of a stream of server-sent events that begins like this.
async fn line(http: &mut Http<TcpStream>, begin: &str) -> String {
    loop {
        let line = http.until("\n").await.expect("the stream goes on");
        if let Some(rest) = line.trim_end().strip_prefix(begin) {
            return rest.to_string();
        }
    }
}

async fn event(http: &mut Http<TcpStream>) -> Value {
    serde_json::from_str(&line(http, "data: ").await).unwrap()
}

async fn watching(site: &Site, path: &str) -> Http<TcpStream> {
    let mut http = site.http().await;
    http.send("GET", path, "").await;
    let head = http.until("\r\n\r\n").await.unwrap();
    assert!(head.contains("text/event-stream"), "{head}");
    http
}

#[tokio::test]
async fn what_happens_to_a_lock_is_told() {
    let site = Site::start().await;
    let mut watching = watching(&site, "/v1/events?lock=orders%2F").await;
    let (mut http, other) = (site.http().await, site.node().clone());
    other.lock("else").await.unwrap().release().await.unwrap();
    let session = http.session(60_000).await;
    let fence = http.acquire(&session, "orders/42", None).await.fence();
    http.release(&session, "orders/42", fence).await;
    let mut last = None;
    for (what, fenced) in [("requested", false), ("entered", true), ("released", true)] {
        let event = event(&mut watching).await;
        assert_eq!((&event["what"], &event["lock"]), (&json!(what), &json!("orders/42")));
        assert_eq!(event["node"], json!(1));
        assert_eq!(event["fence"].as_str(), fenced.then_some(fence.to_string()).as_deref());
        assert!(event["number"].as_u64() > last);
        last = event["number"].as_u64();
    }
    site.stop().await;
}

#[tokio::test]
async fn a_slow_reader_is_told_what_it_missed_and_goes_on() {
    let site = Site::start().await;
    let mut watching = watching(&site, "/v1/events").await;
    // Without a pause, so that whoever writes to the reader does not come to it.
    for _ in 0..5_000 {
        site.node().lock("a").await.unwrap().release().await.unwrap();
    }
    assert_eq!(line(&mut watching, "event: ").await, "missed");
    let missed: u64 = line(&mut watching, "data: ").await.parse().unwrap();
    assert!(missed > 0);
    let end = site.node().lock("end").await.unwrap().fence();
    let told = async { while event(&mut watching).await["lock"] != json!("end") {} };
    tokio::time::timeout(STUCK, told).await.expect("the reader goes on");
    assert!(end > skeptron_net::Fence::default());
    site.stop().await;
}

#[tokio::test]
async fn a_stream_ends_when_the_api_closes() {
    let site = Site::start().await;
    let mut watching = watching(&site, "/v1/events").await;
    let cluster = site.close().await;
    while watching.until("\n").await.is_some() {}
    cluster.shutdown().await;
}

/// Each line of the metrics is a comment or a name, labels and a number, and the last says `# EOF`.
#[tokio::test]
async fn metrics_can_be_read() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    let fence = http.acquire(&session, "a", None).await.fence();
    http.release(&session, "a", fence).await;
    let metrics = http.get("/metrics").await;
    assert!(metrics.head.contains("application/openmetrics-text"), "{}", metrics.head);
    let mut names = HashSet::new();
    for line in metrics.text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let plain = name.split('{').next().unwrap();
        assert!(plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        assert!(names.insert(name.to_string()), "{line} is there twice");
    }
    assert!(metrics.text.ends_with("# EOF\n"));
    assert!(metrics.text.contains("skeptron_entries_total 1"), "{}", metrics.text);
    assert!(metrics.text.contains("skeptron_sessions 1"), "{}", metrics.text);
    site.stop().await;
}

#[tokio::test]
async fn a_leaving_node_is_not_well() {
    let site = Site::start().await;
    let mut http = site.http().await;
    assert_eq!(http.get("/health").await.json(), json!({"node": 1, "well": true, "causes": []}));
    let session = http.session(60_000).await;
    http.acquire(&session, "a", None).await.fence();
    let node = site.node().clone();
    let leaving = tokio::spawn(async move { node.shutdown(Duration::from_secs(5)).await });
    while http.get("/health").await.status == 200 {}
    let unwell = http.get("/health").await;
    assert_eq!((unwell.status, unwell.code().as_str()), (503, "unwell"));
    assert!(unwell.text.contains("P1 is shutting down"), "{}", unwell.text);
    let refused = http.acquire(&session, "b", None).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "leaving"));
    let cluster = site.close().await;
    leaving.await.unwrap();
    cluster.shutdown().await;
}

#[tokio::test]
async fn a_node_without_links_is_not_well_and_those_who_are_silent_are_named() {
    let cluster = cluster(2).await;
    let api = Api::start(cluster.nodes[0].clone(), config()).await.unwrap();
    let connect = TcpStream::connect(api.addresses()[0]);
    let mut http = Http::over(connect.await.unwrap());
    assert_eq!(http.get("/health").await.status, 200);
    let guard = cluster.nodes[1].lock("a").await.unwrap();
    let listing = http.get("/v1/locks?prefix=a").await.json();
    assert_eq!(listing["locks"][0]["holder"]["node"], json!(2));
    assert_eq!((&listing["silent"], &listing["complete"]), (&json!([]), &json!(true)));
    guard.release().await.unwrap();
    cluster.nodes[1].shutdown(Duration::ZERO).await;
    while http.get("/health").await.status == 200 {}
    assert!(http.get("/health").await.text.contains("no other member"));
    let listing = http.get("/v1/locks").await.json();
    assert_eq!((&listing["silent"], &listing["complete"]), (&json!([2]), &json!(false)));
    api.shutdown().await;
    cluster.shutdown().await;
}
