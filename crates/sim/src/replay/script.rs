//! The nodes of a run whose inputs are given, one by one.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize as _;
use serde_json::Value as Json;
use skeptron_core::election::{self, Election};
use skeptron_core::mutex::{self, Mutex};
use skeptron_core::{Input, Message as _, NodeId, Protocol, Refused, Setup, SetupError};

use super::judge::{Judge, LeaderJudge, SectionJudge};
use super::ledger::{Ledger, Todo, quoted};
use super::states::System;
use super::{Mismatch, Replayed};
use crate::driver::{Driven, EffectSink, Nodes};
use crate::recorder::as_json;
use crate::trace::{Content, Record, Ticks, What};
use crate::value::Value;

/// Builds the nodes of any algorithm.
pub(super) struct Build {
    pub(super) name: &'static str,
    pub(super) setup: Setup,
}

impl mutex::Visitor for Build {
    type Output = Result<Box<dyn System>, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let nodes = P::build(self.name, &self.setup)?;
        Ok(Box::new(Script::<P, SectionJudge>::new(self, nodes)))
    }
}

impl election::Visitor for Build {
    type Output = Result<Box<dyn System>, SetupError>;

    fn visit<P: Election>(self) -> Self::Output {
        let nodes = P::build(self.name, &self.setup)?;
        Ok(Box::new(Script::<P, LeaderJudge>::new(self, nodes)))
    }
}

/// The nodes and their messages; whatever does not depend on the algorithm is in the ledger.
#[derive(Clone)]
struct Script<P: Protocol, J> {
    name: &'static str,
    setup: Setup,
    nodes: Nodes<P>,
    /// What is on its way, by number.
    messages: BTreeMap<u64, P::Message>,
    /// What was sent and has no number yet.
    unnumbered: VecDeque<P::Message>,
    /// The alarms that each node has set.
    armed: Vec<Vec<P::Timer>>,
    ledger: Ledger<J>,
}

impl<P: Driven<J::Family>, J: Judge> Script<P, J> {
    fn new(build: Build, nodes: Vec<P>) -> Self {
        let n = nodes.len();
        let judge = J::new(build.name, &build.setup);
        Script {
            name: build.name,
            setup: build.setup,
            nodes: Nodes::new(nodes),
            messages: BTreeMap::new(),
            unnumbered: VecDeque::new(),
            armed: vec![Vec::new(); n],
            ledger: Ledger::new(n, judge),
        }
    }

    /// Gives a node an input and notes what must be recorded about it. False if it is refused.
    fn step(&mut self, t: Ticks, node: NodeId, input: Input<P>) -> bool {
        let Script { unnumbered, armed, ledger, .. } = self;
        let mut notes = Notes::<P, J> { t, unnumbered, armed, ledger };
        let taken = self.nodes.step(node, input, &mut notes);
        self.ledger.judge.stepped(self.nodes.get(node).view());
        taken
    }

    fn is_legitimate(&self) -> bool {
        let in_flight = self.messages.iter().filter_map(|(&id, message)| {
            let (from, to) = self.ledger.link(id)?;
            Some((from, to, message))
        });
        P::is_legitimate(&self.nodes.all(), &in_flight.collect::<Vec<_>>())
    }
}

impl<P: Driven<J::Family>, J: Judge> System for Script<P, J> {
    fn start(&mut self) {
        for node in NodeId::all(self.nodes.len()) {
            self.step(0, node, Input::Start);
        }
    }

    fn take(&mut self, line: usize, record: &Record) -> Result<(), Mismatch> {
        // Between two steps all messages have their numbers.
        if self.ledger.judge.awaits_legitimacy() && self.due().is_none() && self.is_legitimate() {
            self.ledger.judge.become_legitimate();
        }
        let (t, node) = (record.t, record.node);
        match self.ledger.take(line, record)? {
            Todo::Nothing => {}
            Todo::Number(id) => self.messages.extend(self.unnumbered.pop_front().map(|m| (id, m))),
            Todo::Lose(id) => drop(self.messages.remove(&id)),
            Todo::Copy { id, of } => {
                let copy = self.messages.get(&of).cloned();
                self.messages.extend(copy.map(|message| (id, message)));
            }
            Todo::Command(command) => {
                let taken = self.step(t, node, Input::Command(command.clone()));
                self.ledger.judge.commanded(node, &command, taken);
            }
            Todo::Deliver { from, id } => {
                if let Some(message) = self.messages.remove(&id) {
                    self.step(t, node, Input::Deliver { from, message });
                }
            }
            Todo::Expire(timer) => {
                let timer = P::Timer::deserialize(timer).ok();
                let armed = &mut self.armed[node.index()];
                let place = timer.and_then(|timer| armed.iter().position(|set| *set == timer));
                let Some(place) = place else {
                    return Err(Mismatch::NotSet { node, found: quoted(record) });
                };
                let timer = armed.remove(place);
                self.step(t, node, Input::Expire(timer));
            }
            Todo::Crash => self.armed[node.index()].clear(),
            Todo::Restart => {
                let fresh = self.nodes.get(node).restarted(node, self.name, &self.setup);
                self.nodes.replace(node, fresh);
                self.step(t, node, Input::Start);
            }
        }
        Ok(())
    }

    fn due(&self) -> Option<&Record> {
        self.ledger.due()
    }

    fn state(&self, node: NodeId) -> Option<Value> {
        self.ledger.is_up(node).then(|| Value::of(self.nodes.get(node)))
    }

    fn message(&self, id: u64) -> Option<(&'static str, String)> {
        self.messages.get(&id).map(|message| (message.label(), message.payload()))
    }

    fn alarms(&self, node: NodeId) -> Vec<Json> {
        let mut armed: Vec<&P::Timer> = self.armed[node.index()].iter().collect();
        armed.sort_by_key(|timer| format!("{timer:?}"));
        armed.into_iter().map(as_json).collect()
    }

    fn fork(&self) -> Box<dyn System> {
        Box::new(self.clone())
    }

    fn end(self: Box<Self>) -> Replayed {
        let nodes = NodeId::all(self.nodes.len()).map(|node| self.state(node)).collect();
        Replayed { nodes, ..self.ledger.end() }
    }
}

/// Notes what a node does.
struct Notes<'a, P: Protocol, J> {
    t: Ticks,
    unnumbered: &'a mut VecDeque<P::Message>,
    armed: &'a mut [Vec<P::Timer>],
    ledger: &'a mut Ledger<J>,
}

impl<P: Driven<J::Family>, J: Judge> EffectSink<P> for Notes<'_, P, J> {
    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.ledger.expect(self.t, node, What::Refuse { why: refused.to_string() });
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        let label = message.label().into();
        let what = What::Send { id: 0, to, label, message: Content::of(message.clone()) };
        self.ledger.expect(self.t, from, what);
        self.unnumbered.push_back(message);
    }

    fn arm(&mut self, node: NodeId, timer: P::Timer, after: u32) {
        self.ledger.expect(self.t, node, What::Arm { timer: as_json(&timer), after });
        let armed = &mut self.armed[node.index()];
        armed.retain(|set| *set != timer);
        armed.push(timer);
    }

    fn disarm(&mut self, node: NodeId, timer: P::Timer) {
        self.ledger.expect(self.t, node, What::Disarm { timer: as_json(&timer) });
        self.armed[node.index()].retain(|set| *set != timer);
    }

    fn emit(&mut self, node: NodeId, event: P::Event) {
        self.ledger.emitted(self.t, node, event);
    }
}
