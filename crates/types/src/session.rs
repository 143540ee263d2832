//! What a client and the member where its session is tell each other of it.

mod id;

use serde::{Deserialize, Serialize};

pub use id::{SessionHandle, SessionId};

use crate::election::Proclaimed;
use crate::{Fence, Mode};

/// A lock in the hands of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Held {
    /// Which lock.
    pub lock: String,
    /// The fence of the entry.
    pub fence: Fence,
}

/// A lock that a moving session holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MovedHold {
    /// Which lock.
    pub lock: String,
    /// The fence of the entry.
    pub fence: Fence,
    /// How many others it tolerates.
    #[serde(default)]
    pub mode: Mode,
    /// The number of the acquire, if it had one.
    #[serde(default)]
    pub request: Option<u64>,
    /// The last value that the client has given it, if it leads; whether or not that was answered.
    #[serde(default)]
    pub leads: Option<Proclaimed>,
}
