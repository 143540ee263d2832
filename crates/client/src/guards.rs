//! Several locks that are held together.

use std::time::Duration;

use futures_util::future::{join_all, select_all};

use crate::{Guard, ReleaseError};

/// Several locks that one session holds. Dropping them releases them.
#[derive(Debug, Default)]
#[must_use = "guards that are dropped at once have released their locks"]
pub struct Guards(Vec<Guard>);

impl Guards {
    pub(crate) fn push(&mut self, guard: Guard) {
        self.0.push(guard);
    }

    /// Each of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Guard> {
        self.0.iter()
    }

    /// How long all of them stay valid even if no further sign of life gets through.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.0.iter().map(Guard::valid_for).min().unwrap_or_default()
    }

    /// For how long the node last promised to let the session live.
    #[must_use]
    pub fn promised(&self) -> Duration {
        self.0.iter().map(Guard::promised).min().unwrap_or_default()
    }

    /// Waits until one of them is lost, and says which.
    pub async fn lost(&self) -> &Guard {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let lost = self.0.iter().map(|guard| Box::pin(async move { guard.lost().await }));
        let (_, place, _) = select_all(lost).await;
        &self.0[place]
    }

    /// Releases all of them, and waits until the node has taken note.
    ///
    /// # Errors
    /// If one was lost before, or the node cannot be told of one; the others are released all the same.
    pub async fn release(self) -> Result<(), ReleaseError> {
        let released = join_all(self.0.into_iter().map(Guard::release)).await;
        released.into_iter().collect()
    }
}

impl From<Guard> for Guards {
    fn from(guard: Guard) -> Self {
        Guards(vec![guard])
    }
}
