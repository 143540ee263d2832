//! The native protocol: frames in postcard, many requests in flight on one connection, answered in any
//! order, and what the node tells by itself. `docs/native.md` describes it; HTTP says the same things in
//! JSON, and both are translated to the same questions and answers here.

pub(crate) mod connection;

pub(crate) use connection::{Connection, Io, Observation};

use hyper::Method;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skeptron_types::Fence;
use skeptron_types::election::Leadership;
use skeptron_types::session::{Held, SessionId};

use crate::messages::{
    Acquire, Campaign, Downgrade, Downgraded, Elected, Incarnation, KeptAlive, LeftBehind,
    MoveSession, Moved, NewValue, OpenSession, Problem, Proclaim, Release, Released, SessionOpened,
    SessionPlace, SessionStatus,
};

/// What a connection begins with, in both directions. No HTTP method and no TLS record begins like that.
pub const MAGIC: [u8; 8] = *b"\0skptrn\n";
/// The version of what is said; a node that speaks another says so.
pub const VERSION: u16 = 2;

/// The longest frame of a client.
pub const MOST_QUESTION_BYTES: usize = 64 << 10;
/// The longest frame of a node.
pub const MOST_ANSWER_BYTES: usize = 1 << 20;
/// Requests of one connection that may be unanswered at once.
pub const MOST_IN_FLIGHT: usize = 16 << 10;
/// Sessions that one connection may carry.
pub const MOST_SESSIONS: usize = 10_000;

/// The first frame of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u16,
    /// The token of the API, if it asks for one.
    pub token: Option<String>,
}

/// The first frame of a node. Whoever is refused may try HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greeting {
    Welcome { version: u16 },
    Refused(Refused),
}

/// A frame of a client after the first one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ClientFrame {
    Ask {
        /// Chosen by the client; no other request in flight on the connection has it.
        number: u64,
        /// The life where the session is, if this node is to pass it on there.
        relay: Option<SessionPlace>,
        ask: Ask,
    },
    /// Nobody waits for the answer of this request any more; it may still come.
    Cancel { number: u64 },
}

/// What a client asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    Open(OpenSession),
    KeepAlive {
        session: SessionId,
        /// The life of the node that is meant.
        life: Option<Incarnation>,
        /// The epoch of the last answer.
        epoch: Option<u64>,
    },
    End(SessionId),
    Move(SessionId, MoveSession),
    LeftBehind(SessionId, LeftBehind),
    Acquire(Acquire),
    Release(Release),
    Campaign(Campaign),
    Proclaim(Proclaim),
    Downgrade(Downgrade),
    /// The present leader, then every change, until it is cancelled: each as [`NodeFrame::Leads`].
    Observe {
        name: String,
        /// The last term that the observer has seen.
        after: Option<Fence>,
    },
}

/// A frame of a node after the first one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum NodeFrame {
    /// What the request of this number comes to.
    Answer { number: u64, reply: Reply },
    /// Who leads the election that the request of this number observes; none is a sign of life.
    Leads { number: u64, told: Option<Leadership> },
    /// Something was lost here, or the node leaves: every session gives a sign of life now, whose answer
    /// says what.
    Look,
    /// This connection is not answered any more: the next request goes to a new one.
    Leaving,
    /// The same for a request that was sent before that was known.
    Again { number: u64 },
}

/// What a node answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Opened(Json<SessionOpened>),
    KeptAlive(Json<KeptAlive>),
    Ended,
    Moved(Json<Moved>),
    LeftBehind,
    /// The session holds it, or leads.
    Held(Held),
    /// Whether anything was held.
    Released(bool),
    /// The version of the value.
    Proclaimed(u64),
    /// The entry tolerates others.
    Downgraded,
    /// The election is observed no more.
    Observed,
    Refused(Refused),
}

/// Why a request gets nothing: the status and the body that HTTP has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub status: u16,
    pub problem: Json<Problem>,
}

/// A document that HTTP has as a body, as the same JSON: what has optional fields can gain some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> Serialize for Json<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(serde::ser::Error::custom)?;
        text.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        serde_json::from_str(text).map(Json).map_err(D::Error::custom)
    }
}

impl Ask {
    /// The method and the path of the same in HTTP, as far as they say what is asked for.
    #[must_use]
    pub fn kind(&self) -> (Method, &'static str) {
        match self {
            Ask::Open(_) => (Method::POST, "/v1/sessions"),
            Ask::End(_) => (Method::DELETE, "/v1/sessions/{session}"),
            Ask::KeepAlive { .. } => (Method::POST, "/v1/sessions/{session}/keep-alive"),
            Ask::Move(..) => (Method::POST, "/v1/sessions/{session}/move"),
            Ask::LeftBehind(..) => (Method::POST, "/v1/sessions/{session}/moved"),
            Ask::Acquire(_) => (Method::POST, "/v1/acquire"),
            Ask::Release(_) => (Method::POST, "/v1/release"),
            Ask::Campaign(_) => (Method::POST, "/v1/campaign"),
            Ask::Proclaim(_) => (Method::POST, "/v1/proclaim"),
            Ask::Downgrade(_) => (Method::POST, "/v1/downgrade"),
            Ask::Observe { .. } => (Method::GET, "/v1/observe"),
        }
    }

    /// The same in HTTP: method, path with what stands behind the `?`, and body.
    #[must_use]
    pub fn to_http(&self) -> (Method, String, Vec<u8>) {
        let (method, path) = self.kind();
        let about = |id: &SessionId| path.replace("{session}", &id.to_string());
        let path = match self {
            Ask::End(id) | Ask::Move(id, _) | Ask::LeftBehind(id, _) => about(id),
            Ask::KeepAlive { session, life, epoch } => {
                let epoch = epoch.map(|epoch| format!("epoch={epoch}"));
                let life = life.map(|life| format!("life={:016x}", life.0));
                let query: Vec<String> = epoch.into_iter().chain(life).collect();
                let mark = if query.is_empty() { "" } else { "?" };
                format!("{}{mark}{}", about(session), query.join("&"))
            }
            Ask::Observe { name, after } => {
                let after = after.map_or_else(String::new, |term| format!("&after={term}"));
                format!("{path}?name={}{after}", escaped(name))
            }
            _ => path.to_string(),
        };
        let body = match self {
            Ask::Open(body) => serde_json::to_vec(body),
            Ask::Move(_, body) => serde_json::to_vec(body),
            Ask::LeftBehind(_, body) => serde_json::to_vec(body),
            Ask::Acquire(body) => serde_json::to_vec(body),
            Ask::Release(body) => serde_json::to_vec(body),
            Ask::Campaign(body) => serde_json::to_vec(body),
            Ask::Proclaim(body) => serde_json::to_vec(body),
            Ask::Downgrade(body) => serde_json::to_vec(body),
            Ask::KeepAlive { .. } | Ask::End(_) | Ask::Observe { .. } => Ok(Vec::new()),
        };
        (method, path, body.expect("a question has only names and numbers"))
    }

    /// What the body of a good answer in HTTP says.
    ///
    /// # Errors
    /// If it is not what this is answered with.
    pub fn read(&self, body: &[u8]) -> Result<Reply, serde_json::Error> {
        let held = |lock, fence| Reply::Held(Held { lock, fence });
        Ok(match self {
            Ask::Open(_) => Reply::Opened(Json(serde_json::from_slice(body)?)),
            Ask::KeepAlive { .. } => Reply::KeptAlive(Json(serde_json::from_slice(body)?)),
            Ask::End(_) => serde_json::from_slice::<SessionStatus>(body).map(|_| Reply::Ended)?,
            Ask::Move(..) => Reply::Moved(Json(serde_json::from_slice(body)?)),
            Ask::LeftBehind(..) => {
                serde_json::from_slice::<LeftBehind>(body).map(|_| Reply::LeftBehind)?
            }
            Ask::Acquire(_) => Reply::Held(serde_json::from_slice(body)?),
            Ask::Release(_) => Reply::Released(serde_json::from_slice::<Released>(body)?.released),
            Ask::Campaign(_) => {
                let Elected { name, term } = serde_json::from_slice(body)?;
                held(name, term)
            }
            Ask::Proclaim(_) => {
                Reply::Proclaimed(serde_json::from_slice::<NewValue>(body)?.version)
            }
            Ask::Downgrade(_) => {
                serde_json::from_slice::<Downgraded>(body).map(|_| Reply::Downgraded)?
            }
            Ask::Observe { .. } => Reply::Observed,
        })
    }
}

/// As it may stand in a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// How long a frame's length is.
const LENGTH_BYTES: usize = 4;

/// Appends a frame.
pub fn put(frame: &impl Serialize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    *out = postcard::to_extend(frame, std::mem::take(out)).expect("memory takes every frame");
    let length = u32::try_from(out.len() - start - LENGTH_BYTES).expect("frames are short");
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
}

/// Why what arrived is no frame. Nothing that follows can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("invalid frame")]
    Malformed,
}

/// The first frame of what arrived and how many bytes it took; none if it has not arrived whole.
///
/// # Errors
/// If it is too long or is something else.
pub fn take<T: DeserializeOwned>(
    received: &[u8],
    most: usize,
) -> Result<Option<(T, usize)>, BadFrame> {
    let Some((length, rest)) = received.split_first_chunk::<LENGTH_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > most {
        return Err(BadFrame::TooLong(length));
    }
    let Some(frame) = rest.get(..length) else { return Ok(None) };
    match postcard::take_from_bytes(frame) {
        Ok((frame, [])) => Ok(Some((frame, LENGTH_BYTES + length))),
        _ => Err(BadFrame::Malformed),
    }
}
