//! The contract of elections, for every variant of the catalogue: whatever comes, no step panics, a
//! refused input leaves node and outbox as they were, epochs never fall, memory stays small, and on the
//! declared channel honest nodes never refuse each other.
//!
//! A failure names its seed; `SKEPTRON_SEED=<seed> cargo test -p skeptron-core --test all
//! elections_keep_the_contract` plays that one alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use skeptron_core::catalogue::{self, ElectionInfo, Order};
use skeptron_core::election::{Election, Visitor, dispatch};
use skeptron_core::topology::{Graph, Ring};
use skeptron_core::{
    Effect, Elected, Epoch, Input, NodeId, Notice, Outbox, Protocol, Refused, Setup,
};

use crate::chance::{Chance, chosen_seed};

/// Systems per algorithm and test.
const CASES: u64 = 400;
/// Inputs per system.
const STEPS: usize = 150;
/// How many sent messages and armed alarms are remembered for replays.
const MEMORY: usize = 32;
/// More bytes than a node of the largest system may ever need.
const MOST_BYTES: usize = 400;

/// Stands in the outbox before each step, and must stand there still after it.
const BEFORE: Elected = Elected { leader: NodeId::new(0), epoch: Epoch::FIRST };

#[test]
fn whatever_comes_a_refusal_changes_nothing() {
    for info in catalogue::elections() {
        let seen = play_all(info, Company::Hostile);
        let all = [seen.elected, seen.unexpected, seen.garbage, seen.returned];
        assert!(!all.contains(&0) || chosen_seed().is_some(), "{}: {seen:?}", info.name);
    }
}

#[test]
fn honest_nodes_never_refuse_each_other() {
    for info in catalogue::elections().filter(|info| info.broken.is_none()) {
        let seen = play_all(info, Company::Honest);
        let all = [seen.elected, seen.returned];
        assert!(!all.contains(&0) || chosen_seed().is_some(), "{}: {seen:?}", info.name);
    }
}

/// Who else is on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// Nodes that keep the contract, on the channel that is declared; they crash and come back, alarms
    /// ring at any time, and detectors err.
    Honest,
    /// Also somebody who replays, misdirects and forges, on a channel that keeps no order.
    Hostile,
}

/// What happened, so that a test that tests nothing is noticed.
#[derive(Debug, Default)]
struct Seen {
    elected: u64,
    unexpected: u64,
    garbage: u64,
    returned: u64,
}

/// Plays every seed, or the chosen one.
fn play_all(info: &'static ElectionInfo, company: Company) -> Seen {
    let mut seen = Seen::default();
    for seed in chosen_seed().map_or(0..=CASES - 1, |seed| seed..=seed) {
        let case = Case { info, company, seed, seen: &mut seen };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| dispatch(info, case))) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let why = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            panic!("{} in {company:?} company, SKEPTRON_SEED={seed}: {why}", info.name);
        }
    }
    seen
}

struct Case<'a> {
    info: &'static ElectionInfo,
    company: Company,
    seed: u64,
    seen: &'a mut Seen,
}

impl Visitor for Case<'_> {
    type Output = ();

    fn visit<P: Election>(self) {
        let mut chance = Chance(self.seed);
        let setup = setup(1 + chance.below(5), &mut chance);
        let mut system = System::<P> {
            nodes: P::build(self.info.name, &setup).expect("the setup has every layout"),
            order: match self.company {
                Company::Honest => self.info.channel,
                Company::Hostile => Order::Any,
            },
            in_flight: Vec::new(),
            sent: Vec::new(),
            armed: vec![Vec::new(); setup.nodes()],
            rung: Vec::new(),
            story: Vec::new(),
            seen: self.seen,
        };
        for node in NodeId::all(setup.nodes()) {
            system.step(node, Input::Start).expect("a node starts");
        }
        for _ in 0..STEPS {
            match self.company {
                Company::Honest => system.honest_step(&mut chance),
                Company::Hostile => system.hostile_step(&mut chance),
            }
        }
    }
}

/// A system with every layout there is, for an algorithm takes what it needs.
fn setup(n: usize, chance: &mut Chance) -> Setup {
    let mut order: Vec<NodeId> = NodeId::all(n).collect();
    for i in (1..n).rev() {
        order.swap(i, chance.below(i + 1));
    }
    let mut links: Vec<_> = order.windows(2).map(|pair| (pair[0], pair[1])).collect();
    if chance.below(2) == 0 {
        links.extend(order.iter().skip(2).map(|&node| (order[0], node)));
    }
    Setup::new(n)
        .and_then(|setup| setup.with_graph(Graph::of_links(n, links).expect("it is connected")))
        .and_then(|setup| setup.with_ring(Ring::new(order).expect("all nodes, once each")))
        .expect("every layout is for n nodes")
}

/// A message with its sender and receiver.
type Letter<P> = (NodeId, NodeId, <P as Protocol>::Message);

struct System<'a, P: Election> {
    nodes: Vec<P>,
    order: Order,
    in_flight: Vec<Letter<P>>,
    /// What was sent of late, delivered or not.
    sent: Vec<Letter<P>>,
    /// The alarms of each node that may ring.
    armed: Vec<Vec<P::Timer>>,
    /// What any node armed of late.
    rung: Vec<P::Timer>,
    /// Every input with its result, for the report of a failure.
    story: Vec<String>,
    seen: &'a mut Seen,
}

impl<P: Election> System<'_, P> {
    fn honest_step(&mut self, chance: &mut Chance) {
        let node = self.anybody(chance);
        let input = match chance.below(20) {
            0 | 1 => Input::Command(Notice::Call),
            2 => Input::Command(Notice::Suspect(self.anybody(chance))),
            3 | 4 => Input::Command(Notice::Trust(self.anybody(chance))),
            5 => return self.crash_and_return(node),
            6 | 7 => match self.armed[node.index()].pop() {
                Some(timer) => Input::Expire(timer),
                None => return,
            },
            _ => return self.deliver_next(chance),
        };
        let result = self.step(node, input);
        assert_eq!(result, Ok(()), "what the driver says was refused\n{}", self.report());
    }

    fn deliver_next(&mut self, chance: &mut Chance) {
        if let Some((from, to, message)) = self.next_letter(chance) {
            let result = self.step(to, Input::Deliver { from, message });
            assert_eq!(result, Ok(()), "an honest message was refused\n{}", self.report());
        }
    }

    fn hostile_step(&mut self, chance: &mut Chance) {
        let node = self.anybody(chance);
        let letter = match chance.below(24) {
            0 | 1 => return self.tell(node, Notice::Call),
            2 => return self.tell(node, Notice::Suspect(self.whoever(chance))),
            3 => return self.tell(node, Notice::Trust(self.whoever(chance))),
            4 => return self.crash_and_return(node),
            5 | 6 => return self.ring(node, chance),
            7 | 8 => self.old_letter(chance),
            9 => self.old_letter(chance).map(|(_, to, message)| {
                let from = self.stranger(to, chance);
                (from, to, message)
            }),
            10 => self.old_letter(chance).map(|(from, _, message)| (from, node, message)),
            11 | 12 => self.garbage(chance).map(|message| (self.anybody(chance), node, message)),
            13 | 14 => self.bent_letter(chance),
            15 => return self.tell(node, Notice::Drawn(chance.below(5) as u32)),
            _ => self.next_letter(chance),
        };
        if let Some((from, to, message)) = letter {
            let _ = self.step(to, Input::Deliver { from, message });
        }
    }

    fn tell(&mut self, node: NodeId, notice: Notice) {
        let _ = self.step(node, Input::Command(notice));
    }

    /// Rings an alarm that somebody armed once, whether this node did or not.
    fn ring(&mut self, node: NodeId, chance: &mut Chance) {
        if !self.rung.is_empty() {
            let timer = chance.pick(&self.rung).clone();
            self.armed[node.index()].retain(|armed| *armed != timer);
            let _ = self.step(node, Input::Expire(timer));
        }
    }

    /// What is in flight to it is lost, and of itself all but the epoch.
    fn crash_and_return(&mut self, node: NodeId) {
        self.seen.returned += 1;
        self.story.push(format!("{node} crashes and comes back"));
        self.in_flight.retain(|&(_, to, _)| to != node);
        self.armed[node.index()].clear();
        let before = self.nodes[node.index()].epoch();
        self.nodes[node.index()] = self.nodes[node.index()].recovered();
        let after = self.nodes[node.index()].epoch();
        assert!(after >= before, "the epoch is in stable storage\n{}", self.report());
        for input in [Input::Start, Input::Command(Notice::Call)] {
            assert_eq!(self.step(node, input), Ok(()), "it comes back\n{}", self.report());
        }
    }

    fn anybody(&self, chance: &mut Chance) -> NodeId {
        NodeId::new(chance.below(self.nodes.len()))
    }

    /// A node, or one that does not exist.
    fn whoever(&self, chance: &mut Chance) -> NodeId {
        let node = self.anybody(chance);
        if chance.below(3) == 0 { self.stranger(node, chance) } else { node }
    }

    /// The node itself, or one that does not exist.
    fn stranger(&self, to: NodeId, chance: &mut Chance) -> NodeId {
        let n = self.nodes.len();
        *chance.pick(&[to, NodeId::new(n), NodeId::new(n + 7), NodeId::new(u32::MAX as usize - 1)])
    }

    /// Takes a message from the network: the oldest of its link where the channel is ordered.
    fn next_letter(&mut self, chance: &mut Chance) -> Option<Letter<P>> {
        if self.in_flight.is_empty() {
            return None;
        }
        let mut at = chance.below(self.in_flight.len());
        if self.order == Order::Fifo {
            let link = |letter: &Letter<P>| (letter.0, letter.1);
            let drawn = link(&self.in_flight[at]);
            at = self.in_flight.iter().position(|letter| link(letter) == drawn).unwrap_or(at);
        }
        Some(self.in_flight.remove(at))
    }

    /// A message that was sent some time.
    fn old_letter(&self, chance: &mut Chance) -> Option<Letter<P>> {
        if self.sent.is_empty() { None } else { Some(chance.pick(&self.sent).clone()) }
    }

    /// A message that was sent, with a byte or a number of it changed on the way: absurd rounds and ids.
    fn bent_letter(&mut self, chance: &mut Chance) -> Option<Letter<P>> {
        let (from, to, message) = self.old_letter(chance)?;
        let mut bytes = postcard::to_stdvec(&message).expect("a message can be written");
        let at = chance.below(bytes.len());
        match chance.below(3) {
            0 => bytes[at] = chance.byte(),
            _ => {
                // The largest numbers take many bytes, which no change of one byte makes.
                let huge = *chance.pick(&[u32::MAX, u32::MAX - 1, u32::MAX / 2, 1 << 20]);
                bytes.splice(at..=at, postcard::to_stdvec(&huge).expect("a number can be written"));
            }
        }
        Some((from, to, self.decode(&bytes)?))
    }

    /// Whatever a few random bytes happen to mean.
    fn garbage(&mut self, chance: &mut Chance) -> Option<P::Message> {
        let bytes: Vec<u8> = (0..1 + chance.below(200)).map(|_| chance.byte()).collect();
        self.decode(&bytes)
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<P::Message> {
        let message = postcard::take_from_bytes(bytes).ok().map(|(message, _rest)| message);
        self.seen.garbage += u64::from(message.is_some());
        message
    }

    /// One step of one node, with all that is promised of it.
    fn step(&mut self, node: NodeId, input: Input<P>) -> Result<(), Refused> {
        let before = self.nodes[node.index()].clone();
        let mut out = Outbox::new();
        out.emit(BEFORE);
        self.story.push(format!("{node} {input:?}"));
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            let result = self.nodes[node.index()].step(input, &mut out);
            (result, out)
        }));
        let Ok((result, mut out)) = stepped else { panic!("a step panicked\n{}", self.report()) };
        let after = &self.nodes[node.index()];
        if let Err(refused) = result {
            self.story.push(format!("  {refused}"));
            assert_eq!(*after, before, "a refusal changed the node\n{}", self.report());
            assert_eq!(out.effects().len(), 1, "a refusal added effects\n{}", self.report());
            self.seen.unexpected += 1;
        }
        assert!(after.epoch() >= before.epoch(), "the epoch has fallen\n{}", self.report());
        let bytes = postcard::to_stdvec(after).expect("a node can be written").len();
        assert!(bytes <= MOST_BYTES, "a node takes {bytes} bytes\n{}", self.report());
        let mut effects = out.drain();
        assert_eq!(
            effects.next(),
            Some(Effect::Emit(BEFORE)),
            "what was in the outbox stays there"
        );
        for effect in effects {
            self.effect(node, effect);
        }
        if let Some(most) = self.nodes[node.index()].draws() {
            let drawn = 1 + self.story.len() as u32 % most;
            let taken = self.step(node, Input::Command(Notice::Drawn(drawn)));
            assert_eq!(taken, Ok(()), "a number that was asked for\n{}", self.report());
            assert_eq!(self.nodes[node.index()].draws(), None, "it has it\n{}", self.report());
        }
        result
    }

    fn effect(&mut self, node: NodeId, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message } => self.post(node, to, message),
            Effect::Broadcast { message } => {
                for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                    self.post(node, to, message.clone());
                }
            }
            Effect::Emit(Elected { leader, .. }) => {
                let known = leader.index() < self.nodes.len();
                assert!(known, "{leader} is named, which is no node\n{}", self.report());
                self.seen.elected += 1;
            }
            Effect::Arm { timer, after } => {
                assert!(after > 0, "an alarm takes a while\n{}", self.report());
                let armed = &mut self.armed[node.index()];
                armed.retain(|other| *other != timer);
                armed.push(timer.clone());
                remember(&mut self.rung, timer);
            }
            Effect::Disarm(timer) => self.armed[node.index()].retain(|other| *other != timer),
        }
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        let known = to.index() < self.nodes.len() && to != from;
        assert!(known, "{from} sends to {to}, which is no other node\n{}", self.report());
        remember(&mut self.sent, (from, to, message.clone()));
        self.in_flight.push((from, to, message));
    }

    fn report(&self) -> String {
        format!("after:\n{}", self.story.join("\n"))
    }
}

/// Keeps the latest few.
fn remember<T>(memory: &mut Vec<T>, new: T) {
    if memory.len() == MEMORY {
        memory.remove(0);
    }
    memory.push(new);
}
