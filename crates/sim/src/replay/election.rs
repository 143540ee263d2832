//! Runs a recorded election again.

use std::collections::VecDeque;

use serde::Deserialize as _;
use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::{Elected, Election, Notice, Visitor};
use skeptron_core::monitor::{Leadership, LeadershipViolation};
use skeptron_core::{Effect, Input, NodeId, Outbox, Setup, SetupError};

use super::states::{self, Visit, run_again};
use super::{Mismatch, ReplayError, Replayed, State, Violation, differs, quoted, sent};
use crate::trace::{Flight, Flights, Record, Ticks, Trace, What};

pub(super) struct Replay<'a, 'v> {
    pub(super) trace: &'a Trace,
    pub(super) info: &'a ElectionInfo,
    pub(super) setup: Setup,
    pub(super) visit: Option<Visit<'v>>,
}

impl Visitor for Replay<'_, '_> {
    type Output = Result<Replayed, ReplayError>;

    fn visit<P: Election>(self) -> Self::Output {
        let system = System::<P>::start(self.info.name, &self.setup)?;
        run_again(system, self.trace, self.visit)
    }
}

/// The nodes, the messages between them, their alarms and the judge.
struct System<P: Election> {
    nodes: Vec<P>,
    states: Vec<State>,
    flights: Flights<P::Message>,
    armed: Vec<Vec<P::Timer>>,
    out: Outbox<P>,
    /// What the node at work does, which must be the next records, and what a message says.
    due: VecDeque<(Record, Option<P::Message>)>,
    leadership: Leadership,
    leaders: Vec<Option<NodeId>>,
    line: usize,
    messages: u64,
    refused: u64,
    violations: Vec<Violation>,
}

impl<P: Election> states::System for System<P> {
    fn take(&mut self, line: usize, record: &Record) -> Result<(), Mismatch> {
        self.line = line;
        System::take(self, record)
    }

    fn due(&self) -> Option<&Record> {
        self.due.front().map(|(record, _)| record)
    }

    fn state(&self, node: NodeId) -> Option<String> {
        let up = self.states[node.index()] != State::Down;
        up.then(|| format!("{:?}", self.nodes[node.index()]))
    }

    fn end(self) -> Replayed {
        let nodes = NodeId::all(self.nodes.len()).map(|node| self.state(node)).collect();
        Replayed {
            records: 0,
            messages: self.messages,
            entries: 0,
            elections: self.leadership.leaders().len() as u64,
            leaders: self.leaders,
            refused: self.refused,
            violations: self.violations,
            waiting: Vec::new(),
            nodes,
        }
    }
}

impl<P: Election> System<P> {
    fn start(name: &str, setup: &Setup) -> Result<Self, SetupError> {
        let n = setup.nodes();
        let mut system = System {
            nodes: P::build(name, setup)?,
            states: vec![State::Up; n],
            flights: Flights::new(n),
            armed: vec![Vec::new(); n],
            out: Outbox::new(),
            due: VecDeque::new(),
            // Who may be passed over depends on what the detectors know, which a trace tells in part.
            leadership: Leadership::new(n, false),
            leaders: vec![Some(NodeId::new(n - 1)); n],
            line: 1,
            messages: 0,
            refused: 0,
            violations: Vec::new(),
        };
        for node in NodeId::all(n) {
            system.step(0, node, Input::Start);
        }
        Ok(system)
    }

    fn take(&mut self, record: &Record) -> Result<(), Mismatch> {
        self.flights.admit(record)?;
        let node = record.node;
        match record.what {
            What::Violation { .. } => Ok(()),
            // The network may act on a message at once, while its sender is still at work.
            What::Lose { id, .. } => Ok(self.flights.lose(id, node).map(drop)?),
            What::Duplicate { id, of } => Ok(self.flights.duplicate(id, of, node)?),
            What::Send { .. }
            | What::Enter { .. }
            | What::Refuse { .. }
            | What::Arm { .. }
            | What::Disarm { .. }
            | What::Elect { .. } => self.effect(record),
            _ if !self.due.is_empty() => Err(differs(&self.due[0].0, record)),
            _ => self.input(record),
        }
    }

    fn input(&mut self, record: &Record) -> Result<(), Mismatch> {
        let (t, node, i) = (record.t, record.node, record.node.index());
        self.states[i].may_take(record)?;
        match &record.what {
            What::Call => self.step(t, node, Input::Command(Notice::Call)),
            What::Suspect { whom } => self.step(t, node, Input::Command(Notice::Suspect(*whom))),
            What::Trust { whom } => self.step(t, node, Input::Command(Notice::Trust(*whom))),
            What::Deliver { id } => {
                let Flight { from, load: message, .. } = self.flights.deliver(*id, node)?;
                self.step(t, node, Input::Deliver { from, message });
            }
            What::Expire { timer } => {
                let timer = P::Timer::deserialize(timer).ok();
                let place = timer.and_then(|timer| self.armed[i].iter().position(|t| *t == timer));
                let Some(place) = place else {
                    return Err(Mismatch::NotSet { node, found: quoted(record) });
                };
                let timer = self.armed[i].remove(place);
                self.step(t, node, Input::Expire(timer));
            }
            What::Crash => {
                self.states[i] = State::Down;
                self.armed[i].clear();
                self.leaders[i] = None;
                self.leadership.crash(node);
            }
            What::Restart => {
                self.states[i] = State::Up;
                self.nodes[i] = self.nodes[i].recovered();
                self.leadership.restart(node);
                self.step(t, node, Input::Start);
            }
            What::Pause => self.states[i] = State::Paused,
            What::Resume => self.states[i] = State::Up,
            _ => return Err(Mismatch::Foreign { found: quoted(record) }),
        }
        Ok(())
    }

    /// Gives a node an input and notes what must be recorded about it.
    fn step(&mut self, t: Ticks, node: NodeId, input: Input<P>) {
        let result = self.nodes[node.index()].step(input, &mut self.out);
        let due = &mut self.due;
        let mut expect = |what, load| due.push_back((Record { t, node, what }, load));
        if let Err(refused) = result {
            expect(What::Refuse { why: refused.to_string() }, None);
        }
        let json = |timer: &P::Timer| serde_json::to_value(timer).unwrap_or_default();
        let armed = &mut self.armed[node.index()];
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message } => expect(sent(to, &message), Some(message)),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        expect(sent(to, &message), Some(message.clone()));
                    }
                }
                Effect::Arm { timer, after } => {
                    expect(What::Arm { timer: json(&timer), after }, None);
                    armed.retain(|set| *set != timer);
                    armed.push(timer);
                }
                Effect::Disarm(timer) => {
                    expect(What::Disarm { timer: json(&timer) }, None);
                    armed.retain(|set| *set != timer);
                }
                Effect::Emit(Elected { leader, epoch }) => {
                    expect(What::Elect { leader, epoch }, None);
                }
            }
        }
        self.leadership.reached(self.nodes[node.index()].epoch());
    }

    /// Compares a record with what the node does.
    fn effect(&mut self, found: &Record) -> Result<(), Mismatch> {
        let Some((mut next, load)) = self.due.pop_front() else {
            return Err(Mismatch::Nothing { found: quoted(found) });
        };
        if let (What::Send { id, .. }, What::Send { id: given, .. }) = (&mut next.what, &found.what)
        {
            *id = *given;
        }
        if next != *found {
            return Err(differs(&next, found));
        }
        match (&found.what, load) {
            (&What::Send { id, to, .. }, Some(load)) => {
                self.messages += 1;
                self.flights.send(id, Flight { from: found.node, to, load })?;
            }
            (&What::Elect { leader, epoch }, _) => self.judge(found, Elected { leader, epoch }),
            (What::Refuse { .. }, _) => self.refused += 1,
            _ => {}
        }
        Ok(())
    }

    fn judge(&mut self, named: &Record, elected: Elected) {
        let (node, Elected { leader, epoch }) = (named.node, elected);
        self.leaders[node.index()] = Some(leader);
        let says = format!("{node} names {leader} leader in epoch {epoch}");
        let (property, detail) = match self.leadership.named(elected) {
            Some(LeadershipViolation::Other(other)) => {
                ("agreement", format!("{says}, in which {other} was named"))
            }
            Some(LeadershipViolation::Dead) => {
                ("validity", format!("{says}, but it was down before that"))
            }
            Some(LeadershipViolation::Passed(_)) | None => return,
        };
        let (line, t) = (self.line, named.t);
        self.violations.push(Violation { line, t, node, property, detail });
    }
}
