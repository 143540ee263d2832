//! The event loop.

use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::{Elected, Election, Notice};
use skeptron_core::monitor::Leadership;
use skeptron_core::{Effect, Input, Message as _, NodeId, NodeSet, Outbox, Refused};

use super::alarms::Alarms;
use super::detection::Detection;
use super::judge::{Quiet, Tally};
use super::{Outcome, Run, Scenario};
use crate::chance::Purpose;
use crate::faults::PlannedFault;
use crate::hand::Played;
use crate::metrics::{Violation, units};
use crate::network::Network;
use crate::queue::Queue;
use crate::recorder::{Recorder, as_json};
use crate::run::{MOST_VIOLATIONS, size_of_message};
use crate::scenario::ScenarioError;
use crate::trace::{Loss, Ticks, What};
use crate::trace_hash::TraceHash;
use crate::troubles::{Health, Troubles};

/// What can happen, apart from alarms.
pub(super) enum Event<M> {
    Deliver(Envelope<M>),
    /// The application of a node wants an election, if the node has not crashed since.
    Call {
        node: NodeId,
        life: u32,
    },
    /// A node that named a leader whom it suspects right after it had called calls again.
    CallAgain {
        node: NodeId,
        life: u32,
    },
    /// The detectors notice that a node has crashed, if it is still down.
    Missed {
        node: NodeId,
        life: u32,
    },
    /// The detectors notice that a node is back, if it is still up.
    Back {
        node: NodeId,
        life: u32,
    },
    /// The detector of `observer` changes its mind about `whom`.
    Tell {
        observer: NodeId,
        life: u32,
        whom: NodeId,
        suspect: bool,
    },
    /// Time for the next false suspicion.
    Rumour,
    /// A false suspicion is over.
    Withdraw {
        observer: NodeId,
        life: u32,
        whom: NodeId,
    },
    /// A planned fault begins.
    Fault(Box<PlannedFault>),
    /// A fault of that node, or of the network, may end.
    End(Option<NodeId>),
    /// Time for the next fault by chance.
    RandomFault(Purpose),
}

/// A message on its way.
#[derive(Clone)]
pub(super) struct Envelope<M> {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    /// Its number in the trace; 0 when nothing is recorded.
    pub(super) id: u32,
    pub(super) message: M,
}

/// What the driver knows of a node.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Whether its application calls when it suspects the leader.
    pub(super) initiator: bool,
    /// Whether it has called since it was last down.
    pub(super) called: bool,
    /// Whom it takes for the leader: the highest, until it hears of another or is down.
    pub(super) leader: Option<NodeId>,
    /// Since when it names that leader, if it has named it.
    pub(super) since: Option<Ticks>,
    /// Whom its detector suspects.
    pub(super) suspects: NodeSet,
}

pub(super) struct Simulation<'a, P: Election> {
    pub(super) info: &'static ElectionInfo,
    pub(super) scenario: &'a Scenario,
    pub(super) bound: Ticks,
    pub(super) now: Ticks,
    pub(super) queue: Queue<Event<P::Message>>,
    pub(super) alarms: Alarms<P::Timer>,
    pub(super) nodes: Vec<P>,
    pub(super) members: Vec<Member>,
    out: Outbox<P>,
    pub(super) network: Network,
    pub(super) troubles: Troubles<Event<P::Message>>,
    pub(super) played: Played<'a>,
    pub(super) detection: Detection,
    pub(super) leadership: Leadership,
    pub(super) quiet: Quiet,
    pub(super) tally: Tally,
    pub(super) violations: Vec<Violation>,
    pub(super) hash: TraceHash,
    pub(super) recorder: Option<Recorder>,
    pub(super) most_records: usize,
    pub(super) cut_short: bool,
}

impl<'a, P: Election> Simulation<'a, P> {
    pub(super) fn new(run: Run<'a>) -> Result<Self, ScenarioError> {
        let Run { info, scenario, options } = run;
        let (n, seed) = (scenario.setup.nodes(), scenario.seed);
        let member = |node| Member {
            initiator: scenario.initiators.iter().any(|initiator| initiator.node == node),
            called: false,
            leader: Some(NodeId::new(n - 1)),
            since: None,
            suspects: NodeSet::default(),
        };
        Ok(Simulation {
            info,
            scenario,
            bound: scenario.bound(),
            now: 0,
            queue: Queue::new(options.queue),
            alarms: Alarms::new(n),
            nodes: P::build(info.name, &scenario.setup)?,
            members: NodeId::all(n).map(member).collect(),
            out: Outbox::new(),
            network: scenario.hand.network(&scenario.latency, scenario.order, n, seed),
            troubles: Troubles::new(&scenario.faults, n, seed),
            played: Played::new(&scenario.hand),
            detection: Detection::new(scenario, n),
            leadership: Leadership::new(n, info.claims.highest),
            quiet: Quiet::new(n, P::Message::KINDS.len()),
            tally: Tally::new(P::Message::KINDS.len()),
            violations: Vec::new(),
            hash: TraceHash::new(seed),
            recorder: options.record.then(Recorder::default),
            most_records: options.most_records.unwrap_or(usize::MAX),
            cut_short: false,
        })
    }

    pub(super) fn run(mut self) -> Result<Outcome, ScenarioError> {
        for node in NodeId::all(self.nodes.len()) {
            self.give(node, Input::Start);
        }
        self.begin();
        let mut rests = false;
        while self.violations.len() < MOST_VIOLATIONS && !self.is_endless() {
            if self.ends_at_record()? {
                break;
            }
            if !self.advance() {
                rests = true;
                break;
            }
        }
        if rests {
            self.judge_rest();
        } else if self.violations.len() < MOST_VIOLATIONS && !self.cut_short {
            self.judge_endless();
        }
        self.finish()
    }

    /// Plans what goes wrong and who calls.
    fn begin(&mut self) {
        for fault in &self.scenario.faults.planned {
            self.queue.push(fault.from, Event::Fault(Box::new(fault.clone())));
        }
        for purpose in self.troubles.purposes() {
            self.plan_random_fault(purpose);
        }
        self.plan_rumour();
        for initiator in &self.scenario.initiators {
            if let Some(at) = initiator.at {
                self.queue.push(at, Event::Call { node: initiator.node, life: 0 });
            }
        }
    }

    /// Lets the next thing happen; at one tick alarms come last. False if there is nothing.
    fn advance(&mut self) -> bool {
        let alarm = self.alarms.next_at();
        let event = self.queue.next_at();
        self.now = match (event, alarm) {
            (Some(event), Some(alarm)) => event.min(alarm),
            (event, alarm) => match event.or(alarm) {
                Some(at) => at,
                None => return false,
            },
        };
        if self.now >= self.scenario.until {
            self.troubles.spare_messages();
        }
        self.tally.events += 1;
        self.quiet.events += 1;
        if event == Some(self.now) {
            if let Some((_, event)) = self.queue.pop() {
                self.mix_event(&event);
                self.handle(event);
            }
        } else if let Some((_, node, number)) = self.alarms.pop() {
            self.mix(9, node.index(), number);
            self.ring(node, number);
        }
        true
    }

    /// Mixes what happens now into the trace hash.
    fn mix(&mut self, tag: u64, node: usize, detail: u64) {
        let word = self.now.rotate_left(32) ^ (node as u64) << 4 ^ tag;
        self.hash.mix(word, detail);
    }

    pub(super) fn mix_event(&mut self, event: &Event<P::Message>) {
        let (tag, node, detail) = match event {
            Event::Deliver(Envelope { from, to, message, .. }) => {
                (1, *to, (from.index() as u64) << 32 | message.kind() as u64)
            }
            Event::Call { node, life } => (2, *node, u64::from(*life)),
            Event::CallAgain { node, life } => (3, *node, u64::from(*life)),
            Event::Missed { node, life } => (4, *node, u64::from(*life)),
            Event::Back { node, life } => (5, *node, u64::from(*life)),
            Event::Tell { observer, whom, suspect, .. } => {
                (6, *observer, (whom.index() as u64) << 1 | u64::from(*suspect))
            }
            Event::Rumour => (7, NodeId::new(0), 0),
            Event::Withdraw { observer, whom, .. } => (8, *observer, whom.index() as u64),
            Event::Fault(_) => (10, NodeId::new(0), 0),
            Event::End(node) => (11, node.unwrap_or(NodeId::new(0)), u64::from(node.is_some())),
            Event::RandomFault(purpose) => (12, NodeId::new(*purpose as usize), 0),
        };
        self.mix(tag, node.index(), detail);
    }

    pub(super) fn handle(&mut self, event: Event<P::Message>) {
        match event {
            Event::Deliver(envelope) => self.deliver(envelope),
            Event::Call { node, life } => match self.troubles.health(node) {
                Health::Paused => self.troubles.hold(node, Event::Call { node, life }),
                Health::Up if self.troubles.life(node) == life => {
                    self.disturbed();
                    self.call(node);
                }
                _ => {}
            },
            Event::CallAgain { node, life } => {
                if self.troubles.is_same_life(node, life) && self.doubts_its_leader(node) {
                    self.call(node);
                }
            }
            Event::Missed { node, life } => self.missed(node, life),
            Event::Back { node, life } => self.back(node, life),
            Event::Tell { observer, life, whom, suspect } => {
                if self.troubles.is_same_life(observer, life) {
                    self.tell(observer, whom, suspect);
                }
            }
            Event::Rumour => self.rumour(),
            Event::Withdraw { observer, life, whom } => self.withdraw(observer, life, whom),
            Event::Fault(planned) => self.begin_fault(planned.fault, planned.until),
            Event::End(node) => self.end_fault(node),
            Event::RandomFault(purpose) => self.random_fault(purpose),
        }
    }

    fn deliver(&mut self, envelope: Envelope<P::Message>) {
        let to = envelope.to;
        match self.troubles.health(to) {
            Health::Up => {}
            Health::Paused => return self.troubles.hold(to, Event::Deliver(envelope)),
            Health::Down => {
                self.tally.lost += 1;
                let (from, id) = (envelope.from, u64::from(envelope.id));
                return self.record(from, || What::Lose { id, cause: Loss::Down });
            }
        }
        self.record(to, || What::Deliver { id: u64::from(envelope.id) });
        self.give(to, Input::Deliver { from: envelope.from, message: envelope.message });
    }

    fn ring(&mut self, node: NodeId, number: u64) {
        if self.troubles.health(node) == Health::Paused {
            return self.alarms.miss(node, number);
        }
        let Some(timer) = self.alarms.ring(node, number) else { return };
        self.tally.alarms += 1;
        self.record(node, || What::Expire { timer: as_json(&timer) });
        self.give(node, Input::Expire(timer));
    }

    /// The application of `node` wants an election.
    pub(super) fn call(&mut self, node: NodeId) {
        self.tally.calls += 1;
        self.tally.first_call.get_or_insert(self.now);
        self.members[node.index()].called = true;
        self.record(node, || What::Call);
        if self.step(node, Input::Command(Notice::Call)) && self.doubts_its_leader(node) {
            // Through the agenda, or a node that names whom it suspects at once would never return.
            let life = self.troubles.life(node);
            self.queue.push(self.now, Event::CallAgain { node, life });
        }
    }

    /// Whether `node` is an initiator that suspects its leader.
    fn doubts_its_leader(&self, node: NodeId) -> bool {
        let member = &self.members[node.index()];
        member.initiator && member.leader.is_some_and(|leader| member.suspects.contains(leader))
    }

    /// Gives a node an input. An initiator that suspects the leader that it names, or that it is told
    /// to suspect, calls at once.
    pub(super) fn give(&mut self, node: NodeId, input: Input<P>) {
        let told = matches!(input, Input::Command(Notice::Suspect(whom))
            if self.members[node.index()].leader == Some(whom));
        if (self.step(node, input) || told) && self.doubts_its_leader(node) {
            self.call(node);
        }
    }

    /// Gives a node an input and does what it wants done. Says whether it named a leader.
    fn step(&mut self, node: NodeId, input: Input<P>) -> bool {
        let mut out = std::mem::take(&mut self.out);
        if let Err(refused) = self.nodes[node.index()].step(input, &mut out) {
            self.refuse(node, refused);
        }
        let mut named = false;
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => {
                    self.tally.multicast += 1;
                    let size = size_of_message(&message);
                    self.post(node, to, message, size);
                }
                Effect::Broadcast { message } => {
                    self.tally.multicast += 1;
                    let size = size_of_message(&message);
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone(), size);
                    }
                }
                Effect::Arm { timer, after } => {
                    self.record(node, || What::Arm { timer: as_json(&timer), after });
                    let at = self.now + self.bound.saturating_mul(u64::from(after));
                    self.alarms.arm(node, timer, at);
                }
                Effect::Disarm(timer) => {
                    self.record(node, || What::Disarm { timer: as_json(&timer) });
                    self.alarms.disarm(node, &timer);
                }
                Effect::Emit(elected) => {
                    named = true;
                    self.name(node, elected);
                }
            }
        }
        self.out = out;
        self.leadership.reached(self.nodes[node.index()].epoch());
        if let Some(recorder) = &mut self.recorder {
            recorder.end_of_step();
        }
        named
    }

    fn name(&mut self, node: NodeId, elected: Elected) {
        let Elected { leader, epoch } = elected;
        self.record(node, || What::Elect { leader, epoch });
        let (now, member) = (self.now, &mut self.members[node.index()]);
        if member.leader != Some(leader) || member.since.is_none() {
            (member.leader, member.since) = (Some(leader), Some(now));
        }
        self.judge_name(node, elected);
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: P::Message, size: u64) {
        self.tally.messages += 1;
        self.tally.bytes += size;
        self.tally.by_kind[message.kind()] += 1;
        self.quiet.by_kind[message.kind()] += 1;
        let now = self.now;
        let recorder = self.recorder.as_mut();
        let id = recorder.map_or(0, |recorder| recorder.send(now, from, to, &message));
        if let Some(cause) = self.troubles.loses(from, to) {
            self.tally.lost += 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.later(now, from, What::Lose { id: u64::from(id), cause });
            }
            return;
        }
        let envelope = Envelope { from, to, id, message };
        if self.troubles.duplicates() {
            self.tally.duplicated += 1;
            let recorder = self.recorder.as_mut();
            let copy = recorder.map_or(0, |recorder| recorder.duplicate(now, from, id));
            self.dispatch(Envelope { id: copy, ..envelope.clone() });
        }
        self.dispatch(envelope);
    }

    fn dispatch(&mut self, envelope: Envelope<P::Message>) {
        let at = self.network.arrival(self.now, envelope.from, envelope.to);
        self.queue.push(at, Event::Deliver(envelope));
    }

    /// Refusing an input of a correct peer is a violation; where messages go astray it is only counted.
    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.tally.refused += 1;
        self.record(node, || What::Refuse { why: refused.to_string() });
        let peers_are_faulty = matches!(refused, Refused::Unexpected(_))
            && !self.scenario.keeps_assumptions_with(self.played.done(), self.info);
        if !peers_are_faulty {
            self.violate(node, "refused", format!("{node} refuses: {refused}"));
        }
    }

    pub(super) fn violate(&mut self, node: NodeId, property: &'static str, detail: String) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.record(node, || What::Violation {
                property: property.into(),
                detail: detail.clone(),
            });
            self.violations.push(Violation { property, at: units(self.now), detail });
        }
    }

    pub(super) fn record(&mut self, node: NodeId, what: impl FnOnce() -> What) {
        if let Some(recorder) = &mut self.recorder {
            recorder.now(self.now, node, what());
        }
    }
}
