//! `/health`, `/ready` and `/live` in each state of a node, and the same as metrics.

use serde_json::{Value, json};
use skeptron_net::MemberId;
use skeptron_net::api::Api;
use tokio::net::TcpStream;

use crate::api::site::{Http, Site, cluster, config, eventually, with_voter};

const PROBES: [&str; 3] = ["/health", "/ready", "/live"];

async fn probed(http: &mut Http<TcpStream>) -> [u16; 3] {
    let mut statuses = [0; 3];
    for (status, path) in statuses.iter_mut().zip(PROBES) {
        *status = http.get(path).await.status;
    }
    statuses
}

async fn reasons(http: &mut Http<TcpStream>, path: &str) -> Vec<Value> {
    let answer = http.get(path).await.json();
    let causes = if answer["why"].is_null() { &answer["causes"] } else { &answer["why"]["causes"] };
    causes.as_array().unwrap().iter().map(|cause| cause["reason"].clone()).collect()
}

async fn metrics(http: &mut Http<TcpStream>, lines: &[&str]) {
    let text = http.get("/metrics").await.text;
    for line in lines {
        assert!(text.lines().any(|it| it == *line), "{line}: {text}");
    }
}

#[tokio::test]
async fn a_node_that_is_well_says_so_to_all() {
    let site = Site::start_with(|config| config.token = Some("t".into())).await;
    let mut http = site.http().await;
    assert_eq!(probed(&mut http).await, [200, 200, 200]);
    for path in PROBES {
        let well = json!({"node": 1, "well": true, "causes": []});
        assert_eq!(http.get(path).await.json(), well);
    }
    let mut http = site.http().await.with_header("authorization", "Bearer t");
    let lines = ["skeptron_can_grant 1", "skeptron_ready 1"];
    metrics(&mut http, &lines).await;
    metrics(&mut http, &["skeptron_cannot_grant{reason=\"no-quorum\"} 0"]).await;
    site.stop().await;
}

#[tokio::test]
async fn a_node_that_leaves_should_get_no_traffic() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    http.acquire(&session, "a", None).await.fence();
    site.node().leave();
    assert_eq!(probed(&mut http).await, [503, 503, 200]);
    assert_eq!(reasons(&mut http, "/ready").await, ["leaving"]);
    metrics(&mut http, &["skeptron_can_grant 0", "skeptron_ready 0"]).await;
    metrics(&mut http, &["skeptron_cannot_grant{reason=\"leaving\"} 1"]).await;
    site.stop().await;
}

#[tokio::test]
async fn a_node_without_links_is_ready_but_cannot_grant() {
    let mut cluster = cluster(3).await;
    let api = Api::start(cluster.nodes[0].clone(), config()).await.unwrap();
    let mut http = Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    cluster.kill(MemberId::at(2));
    eventually(async || cluster.nodes[0].status().members[2].down_ms.is_some()).await;
    // Locks that do not need it are granted.
    assert_eq!(probed(&mut http).await, [200, 200, 200]);
    assert_eq!(reasons(&mut http, "/health").await, ["unreachable"]);
    metrics(&mut http, &["skeptron_can_grant 1", "skeptron_link_up{peer=\"P2\"} 1"]).await;
    metrics(&mut http, &["skeptron_link_up{peer=\"P3\"} 0"]).await;
    metrics(&mut http, &["skeptron_cannot_grant{reason=\"unreachable\"} 1"]).await;
    cluster.kill(MemberId::at(1));
    eventually(async || cluster.nodes[0].status().members[1].down_ms.is_some()).await;
    assert_eq!(probed(&mut http).await, [503, 200, 200]);
    assert_eq!(reasons(&mut http, "/health").await[0], "isolated");
    api.shutdown().await;
    cluster.shutdown().await;
}

#[tokio::test]
async fn a_node_that_is_no_member_yet_or_any_more_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let (node, api) = with_voter(folder.path(), 2).await;
    let mut http = Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    assert_eq!(probed(&mut http).await, [503, 503, 200]);
    assert_eq!(reasons(&mut http, "/ready").await[0], "not-entered");
    node.kill();
    let (node, api) = with_voter(folder.path(), 1).await;
    node.entered().await.unwrap();
    let mut http = Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    assert_eq!(probed(&mut http).await, [200, 200, 200]);
    // Its lease is over.
    node.kill();
    eventually(async || node.status().halted.is_some()).await;
    assert_eq!(probed(&mut http).await, [503, 503, 200]);
    assert_eq!(reasons(&mut http, "/ready").await[0], "halted");
}
