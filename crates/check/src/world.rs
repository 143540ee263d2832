//! A system in all its detail: nodes, users, messages in flight, budgets for faults, and what the
//! judges must remember. What can happen next, and what comes of it.

use std::sync::Arc;

use skeptron_core::catalogue::{Info, Order};
use skeptron_core::claims::Quantity;
use skeptron_core::monitor::Admission;
use skeptron_core::{Entered, NodeId};

use crate::beginning::node_table;
use crate::extreme::{Figure, Sought};
use crate::flight;
use crate::local::{Action, Event, MessageId, Nodes, RELEASE, REQUEST};
use crate::memory::Memory;
use crate::model::{Enabled, Model, mix};
use crate::normal::normalise;
use crate::predicate::Predicate;
use crate::prefix::Already;
use crate::property::{Properties, Property, Step};
use crate::reduction::reduce;
use crate::scenario::{CrashWhen, Scenario, ScenarioError};
use crate::state::{Budget, Move, Packet, Site, State, User};

/// What a search keeps in its states besides what the nodes know. Each of them multiplies the states,
/// so it is kept only where something depends on it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The highest fence that was heard of.
    pub(crate) fences: bool,
    /// Who waited already when a request was made, instead of what happened before it.
    pub(crate) by_time: bool,
    /// How many others entered during each wait, up to one more than this.
    pub(crate) bypass: Option<u8>,
    /// Users ask again and again.
    pub(crate) endless: Option<Endless>,
    /// What must hold in every state.
    pub(crate) invariant: Option<Arc<Predicate>>,
    /// A figure whose extreme is looked for.
    pub(crate) figure: Option<Sought>,
}

/// Requests without end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endless {
    /// Nobody asks while a link has so many messages in flight.
    pub(crate) per_link: usize,
    /// Whether counters are brought into a form that recurs.
    pub(crate) normal: bool,
}

/// The rules of the model.
pub(crate) struct World {
    pub(crate) nodes: usize,
    pub(crate) order: Order,
    pub(crate) node_table: Box<dyn Nodes<Entered>>,
    pub(crate) start: State,
    /// What is in flight at the start: by link, in the order of sending.
    pub(crate) in_flight: Vec<Packet>,
    /// What has happened before the start, and what that violated.
    pub(crate) after: Vec<Step>,
    pub(crate) already: Vec<Already<State, Packet, Move>>,
    pub(crate) judged: Properties,
    pub(crate) watch: Watch,
    /// Whether the number of messages is part of the state.
    pub(crate) counts_messages: bool,
    /// How many messages may have been sent when everybody is served.
    pub(crate) most_messages: f64,
    /// Who may be inside together.
    pub(crate) admission: Admission,
    /// Whether what is promised is promised from a legitimate state on only.
    pub(crate) stabilises: bool,
    /// Whether nodes are told of crashes.
    pub(crate) has_detector: bool,
    pub(crate) crash_when: CrashWhen,
    pub(crate) victims: u16,
}

impl World {
    /// The world of a catalogued algorithm. Without `only`, what it promises is judged.
    pub(crate) fn new(
        info: &Info,
        scenario: &Scenario,
        watch: Watch,
        only: Option<Properties>,
    ) -> Result<Self, ScenarioError> {
        scenario.check()?;
        match scenario.anywhere {
            true if !info.is_stabilising() => return Err(ScenarioError::NotStabilising(info.name)),
            true if !scenario.after.is_empty() => return Err(ScenarioError::BegunAnywhere),
            _ => {}
        }
        if scenario.faults.suspicions > 0 && !info.has_detector() {
            return Err(ScenarioError::NoDetector(info.name));
        }
        let node_table = node_table(info, &scenario.setup, scenario.anywhere)?;
        let most = info.claims.most(Quantity::Messages);
        let of_node = |node: NodeId| {
            let figures = scenario.setup.figures(&[node]);
            most.map_or(0.0, |most| most.value(&figures) * scenario.asks(node) as f64)
        };
        let bound: f64 = NodeId::all(node_table.len()).map(of_node).sum();
        let is_well_laid = scenario.setup.flaw().is_none()
            && (info.channel == Order::Any || scenario.order == Order::Fifo);
        let keeps_assumptions = !scenario.is_faulty() && is_well_laid;
        let survives = info.has_detector() && scenario.has_only_crashes() && is_well_laid;
        let promised = Property::ALL.into_iter().filter(|property| match property {
            Property::Exclusion | Property::Progress => true,
            Property::Fence => watch.fences,
            Property::Order => info.claims.ordered && keeps_assumptions,
            Property::Messages => most.is_some() && keeps_assumptions,
            Property::Rest => most.is_some() && (keeps_assumptions || survives),
            Property::Refused => keeps_assumptions || survives,
            Property::Closure | Property::Convergence => info.is_stabilising(),
            _ => false,
        });
        // Where requests never end the number of messages tells nothing.
        let bound = most.filter(|_| watch.endless.is_none()).map(|_| bound);
        let judged = only.unwrap_or_else(|| promised.collect());
        let mut world = Self::of_nodes(node_table, scenario, judged, watch, bound);
        world.admission = info.admission(&scenario.setup);
        world.has_detector = info.has_detector();
        if info.is_stabilising() {
            world.stabilises = true;
            world.start.flight.clone_from(&world.in_flight);
            world.start.is_legitimate = world.is_legitimate(&world.start);
        }
        world.advance(&scenario.after)?;
        Ok(world)
    }

    /// The world of any nodes. Without a bound on messages there may be infinitely many.
    pub(crate) fn of_nodes(
        node_table: Box<dyn Nodes<Entered>>,
        scenario: &Scenario,
        judged: Properties,
        watch: Watch,
        most_messages: Option<f64>,
    ) -> Self {
        let n = node_table.len();
        let faults = &scenario.faults;
        let victims = match &faults.victims {
            None => u16::MAX,
            Some(victims) => victims.iter().fold(0, |set, victim| set | 1 << victim.index()),
        };
        let mut start = State::empty();
        start.budget = Budget {
            losses: faults.losses,
            duplicates: faults.duplicates,
            crashes: faults.crashes,
            suspicions: faults.suspicions,
        };
        for (local, &left) in (0..n).zip(&scenario.requests) {
            let left = if watch.endless.is_some() && left > 0 { Site::ENDLESS } else { left };
            start.sites[local] = Site { local: local as u32, left, ..Site::default() };
        }
        let mut world = World {
            nodes: n,
            order: Order::Fifo,
            node_table,
            start: State::empty(),
            in_flight: Vec::new(),
            after: Vec::new(),
            already: Vec::new(),
            judged,
            watch,
            counts_messages: most_messages.is_some(),
            most_messages: most_messages.unwrap_or(f64::INFINITY),
            admission: Admission::ONE,
            stabilises: false,
            has_detector: false,
            crash_when: faults.crash_when,
            victims,
        };
        let mut memory = Memory::new(&*world.node_table, false);
        let mut found = Properties::default();
        if scenario.anywhere {
            start.to_begin = n as u8;
        } else {
            for node in 0..n {
                world.give(&mut memory, &mut start, node, Event::Start, &mut found);
            }
        }
        drop(memory);
        world.order = scenario.order;
        world.begin(start);
        world
    }

    /// How messages in flight are kept: with requests without end in the order of sending, whatever the
    /// channel does, so that a message that is never delivered can be told from one that is sent again; and
    /// where that order tells whether a state is legitimate.
    pub(crate) fn kept(&self) -> Order {
        if self.watch.endless.is_some() || self.stabilises { Order::Fifo } else { self.order }
    }

    /// Whether users may ask just now.
    fn may_ask(&self, state: &State) -> bool {
        let Some(endless) = &self.watch.endless else { return true };
        let mut links = state.flight.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to));
        links.all(|link| link.len() < endless.per_link)
    }

    fn nobody_asks_again(&self, state: &State) -> bool {
        state.sites[..self.nodes].iter().all(|site| site.left == 0)
    }

    /// What happened before a request matters only to requests that are still to come.
    fn forget_all(&self, state: &mut State) {
        state.sites[..self.nodes].iter_mut().for_each(|site| site.known = 0);
        state.flight.iter_mut().for_each(|packet| packet.known = 0);
        flight::sort(&mut state.flight, self.kept());
    }

    pub(crate) fn give(
        &self,
        memory: &mut Memory<'_, Entered>,
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
                Action::Emit(Entered) => self.enter(state, node, found),
            }
        }
    }

    fn send(&self, state: &mut State, from: usize, to: u8, message: MessageId) {
        if self.counts_messages {
            state.sent = state.sent.saturating_add(1);
        }
        if state.sites[to as usize].user == User::Down {
            return;
        }
        let Site { fence, known, .. } = state.sites[from];
        let fence = if self.watched_waits(state) { fence.saturating_add(1) } else { fence };
        let packet = Packet { from: from as u8, to, message, fence, known };
        flight::launch(&mut state.flight, self.kept(), packet);
    }

    /// Whether the node whose delay is watched waits.
    fn watched_waits(&self, state: &State) -> bool {
        let whose = self.watch.figure.as_ref().and_then(|sought| sought.figure.delay_of());
        whose.is_some_and(|node| state.sites[node as usize].user == User::Waiting)
    }

    /// From now on messages are counted that come one after another: those in flight are the first.
    fn watch_delay(&self, state: &mut State, fresh: u8) {
        state.sites[..self.nodes].iter_mut().for_each(|site| site.fence = 0);
        state.flight.iter_mut().for_each(|packet| packet.fence = fresh);
        flight::sort(&mut state.flight, self.kept());
    }

    /// A value of the figure whose extreme is looked for.
    fn note(&self, value: u32, found: &mut Properties) {
        if let Some(sought) = &self.watch.figure
            && sought.note(value)
        {
            found.insert(Property::Extreme);
        }
    }

    fn enter(&self, state: &mut State, node: usize, found: &mut Properties) {
        let others_wait = waiting(state, self.nodes) & !(1 << node);
        let admits = self.admits(state, node);
        let site = &mut state.sites[node];
        if site.user != User::Waiting || !admits {
            found.insert(Property::Exclusion);
        }
        let watched = self.watch.figure.as_ref().map(|sought| sought.figure);
        let value = match watched {
            Some(Figure::Delay(whose)) if usize::from(whose) == node => Some(site.fence),
            Some(Figure::Bypass) => Some(site.bypassed),
            _ => None,
        };
        site.user = User::Inside;
        if site.before & others_wait != 0 {
            let by_time = self.watch.by_time;
            found.insert(if by_time { Property::OrderByTime } else { Property::Order });
        }
        if self.watch.fences {
            site.fence = site.fence.saturating_add(1);
            if site.fence <= state.highest {
                found.insert(Property::Fence);
            }
            if self.has_detector {
                site.bypassed = site.fence;
            }
            if !self.stabilises || state.is_legitimate {
                state.highest = state.highest.max(site.fence);
            }
        }
        if let Some(most) = self.watch.bypass {
            state.sites[node].bypassed = 0;
            for waiting in set_of(others_wait) {
                let site = &mut state.sites[waiting];
                site.bypassed = (site.bypassed + 1).min(most.saturating_add(1));
                if site.bypassed > most {
                    found.insert(Property::Bypass);
                }
            }
        }
        if let Some(value) = value {
            self.note(value.into(), found);
            if matches!(watched, Some(Figure::Delay(_))) {
                self.watch_delay(state, 0);
            }
        }
        self.forget(state, node as u8);
    }

    /// The request of `node` is no more: nobody needs to know of it any longer.
    pub(crate) fn forget(&self, state: &mut State, node: u8) {
        if !self.judged.contains(Property::Order) && !self.watch.by_time {
            return;
        }
        let others = !(1 << node);
        for site in &mut state.sites[..self.nodes] {
            site.known &= others;
            site.before &= others;
        }
        state.sites[node as usize].before = 0;
        for packet in &mut state.flight {
            packet.known &= others;
        }
        flight::sort(&mut state.flight, self.kept());
    }
}

impl Model for World {
    type State = State;
    type Move = Move;
    type Memory<'a> = Memory<'a, Entered>;

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn start(&self) -> &State {
        &self.start
    }

    fn judged(&self) -> Properties {
        self.judged
    }

    /// Whether a state tells how many steps lead to it: what was asked and left, and what was sent and
    /// is no longer in flight. A crash takes messages out of flight that nobody counts. (So does an entry
    /// unasked; there a state may be met, and counted, twice.)
    fn knows_depth(&self) -> bool {
        self.counts_messages && self.start.budget.crashes == 0
    }

    fn bytes(&self) -> usize {
        self.node_table.bytes()
    }

    fn memory(&self, records: bool) -> Memory<'_, Entered> {
        Memory::new(&*self.node_table, records)
    }

    fn memory_bytes(memory: &Memory<'_, Entered>) -> usize {
        memory.bytes()
    }

    /// Everything that can happen next. What users ask comes first, what the network and the machines
    /// do wrong comes last.
    fn moves(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &State,
        moves: &mut Vec<Move>,
    ) -> Enabled {
        moves.clear();
        if state.to_begin > 0 {
            self.beginnings(memory, state, moves);
            return Enabled::More;
        }
        let users = || state.sites[..self.nodes].iter().enumerate();
        let may_ask = self.may_ask(state);
        let asks = users().filter(|(_, site)| may_ask && site.user == User::Idle && site.left > 0);
        moves.extend(asks.map(|(i, _)| Move::Request(i as u8)));
        let asking = moves.len();
        let inside = users().filter(|(_, site)| site.user == User::Inside);
        moves.extend(inside.map(|(i, _)| Move::Release(i as u8)));
        let budget = state.budget;
        let deliverable = || flight::deliverable(&state.flight, self.order);
        moves.extend(deliverable().map(|(place, _)| Move::Deliver(place)));
        if self.has_detector {
            self.notices(memory, state, moves, true);
        }
        let sound = moves.len();
        let enabled = match sound {
            0 => Enabled::Nothing,
            sound if sound == asking => Enabled::OnlyRequests,
            _ => Enabled::More,
        };
        if !budget.is_spent() {
            if budget.losses > 0 {
                moves.extend(deliverable().map(|(place, _)| Move::Lose(place)));
            }
            if budget.duplicates > 0 {
                moves.extend(deliverable().map(|(place, _)| Move::Duplicate(place)));
            }
            if budget.crashes > 0 {
                for i in 0..self.nodes {
                    if self.may_crash(memory, state, i) {
                        moves.push(Move::Crash(i as u8));
                    }
                }
            }
            if budget.suspicions > 0 {
                self.notices(memory, state, moves, false);
            }
        }
        enabled
    }

    fn reduce(&self, memory: &mut Memory<'_, Entered>, state: &State, moves: &mut Vec<Move>) {
        reduce(memory, state, moves);
    }

    fn take(&self, memory: &mut Memory<'_, Entered>, state: &mut State, step: Move) -> Properties {
        let mut found = Properties::default();
        let was_legitimate = state.is_legitimate;
        match step {
            Move::Request(node) => {
                let already = waiting(state, self.nodes);
                let site = &mut state.sites[node as usize];
                site.left -= u8::from(site.left != Site::ENDLESS);
                site.user = User::Waiting;
                if self.watch.by_time {
                    site.before = already;
                } else if self.judged.contains(Property::Order) {
                    site.before = site.known;
                    site.known |= 1 << node;
                }
                let figure = self.watch.figure.as_ref().map(|sought| sought.figure);
                if figure == Some(Figure::Delay(node)) {
                    self.watch_delay(state, 1);
                }
                self.give(memory, state, node as usize, REQUEST, &mut found);
            }
            Move::Release(node) => {
                state.sites[node as usize].user = User::Idle;
                self.give(memory, state, node as usize, RELEASE, &mut found);
            }
            Move::Deliver(place) => {
                let packet = state.flight.remove(place as usize);
                let site = &mut state.sites[packet.to as usize];
                site.fence = site.fence.max(packet.fence);
                site.known |= packet.known;
                let event = Event::Deliver(packet.message);
                self.give(memory, state, packet.to as usize, event, &mut found);
            }
            Move::Lose(place) => {
                state.budget.losses -= 1;
                state.flight.remove(place as usize);
            }
            Move::Duplicate(place) => {
                state.budget.duplicates -= 1;
                let packet = state.flight[place as usize];
                state.flight.insert(place as usize, packet);
            }
            Move::Crash(node) => self.crash(state, node),
            Move::Suspect { node, whom } => self.tell(memory, state, (node, whom), &mut found),
            Move::Begin(nth) => self.begin_node(memory, state, nth, &mut found),
        }
        if self.stabilises {
            state.is_legitimate = self.is_legitimate(state);
            if !was_legitimate {
                found = found.without(Property::FROM_LEGITIMATE);
            } else if !state.is_legitimate && !step.is_fault() {
                found.insert(Property::Closure);
            }
        }
        if self.judged.contains(Property::Order) && self.nobody_asks_again(state) {
            self.forget_all(state);
        }
        if self.breaks_invariant(memory, state).is_some() {
            found.insert(Property::Invariant);
        }
        if self.watch.endless.is_some_and(|endless| endless.normal) {
            normalise(memory, state, self.nodes);
        }
        found.and(self.judged)
    }

    /// What is wrong with a state in which nothing more happens, or only if somebody asks: nobody has to,
    /// so whoever waits then waits for ever.
    fn judge_rest(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &State,
        enabled: Enabled,
    ) -> Properties {
        let mut found = Properties::default();
        if waiting(state, self.nodes) != 0 {
            found.insert(Property::Progress);
        }
        if self.stabilises && !state.is_legitimate {
            found.insert(Property::Convergence);
        }
        if enabled != Enabled::Nothing {
            return found.and(self.judged);
        }
        if found.is_empty()
            && self.watch.figure.as_ref().is_some_and(|sought| sought.figure == Figure::Messages)
        {
            self.note(state.sent.into(), &mut found);
            return found.and(self.judged);
        }
        if found.is_empty() && f64::from(state.sent) > self.most_messages + 1e-9 {
            found.insert(Property::Messages);
        }
        let is_idle = |site: &Site| {
            site.user == User::Down
                || !memory.step(site.local, REQUEST).refused
                    && memory.step(site.local, RELEASE).refused
        };
        if found.is_empty()
            && !(state.flight.is_empty() && state.sites[..self.nodes].iter().all(is_idle))
        {
            found.insert(Property::Rest);
        }
        found.and(self.judged)
    }

    fn fingerprint(&self, memory: &mut Memory<'_, Entered>, state: &State) -> u64 {
        let mut sum = mix(u64::from(state.whole()), u64::from(state.budget.code()));
        for (i, site) in state.sites[..self.nodes].iter().enumerate() {
            let local = if site.user == User::Down { 0 } else { memory.local_hash(site.local) };
            let rest = u64::from(site.left)
                | (site.user as u64) << 8
                | u64::from(site.bypassed) << 10
                | u64::from(site.fence) << 16
                | u64::from(site.known) << 24
                | u64::from(site.before) << 40
                | (i as u64) << 56;
            sum = sum.wrapping_add(mix(local, rest));
        }
        // A sum does not depend on the order, which is as it should be on an unordered channel.
        for (rank, packet) in flight::ranked(&state.flight, self.kept()) {
            let rest = u64::from(packet.from)
                | u64::from(packet.to) << 8
                | u64::from(packet.fence) << 16
                | u64::from(packet.known) << 24
                | rank << 40
                | 1 << 63;
            sum = sum.wrapping_add(mix(memory.message_hash(packet.message), rest));
        }
        sum
    }
}

/// The members of a set of nodes.
pub(crate) fn set_of(set: u16) -> impl Iterator<Item = usize> {
    (0..16).filter(move |i| set & 1 << i != 0)
}

/// Who waits.
pub(crate) fn waiting(state: &State, nodes: usize) -> u16 {
    let sites = state.sites[..nodes].iter().enumerate();
    sites.filter(|(_, site)| site.user == User::Waiting).fold(0, |set, (i, _)| set | 1 << i)
}
