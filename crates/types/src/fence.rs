//! Fencing tokens.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The fencing token of an entry: larger than that of every earlier entry of its lock. The epoch of
/// the view counts most, then the entries of the lock in that view.
///
/// A resource compares the number; people read `epoch·counter`. In JSON it is a string of digits,
/// since it passes 2⁵³ after 8191 views.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    const COUNTER_BITS: u32 = 40;

    /// The highest counter of a view.
    pub const MOST_COUNTED: u64 = (1 << Self::COUNTER_BITS) - 1;

    /// From this counter on a lock asks for a new view, in which its counter begins anew: at a
    /// million entries a second there are then six days left.
    pub const RENEWED_AT: u64 = Self::MOST_COUNTED / 2;

    /// The highest epoch.
    pub const MOST_EPOCHS: u64 = (1 << (64 - Self::COUNTER_BITS)) - 1;

    /// Of an entry in this view; none if either number is too large.
    #[must_use]
    pub const fn new(epoch: u64, counter: u64) -> Option<Self> {
        if epoch > Self::MOST_EPOCHS || counter > Self::MOST_COUNTED {
            return None;
        }
        Some(Fence((epoch << Self::COUNTER_BITS) | counter))
    }

    /// The number that resources compare.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The fence with that number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Fence(number)
    }

    /// The epoch of its view.
    #[must_use]
    pub const fn epoch(self) -> u64 {
        self.0 >> Self::COUNTER_BITS
    }

    /// Its counter in that view.
    #[must_use]
    pub const fn counter(self) -> u64 {
        self.0 & Self::MOST_COUNTED
    }
}

impl fmt::Display for Fence {
    /// The number, as resources compare it; with `#` its parts as well: `1099511627776 (1·0)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        if f.alternate() { write!(f, " ({}·{})", self.epoch(), self.counter()) } else { Ok(()) }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}·{}", self.epoch(), self.counter())
    }
}

impl FromStr for Fence {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A number may begin with a sign, a string of digits does not.
        text.strip_prefix('+').map_or(text, |_| "").parse().map(Fence)
    }
}

impl Serialize for Fence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&self.0)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Fence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Fence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fence as a string of digits, or as a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fence, E> {
                text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Fence, E> {
                Ok(Fence(number))
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Digits)
        } else {
            u64::deserialize(deserializer).map(Fence)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_views_and_later_entries_are_larger() {
        let fence = |epoch, counter| Fence::new(epoch, counter).unwrap();
        assert!(fence(1, Fence::MOST_COUNTED) < fence(2, 0));
        assert!(fence(2, 0) < fence(2, 1));
        assert_eq!(Fence::new(1, Fence::MOST_COUNTED + 1), None);
        assert_eq!(Fence::new(Fence::MOST_EPOCHS + 1, 0), None);
        assert_eq!((fence(9000, 17).epoch(), fence(9000, 17).counter()), (9000, 17));
    }

    #[test]
    fn json_has_all_digits_beyond_two_to_the_53() {
        let fence = Fence::new(8193, 7).unwrap();
        assert!(fence.number() > 1 << 53);
        let json = serde_json::to_string(&fence).unwrap();
        assert_eq!(json, format!("\"{}\"", fence.number()));
        assert_eq!(serde_json::from_str::<Fence>(&json).unwrap(), fence);
        assert_eq!(serde_json::from_str::<Fence>("17").unwrap().number(), 17);
        for wrong in ["\"1·7\"", "\"+17\"", "\"-17\"", "\" 17\"", "\"\"", "-17"] {
            assert!(serde_json::from_str::<Fence>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format!("{fence:#}"), format!("{} (8193·7)", fence.number()));
    }
}
