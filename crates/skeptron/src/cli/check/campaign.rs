//! A counterexample of an election as a run: its steps, taken again by fresh nodes.

use skeptron_check::{ElectionScenario, Step};
use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::{Election, Notice, Visitor, dispatch};
use skeptron_core::{Effect, Input, NodeId, NodeSet, Outbox, SetupError};
use skeptron_sim::trace::{TICKS_PER_UNIT, What};

use super::post::{Flight, PostOffice, json};
use super::trace::{Moment, Story};

/// How a message stands to the bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delay {
    OnTime,
    /// It was in flight when the last bound passed.
    Late,
}

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
            post: PostOffice::new(),
            out: Outbox::new(),
        };
        for node in NodeId::all(n) {
            campaign.give(node, Input::Start, 0);
        }
        let mut moments = vec![Moment::of(0..campaign.post.records.len(), None)];
        for &step in self.steps {
            let before = campaign.post.records.len();
            campaign.post.now += TICKS_PER_UNIT;
            let who = campaign.take(step);
            let after = who.map(|node| (node, format!("{:?}", campaign.nodes[node.index()])));
            let moment = Moment::of(before..campaign.post.records.len(), after);
            moments.push(Moment { is_tick: step == Step::Tick, ..moment });
        }
        Ok(Story {
            records: campaign.post.records,
            moments,
            initial,
            letters: campaign.post.letters,
        })
    }
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
    post: PostOffice<P::Message, Delay>,
    out: Outbox<P>,
}

impl<P: Election> Campaign<P> {
    /// Returns which node took it.
    fn take(&mut self, step: Step) -> Option<NodeId> {
        match step {
            Step::Call(node) => {
                self.call(node, 0);
                Some(node)
            }
            Step::Suspect { node, whom } => {
                self.suspects[node.index()].insert(whom);
                self.post.record(node, What::Suspect { whom });
                self.give(node, Input::Command(Notice::Suspect(whom)), 0);
                self.call_if_leaderless(node, 0);
                Some(node)
            }
            Step::Trust { node, whom } => {
                self.suspects[node.index()].remove(whom);
                self.post.record(node, What::Trust { whom });
                self.give(node, Input::Command(Notice::Trust(whom)), 0);
                Some(node)
            }
            Step::Expire { node, nth } => {
                let timer = self.armed[node.index()].remove(nth);
                self.post.record(node, What::Expire { timer: json(&timer) });
                self.give(node, Input::Expire(timer), 0);
                Some(node)
            }
            Step::Deliver(which) => {
                let Flight { from, to, message, .. } = self.post.deliver(which);
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
            Step::Lose(which) => self.post.lose(which),
            Step::Duplicate(which) => self.post.duplicate(which),
            Step::Crash(node) => self.crash(node),
            _ => unreachable!("nobody enters a section in an election"),
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.post.record(node, What::Crash);
        let i = node.index();
        self.up[i] = false;
        self.named[i] = None;
        self.suspects[i] = NodeSet::default();
        self.armed[i].clear();
        self.post.lose_if(|flight| flight.to == node);
    }

    fn restart(&mut self, node: NodeId) {
        self.restarts = self.restarts.saturating_sub(1);
        let i = node.index();
        self.up[i] = true;
        self.nodes[i] = self.nodes[i].recovered();
        self.post.record(node, What::Restart);
        self.give(node, Input::Start, 0);
        self.call(node, 0);
    }

    /// One bound passes: what was to arrive at a node that is down is lost.
    fn tick(&mut self) {
        let up = self.up.clone();
        self.post.lose_if(|flight| flight.tag == Delay::Late && !up[flight.to.index()]);
        self.post.tag_all(Delay::Late);
    }

    fn call(&mut self, node: NodeId, calls: u8) {
        self.post.record(node, What::Call);
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
            self.post.record(node, What::Refuse { why: refused.to_string() });
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
                    self.post.record(node, What::Elect { leader, epoch });
                }
                Effect::Arm { timer, after } => {
                    self.post.record(node, What::Arm { timer: json(&timer), after });
                    let armed = &mut self.armed[node.index()];
                    armed.retain(|other| *other != timer);
                    armed.push(timer);
                    armed.sort_by_key(|timer| format!("{timer:?}"));
                }
                Effect::Disarm(timer) => {
                    self.post.record(node, What::Disarm { timer: json(&timer) });
                    self.armed[node.index()].retain(|other| *other != timer);
                }
            }
        }
        self.out = out;
        self.post.end_turn();
        if elects {
            self.call_if_leaderless(node, calls);
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        // It may be up again when the message arrives.
        let arrives = self.up[to.index()] || self.restarts > 0;
        self.post.send(from, to, message, arrives.then_some(Delay::OnTime));
    }
}
