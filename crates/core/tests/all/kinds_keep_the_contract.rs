//! The contract of [`Protocol::step`](skeptron_core::Protocol::step) for locks with kinds, over each inner algorithm: whatever comes, no step
//! panics, a refused input leaves node and outbox as they were, and honest nodes never refuse each other.
//!
//! A failure names its seed; `SKEPTRON_SEED=<seed> cargo test -p skeptron-core --test all
//! kinds_keep_the_contract` plays that one alone.

use skeptron_core::catalogue::{self, Info, Order};
use skeptron_core::monitor::Occupancy;
use skeptron_core::mutex::shared::{InnerVisitor, Shared, dispatch_inner, offers_kinds};
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::mutex::{Mode, Mutex};
use skeptron_core::{Effect, Input, NodeId, Refused, Setup};

use crate::chance::{Chance, chosen_seed};
use crate::network::{Company, Network, play_seeds};

const CASES: u64 = 1000;
const STEPS: usize = 200;

#[test]
fn whatever_comes_a_refusal_changes_nothing() {
    play_all(Company::Hostile);
}

/// And nobody is ever among more than it tolerates.
#[test]
fn honest_nodes_never_refuse_each_other() {
    play_all(Company::Honest);
}

fn play_all(company: Company) {
    for info in catalogue::sound().filter(|info| offers_kinds(info)) {
        let mut told = 0;
        play_seeds(CASES, info.name, company, |seed| {
            told += dispatch_inner(info, Case { info, company, seed }).unwrap();
        });
        assert!(told > 0 || chosen_seed().is_some(), "{}: nobody ever entered", info.name);
    }
}

struct Case {
    info: &'static Info,
    company: Company,
    seed: u64,
}

impl InnerVisitor for Case {
    type Output = usize;

    fn visit<P: Mutex>(self) -> usize {
        let mut chance = Chance::new(self.seed);
        let setup = Setup::new(1 + chance.below(4)).unwrap();
        let nodes = Shared::build(self.info.name, &setup, None).unwrap();
        // No algorithm that offers kinds needs an order.
        let network = Network::new(nodes, Order::Any, self.company);
        let mut system = System::<P> { network, told: 0 };
        for node in NodeId::all(setup.nodes()) {
            system.step(node, Input::Start).unwrap();
        }
        for _ in 0..STEPS {
            match self.company {
                Company::Hostile => system.hostile_step(&mut chance),
                Company::Honest => {
                    system.honest_step(&mut chance);
                    system.judge();
                }
            }
        }
        system.told
    }
}

struct System<P: Mutex> {
    network: Network<Shared<P>>,
    told: usize,
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
        let node = self.network.anybody(chance);
        // An application that is refused has called too early.
        let _ = self.step(node, Input::Command(access));
    }

    fn honest_step(&mut self, chance: &mut Chance) {
        if chance.below(3) == 0 || self.network.in_flight.is_empty() {
            return self.command(chance);
        }
        if let Some((from, to, message)) = self.network.next_message(chance) {
            let taken = self.step(to, Input::Deliver { from, message });
            assert_eq!(taken, Ok(()), "an honest message was refused\n{}", self.network.report());
        }
    }

    fn hostile_step(&mut self, chance: &mut Chance) {
        let message = match chance.below(10) {
            0..=2 => return self.command(chance),
            3..=7 => self.network.forged_message(
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

    fn step(&mut self, node: NodeId, input: Input<Shared<P>>) -> Result<(), Refused> {
        let events = self.network.step(node, input, AccessEvent::Denied)?;
        let told = |event: &&Effect<_>| **event != Effect::Emit(AccessEvent::Denied);
        self.told += events.iter().filter(told).count();
        Ok(())
    }

    fn judge(&self) {
        let mut occupancy = Occupancy::default();
        let nodes = &self.network.nodes;
        for (node, shared) in NodeId::all(nodes.len()).zip(nodes) {
            let sharing = shared.sharing();
            for &mode in sharing.entries() {
                occupancy.enter(node, mode);
            }
            if sharing.is_exclusive() {
                occupancy.enter(node, Mode::EXCLUSIVE);
            }
        }
        assert_eq!(occupancy.crowded(), None, "{}", self.network.report());
    }
}
