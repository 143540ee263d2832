//! What the holder of a lock has in its hands.

use thiserror::Error;

/// A held lock. Dropping it releases.
#[derive(Debug)]
pub struct Guard {}

/// Why a release told nobody.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// It had been lost before.
    #[error("the lock `{0}` had been lost before it was released; what was done since may clash")]
    Lost(String),
    /// The node cannot be told; the lock is given back when the session ends.
    #[error("the node cannot be told that `{name}` is released: {why}; its session gives it back")]
    Unreachable {
        /// Which lock.
        name: String,
        /// Why.
        why: String,
    },
}

impl Guard {
    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        todo!()
    }

    /// The fencing token of this entry: larger than that of every earlier entry of this lock.
    #[must_use]
    pub fn fence(&self) -> u64 {
        todo!()
    }

    /// Whether the lock is still held, as far as this process can tell right now.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        todo!()
    }

    /// Waits until the lock is lost; for ever, if it never is.
    pub async fn lost(&self) {
        todo!()
    }

    /// Lets go, and waits until the node has taken note.
    ///
    /// # Errors
    /// If it was lost before, or the node cannot be told.
    pub async fn release(self) -> Result<(), ReleaseError> {
        todo!()
    }
}
