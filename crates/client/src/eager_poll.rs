//! A future that wakes itself while it runs goes on at once.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::UNPOISONED;

/// Polls a future again at once when it was woken from inside its own poll, as HTTP connections are
/// whose two halves talk to each other. Left to the scheduler, each such wake rouses another thread
/// that then finds nothing to do.
pub struct EagerPoll<F> {
    future: Pin<Box<F>>,
    flag: Arc<WakeFlag>,
    waker: Waker,
}

/// Nothing happened since the last poll, which has ended.
const QUIET: u8 = 0;
/// The future is being polled.
const POLLING: u8 = 1;
/// It was woken while being polled.
const RUNG: u8 = 2;

/// Knows whether the future is being polled, and whom to wake if not.
struct WakeFlag {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl<F: Future> EagerPoll<F> {
    /// How often it is polled in a row before others have their turn.
    const MOST_IN_A_ROW: usize = 32;

    pub fn new(future: F) -> Self {
        let flag = Arc::new(WakeFlag {
            state: AtomicU8::new(QUIET),
            task: Mutex::new(Waker::noop().clone()),
        });
        EagerPoll { future: Box::pin(future), waker: Arc::clone(&flag).into(), flag }
    }
}

impl<F: Future> Future for EagerPoll<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.flag.task.lock().expect(UNPOISONED).clone_from(context.waker());
        for _ in 0..Self::MOST_IN_A_ROW {
            this.flag.state.store(POLLING, Ordering::SeqCst);
            let inner = &mut Context::from_waker(&this.waker);
            if let Poll::Ready(output) = this.future.as_mut().poll(inner) {
                return Poll::Ready(output);
            }
            if this.flag.state.swap(QUIET, Ordering::SeqCst) != RUNG {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let rung = self.state.compare_exchange(POLLING, RUNG, Ordering::SeqCst, Ordering::SeqCst);
        if rung == Err(QUIET) {
            self.task.lock().expect(UNPOISONED).wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_wake_from_inside_is_answered_at_once() {
        let (count, mut polls) = (Arc::new(Count::default()), 0);
        let mut eager_poll = EagerPoll::new(std::future::poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        }));
        let waker = Arc::clone(&count).into();
        assert!(Pin::new(&mut eager_poll).poll(&mut Context::from_waker(&waker)).is_ready());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_wake_from_outside_reaches_the_task() {
        let count = Arc::new(Count::default());
        let kept = Mutex::new(None);
        let mut eager_poll = EagerPoll::new(std::future::poll_fn(|context| {
            *kept.lock().unwrap() = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        let waker = Arc::clone(&count).into();
        assert!(Pin::new(&mut eager_poll).poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        kept.lock().unwrap().take().unwrap().wake();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn one_that_never_stops_leaves_others_their_turn() {
        let count = Arc::new(Count::default());
        let mut eager_poll = EagerPoll::new(std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let waker = Arc::clone(&count).into();
        assert!(Pin::new(&mut eager_poll).poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }
}
