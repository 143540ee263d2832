//! Kinds of entries: how many others one tolerates.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many may be inside together, as one entry sees it: at most so many, itself included. Exclusive
/// is one, shared is any number, and a semaphore of k permits is k. Entries of different modes may meet
/// on one lock: each must find its own limit kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode(NonZeroU32);

impl Mode {
    /// Nobody else inside.
    pub const EXCLUSIVE: Mode = Mode(NonZeroU32::MIN);
    /// Any number of others, as long as they tolerate it.
    pub const SHARED: Mode = Mode(NonZeroU32::MAX);

    /// At most `k` inside; none for 0.
    #[must_use]
    pub const fn permits(k: u32) -> Option<Mode> {
        match NonZeroU32::new(k) {
            Some(k) => Some(Mode(k)),
            None => None,
        }
    }

    /// The most that may be inside, this entry included.
    #[must_use]
    pub const fn most(self) -> u32 {
        self.0.get()
    }

    /// Whether it tolerates nobody.
    #[must_use]
    pub const fn is_exclusive(self) -> bool {
        self.0.get() == 1
    }
}

impl Default for Mode {
    fn default() -> Self {
        Mode::EXCLUSIVE
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Mode::EXCLUSIVE => f.write_str("exclusive"),
            Mode::SHARED => f.write_str("shared"),
            Mode(k) => write!(f, "permits:{k}"),
        }
    }
}

/// What is not a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMode(String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownMode(text) = self;
        write!(f, "`{text}` is no mode; use exclusive, shared, or permits:K with K from 1 on")
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let mode = match text {
            "exclusive" => Some(Mode::EXCLUSIVE),
            "shared" => Some(Mode::SHARED),
            _ => text.strip_prefix("permits:").and_then(|k| k.parse().ok()).map(Mode),
        };
        mode.ok_or_else(|| UnknownMode(text.into()))
    }
}

/// A word for people, a number on the wire.
impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            // Shared is the common one, and 0 is a single byte.
            serializer.serialize_u32(if *self == Mode::SHARED { 0 } else { self.most() })
        }
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer)?.parse().map_err(D::Error::custom);
        }
        Ok(Mode::permits(u32::deserialize(deserializer)?).unwrap_or(Mode::SHARED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for (text, most) in [("exclusive", 1), ("permits:3", 3), ("shared", u32::MAX)] {
            let mode: Mode = text.parse().unwrap();
            assert_eq!((mode.most(), mode.to_string().as_str()), (most, text));
            let json = serde_json::to_string(&mode).unwrap();
            assert_eq!(serde_json::from_str::<Mode>(&json).unwrap(), mode);
        }
        assert_eq!("permits:1".parse(), Ok(Mode::EXCLUSIVE));
        for text in ["permits:0", "permits:", "permits:-1", "readers", ""] {
            let said = text.parse::<Mode>().unwrap_err().to_string();
            assert!(said.contains("use exclusive, shared, or permits:K"), "{said}");
        }
    }
}
