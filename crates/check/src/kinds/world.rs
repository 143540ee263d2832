//! What can happen in a system with kinds, and what comes of it.

use skeptron_core::catalogue::{Info, Order};
use skeptron_core::claims::Quantity;
use skeptron_core::monitor::Occupancy;
use skeptron_core::mutex::shared::{InnerVisitor, Shared, dispatch_inner};
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::mutex::{Mode, Mutex, Usage};
use skeptron_core::{Formula, NodeId};

use super::scenario::{KindsError, KindsScenario};
use super::state::{Move, Phase, Site, State};
use crate::flight;
use crate::local::{Action, Event, MessageId, NodeTable, Nodes, Numbers};
use crate::memory::Memory;
use crate::model::{Enabled, Model, mix};
use crate::property::{Properties, Property};
use crate::state::Packet;

/// What it does, and in which mode: 0 for shared.
impl Numbers for Access {
    fn of_number(number: u8) -> Self {
        let mode = Mode::permits(u32::from(number >> 3)).unwrap_or(Mode::SHARED);
        match number & 7 {
            0 => Access::Enter(mode),
            1 => Access::Leave(mode),
            2 => Access::Upgrade(mode),
            3 => Access::Downgrade(mode),
            4 => Access::CancelEnter,
            _ => Access::CancelUpgrade,
        }
    }
}

fn command(access: Access) -> Event {
    let (number, mode) = match access {
        Access::Enter(mode) => (0, mode),
        Access::Leave(mode) => (1, mode),
        Access::Upgrade(mode) => (2, mode),
        Access::Downgrade(mode) => (3, mode),
        Access::CancelEnter => (4, Mode::SHARED),
        Access::CancelUpgrade => (5, Mode::SHARED),
    };
    let mode = if mode == Mode::SHARED { 0 } else { mode.most() as u8 };
    Event::Command(number | mode << 3)
}

struct Build<'a>(&'a str, &'a KindsScenario);

impl InnerVisitor for Build<'_> {
    type Output = Result<Box<dyn Nodes<AccessEvent>>, KindsError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let nodes = Shared::<P>::build(self.0, &self.1.setup, self.1.flaw)?;
        Ok(Box::new(NodeTable::new(nodes)))
    }
}

/// The rules of the model.
pub(super) struct World {
    pub(super) nodes: usize,
    order: Order,
    usages: Vec<Vec<Usage>>,
    at_once: usize,
    node_table: Box<dyn Nodes<AccessEvent>>,
    pub(super) start: State,
    judged: Properties,
    pub(super) most_messages: f64,
}

impl World {
    pub(super) fn new(info: &Info, scenario: &KindsScenario) -> Result<Self, KindsError> {
        scenario.check(info)?;
        let built = dispatch_inner(info, Build(info.name, scenario));
        let node_table = built.unwrap_or(Err(KindsError::NotOffered(info.name)))?;
        let n = node_table.len();
        let keeps_assumptions = info.channel == Order::Any || scenario.order == Order::Fifo;
        let judged = Property::MUTEX.iter().copied().filter(|property| match property {
            Property::Exclusion | Property::Progress | Property::Fence => true,
            // The algorithm orders requests by its own messages; it does not hear ASK and LEFT.
            Property::Order => false,
            _ => keeps_assumptions,
        });
        let mut start = State::empty();
        (0..n).for_each(|i| start.sites[i].local = i as u32);
        let mut world = World {
            nodes: n,
            order: scenario.order,
            usages: scenario.usages.clone(),
            at_once: scenario.at_once.into(),
            node_table,
            start: State::empty(),
            judged: judged.collect(),
            most_messages: most_messages(info.claims.most(Quantity::Messages), scenario),
        };
        let mut memory = Memory::new(&*world.node_table, false);
        for node in 0..n {
            world.give(&mut memory, &mut start, node, Event::Start, &mut Properties::default());
        }
        drop(memory);
        world.start = start;
        Ok(world)
    }

    /// The mode in which a request is inside; none if it is not.
    fn mode_inside(&self, site: &Site, node: usize, slot: usize) -> Option<Mode> {
        match site.slots[slot].phase {
            Phase::Todo | Phase::Waiting | Phase::Done => None,
            Phase::Inside | Phase::Upgrading => Some(self.usages[node][slot].mode),
            Phase::Exclusive => Some(Mode::EXCLUSIVE),
            Phase::Lowered => Some(Mode::SHARED),
        }
    }

    pub(super) fn inside(&self, state: &State) -> Occupancy {
        let mut occupancy = Occupancy::default();
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            for slot in 0..self.usages[i].len() {
                if let Some(mode) = self.mode_inside(site, i, slot) {
                    occupancy.enter(NodeId::new(i), mode);
                }
            }
        }
        occupancy
    }

    fn give(
        &self,
        memory: &mut Memory<'_, AccessEvent>,
        state: &mut State,
        node: usize,
        event: Event,
        found: &mut Properties,
    ) {
        let outcome = memory.take(state.sites[node].local, event);
        state.sites[node].local = outcome.local;
        if outcome.refused {
            found.insert(Property::Refused);
        }
        for &action in memory.actions(&outcome) {
            match action {
                Action::Send { to, message } => self.send(state, node, to, message),
                Action::Emit(event) => self.tell(state, node, event, found),
            }
        }
    }

    fn send(&self, state: &mut State, from: usize, to: u8, message: MessageId) {
        state.sent = state.sent.saturating_add(1);
        let fence = state.sites[from].fence;
        let packet = Packet { from: from as u8, to, message, fence, known: 0 };
        flight::launch(&mut state.flight, self.order, packet);
    }

    fn tell(&self, state: &mut State, node: usize, event: AccessEvent, found: &mut Properties) {
        let site = &mut state.sites[node];
        let wanted = if event == AccessEvent::Entered { Phase::Waiting } else { Phase::Upgrading };
        let Some(slot) = site.find(wanted) else {
            found.insert(Property::Exclusion);
            return;
        };
        let usage = self.usages[node][slot];
        site.slots[slot].phase = match event {
            AccessEvent::Entered if usage.mode.is_exclusive() => Phase::Exclusive,
            AccessEvent::Entered | AccessEvent::Denied => Phase::Inside,
            AccessEvent::Upgraded => Phase::Exclusive,
        };
        if event == AccessEvent::Denied {
            return;
        }
        site.fence = site.fence.saturating_add(1);
        if site.fence <= state.highest {
            found.insert(Property::Fence);
        }
        state.highest = state.highest.max(site.fence);
        if self.inside(state).crowded().is_some() {
            found.insert(Property::Exclusion);
        }
    }

    /// The next request of a node, if its user may make one: one waits at a time, none beside an exclusive
    /// one, and no more at once than the scenario says.
    fn next_request(&self, site: &Site, node: usize) -> Option<usize> {
        let slots = &site.slots[..self.usages[node].len()];
        let count =
            |phases: &[Phase]| slots.iter().filter(|slot| phases.contains(&slot.phase)).count();
        let inside = count(&[Phase::Inside, Phase::Upgrading, Phase::Lowered]);
        if count(&[Phase::Waiting, Phase::Exclusive]) > 0 || inside >= self.at_once {
            return None;
        }
        slots.iter().position(|slot| slot.phase == Phase::Todo)
    }

    /// What the user asks of its node.
    pub(super) fn access(&self, state: &State, step: Move) -> Option<(usize, Access)> {
        Some(match step {
            Move::Enter(node, slot) => {
                let mode = self.usages[node as usize][slot as usize].mode;
                (node.into(), Access::Enter(mode))
            }
            Move::Leave(node, slot) => {
                let site = &state.sites[node as usize];
                let mode = self.mode_inside(site, node.into(), slot.into())?;
                (node.into(), Access::Leave(mode))
            }
            Move::Upgrade(node, slot) => {
                (node.into(), Access::Upgrade(self.usages[node as usize][slot as usize].mode))
            }
            Move::Downgrade(node, slot) => {
                let usage = self.usages[node as usize][slot as usize];
                let mode = if usage.downgrades { Mode::SHARED } else { usage.mode };
                (node.into(), Access::Downgrade(mode))
            }
            Move::Cancel(node, slot) => {
                let phase = state.sites[node as usize].slots[slot as usize].phase;
                let enters = phase == Phase::Waiting;
                (node.into(), if enters { Access::CancelEnter } else { Access::CancelUpgrade })
            }
            Move::Deliver(_) => return None,
        })
    }

    fn note(&self, state: &mut State, step: Move) {
        match step {
            Move::Enter(node, slot) => {
                state.sites[node as usize].slots[slot as usize].phase = Phase::Waiting;
            }
            Move::Leave(node, slot) => {
                state.sites[node as usize].slots[slot as usize].phase = Phase::Done;
            }
            Move::Upgrade(node, slot) => {
                let slot = &mut state.sites[node as usize].slots[slot as usize];
                slot.phase = Phase::Upgrading;
                slot.upgraded += 1;
            }
            Move::Downgrade(node, slot) => {
                let downgrades = self.usages[node as usize][slot as usize].downgrades;
                state.sites[node as usize].slots[slot as usize].phase =
                    if downgrades { Phase::Lowered } else { Phase::Inside };
            }
            Move::Cancel(node, slot) => {
                let phase = &mut state.sites[node as usize].slots[slot as usize].phase;
                *phase = if *phase == Phase::Waiting { Phase::Done } else { Phase::Inside };
            }
            Move::Deliver(_) => {}
        }
    }
}

/// How many messages there may be when everybody is served. An access costs what the inner lock costs, an ASK to each
/// other node and an answer; where entries wait for some of those inside to leave, each exit may be told; and
/// an upgrader is answered in each round.
fn most_messages(most: Option<Formula>, scenario: &KindsScenario) -> f64 {
    let others = scenario.setup.nodes() as f64 - 1.0;
    let all = || scenario.usages.iter().flatten();
    let upgrades = scenario.upgrades();
    let told = all().any(|u| !u.mode.is_exclusive() && u.mode != Mode::SHARED);
    let given_up = upgrades && all().any(|usage| usage.cancels);
    let each = 2.0 * others
        + if told { 1.0 } else { 0.0 }
        + if upgrades { others + 2.0 } else { 0.0 }
        + if given_up { 2.0 } else { 0.0 };
    let of_node = |(node, usages): (NodeId, &Vec<Usage>)| {
        let figures = scenario.setup.figures(&[node]);
        let inner = most.map_or(f64::INFINITY, |most| most.value(&figures));
        let accesses: f64 = usages.iter().map(|usage| 1.0 + f64::from(usage.upgrades)).sum();
        accesses * (inner + each)
    };
    NodeId::all(scenario.usages.len()).zip(&scenario.usages).map(of_node).sum()
}

impl Model for World {
    type State = State;
    type Move = Move;
    type Memory<'a> = Memory<'a, AccessEvent>;

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn start(&self) -> &State {
        &self.start
    }

    fn judged(&self) -> Properties {
        self.judged
    }

    /// What users did is in the slots and what was sent is counted; but a downgrade leaves no mark.
    fn knows_depth(&self) -> bool {
        let plain = |usage: &Usage| usage.upgrades == 0 && !usage.downgrades && !usage.cancels;
        self.usages.iter().flatten().all(plain)
    }

    fn bytes(&self) -> usize {
        self.node_table.bytes()
    }

    fn memory(&self, records: bool) -> Memory<'_, AccessEvent> {
        Memory::new(&*self.node_table, records)
    }

    fn memory_bytes(memory: &Memory<'_, AccessEvent>) -> usize {
        memory.bytes()
    }

    fn moves(
        &self,
        _: &mut Memory<'_, AccessEvent>,
        state: &State,
        moves: &mut Vec<Move>,
    ) -> Enabled {
        moves.clear();
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            if let Some(slot) = self.next_request(site, i) {
                moves.push(Move::Enter(i as u8, slot as u8));
            }
            // Nobody must stop waiting for others to be served.
            for (j, usage) in self.usages[i].iter().enumerate() {
                let waits = matches!(site.slots[j].phase, Phase::Waiting | Phase::Upgrading);
                if usage.cancels && waits {
                    moves.push(Move::Cancel(i as u8, j as u8));
                }
            }
        }
        let asking = moves.len();
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            for (j, usage) in self.usages[i].iter().enumerate() {
                let (node, slot) = (i as u8, j as u8);
                let phase = site.slots[j].phase;
                if matches!(phase, Phase::Inside | Phase::Exclusive | Phase::Lowered) {
                    moves.push(Move::Leave(node, slot));
                }
                if phase == Phase::Inside && site.slots[j].upgraded < usage.upgrades {
                    moves.push(Move::Upgrade(node, slot));
                }
                if phase == Phase::Exclusive && (usage.downgrades || usage.upgrades > 0) {
                    moves.push(Move::Downgrade(node, slot));
                }
            }
        }
        let deliverable = flight::deliverable(&state.flight, self.order);
        moves.extend(deliverable.map(|(place, _)| Move::Deliver(place)));
        match moves.len() {
            0 => Enabled::Nothing,
            all if all == asking => Enabled::OnlyRequests,
            _ => Enabled::More,
        }
    }

    fn reduce(&self, _: &mut Memory<'_, AccessEvent>, _: &State, _: &mut Vec<Move>) {}

    fn take(
        &self,
        memory: &mut Memory<'_, AccessEvent>,
        state: &mut State,
        step: Move,
    ) -> Properties {
        let mut found = Properties::default();
        let (node, event) = match step {
            Move::Deliver(place) => {
                let packet = state.flight.remove(place as usize);
                let site = &mut state.sites[packet.to as usize];
                site.fence = site.fence.max(packet.fence);
                (packet.to.into(), Event::Deliver(packet.message))
            }
            step => {
                let access = self.access(state, step);
                let (node, access) = access.expect("a user leaves only what is inside");
                (node, command(access))
            }
        };
        self.note(state, step);
        self.give(memory, state, node, event, &mut found);
        found.and(self.judged)
    }

    fn judge_rest(
        &self,
        memory: &mut Memory<'_, AccessEvent>,
        state: &State,
        enabled: Enabled,
    ) -> Properties {
        let mut found = Properties::default();
        let waits = |site: &Site| site.is_waiting() || site.find(Phase::Upgrading).is_some();
        if state.sites[..self.nodes].iter().any(waits) {
            found.insert(Property::Progress);
        }
        if enabled == Enabled::Nothing && found.is_empty() {
            if f64::from(state.sent) > self.most_messages + 1e-9 {
                found.insert(Property::Messages);
            }
            let is_idle = |site: &Site| {
                let refuses = |access| memory.step(site.local, command(access)).refused;
                let leaves = [Access::Leave(Mode::SHARED), Access::Leave(Mode::EXCLUSIVE)];
                let mut refuses = refuses;
                leaves.into_iter().all(&mut refuses) && !refuses(Access::Enter(Mode::EXCLUSIVE))
            };
            if !(state.flight.is_empty() && state.sites[..self.nodes].iter().all(is_idle)) {
                found.insert(Property::Rest);
            }
        }
        found.and(self.judged)
    }

    fn fingerprint(&self, memory: &mut Memory<'_, AccessEvent>, state: &State) -> u64 {
        let mut sum = mix(u64::from(state.sent), u64::from(state.highest));
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            let users = u64::from(site.code()) | u64::from(site.fence) << 32 | (i as u64) << 40;
            sum = sum.wrapping_add(mix(memory.local_hash(site.local), users));
        }
        // A sum does not depend on the order, which is as it should be on an unordered channel.
        for (rank, packet) in flight::ranked(&state.flight, self.order) {
            let rest = u64::from(packet.from)
                | u64::from(packet.to) << 8
                | u64::from(packet.fence) << 16
                | rank << 40
                | 1 << 63;
            sum = sum.wrapping_add(mix(memory.message_hash(packet.message), rest));
        }
        sum
    }
}
