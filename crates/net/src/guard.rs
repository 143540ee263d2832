//! What the holder of a lock has in its hands.

use std::sync::Arc;

use thiserror::Error;

use crate::client::RemoteGrant;
use crate::table::{Cell, Table};

/// A held lock. Dropping it releases.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once has released its lock"]
pub struct Guard {
    fence: u64,
    hold: Option<Hold>,
}

/// Where the lock is held.
#[derive(Debug)]
enum Hold {
    /// At a node in this process.
    Local { table: Arc<Table>, cell: Arc<Cell> },
    /// At a node elsewhere, by a session.
    Remote(RemoteGrant),
}

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

/// Why a guard without a hold cannot be met.
const HOLDS: &str = "only a release or a disarm, which consume the guard, take the hold out";

impl Guard {
    /// A lock held at a node in this process.
    pub(crate) fn local(table: Arc<Table>, cell: Arc<Cell>, fence: u64) -> Self {
        Guard { fence, hold: Some(Hold::Local { table, cell }) }
    }

    /// A lock held at a node elsewhere.
    pub(crate) fn remote(grant: RemoteGrant) -> Self {
        Guard { fence: grant.fence(), hold: Some(Hold::Remote(grant)) }
    }

    fn hold(&self) -> &Hold {
        self.hold.as_ref().expect(HOLDS)
    }

    /// Forgets the lock without releasing it: whoever granted it keeps it.
    pub(crate) fn disarm(mut self) {
        self.hold = None;
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.hold() {
            Hold::Local { cell, .. } => &cell.name,
            Hold::Remote(grant) => grant.name(),
        }
    }

    /// The fencing token of this entry: larger than that of every earlier entry of this lock.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// Whether the lock is still held, as far as this process can tell right now.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self.hold() {
            Hold::Local { table, cell } => table.is_held(cell, self.fence),
            Hold::Remote(grant) => grant.is_valid(),
        }
    }

    /// Waits until the lock is lost; for ever, if it never is.
    pub async fn lost(&self) {
        match self.hold() {
            Hold::Local { table, .. } => table.lost().await,
            Hold::Remote(grant) => grant.lost().await,
        }
    }

    /// Lets go, and waits until the node has taken note.
    ///
    /// # Errors
    /// If it was lost before, or the node cannot be told.
    pub async fn release(mut self) -> Result<(), ReleaseError> {
        match self.hold.take().expect(HOLDS) {
            Hold::Local { table, cell } => {
                if table.release(&cell, self.fence) {
                    Ok(())
                } else {
                    Err(ReleaseError::Lost(cell.name.to_string()))
                }
            }
            Hold::Remote(grant) => grant.release().await,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(Hold::Local { table, cell }) = self.hold.take() {
            table.release(&cell, self.fence);
        }
    }
}
