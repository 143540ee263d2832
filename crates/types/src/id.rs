//! Who a member is.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A member of the cluster, by the number that its configuration and its certificate (`node-3`) give
/// it. The number lasts; its rank in a view, the `NodeId` of `skeptron-core`, does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct MemberId(u32);

impl MemberId {
    /// The member with this number, from 1; none for 0.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number == 0 { None } else { Some(MemberId(number)) }
    }

    /// The member at this place, from 0, of a list of all members.
    ///
    /// # Panics
    /// If `place` does not fit 32 bits.
    #[must_use]
    pub const fn at(place: usize) -> Self {
        assert!(place < u32::MAX as usize, "a member's place is below 2^32 - 1");
        MemberId(place as u32 + 1)
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its place, from 0, in a list of all members.
    #[must_use]
    pub const fn place(self) -> usize {
        self.0 as usize - 1
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}

impl fmt::Debug for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for MemberId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        MemberId::new(number).ok_or_else(|| D::Error::custom("members are counted from 1"))
    }
}
