//! A counterexample as a run: its steps, taken again by fresh nodes and recorded as the simulator
//! records, so that it can be drawn in every form and replayed there.

use std::collections::BTreeMap;
use std::ops::Range;

use skeptron_check::{ElectionScenario, Step, Which};
use skeptron_core::{NodeId, NodeSet};
use skeptron_sim::replay::{Completion, ReplayError};
use skeptron_sim::trace::{Header, Loss, Record, TICKS_PER_UNIT, Ticks, What, message};
use skeptron_sim::value::Value;

/// What comes of some steps.
pub(crate) struct ReplayedSteps {
    /// Everything that happens.
    pub(crate) records: Vec<Record>,
    /// First what happens when the nodes start, then one for each step.
    pub(crate) moments: Vec<ReplayedStep>,
    /// The nodes as they start.
    pub(crate) initial: Vec<Value>,
    /// The messages by number, copies included.
    pub(crate) messages: BTreeMap<u64, SentMessage>,
}

/// What is known of a message.
#[derive(Clone)]
pub(crate) struct SentMessage {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) label: &'static str,
    /// As diagrams name it: `REQUEST 41`.
    pub(crate) name: String,
    /// When it was sent.
    pub(crate) t: Ticks,
}

/// One step.
pub(crate) struct ReplayedStep {
    /// Which records are about it.
    pub(crate) records: Range<usize>,
    /// Who took it, and its state after it; none where only the network or a crash did something.
    pub(crate) after: Option<(NodeId, Value)>,
    /// Whether all that happens is that time passes.
    pub(crate) is_tick: bool,
}

/// Takes the steps of a run of mutual exclusion.
///
/// # Errors
/// If the nodes cannot be built, or a step cannot be taken.
pub(super) fn follow(header: Header, steps: &[Step]) -> Result<ReplayedSteps, ReplayError> {
    follow_with(header, steps, None)
}

/// Takes the steps of an election.
///
/// # Errors
/// If the nodes cannot be built, or a step cannot be taken.
pub(super) fn follow_election(
    header: Header,
    scenario: &ElectionScenario,
    steps: &[Step],
) -> Result<ReplayedSteps, ReplayError> {
    follow_with(header, steps, Some(scenario))
}

fn follow_with(
    header: Header,
    steps: &[Step],
    election: Option<&ElectionScenario>,
) -> Result<ReplayedSteps, ReplayError> {
    let n = header.setup.nodes();
    let run = Completion::new(header)?;
    let initial = NodeId::all(n).filter_map(|node| run.state(node)).collect();
    let mut follower = Follower {
        run,
        now: 0,
        in_flight: Vec::new(),
        messages: BTreeMap::new(),
        up: vec![true; n],
        // In a run before the search anybody may come back, and who calls says so.
        restarts: if election.is_some() { u8::MAX } else { 0 },
        initiators: NodeSet::default(),
        named: vec![Some(NodeId::new(n - 1)); n],
        suspects: vec![NodeSet::default(); n],
    };
    follower.run.start()?;
    follower.note(0)?;
    let after_start = follower.run.records().len();
    let mut moments = vec![ReplayedStep { records: 0..after_start, after: None, is_tick: false }];
    for (number, &step) in steps.iter().enumerate() {
        if let Some(scenario) = election.filter(|scenario| scenario.after.len() == number) {
            follower.begin(scenario)?;
        }
        let before = follower.run.records().len();
        follower.now += TICKS_PER_UNIT;
        let who = follower.take(step)?;
        let state = |node| Some((node, follower.run.state(node)?));
        moments.push(ReplayedStep {
            records: before..follower.run.records().len(),
            after: who.and_then(state),
            is_tick: step == Step::Tick,
        });
    }
    let Follower { run, messages, .. } = follower;
    Ok(ReplayedSteps { records: run.into_trace().records, moments, initial, messages })
}

/// A message on its way.
#[derive(Clone, Copy)]
struct Flight {
    id: u64,
    from: NodeId,
    to: NodeId,
    /// Whether it was in flight when the last bound passed.
    is_late: bool,
}

/// Gives the nodes what the steps say, as the checker's network and applications do.
struct Follower {
    run: Completion,
    now: Ticks,
    /// In the order of sending; a copy stands behind its original.
    in_flight: Vec<Flight>,
    messages: BTreeMap<u64, SentMessage>,
    up: Vec<bool>,
    /// How many nodes may still come back.
    restarts: u8,
    /// Who calls as soon as it suspects the leader that it names.
    initiators: NodeSet,
    /// Whom each node names.
    named: Vec<Option<NodeId>>,
    suspects: Vec<NodeSet>,
}

impl Follower {
    /// The run before the search is over.
    fn begin(&mut self, scenario: &ElectionScenario) -> Result<(), ReplayError> {
        self.initiators = scenario.initiators.iter().copied().collect();
        self.restarts = scenario.faults.restarts;
        let gone: Vec<bool> = self.up.iter().map(|up| !up && self.restarts == 0).collect();
        self.lose_if(|flight| gone[flight.to.index()])
    }

    /// Returns which node took it.
    fn take(&mut self, step: Step) -> Result<Option<NodeId>, ReplayError> {
        match step {
            Step::Request(node) => self.give(node, What::Request, 0)?,
            Step::Release(node) => self.give(node, What::Release, 0)?,
            Step::Call(node) => self.call(node, 0)?,
            Step::Suspect { node, whom } => {
                self.suspects[node.index()].insert(whom);
                self.give(node, What::Suspect { whom }, 0)?;
                self.call_if_leaderless(node, 0)?;
            }
            Step::Trust { node, whom } => {
                self.suspects[node.index()].remove(whom);
                self.give(node, What::Trust { whom }, 0)?;
            }
            Step::Draw { node, number } => self.give(node, What::Draw { number }, 0)?,
            Step::Expire { node, nth } => {
                let timer = self.run.alarms(node).swap_remove(nth);
                self.give(node, What::Expire { timer }, 0)?;
            }
            Step::Deliver(which) => {
                let Flight { id, to, .. } = self.in_flight.remove(self.place(which));
                self.give(to, What::Deliver { id }, 0)?;
                return Ok(Some(to));
            }
            Step::Restart(node) => {
                self.restarts = self.restarts.saturating_sub(1);
                self.up[node.index()] = true;
                self.give(node, What::Restart, 0)?;
                self.call(node, 0)?;
            }
            other => {
                self.trouble(other)?;
                return Ok(None);
            }
        }
        Ok(actor(step))
    }

    /// What only the network or a machine does.
    fn trouble(&mut self, step: Step) -> Result<(), ReplayError> {
        match step {
            // One bound passes: what was to arrive at a node that is down is lost.
            Step::Tick => {
                let up = self.up.clone();
                self.lose_if(|flight| flight.is_late && !up[flight.to.index()])?;
                self.in_flight.iter_mut().for_each(|flight| flight.is_late = true);
                Ok(())
            }
            Step::Lose(which) => {
                let Flight { id, from, to, .. } = self.in_flight.remove(self.place(which));
                let cause = if self.up[to.index()] { Loss::Chance } else { Loss::Down };
                self.record(from, What::Lose { id, cause })
            }
            Step::Duplicate(which) => self.duplicate(which),
            Step::Crash(node) => {
                let i = node.index();
                self.up[i] = false;
                self.named[i] = None;
                self.suspects[i] = NodeSet::default();
                self.record(node, What::Crash)?;
                self.lose_if(|flight| flight.to == node)
            }
            _ => unreachable!("the other steps are taken by a node"),
        }
    }

    fn duplicate(&mut self, which: Which) -> Result<(), ReplayError> {
        let place = self.place(which);
        let id = self.run.next_number();
        let original = self.in_flight[place];
        self.in_flight.insert(place + 1, Flight { id, ..original });
        let message = self.messages[&original.id].clone();
        self.messages.insert(id, message);
        self.record(original.from, What::Duplicate { id, of: original.id })
    }

    /// Loses what cannot reach its receiver.
    fn lose_if(&mut self, is_lost: impl Fn(&Flight) -> bool) -> Result<(), ReplayError> {
        let lost: Vec<Flight> = self.in_flight.extract_if(.., |flight| is_lost(flight)).collect();
        for Flight { id, from, .. } in lost {
            self.record(from, What::Lose { id, cause: Loss::Down })?;
        }
        Ok(())
    }

    fn call(&mut self, node: NodeId, calls: u8) -> Result<(), ReplayError> {
        self.give(node, What::Call, calls + 1)
    }

    /// An initiator that suspects the leader that it names calls at once.
    fn call_if_leaderless(&mut self, node: NodeId, calls: u8) -> Result<(), ReplayError> {
        let leader = self.named[node.index()];
        let suspects = leader.is_some_and(|leader| self.suspects[node.index()].contains(leader));
        let may_call = self.initiators.contains(node) && calls < ElectionScenario::MOST_CALLS;
        if suspects && may_call { self.call(node, calls) } else { Ok(()) }
    }

    /// Gives a node an input that it takes after so many calls.
    fn give(&mut self, node: NodeId, what: What, calls: u8) -> Result<(), ReplayError> {
        let before = self.run.records().len();
        self.record(node, what)?;
        if self.note(before)? { self.call_if_leaderless(node, calls) } else { Ok(()) }
    }

    /// Notes what nodes did since there were so many records. Says whether one named a leader.
    fn note(&mut self, before: usize) -> Result<bool, ReplayError> {
        let mut lost = Vec::new();
        let mut names = false;
        for Record { t, node: from, what } in &self.run.records()[before..] {
            match *what {
                What::Send { id, to, .. } => {
                    let (label, payload) = self.run.message(id).expect("it was just sent");
                    let name = message::name(label, &payload);
                    self.messages.insert(id, SentMessage { from: *from, to, label, name, t: *t });
                    // It may be up again when the message arrives.
                    if self.up[to.index()] || self.restarts > 0 {
                        self.in_flight.push(Flight { id, from: *from, to, is_late: false });
                    } else {
                        lost.push((*from, id));
                    }
                }
                What::Elect { leader, .. } => {
                    names = true;
                    self.named[from.index()] = Some(leader);
                }
                _ => {}
            }
        }
        for (from, id) in lost {
            self.record(from, What::Lose { id, cause: Loss::Down })?;
        }
        Ok(names)
    }

    fn record(&mut self, node: NodeId, what: What) -> Result<(), ReplayError> {
        self.run.take(Record { t: self.now, node, what })
    }

    /// Where a message stands among those in flight.
    fn place(&self, which: Which) -> usize {
        let places = self.in_flight.iter().enumerate();
        let mut on_link =
            places.filter(|(_, flight)| (flight.from, flight.to) == (which.from, which.to));
        on_link.nth(which.nth).expect("a step names a message that is in flight").0
    }
}

/// Whose step it is, but for messages.
fn actor(step: Step) -> Option<NodeId> {
    match step {
        Step::Request(node) | Step::Release(node) | Step::Call(node) | Step::Restart(node) => {
            Some(node)
        }
        Step::Suspect { node, .. } | Step::Trust { node, .. } => Some(node),
        Step::Draw { node, .. } | Step::Expire { node, .. } => Some(node),
        _ => None,
    }
}
