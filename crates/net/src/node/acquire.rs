//! Locks for programs in the node's own process.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use skeptron_core::mutex::Mode;
use skeptron_member::LockError;
use skeptron_member::report::NotGranted;

use super::{Life, Node};
use crate::env;
use crate::shell::{Guard, LocalAcquire};

impl Node {
    /// Waits for the lock, also while the node has yet to enter the cluster or enters it anew. The
    /// future may be dropped at any time.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock(&self, name: &str) -> Result<Guard, LockError> {
        self.lock_as(name, "").await
    }

    /// As [`Node::lock`], telling those who look who it is.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock_as(&self, name: &str, owner: &str) -> Result<Guard, LockError> {
        self.enter(name, Mode::EXCLUSIVE, owner).await
    }

    /// Waits for an entry of this mode, beside others that tolerate it: as [`Node::lock_as`].
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn enter(&self, name: &str, mode: Mode, owner: &str) -> Result<Guard, LockError> {
        // A task that asks again and again gets it at once each time, and must let others run.
        tokio::task::coop::consume_budget().await;
        let mut lives = None;
        loop {
            let life = self.life().await?;
            life.shell.relieved(name).await;
            let granted = match life.shell.ask(name, (owner, mode)) {
                Ok(LocalAcquire::Granted(guard)) => Ok(guard),
                Ok(LocalAcquire::Waiting(wait)) => wait.await,
                Err(error) => Err(error),
            };
            match granted {
                // Nothing was granted in that life; another one asks again.
                Err(LockError::Halted { .. }) if self.parts.has_lives() => {
                    let lives = lives.get_or_insert_with(|| self.parts.lives.subscribe());
                    let is_over = |life: &Life| life.shell.core().halted().is_some();
                    while self.parts.present.load().as_deref().is_some_and(is_over) {
                        if self.parts.is_closed.load(Ordering::Acquire) {
                            return Err(LockError::Leaving(self.id()));
                        }
                        let _ = lives.changed().await;
                    }
                }
                granted => return granted,
            }
        }
    }

    /// Takes the lock if no member holds it. None as soon as a member says that it holds it, and after
    /// a second if it was on its way to others.
    ///
    /// # Errors
    /// [`LockError::Unavailable`], after a second, if no member says that it holds it and those that must
    /// agree cannot let it in; see [`LockError`] for others.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, LockError> {
        self.try_lock_as(name, "").await
    }

    /// As [`Node::try_lock`], telling those who look who it is.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn try_lock_as(&self, name: &str, owner: &str) -> Result<Option<Guard>, LockError> {
        tokio::task::coop::consume_budget().await;
        let life = self.life().await?;
        let mut wait = match life.shell.ask(name, (owner, Mode::EXCLUSIVE))? {
            LocalAcquire::Granted(guard) => return Ok(Some(guard)),
            LocalAcquire::Waiting(wait) => wait,
        };
        match life.shell.unless_held((name, Mode::EXCLUSIVE), &mut wait).await {
            Ok(granted) => granted.map(Some),
            // What is held may be ours, granted while the members were asked.
            Err(why) => match tokio::task::unconstrained(&mut wait).now_or_never() {
                Some(granted) => granted.map(Some),
                None => unless_outage(name, why),
            },
        }
    }

    /// Waits for the lock, but no longer than that; none if others held it or waited for it, which the
    /// members may take a second more to say.
    ///
    /// # Errors
    /// [`LockError::Unavailable`] if it was not granted because the cluster cannot; see [`LockError`] for
    /// others.
    pub async fn lock_within(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, LockError> {
        self.lock_within_as(name, "", timeout).await
    }

    /// As [`Node::lock_within`], telling those who look who it is.
    ///
    /// # Errors
    /// See [`LockError`].
    pub async fn lock_within_as(
        &self,
        name: &str,
        owner: &str,
        timeout: Duration,
    ) -> Result<Option<Guard>, LockError> {
        let why = async {
            env::sleep(timeout).await;
            self.why_not(name).await
        };
        tokio::select! {
            biased;
            granted = self.lock_as(name, owner) => granted.map(Some),
            why = why => unless_outage(name, why),
        }
    }

    /// Why somebody who waits here for this lock is not granted it.
    async fn why_not(&self, name: &str) -> NotGranted {
        let mut causes = self.status().causes;
        causes.retain(|cause| cause.reason.ends_service());
        match self.parts.present.load_full() {
            Some(life) if causes.is_empty() => life.shell.why_not((name, Mode::EXCLUSIVE)).await,
            _ => NotGranted::because(causes),
        }
    }
}

/// None if others held the lock or waited for it.
fn unless_outage(name: &str, why: NotGranted) -> Result<Option<Guard>, LockError> {
    match why.is_outage() {
        false => Ok(None),
        true => Err(LockError::Unavailable { name: name.to_string(), why: Box::new(why) }),
    }
}
