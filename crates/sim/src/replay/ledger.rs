//! What records say of nodes and messages, whatever the algorithm.

use std::collections::VecDeque;

use serde_json::Value;
use skeptron_core::NodeId;
use skeptron_core::monitor::Fence;

use super::judge::{Finding, Judge};
use super::{Mismatch, Replayed, Violation};
use crate::driver::Family;
use crate::trace::{Flight, Flights, Record, Ticks, What};

/// What is left to do about a record for whoever has nodes and messages.
pub(super) enum Todo<C> {
    Nothing,
    /// The oldest message without a number has this one.
    Number(u64),
    /// A message is gone.
    Lose(u64),
    /// A message has a copy.
    Copy {
        id: u64,
        of: u64,
    },
    /// Give the node a command.
    Command(C),
    /// Give the node a message.
    Deliver {
        from: NodeId,
        id: u64,
    },
    /// Let an alarm of the node ring.
    Expire(Value),
    /// The node stops.
    Crash,
    /// The node begins again.
    Restart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Down,
    Paused,
}

impl State {
    /// Whether a node in this state can take such an input.
    fn may_take(self, record: &Record) -> Result<(), Mismatch> {
        let fits = match record.what {
            What::Restart => self == State::Down,
            What::Resume => self == State::Paused,
            What::Crash => self != State::Down,
            _ => self == State::Up,
        };
        let state = match self {
            State::Up => "up",
            State::Down => "down",
            State::Paused => "paused",
        };
        let node = record.node;
        if fits { Ok(()) } else { Err(Mismatch::State { node, state, found: quoted(record) }) }
    }
}

/// Something that a node does and that must be the next record.
#[derive(Clone)]
struct Due {
    record: Record,
    /// What a message carries: its sender's fence.
    fence: u64,
}

/// Compares records with what nodes do, and judges them.
#[derive(Clone)]
pub(super) struct Ledger<J> {
    states: Vec<State>,
    fences: Vec<Fence>,
    /// Each message carries a fence.
    flights: Flights<u64>,
    due: VecDeque<Due>,
    pub(super) judge: J,
    line: usize,
    messages: u64,
    refused: u64,
    violations: Vec<Violation>,
}

impl<J: Judge> Ledger<J> {
    pub(super) fn new(nodes: usize, judge: J) -> Self {
        Ledger {
            states: vec![State::Up; nodes],
            fences: vec![Fence::default(); nodes],
            flights: Flights::new(nodes),
            due: VecDeque::new(),
            judge,
            line: 1,
            messages: 0,
            refused: 0,
            violations: Vec::new(),
        }
    }

    pub(super) fn due(&self) -> Option<&Record> {
        self.due.front().map(|due| &due.record)
    }

    /// From whom and to whom a message is on its way.
    pub(super) fn link(&self, id: u64) -> Option<(NodeId, NodeId)> {
        self.flights.on_its_way(id).ok().map(|flight| (flight.from, flight.to))
    }

    pub(super) fn is_up(&self, node: NodeId) -> bool {
        self.states[node.index()] != State::Down
    }

    pub(super) fn end(self) -> Replayed {
        let Ledger { messages, refused, violations, .. } = self;
        self.judge.end(Replayed { messages, refused, violations, ..Replayed::default() })
    }

    /// A node does something that must be recorded.
    pub(super) fn expect(&mut self, t: Ticks, node: NodeId, what: What) {
        let fence = self.fences[node.index()].attach();
        self.due.push_back(Due { record: Record { t, node, what }, fence });
    }

    /// A node tells its application something.
    pub(super) fn emitted(&mut self, t: Ticks, node: NodeId, event: <J::Family as Family>::Event) {
        let what = J::record_of(event, &mut self.fences[node.index()]);
        self.expect(t, node, what);
    }

    /// Takes the record that stands in that line.
    pub(super) fn take(
        &mut self,
        line: usize,
        record: &Record,
    ) -> Result<Todo<<J::Family as Family>::Command>, Mismatch> {
        self.line = line;
        self.flights.admit(record)?;
        let node = record.node;
        match record.what {
            What::Violation { .. } => Ok(Todo::Nothing),
            // The network may act on a message at once, while its sender is still at work.
            What::Lose { id, .. } => {
                self.flights.lose(id, node)?;
                Ok(Todo::Lose(id))
            }
            What::Duplicate { id, of } => {
                self.flights.duplicate(id, of, node)?;
                Ok(Todo::Copy { id, of })
            }
            What::Send { .. }
            | What::Enter { .. }
            | What::Refuse { .. }
            | What::Arm { .. }
            | What::Disarm { .. }
            | What::Elect { .. } => self.effect(record),
            _ => match self.due() {
                Some(next) => Err(differs(next, record)),
                None => self.input(record),
            },
        }
    }

    fn input(&mut self, record: &Record) -> Result<Todo<<J::Family as Family>::Command>, Mismatch> {
        let (node, i) = (record.node, record.node.index());
        self.states[i].may_take(record)?;
        if let Some(command) = J::command(&record.what) {
            return Ok(Todo::Command(command));
        }
        Ok(match &record.what {
            What::Deliver { id } => {
                let Flight { from, load: fence, .. } = self.flights.deliver(*id, node)?;
                self.fences[i].receive(fence);
                Todo::Deliver { from, id: *id }
            }
            What::Expire { timer } if J::TIMED => Todo::Expire(timer.clone()),
            What::Crash => {
                self.states[i] = State::Down;
                self.judge.crash(node);
                Todo::Crash
            }
            What::Restart => {
                self.states[i] = State::Up;
                self.fences[i] = Fence::default();
                self.judge.restart(node);
                Todo::Restart
            }
            What::Pause => {
                self.states[i] = State::Paused;
                Todo::Nothing
            }
            What::Resume => {
                self.states[i] = State::Up;
                Todo::Nothing
            }
            _ => return Err(Mismatch::Foreign { found: quoted(record) }),
        })
    }

    /// Compares a record with what the node does.
    fn effect(&mut self, found: &Record) -> Result<Todo<<J::Family as Family>::Command>, Mismatch> {
        let Some(Due { record: mut next, fence }) = self.due.pop_front() else {
            return Err(Mismatch::Nothing { found: quoted(found) });
        };
        if let (What::Send { id, .. }, What::Send { id: given, .. }) = (&mut next.what, &found.what)
        {
            *id = *given;
        }
        if next != *found {
            return Err(differs(&next, found));
        }
        match found.what {
            What::Send { id, to, .. } => {
                self.messages += 1;
                self.flights.send(id, Flight { from: found.node, to, load: fence })?;
                return Ok(Todo::Number(id));
            }
            What::Refuse { .. } => self.refused += 1,
            _ => {
                let (line, t, node) = (self.line, found.t, found.node);
                let findings = self.judge.happened(node, &found.what).into_iter();
                self.violations.extend(findings.map(|Finding { property, detail }| Violation {
                    line,
                    t,
                    node,
                    property,
                    detail,
                }));
            }
        }
        Ok(Todo::Nothing)
    }
}

/// The node does something else.
fn differs(next: &Record, found: &Record) -> Mismatch {
    Mismatch::Other { expected: expected(next), found: quoted(found) }
}

/// A record as it stands in the file.
pub(super) fn quoted(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_else(|_| format!("{record:?}"))
}

/// A record that should stand in the file; any number will do for a message.
pub(super) fn expected(record: &Record) -> String {
    let text = quoted(record);
    match record.what {
        What::Send { id, .. } => text.replacen(&format!("\"id\":{id},"), "", 1),
        _ => text,
    }
}
