//! Whether one event of a run happened before another one, and by which messages.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use skeptron_core::NodeId;
use skeptron_core::time::VectorClock;
use thiserror::Error;

use super::clocks::Clocks;
use super::timeline::Timeline;
use super::{Ticks, Trace, What, wording};

/// The name of an event, as it is typed: `P2.5` is the fifth event of P2, `P2.enter` its first entry and
/// `P2.enter.3` its third. The words are those of `do` in the trace format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    node: NodeId,
    what: Option<String>,
    nth: u64,
}

/// Why a name finds no event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EventError {
    /// It is no name.
    #[error(
        "`{0}` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 \
         for its third"
    )]
    Malformed(String),
    /// The run has none of that name.
    #[error("there is no event {name} in this run: of {of} there are {count}")]
    Missing {
        /// What was looked for.
        name: EventName,
        /// Whose events, or which of them, were counted.
        of: String,
        /// How many there are.
        count: u64,
    },
}

impl FromStr for EventName {
    type Err = EventError;

    fn from_str(text: &str) -> Result<Self, EventError> {
        let malformed = || EventError::Malformed(text.into());
        let counted = |number: &str| number.parse().ok().filter(|&number: &u64| number > 0);
        let mut parts = text.trim().split('.');
        let node = parts.next().and_then(|node| counted(node.strip_prefix('P').unwrap_or(node)));
        let node = node.and_then(|node| u32::try_from(node).ok()).ok_or_else(malformed)?;
        let node = NodeId::new(node as usize - 1);
        let (what, nth) = match (parts.next().ok_or_else(malformed)?, parts.next()) {
            (number, None) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                (None, counted(number).ok_or_else(malformed)?)
            }
            (what, _) if !what.starts_with(|c: char| c.is_ascii_lowercase()) => {
                return Err(malformed());
            }
            (what, None) => (Some(what.to_string()), 1),
            (what, Some(number)) => {
                (Some(what.to_string()), counted(number).ok_or_else(malformed)?)
            }
        };
        if parts.next().is_some() {
            return Err(malformed());
        }
        Ok(EventName { node, what, nth })
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.node)?;
        match &self.what {
            Some(what) if self.nth == 1 => write!(f, ".{what}"),
            Some(what) => write!(f, ".{what}.{}", self.nth),
            None => write!(f, ".{}", self.nth),
        }
    }
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its name by its number among the events of its node: `P2.5`.
    #[serde(serialize_with = "as_text")]
    pub name: EventName,
    /// Its place among the records, counted from 0.
    pub record: usize,
    /// When.
    pub t: Ticks,
    /// What happens, in words.
    pub what: String,
    /// The Lamport clock of its node after it.
    pub lamport: u64,
    /// The vector clock of its node after it.
    pub vector: VectorClock,
    #[serde(skip)]
    node: NodeId,
    /// The event before it at its node.
    #[serde(skip)]
    previous: Option<usize>,
    /// The event that sent what it receives.
    #[serde(skip)]
    sent_by: Option<usize>,
}

fn as_text<S: Serializer>(name: &EventName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

impl Event {
    /// Whether it is the other one or happened after it.
    fn knows(&self, other: &Event) -> bool {
        let own = |event: &Event| event.vector.counts()[other.node.index()];
        own(other) <= own(self)
    }
}

/// How two events stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Causality {
    /// They are one.
    Same,
    /// The first one happened before the second one.
    Before,
    /// The second one happened before the first one.
    After,
    /// Neither.
    Concurrent,
}

/// A message on the way from one event to another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// Which event sends it.
    #[serde(serialize_with = "as_text")]
    pub sent: EventName,
    /// Which event receives it.
    #[serde(serialize_with = "as_text")]
    pub received: EventName,
    /// The name of its kind.
    pub label: String,
}

/// Two events and how they stand to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relation {
    /// The one.
    pub a: Event,
    /// The other one.
    pub b: Event,
    /// Whether `a` happened before `b`.
    pub relation: Causality,
    /// The messages by which the later one knows of the earlier one; none if they are at one node.
    pub by: Vec<Hop>,
}

/// How two events of a run stand to each other.
///
/// # Errors
/// If the run has no event of such a name.
pub fn relation(trace: &Trace, a: &EventName, b: &EventName) -> Result<Relation, EventError> {
    let events = events(trace);
    let (a, b) = (find(trace, &events, a)?, find(trace, &events, b)?);
    let (relation, way) = match (events[b].knows(&events[a]), events[a].knows(&events[b])) {
        (true, true) => (Causality::Same, Vec::new()),
        (true, false) => (Causality::Before, way(&events, a, b)),
        (false, true) => (Causality::After, way(&events, b, a)),
        (false, false) => (Causality::Concurrent, Vec::new()),
    };
    let hop = |(sent, received): (usize, usize)| Hop {
        sent: events[sent].name.clone(),
        received: events[received].name.clone(),
        label: match &trace.records[events[sent].record].what {
            What::Send { label, .. } => label.to_string(),
            _ => String::new(),
        },
    };
    let by = way.into_iter().map(hop).collect();
    Ok(Relation { a: events[a].clone(), b: events[b].clone(), relation, by })
}

/// All events of a run.
fn events(trace: &Trace) -> Vec<Event> {
    let timeline = Timeline::of(trace);
    let mut clocks = Clocks::new(&trace.header.setup);
    let mut last: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut sent: BTreeMap<u64, usize> = BTreeMap::new();
    let mut events: Vec<Event> = Vec::new();
    for (at, record) in trace.records.iter().enumerate() {
        if let What::Duplicate { id, of } = record.what
            && let Some(&event) = sent.get(&of)
        {
            sent.insert(id, event);
        }
        let Some(stamp) = clocks.take(record) else { continue };
        let (node, event) = (record.node, events.len());
        if let What::Send { id, .. } = record.what {
            sent.insert(id, event);
        }
        let sent_by = match record.what {
            What::Deliver { id } => sent.get(&id).copied(),
            _ => None,
        };
        let nth = stamp.vector.counts()[node.index()];
        events.push(Event {
            name: EventName { node, what: None, nth },
            record: at,
            t: record.t,
            what: wording::event(&record.what, &timeline),
            lamport: stamp.lamport,
            vector: stamp.vector.clone(),
            node,
            previous: last.insert(node, event),
            sent_by,
        });
    }
    events
}

/// The event of that name.
fn find(trace: &Trace, events: &[Event], name: &EventName) -> Result<usize, EventError> {
    let fits = |event: &Event| {
        let kind = || trace.records[event.record].what.kind();
        event.node == name.node && name.what.as_ref().is_none_or(|what| *what == kind())
    };
    let mut fitting = (0..events.len()).filter(|&event| fits(&events[event]));
    let index = usize::try_from(name.nth - 1).unwrap_or(usize::MAX);
    fitting.nth(index).ok_or_else(|| EventError::Missing {
        name: name.clone(),
        of: match &name.what {
            Some(what) => format!("`{what}` at {}", name.node),
            None => name.node.to_string(),
        },
        count: events.iter().filter(|event| fits(event)).count() as u64,
    })
}

/// The messages on a way from `a` to `b`, which knows of it: where what was received did not know of
/// `a`, what happened at the node before did.
fn way(events: &[Event], a: usize, b: usize) -> Vec<(usize, usize)> {
    let mut way = Vec::new();
    let mut at = b;
    while events[at].node != events[a].node {
        let sender = events[at].sent_by.filter(|&sender| events[sender].knows(&events[a]));
        if let Some(sender) = sender {
            way.push((sender, at));
        }
        let Some(before) = sender.or(events[at].previous) else { break };
        at = before;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::Scene;

    fn asked(trace: &Trace, a: &str, b: &str) -> Result<Relation, String> {
        let name = |text: &str| text.parse::<EventName>().map_err(|error| error.to_string());
        relation(trace, &name(a)?, &name(b)?).map_err(|error| error.to_string())
    }

    fn told(trace: &Trace, a: &str, b: &str) -> String {
        let relation = asked(trace, a, b).unwrap();
        let hop = |hop: &Hop| format!("{} {}→{}", hop.label, hop.sent, hop.received);
        let by: Vec<String> = relation.by.iter().map(hop).collect();
        format!("{:?} {}", relation.relation, by.join(", ")).trim_end().to_string()
    }

    #[test]
    fn events_are_before_after_or_beside_each_other() {
        let trace = Scene { entries: 1, ..Scene::new(2) }.play();
        assert_eq!(told(&trace, "P1.request", "P2.request"), "Concurrent");
        assert_eq!(told(&trace, "P1.1", "P2.3"), "Before REQUEST P1.2→P2.3");
        assert_eq!(told(&trace, "P2.enter", "P1.enter"), "After REPLY P1.7→P2.5");
        assert_eq!(told(&trace, "P2.4", "P2.5"), "Before", "at one node no message is needed");
        assert_eq!(told(&trace, "P1.1", "P2.7"), "Before REPLY P1.7→P2.5", "the latest way");
        assert_eq!(told(&trace, "P1.2", "P1.send"), "Same");
    }

    /// What is said to be a way is one: each message is sent after the one before was received.
    #[test]
    fn ways_lead_from_the_one_to_the_other() {
        let trace = Scene::faulty().play();
        let events = events(&trace);
        let pairs = (0..events.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let related = pairs.filter(|&(a, b)| events[b].knows(&events[a]));
        let mut ways = 0;
        for (a, b) in related {
            let mut at = a;
            for (sent, received) in way(&events, a, b) {
                assert!(events[sent].node == events[at].node && at <= sent, "{a} {b}");
                assert_eq!(events[received].sent_by, Some(sent), "{a} {b}");
                at = received;
            }
            assert!(events[at].node == events[b].node && at <= b, "{a} {b}");
            ways += 1;
        }
        assert!(ways > 500, "{ways}");
    }

    #[test]
    fn what_is_no_event_is_said() {
        let trace = Scene { entries: 1, ..Scene::new(2) }.play();
        let complaints =
            ["P1", "x.1", "P1.", "P0.1", "P1.0", "P1.2.3", "P9.1", "P1.enter.2", "P1.dance"]
                .map(|name| asked(&trace, name, "P1.1").unwrap_err());
        insta::assert_snapshot!(complaints.join("\n"), @"
        `P1` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 for its third
        `x.1` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 for its third
        `P1.` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 for its third
        `P0.1` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 for its third
        `P1.0` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 for its third
        `P1.2.3` is no event; write P2.5 for the fifth event of P2, P2.enter for its first entry, P2.enter.3 for its third
        there is no event P9.1 in this run: of P9 there are 0
        there is no event P1.enter.2 in this run: of `enter` at P1 there are 1
        there is no event P1.dance in this run: of `dance` at P1 there are 0
        ");
    }
}
