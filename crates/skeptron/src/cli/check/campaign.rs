//! A counterexample of an election as a run: its steps, taken again by fresh nodes.

use std::collections::BTreeMap;

use skeptron_check::{ElectionScenario, Step, Which};
use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::{Election, Notice, Visitor, dispatch};
use skeptron_core::{Effect, Input, Message as _, NodeId, NodeSet, Outbox, SetupError};
use skeptron_sim::trace::{Loss, Record, TICKS_PER_UNIT, Ticks, What};

use super::trace::{Letter, Moment, Story};

/// Takes the steps.
///
/// # Errors
/// If the nodes cannot be built.
pub(super) fn follow(
    info: &ElectionInfo,
    scenario: &ElectionScenario,
    steps: &[Step],
) -> Result<Story, SetupError> {
    dispatch(info, Follow { info, scenario, steps })
}

struct Follow<'a> {
    info: &'a ElectionInfo,
    scenario: &'a ElectionScenario,
    steps: &'a [Step],
}

impl Visitor for Follow<'_> {
    type Output = Result<Story, SetupError>;

    fn visit<P: Election>(self) -> Self::Output {
        let nodes = P::build(self.info.name, &self.scenario.setup)?;
        let n = nodes.len();
        let initial = nodes.iter().map(|node| format!("{node:?}")).collect();
        let mut initiators = NodeSet::default();
        for &node in &self.scenario.initiators {
            initiators.insert(node);
        }
        let mut campaign = Campaign {
            initiators,
            restarts: self.scenario.faults.restarts,
            up: vec![true; n],
            named: vec![Some(NodeId::new(n - 1)); n],
            suspects: vec![NodeSet::default(); n],
            armed: vec![Vec::new(); n],
            nodes,
            in_flight: Vec::new(),
            sent: 0,
            now: 0,
            out: Outbox::new(),
            records: Vec::new(),
            later: Vec::new(),
            letters: BTreeMap::new(),
        };
        for node in NodeId::all(n) {
            campaign.give(node, Input::Start, 0);
        }
        let mut moments = vec![Moment::of(0..campaign.records.len(), None)];
        for &step in self.steps {
            let before = campaign.records.len();
            campaign.now += TICKS_PER_UNIT;
            let who = campaign.take(step);
            let after = who.map(|node| (node, format!("{:?}", campaign.nodes[node.index()])));
            let moment = Moment::of(before..campaign.records.len(), after);
            moments.push(Moment { is_tick: step == Step::Tick, ..moment });
        }
        Ok(Story { records: campaign.records, moments, initial, letters: campaign.letters })
    }
}

/// A message in flight.
struct Flight<P: Election> {
    id: u64,
    from: NodeId,
    to: NodeId,
    message: P::Message,
    /// Whether it was in flight when the last bound passed.
    late: bool,
}

struct Campaign<P: Election> {
    nodes: Vec<P>,
    initiators: NodeSet,
    /// How many nodes may still come back.
    restarts: u8,
    up: Vec<bool>,
    /// Whom each node names.
    named: Vec<Option<NodeId>>,
    suspects: Vec<NodeSet>,
    /// The alarms that are set, by name.
    armed: Vec<Vec<P::Timer>>,
    /// In the order of sending; a copy stands behind its original.
    in_flight: Vec<Flight<P>>,
    sent: u64,
    now: Ticks,
    out: Outbox<P>,
    records: Vec<Record>,
    /// What the network does after the present step.
    later: Vec<Record>,
    letters: BTreeMap<u64, Letter>,
}

impl<P: Election> Campaign<P> {
    fn record(&mut self, node: NodeId, what: What) {
        self.records.push(Record { t: self.now, node, what });
    }

    /// Returns which node took it.
    fn take(&mut self, step: Step) -> Option<NodeId> {
        match step {
            Step::Call(node) => {
                self.call(node, 0);
                Some(node)
            }
            Step::Suspect { node, whom } => {
                self.suspects[node.index()].insert(whom);
                self.record(node, What::Suspect { whom });
                self.give(node, Input::Command(Notice::Suspect(whom)), 0);
                self.call_if_leaderless(node, 0);
                Some(node)
            }
            Step::Trust { node, whom } => {
                self.suspects[node.index()].remove(whom);
                self.record(node, What::Trust { whom });
                self.give(node, Input::Command(Notice::Trust(whom)), 0);
                Some(node)
            }
            Step::Expire { node, nth } => {
                let timer = self.armed[node.index()].remove(nth);
                self.record(node, What::Expire { timer: json(&timer) });
                self.give(node, Input::Expire(timer), 0);
                Some(node)
            }
            Step::Deliver(which) => {
                let place = self.place(which);
                let Flight { id, from, to, message, .. } = self.in_flight.remove(place);
                self.record(to, What::Deliver { id });
                self.give(to, Input::Deliver { from, message }, 0);
                Some(to)
            }
            Step::Restart(node) => {
                self.restart(node);
                Some(node)
            }
            other => {
                self.trouble(other);
                None
            }
        }
    }

    /// What only the network or a machine does.
    fn trouble(&mut self, step: Step) {
        match step {
            Step::Tick => self.tick(),
            Step::Lose(which) => {
                let place = self.place(which);
                let Flight { id, from, .. } = self.in_flight.remove(place);
                self.record(from, What::Lose { id, cause: Loss::Chance });
            }
            Step::Duplicate(which) => {
                let place = self.place(which);
                self.sent += 1;
                let Flight { id: of, from, to, ref message, late } = self.in_flight[place];
                let copy = Flight { id: self.sent, from, to, message: message.clone(), late };
                self.in_flight.insert(place + 1, copy);
                let original = self.letters[&of].clone();
                self.letters.insert(self.sent, original);
                self.record(from, What::Duplicate { id: self.sent, of });
            }
            Step::Crash(node) => self.crash(node),
            _ => unreachable!("nobody enters a section in an election"),
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.record(node, What::Crash);
        let i = node.index();
        self.up[i] = false;
        self.named[i] = None;
        self.suspects[i] = NodeSet::default();
        self.armed[i].clear();
        self.lose_if(|flight| flight.to == node);
    }

    fn restart(&mut self, node: NodeId) {
        self.restarts = self.restarts.saturating_sub(1);
        let i = node.index();
        self.up[i] = true;
        self.nodes[i] = self.nodes[i].recovered();
        self.record(node, What::Restart);
        self.give(node, Input::Start, 0);
        self.call(node, 0);
    }

    /// One bound passes: what was to arrive at a node that is down is lost.
    fn tick(&mut self) {
        let up = self.up.clone();
        self.lose_if(|flight| flight.late && !up[flight.to.index()]);
        self.in_flight.iter_mut().for_each(|flight| flight.late = true);
    }

    fn lose_if(&mut self, is_lost: impl Fn(&Flight<P>) -> bool) {
        for Flight { id, from, .. } in self.in_flight.extract_if(.., |flight| is_lost(flight)) {
            let what = What::Lose { id, cause: Loss::Down };
            self.records.push(Record { t: self.now, node: from, what });
        }
    }

    /// Where a message stands among those in flight.
    fn place(&self, which: Which) -> usize {
        let places = self.in_flight.iter().enumerate();
        let mut on_link =
            places.filter(|(_, flight)| (flight.from, flight.to) == (which.from, which.to));
        on_link.nth(which.nth).expect("a step names a message that is in flight").0
    }

    fn call(&mut self, node: NodeId, calls: u8) {
        self.record(node, What::Call);
        self.give(node, Input::Command(Notice::Call), calls + 1);
    }

    /// An initiator that suspects the leader that it names calls at once.
    fn call_if_leaderless(&mut self, node: NodeId, calls: u8) {
        let leader = self.named[node.index()];
        let suspects = leader.is_some_and(|leader| self.suspects[node.index()].contains(leader));
        let may_call = self.initiators.contains(node) && calls < ElectionScenario::MOST_CALLS;
        if suspects && may_call {
            self.call(node, calls);
        }
    }

    fn give(&mut self, node: NodeId, input: Input<P>, calls: u8) {
        let mut out = std::mem::take(&mut self.out);
        if let Err(refused) = self.nodes[node.index()].step(input, &mut out) {
            self.record(node, What::Refuse { why: refused.to_string() });
        }
        let mut elects = false;
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.send(node, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.send(node, to, message.clone());
                    }
                }
                Effect::Emit(elected) => {
                    elects = true;
                    self.named[node.index()] = Some(elected.leader);
                    let (leader, epoch) = (elected.leader, elected.epoch);
                    self.record(node, What::Elect { leader, epoch });
                }
                Effect::Arm { timer, after } => {
                    self.record(node, What::Arm { timer: json(&timer), after });
                    let armed = &mut self.armed[node.index()];
                    armed.retain(|other| *other != timer);
                    armed.push(timer);
                    armed.sort_by_key(|timer| format!("{timer:?}"));
                }
                Effect::Disarm(timer) => {
                    self.record(node, What::Disarm { timer: json(&timer) });
                    self.armed[node.index()].retain(|other| *other != timer);
                }
            }
        }
        self.out = out;
        self.records.append(&mut self.later);
        if elects {
            self.call_if_leaderless(node, calls);
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        self.sent += 1;
        let (t, id, label) = (self.now, self.sent, message.label());
        self.letters.insert(id, Letter { from, to, label, content: format!("{message:?}"), t });
        let content = json(&message);
        self.record(from, What::Send { id, to, label: label.into(), message: content });
        // It may be up again when the message arrives.
        if !self.up[to.index()] && self.restarts == 0 {
            self.later.push(Record { t, node: from, what: What::Lose { id, cause: Loss::Down } });
        } else {
            self.in_flight.push(Flight { id, from, to, message, late: false });
        }
    }
}

/// Messages and timers are plain data: they always have a JSON form.
fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
