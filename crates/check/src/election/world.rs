//! A system that elects leaders, in all its detail: nodes, applications, failure detectors, messages in
//! flight, time. What can happen next, and what comes of it.
//!
//! Time passes in bounds, and a slot is what lies between two ticks. A message arrives in the slot in
//! which it was sent or in the next; an alarm rings in the slot in which it is due, after the messages
//! that had to arrive at that node by then; a detector tells within so many slots. A tick waits for all
//! of these.

use skeptron_core::catalogue::{ElectionInfo, Order};
use skeptron_core::election::{Elected, Election, Visitor, dispatch};
use skeptron_core::monitor::{Leadership, LeadershipViolation};
use skeptron_core::{NodeId, Setup, SetupError};

use super::memory::{Candidates, JudgeEvent, Judges, Memory};
use super::scenario::ElectionScenario;
use super::state::{Budget, Move, NOBODY, Packet, Site, State};
use crate::flight;
use crate::local::{Action, CALL, Event, MessageId, NodeTable, drawn, suspect, trust};
use crate::model::{Enabled, Model, mix};
use crate::prefix::Already;
use crate::property::{Properties, Property, Step};
use crate::scenario::ScenarioError;

/// Detectors that took longer before the search are late whatever the bound is.
const LATEST: u8 = ElectionScenario::LONGEST_DETECTION + 1;

struct Build<'a>(&'a str, &'a Setup);

impl Visitor for Build<'_> {
    type Output = Result<Box<dyn Candidates>, SetupError>;

    fn visit<P: Election>(self) -> Self::Output {
        Ok(Box::new(NodeTable::new(P::build(self.0, self.1)?)))
    }
}

/// The rules of the model.
pub(crate) struct World {
    pub(super) nodes: usize,
    pub(super) order: Order,
    pub(super) candidates: Box<dyn Candidates>,
    pub(super) judges: Judges,
    pub(super) start: State,
    /// What is in flight at the start: by link, in the order of sending.
    pub(super) in_flight: Vec<Packet>,
    /// What has happened before the start, and what that violated.
    pub(super) after: Vec<Step>,
    pub(super) already: Vec<Already<State, Packet, Move>>,
    setup: Setup,
    pub(super) judged: Properties,
    pub(super) initiators: u16,
    pub(super) victims: u16,
    /// Within how many bounds detectors tell.
    pub(super) detector: u8,
    /// No election that ends goes through more rounds.
    pub(super) most_rounds: u32,
}

impl World {
    /// The world of a catalogued algorithm.
    pub(super) fn new(
        info: &ElectionInfo,
        scenario: &ElectionScenario,
    ) -> Result<Self, ScenarioError> {
        scenario.check()?;
        let candidates = dispatch(info, Build(info.name, &scenario.setup))?;
        let keeps_assumptions = scenario.faults.keep_assumptions()
            && (info.channel == Order::Any || scenario.order == Order::Fifo);
        let judged = Property::ELECTION.iter().copied();
        let judged = judged.filter(|&property| property != Property::Refused || keeps_assumptions);
        let mut world = Self::of_nodes(candidates, scenario, judged.collect(), info.claims.highest);
        world.advance(&scenario.after)?;
        Ok(world)
    }

    /// The world of any nodes.
    pub(super) fn of_nodes(
        candidates: Box<dyn Candidates>,
        scenario: &ElectionScenario,
        judged: Properties,
        highest: bool,
    ) -> Self {
        let n = candidates.len();
        let set = |nodes: &[NodeId]| nodes.iter().fold(0, |set, node| set | 1 << node.index());
        let initiators: u16 = set(&scenario.initiators);
        let faults = &scenario.faults;
        let mut start = State::empty();
        start.budget = Budget {
            calls: scenario.calls.min(initiators.count_ones() as u8),
            losses: faults.losses,
            duplicates: faults.duplicates,
            crashes: faults.crashes,
            restarts: faults.restarts,
            premature: faults.premature,
            suspicions: faults.suspicions,
        };
        for i in 0..n {
            let local = i as u32;
            let may_call = initiators & 1 << i != 0;
            // Before the first election everybody takes the highest for the leader.
            let named = n as u8 - 1;
            start.sites[i] = Site { local, up: true, may_call, named, ..Site::default() };
        }
        let mut world = World {
            nodes: n,
            order: Order::Fifo,
            candidates,
            judges: Judges::new(Leadership::new(n, highest)),
            start: State::empty(),
            in_flight: Vec::new(),
            after: Vec::new(),
            already: Vec::new(),
            setup: scenario.setup.clone(),
            judged,
            initiators,
            victims: faults.victims.as_deref().map_or(u16::MAX, set),
            detector: scenario.detector,
            // Until detectors trust it, who comes back and who misses it may call in turn.
            most_rounds: 3
                + 2 * u32::from(start.budget.calls)
                + 3 * faults.total()
                + 6 * u32::from(faults.restarts),
        };
        world.forget_calls(&mut start);
        let mut memory = world.memory(false);
        let mut found = Properties::default();
        for node in 0..n {
            world.give(&mut memory, &mut start, node, Event::Start, &mut found);
        }
        drop(memory);
        world.order = scenario.order;
        world.in_flight.clone_from(&start.flight);
        flight::sort(&mut start.flight, world.order);
        world.start = start;
        world
    }

    fn is_initiator(&self, node: usize) -> bool {
        self.initiators & 1 << node != 0
    }

    /// Whether elections are begun again and again.
    pub(super) fn is_endless(&self, memory: &mut Memory<'_>, state: &State) -> bool {
        let mut up = state.sites[..self.nodes].iter().filter(|site| site.up);
        up.any(|site| memory.facts(site.local).epoch.round > self.most_rounds)
    }

    /// One bound passes. Whatever is in flight must arrive before the next; what was to arrive at a node
    /// that is down is lost.
    fn tick(&self, memory: &mut Memory<'_>, state: &mut State) {
        let sites = state.sites;
        state.flight.retain(|packet| !packet.late || sites[packet.to as usize].up);
        state.flight.iter_mut().for_each(|packet| packet.late = true);
        flight::sort(&mut state.flight, self.order);
        state.hurry = 0;
        for site in &mut state.sites[..self.nodes] {
            if site.up && memory.facts(site.local).alarms > 0 {
                site.local = memory.nodes.step(site.local, Event::Tick).local;
            }
            for whom in 0..self.nodes {
                match site.owed(whom) {
                    0 => {}
                    age => site.set_owed(whom, (age + 1).min(LATEST)),
                }
            }
        }
    }

    /// The detector of `node` changes its mind about `whom`.
    fn notice(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        (node, whom): (usize, usize),
        found: &mut Properties,
    ) {
        let site = &mut state.sites[node];
        site.suspects ^= 1 << whom;
        let is_suspected = site.suspects(whom);
        // A detector that is wrong has to say so; one that is right has nothing more to tell.
        let is_wrong = is_suspected == state.sites[whom].up;
        state.sites[node].set_owed(whom, u8::from(is_wrong));
        let event = if is_suspected { suspect(whom) } else { trust(whom) };
        self.give(memory, state, node, event, found);
        if is_suspected {
            self.call_if_leaderless(memory, state, node, 0, found);
        } else {
            self.tell_if_trusted(memory, state, whom);
        }
    }

    /// Once every detector knows that a node is back, the others must not pass it over.
    fn tell_if_trusted(&self, memory: &mut Memory<'_>, state: &mut State, node: usize) {
        let mut others = state.sites[..self.nodes].iter();
        if !others.any(|site| site.up && site.suspects(node)) {
            self.tell_judge(memory, state, JudgeEvent::Trusted(NodeId::new(node)));
        }
    }

    fn crash(&self, memory: &mut Memory<'_>, state: &mut State, node: usize) {
        state.budget.crashes -= 1;
        state.crashed |= state.called;
        // If it never comes back all its states are one.
        let returns = state.budget.restarts > 0;
        let local = if returns { memory.recovered(state.sites[node].local) } else { 0 };
        state.sites[node] = Site { local, ..Site::default() };
        state.flight.retain(|packet| usize::from(packet.to) != node);
        let sent = state.flight.iter_mut().filter(|packet| usize::from(packet.from) == node);
        sent.for_each(|packet| packet.orphan = true);
        flight::sort(&mut state.flight, self.order);
        for site in state.sites[..self.nodes].iter_mut().filter(|site| site.up) {
            site.set_owed(node, u8::from(!site.suspects(node)));
        }
        self.tell_judge(memory, state, JudgeEvent::Crash(NodeId::new(node)));
    }

    fn restart(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        node: usize,
        found: &mut Properties,
    ) {
        state.budget.restarts -= 1;
        state.sites[node].up = true;
        for other in (0..self.nodes).filter(|&other| other != node) {
            if state.sites[other].up {
                let suspects = state.sites[other].suspects(node);
                state.sites[other].set_owed(node, u8::from(suspects));
            } else {
                state.sites[node].set_owed(other, 1);
            }
        }
        self.tell_judge(memory, state, JudgeEvent::Restart(NodeId::new(node)));
        self.tell_if_trusted(memory, state, node);
        self.give(memory, state, node, Event::Start, found);
        self.call(memory, state, node, 0, found);
    }

    /// Who may still call does not matter when nobody will.
    pub(super) fn forget_calls(&self, state: &mut State) {
        if state.budget.calls == 0 {
            state.sites[..self.nodes].iter_mut().for_each(|site| site.may_call = false);
        }
    }

    fn call(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        node: usize,
        calls: u8,
        found: &mut Properties,
    ) {
        state.called = true;
        state.sites[node].called |= self.is_initiator(node);
        self.step(memory, state, node, CALL, calls + 1, found);
    }

    /// An initiator that suspects the leader that it names calls at once.
    fn call_if_leaderless(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        node: usize,
        calls: u8,
        found: &mut Properties,
    ) {
        let site = state.sites[node];
        let leaderless = site.named != NOBODY && site.suspects(site.named.into());
        if !self.is_initiator(node) || !leaderless {
            return;
        }
        if calls < ElectionScenario::MOST_CALLS {
            self.call(memory, state, node, calls, found);
        } else {
            found.insert(Property::Termination);
        }
    }

    fn give(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        node: usize,
        event: Event,
        found: &mut Properties,
    ) {
        self.step(memory, state, node, event, 0, found);
    }

    /// Gives a node an input, and does what it wants done.
    fn step(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        node: usize,
        event: Event,
        calls: u8,
        found: &mut Properties,
    ) {
        let outcome = memory.nodes.take(state.sites[node].local, event);
        state.sites[node].local = outcome.local;
        if outcome.refused {
            found.insert(Property::Refused);
        }
        let mut elects = false;
        for action in outcome.actions {
            match memory.nodes.action(action) {
                Action::Send { to, message } => self.send(state, node, to, message),
                Action::Emit(elected) => {
                    elects = true;
                    self.elect(memory, state, node, elected, found);
                }
            }
        }
        let epoch = memory.facts(outcome.local).epoch;
        let newer = epoch.round.saturating_sub(memory.newest(state.judge).round);
        state.hurry =
            (newer + u32::from(state.hurry)).min(u32::from(ElectionScenario::MOST_HURRY) + 1) as u8;
        self.tell_judge(memory, state, JudgeEvent::Reached(epoch));
        if epoch.round > self.most_rounds {
            found.insert(Property::Termination);
        }
        if elects {
            self.call_if_leaderless(memory, state, node, calls, found);
        }
    }

    fn send(&self, state: &mut State, from: usize, to: u8, message: MessageId) {
        // It may be up again when the message arrives.
        if !state.sites[to as usize].up && state.budget.restarts == 0 {
            return;
        }
        let packet = Packet { from: from as u8, to, late: false, orphan: false, message };
        flight::launch(&mut state.flight, self.order, packet);
    }

    fn elect(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        node: usize,
        elected: Elected,
        found: &mut Properties,
    ) {
        state.sites[node].named = elected.leader.index() as u8;
        let discord = self.tell_judge(memory, state, JudgeEvent::Named(elected));
        if let Some(discord) = discord {
            memory.discord = Some((NodeId::new(node), elected, discord));
        }
        match discord {
            None => {}
            Some(LeadershipViolation::Other(_)) => found.insert(Property::Agreement),
            Some(LeadershipViolation::Dead | LeadershipViolation::Passed(_)) => {
                found.insert(Property::Validity)
            }
        }
    }

    fn tell_judge(
        &self,
        memory: &mut Memory<'_>,
        state: &mut State,
        word: JudgeEvent,
    ) -> Option<LeadershipViolation> {
        let discord;
        (state.judge, discord) = memory.tell(state.judge, word);
        discord
    }

    /// Who is left without a leader when nothing more happens.
    pub(super) fn leaderless(&self, state: &State) -> Option<(usize, Lack)> {
        let sites = &state.sites[..self.nodes];
        let is_led = |site: &Site| site.named != NOBODY && sites[site.named as usize].up;
        let callers = sites.iter().position(|site| site.up && site.called && !is_led(site));
        if let Some(caller) = callers {
            return Some((caller, Lack::Leader));
        }
        if !state.called || state.crashed {
            return None;
        }
        let parts = self.setup.parts(|node| sites[node.index()].up);
        let called = |part: &[NodeId]| part.iter().any(|node| sites[node.index()].called);
        // Nobody can tell the other parts of a network that a crash has cut apart.
        let judged = parts.iter().filter(|part| parts.len() == 1 || called(part));
        judged.filter_map(|part| leaderless_in(part, state)).next()
    }
}

/// Who does not name the leader of its part of the network.
fn leaderless_in(part: &[NodeId], state: &State) -> Option<(usize, Lack)> {
    let named = |node: &NodeId| state.sites[node.index()].named;
    let is_led =
        |node: &NodeId| named(node) != NOBODY && part.contains(&NodeId::new(named(node).into()));
    let first = named(part.first()?);
    let lost = part.iter().find(|&node| !is_led(node)).map(|node| (node, Lack::Leader));
    let other = part.iter().find(|&node| named(node) != first).map(|node| (node, Lack::Consent));
    lost.or(other).map(|(node, lack)| (node.index(), lack))
}

/// What is wrong with an election that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// A node names nobody who is alive and in reach.
    Leader,
    /// Two nodes name different leaders, though nobody has crashed since the first call.
    Consent,
}

impl Model for World {
    type State = State;
    type Move = Move;
    type Memory<'a> = Memory<'a>;

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn start(&self) -> &State {
        &self.start
    }

    fn judged(&self) -> Properties {
        self.judged
    }

    /// A tick leaves no trace, and a message may be lost or taken.
    fn knows_depth(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        self.candidates.bytes() + self.judges.bytes()
    }

    fn memory(&self, _records: bool) -> Memory<'_> {
        Memory::new(&*self.candidates, &self.judges)
    }

    fn memory_bytes(memory: &Memory<'_>) -> usize {
        memory.bytes()
    }

    fn moves(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) -> Enabled {
        self.all_moves(memory, state, moves)
    }

    fn reduce(&self, _: &mut Memory<'_>, _: &State, _: &mut Vec<Move>) {}

    fn take(&self, memory: &mut Memory<'_>, state: &mut State, step: Move) -> Properties {
        let mut found = Properties::default();
        match step {
            Move::Call(node) => {
                state.sites[node as usize].may_call = false;
                state.budget.calls -= 1;
                self.forget_calls(state);
                self.call(memory, state, node.into(), 0, &mut found);
            }
            Move::Deliver(place) => {
                let packet = state.flight.remove(place as usize);
                let event = Event::Deliver(packet.message);
                self.give(memory, state, packet.to.into(), event, &mut found);
            }
            Move::Expire { node, nth } => {
                let is_due = memory.facts(state.sites[node as usize].local).due & 1 << nth != 0;
                if !is_due || self.waits_for_messages(state, node.into()) {
                    state.budget.premature -= 1;
                }
                self.give(memory, state, node.into(), Event::Expire(nth.into()), &mut found);
            }
            Move::Tell { node, whom } => {
                self.notice(memory, state, (node.into(), whom.into()), &mut found);
            }
            Move::Tick => self.tick(memory, state),
            Move::Doubt { node, whom } => {
                state.budget.suspicions -= 1;
                self.notice(memory, state, (node.into(), whom.into()), &mut found);
            }
            Move::Lose(place) => {
                let packet = state.flight.remove(place as usize);
                if !packet.orphan {
                    state.budget.losses -= 1;
                }
            }
            Move::Duplicate(place) => {
                state.budget.duplicates -= 1;
                let packet = state.flight[place as usize];
                state.flight.insert(place as usize, packet);
            }
            Move::Crash(node) => self.crash(memory, state, node.into()),
            Move::Restart(node) => self.restart(memory, state, node.into(), &mut found),
            Move::Draw { node, number } => {
                self.give(memory, state, node.into(), drawn(number), &mut found);
            }
        }
        found.and(self.judged)
    }

    /// An election has ended, and nobody has to call another one.
    fn judge_rest(&self, _: &mut Memory<'_>, state: &State, _: Enabled) -> Properties {
        let lack = self.leaderless(state).map(|_| Property::Termination);
        lack.into_iter().collect::<Properties>().and(self.judged)
    }

    fn fingerprint(&self, memory: &mut Memory<'_>, state: &State) -> u64 {
        let [first, second] = state.globals();
        let mut sum =
            mix(memory.judge_hash(state.judge), u64::from(first) | u64::from(second) << 32);
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            let rest = u64::from(site.flags()) | (i as u64) << 32;
            sum = sum.wrapping_add(mix(memory.nodes.local_hash(site.local), rest));
            if site.owed != 0 {
                sum = sum.wrapping_add(mix(site.owed, rest | 1 << 62));
            }
        }
        // A sum does not depend on the order, which is as it should be on an unordered channel.
        for (rank, packet) in flight::ranked(&state.flight, self.order) {
            let rest = u64::from(packet.envelope()) | rank << 40 | 1 << 63;
            sum = sum.wrapping_add(mix(memory.nodes.message_hash(packet.message), rest));
        }
        sum
    }
}
