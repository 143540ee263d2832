//! What any sequence of records must satisfy, whatever the algorithm: time does not run back, nodes
//! exist, and only a message that is on its way can arrive.

use std::collections::BTreeMap;

use skeptron_core::NodeId;
use thiserror::Error;

use super::{Record, Ticks, What};

/// Why a record cannot follow those before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Inconsistent {
    /// Time runs back.
    #[error("time runs back from {before} to {now}")]
    TimeRunsBack {
        /// The time of the record before.
        before: Ticks,
        /// The time of this one.
        now: Ticks,
    },
    /// The system has fewer nodes.
    #[error("{node} is not one of the {nodes} nodes")]
    UnknownNode {
        /// Which node.
        node: NodeId,
        /// How many there are.
        nodes: usize,
    },
    /// A node's word to itself is a local step.
    #[error("{0} sends a message to itself")]
    ToItself(NodeId),
    /// A failure detector watches the others.
    #[error("{0} is told whether it is alive itself")]
    OfItself(NodeId),
    /// The message was not sent before.
    #[error("message {0} was not sent before")]
    NotSent(u64),
    /// The message is no longer on its way.
    #[error("message {0} was delivered or lost before")]
    Gone(u64),
    /// Two messages have the same number.
    #[error("there is a message {0} already")]
    Taken(u64),
    /// A delivery is recorded at the receiver; a loss and a copy at the sender.
    #[error("message {id} concerns {right} here, not {wrong}")]
    WrongNode {
        /// Which message.
        id: u64,
        /// Where the record belongs.
        right: NodeId,
        /// Where it is.
        wrong: NodeId,
    },
}

/// A message on its way, with whatever the caller wants to know when it arrives.
#[derive(Clone)]
pub(crate) struct Flight<T> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) load: T,
}

/// The messages of a run: on their way, or (`None`) gone.
#[derive(Clone)]
pub(crate) struct Flights<T> {
    nodes: usize,
    now: Ticks,
    messages: BTreeMap<u64, Option<Flight<T>>>,
}

impl<T: Clone> Flights<T> {
    pub(crate) fn new(nodes: usize) -> Self {
        Flights { nodes, now: 0, messages: BTreeMap::new() }
    }

    /// Checks a record's time and nodes.
    pub(crate) fn admit(&mut self, record: &Record) -> Result<(), Inconsistent> {
        let (before, now) = (self.now, record.t);
        if now < before {
            return Err(Inconsistent::TimeRunsBack { before, now });
        }
        self.now = now;
        self.known(record.node)?;
        match record.what {
            What::Send { to, .. } if to == record.node => Err(Inconsistent::ToItself(to)),
            What::Send { to, .. } => self.known(to),
            What::Suspect { whom } | What::Trust { whom } if whom == record.node => {
                Err(Inconsistent::OfItself(whom))
            }
            What::Suspect { whom } | What::Trust { whom } => self.known(whom),
            What::Elect { leader, epoch } => self.known(leader).and(self.known(epoch.by)),
            _ => Ok(()),
        }
    }

    fn known(&self, node: NodeId) -> Result<(), Inconsistent> {
        let nodes = self.nodes;
        if node.index() < nodes { Ok(()) } else { Err(Inconsistent::UnknownNode { node, nodes }) }
    }

    /// A message leaves.
    pub(crate) fn send(&mut self, id: u64, flight: Flight<T>) -> Result<(), Inconsistent> {
        if self.messages.contains_key(&id) {
            return Err(Inconsistent::Taken(id));
        }
        self.messages.insert(id, Some(flight));
        Ok(())
    }

    pub(crate) fn on_its_way(&self, id: u64) -> Result<&Flight<T>, Inconsistent> {
        let message = self.messages.get(&id).ok_or(Inconsistent::NotSent(id))?;
        message.as_ref().ok_or(Inconsistent::Gone(id))
    }

    fn end(&mut self, id: u64, right: NodeId, wrong: NodeId) -> Result<Flight<T>, Inconsistent> {
        if right != wrong {
            return Err(Inconsistent::WrongNode { id, right, wrong });
        }
        let message = self.messages.get_mut(&id).ok_or(Inconsistent::NotSent(id))?;
        message.take().ok_or(Inconsistent::Gone(id))
    }

    /// A message arrives at `node`.
    pub(crate) fn deliver(&mut self, id: u64, node: NodeId) -> Result<Flight<T>, Inconsistent> {
        let to = self.on_its_way(id)?.to;
        self.end(id, to, node)
    }

    /// A message of `node` is lost.
    pub(crate) fn lose(&mut self, id: u64, node: NodeId) -> Result<Flight<T>, Inconsistent> {
        let from = self.on_its_way(id)?.from;
        self.end(id, from, node)
    }

    /// A message of `node` gets a copy that travels by itself.
    pub(crate) fn duplicate(&mut self, id: u64, of: u64, node: NodeId) -> Result<(), Inconsistent> {
        let flight = self.on_its_way(of)?.clone();
        if flight.from != node {
            return Err(Inconsistent::WrongNode { id: of, right: flight.from, wrong: node });
        }
        self.send(id, flight)
    }
}

impl Flights<()> {
    /// Takes the next record, whatever it is.
    pub(crate) fn take(&mut self, record: &Record) -> Result<(), Inconsistent> {
        self.admit(record)?;
        let node = record.node;
        match record.what {
            What::Send { id, to, .. } => self.send(id, Flight { from: node, to, load: () }),
            What::Deliver { id } => self.deliver(id, node).map(drop),
            What::Lose { id, .. } => self.lose(id, node).map(drop),
            What::Duplicate { id, of } => self.duplicate(id, of, node),
            _ => Ok(()),
        }
    }
}
