//! The transactions with etcd, and their form in the JSON of its gateway.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use skeptron_views::views::Views;
use thiserror::Error;

/// Where a cluster's keys are: `PREFIX/CLUSTER/view` and `PREFIX/CLUSTER/lives/INCARNATION`.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    folder: String,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    /// The life is a member.
    IsAlive(u64),
    /// The life has not been renewed since this revision; 0 if it has no key.
    LifeAt { life: u64, revision: u64 },
    /// The view has not changed since this revision; 0 if there is none.
    ViewAt(u64),
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// What is decided from now on.
    View(Box<Views>),
    /// The life renews its lease, or begins; the number differs from the one before.
    Renew { life: u64, number: u64 },
    /// The life is over.
    End(u64),
}

/// All writes if all conditions hold, else none; and in both cases a look at everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Txn {
    pub(super) compares: Vec<Compare>,
    pub(super) writes: Vec<Write>,
    /// The revision of the view that need not be sent again.
    pub(super) known_view: u64,
}

/// What etcd answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Whether the conditions held.
    pub(super) succeeded: bool,
    /// Of everything in etcd, after the transaction. It rises with every write.
    pub(super) revision: u64,
    pub(super) view: Seen,
    /// At which revision each life was renewed last.
    pub(super) lives: BTreeMap<u64, u64>,
}

/// The view in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// There is none.
    Absent,
    Known,
    /// Another one, written at this revision.
    Newer {
        revision: u64,
        views: Box<Views>,
    },
}

/// Why an answer makes no sense.
#[derive(Debug, Error)]
pub(super) enum BadAnswer {
    #[error("the answer is not one of etcd's gateway for version 3: {0}")]
    Json(serde_json::Error),
    #[error("the value of `{key}` is not a view of this version of skeptron: {source}")]
    View { key: String, source: serde_json::Error },
    #[error("the answer is incomplete")]
    Incomplete,
}

impl Keys {
    pub(super) fn new(prefix: &str, cluster: &str) -> Self {
        Keys { folder: format!("{}/{cluster}", prefix.trim_end_matches('/')) }
    }

    pub(super) fn view(&self) -> String {
        format!("{}/view", self.folder)
    }

    fn life(&self, life: u64) -> String {
        format!("{}/lives/{life:016x}", self.folder)
    }

    fn life_of(&self, key: &str) -> Option<u64> {
        let digits = key.strip_prefix(&self.folder)?.strip_prefix("/lives/")?;
        u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16)
    }

    /// The body of a request to `/v3/kv/txn`.
    pub(super) fn request(&self, txn: &Txn) -> Vec<u8> {
        let looks = [
            json!({ "requestRange": {
                "key": encoded(self.view()),
                "minModRevision": (txn.known_view + 1).to_string(),
            } }),
            json!({ "requestRange": {
                "key": encoded(format!("{}/lives/", self.folder)),
                "rangeEnd": encoded(format!("{}/lives0", self.folder)),
                "keysOnly": true,
            } }),
        ];
        let writes = txn.writes.iter().map(|write| self.write(write));
        let body = json!({
            "compare": txn.compares.iter().map(|compare| self.compare(*compare)).collect::<Vec<_>>(),
            "success": writes.chain(looks.clone()).collect::<Vec<_>>(),
            "failure": looks,
        });
        body.to_string().into_bytes()
    }

    fn compare(&self, compare: Compare) -> Value {
        match compare {
            Compare::IsAlive(life) => json!({
                "key": encoded(self.life(life)), "target": "VERSION", "result": "GREATER",
                "version": "0",
            }),
            Compare::LifeAt { life, revision } => at(self.life(life), revision),
            Compare::ViewAt(revision) => at(self.view(), revision),
        }
    }

    fn write(&self, write: &Write) -> Value {
        let put = |key: String, value: String| json!({ "requestPut": { "key": encoded(key), "value": encoded(value) } });
        match write {
            Write::View(views) => {
                let value =
                    serde_json::to_string(views).expect("views have only names and numbers");
                put(self.view(), value)
            }
            Write::Renew { life, number } => put(self.life(*life), number.to_string()),
            Write::End(life) => {
                json!({ "requestDeleteRange": { "key": encoded(self.life(*life)) } })
            }
        }
    }

    /// Reads what `/v3/kv/txn` answered.
    pub(super) fn answer(&self, body: &[u8]) -> Result<Answer, BadAnswer> {
        let body: Body = serde_json::from_slice(body).map_err(BadAnswer::Json)?;
        let mut ranges = body.responses.into_iter().filter_map(|response| response.response_range);
        let (Some(view), Some(lives)) = (ranges.next(), ranges.next()) else {
            return Err(BadAnswer::Incomplete);
        };
        let seen = match (view.kvs.first(), view.count) {
            (Some(pair), _) => {
                let value = decoded(&pair.value).ok_or(BadAnswer::Incomplete)?;
                let views = serde_json::from_slice(&value);
                let views = views.map_err(|source| BadAnswer::View { key: self.view(), source })?;
                Seen::Newer { revision: pair.mod_revision, views: Box::new(views) }
            }
            (None, 0) => Seen::Absent,
            (None, _) => Seen::Known,
        };
        let lives = lives.kvs.iter().filter_map(|pair| {
            let key = String::from_utf8(decoded(&pair.key)?).ok()?;
            Some((self.life_of(&key)?, pair.mod_revision))
        });
        let (succeeded, revision) = (body.succeeded, body.header.revision);
        Ok(Answer { succeeded, revision, view: seen, lives: lives.collect() })
    }

    /// The body of a request to `/v3/watch` that tells of every later change of the view.
    pub(super) fn watch(&self) -> Vec<u8> {
        json!({ "create_request": { "key": encoded(self.view()) } }).to_string().into_bytes()
    }
}

fn at(key: String, revision: u64) -> Value {
    json!({
        "key": encoded(key), "target": "MOD", "result": "EQUAL", "modRevision": revision.to_string(),
    })
}

fn encoded(text: String) -> String {
    BASE64.encode(text)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// The gateway leaves out whatever is zero, false or empty.
#[derive(Deserialize)]
struct Body {
    header: Header,
    #[serde(default)]
    succeeded: bool,
    #[serde(default)]
    responses: Vec<Response>,
}

#[derive(Deserialize)]
struct Header {
    #[serde(default, deserialize_with = "number")]
    revision: u64,
}

#[derive(Deserialize)]
struct Response {
    response_range: Option<Range>,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Pair>,
    #[serde(default, deserialize_with = "number")]
    count: u64,
}

#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: String,
    #[serde(default, deserialize_with = "number")]
    mod_revision: u64,
}

/// Numbers of 64 bits are strings in the gateway's JSON.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use skeptron_member::MemberId;
    use skeptron_views::views::{Command, Join, LeaseSettings};

    use super::*;

    fn keys() -> Keys {
        Keys::new("/skeptron/", "main")
    }

    fn views() -> Views {
        let mut views = Views::new(u128::MAX, LeaseSettings::default(), &[]);
        let (id, address) = (MemberId::new(3).unwrap(), "10.0.0.3:1".to_string());
        let join = Join {
            id,
            incarnation: u64::MAX,
            address,
            api: vec![],
            plans: 7,
            algorithms: String::new(),
            has_folder: false,
            version: 1,
        };
        views.apply(&[Command::Join(join)]);
        views
    }

    #[test]
    fn keys_lie_under_prefix_and_cluster() {
        assert_eq!(keys().view(), "/skeptron/main/view");
        assert_eq!(keys().life(255), "/skeptron/main/lives/00000000000000ff");
        assert_eq!(keys().life_of("/skeptron/main/lives/00000000000000ff"), Some(255));
        for other in ["/skeptron/main/lives/view", "/skeptron/main/lives/ff", "/skeptron/other/x"] {
            assert_eq!(keys().life_of(other), None, "{other}");
        }
    }

    #[test]
    fn an_answer_is_read_as_the_gateway_writes_it() {
        let value = BASE64.encode(serde_json::to_string(&views()).unwrap());
        let life = encoded(keys().life(u64::MAX));
        let body = json!({
            "header": { "cluster_id": "1", "member_id": "2", "revision": "9", "raft_term": "2" },
            "succeeded": true,
            "responses": [
                { "response_put": { "header": { "revision": "9" } } },
                { "response_range": { "header": {}, "count": "1",
                    "kvs": [{ "key": "", "mod_revision": "8", "version": "1", "value": value }] } },
                { "response_range": { "header": {}, "count": "1",
                    "kvs": [{ "key": life, "mod_revision": "9" }] } },
            ],
        });
        let answer = keys().answer(body.to_string().as_bytes()).unwrap();
        let view = Seen::Newer { revision: 8, views: Box::new(views()) };
        let lives = BTreeMap::from([(u64::MAX, 9)]);
        assert_eq!(answer, Answer { succeeded: true, revision: 9, view, lives });
    }

    #[test]
    fn a_view_that_is_known_differs_from_none() {
        let body = |count: &str| {
            let view = match count {
                "" => json!({ "response_range": {} }),
                count => json!({ "response_range": { "count": count } }),
            };
            json!({ "header": {}, "responses": [view, { "response_range": {} }] }).to_string()
        };
        assert_eq!(keys().answer(body("").as_bytes()).unwrap().view, Seen::Absent);
        assert_eq!(keys().answer(body("1").as_bytes()).unwrap().view, Seen::Known);
    }

    #[test]
    fn what_is_no_answer_says_why() {
        let error = |body: &str| keys().answer(body.as_bytes()).unwrap_err().to_string();
        assert!(error("404 page not found").contains("gateway"));
        assert!(error(r#"{"header":{}}"#).contains("incomplete"));
        let view =
            json!({ "response_range": { "kvs": [{ "key": "", "value": encoded("?".into()) }] } });
        let body = json!({ "header": {}, "responses": [view, { "response_range": {} }] });
        assert!(error(&body.to_string()).contains("/skeptron/main/view"));
    }
}
