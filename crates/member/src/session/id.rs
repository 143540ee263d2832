//! How sessions are named.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A session's name and, since nobody can guess it, its key: 128 random bits, drawn by whoever opens
/// it, in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u128);

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
        let read = hexadecimal.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        read.map(SessionId).ok_or_else(|| "a session has 32 hexadecimal digits".to_string())
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
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
    fn only_32_hexadecimal_digits_are_a_session() {
        for text in ["", "12", &"g".repeat(32), &"1".repeat(33), "+1111111111111111111111111111111"]
        {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }
}
