//! The messages of a run: between whom they go, and what they say as people write it.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use skeptron_core::catalogue::Algorithm;
use skeptron_core::election::{self, Election};
use skeptron_core::mutex::{self, Mutex, foreign};
use skeptron_core::{Message, NodeId};
use skeptron_sim::trace::{Trace, What};
use skeptron_sim::value::Value;

use crate::state;

/// What a message says is cut after so many characters: a token may carry a counter per node.
const MOST_CHARS: usize = 300;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) label: String,
    /// All that it says, as in `(stamp=41 clock=41)`; empty if it says no more than its kind.
    pub(super) content: String,
    /// What is written beside its name, as in `41`.
    pub(super) payload: String,
}

/// Says a message in words, and what is written beside its name.
type Worded = Box<dyn Fn(&Json, &str) -> (String, String)>;

/// All messages of a run by number, copies included.
#[derive(Debug, Default)]
pub(super) struct Letters(HashMap<u64, Letter>);

impl Letters {
    pub(super) fn of(trace: &Trace) -> Self {
        let worded: Worded = match Algorithm::find(&trace.header.algorithm) {
            Some(Algorithm::Mutex(info)) if foreign::find(info.name).is_some() => {
                let nodes = trace.header.setup.nodes();
                let read =
                    move |message: &Json| skeptron_foreign::message(info.name, nodes, message);
                Box::new(move |message, label| {
                    read(message).map_or_else(Default::default, |message| words_of(&message, label))
                })
            }
            Some(Algorithm::Mutex(info)) => Box::new(mutex::dispatch(info, Wording)),
            Some(Algorithm::Election(info)) => Box::new(election::dispatch(info, Wording)),
            None => Box::new(|_, _| Default::default()),
        };
        let mut letters = HashMap::new();
        for record in &trace.records {
            match &record.what {
                What::Send { id, to, label, message } => {
                    let (from, to, label) = (record.node, *to, label.clone());
                    let (content, payload) = worded(message, &label);
                    let letter = Letter { from, to, label, content, payload };
                    letters.insert(*id, letter);
                }
                What::Duplicate { id, of } => {
                    letters.get(of).cloned().map(|original| letters.insert(*id, original));
                }
                _ => {}
            }
        }
        Letters(letters)
    }

    pub(super) fn find(&self, id: u64) -> Option<&Letter> {
        self.0.get(&id)
    }
}

/// Finds out how to read a message of an algorithm, which in JSON has lost the names of nodes.
struct Wording;

impl mutex::Visitor for Wording {
    type Output = fn(&Json, &str) -> (String, String);

    fn visit<P: Mutex>(self) -> Self::Output {
        worded::<P::Message>
    }
}

impl election::Visitor for Wording {
    type Output = fn(&Json, &str) -> (String, String);

    fn visit<P: Election>(self) -> Self::Output {
        worded::<P::Message>
    }
}

/// All that a message says, and what is written beside its name.
fn worded<M: Message + DeserializeOwned>(message: &Json, label: &str) -> (String, String) {
    let Ok(message) = serde_json::from_value::<M>(message.clone()) else {
        return Default::default();
    };
    words_of(&message, label)
}

fn words_of(message: &impl Message, label: &str) -> (String, String) {
    let content = state::content(&Value::of(message), label);
    (shortened(content, "…)"), shortened(message.payload(), "…"))
}

fn shortened(text: String, more: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}{more}", &text[..end]),
        None => text,
    }
}
