//! The description of the API and the API agree: every path, method and status that is described is
//! met here, nothing else is, and each body is as its schema says.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use skeptron_net::api::{Api, Quota};
use tokio::net::TcpStream;

use crate::api::schema::check;
use crate::api::site::{Answer, Http, Site, eventually, with_voter};

/// No session has this name.
const NOBODY: &str = "00000000000000000000000000000000";

/// Asks, and keeps account of what was asked and answered.
struct Tour {
    description: Value,
    met: BTreeSet<(String, String, String)>,
}

impl Tour {
    async fn begin(site: &Site) -> Self {
        let description = site.http().await.get("/openapi.json").await.json();
        Tour { description, met: BTreeSet::new() }
    }

    /// Asks at a described path, with its parameter and query filled in.
    async fn ask(
        &mut self,
        http: &mut Http<TcpStream>,
        (method, path): (&str, &str),
        filled: &str,
        body: &Value,
    ) -> Answer {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        http.send(&method.to_uppercase(), filled, &text).await;
        self.answer(http, (method, path), body).await
    }

    /// Waits for the answer to something asked before.
    async fn answer(
        &mut self,
        http: &mut Http<TcpStream>,
        (method, path): (&str, &str),
        asked: &Value,
    ) -> Answer {
        let answer = http.answer().await.expect("an answer");
        self.account(method, path, asked, &answer);
        answer
    }

    fn account(&mut self, method: &str, path: &str, asked: &Value, answer: &Answer) {
        let status = answer.status.to_string();
        let operation = &self.description["paths"][path][method];
        let response = &operation["responses"][&status];
        assert!(response.is_object(), "{method} {path} answers {status}: {}", answer.text);
        let (kind, content) = response["content"].as_object().unwrap().iter().next().unwrap();
        assert!(answer.head.contains(kind.as_str()), "{path}: {}", answer.head);
        if kind == "application/json" {
            let checked = check(&self.description, &content["schema"], &answer.json());
            assert_eq!(checked, Ok(()), "{method} {path} {status}");
        }
        if answer.status == 200 && !asked.is_null() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            assert_eq!(check(&self.description, schema, asked), Ok(()), "{method} {path}");
        }
        self.met.insert((path.to_string(), method.to_string(), status));
    }

    fn described(&self) -> BTreeSet<(String, String, String)> {
        let mut described = BTreeSet::new();
        for (path, methods) in self.description["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for status in operation["responses"].as_object().into_iter().flatten() {
                    described.insert((path.clone(), method.clone(), status.0.clone()));
                }
            }
        }
        described
    }
}

const OPEN: (&str, &str) = ("post", "/v1/sessions");
const SHOW: (&str, &str) = ("get", "/v1/sessions/{session}");
const END: (&str, &str) = ("delete", "/v1/sessions/{session}");
const KEEP: (&str, &str) = ("post", "/v1/sessions/{session}/keep-alive");
const MOVE: (&str, &str) = ("post", "/v1/sessions/{session}/move");
const MOVED: (&str, &str) = ("post", "/v1/sessions/{session}/moved");
const ACQUIRE: (&str, &str) = ("post", "/v1/acquire");
const RELEASE: (&str, &str) = ("post", "/v1/release");
const DOWNGRADE: (&str, &str) = ("post", "/v1/downgrade");
const CAMPAIGN: (&str, &str) = ("post", "/v1/campaign");
const PROCLAIM: (&str, &str) = ("post", "/v1/proclaim");
const RESIGN: (&str, &str) = ("post", "/v1/resign");
const LEADER: (&str, &str) = ("get", "/v1/leader");
const OBSERVE: (&str, &str) = ("get", "/v1/observe");
const LOCKS: (&str, &str) = ("get", "/v1/locks");
const EVENTS: (&str, &str) = ("get", "/v1/events");
const VOTERS: (&str, &str) = ("post", "/v1/voters");
const LEAVE: (&str, &str) = ("post", "/v1/leave");
const DRAIN: (&str, &str) = ("post", "/v1/drain");
const UNLOCK: (&str, &str) = ("post", "/v1/unlock");
const SESSIONS: (&str, &str) = ("get", "/v1/sessions");
const HEALTH: (&str, &str) = ("get", "/health");
const READY: (&str, &str) = ("get", "/ready");
const LIVE: (&str, &str) = ("get", "/live");
const OTHERS: [(&str, &str); 3] =
    [("get", "/v1/status"), ("get", "/metrics"), ("get", "/openapi.json")];

#[tokio::test]
async fn the_api_is_as_described() {
    let site = Site::start().await;
    let mut tour = Tour::begin(&site).await;
    what_is_asked_rightly(&site, &mut tour).await;
    who_leads(&site, &mut tour).await;
    what_is_wrong(&site, &mut tour).await;
    what_is_not_passed_on(&site, &mut tour).await;
    what_never_arrives(&site, &mut tour).await;
    who_is_refused(&mut tour).await;
    who_has_too_much(&mut tour).await;
    what_an_administrator_orders(&site, &mut tour).await;
    what_a_leaving_node_says(site, &mut tour).await;
    assert_eq!(tour.met, tour.described());
}

async fn what_is_asked_rightly(site: &Site, tour: &mut Tour) {
    let mut http = site.http().await;
    let http = &mut http;
    let mut watching = site.http().await;
    watching.send("GET", "/v1/events", "").await;
    let head = watching.until("\r\n\r\n").await.unwrap();
    tour.account("get", EVENTS.1, &Value::Null, &Answer { status: 200, head, text: String::new() });

    let asked = json!({"ttl_ms": 60_000, "owner": "tour"});
    let opened = tour.ask(http, OPEN, OPEN.1, &asked).await.json();
    let session = opened["session"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}");
    let asked = json!({"session": session, "lock": "a", "wait_ms": null, "request": 1});
    let fence = tour.ask(http, ACQUIRE, ACQUIRE.1, &asked).await.fence();
    tour.ask(http, KEEP, &format!("{path}/keep-alive"), &Value::Null).await;
    tour.ask(http, SHOW, &path, &Value::Null).await;
    let listing = tour.ask(http, LOCKS, "/v1/locks?prefix=a", &Value::Null).await.json();
    assert_eq!(listing["locks"][0]["holder"]["owner"], json!("tour"));
    let listing = tour.ask(http, SESSIONS, "/v1/sessions?limit=5", &Value::Null).await.json();
    assert_eq!(listing["sessions"][0]["held"][0]["lock"], json!("a"));
    for other in OTHERS.into_iter().chain([HEALTH, READY, LIVE]) {
        tour.ask(http, other, other.1, &Value::Null).await;
    }
    let asked = json!({"session": session, "lock": "a", "fence": fence.to_string()});
    tour.ask(http, RELEASE, RELEASE.1, &asked).await;
    tour.ask(http, END, &path, &Value::Null).await;

    for what in ["requested", "entered", "released"] {
        let line = loop {
            let line = watching.until("\n").await.unwrap();
            if let Some(data) = line.strip_prefix("data: ") {
                break serde_json::from_str::<Value>(data).unwrap();
            }
        };
        let schema = json!({"$ref": "#/components/schemas/Event"});
        assert_eq!(check(&tour.description, &schema, &line), Ok(()));
        assert_eq!(line["what"], json!(what));
    }
}

async fn who_leads(site: &Site, tour: &mut Tour) {
    let mut http = site.http().await;
    let http = &mut http;
    let (session, other) = (http.session(60_000).await, http.session(60_000).await);
    let mut watching = site.http().await;
    watching.send("GET", "/v1/observe?name=e&after=7", "").await;
    let head = watching.until("\r\n\r\n").await.unwrap();
    let seen = Answer { status: 200, head, text: String::new() };
    tour.account("get", OBSERVE.1, &Value::Null, &seen);

    let campaign = |session: &str, wait: Value| json!({"session": session, "name": "e", "value": "v", "wait_ms": wait});
    let elected = tour.ask(http, CAMPAIGN, CAMPAIGN.1, &campaign(&session, Value::Null)).await;
    let term = elected.json()["term"].clone();
    for (session, status) in [(other.as_str(), 409), (NOBODY, 410)] {
        let asked = campaign(session, json!(0));
        assert_eq!(tour.ask(http, CAMPAIGN, CAMPAIGN.1, &asked).await.status, status);
    }
    let leader = tour.ask(http, LEADER, "/v1/leader?name=e", &Value::Null).await.json();
    assert_eq!((&leader["leader"]["value"], &leader["term"]), (&json!("v"), &term));
    let long = "x".repeat(4097);
    for (session, term, value, status) in [
        (session.as_str(), &term, "w", 200),
        (&session, &term, &long, 400),
        (&other, &term, "w", 404),
        (&session, &json!("1"), "w", 409),
        (NOBODY, &term, "w", 410),
    ] {
        let asked = json!({"session": session, "name": "e", "term": term, "value": value});
        assert_eq!(tour.ask(http, PROCLAIM, PROCLAIM.1, &asked).await.status, status);
    }
    for (session, term, status) in [
        (other.as_str(), &term, 404),
        (&session, &json!("1"), 409),
        (NOBODY, &term, 410),
        (&session, &term, 200),
    ] {
        let asked = json!({"session": session, "name": "e", "term": term});
        assert_eq!(tour.ask(http, RESIGN, RESIGN.1, &asked).await.status, status);
    }
    for (operation, query) in [(LEADER, "?x=y"), (OBSERVE, "?name=")] {
        let path = format!("{}{query}", operation.1);
        assert_eq!(tour.ask(http, operation, &path, &Value::Null).await.status, 400);
    }
    let mut values = Vec::new();
    while values.last() != Some(&Value::Null) || values.len() < 3 {
        let line = watching.until("\n").await.unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            let told: Value = serde_json::from_str(data).unwrap();
            let schema = json!({"$ref": "#/components/schemas/Leadership"});
            assert_eq!(check(&tour.description, &schema, &told), Ok(()));
            values.push(told["leader"]["value"].clone());
        }
    }
    assert_eq!(values, [Value::Null, json!("v"), json!("w"), Value::Null]);
}

async fn what_is_wrong(site: &Site, tour: &mut Tour) {
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    let other = http.session(60_000).await;
    let fence = http.acquire(&other, "held", None).await.fence();
    let http = &mut http;
    for operation in WITH_BODY {
        tour.ask(http, operation, operation.1, &json!({"no": "such field"})).await;
        let large = json!({"large": "x".repeat(70_000)});
        tour.ask(&mut site.http().await, operation, operation.1, &large).await;
    }
    for (operation, path) in [(SHOW, ""), (END, ""), (KEEP, "/keep-alive")] {
        for id in ["no-session", NOBODY] {
            tour.ask(http, operation, &format!("/v1/sessions/{id}{path}"), &Value::Null).await;
        }
    }
    for (operation, query) in [(LOCKS, "?x=y"), (EVENTS, "?x=y"), (SESSIONS, "?after=x")] {
        let path = format!("{}{query}", operation.1);
        tour.ask(http, operation, &path, &Value::Null).await;
    }
    for (session, wait, status) in [(session.as_str(), 0, 409), (NOBODY, 0, 410)] {
        let asked = json!({"session": session, "lock": "held", "wait_ms": wait});
        assert_eq!(tour.ask(http, ACQUIRE, ACQUIRE.1, &asked).await.status, status);
    }
    for (session, fence, status) in
        [(session.as_str(), fence, 404), (&other, fence + 1, 409), (NOBODY, fence, 410)]
    {
        let asked = json!({"session": session, "lock": "held", "fence": fence.to_string()});
        assert_eq!(tour.ask(http, RELEASE, RELEASE.1, &asked).await.status, status);
    }
    for (session, fence, mode, status) in [
        (session.as_str(), fence, "shared", 404),
        (&other, fence + 1, "shared", 409),
        (NOBODY, fence, "shared", 410),
        (&other, fence, "exclusive", 400),
        (&other, fence, "permits:3", 200),
    ] {
        let asked =
            json!({"session": session, "lock": "held", "fence": fence.to_string(), "mode": mode});
        assert_eq!(tour.ask(http, DOWNGRADE, DOWNGRADE.1, &asked).await.status, status);
    }
    for (lock, fence, status) in
        [("nobody's", fence, 404), ("held", fence + 1, 409), ("held", fence, 200)]
    {
        let asked = json!({"lock": lock, "fence": fence.to_string(), "reason": "a tour"});
        assert_eq!(tour.ask(http, UNLOCK, UNLOCK.1, &asked).await.status, status);
    }
    let full = Site::start_with(|config| config.sessions = 0).await;
    let asked = json!({"ttl_ms": 60_000});
    tour.ask(&mut full.http().await, OPEN, OPEN.1, &asked).await;
    full.stop().await;
}

async fn what_never_arrives(site: &Site, tour: &mut Tour) {
    let mut slow = Vec::new();
    for operation in WITH_BODY {
        let mut http = site.http().await;
        let head = format!("POST {} HTTP/1.1\r\nhost: localhost", operation.1);
        http.raw(format!("{head}\r\ncontent-length: 9\r\n\r\n{{").as_bytes()).await;
        slow.push((operation, http));
    }
    for (operation, mut http) in slow {
        assert_eq!(tour.answer(&mut http, operation, &Value::Null).await.status, 408);
    }
}

async fn who_is_refused(tour: &mut Tour) {
    let site = Site::start_with(|config| config.token = Some("t".into())).await;
    for operation in guarded().chain(OTHERS) {
        for (origin, status) in [(None, 401), (Some("http://evil.example"), 403)] {
            let mut http = site.http().await;
            if let Some(origin) = origin {
                http = http.with_header("origin", origin);
            }
            let path = operation.1.replace("{session}", NOBODY);
            let answer = tour.ask(&mut http, operation, &path, &Value::Null).await;
            assert_eq!(answer.status, status, "{operation:?}");
        }
    }
    site.stop().await;
}

/// Whoever has too many connections is told on any further one, before it asks.
async fn who_has_too_much(tour: &mut Tour) {
    let quota = Quota { address_connections: Some(0), ..Quota::default() };
    let site = Site::start_with(|config| config.quota = quota).await;
    for operation in guarded().chain(OTHERS) {
        let answer = tour.answer(&mut site.http().await, operation, &Value::Null).await;
        assert_eq!((answer.status, answer.code().as_str()), (429, "quota"), "{operation:?}");
    }
    site.stop().await;
}

/// What takes a body.
const WITH_BODY: [(&str, &str); 10] =
    [OPEN, ACQUIRE, RELEASE, DOWNGRADE, CAMPAIGN, PROCLAIM, RESIGN, VOTERS, UNLOCK, DRAIN];

/// What not everybody may ask for.
fn guarded() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sessions = [OPEN, SHOW, END, KEEP, MOVE, MOVED];
    let others =
        [ACQUIRE, RELEASE, DOWNGRADE, LOCKS, SESSIONS, EVENTS, VOTERS, LEAVE, UNLOCK, DRAIN];
    let elections = [CAMPAIGN, PROCLAIM, RESIGN, LEADER, OBSERVE];
    sessions.into_iter().chain(others).chain(elections)
}

async fn what_an_administrator_orders(fixed: &Site, tour: &mut Tour) {
    let mut http = fixed.http().await;
    let remove = json!({"order": "remove-voter", "member": 3});
    let nobody = tour.ask(&mut http, VOTERS, VOTERS.1, &remove).await;
    assert_eq!(nobody.json()["code"], "no-voters");
    let embedded = tour.ask(&mut http, LEAVE, LEAVE.1, &Value::Null).await;
    assert_eq!(embedded.json()["code"], "embedded");
    let fixed_members = tour.ask(&mut http, DRAIN, DRAIN.1, &json!({})).await;
    assert_eq!(fixed_members.json()["code"], "fixed");

    let folder = tempfile::tempdir().unwrap();
    let (node, api) = with_voter(folder.path(), 1).await;
    node.entered().await.unwrap();
    let connect =
        async |api: &Api| Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    let mut http = connect(&api).await;
    for (order, code) in [
        (remove.clone(), "refused"),
        (json!({"order": "add-voter", "member": 2}), "refused"),
        (json!({"order": "replace-voter", "old": 1, "new": 2}), "refused"),
        (json!({"order": "remove-member", "member": 2}), "refused"),
        (json!({"order": "lease", "lease_ms": 10}), "invalid"),
        (json!({"order": "lease", "lease_ms": 500, "member": 1}), "malformed"),
        (json!({"order": "add-voter", "member": 0}), "malformed"),
    ] {
        let refused = tour.ask(&mut http, VOTERS, VOTERS.1, &order).await;
        assert_eq!(refused.json()["code"], code, "{order}: {}", refused.text);
    }
    let last = tour.ask(&mut http, DRAIN, DRAIN.1, &json!({})).await;
    assert_eq!((last.status, &last.json()["code"]), (409, &json!("refused")), "{}", last.text);
    let serves = tour.ask(&mut http, DRAIN, DRAIN.1, &json!({"undo": true})).await;
    assert_eq!(serves.json(), json!({"node": 1, "drain": null}));
    what_moves(fixed, &mut http, tour).await;
    let lease = json!({"order": "lease", "lease_ms": 600});
    loop {
        // Leases of another length may run: it says so, and takes the order a little later.
        let answer = tour.ask(&mut http, VOTERS, VOTERS.1, &lease).await;
        match answer.status {
            200 => break,
            _ => assert_eq!(answer.json()["code"], "busy"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    eventually(async || node.status().views.lease_ms == Some(600)).await;
    let asked = tour.ask(&mut http, LEAVE, LEAVE.1, &Value::Null);
    let ((), answer) = tokio::join!(api.asked_to_leave(), asked);
    assert_eq!(answer.status, 200);
    node.shutdown(Duration::ZERO).await;
    api.shutdown().await;

    // Nobody leads whom P2 could ask.
    let (node, api) = with_voter(folder.path(), 2).await;
    let alone = tour.ask(&mut connect(&api).await, VOTERS, VOTERS.1, &remove).await;
    assert_eq!((alone.status, &alone.json()["code"]), (504, &json!("no-leader")));
    // Nor has it entered: sessions are elsewhere.
    let mut http = connect(&api).await;
    let keep = KEEP.1.replace("{session}", NOBODY);
    tour.ask(&mut http, KEEP, &keep, &Value::Null).await;
    let unlock = json!({"lock": "a", "fence": "1"});
    tour.ask(&mut http, UNLOCK, UNLOCK.1, &unlock).await;
    let number = json!({"number": 0});
    tour.ask(&mut http, MOVED, &MOVED.1.replace("{session}", NOBODY), &number).await;
    node.kill();
}

/// Sessions that go on at another node, or at another life of this one.
async fn what_moves(fixed: &Site, http: &mut Http<TcpStream>, tour: &mut Tour) {
    let opened = tour.ask(http, OPEN, OPEN.1, &json!({"ttl_ms": 60_000})).await.json();
    let session = opened["session"].as_str().unwrap();
    let place = opened["place"].clone();
    let path = |name: &str, session: &str| format!("/v1/sessions/{session}/{name}");
    let other = format!("{}?life=0123456789abcdef", path("keep-alive", session));
    let other = tour.ask(http, KEEP, &other, &Value::Null).await;
    assert_eq!((other.status, &other.json()["code"]), (421, &json!("other-life")));

    let fence = json!([{"lock": "a", "fence": (1u64 << 40 | 1).to_string()}]);
    let mut asked = json!({"from": place, "number": 1, "ttl_ms": 60_000, "requests": 7});
    let stayed = tour.ask(http, MOVE, &path("move", session), &asked).await.json();
    assert_eq!((&stayed["pending"], &stayed["place"]["life"]), (&json!(false), &place["life"]));
    asked["held"] = json!([{"lock": "a", "fence": (1u64 << 60).to_string()}]);
    let never = tour.ask(http, MOVE, &path("move", session), &asked).await;
    assert_eq!((never.status, &never.json()["code"]), (400, &json!("invalid")), "{}", never.text);
    asked["held"] = fence;
    asked["from"]["life"] = json!("0123456789abcdef");
    let gone = tour.ask(http, MOVE, &path("move", NOBODY), &asked).await;
    assert_eq!(gone.status, 410, "{}", gone.text);
    asked["from"]["epoch"] = json!(1000);
    let behind = tour.ask(http, MOVE, &path("move", NOBODY), &asked).await;
    assert_eq!((behind.status, &behind.json()["code"]), (503, &json!("moving")));
    let mut fixed = fixed.http().await;
    let fixed = tour.ask(&mut fixed, MOVE, &path("move", NOBODY), &asked).await;
    assert_eq!((fixed.status, &fixed.json()["code"]), (409, &json!("fixed")));

    let number = json!({"number": 1});
    tour.ask(http, MOVED, &path("moved", session), &number).await;
    let gone = tour.ask(http, MOVED, &path("moved", session), &number).await;
    assert_eq!(gone.status, 410, "{}", gone.text);
    tour.ask(http, MOVED, &path("moved", "nobody"), &number).await;
}

/// Through this node to another one that it does not reach.
async fn what_is_not_passed_on(site: &Site, tour: &mut Tour) {
    let mut http = site.http().await;
    http.headers.push(("skeptron-relay".into(), "9-00c0ffee00c0ffee".into()));
    let path = format!("/v1/sessions/{NOBODY}");
    let asked = json!({"session": NOBODY, "lock": "a", "request": 1});
    let lowered = json!({"session": NOBODY, "lock": "a", "fence": "1", "mode": "shared"});
    let mut answers = Vec::new();
    for (operation, filled, body) in [
        (SHOW, path.clone(), &Value::Null),
        (END, path.clone(), &Value::Null),
        (KEEP, format!("{path}/keep-alive"), &Value::Null),
        (MOVED, format!("{path}/moved"), &json!({"number": 1})),
        (ACQUIRE, ACQUIRE.1.to_string(), &asked),
        (RELEASE, RELEASE.1.to_string(), &asked),
        (DOWNGRADE, DOWNGRADE.1.to_string(), &lowered),
    ] {
        answers.push(tour.ask(&mut http, operation, &filled, body).await.json());
    }
    assert!(answers.iter().all(|it| it["code"] == "unreachable"), "{answers:?}");
    // What is about no session is not passed on, nor is nonsense.
    assert_eq!(http.get("/v1/locks").await.status, 400);
    http.headers.last_mut().unwrap().1 = "P9".into();
    assert_eq!(http.get(&path).await.status, 400);
}

async fn what_a_leaving_node_says(site: Site, tour: &mut Tour) {
    let mut http = site.http().await;
    let session = http.session(60_000).await;
    http.acquire(&session, "held to the end", None).await.fence();
    let node = site.node().clone();
    let leaving = tokio::spawn(async move { node.shutdown(Duration::from_secs(5)).await });
    while http.get("/health").await.status == 200 {}
    for probe in [HEALTH, READY] {
        tour.ask(&mut http, probe, probe.1, &Value::Null).await;
    }
    // A part of a node that panics is beyond this test.
    tour.met.insert((LIVE.1.into(), LIVE.0.into(), "503".into()));
    let asked = json!({"session": session, "lock": "b"});
    tour.ask(&mut http, ACQUIRE, ACQUIRE.1, &asked).await;
    let asked = json!({"session": session, "name": "b"});
    tour.ask(&mut http, CAMPAIGN, CAMPAIGN.1, &asked).await;
    for operation in [LEADER, OBSERVE] {
        let path = format!("{}?name=b", operation.1);
        assert_eq!(tour.ask(&mut http, operation, &path, &Value::Null).await.status, 503);
    }
    let cluster = site.close().await;
    leaving.await.unwrap();
    cluster.shutdown().await;
}
