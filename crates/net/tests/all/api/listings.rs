//! Listings of locks and sessions are complete, or say that they are not.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use skeptron_client::{Client, ClientConfig, Endpoint};
use skeptron_net::MemberId;
use skeptron_net::api::{Api, Role};
use tokio::net::TcpStream;

use crate::api::site::{Http, Site, cluster, config, eventually};

fn names(listing: &Value) -> Vec<String> {
    let locks = listing["locks"].as_array().unwrap();
    locks.iter().map(|lock| lock["name"].as_str().unwrap().to_string()).collect()
}

/// Before, the answer of each other member was cut at 500 names, and nobody could know.
#[tokio::test(flavor = "multi_thread")]
async fn all_of_1500_locks_held_elsewhere_are_listed() {
    let cluster = cluster(2).await;
    let api = Api::start(cluster.nodes[0].clone(), config()).await.unwrap();
    let all: Vec<String> = (0..1500).map(|number| format!("orders/{number:04}")).collect();
    let mut guards = Vec::new();
    for name in &all {
        guards.push(cluster.nodes[1].lock(name).await.unwrap());
    }
    let mut http = Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    let listing = http.get("/v1/locks?prefix=orders/").await.json();
    assert_eq!(names(&listing), all);
    assert_eq!((&listing["complete"], &listing["next"]), (&json!(true), &Value::Null));
    assert_eq!(listing["locks"][7]["holder"]["node"], 2);
    // In pages.
    let (mut found, mut path) = (Vec::new(), "/v1/locks?limit=700".to_string());
    loop {
        let page = http.get(&path).await.json();
        assert!(names(&page).len() <= 700);
        found.extend(names(&page));
        let Some(next) = page["next"].as_str() else {
            assert_eq!(page["complete"], json!(true));
            break;
        };
        assert_eq!(page["complete"], json!(false));
        path = format!("/v1/locks?limit=700&after={next}");
    }
    assert_eq!(found, all);
    for limit in ["0", "10001", "x"] {
        let refused = http.get(&format!("/v1/locks?limit={limit}")).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid"));
    }
    drop(guards);
    api.shutdown().await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_of_all_members_are_listed_without_their_keys() {
    let mut cluster = cluster(3).await;
    let mut apis = Vec::new();
    for node in &cluster.nodes {
        apis.push(Api::start(node.clone(), config()).await.unwrap());
    }
    let reach = |place: usize, owner: &str| {
        let endpoint = Endpoint::Http(apis[place].addresses()[0].to_string());
        ClientConfig { owner: owner.into(), ..ClientConfig::new(endpoint) }
    };
    let holder = Client::connect(reach(1, "holder")).await.unwrap();
    let guard = holder.lock("a").await.unwrap();
    let waiter = Client::connect(reach(2, "waiter")).await.unwrap();
    let waiting = tokio::spawn({
        let waiter = waiter.clone();
        async move { waiter.lock("a").await.map(drop) }
    });
    eventually(async || cluster.nodes[2].status().waiters == 1).await;
    let mut http = Http::over(TcpStream::connect(apis[0].addresses()[0]).await.unwrap());
    let key = http.session(60_000).await;
    let answer = http.get("/v1/sessions").await;
    assert!(!answer.text.contains(&key), "an id is a key");
    let listing = answer.json();
    assert_eq!((&listing["complete"], &listing["silent"]), (&json!(true), &json!([])));
    let sessions = listing["sessions"].as_array().unwrap();
    let of = |owner: &str| sessions.iter().find(|it| it["owner"] == owner).unwrap();
    let fence = guard.fence().number().to_string();
    assert_eq!(of("holder")["held"], json!([{"lock": "a", "fence": fence}]));
    assert_eq!((&of("holder")["node"], &of("holder")["holds"]), (&json!(2), &json!(1)));
    assert_eq!((&of("waiter")["node"], &of("waiter")["waiting"]), (&json!(3), &json!(["a"])));
    assert_eq!((&of("test")["holds"], &of("test")["ttl_ms"]), (&json!(0), &json!(60_000)));
    assert!(of("test")["heard_ms"].is_u64());
    assert_eq!(of("test")["session"].as_str().unwrap().len(), 12);
    // In pages, and the same handles again.
    let mut found = BTreeSet::new();
    let mut path = "/v1/sessions?limit=1".to_string();
    loop {
        let page = http.get(&path).await.json();
        let [only] = page["sessions"].as_array().unwrap().as_slice() else { panic!("{page}") };
        found.insert(only["session"].as_str().unwrap().to_string());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/sessions?limit=1&after={next}");
    }
    assert_eq!(found.len(), 3);
    assert_eq!(Client::sessions(&reach(0, "")).await.unwrap().sessions.len(), 3);
    cluster.kill(MemberId::at(2));
    eventually(async || cluster.nodes[0].status().members[2].down_ms.is_some()).await;
    let listing = http.get("/v1/sessions").await.json();
    assert_eq!((&listing["complete"], &listing["silent"]), (&json!(false), &json!([3])));
    drop(guard);
    waiting.abort();
    for api in apis {
        api.shutdown().await;
    }
    cluster.shutdown().await;
}

/// More than one message can carry.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_with_many_sessions_tells_of_all() {
    let cluster = cluster(2).await;
    let here = Api::start(cluster.nodes[0].clone(), config()).await.unwrap();
    let there = Api::start(cluster.nodes[1].clone(), config()).await.unwrap();
    let mut http = Http::over(TcpStream::connect(there.addresses()[0]).await.unwrap());
    for _ in 0..1200 {
        http.session(60_000).await;
    }
    let config = ClientConfig::new(Endpoint::Http(here.addresses()[0].to_string()));
    let listing = Client::sessions(&config).await.unwrap();
    assert_eq!((listing.sessions.len(), listing.complete), (1200, true));
    here.shutdown().await;
    there.shutdown().await;
    cluster.shutdown().await;
}

fn role(name: &str, lock: &[&str], list: &[&str], admin: bool) -> Role {
    let texts = |all: &[&str]| all.iter().map(|text| text.to_string()).collect();
    let (lock, list, token) = (texts(lock), texts(list), Some(name.to_string()));
    Role { name: name.into(), token, certificate: None, lock, list, admin }
}

#[tokio::test]
async fn a_role_sees_only_what_it_may_list() {
    let site = Site::start_with(|config| {
        config.roles = vec![
            role("blind", &["*"], &[], false),
            role("watcher", &["b/"], &["a/", "b/"], false),
            role("boss", &[], &[], true),
        ];
    })
    .await;
    let client = async |name: &str| {
        site.http().await.with_header("authorization", &format!("Bearer {name}"))
    };
    let mut blind = client("blind").await;
    let session = blind.session(60_000).await;
    for name in ["a/1", "a/2", "b/1", "c/1"] {
        blind.acquire(&session, name, None).await.fence();
    }
    blind.session(60_000).await;
    assert_eq!(blind.get("/v1/sessions").await.status, 403);
    let mut watcher = client("watcher").await;
    let all = watcher.get("/v1/sessions").await.json();
    let [only] = all["sessions"].as_array().unwrap().as_slice() else { panic!("{all}") };
    assert_eq!((&only["holds"], only["held"].as_array().unwrap().len()), (&json!(3), 3));
    let page = watcher.get("/v1/locks?limit=2").await.json();
    assert_eq!((names(&page), &page["next"]), (vec!["a/1".into(), "a/2".into()], &json!("a/2")));
    let page = watcher.get("/v1/locks?limit=2&after=a/2").await.json();
    assert_eq!((names(&page), &page["complete"]), (vec!["b/1".to_string()], &json!(true)));
    let mut boss = client("boss").await;
    assert_eq!(boss.get("/v1/sessions").await.json()["sessions"].as_array().unwrap().len(), 2);

    // Who holds a lock is told to those who may see it.
    let own = watcher.session(60_000).await;
    let refused = watcher.acquire(&own, "b/1", Some(0)).await.json();
    assert_eq!(refused["why"]["holder"]["owner"], "blind/test");
    let own = blind.session(60_000).await;
    for wait in [0, 20] {
        let refused = blind.acquire(&own, "c/1", Some(wait)).await;
        assert_eq!(refused.code(), "not-acquired");
        assert_eq!(refused.json()["why"]["holder"]["owner"], "");
        assert!(!refused.text.contains("blind/test"), "{}", refused.text);
    }
    tokio::time::timeout(Duration::from_secs(60), site.stop()).await.unwrap();
}
