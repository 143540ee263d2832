//! Requests that no honest client sends. Whatever comes, the node goes on answering others.

use std::time::Duration;

use serde_json::json;

use crate::api::site::{STUCK, Site};

/// An honest client is served.
async fn answers(site: &Site) {
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    let fence = http.acquire(&session, "honest", None).await.fence();
    assert_eq!(http.release(&session, "honest", fence).await.status, 200);
    http.ask("DELETE", &format!("/v1/sessions/{session}"), "").await;
}

#[tokio::test]
async fn what_is_wrong_is_said_and_where() {
    let site = Site::start().await;
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    let cases = [
        ("/v1/sessions", "", 400, "malformed", "line 1"),
        ("/v1/sessions", "{", 400, "malformed", "line 1 column 1"),
        ("/v1/sessions", "{\"ttl_ms\": 1000,\n \"x\": 1}", 400, "malformed", "line 2 column 4"),
        ("/v1/sessions", "{\"ttl_ms\": -1}", 400, "malformed", "-1"),
        ("/v1/sessions", "{\"ttl_ms\": 1e3}", 400, "malformed", "1000"),
        ("/v1/sessions", "{\"ttl_ms\": 1}", 400, "invalid", "between 100 and 3600000"),
        ("/v1/sessions", "{\"ttl_ms\": 9999999999}", 400, "invalid", "between"),
        ("/v1/sessions", "{\"ttl_ms\": 1000, \"owner\": \"a\\nb\"}", 400, "invalid", "owner"),
        (
            "/v1/acquire",
            "{\"session\": \"12\", \"lock\": \"a\"}",
            400,
            "malformed",
            "32 hexadecimal",
        ),
        ("/v1/acquire", "{\"session\": \"S\", \"lock\": \"\"}", 400, "invalid", "1 to 255"),
        ("/v1/acquire", "{\"session\": \"S\", \"lock\": \"a\\u0000\"}", 400, "invalid", "1 to 255"),
        ("/v1/acquire", "{\"session\": \"S\"}", 400, "malformed", "lock"),
        ("/v1/release", "{\"session\": \"S\", \"lock\": \"a\"}", 400, "invalid", "either"),
        ("/v1/release", "\u{fffd}", 400, "malformed", "line 1"),
    ];
    for (path, body, status, code, said) in cases {
        let answer = http.ask("POST", path, &body.replace('S', &session)).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{body}");
        assert!(answer.text.contains(said), "{body}: {}", answer.text);
        assert!(!answer.json()["remedy"].as_str().unwrap().is_empty());
    }
    for (path, status) in [
        ("/v1/locks?prefixes=a", 400),
        ("/v1/events?lock=a&x=1", 400),
        ("/v1/sessions/xyz", 400),
        ("/v1/sessions/00000000000000000000000000000000", 410),
        ("/v1", 404),
        ("/", 404),
        ("/v1/acquire", 405),
    ] {
        assert_eq!(http.get(path).await.status, status, "{path}");
    }
    answers(&site).await;
    site.stop().await;
}

#[tokio::test]
async fn too_much_is_not_read() {
    let site = Site::start().await;
    let owner = "x".repeat(70_000);
    let mut http = site.http().await;
    let answer = http.post("/v1/sessions", json!({"ttl_ms": 1000, "owner": owner})).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "too-large"));
    // A body that claims to be endless.
    let mut http = site.http().await;
    http.raw(
        b"POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999999999\r\n\r\n{",
    )
    .await;
    // A head that is too long, and one with too many lines.
    for head in [format!("x: {}\r\n", "y".repeat(100_000)), "x: y\r\n".repeat(1000)] {
        let mut http = site.http().await;
        http.raw(format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{head}\r\n").as_bytes()).await;
        let answer = http.answer().await;
        assert!(answer.is_none_or(|answer| answer.status == 431));
    }
    answers(&site).await;
    site.stop().await;
}

#[tokio::test]
async fn garbage_is_thrown_away() {
    let site = Site::start().await;
    let mut noise = 88_172_645_463_325_252_u64;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..300)
            .map(|_| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                noise as u8
            })
            .collect();
        let mut http = site.http().await;
        http.raw(&bytes).await;
        http.raw(b"\r\n\r\n").await;
        let answer = http.answer().await;
        assert!(answer.is_none_or(|answer| answer.status >= 400));
    }
    for text in [
        "GET",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/acquire HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        site.http().await.raw(text.as_bytes()).await;
    }
    answers(&site).await;
    site.stop().await;
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up() {
    let site = Site::start().await;
    let mut slow = site.http().await;
    slow.raw(
        b"POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{\"ttl_ms\"",
    )
    .await;
    answers(&site).await;
    let answer = slow.answer().await.expect("an answer");
    assert_eq!((answer.status, answer.code().as_str()), (408, "slow"));
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_idle_connections_disturb_nobody() {
    let site = Site::start().await;
    let mut idle = Vec::new();
    for place in 0..2_000 {
        let mut http = site.http().await;
        if place % 2 == 0 {
            http.raw(b"GET /health HTTP/1.1\r\nho").await;
        }
        idle.push(http);
    }
    answers(&site).await;
    drop(idle);
    site.stop().await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_up_nobody() {
    let site = Site::start().await;
    let mut deaf = site.http().await;
    let flood = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(20_000);
    let flooding = async {
        // It stands still when the node takes no more.
        let _ = tokio::time::timeout(Duration::from_millis(500), deaf.raw(flood.as_bytes())).await;
    };
    tokio::join!(flooding, answers(&site));
    answers(&site).await;
    tokio::time::timeout(STUCK, site.stop()).await.expect("it closes all the same");
}
