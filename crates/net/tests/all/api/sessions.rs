//! Sessions and what they hold, request by request.

use std::time::Duration;

use serde_json::json;

use crate::api::site::{Site, eventually};

#[tokio::test]
async fn a_lock_is_taken_and_given_back() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(10_000).await;
    let first = http.acquire(&session, "orders/42", None).await.fence();
    let released = http.release(&session, "orders/42", first).await;
    assert_eq!((released.status, &released.json()["released"]), (200, &json!(true)));
    let second = http.acquire(&session, "orders/42", Some(0)).await.fence();
    assert!(second > first);
    site.stop().await;
}

#[tokio::test]
async fn what_is_held_is_refused_to_others_in_time() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (mine, other) = (http.session(10_000).await, http.session(10_000).await);
    http.acquire(&mine, "a", None).await.fence();
    for wait in [0, 20] {
        let refused = http.acquire(&other, "a", Some(wait)).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "not-acquired"));
    }
    assert_eq!(site.node().status().waiters, 0);
    site.stop().await;
}

#[tokio::test]
async fn only_what_is_held_with_that_fence_is_released() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(10_000).await;
    let refused = http.release(&session, "a", 1).await;
    assert_eq!((refused.status, refused.code().as_str()), (404, "not-held"));
    let fence = http.acquire(&session, "a", None).await.fence();
    let refused = http.release(&session, "a", fence + 1).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "other-fence"));
    let other = http.session(10_000).await;
    assert_eq!(http.release(&other, "a", fence).await.status, 404);
    assert_eq!(http.release(&session, "a", fence).await.status, 200);
    site.stop().await;
}

#[tokio::test]
async fn the_same_acquire_again_gets_the_same_fence() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(10_000).await;
    let fence = http.acquire(&session, "a", None).await.fence();
    assert_eq!(http.acquire(&session, "a", None).await.fence(), fence);
    let numbered = json!({"session": session, "lock": "b", "request": 7});
    let fence = http.post("/v1/acquire", numbered.clone()).await.fence();
    assert_eq!(http.post("/v1/acquire", numbered).await.fence(), fence);
    site.stop().await;
}

#[tokio::test]
async fn another_acquire_of_the_same_session_waits_like_anybody() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(10_000).await;
    let asked = |request: u64| json!({"session": session, "lock": "a", "request": request});
    let first = http.post("/v1/acquire", asked(1)).await.fence();
    let mut second = site.http().await;
    second.send("POST", "/v1/acquire", &asked(2).to_string()).await;
    site.waiters(1).await;
    http.release(&session, "a", first).await;
    assert!(second.answer().await.unwrap().fence() > first);
    site.stop().await;
}

#[tokio::test]
async fn an_acquire_sent_again_takes_the_place_of_the_one_that_waits() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (holder, session) = (http.session(10_000).await, http.session(10_000).await);
    let fence = http.acquire(&holder, "a", None).await.fence();
    let asked = json!({"session": session, "lock": "a", "request": 1}).to_string();
    let (mut first, mut second) = (site.http().await, site.http().await);
    first.send("POST", "/v1/acquire", &asked).await;
    site.waiters(1).await;
    second.send("POST", "/v1/acquire", &asked).await;
    let replaced = first.answer().await.unwrap();
    assert_eq!((replaced.status, replaced.code().as_str()), (409, "replaced"));
    site.waiters(1).await;
    http.release(&holder, "a", fence).await;
    assert!(second.answer().await.unwrap().fence() > fence);
    site.stop().await;
}

#[tokio::test]
async fn an_acquire_is_withdrawn_however_far_it_got() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(10_000).await;
    let acquire = |request: u64| json!({"session": session, "lock": "a", "request": request});
    // Granted.
    http.post("/v1/acquire", acquire(1)).await.fence();
    // Waiting.
    let mut waiting = site.http().await;
    waiting.send("POST", "/v1/acquire", &acquire(2).to_string()).await;
    site.waiters(1).await;
    assert_eq!(http.post("/v1/release", acquire(2)).await.json()["released"], json!(false));
    assert_eq!(waiting.answer().await.unwrap().code(), "withdrawn");
    assert_eq!(http.post("/v1/release", acquire(1)).await.json()["released"], json!(true));
    // Not there yet.
    http.post("/v1/release", acquire(3)).await;
    assert_eq!(http.post("/v1/acquire", acquire(3)).await.code(), "withdrawn");
    // The lock is free.
    http.post("/v1/acquire", acquire(4)).await.fence();
    site.stop().await;
}

#[tokio::test]
async fn a_wait_ends_with_its_connection() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (holder, session) = (http.session(10_000).await, http.session(10_000).await);
    let fence = http.acquire(&holder, "a", None).await.fence();
    let mut gone = site.http().await;
    let asked = json!({"session": session, "lock": "a"}).to_string();
    gone.send("POST", "/v1/acquire", &asked).await;
    site.waiters(1).await;
    drop(gone);
    site.waiters(0).await;
    http.release(&holder, "a", fence).await;
    assert!(http.acquire(&holder, "a", Some(0)).await.fence() > fence);
    site.stop().await;
}

#[tokio::test]
async fn a_silent_session_ends_and_gives_back_what_it_holds() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (silent, other) = (http.session(1_000).await, http.session(60_000).await);
    let fence = http.acquire(&silent, "a", None).await.fence();
    assert!(http.acquire(&other, "a", None).await.fence() > fence);
    for (path, body) in [
        ("/v1/acquire", json!({"session": silent, "lock": "b"})),
        ("/v1/release", json!({"session": silent, "lock": "a", "fence": fence.to_string()})),
        (&format!("/v1/sessions/{silent}/keep-alive"), json!(null)),
    ] {
        let refused = http.post(path, body).await;
        assert_eq!((refused.status, refused.code().as_str()), (410, "session-over"), "{path}");
    }
    let observer = site.node().observer();
    assert_eq!((site.node().status().sessions, observer.expired_sessions.get()), (1, 1));
    site.stop().await;
}

#[tokio::test]
async fn a_session_lives_while_it_is_named() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(2_000).await;
    let fence = http.acquire(&session, "a", None).await.fence();
    let mut pause = tokio::time::interval(Duration::from_millis(50));
    for round in 0..60 {
        pause.tick().await;
        let path = format!("/v1/sessions/{session}");
        let alive = match round % 2 {
            0 => http.ask("POST", &format!("{path}/keep-alive"), "").await,
            _ => http.get(&path).await,
        };
        assert_eq!(alive.status, 200, "{}", alive.text);
    }
    assert_eq!(http.release(&session, "a", fence).await.status, 200);
    site.stop().await;
}

#[tokio::test]
async fn a_waiting_session_lives_only_by_its_own_signs() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (holder, kept, silent) =
        (http.session(60_000).await, http.session(1_000).await, http.session(1_000).await);
    let fence = http.acquire(&holder, "a", None).await.fence();
    let mut waits = Vec::new();
    for session in [&silent, &kept] {
        let mut waiting = site.http().await;
        let asked = json!({"session": session, "lock": "a"}).to_string();
        waiting.send("POST", "/v1/acquire", &asked).await;
        waits.push(waiting);
    }
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        http.ask("POST", &format!("/v1/sessions/{kept}/keep-alive"), "").await;
    }
    // Its connection stands, but nothing is heard of its session.
    assert_eq!(waits[0].answer().await.unwrap().code(), "session-over");
    http.release(&holder, "a", fence).await;
    assert!(waits[1].answer().await.unwrap().fence() > fence);
    site.stop().await;
}

/// Bytes after a question keep the server from seeing that the connection has ended: what counts is the
/// session's own signs.
#[tokio::test]
async fn a_dead_client_that_had_sent_stray_bytes_keeps_nothing_beyond_its_ttl() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (holder, dead, next) =
        (http.session(60_000).await, http.session(1_000).await, http.session(60_000).await);
    http.acquire(&holder, "a", None).await.fence();
    http.acquire(&dead, "b", None).await.fence();
    let mut waiting = site.http().await;
    let asked = json!({"session": dead, "lock": "a"}).to_string();
    waiting.send("POST", "/v1/acquire", &asked).await;
    waiting.raw(b"GE").await;
    site.waiters(1).await;
    drop(waiting);
    http.acquire(&next, "b", Some(30_000)).await.fence();
    site.waiters(0).await;
    site.stop().await;
}

#[tokio::test]
async fn ending_a_session_gives_back_and_calls_off() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (session, other) = (http.session(60_000).await, http.session(60_000).await);
    http.acquire(&session, "a", None).await.fence();
    http.acquire(&other, "b", None).await.fence();
    let mut waiting = site.http().await;
    let asked = json!({"session": session, "lock": "b"}).to_string();
    waiting.send("POST", "/v1/acquire", &asked).await;
    site.waiters(1).await;
    let status = http.get(&format!("/v1/sessions/{session}")).await.json();
    assert_eq!((&status["held"][0]["lock"], &status["waiting"]), (&json!("a"), &json!(["b"])));
    assert_eq!(http.ask("DELETE", &format!("/v1/sessions/{session}"), "").await.status, 200);
    assert_eq!(waiting.answer().await.unwrap().code(), "session-over");
    http.acquire(&other, "a", Some(0)).await.fence();
    site.stop().await;
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let site = Site::start_with(|config| config.sessions = 2).await;
    let mut http = site.http().await;
    let first = http.session(60_000).await;
    http.session(60_000).await;
    let refused = http.post("/v1/sessions", json!({"ttl_ms": 1000})).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "full"));
    http.ask("DELETE", &format!("/v1/sessions/{first}"), "").await;
    http.session(60_000).await;
    site.stop().await;
}

#[tokio::test]
async fn closing_the_api_gives_everything_back() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let (holder, waiter) = (http.session(60_000).await, http.session(60_000).await);
    http.acquire(&holder, "a", None).await.fence();
    let mut waiting = site.http().await;
    let asked = json!({"session": waiter, "lock": "a"}).to_string();
    waiting.send("POST", "/v1/acquire", &asked).await;
    site.waiters(1).await;
    let address = site.address();
    let cluster = site.close().await;
    let node = &cluster.nodes[0];
    assert_eq!(waiting.answer().await.unwrap().code(), "session-over");
    eventually(async || node.status().held_locks == 0).await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    node.lock("a").await.unwrap().release().await.unwrap();
    cluster.shutdown().await;
}
