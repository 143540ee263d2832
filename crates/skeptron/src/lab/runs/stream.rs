//! Tells a run as server-sent events, as fast as the reader reads.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use tokio::sync::watch;

use super::run::{Run, Version};
use crate::lab::wire::{Cut, RecordBatch};

/// So many records are told at once.
const BATCH: usize = 500;

/// The whole run; stays open for what a hand does to it.
pub(super) fn tell(run: Arc<Run>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let reader = Reader { follow: run.follow(), _run: run, number: 0, told: Sent::Nothing };
    let events = stream::unfold(reader, async |mut reader| {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// How far a reader is.
#[derive(Clone, Copy)]
enum Sent {
    Nothing,
    /// So many records.
    Records(usize),
    /// All records, so many, and how the run ends.
    Everything(usize),
}

/// Keeps no more of a run than where it is: however slow it reads, it costs nothing.
struct Reader {
    follow: watch::Receiver<Version>,
    /// Held so that the run is kept.
    _run: Arc<Run>,
    /// Which version it was told of.
    number: u64,
    told: Sent,
}

impl Reader {
    /// What it is told next; none when the run is gone.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let version = self.follow.borrow_and_update().clone();
            if let Some(event) = self.tell(&version) {
                return Some(event);
            }
            self.follow.changed().await.ok()?;
        }
    }

    fn tell(&mut self, version: &Version) -> Option<Event> {
        let played = &version.played;
        let all = played.records().len();
        if let Sent::Records(told) | Sent::Everything(told) = self.told
            && version.number != self.number
        {
            let from = version.same_as(self.number).min(told);
            (self.number, self.told) = (version.number, Sent::Records(from));
            return Some(event("cut", &Cut { from, acts: played.acts() }));
        }
        match self.told {
            Sent::Nothing => {
                (self.number, self.told) = (version.number, Sent::Records(0));
                Some(event("run", &played.header()))
            }
            Sent::Records(from) if from < all => {
                let to = (from + BATCH).min(all);
                self.told = Sent::Records(to);
                Some(event("records", &RecordBatch { from, records: played.tell(from..to) }))
            }
            Sent::Records(_) => {
                self.told = Sent::Everything(all);
                Some(event("end", &played.end()))
            }
            Sent::Everything(_) => None,
        }
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let text = serde_json::to_string(data).expect("what the page is told is plain data");
    Event::default().event(name).data(text)
}
