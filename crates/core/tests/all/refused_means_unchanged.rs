//! The contract of [`Protocol::step`], for every algorithm of the catalogue: whatever comes, no
//! step panics, a refused input leaves node and outbox as they were, and on the declared channel
//! honest nodes never refuse each other.
//!
//! A failure names its seed; `SKEPTRON_SEED=<seed> cargo test -p skeptron-core --test all
//! refused_means_unchanged` plays that one alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use skeptron_core::catalogue::{self, Info, Order};
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::topology::{Quorums, ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{
    Arbitration, Effect, Entered, Input, Lock, NodeId, Outbox, Protocol, Refused, Setup,
};

use crate::chance::{Chance, chosen_seed};

/// Systems per algorithm and test.
const CASES: u64 = 500;
/// Inputs per system.
const STEPS: usize = 120;
/// How many sent messages are remembered for replays.
const MEMORY: usize = 32;

#[test]
fn whatever_comes_a_refusal_changes_nothing() {
    for info in catalogue::all() {
        let seen = play_all(info, Company::Hostile);
        let all = [seen.entered, seen.busy, seen.not_held, seen.unexpected, seen.garbage];
        assert!(!all.contains(&0) || chosen_seed().is_some(), "{}: {seen:?}", info.name);
    }
}

#[test]
fn honest_nodes_never_refuse_each_other() {
    for info in catalogue::sound() {
        let seen = play_all(info, Company::Honest);
        assert!(seen.entered > 0 || chosen_seed().is_some(), "{}: {seen:?}", info.name);
    }
}

/// Who else is on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// Only nodes and applications that keep the contract, on the channel that is declared.
    Honest,
    /// Also somebody who replays, misdirects and forges, and applications that call at any time.
    Hostile,
}

/// What happened, so that a test that tests nothing is noticed.
#[derive(Debug, Default)]
struct Seen {
    entered: u64,
    busy: u64,
    not_held: u64,
    unexpected: u64,
    garbage: u64,
}

/// Plays every seed, or the chosen one.
fn play_all(info: &'static Info, company: Company) -> Seen {
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
    info: &'static Info,
    company: Company,
    seed: u64,
    seen: &'a mut Seen,
}

impl Visitor for Case<'_> {
    type Output = ();

    fn visit<P: Mutex>(self) {
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
    let everybody = vec![NodeId::all(n).collect(); n];
    let readers = NodeId::all(chance.below(n + 1)).collect();
    let (_, kind) = *chance.pick(&ReadWriteKind::ALL);
    let system = ReadWrite::of_kind(kind, n, readers).expect("readers of the system");
    let capacity = if n > 2 { 1 + chance.below(n - 1) } else { 1 };
    Setup::new(n)
        .and_then(|setup| setup.with_coordinator(NodeId::new(chance.below(n))))
        .and_then(|setup| setup.with_quorums(Quorums::new(everybody).expect("all sets meet")))
        .and_then(|setup| setup.with_structure(Structure::ricart_agrawala(n)))
        .and_then(|setup| setup.with_tree(Tree::balanced(n, 2)))
        .and_then(|setup| setup.with_read_write(system))
        .and_then(|setup| setup.with_capacity(capacity))
        .expect("every layout is for n nodes")
        .with_arbitration(*chance.pick(&Arbitration::ALL))
}

/// A message with its sender and receiver.
type Letter<P> = (NodeId, NodeId, <P as Protocol>::Message);

struct System<'a, P: Mutex> {
    nodes: Vec<P>,
    order: Order,
    in_flight: Vec<Letter<P>>,
    /// What was sent of late, delivered or not.
    sent: Vec<Letter<P>>,
    /// Every input with its result, for the report of a failure.
    story: Vec<String>,
    seen: &'a mut Seen,
}

impl<P: Mutex> System<'_, P> {
    /// What a correct driver does: the channel keeps its promises, and an application that is
    /// refused has called too early.
    fn honest_step(&mut self, chance: &mut Chance) {
        match chance.below(10) {
            0 | 1 => self.command(chance, Lock::Request),
            2 | 3 => self.command(chance, Lock::Release),
            _ => {
                if let Some((from, to, message)) = self.next_letter(chance) {
                    let result = self.step(to, Input::Deliver { from, message });
                    assert_eq!(result, Ok(()), "an honest message was refused\n{}", self.report());
                }
            }
        }
    }

    fn hostile_step(&mut self, chance: &mut Chance) {
        let node = self.anybody(chance);
        let letter = match chance.below(16) {
            0 | 1 => return self.command(chance, Lock::Request),
            2 | 3 => return self.command(chance, Lock::Release),
            4 | 5 => self.old_letter(chance),
            6 => self.old_letter(chance).map(|(_, to, message)| {
                let from = self.stranger(to, chance);
                (from, to, message)
            }),
            7 => self.old_letter(chance).map(|(from, _, message)| (from, node, message)),
            8 => self.garbage(chance).map(|message| (self.anybody(chance), node, message)),
            9 => self.bent_letter(chance),
            _ => self.next_letter(chance),
        };
        if let Some((from, to, message)) = letter {
            let _ = self.step(to, Input::Deliver { from, message });
        }
    }

    fn anybody(&self, chance: &mut Chance) -> NodeId {
        NodeId::new(chance.below(self.nodes.len()))
    }

    /// The node itself, or one that does not exist.
    fn stranger(&self, to: NodeId, chance: &mut Chance) -> NodeId {
        let n = self.nodes.len();
        *chance.pick(&[to, NodeId::new(n), NodeId::new(n + 7), NodeId::new(u32::MAX as usize - 1)])
    }

    fn command(&mut self, chance: &mut Chance, command: Lock) {
        let node = self.anybody(chance);
        let _ = self.step(node, Input::Command(command));
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

    /// A message that was sent, with a bit, a byte or a number of it changed on the way.
    fn bent_letter(&mut self, chance: &mut Chance) -> Option<Letter<P>> {
        let (from, to, message) = self.old_letter(chance)?;
        let mut bytes = postcard::to_stdvec(&message).expect("a message can be written");
        let at = chance.below(bytes.len());
        match chance.below(3) {
            0 => bytes[at] ^= 1 << chance.below(8),
            1 => bytes[at] = chance.byte(),
            _ => {
                // The largest numbers take many bytes, which no change of one byte makes.
                let huge = *chance.pick(&[u64::MAX, u64::from(u32::MAX) - 1, 1 << 62]);
                bytes.splice(at..=at, postcard::to_stdvec(&huge).expect("a number can be written"));
            }
        }
        Some((from, to, self.decode(&bytes)?))
    }

    /// Whatever a few random bytes happen to mean.
    fn garbage(&mut self, chance: &mut Chance) -> Option<P::Message> {
        let bytes: Vec<u8> = (0..1 + chance.below(24)).map(|_| chance.byte()).collect();
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
        out.emit(Entered);
        self.story.push(format!("{node} {input:?}"));
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            let result = self.nodes[node.index()].step(input, &mut out);
            (result, out)
        }));
        let Ok((result, mut out)) = stepped else { panic!("a step panicked\n{}", self.report()) };
        if let Err(refused) = result {
            self.story.push(format!("  {refused}"));
            let after = &self.nodes[node.index()];
            assert_eq!(*after, before, "a refusal changed the node\n{}", self.report());
            assert_eq!(out.effects().len(), 1, "a refusal added effects\n{}", self.report());
        }
        match result {
            Ok(()) => {}
            Err(Refused::Busy) => self.seen.busy += 1,
            Err(Refused::NotHeld) => self.seen.not_held += 1,
            Err(Refused::Unexpected(_)) => self.seen.unexpected += 1,
        }
        let mut effects = out.drain();
        let first = effects.next();
        assert_eq!(first, Some(Effect::Emit(Entered)), "what was in the outbox stays there");
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.post(node, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone());
                    }
                }
                Effect::Emit(Entered) => self.seen.entered += 1,
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        result
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        let known = to.index() < self.nodes.len() && to != from;
        assert!(known, "{from} sends to {to}, which is no other node\n{}", self.report());
        if self.sent.len() == MEMORY {
            self.sent.remove(0);
        }
        self.sent.push((from, to, message.clone()));
        self.in_flight.push((from, to, message));
    }

    fn report(&self) -> String {
        format!("after:\n{}", self.story.join("\n"))
    }
}
