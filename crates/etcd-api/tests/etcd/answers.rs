//! What real etcd answered to each of these requests, without the header, and what we answer: the same,
//! unless the line says why not.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::site::Site;

/// Path, request, status and answer, in this order on one member. Names, keys and values are written as
/// text here: `<deploy>` is its base64. `LEASE` and `REV` are numbers that differ from run to run.
const ANSWERS: &[(&str, &str, u16, &str)] = &[
    ("lease/grant", r#"{"TTL":"60","ID":"100"}"#, 200, r#"{"ID":"100","TTL":"60"}"#),
    ("lease/grant", r#"{"TTL":60,"ID":101}"#, 200, r#"{"ID":"101","TTL":"60"}"#),
    (
        "lease/grant",
        r#"{"TTL":"60","ID":"100"}"#,
        412,
        r#"{"error":"etcdserver: lease already exists","message":"etcdserver: lease already exists","code":9}"#,
    ),
    ("lease/grant", r#"{"TTL":"1"}"#, 200, r#"{"ID":"LEASE","TTL":"2"}"#),
    ("lease/grant", r#"{"TTL":"0"}"#, 200, r#"{"ID":"LEASE","TTL":"2"}"#),
    ("lease/grant", r#"{"TTL":"-5","ID":"-3"}"#, 200, r#"{"ID":"-3","TTL":"2"}"#),
    ("lease/grant", r#"{"nonsense":1}"#, 200, r#"{"ID":"LEASE","TTL":"2"}"#),
    ("lease/grant", "", 200, r#"{"ID":"LEASE","TTL":"2"}"#),
    (
        "lease/grant",
        r#"{"TTL":"9000000001"}"#,
        400,
        r#"{"error":"etcdserver: too large lease TTL","message":"etcdserver: too large lease TTL","code":11}"#,
    ),
    (
        "lease/revoke",
        r#"{"ID":"12345"}"#,
        404,
        r#"{"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":5}"#,
    ),
    (
        "kv/lease/revoke",
        r#"{"ID":"12345"}"#,
        404,
        r#"{"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":5}"#,
    ),
    ("lease/keepalive", r#"{"ID":"12345"}"#, 200, r#"{"result":{"ID":"12345"}}"#),
    ("lease/keepalive", r#"{"ID":"100"}"#, 200, r#"{"result":{"ID":"100","TTL":"60"}}"#),
    ("lease/timetolive", r#"{"ID":"12345"}"#, 200, r#"{"ID":"12345","TTL":"-1"}"#),
    ("lock/lock", r#"{"name":"<deploy>","lease":"100"}"#, 200, r#"{"key":"<deploy/64>"}"#),
    ("lock/lock", r#"{"name":"<deploy>","lease":"100"}"#, 200, r#"{"key":"<deploy/64>"}"#),
    (
        "lock/lock",
        r#"{"name":"<deploy>","lease":"999"}"#,
        500,
        r#"{"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":2}"#,
    ),
    ("lock/unlock", r#"{"key":"<deploy/64>"}"#, 200, "{}"),
    ("lock/unlock", r#"{"key":"<deploy/64>"}"#, 200, "{}"),
    (
        "lock/unlock",
        "{}",
        500,
        r#"{"error":"etcdserver: key is not provided","message":"etcdserver: key is not provided","code":2}"#,
    ),
    ("lock/unlock", r#"{"key":"<nothing>"}"#, 200, "{}"),
    (
        "election/leader",
        r#"{"name":"<e>"}"#,
        500,
        r#"{"error":"election: no leader","message":"election: no leader","code":2}"#,
    ),
    (
        "election/campaign",
        r#"{"name":"<e>","lease":"100","value":"<one>"}"#,
        200,
        r#"{"leader":{"name":"<e>","key":"<e/64>","rev":"REV","lease":"100"}}"#,
    ),
    (
        "election/leader",
        r#"{"name":"<e>"}"#,
        200,
        r#"{"kv":{"key":"<e/64>","create_revision":"REV","mod_revision":"REV","version":"1","value":"<one>","lease":"100"}}"#,
    ),
    (
        "election/proclaim",
        r#"{"leader":{"name":"<e>","key":"<e/64>","rev":"REV","lease":"100"},"value":"<two>"}"#,
        200,
        "{}",
    ),
    // In etcd the revision of the change, here that of the term: the version tells values apart.
    (
        "election/leader",
        r#"{"name":"<e>"}"#,
        200,
        r#"{"kv":{"key":"<e/64>","create_revision":"REV","mod_revision":"REV","version":"2","value":"<two>","lease":"100"}}"#,
    ),
    (
        "election/campaign",
        r#"{"name":"<e>","lease":"100","value":"<three>"}"#,
        200,
        r#"{"leader":{"name":"<e>","key":"<e/64>","rev":"REV","lease":"100"}}"#,
    ),
    (
        "election/leader",
        r#"{"name":"<e>"}"#,
        200,
        r#"{"kv":{"key":"<e/64>","create_revision":"REV","mod_revision":"REV","version":"3","value":"<three>","lease":"100"}}"#,
    ),
    (
        "election/campaign",
        r#"{"name":"<e>","lease":"999","value":"<three>"}"#,
        500,
        r#"{"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":2}"#,
    ),
    (
        "election/proclaim",
        r#"{"value":"<two>"}"#,
        500,
        r#"{"error":"\"leader\" field must be provided","message":"\"leader\" field must be provided","code":2}"#,
    ),
    (
        "election/proclaim",
        r#"{"leader":{"name":"<e>","key":"<e/65>","rev":"3","lease":"101"},"value":"<two>"}"#,
        500,
        r#"{"error":"election: not leader","message":"election: not leader","code":2}"#,
    ),
    (
        "election/proclaim",
        r#"{"leader":{"name":"<e>","key":"<e/999>","rev":"3","lease":"2457"},"value":"<two>"}"#,
        500,
        r#"{"error":"election: not leader","message":"election: not leader","code":2}"#,
    ),
    (
        "election/resign",
        "{}",
        500,
        r#"{"error":"\"leader\" field must be provided","message":"\"leader\" field must be provided","code":2}"#,
    ),
    (
        "election/resign",
        r#"{"leader":{"name":"<e>","key":"<e/65>","rev":"3","lease":"101"}}"#,
        200,
        "{}",
    ),
    (
        "election/resign",
        r#"{"leader":{"name":"<e>","key":"<e/999>","rev":"3","lease":"2457"}}"#,
        200,
        "{}",
    ),
    (
        "election/resign",
        r#"{"leader":{"name":"<e>","key":"<e/64>","rev":"REV","lease":"100"}}"#,
        200,
        "{}",
    ),
    (
        "election/resign",
        r#"{"leader":{"name":"<e>","key":"<e/64>","rev":"REV","lease":"100"}}"#,
        200,
        "{}",
    ),
    (
        "election/proclaim",
        r#"{"leader":{"name":"<e>","key":"<e/64>","rev":"REV","lease":"100"},"value":"<two>"}"#,
        500,
        r#"{"error":"election: not leader","message":"election: not leader","code":2}"#,
    ),
    (
        "election/campaign",
        r#"{"name":"<e>","lease":"101","value":"<four>"}"#,
        200,
        r#"{"leader":{"name":"<e>","key":"<e/65>","rev":"REV","lease":"101"}}"#,
    ),
    (
        "kv/lease/timetolive",
        r#"{"ID":"101","keys":true}"#,
        200,
        r#"{"ID":"101","TTL":"LEFT","grantedTTL":"60","keys":["<e/65>"]}"#,
    ),
    ("lease/revoke", r#"{"ID":"101"}"#, 200, "{}"),
    (
        "election/leader",
        r#"{"name":"<e>"}"#,
        500,
        r#"{"error":"election: no leader","message":"election: no leader","code":2}"#,
    ),
    // Real etcd answered with the same key again: a retried unlock could then give the new entry back.
    ("lock/lock", r#"{"name":"<deploy>","lease":"100"}"#, 200, r#"{"key":"<deploy/64#2>"}"#),
    ("lease/revoke", r#"{"ID":"100"}"#, 200, "{}"),
];

/// Writes `<text>` as base64.
fn encoded(text: &str) -> String {
    let mut parts = text.split(['<', '>']);
    let mut written = parts.next().unwrap_or_default().to_string();
    while let (Some(inside), Some(after)) = (parts.next(), parts.next()) {
        written += &(BASE64_STANDARD.encode(inside) + after);
    }
    written
}

/// Without the header, and with words for numbers that differ from run to run.
fn comparable(answer: &str, rev: &mut String) -> Value {
    fn visit(value: &mut Value, rev: &mut String) {
        let Value::Object(fields) = value else { return };
        fields.remove("header");
        for (name, value) in fields.iter_mut() {
            let text = value.as_str().unwrap_or_default().to_string();
            match name.as_str() {
                "ID" if text.len() > 10 => *value = "LEASE".into(),
                "rev" | "create_revision" | "mod_revision" => {
                    *rev = text;
                    *value = "REV".into();
                }
                "TTL" if (50..60).contains(&text.parse().unwrap_or(0)) => *value = "LEFT".into(),
                _ => visit(value, rev),
            }
        }
    }
    let mut value = serde_json::from_str(answer).unwrap_or_else(|why| panic!("{answer}: {why}"));
    visit(&mut value, rev);
    value
}

#[tokio::test]
async fn the_gateway_answers_as_etcd_does() {
    let site = Site::start(1).await;
    let mut rev = String::new();
    for (path, request, status, expected) in ANSWERS {
        let request = encoded(request).replace("REV", &rev);
        let (got, answer) = site.post(0, &format!("/v3/{path}"), &request).await;
        let expected: Value = serde_json::from_str(&encoded(expected)).unwrap();
        assert_eq!((got, comparable(&answer, &mut rev)), (*status, expected), "{path} {request}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_an_invalid_argument() {
    let site = Site::start(1).await;
    for (path, request) in [
        ("/v3/lease/grant", "{"),
        ("/v3/lease/grant", r#"{"TTL":"x"}"#),
        ("/v3/lock/lock", r#"{"name":"***"}"#),
        ("/v3/lock/lock", r#"{"name":"//8="}"#),
        ("/v3/lock/lock", "{}"),
        ("/v3/election/observe", r#"{"name":"//8="}"#),
    ] {
        let (status, answer) = site.post(0, path, request).await;
        assert_eq!(status, 400, "{path} {request}: {answer}");
        assert!(answer.contains("\"code\":3"), "{answer}");
    }
}

#[tokio::test]
async fn every_answer_has_a_header_and_a_lock_has_its_fence_in_it() {
    let site = Site::start(1).await;
    let lock = encoded(r#"{"name":"<deploy>"}"#);
    let (_, answer) = site.post(0, "/v3/lock/lock", &lock).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let revision: u64 = answer["header"]["revision"].as_str().unwrap().parse().unwrap();
    let (epoch, _) = (revision >> 40, revision & ((1 << 40) - 1));
    assert_eq!(answer["header"]["raft_term"], epoch.to_string());
    assert_eq!(answer["header"]["member_id"], "1");
    let (_, other) = site.post(0, "/v3/lease/grant", "{}").await;
    let other: Value = serde_json::from_str(&other).unwrap();
    assert_eq!(other["header"]["cluster_id"], answer["header"]["cluster_id"]);
    let other: u64 = other["header"]["revision"].as_str().unwrap().parse().unwrap();
    assert!(other < revision, "{other} {revision}");
}

#[tokio::test]
async fn services_that_are_not_here_say_so() {
    let site = Site::start(1).await;
    for path in ["/v3/kv/range", "/v3/watch", "/v3/auth/user/add"] {
        let (status, answer) = site.post(0, path, "{}").await;
        assert_eq!(status, 501, "{path}: {answer}");
        assert!(answer.contains("\"code\":12") && answer.contains("Skeptron"), "{answer}");
    }
    assert_eq!(site.post(0, "/elsewhere", "{}").await.0, 404);
    let (status, answer) = site.post(0, "/v3/cluster/member/list", "{}").await;
    assert_eq!(status, 200);
    assert!(answer.contains(&format!("http://{}", site.at(0))), "{answer}");
    let (status, answer) = site.post(0, "/v3/maintenance/status", "{}").await;
    assert!(status == 200 && answer.contains("skeptron"), "{answer}");
}
