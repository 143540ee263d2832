//! How sessions are named.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scatter;

/// A session's name and, since nobody can guess it, its key: 128 random bits, drawn by whoever opens
/// it, in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u128);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl SessionId {
    /// What it may be called where others read it.
    #[must_use]
    pub fn handle(self) -> SessionHandle {
        let halves = [(self.0 >> 64) as u64, self.0 as u64];
        SessionHandle(halves.into_iter().fold(0, |hash, half| scatter(hash ^ half)) >> 16)
    }
}

/// A session where others may see it, always the same: 48 bits that are made from its id. Whoever knows
/// them still has 80 bits of the id to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionHandle(pub u64);

impl fmt::Display for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

impl FromStr for SessionHandle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hexadecimal = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let read = hexadecimal.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        let wrong = || "the handle of a session has 12 hexadecimal digits".to_string();
        read.map(SessionHandle).ok_or_else(wrong)
    }
}

impl Serialize for SessionHandle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionHandle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
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
        let read = hexadecimal.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        read.map(SessionId).ok_or_else(|| "a session has 32 hexadecimal digits".to_string())
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u128(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
        } else {
            u128::deserialize(deserializer).map(SessionId)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_survives_its_text_and_hides_in_logs() {
        let id = SessionId(0x1234_5678_9abc_def0_1234_5678_9abc_def0);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), 32);
        assert!(format!("{id:?}").chars().count() < 8);
    }

    #[test]
    fn a_handle_is_always_the_same_and_survives_its_text() {
        let ids = [0, 1, 1 << 64, u128::MAX, 0x1234_5678_9abc_def0_1234_5678_9abc_def0];
        let handles = ids.map(|id| SessionId(id).handle());
        for (place, handle) in handles.iter().enumerate() {
            assert_eq!(handle.to_string().parse(), Ok(*handle));
            assert!(handles.iter().skip(place + 1).all(|other| other != handle));
            assert!(!SessionId(ids[place]).to_string().contains(&handle.to_string()));
        }
        assert_eq!(handles[4].to_string(), "b871cfdc202d");
    }

    #[test]
    fn only_32_hexadecimal_digits_are_a_session() {
        for text in ["", "12", &"g".repeat(32), &"1".repeat(33), "+1111111111111111111111111111111"]
        {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }
}
