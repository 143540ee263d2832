//! An administrator breaks locks.

use std::time::Duration;

use serde_json::json;
use skeptron_net::Cluster;
use skeptron_net::api::Api;
use tokio::net::TcpStream;

use crate::api::site::{Http, STUCK, cluster, config, eventually};

/// Two nodes, each with an API.
async fn two() -> (Cluster, [Api; 2], [Http<TcpStream>; 2]) {
    let cluster = cluster(2).await;
    let start = async |k: usize| Api::start(cluster.nodes[k].clone(), config()).await.unwrap();
    let apis = [start(0).await, start(1).await];
    let connect =
        async |api: &Api| Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    let https = [connect(&apis[0]).await, connect(&apis[1]).await];
    (cluster, apis, https)
}

fn unlock(lock: &str, fence: u64, now: bool) -> String {
    json!({"lock": lock, "fence": fence.to_string(), "reason": "a test", "now": now}).to_string()
}

#[tokio::test]
async fn a_lock_is_broken_at_whichever_node_it_is_held() {
    let (cluster, apis, [mut first, mut second]) = two().await;
    let session = first.session(60_000).await;
    let fence = first.acquire(&session, "deploy", None).await.fence();

    let wrong = second.ask("POST", "/v1/unlock", &unlock("deploy", fence + 1, false)).await;
    assert_eq!((wrong.status, wrong.code().as_str()), (409, "other-fence"));
    assert!(wrong.text.contains(&fence.to_string()), "it names the present fence: {}", wrong.text);
    let nobody = second.ask("POST", "/v1/unlock", &unlock("other", fence, false)).await;
    assert_eq!((nobody.status, nobody.code().as_str()), (404, "not-held"));

    let broken = second.ask("POST", "/v1/unlock", &unlock("deploy", fence, false)).await;
    assert_eq!(broken.status, 200, "{}", broken.text);
    let broken = broken.json();
    assert_eq!((&broken["node"], &broken["handed_on"]), (&json!(1), &json!(false)));
    let believed = broken["believed_ms"].as_u64().unwrap();
    assert!((1..=60_000).contains(&believed), "{believed}");
    // Its client is told each time, and the next one does not get it before it knows.
    for _ in 0..2 {
        let alive = first.ask("POST", &format!("/v1/sessions/{session}/keep-alive"), "").await;
        assert_eq!(alive.json()["lost"][0]["fence"], json!(fence.to_string()));
    }
    let other = second.session(60_000).await;
    let waits = second.acquire(&other, "deploy", Some(50)).await;
    assert_eq!(waits.code(), "not-acquired");
    let again = second.ask("POST", "/v1/unlock", &unlock("deploy", fence, false)).await;
    assert!(again.json()["believed_ms"].as_u64().unwrap() <= believed, "signs do not put it off");
    // It gives it back, so nobody waits any longer.
    let body = json!({"session": session, "lock": "deploy", "fence": fence.to_string()});
    assert_eq!(first.ask("POST", "/v1/release", &body.to_string()).await.code(), "lost");
    let next = second.acquire(&other, "deploy", Some(30_000)).await.fence();
    assert!(next > fence);

    // At once, if it must be.
    let broken = first.ask("POST", "/v1/unlock", &unlock("deploy", next, true)).await;
    assert_eq!(broken.json()["handed_on"], json!(true));
    assert!(first.acquire(&session, "deploy", Some(30_000)).await.fence() > next);
    for api in apis {
        api.shutdown().await;
    }
    cluster.shutdown().await;
}

#[tokio::test]
async fn a_program_beside_the_node_loses_a_broken_lock_at_once() {
    let (cluster, apis, [mut first, _]) = two().await;
    let guard = cluster.nodes[1].lock("deploy").await.unwrap();
    let fence = guard.fence().number();
    let waits = tokio::spawn({
        let node = cluster.nodes[0].clone();
        async move { node.lock("deploy").await.unwrap() }
    });
    eventually(async || cluster.nodes[0].status().waiters == 1).await;
    assert!(guard.is_valid());
    let broken = first.ask("POST", "/v1/unlock", &unlock("deploy", fence, false)).await;
    let broken = broken.json();
    assert_eq!((&broken["node"], &broken["believed_ms"]), (&json!(2), &json!(0)), "{broken}");
    tokio::time::timeout(STUCK, guard.lost()).await.expect("it is told");
    assert!(!guard.is_valid());
    let next = tokio::time::timeout(STUCK, waits).await.expect("the next one has it").unwrap();
    assert!(next.fence().number() > fence);
    assert!(guard.release().await.is_err());
    drop(next);
    for api in apis {
        api.shutdown().await;
    }
    tokio::time::timeout(Duration::from_secs(60), cluster.shutdown()).await.unwrap();
}
