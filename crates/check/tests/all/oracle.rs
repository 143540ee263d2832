//! The checker's world once more, written down as plainly as possible for another checker.
//!
//! It knows the nodes by their public contract only and has nothing in common with the search that it
//! judges: states are whole, nothing is numbered, and `stateright` explores them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use skeptron_check::{CrashWhen, Scenario};
use skeptron_core::catalogue::{Info, Order};
use skeptron_core::claims::Quantity;
use skeptron_core::monitor::Admission;
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::{Effect, Entered, Input, Lock, NodeId, Outbox, Protocol};
use stateright::{Checker as _, HasDiscoveries, Model, Property};

/// What the oracle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opinion {
    /// Distinct states.
    pub(crate) states: u64,
    /// Whether nobody enters unasked or beside somebody with whom it may not be inside.
    pub(crate) exclusion: bool,
    /// Whether nobody waits where nothing more happens.
    pub(crate) progress: bool,
    /// Whether requests are served as they happened before each other, where that is watched.
    pub(crate) order: bool,
    /// Whether no node refuses anything.
    pub(crate) accepted: bool,
}

/// Explores everything that can happen, on one thread.
pub(crate) fn explore(info: &Info, scenario: &Scenario) -> Opinion {
    dispatch(info, Explore { info, scenario })
}

struct Explore<'a> {
    info: &'a Info,
    scenario: &'a Scenario,
}

impl Visitor for Explore<'_> {
    type Output = Opinion;

    fn visit<P: Mutex>(self) -> Opinion {
        let world = World::<P>::new(self.info, self.scenario);
        let checker = world.checker().finish_when(HasDiscoveries::All).spawn_bfs().join();
        let found = checker.discoveries();
        let World { uninvited, overtaken, refused, .. } = checker.model();
        Opinion {
            states: checker.unique_state_count() as u64,
            exclusion: !found.contains_key(NO_CROWD) && !uninvited.load(Relaxed),
            progress: !found.contains_key(NOBODY_STUCK),
            order: !overtaken.load(Relaxed),
            accepted: !refused.load(Relaxed),
        }
    }
}

const NO_CROWD: &str = "only those are inside who may be together";
const NOBODY_STUCK: &str = "nobody waits at the end";
/// Never found, so that the search goes on to the end.
const NEVER: &str = "never";

/// The rules of the model.
struct World<P: Protocol> {
    start: State<P>,
    order: Order,
    /// Whether the number of messages is part of a state.
    counts_messages: bool,
    /// Whether it is watched which requests happened before which.
    watches_order: bool,
    admission: Admission,
    /// Whether nodes are told of crashes.
    has_detector: bool,
    // What a step does wrong, since a state does not show it.
    uninvited: AtomicBool,
    overtaken: AtomicBool,
    refused: AtomicBool,
}

/// From whom and to whom.
type Link = (NodeId, NodeId);

/// A moment of the system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State<P: Protocol> {
    /// `None` once it has crashed. Shared between states until it changes, as stateright does it with
    /// its own actors.
    nodes: Vec<Option<Arc<P>>>,
    users: Vec<User>,
    /// Those on which messages are: the oldest first, or sorted where messages may overtake.
    links: BTreeMap<Link, VecDeque<Packet<P>>>,
    /// How many messages were sent so far, if that counts.
    sent: usize,
    losses: u8,
    duplicates: u8,
    crashes: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct User {
    /// How often it will still ask.
    left: u8,
    phase: Phase,
    /// Whose waiting requests happened before now, a bit for each node.
    known: u16,
    /// Whose waiting requests happened before its own.
    before: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Idle,
    Waiting,
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Packet<P: Protocol> {
    message: P::Message,
    /// What its sender knew.
    known: u16,
}

impl<P: Protocol> Packet<P> {
    /// Any fixed order in which only equal packets are equal.
    fn compare(&self, other: &Self) -> Ordering {
        let hash = |packet: &Self| BuildHasherDefault::<DefaultHasher>::default().hash_one(packet);
        match hash(self).cmp(&hash(other)) {
            Ordering::Equal if self != other => format!("{self:?}").cmp(&format!("{other:?}")),
            ordering => ordering,
        }
    }
}

/// Something that can happen next. A message is named by its place on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Request(NodeId),
    Release(NodeId),
    Deliver(Link, usize),
    Lose(Link, usize),
    Duplicate(Link, usize),
    Crash(NodeId),
    /// The failure detector of the one tells that the other has crashed.
    Suspect(NodeId, NodeId),
}

impl<P: Mutex> World<P> {
    fn new(info: &Info, scenario: &Scenario) -> Self {
        let faults = &scenario.faults;
        assert!(
            faults.crash_when == CrashWhen::Any && faults.victims.is_none(),
            "the oracle lets every node crash at any time"
        );
        let nodes = P::build(info.name, &scenario.setup).expect("the scenario has what it needs");
        let users = scenario.requests.iter().map(|&left| User { left, ..User::default() });
        let mut start = State {
            users: users.collect(),
            nodes: nodes.into_iter().map(|node| Some(Arc::new(node))).collect(),
            links: BTreeMap::new(),
            sent: 0,
            losses: faults.losses,
            duplicates: faults.duplicates,
            crashes: faults.crashes,
        };
        let on_its_channel = info.channel == Order::Any || scenario.order == Order::Fifo;
        let mut world = World {
            start: start.clone(),
            order: scenario.order,
            counts_messages: info.claims.most(Quantity::Messages).is_some(),
            watches_order: info.claims.ordered && on_its_channel && faults.is_none(),
            admission: info.admission(&scenario.setup),
            has_detector: info.has_detector(),
            uninvited: AtomicBool::new(false),
            overtaken: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        };
        for node in NodeId::all(start.nodes.len()) {
            world.step(&mut start, node, Input::Start);
        }
        world.start = start;
        world
    }

    /// Gives a node an input and does what it wants done.
    fn step(&self, state: &mut State<P>, me: NodeId, input: Input<P>) {
        let node = state.nodes[me.index()].as_mut().expect("nothing happens to a crashed node");
        let mut out = Outbox::new();
        if Arc::make_mut(node).step(input, &mut out).is_err() {
            self.refused.store(true, Relaxed);
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.send(state, me, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(state.nodes.len()).filter(|&to| to != me) {
                        self.send(state, me, to, message.clone());
                    }
                }
                Effect::Emit(Entered) => self.enter(state, me),
                Effect::Arm { .. } | Effect::Disarm(_) => unreachable!("there are no timers"),
            }
        }
    }

    /// What failure detectors have still to tell: to whom, and of whom.
    fn notices(&self, state: &State<P>) -> Vec<(NodeId, NodeId)> {
        let all = || NodeId::all(state.nodes.len());
        let pairs = all().flat_map(|node| all().map(move |whom| (node, whom)));
        let is_new = |&(node, whom): &(NodeId, NodeId)| {
            let Some(before) = &state.nodes[node.index()] else { return false };
            let mut after = P::clone(before);
            let told = Input::Command(Lock::Suspect(whom));
            state.nodes[whom.index()].is_none()
                && after.step(told, &mut Outbox::new()).is_ok()
                && after != **before
        };
        if self.has_detector { pairs.filter(is_new).collect() } else { Vec::new() }
    }

    fn send(&self, state: &mut State<P>, from: NodeId, to: NodeId, message: P::Message) {
        state.sent += usize::from(self.counts_messages);
        if state.nodes[to.index()].is_some() {
            let known = state.users[from.index()].known;
            state.links.entry((from, to)).or_default().push_back(Packet { message, known });
        }
    }

    fn enter(&self, state: &mut State<P>, me: NodeId) {
        let is_waiting = |user: &User| user.phase == Phase::Waiting;
        let waiting = NodeId::all(state.users.len()).zip(&state.users);
        let waiting = waiting.filter(|(_, user)| is_waiting(user)).map(|(node, _)| bit(node));
        let others_wait = waiting.sum::<u16>() & !bit(me);
        let user = &mut state.users[me.index()];
        if !is_waiting(user) {
            self.uninvited.store(true, Relaxed);
        }
        if user.before & others_wait != 0 {
            self.overtaken.store(true, Relaxed);
        }
        user.phase = Phase::Inside;
        user.before = 0;
        // This request waits no longer, so that nobody needs to know of it.
        for user in &mut state.users {
            user.known &= !bit(me);
            user.before &= !bit(me);
        }
        state.packets().for_each(|packet| packet.known &= !bit(me));
    }
}

impl<P: Protocol> State<P> {
    fn packets(&mut self) -> impl Iterator<Item = &mut Packet<P>> {
        self.links.values_mut().flatten()
    }

    fn take_packet(&mut self, link: Link, nth: usize) -> Packet<P> {
        let queue = self.links.get_mut(&link).expect("an action names a message in flight");
        let packet = queue.remove(nth).expect("an action names a message in flight");
        if queue.is_empty() {
            self.links.remove(&link);
        }
        packet
    }

    /// Whether nothing more happens by itself.
    fn is_quiet(&self) -> bool {
        // Nobody has to ask.
        let leaves = |user: &User| user.phase == Phase::Inside;
        self.links.is_empty() && !self.users.iter().any(leaves)
    }
}

fn bit(node: NodeId) -> u16 {
    1 << node.index()
}

impl<P: Mutex> Model for World<P> {
    type State = State<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<P>> {
        vec![self.start.clone()]
    }

    fn actions(&self, state: &State<P>, actions: &mut Vec<Action>) {
        for (node, user) in NodeId::all(state.users.len()).zip(&state.users) {
            match user.phase {
                Phase::Idle if user.left > 0 => actions.push(Action::Request(node)),
                Phase::Inside => actions.push(Action::Release(node)),
                _ => {}
            }
            if state.crashes > 0 && state.nodes[node.index()].is_some() {
                actions.push(Action::Crash(node));
            }
        }
        let notices = self.notices(state).into_iter();
        actions.extend(notices.map(|(node, whom)| Action::Suspect(node, whom)));
        for (&link, queue) in &state.links {
            for nth in 0..queue.len() {
                // The oldest only, or one of each kind: in a sorted link these stand together.
                let is_next = match self.order {
                    Order::Fifo => nth == 0,
                    Order::Any => nth == 0 || queue[nth] != queue[nth - 1],
                };
                if is_next {
                    actions.push(Action::Deliver(link, nth));
                    actions.extend((state.losses > 0).then_some(Action::Lose(link, nth)));
                    actions.extend((state.duplicates > 0).then_some(Action::Duplicate(link, nth)));
                }
            }
        }
    }

    fn next_state(&self, last: &State<P>, action: Action) -> Option<State<P>> {
        let mut state = last.clone();
        match action {
            Action::Request(node) => {
                let user = &mut state.users[node.index()];
                user.left -= 1;
                user.phase = Phase::Waiting;
                if self.watches_order {
                    user.before = user.known;
                    user.known |= bit(node);
                }
                self.step(&mut state, node, Input::Command(Lock::Request));
            }
            Action::Release(node) => {
                state.users[node.index()].phase = Phase::Idle;
                self.step(&mut state, node, Input::Command(Lock::Release));
            }
            Action::Deliver(link @ (from, to), nth) => {
                let Packet { message, known } = state.take_packet(link, nth);
                state.users[to.index()].known |= known;
                self.step(&mut state, to, Input::Deliver { from, message });
            }
            Action::Lose(link, nth) => {
                state.losses -= 1;
                state.take_packet(link, nth);
            }
            Action::Duplicate(link, nth) => {
                state.duplicates -= 1;
                let queue = state.links.get_mut(&link).expect("a message is in flight");
                queue.insert(nth, queue[nth].clone());
            }
            Action::Crash(node) => {
                state.crashes -= 1;
                state.nodes[node.index()] = None;
                state.users[node.index()] = User::default();
                state.links.retain(|&(_, to), _| to != node);
            }
            Action::Suspect(node, whom) => {
                self.step(&mut state, node, Input::Command(Lock::Suspect(whom)));
            }
        }
        // What happened before a request matters only as long as somebody may still ask.
        if state.users.iter().all(|user| user.left == 0) {
            state.users.iter_mut().for_each(|user| user.known = 0);
            state.packets().for_each(|packet| packet.known = 0);
        }
        if self.order == Order::Any {
            for queue in state.links.values_mut() {
                queue.make_contiguous().sort_by(Packet::compare);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NO_CROWD, |world: &Self, state: &State<P>| {
                let users = NodeId::all(state.users.len()).zip(&state.users);
                let inside = users.filter(|(_, user)| user.phase == Phase::Inside);
                world.admission.admits(&inside.map(|(node, _)| node).collect::<Vec<_>>())
            }),
            Property::always(NOBODY_STUCK, |world: &Self, state: &State<P>| {
                let waits = |user: &User| user.phase == Phase::Waiting;
                let rests = state.is_quiet() && world.notices(state).is_empty();
                !(rests && state.users.iter().any(waits))
            }),
            Property::sometimes(NEVER, |_, _| false),
        ]
    }
}
