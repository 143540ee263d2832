//! Work that takes a while: a request is answered by a stream that tells how far it is, what comes of
//! it meanwhile, and at last the result. Whoever closes the stream ends the work.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinError;
use tokio::time::Instant;

use super::wire::{Failure, Progress};
use super::{assumptions, check, compare, quorum, structure};

#[cfg(test)]
mod tests;

/// How long a job may take unless it says otherwise.
pub(super) const WITHIN: Duration = Duration::from_secs(60);
/// How often progress is told at most.
const EVERY: Duration = Duration::from_millis(100);
/// So much may be told that is not read yet.
const UNREAD: usize = 256;
/// How long to wait before telling somebody again who does not read.
const PATIENCE: Duration = Duration::from_millis(20);

/// All paths of jobs. They share the cores.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let jobs = Jobs::new(thread::available_parallelism().map_or(1, usize::from));
    Router::new()
        .merge(compare::router())
        .merge(check::router())
        .merge(assumptions::router())
        .merge(quorum::router())
        .merge(structure::router())
        .with_state(jobs)
}

/// What all jobs share: places to work.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    places: Arc<Semaphore>,
}

/// What is said of a job before and after its work.
pub(super) struct Task<W> {
    /// How long it may take.
    pub(super) within: Duration,
    /// The command that does the same without that limit.
    pub(super) command: String,
    /// The progress that is told while others are at work.
    pub(super) waiting: W,
}

impl Task<Progress> {
    /// One that tells how much of so much is done.
    pub(super) fn new(command: String) -> Self {
        let waiting = Progress { done: 0, total: 0, label: WAITING.into() };
        Task { within: WITHIN, command, waiting }
    }
}

/// What a job does that has no place yet.
pub(super) const WAITING: &str = "waiting until other jobs are done";

impl Jobs {
    /// So many work at a time; others wait.
    pub(super) fn new(places: usize) -> Self {
        Jobs { places: Arc::new(Semaphore::new(places)) }
    }

    /// Does `work` apart from everything else, and streams what it tells: `progress` and other events,
    /// then `result` or `error`.
    pub(super) fn stream<W, T>(
        &self,
        task: Task<W>,
        work: impl FnOnce(&EventSender) -> Result<T> + Send + 'static,
    ) -> Response
    where
        W: Serialize + Send + 'static,
        T: Serialize + 'static,
    {
        let (events, heard) = mpsc::channel(UNREAD);
        let (latest, progress) = watch::channel(None);
        let sender = EventSender { events, latest: Arc::new(latest), stop: Arc::default() };
        let ears = Ears {
            events: heard,
            progress,
            next_progress: Instant::now(),
            over: false,
            stop: sender.stop.clone(),
        };
        tokio::spawn(do_it(self.places.clone(), task, sender, work));
        Sse::new(stream::unfold(ears, Ears::next)).keep_alive(KeepAlive::default()).into_response()
    }
}

async fn do_it<W: Serialize, T: Serialize>(
    places: Arc<Semaphore>,
    task: Task<W>,
    sender: EventSender,
    work: impl FnOnce(&EventSender) -> Result<T> + Send + 'static,
) {
    let place = match places.clone().try_acquire_owned() {
        Ok(place) => Ok(place),
        Err(_) => {
            sender.progress(&task.waiting);
            tokio::select! {
                place = places.acquire_owned() => place,
                () = sender.events.closed() => return,
            }
        }
    };
    let Ok(place) = place else { return };
    let worker = sender.clone();
    let mut job = tokio::task::spawn_blocking(move || {
        // Until it really ends, even if nobody waits for it any more.
        let _place = place;
        work(&worker).map(|result| event("result", &result))
    });
    let last = tokio::select! {
        outcome = &mut job => outcome.map_or_else(broken, |told| told.unwrap_or_else(failed)),
        () = tokio::time::sleep(task.within) => {
            sender.stop.store(true, Ordering::Relaxed);
            too_long(task.within, &task.command)
        }
    };
    // Nobody may be there to hear it.
    let _ = sender.events.send(JobEvent { event: last, is_last: true }).await;
}

fn failed(error: anyhow::Error) -> Event {
    event("error", &Failure { error: format!("{error:#}") })
}

fn broken(error: JoinError) -> Event {
    tracing::error!("a job of the lab broke: {error}");
    let error = "this went wrong in the lab itself; please report it".into();
    event("error", &Failure { error })
}

fn too_long(within: Duration, command: &str) -> Event {
    let seconds = within.as_secs_f64();
    let error = format!(
        "this takes longer than the {seconds} s that the lab has for it; ask for less, or run it in a \
         terminal, where nothing ends it: {command}"
    );
    event("error", &Failure { error })
}

fn event(name: &str, value: &impl Serialize) -> Event {
    Event::default().event(name).json_data(value).unwrap_or_else(|error| {
        let failure = serde_json::json!({ "error": error.to_string() });
        Event::default().event("error").data(failure.to_string())
    })
}

/// Something that must not be missed.
struct JobEvent {
    event: Event,
    is_last: bool,
}

/// How a job speaks to whoever asked for it.
#[derive(Clone)]
pub(super) struct EventSender {
    events: mpsc::Sender<JobEvent>,
    /// Progress that nobody has read is replaced by newer.
    latest: Arc<watch::Sender<Option<Event>>>,
    stop: Arc<AtomicBool>,
}

impl EventSender {
    /// Becomes true when nobody wants the result any more.
    pub(super) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Tells how far the work is.
    pub(super) fn progress(&self, progress: &impl Serialize) {
        self.latest.send_replace(Some(event("progress", progress)));
    }

    /// Tells something that must not be missed; whoever reads slowly is waited for.
    ///
    /// # Errors
    /// If nobody listens any more.
    pub(super) fn tell(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let mut told = JobEvent { event: event(name, value), is_last: false };
        loop {
            self.check()?;
            match self.events.try_send(told) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(unsent)) => told = unsent,
                Err(mpsc::error::TrySendError::Closed(_)) => {
                    self.stop.store(true, Ordering::Relaxed);
                    return self.check();
                }
            }
            thread::sleep(PATIENCE);
        }
    }

    /// Whether it is worth going on.
    ///
    /// # Errors
    /// If nobody wants the result any more.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.stop.load(Ordering::Relaxed), "nobody waits for the result any more");
        Ok(())
    }
}

/// The reader's side: what is told, until the end.
struct Ears {
    events: mpsc::Receiver<JobEvent>,
    progress: watch::Receiver<Option<Event>>,
    next_progress: Instant,
    /// Whether nothing comes after what was told last.
    over: bool,
    stop: Arc<AtomicBool>,
}

impl Ears {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if self.over {
            return None;
        }
        let event = tokio::select! {
            biased;
            told = self.events.recv() => {
                let JobEvent { event, is_last } = told?;
                self.over = is_last;
                event
            }
            event = newer(&mut self.progress, self.next_progress) => {
                self.next_progress = Instant::now() + EVERY;
                event
            }
        };
        Some((Ok(event), self))
    }
}

impl Drop for Ears {
    /// The stream was closed, or is over.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Progress that was not told yet, not before `earliest`.
async fn newer(progress: &mut watch::Receiver<Option<Event>>, earliest: Instant) -> Event {
    tokio::time::sleep_until(earliest).await;
    loop {
        if progress.changed().await.is_err() {
            // There will be none; only events are waited for.
            std::future::pending::<()>().await;
        }
        if let Some(event) = progress.borrow_and_update().clone() {
            return event;
        }
    }
}
