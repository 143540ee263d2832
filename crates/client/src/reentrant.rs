//! Locks that their owner may take again.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::Mutex;

use crate::{Client, ClientError, Guard};

/// Locks that their owner may take again while it has them: it gets the same guard, and the lock is released with
/// the last of them. An owner is whatever the program says, a request's number, say; different owners exclude
/// each other, within the program and beyond.
#[derive(Clone, Debug)]
pub struct Reentrant {
    client: Client,
    held: Arc<std::sync::Mutex<Held>>,
}

/// By owner and name.
type Held = BTreeMap<(String, String), Arc<Mutex<Weak<Guard>>>>;

impl Reentrant {
    /// Locks of this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Reentrant { client, held: Arc::default() }
    }

    /// Waits for the lock, unless this owner has it already. Guards that have been lost do not count.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock(&self, owner: &str, name: &str) -> Result<Arc<Guard>, ClientError> {
        let place = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            // What nobody has any more, and nobody is just asking for.
            held.retain(|_, it| {
                Arc::strong_count(it) > 1 || it.try_lock().is_ok_and(|it| it.strong_count() > 0)
            });
            Arc::clone(held.entry((owner.to_string(), name.to_string())).or_default())
        };
        // One of an owner asks at a time; the others find what it got.
        let mut known = place.lock().await;
        if let Some(guard) = known.upgrade().filter(|guard| guard.is_valid()) {
            return Ok(guard);
        }
        let guard = Arc::new(self.client.lock(name).await?);
        *known = Arc::downgrade(&guard);
        Ok(guard)
    }
}
