//! Errors that the node and its client share.

use thiserror::Error;

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
