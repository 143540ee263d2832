//! Roles: who may take, see and administer what.

use serde_json::json;
use skeptron_net::api::{ApiConfig, Role};
use tokio::net::TcpStream;

use crate::api::site::{Http, Site};

fn role(name: &str, lock: &[&str], list: &[&str], admin: bool) -> Role {
    let texts = |all: &[&str]| all.iter().map(|text| text.to_string()).collect();
    let token = Some(format!("{name}-token"));
    Role {
        name: name.into(),
        token,
        certificate: None,
        lock: texts(lock),
        list: texts(list),
        admin,
    }
}

fn with_roles(config: &mut ApiConfig) {
    config.roles = vec![
        role("deployer", &["deploy/"], &["deploy/"], false),
        role("watcher", &[], &["*"], false),
        role("boss", &[], &["*"], true),
        role("other", &["*"], &[], false),
    ];
}

async fn client(site: &Site, name: &str) -> Http<TcpStream> {
    let http = site.http().await;
    http.with_header("authorization", &format!("Bearer {name}-token"))
}

#[tokio::test]
async fn a_role_takes_and_sees_what_it_may_and_is_shown_as_what_it_is() {
    let site = Site::start_with(with_roles).await;
    assert_eq!(site.http().await.get("/v1/status").await.status, 401, "nobody is let in unasked");
    let mut deployer = client(&site, "deployer").await;
    let asked = json!({"ttl_ms": 60_000, "owner": "ci"});
    let session = deployer.post("/v1/sessions", asked).await;
    let session = session.json()["session"].as_str().unwrap().to_string();
    let fence = deployer.acquire(&session, "deploy/web", None).await.fence();
    let denied = deployer.acquire(&session, "db", None).await;
    assert_eq!((denied.status, denied.code().as_str()), (403, "permission-denied"));
    let mut other = client(&site, "other").await;
    let others = other.session(60_000).await;
    other.acquire(&others, "db", None).await.fence();
    // Nobody uses the session of somebody else, even who knows its name.
    assert_eq!(other.acquire(&session, "x", None).await.status, 403);
    assert_eq!(other.release(&session, "deploy/web", fence).await.status, 403);
    let path = format!("/v1/sessions/{session}");
    assert_eq!(other.ask("DELETE", &path, "").await.status, 403);
    assert_eq!(other.get("/v1/locks").await.status, 403);
    let seen = |answer: crate::api::site::Answer| -> Vec<(String, String)> {
        let listing = answer.json();
        let lock = |lock: &serde_json::Value| {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
            (text(&lock["name"]), text(&lock["holder"]["owner"]))
        };
        listing["locks"].as_array().unwrap().iter().map(lock).collect()
    };
    let pair = |name: &str, owner: &str| (name.to_string(), owner.to_string());
    let all = seen(client(&site, "watcher").await.get("/v1/locks").await);
    assert_eq!(all, [pair("db", "other/test"), pair("deploy/web", "deployer/ci")]);
    assert_eq!(seen(deployer.get("/v1/locks").await), [pair("deploy/web", "deployer/ci")]);
    assert_eq!(deployer.get("/v1/locks?prefix=db").await.status, 403);
    assert_eq!(deployer.get("/v1/events?lock=db").await.status, 403);
    assert_eq!(deployer.release(&session, "deploy/web", fence).await.status, 200);
    site.stop().await;
}

#[tokio::test]
async fn orders_are_for_administrators() {
    let site = Site::start_with(with_roles).await;
    for (name, status) in [("deployer", 403), ("watcher", 403), ("other", 403), ("boss", 409)] {
        let mut http = client(&site, name).await;
        // An administrator is told that this cluster has no voters, and does not end on request.
        for (path, body) in
            [("/v1/voters", r#"{"order": "remove-voter", "member": 1}"#), ("/v1/leave", "")]
        {
            let answer = http.ask("POST", path, body).await;
            let is_denied = answer.code() == "permission-denied";
            assert_eq!(is_denied, status == 403, "{name} {path}: {}", answer.text);
        }
    }
    assert_eq!(
        client(&site, "boss").await.post("/v1/sessions", json!({"ttl_ms": 1000})).await.status,
        403
    );
    site.stop().await;
}
