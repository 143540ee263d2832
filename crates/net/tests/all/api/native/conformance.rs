//! One list of scenarios, over HTTP and natively: the same questions have the same answers.

use std::pin::Pin;

use skeptron_client::messages::{Acquire, Incarnation};
use skeptron_client::messages::{
    Campaign, LeftBehind, MoveSession, Proclaim, Release, SessionPlace,
};
use skeptron_client::native::{Ask, Json, Reply};
use skeptron_member::session::{MovedHold, SessionId};
use skeptron_net::api::{Quota, Role};
use skeptron_net::{Fence, MemberId};
use tokio::net::TcpStream;

use super::{Line, acquire, fence, open, refusal, release, session};
use crate::api::site::{Http, Site};

/// One of the two protocols.
enum Speaker {
    Http(Http<TcpStream>),
    Native(Line),
}

impl Speaker {
    async fn ask(&mut self, ask: Ask) -> Reply {
        let http = match self {
            Speaker::Native(line) => return line.ask(ask).await,
            Speaker::Http(http) => http,
        };
        let (method, path, body) = ask.to_http();
        let body = String::from_utf8(body).unwrap();
        let answer = http.ask(method.as_str(), &path, &body).await;
        if answer.status == 200 {
            return ask.read(answer.text.as_bytes()).unwrap();
        }
        let problem = Json(serde_json::from_str(&answer.text).unwrap());
        Reply::Refused(skeptron_client::native::Refused { status: answer.status, problem })
    }

    async fn session(&mut self) -> SessionId {
        session(self.ask(open(60_000)).await)
    }

    /// The status and the code.
    async fn refused(&mut self, ask: Ask) -> (u16, String) {
        let (status, code, _) = refusal(self.ask(ask).await);
        (status, code)
    }
}

type Scenario = for<'a> fn(&'a mut Speaker) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

const SCENARIOS: &[(&str, Scenario)] = &[
    ("a lock is taken and given back", |it| Box::pin(taken_and_given_back(it))),
    ("what is held is refused to others", |it| Box::pin(held_by_another(it))),
    ("the same acquire is the same entry", |it| Box::pin(same_acquire(it))),
    ("only what is held is released", |it| Box::pin(wrong_releases(it))),
    ("a session that ended is over", |it| Box::pin(ended(it))),
    ("what cannot be is invalid", |it| Box::pin(invalid(it))),
    ("a leader proclaims", |it| Box::pin(leads(it))),
    ("fixed members take no sessions of others", |it| Box::pin(moves(it))),
    ("a withdrawn acquire comes to nothing", |it| Box::pin(withdrawn(it))),
];

#[tokio::test]
async fn both_protocols_say_the_same() {
    for (name, scenario) in SCENARIOS {
        for is_native in [false, true] {
            eprintln!("{name}, {}", if is_native { "natively" } else { "by HTTP" });
            let site = Site::start().await;
            let mut speaker = match is_native {
                false => Speaker::Http(site.http().await),
                true => Speaker::Native(Line::open(&site).await),
            };
            scenario(&mut speaker).await;
            drop(speaker);
            site.stop().await;
        }
    }
}

async fn taken_and_given_back(it: &mut Speaker) {
    let id = it.session().await;
    let first = fence(it.ask(acquire(id, "a", None)).await);
    assert!(matches!(it.ask(release(id, "a", first)).await, Reply::Released(true)));
    let second = fence(it.ask(acquire(id, "a", Some(0))).await);
    assert!(second > first);
    let Reply::KeptAlive(Json(kept)) = it.ask(sign(id)).await else { panic!("it lives") };
    assert!(kept.valid_ms > 0 && kept.lost.is_empty());
}

async fn held_by_another(it: &mut Speaker) {
    let (mine, other) = (it.session().await, it.session().await);
    let held = fence(it.ask(acquire(mine, "a", None)).await);
    for wait in [0, 20] {
        let (status, code, why) = refusal(it.ask(acquire(other, "a", Some(wait))).await);
        assert_eq!((status, code.as_str()), (409, "not-acquired"));
        let holder = why.and_then(|why| why.holder).expect("somebody holds it");
        assert_eq!((holder.fence, holder.owner.as_str()), (held, "test"));
    }
}

async fn same_acquire(it: &mut Speaker) {
    let id = it.session().await;
    let numbered = |lock: &str| Ask::Acquire(Acquire::exclusive(id, lock.into(), None, Some(7)));
    let first = fence(it.ask(numbered("a")).await);
    assert_eq!(fence(it.ask(numbered("a")).await), first);
    assert!(matches!(it.ask(release(id, "a", first)).await, Reply::Released(true)));
    assert_eq!(it.refused(numbered("a")).await, (409, "withdrawn".to_string()));
}

async fn wrong_releases(it: &mut Speaker) {
    let id = it.session().await;
    let none = Fence::from_number(1);
    assert_eq!(it.refused(release(id, "a", none)).await, (404, "not-held".to_string()));
    let held = fence(it.ask(acquire(id, "a", None)).await);
    assert_eq!(it.refused(release(id, "a", none)).await, (409, "other-fence".to_string()));
    let both = Release { session: id, lock: "a".into(), fence: Some(held), request: Some(1) };
    assert_eq!(it.refused(Ask::Release(both)).await, (400, "invalid".to_string()));
}

async fn ended(it: &mut Speaker) {
    let id = it.session().await;
    fence(it.ask(acquire(id, "a", None)).await);
    assert!(matches!(it.ask(Ask::End(id)).await, Reply::Ended));
    let over = (410, "session-over".to_string());
    assert_eq!(it.refused(sign(id)).await, over);
    assert_eq!(it.refused(acquire(id, "a", None)).await, over);
    assert_eq!(it.refused(Ask::End(id)).await, over);
    // Its lock was given back.
    let other = it.session().await;
    fence(it.ask(acquire(other, "a", Some(0))).await);
}

async fn invalid(it: &mut Speaker) {
    let id = it.session().await;
    let bad = (400, "invalid".to_string());
    assert_eq!(it.refused(open(1)).await, bad);
    assert_eq!(it.refused(acquire(id, "", None)).await, bad);
    assert_eq!(it.refused(acquire(id, &"x".repeat(256), None)).await, bad);
    assert_eq!(it.refused(campaign(id, "e", &"x".repeat(5000))).await, bad);
}

async fn leads(it: &mut Speaker) {
    let id = it.session().await;
    let term = fence(it.ask(campaign(id, "e", "one")).await);
    let proclaim = |name: &str, term, version| {
        let (name, value) = (name.to_string(), "two".to_string());
        Ask::Proclaim(Proclaim { session: id, name, term, value, version })
    };
    assert!(matches!(it.ask(proclaim("e", term, None)).await, Reply::Proclaimed(2)));
    assert!(matches!(it.ask(proclaim("e", term, Some(9))).await, Reply::Proclaimed(9)));
    let plain = fence(it.ask(acquire(id, "plain", None)).await);
    let not_leading = (409, "not-leading".to_string());
    assert_eq!(it.refused(proclaim("plain", plain, None)).await, not_leading);
    assert!(matches!(it.ask(release(id, "e", term)).await, Reply::Released(true)));
}

async fn moves(it: &mut Speaker) {
    let id = it.session().await;
    let held = fence(it.ask(acquire(id, "a", None)).await);
    let hold = MovedHold {
        lock: "a".into(),
        fence: held,
        mode: skeptron_client::Mode::EXCLUSIVE,
        request: None,
        leads: None,
    };
    let moved = MoveSession {
        from: SessionPlace { node: MemberId::at(1), life: Incarnation(7), epoch: 1 },
        number: 1,
        ttl_ms: 60_000,
        owner: String::new(),
        requests: 0,
        held: vec![hold],
    };
    assert_eq!(it.refused(Ask::Move(id, moved)).await, (409, "fixed".to_string()));
    assert!(matches!(
        it.ask(Ask::LeftBehind(id, LeftBehind { number: 5 })).await,
        Reply::LeftBehind
    ));
    assert!(matches!(it.ask(sign(id)).await, Reply::KeptAlive(_)));
}

async fn withdrawn(it: &mut Speaker) {
    let id = it.session().await;
    let withdraw = Release { session: id, lock: "a".into(), fence: None, request: Some(3) };
    assert!(matches!(it.ask(Ask::Release(withdraw)).await, Reply::Released(false)));
    let late = Acquire::exclusive(id, "a".into(), None, Some(3));
    assert_eq!(it.refused(Ask::Acquire(late)).await, (409, "withdrawn".to_string()));
}

fn sign(session: SessionId) -> Ask {
    Ask::KeepAlive { session, life: None, epoch: None }
}

fn campaign(session: SessionId, name: &str, value: &str) -> Ask {
    let (name, value) = (name.to_string(), value.to_string());
    Ask::Campaign(Campaign { session, name, value, wait_ms: None, request: None })
}

/// Roles and quotas hold in both.
#[tokio::test]
async fn both_protocols_keep_roles_and_quotas() {
    for is_native in [false, true] {
        let site = Site::start_with(|config| {
            config.quota = Quota { sessions: Some(1), waiters: Some(1), ..Quota::default() };
            config.roles = vec![Role {
                name: "web".into(),
                token: Some("w".into()),
                certificate: None,
                lock: vec!["web/".into()],
                list: vec![],
                admin: false,
            }];
        })
        .await;
        let hello = skeptron_client::native::Hello {
            version: skeptron_client::native::VERSION,
            token: Some("w".into()),
        };
        let mut it = match is_native {
            false => Speaker::Http(site.http().await.with_header("authorization", "Bearer w")),
            true => Speaker::Native(Line::greet(&site, hello).await.0),
        };
        let id = it.session().await;
        assert_eq!(it.refused(open(60_000)).await, (429, "quota".to_string()));
        fence(it.ask(acquire(id, "web/a", None)).await);
        let denied = (403, "permission-denied".to_string());
        assert_eq!(it.refused(acquire(id, "db", None)).await, denied);
        let observed = Ask::Observe { name: "web/a".into(), after: None };
        assert_eq!(it.refused(observed).await, denied);
        site.stop().await;
    }
}
