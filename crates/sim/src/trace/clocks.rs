//! The clocks of the lectures, computed from what was recorded, whatever clock an algorithm keeps itself.
//!
//! Lamport: +1 on a local event and on a send, `max(C, t) + 1` on the receipt of what was sent at `t`.
//! The vector clock counts the events of each node that are known.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use skeptron_core::time::VectorClock;
use skeptron_core::{NodeId, Setup};

use super::{Record, What};

/// Which clocks are shown at the events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// A number.
    Lamport,
    /// A number for each node.
    Vector,
    /// Both.
    Both,
}

impl ClockKind {
    /// Whether the Lamport clock is among them.
    #[must_use]
    pub fn has_lamport(self) -> bool {
        self != ClockKind::Vector
    }

    /// Whether the vector clock is among them.
    #[must_use]
    pub fn has_vector(self) -> bool {
        self != ClockKind::Lamport
    }
}

impl FromStr for ClockKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lamport" => Ok(ClockKind::Lamport),
            "vector" => Ok(ClockKind::Vector),
            "both" => Ok(ClockKind::Both),
            _ => Err("there are lamport, vector and both".into()),
        }
    }
}

impl fmt::Display for ClockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClockKind::Lamport => "lamport",
            ClockKind::Vector => "vector",
            ClockKind::Both => "both",
        })
    }
}

/// The clocks of a node right after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Its Lamport clock.
    pub lamport: u64,
    /// How many events of each node it knows, its own included.
    pub vector: &'a VectorClock,
}

impl Stamp<'_> {
    /// As people read it: `5`, `(1,0,2)` or `5 (1,0,2)`.
    pub(super) fn written(&self, kind: ClockKind) -> String {
        let counts = || {
            let counts: Vec<String> = self.vector.counts().iter().map(u64::to_string).collect();
            format!("({})", counts.join(","))
        };
        match kind {
            ClockKind::Lamport => self.lamport.to_string(),
            ClockKind::Vector => counts(),
            ClockKind::Both => format!("{} {}", self.lamport, counts()),
        }
    }
}

/// The clocks of all nodes, while one goes through the records of a run.
///
/// ```
/// # use skeptron_core::{NodeId, Setup};
/// # use skeptron_sim::trace::{Clocks, Record, What};
/// let (a, b) = (NodeId::new(0), NodeId::new(1));
/// let (id, label, message) = (1, "HELLO".into(), serde_json::json!(0).into());
/// let send = What::Send { id, to: b, label, message };
/// let mut clocks = Clocks::new(&Setup::new(2).unwrap());
/// assert_eq!(clocks.take(&Record { t: 0, node: a, what: send }).unwrap().lamport, 1);
/// let receipt = clocks.take(&Record { t: 1, node: b, what: What::Deliver { id: 1 } }).unwrap();
/// assert_eq!((receipt.lamport, receipt.vector.counts()), (2, &[1, 1][..]));
/// ```
#[derive(Clone, Debug)]
pub struct Clocks {
    counts: fn(&What) -> bool,
    nodes: Vec<(u64, VectorClock)>,
    /// What each message on its way knows.
    carried: BTreeMap<u64, (u64, VectorClock)>,
}

impl Clocks {
    /// Those of a system before anything happened; Lamport clocks begin where its own do.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        Clocks::counting(setup, What::is_event)
    }

    /// The same where other records count as events.
    pub(super) fn counting(setup: &Setup, counts: fn(&What) -> bool) -> Self {
        let begin = |node| (setup.clock(node).now(), VectorClock::new(setup.nodes()));
        let nodes = NodeId::all(setup.nodes()).map(begin).collect();
        Clocks { counts, nodes, carried: BTreeMap::new() }
    }

    /// Takes the next record. Returns the clocks of its node after it, if it is an event of that node.
    pub fn take(&mut self, record: &Record) -> Option<Stamp<'_>> {
        let (mut heard, mut says) = (None, None);
        match &record.what {
            What::Send { id, .. } => says = Some(*id),
            What::Deliver { id } => heard = self.carried.remove(id),
            What::Lose { id, .. } => drop(self.carried.remove(id)),
            // The copy knows what its message knows, not what happened at the sender since.
            What::Duplicate { id, of } => {
                if let Some(original) = self.carried.get(of).cloned() {
                    self.carried.insert(*id, original);
                }
            }
            _ => {}
        }
        if !(self.counts)(&record.what) {
            return None;
        }
        let (lamport, vector) = self.nodes.get_mut(record.node.index())?;
        if let Some((t, known)) = heard {
            *lamport = (*lamport).max(t);
            vector.merge(&known);
        }
        *lamport += 1;
        vector.tick(record.node);
        if let Some(id) = says {
            self.carried.insert(id, (*lamport, vector.clone()));
        }
        Some(Stamp { lamport: *lamport, vector })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;
    use crate::trace::sample::Scene;

    /// Of every event: its record, its node's index, its clocks.
    fn stamps(trace: &Trace) -> Vec<(usize, usize, u64, VectorClock)> {
        let mut clocks = Clocks::new(&trace.header.setup);
        let stamp = |(at, record): (usize, &Record)| {
            let stamp = clocks.take(record)?;
            Some((at, record.node.index(), stamp.lamport, stamp.vector.clone()))
        };
        trace.records.iter().enumerate().filter_map(stamp).collect()
    }

    /// The textbook's run of two nodes that ask at once, counted by hand.
    #[test]
    fn clocks_follow_the_rule_of_the_lectures() {
        let trace = Scene { entries: 1, ..Scene::new(2) }.play();
        let found: Vec<_> = stamps(&trace)
            .into_iter()
            .map(|(_, node, lamport, vector)| (node + 1, lamport, vector.counts().to_vec()))
            .collect();
        let expected = [
            (1, 1, [1, 0]), // P1 requests
            (1, 2, [2, 0]), // REQUEST → P2
            (2, 1, [0, 1]), // P2 requests
            (2, 2, [0, 2]), // REQUEST → P1
            (2, 3, [2, 3]), // REQUEST ← P1: max(2, 2) + 1
            (2, 4, [2, 4]), // REPLY → P1
            (1, 3, [3, 2]), // REQUEST ← P2
            (1, 5, [4, 4]), // REPLY ← P2: max(3, 4) + 1
            (1, 6, [5, 4]), // enters
            (1, 7, [6, 4]), // leaves
            (1, 8, [7, 4]), // REPLY → P2
            (2, 9, [7, 5]), // REPLY ← P1
            (2, 10, [7, 6]),
            (2, 11, [7, 7]),
        ];
        assert_eq!(found, expected.map(|(node, lamport, v)| (node, lamport, v.to_vec())));
    }

    /// The reachability of records along nodes and messages, without any clock.
    fn precedes(trace: &Trace) -> Vec<Vec<bool>> {
        let n = trace.records.len();
        let mut before = vec![vec![false; n]; n];
        let mut last = vec![None; trace.header.setup.nodes()];
        let mut sent = BTreeMap::new();
        for (at, record) in trace.records.iter().enumerate() {
            let mut from = Vec::new();
            match record.what {
                What::Send { id, .. } => {
                    sent.insert(id, at);
                }
                What::Duplicate { id, of } => {
                    sent.insert(id, sent[&of]);
                }
                What::Deliver { id } => from.push(sent[&id]),
                _ => {}
            }
            if record.what.is_event() {
                from.extend(last[record.node.index()].replace(at));
            }
            for p in from {
                before[at][p] = true;
                let known = before[p].clone();
                before[at].iter_mut().zip(known).for_each(|(b, k)| *b |= k);
            }
        }
        before
    }

    #[test]
    fn clocks_agree_with_the_paths_of_the_run() {
        for scene in [Scene::new(3), Scene::faulty()] {
            let trace = scene.play();
            let (before, stamps) = (precedes(&trace), stamps(&trace));
            assert!(stamps.len() > 40);
            for (a, _, lamport_a, vector_a) in &stamps {
                for (b, _, lamport_b, vector_b) in &stamps {
                    assert_eq!(vector_a < vector_b, before[*b][*a], "{a} before {b}");
                    assert!(!before[*b][*a] || lamport_a < lamport_b, "{a} before {b}");
                }
            }
        }
    }
}
