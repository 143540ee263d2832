//! What makes all tasks of a node stand still.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Whether the tasks of a node stand still, as those of a process that was stopped: none takes a step,
/// what arrives waits, and time goes on.
#[derive(Debug, Default)]
pub(crate) struct PauseSwitch {
    is_closed: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl PauseSwitch {
    /// No task takes another step until it is opened.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// All go on.
    pub(crate) fn open(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(false, Ordering::Release);
        waiting.drain(..).for_each(Waker::wake);
    }

    /// Whether whoever is polled may take a step; it is woken when it may again.
    pub(crate) fn pass(&self, context: &Context<'_>) -> Poll<()> {
        if !self.is_closed.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have been opened meanwhile, and then nobody would wake this one.
        if !self.is_closed.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|other| other.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
