//! Tells a run as server-sent events, as fast as the reader reads.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;

use super::store::Run;
use crate::lab::wire::RecordBatch;

/// So many records are told at once.
const BATCH: usize = 500;

/// The whole run; stays open for what a hand does to it.
pub(super) fn tell(run: Arc<Run>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let reader = Reader { run, told: Told::Nothing };
    let events = stream::unfold(reader, async |mut reader| {
        let event = reader.next().await;
        Some((Ok(event), reader))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// How far a reader is.
enum Told {
    Nothing,
    /// So many records.
    Records(usize),
    Everything,
}

struct Reader {
    run: Arc<Run>,
    told: Told,
}

impl Reader {
    async fn next(&mut self) -> Event {
        let played = self.run.played();
        match self.told {
            Told::Nothing => {
                self.told = Told::Records(0);
                event("run", &played.header())
            }
            Told::Records(from) if from < played.records().len() => {
                let to = (from + BATCH).min(played.records().len());
                self.told = Told::Records(to);
                event("records", &RecordBatch { from, records: played.tell(from..to) })
            }
            Told::Records(_) => {
                self.told = Told::Everything;
                event("end", &played.end())
            }
            Told::Everything => std::future::pending().await,
        }
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let text = serde_json::to_string(data).expect("what the page is told is plain data");
    Event::default().event(name).data(text)
}
