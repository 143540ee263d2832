//! Tells a page what happens, as fast as it reads: whoever is slow misses something, and no node waits.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use skeptron_net::observe::{self, Events, Observer, What};
use skeptron_net::{MemberId, Node};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Live;
use super::look::{Seen, number, since};
use crate::lab::wire::{
    ClusterChange, ClusterEvent, ClusterTry, Lagged, LockChange, LockEvent, MessageEvent,
};

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
    /// The events of each node; of no node if no lock is chosen.
    heard: Vec<Heard>,
    /// What is done to the nodes.
    acts: broadcast::Receiver<(Instant, MemberId, ClusterChange)>,
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
        let acts = live.acts.subscribe();
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (began, next) = (Instant::now(), VecDeque::new());
        let (heard, beats, seen, ended) = (Vec::new(), 0, None, false);
        let mut reader = Reader { live, lock, began, heard, acts, beat, beats, seen, next, ended };
        reader.listen();
        reader
    }

    /// Listens to nodes that have been started anew, too.
    fn listen(&mut self) {
        if self.lock.is_none() {
            return;
        }
        let nodes = self.live.nodes();
        let is = |node: &Node, heard: &Heard| Arc::ptr_eq(node.observer(), &heard.observer);
        self.heard.retain(|heard| nodes.iter().any(|node| is(node, heard)));
        for node in nodes {
            if !self.heard.iter().any(|heard| is(&node, heard)) {
                let observer = Arc::clone(node.observer());
                let (began, events) = (began(&node), observer.listen());
                self.heard.push(Heard { node, observer, began, events });
            }
        }
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
        let mut has_changed = false;
        while let Ok((when, id, what)) = self.acts.try_recv() {
            let at = since(self.began, when);
            let (node, epoch, members, why) = (number(id), None, Vec::new(), None);
            let told = ClusterEvent { at, node, what, epoch, members, why };
            self.next.push_back(event("cluster", &told));
            has_changed = true;
        }
        has_changed |= self.hear_nodes();
        self.listen();
        if has_changed {
            self.next.push_back(event("status", &self.live.status(self.began)));
        }
    }

    /// Whether one of them told of the cluster, too.
    fn hear_nodes(&mut self) -> bool {
        let (mut told, mut missed) = (Vec::new(), 0);
        for Heard { node, began, events, .. } in &mut self.heard {
            loop {
                match events.try_next() {
                    Ok(event)
                        if event.what.lock().is_none_or(|of| Some(of) == self.lock.as_deref()) =>
                    {
                        let when = *began + Duration::from_micros(event.at_us);
                        told.push((when, node.clone(), event));
                    }
                    Ok(_) => {}
                    Err(TryRecvError::Lagged(count)) => missed += count,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
        }
        told.sort_by_key(|(when, ..)| *when);
        let of_cluster = |what: &What| {
            matches!(what, What::View { .. } | What::Met { .. } | What::Halted { .. })
        };
        let has_changed = told.iter().any(|(.., event)| of_cluster(&event.what));
        let surplus = told.len().saturating_sub(MOST_TOLD);
        missed += surplus as u64;
        if missed > 0 {
            let at = told.get(surplus).map_or_else(Instant::now, |(when, ..)| *when);
            let at = since(self.began, at);
            self.next.push_back(event("lagged", &Lagged { at, missed }));
        }
        let began = self.began;
        let told = told.into_iter().skip(surplus);
        self.next
            .extend(told.filter_map(|(when, node, event)| said(since(began, when), &node, event)));
        has_changed
    }
}

/// A node that is listened to.
struct Heard {
    node: Node,
    observer: Arc<Observer>,
    /// When its time began.
    began: Instant,
    events: Events,
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
fn said(at: f64, source: &Node, told: observe::Event) -> Option<Event> {
    let node = number(told.node);
    let cluster = |what, epoch, why| {
        // A view that has been followed by another is named without its members.
        let view = source.view().filter(|view| Some(view.epoch) == epoch);
        let members = view.iter().flat_map(|view| view.ids()).map(number).collect();
        Some(event("cluster", &ClusterEvent { at, node, what, epoch, members, why }))
    };
    let change = |what, fence| Some(event("lock", &LockEvent { at, node, what, fence }));
    let message = |number, (from, to), label, payload, received| {
        Some(event("message", &MessageEvent { at, number, from, to, label, payload, received }))
    };
    match told.what {
        What::Requested { .. } => change(LockChange::Requested, None),
        What::Entered { fence, .. } => change(LockChange::Granted, Some(fence)),
        What::Released { fence, .. } => change(LockChange::Released, Some(fence)),
        What::Withdrawn { .. } => change(LockChange::Withdrawn, None),
        What::Lost { fence, .. } => change(LockChange::Lost, Some(fence)),
        What::Sent { to, sequence, message: label, payload, .. } => {
            message(sequence, (node, number(to)), label, payload, false)
        }
        What::Received { from, sequence, message: label, payload, .. } => {
            message(sequence, (number(from), node), label, payload, true)
        }
        What::View { epoch, .. } => cluster(ClusterChange::View, Some(epoch), None),
        What::Met { epoch } => cluster(ClusterChange::Met, Some(epoch), None),
        What::Halted { why } => cluster(ClusterChange::Halted, None, Some(why)),
        What::LinkUp { .. } | What::LinkDown { .. } | What::Deadlock { .. } => None,
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let text = serde_json::to_string(data).expect("what the page is told is plain data");
    Event::default().event(name).data(text)
}
