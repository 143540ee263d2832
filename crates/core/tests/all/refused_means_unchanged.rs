//! The contract of [`Protocol::step`](skeptron_core::Protocol::step), for every algorithm of the catalogue: whatever comes, no
//! step panics, a refused input leaves node and outbox as they were, and on the declared channel
//! honest nodes never refuse each other.
//!
//! A failure names its seed; `SKEPTRON_SEED=<seed> cargo test -p skeptron-core --test all
//! refused_means_unchanged` plays that one alone.

use skeptron_core::catalogue::{self, Info};
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::topology::{Quorums, ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{Arbitration, Entered, Input, Lock, NodeId, Refused, Setup};

use crate::chance::{Chance, chosen_seed};
use crate::network::{Company, Network, play_seeds};

/// Systems per algorithm and test.
const CASES: u64 = 500;
/// Inputs per system.
const STEPS: usize = 120;

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

#[test]
fn alone_a_node_enters_at_once() {
    struct Alone(&'static Info);

    impl Visitor for Alone {
        type Output = ();

        fn visit<P: Mutex>(self) {
            let nodes = P::build(self.0.name, &setup(1, &mut Chance::new(0))).unwrap();
            let mut network = Network::new(nodes, self.0.channel, Company::Honest);
            let mut step = |input| network.step(NodeId::new(0), input, Entered).unwrap().len();
            let inputs = [Lock::Request, Lock::Release, Lock::Request].map(Input::Command);
            assert_eq!(step(Input::Start), 0);
            assert_eq!(inputs.map(step), [1, 0, 1], "{}", self.0.name);
            assert!(network.in_flight.is_empty(), "{}", self.0.name);
        }
    }

    for info in catalogue::sound() {
        dispatch(info, Alone(info));
    }
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

fn play_all(info: &'static Info, company: Company) -> Seen {
    let mut seen = Seen::default();
    play_seeds(CASES, info.name, company, |seed| {
        dispatch(info, Case { info, company, seed, seen: &mut seen });
    });
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
        let mut chance = Chance::new(self.seed);
        let setup = setup(1 + chance.below(5), &mut chance);
        let nodes = P::build(self.info.name, &setup).expect("the setup has every layout");
        let network = Network::new(nodes, self.info.channel, self.company);
        let mut system = System::<P> { network, seen: self.seen };
        for node in NodeId::all(setup.nodes()) {
            system.step(node, Input::Start).expect("a node starts");
        }
        for _ in 0..STEPS {
            match self.company {
                Company::Honest => system.honest_step(&mut chance),
                Company::Hostile => system.hostile_step(&mut chance),
            }
        }
        system.seen.garbage += system.network.garbage;
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

struct System<'a, P: Mutex> {
    network: Network<P>,
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
                if let Some((from, to, message)) = self.network.next_message(chance) {
                    let result = self.step(to, Input::Deliver { from, message });
                    let report = || self.network.report();
                    assert_eq!(result, Ok(()), "an honest message was refused\n{}", report());
                }
            }
        }
    }

    fn hostile_step(&mut self, chance: &mut Chance) {
        let message = match chance.below(16) {
            0 | 1 => return self.command(chance, Lock::Request),
            2 | 3 => return self.command(chance, Lock::Release),
            4..=9 => self.network.forged_message(
                chance,
                &[u64::MAX, u64::from(u32::MAX) - 1, 1 << 62],
                24,
            ),
            _ => self.network.next_message(chance),
        };
        if let Some((from, to, message)) = message {
            let _ = self.step(to, Input::Deliver { from, message });
        }
    }

    fn command(&mut self, chance: &mut Chance, command: Lock) {
        let node = self.network.anybody(chance);
        let _ = self.step(node, Input::Command(command));
    }

    fn step(&mut self, node: NodeId, input: Input<P>) -> Result<(), Refused> {
        let result = self.network.step(node, input, Entered);
        match &result {
            Ok(events) => self.seen.entered += events.len() as u64,
            Err(Refused::Busy) => self.seen.busy += 1,
            Err(Refused::NotHeld) => self.seen.not_held += 1,
            Err(Refused::Unexpected(_)) => self.seen.unexpected += 1,
        }
        result.map(drop)
    }
}
