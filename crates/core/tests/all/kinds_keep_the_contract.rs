//! The contract of [`Protocol::step`] for locks with kinds, over each inner algorithm: whatever comes, no step
//! panics, a refused input leaves node and outbox as they were, and honest nodes never refuse each other.
//!
//! A failure names its seed; `SKEPTRON_SEED=<seed> cargo test -p skeptron-core --test all
//! kinds_keep_the_contract` plays that one alone.

use skeptron_core::catalogue;
use skeptron_core::monitor::Occupancy;
use skeptron_core::mutex::shared::{InnerVisitor, Shared, SharedMsg, dispatch_inner, offers_kinds};
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::mutex::{Mode, Mutex};
use skeptron_core::{Effect, Input, NodeId, Outbox, Protocol as _, Refused, Setup};

use crate::chance::{Chance, chosen_seed};

const CASES: u64 = 1000;
const STEPS: usize = 200;
const MEMORY: usize = 32;

#[test]
fn whatever_comes_a_refusal_changes_nothing() {
    play_all(true);
}

/// And nobody is ever among more than it tolerates.
#[test]
fn honest_nodes_never_refuse_each_other() {
    play_all(false);
}

fn play_all(hostile: bool) {
    for info in catalogue::sound().filter(|info| offers_kinds(info)) {
        let mut told = 0;
        for seed in chosen_seed().map_or(0..=CASES - 1, |seed| seed..=seed) {
            told += dispatch_inner(info, Case { name: info.name, hostile, seed }).unwrap();
        }
        assert!(told > 0 || chosen_seed().is_some(), "{}: nobody ever entered", info.name);
    }
}

struct Case {
    name: &'static str,
    hostile: bool,
    seed: u64,
}

impl InnerVisitor for Case {
    type Output = usize;

    fn visit<P: Mutex>(self) -> usize {
        let mut chance = Chance(self.seed);
        let setup = Setup::new(1 + chance.below(4)).unwrap();
        let mut system = System::<P> {
            nodes: Shared::build(self.name, &setup, None).unwrap(),
            flight: Vec::new(),
            sent: Vec::new(),
            told: 0,
            which: format!("{} SKEPTRON_SEED={}", self.name, self.seed),
        };
        for node in 0..setup.nodes() {
            system.step(node, Input::Start).unwrap();
        }
        for _ in 0..STEPS {
            if self.hostile {
                system.hostile_step(&mut chance);
            } else {
                system.honest_step(&mut chance);
                system.judge();
            }
        }
        system.told
    }
}

type Letter<P> = (usize, usize, SharedMsg<<P as skeptron_core::Protocol>::Message>);

struct System<P: Mutex> {
    nodes: Vec<Shared<P>>,
    flight: Vec<Letter<P>>,
    /// What was sent of late, delivered or not.
    sent: Vec<Letter<P>>,
    told: usize,
    which: String,
}

impl<P: Mutex> System<P> {
    fn command(&mut self, chance: &mut Chance) {
        let mode = *chance.pick(&[Mode::EXCLUSIVE, Mode::SHARED, Mode::permits(2).unwrap()]);
        let access = *chance.pick(&[
            Access::Enter(mode),
            Access::Enter(mode),
            Access::Leave(mode),
            Access::Leave(mode),
            Access::Upgrade(mode),
            Access::Downgrade(mode),
            Access::CancelEnter,
            Access::CancelUpgrade,
        ]);
        let node = chance.below(self.nodes.len());
        // An application that is refused has called too early.
        let _ = self.step(node, Input::Command(access));
    }

    fn honest_step(&mut self, chance: &mut Chance) {
        if chance.below(3) == 0 || self.flight.is_empty() {
            return self.command(chance);
        }
        let (from, to, message) = self.flight.remove(chance.below(self.flight.len()));
        let taken = self.step(to, Input::Deliver { from: NodeId::new(from), message });
        assert_eq!(taken, Ok(()), "an honest message was refused, {}", self.which);
    }

    fn hostile_step(&mut self, chance: &mut Chance) {
        let n = self.nodes.len();
        let old = (!self.sent.is_empty()).then(|| chance.pick(&self.sent).clone());
        let letter = match (chance.below(10), old) {
            (0..=2, _) => return self.command(chance),
            (3, Some((_, to, message))) => Some((*chance.pick(&[to, n, n + 7]), to, message)),
            (4, Some((from, _, message))) => Some((from, chance.below(n), message)),
            (5, Some((from, to, message))) => bent::<P>(&message, chance).map(|m| (from, to, m)),
            (6, _) => garbage::<P>(chance).map(|m| (chance.below(n), chance.below(n), m)),
            (7, old) => old,
            _ if self.flight.is_empty() => None,
            _ => Some(self.flight.remove(chance.below(self.flight.len()))),
        };
        if let Some((from, to, message)) = letter {
            let _ = self.step(to, Input::Deliver { from: NodeId::new(from), message });
        }
    }

    fn step(&mut self, node: usize, input: Input<Shared<P>>) -> Result<(), Refused> {
        let before = self.nodes[node].clone();
        let mut out = Outbox::new();
        let result = self.nodes[node].step(input, &mut out);
        if result.is_err() {
            assert_eq!(self.nodes[node], before, "a refusal changed the node, {}", self.which);
            assert!(out.effects().is_empty(), "a refusal added effects, {}", self.which);
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.post(node, to.index(), message),
                Effect::Broadcast { message } => {
                    for to in (0..self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone());
                    }
                }
                Effect::Emit(event) => self.told += usize::from(event != AccessEvent::Denied),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        result
    }

    fn post(&mut self, from: usize, to: usize, message: SharedMsg<P::Message>) {
        assert!(to < self.nodes.len() && to != from, "{from} sends to {to}, {}", self.which);
        if self.sent.len() == MEMORY {
            self.sent.remove(0);
        }
        self.sent.push((from, to, message.clone()));
        self.flight.push((from, to, message));
    }

    fn judge(&self) {
        let mut occupancy = Occupancy::default();
        for (node, shared) in NodeId::all(self.nodes.len()).zip(&self.nodes) {
            let sharing = shared.sharing();
            for &mode in sharing.entries() {
                occupancy.enter(node, mode);
            }
            if sharing.is_exclusive() {
                occupancy.enter(node, Mode::EXCLUSIVE);
            }
        }
        assert_eq!(occupancy.crowded(), None, "{}", self.which);
    }
}

/// A message that was sent, with a byte or a number of it changed on the way.
fn bent<P: Mutex>(
    message: &SharedMsg<P::Message>,
    chance: &mut Chance,
) -> Option<SharedMsg<P::Message>> {
    let mut bytes = postcard::to_stdvec(message).unwrap();
    let at = chance.below(bytes.len());
    if chance.below(2) == 0 {
        bytes[at] = chance.byte();
    } else {
        let huge = *chance.pick(&[u64::MAX, u64::from(u32::MAX) - 1, 1 << 62]);
        bytes.splice(at..=at, postcard::to_stdvec(&huge).unwrap());
    }
    postcard::take_from_bytes(&bytes).ok().map(|(message, _)| message)
}

/// Whatever a few random bytes happen to mean.
fn garbage<P: Mutex>(chance: &mut Chance) -> Option<SharedMsg<P::Message>> {
    let bytes: Vec<u8> = (0..1 + chance.below(24)).map(|_| chance.byte()).collect();
    postcard::take_from_bytes(&bytes).ok().map(|(message, _)| message)
}
