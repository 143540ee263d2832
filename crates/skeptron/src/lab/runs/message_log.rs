//! The messages of a run: between whom they go, and what they say as people write it.

use std::collections::HashMap;

use skeptron_core::NodeId;
use skeptron_sim::trace::message::Reader;
use skeptron_sim::trace::{Trace, What};

use crate::state;

/// What a message says is cut after so many characters: a token may carry a counter per node.
const MOST_CHARS: usize = 300;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct LoggedMessage {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) label: String,
    /// All that it says, as in `(stamp=41 clock=41)`; empty if it says no more than its kind.
    pub(super) content: String,
    /// What is written beside its name, as in `41`.
    pub(super) payload: String,
}

/// All messages of a run by number, copies included.
#[derive(Debug, Default)]
pub(super) struct MessageLog(HashMap<u64, LoggedMessage>);

impl MessageLog {
    pub(super) fn of(trace: &Trace) -> Self {
        let reader = Reader::of(&trace.header);
        let mut log: HashMap<u64, LoggedMessage> = HashMap::new();
        for record in &trace.records {
            match &record.what {
                What::Send { id, to, label, message } => {
                    let (from, to, label) = (record.node, *to, label.to_string());
                    let said = reader.read(message);
                    let content = said.as_ref().map(|said| state::content(&said.value, &label));
                    let content = shortened(content.unwrap_or_default());
                    let payload = said.map(|said| said.payload).unwrap_or_default();
                    log.insert(*id, LoggedMessage { from, to, label, content, payload });
                }
                What::Duplicate { id, of } => {
                    log.get(of).cloned().map(|original| log.insert(*id, original));
                }
                _ => {}
            }
        }
        MessageLog(log)
    }

    pub(super) fn find(&self, id: u64) -> Option<&LoggedMessage> {
        self.0.get(&id)
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…)", &text[..end]),
        None => text,
    }
}
