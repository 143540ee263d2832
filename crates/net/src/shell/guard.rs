//! What the holder of a lock at a node in this process has in its hands.

use std::sync::Arc;

use skeptron_client::ReleaseError;
use skeptron_core::mutex::Mode;
use skeptron_member::{Fence, Lock, LockError};

use super::{LocalAcquire, Shell, Waiter};

/// A held lock. Dropping it releases.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once has released its lock"]
pub struct Guard {
    fence: Fence,
    /// None once it has been released.
    hold: Option<(Arc<Shell>, Arc<Lock<Waiter>>)>,
}

/// Why a guard without a hold cannot be met.
const HOLDS: &str = "only a release, which consumes the guard, takes the hold out";

impl Guard {
    pub(crate) fn new(shell: Arc<Shell>, lock: Arc<Lock<Waiter>>, fence: Fence) -> Self {
        Guard { fence, hold: Some((shell, lock)) }
    }

    /// Forgets the lock without releasing it.
    pub(crate) fn forget(mut self) {
        self.hold = None;
    }

    fn hold(&self) -> &(Arc<Shell>, Arc<Lock<Waiter>>) {
        self.hold.as_ref().expect(HOLDS)
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.hold().1.name()
    }

    /// The fencing token of this entry: larger than that of every earlier entry of this lock.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Whether the lock is still held, as far as this process can tell right now.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let (shell, lock) = self.hold();
        shell.is_held(lock, self.fence)
    }

    /// Waits until the lock is lost; for ever, if it never is.
    pub async fn lost(&self) {
        let (shell, lock) = self.hold();
        shell.lost(lock, self.fence).await;
    }

    /// Waits until it is exclusive, without leaving: all others have left, and it has a new fence. Dropped,
    /// the future releases the lock.
    ///
    /// # Errors
    /// [`LockError::UpgradeDenied`] with the guard if another one upgrades, and waits for this one to be
    /// released; others without if it is lost.
    pub async fn upgrade(self) -> Result<Guard, (LockError, Option<Guard>)> {
        let (shell, lock) = self.hold();
        let upgraded = match shell.ask_to_upgrade(Arc::clone(lock), self.fence) {
            Ok(LocalAcquire::Granted(guard)) => Ok(guard),
            Ok(LocalAcquire::Waiting(wait)) => wait.await,
            Err(error) => Err(error),
        };
        match upgraded {
            Ok(guard) => {
                // It is the same entry.
                self.forget();
                Ok(guard)
            }
            Err(error @ LockError::UpgradeDenied(_)) => Err((error, Some(self))),
            Err(error) => Err((error, None)),
        }
    }

    /// Goes on with others, with the same fence. Whether it was exclusive, and is not led or lost.
    pub fn downgrade(&self, mode: Mode) -> bool {
        let (shell, lock) = self.hold();
        shell.downgrade(lock, self.fence, mode)
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// If it was lost before.
    pub async fn release(mut self) -> Result<(), ReleaseError> {
        let (shell, lock) = self.hold.take().expect(HOLDS);
        let was_valid = shell.is_held(&lock, self.fence);
        if shell.release(&lock, self.fence) && was_valid {
            Ok(())
        } else {
            Err(ReleaseError::Lost(lock.name().to_string()))
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((shell, lock)) = self.hold.take() {
            shell.release(&lock, self.fence);
        }
    }
}
