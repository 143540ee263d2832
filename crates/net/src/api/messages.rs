//! What goes over the API, as the server and the client write and read it.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skeptron_core::NodeId;

use crate::report::LockStatus;

/// The longest name that an owner may give itself, in bytes.
pub(crate) const MOST_OWNER_BYTES: usize = 200;

/// A session's name and, since nobody can guess it, its key: 128 random bits in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(u128);

impl SessionId {
    /// A new one that nobody can guess; none if the system gives no randomness.
    pub(crate) fn draw() -> Option<Self> {
        unguessable().map(SessionId)
    }
}

/// 128 bits that nobody can guess; none if the system gives no randomness.
#[must_use]
pub fn unguessable() -> Option<u128> {
    let mut bytes = [0; 16];
    let provider = rustls::crypto::ring::default_provider();
    provider.secure_random.fill(&mut bytes).ok()?;
    Some(u128::from_be_bytes(bytes))
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    /// Only its beginning: whoever reads a log must not be able to use it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}…", self.0 >> 112)
    }
}

impl FromStr for SessionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hexadecimal = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = hexadecimal.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(SessionId).ok_or_else(|| "a session is 32 hexadecimal digits".to_string())
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// `POST /v1/sessions`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenSession {
    /// How long after its last sign of life the session ends.
    pub(crate) ttl_ms: u64,
    /// What its holder is called in listings.
    #[serde(default)]
    pub(crate) owner: String,
}

/// The answer to [`OpenSession`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionOpened {
    pub(crate) session: SessionId,
    pub(crate) ttl_ms: u64,
}

/// The answer to `POST /v1/sessions/{session}/keep-alive`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptAlive {
    pub(crate) ttl_ms: u64,
    /// What the session held and the node has lost since.
    pub(crate) lost: Vec<Held>,
}

/// The answer to `GET /v1/sessions/{session}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionStatus {
    pub(crate) session: SessionId,
    pub(crate) owner: String,
    pub(crate) ttl_ms: u64,
    /// By name.
    pub(crate) held: Vec<Held>,
    /// The names of the locks it waits for, sorted.
    pub(crate) waiting: Vec<String>,
}

/// A lock in the hands of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) lock: String,
    pub(crate) fence: u64,
}

/// `POST /v1/acquire`. The answer is [`Held`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acquire {
    pub(crate) session: SessionId,
    pub(crate) lock: String,
    /// None is for ever, 0 only if nobody has it.
    #[serde(default)]
    pub(crate) wait_ms: Option<u64>,
    /// A number that the session gives to this acquire alone: with the same number it is the same
    /// acquire tried again, with another one it waits until the first is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<u64>,
}

/// `POST /v1/release`: of the entry with that fence, or of whatever came of that acquire.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    pub(crate) session: SessionId,
    pub(crate) lock: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fence: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<u64>,
}

/// The answer to [`Release`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Released {
    pub(crate) lock: String,
    /// Whether anything was held.
    pub(crate) released: bool,
}

/// The answer to `GET /v1/locks`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Listing {
    pub(crate) locks: Vec<LockStatus>,
    /// Members that did not answer in time.
    pub(crate) silent: Vec<NodeId>,
}

/// The answer to `GET /health`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Health {
    pub(crate) node: NodeId,
    pub(crate) well: bool,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    /// For programs.
    pub(crate) code: String,
    /// What is wrong.
    pub(crate) error: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_survives_its_text_and_hides_in_logs() {
        let id = SessionId::draw().unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), 32);
        assert!(format!("{id:?}").chars().count() < 8);
        assert_ne!(SessionId::draw().unwrap(), id);
    }

    #[test]
    fn only_32_hexadecimal_digits_are_a_session() {
        for text in ["", "12", &"g".repeat(32), &"1".repeat(33), "+1111111111111111111111111111111"]
        {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }
}
