//! Limits: whoever is let in is served, whatever strangers do.

use std::time::{Duration, Instant};

use serde_json::json;
use skeptron_net::api::Quota;
use tokio::net::TcpStream;

use crate::api::site::{Answer, Http, STUCK, Site, eventually};

/// On a connection of its own, as a client whose former one broke.
async fn keep_alive(site: &Site, session: &str) -> Answer {
    let path = format!("/v1/sessions/{session}/keep-alive");
    site.http().await.ask("POST", &path, "").await
}

/// The value of a metric, summed over its labels.
async fn metric(site: &Site, name: &str) -> u64 {
    let text = site.node().metrics();
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_take_no_place_from_a_session() {
    let site = Site::start_with(|config| config.connections = 64).await;
    let session = site.http().await.session(60_000).await;
    let fence = site.http().await.acquire(&session, "a", None).await.fence();
    let mut silent: Vec<Http<TcpStream>> = Vec::new();
    for place in 0..300 {
        silent.push(site.http().await);
        if place % 50 == 0 {
            assert_eq!(keep_alive(&site, &session).await.status, 200, "{place}");
        }
    }
    // The first of them was told to go.
    let told = silent[0].answer().await.expect("an answer without a question");
    assert_eq!((told.status, told.code().as_str()), (503, "full"));
    assert_eq!(site.http().await.release(&session, "a", fence).await.status, 200);
    assert!(metric(&site, "skeptron_api_cut_total").await > 200);
    assert!(metric(&site, "skeptron_api_refused_total").await > 200);
    drop(silent);
    site.stop().await;
}

#[tokio::test]
async fn a_connection_without_a_question_is_closed_after_a_few_seconds() {
    let site = Site::start().await;
    let (mut silent, mut slow) = (site.http().await, site.http().await);
    slow.raw(b"GET /health HTTP/1.1\r\nho").await;
    for http in [&mut silent, &mut slow] {
        let told = tokio::time::timeout(STUCK, http.answer()).await.unwrap().expect("an answer");
        assert_eq!((told.status, told.code().as_str()), (408, "slow"));
        assert!(http.answer().await.is_none());
    }
    site.stop().await;
}

#[tokio::test]
async fn when_all_places_are_used_the_next_is_told_and_sessions_live_on() {
    let site = Site::start_with(|config| config.connections = 3).await;
    let session = site.http().await.session(60_000).await;
    site.http().await.acquire(&session, "a", None).await.fence();
    let mut waiting: Vec<Http<TcpStream>> = Vec::new();
    for place in 0..3 {
        let mut http = site.http().await;
        let other = http.session(60_000).await;
        let asked = json!({"session": other, "lock": "a"}).to_string();
        http.send("POST", "/v1/acquire", &asked).await;
        site.waiters(place + 1).await;
        waiting.push(http);
    }
    let answer = site.http().await.get("/v1/status").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "full"));
    assert!(answer.json()["remedy"].as_str().unwrap().contains("api.connections"));
    for _ in 0..20 {
        assert_eq!(keep_alive(&site, &session).await.status, 200);
    }
    drop(waiting.pop());
    eventually(async || site.http().await.get("/v1/status").await.status == 200).await;
    site.stop().await;
}

#[tokio::test]
async fn one_client_has_no_more_than_its_share() {
    let site = Site::start_with(|config| {
        config.quota =
            Quota { sessions: Some(2), waiters: Some(1), names: Some(2), ..Quota::default() };
    })
    .await;
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    let other = http.session(60_000).await;
    let third = http.post("/v1/sessions", json!({"ttl_ms": 1000})).await;
    assert_eq!((third.status, third.code().as_str()), (429, "quota"));
    assert!(third.json()["remedy"].as_str().unwrap().contains("api.quota"));
    let fence = http.acquire(&session, "a", None).await.fence();
    http.acquire(&session, "b", None).await.fence();
    let third = http.acquire(&session, "c", None).await;
    assert_eq!((third.status, third.code().as_str()), (429, "quota"));
    assert_eq!(http.release(&session, "a", fence).await.status, 200);
    http.acquire(&session, "c", None).await.fence();
    // A session that ends gives everything back.
    http.ask("DELETE", &format!("/v1/sessions/{session}"), "").await;
    let session = http.session(60_000).await;
    http.acquire(&session, "a", None).await.fence();
    let mut waits = site.http().await;
    let asked = json!({"session": other, "lock": "a"}).to_string();
    waits.send("POST", "/v1/acquire", &asked).await;
    site.waiters(1).await;
    let second = http.acquire(&other, "a", Some(0)).await;
    assert_eq!((second.status, second.code().as_str()), (429, "quota"));
    site.stop().await;
}

/// Two thousand that show a wrong token, again and again, and one that does not.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_who_ask_are_slowed_and_others_are_not() {
    let site = Site::start_with(|config| {
        config.connections = 256;
        config.token = Some("s3cret".into());
    })
    .await;
    let mut strangers = Vec::new();
    for _ in 0..2_000 {
        let mut http = site.http().await.with_header("authorization", "Bearer wrong");
        http.send("GET", "/v1/status", "").await;
        strangers.push(http);
    }
    let http = site.http().await;
    let mut http = http.with_header("authorization", "Bearer s3cret");
    let served = tokio::time::timeout(Duration::from_secs(30), http.session(60_000)).await;
    let session = served.expect("it is not slowed");
    http.acquire(&session, "a", None).await.fence();
    assert!(metric(&site, "skeptron_api_refused_total").await > 1_000);
    let (began, mut http) = (Instant::now(), site.http().await);
    assert_eq!(http.get("/v1/status").await.status, 401);
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    drop(strangers);
    site.stop().await;
}
