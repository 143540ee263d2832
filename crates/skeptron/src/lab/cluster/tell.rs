//! Tells a page what happens, as fast as it reads: whoever is slow misses something, and no node waits.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use skeptron_net::Node;
use skeptron_net::observe::{self, Events, What};
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Live;
use super::look::{Seen, number, since};
use crate::lab::wire::{ClusterTry, Lagged, LockChange, LockEvent, MessageEvent};

/// How often the events of the chosen lock are told.
const BEAT: Duration = Duration::from_millis(50);
/// How many beats from one look at the locks to the next.
const LOOK_BEATS: u32 = 4;
/// How many beats from one status to the next.
const STATUS_BEATS: u32 = 20;
/// So many events are told in one beat; no eye follows more.
const MOST_TOLD: usize = 200;

/// How often both clocks are read.
const READINGS: u32 = 5;

/// What happens in the cluster, and everything that happens to that lock.
pub(super) fn tell(
    live: Arc<Live>,
    lock: Option<String>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let told = stream::unfold(Reader::new(live, lock), async |mut reader| {
        let told = reader.next().await?;
        Some((Ok(told), reader))
    });
    Sse::new(told).keep_alive(KeepAlive::default())
}

/// One page that reads.
struct Reader {
    live: Arc<Live>,
    lock: Option<String>,
    began: Instant,
    /// The events of each node, and when its time began; of no node if no lock is chosen.
    heard: Vec<(Instant, Events)>,
    beat: Interval,
    beats: u32,
    /// What it was last told of the locks.
    seen: Option<(Arc<Seen>, Vec<ClusterTry>)>,
    /// What it is told next.
    next: VecDeque<Event>,
    ended: bool,
}

impl Reader {
    fn new(live: Arc<Live>, lock: Option<String>) -> Self {
        let listened = lock.iter().flat_map(|_| &live.nodes);
        let heard = listened.map(|node| (began(node), node.observer().listen()));
        let heard = heard.collect();
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (began, next) = (Instant::now(), VecDeque::new());
        Reader { live, lock, began, heard, beat, beats: 0, seen: None, next, ended: false }
    }

    /// What it is told next; none when the cluster ends.
    async fn next(&mut self) -> Option<Event> {
        while self.next.is_empty() && !self.ended {
            self.beat.tick().await;
            self.look_around().await;
            self.beats = self.beats.wrapping_add(1);
        }
        self.next.pop_front()
    }

    /// What has happened since the last beat. The status and the locks come first: events without
    /// them could not be drawn.
    async fn look_around(&mut self) {
        self.ended = self.live.is_ending();
        if self.beats.is_multiple_of(STATUS_BEATS) || self.ended {
            self.next.push_back(event("status", &self.live.status(self.began)));
        }
        if self.beats.is_multiple_of(LOOK_BEATS) && !self.ended {
            self.look_at_locks().await;
        }
        self.hear();
    }

    async fn look_at_locks(&mut self) {
        let seen = self.live.locks().await;
        let told = seen.told(&self.live, self.began);
        let is_news = self
            .seen
            .as_ref()
            .is_none_or(|(last, tries)| seen.differs(last) || *tries != told.tries);
        if is_news {
            self.next.push_back(event("locks", &told));
            self.seen = Some((seen, told.tries));
        }
    }

    /// The events of all nodes since the last beat, in the order in which they happened.
    fn hear(&mut self) {
        let (mut told, mut missed) = (Vec::new(), 0);
        for (began, events) in &mut self.heard {
            loop {
                match events.try_next() {
                    Ok(event) if event.what.lock() == self.lock.as_deref() => {
                        let when = *began + Duration::from_micros(event.at_us);
                        told.push((when, event));
                    }
                    Ok(_) => {}
                    Err(TryRecvError::Lagged(count)) => missed += count,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
        }
        told.sort_by_key(|(when, _)| *when);
        let surplus = told.len().saturating_sub(MOST_TOLD);
        missed += surplus as u64;
        if missed > 0 {
            let at = told.get(surplus).map_or_else(Instant::now, |(when, _)| *when);
            let at = since(self.began, at);
            self.next.push_back(event("lagged", &Lagged { at, missed }));
        }
        let began = self.began;
        let told = told.into_iter().skip(surplus);
        self.next.extend(told.filter_map(|(when, event)| said(since(began, when), event)));
    }
}

/// When the time of a node began. That is known by another clock; of several readings of both the one
/// counts between which the least time passed, so that events of different nodes keep their order.
fn began(node: &Node) -> Instant {
    let read = |_| {
        let now = Instant::now();
        let up = node.observer().up();
        (now.elapsed(), now.checked_sub(up).unwrap_or(now))
    };
    let closest = (0..READINGS).map(read).min_by_key(|(took, _)| *took);
    closest.map_or_else(Instant::now, |(_, began)| began)
}

/// As the page is told.
fn said(at: f64, told: observe::Event) -> Option<Event> {
    let node = number(told.node);
    let change = |what, fence| Some(event("lock", &LockEvent { at, node, what, fence }));
    let message = |number, from, to, label, received| {
        Some(event("message", &MessageEvent { at, number, from, to, label, received }))
    };
    match told.what {
        What::Requested { .. } => change(LockChange::Requested, None),
        What::Entered { fence, .. } => change(LockChange::Granted, Some(fence)),
        What::Released { fence, .. } => change(LockChange::Released, Some(fence)),
        What::Withdrawn { .. } => change(LockChange::Withdrawn, None),
        What::Lost { fence, .. } => change(LockChange::Lost, Some(fence)),
        What::Sent { to, sequence, message: label, .. } => {
            message(sequence, node, number(to), label, false)
        }
        What::Received { from, sequence, message: label, .. } => {
            message(sequence, number(from), node, label, true)
        }
        What::LinkUp { .. }
        | What::LinkDown { .. }
        | What::View { .. }
        | What::Met { .. }
        | What::Halted { .. } => None,
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let text = serde_json::to_string(data).expect("what the page is told is plain data");
    Event::default().event(name).data(text)
}
