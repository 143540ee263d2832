//! The contract of elections, for every variant of the catalogue: whatever comes, no step panics, a
//! refused input leaves node and outbox as they were, epochs never fall, memory stays small, and on the
//! declared channel honest nodes never refuse each other.
//!
//! A failure names its seed; `SKEPTRON_SEED=<seed> cargo test -p skeptron-core --test all
//! elections_keep_the_contract` plays that one alone.

use skeptron_core::catalogue::{self, ElectionInfo};
use skeptron_core::election::{Election, Visitor, dispatch};
use skeptron_core::topology::{Graph, Ring};
use skeptron_core::{Effect, Elected, Epoch, Input, NodeId, Notice, Refused, Setup};

use crate::chance::{Chance, chosen_seed};
use crate::network::{Company, Network, play_seeds, remember};

/// Systems per algorithm and test.
const CASES: u64 = 400;
/// Inputs per system.
const STEPS: usize = 150;
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

/// What happened, so that a test that tests nothing is noticed.
#[derive(Debug, Default)]
struct Seen {
    elected: u64,
    unexpected: u64,
    garbage: u64,
    returned: u64,
}

fn play_all(info: &'static ElectionInfo, company: Company) -> Seen {
    let mut seen = Seen::default();
    play_seeds(CASES, info.name, company, |seed| {
        dispatch(info, Case { info, company, seed, seen: &mut seen });
    });
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
        let mut chance = Chance::new(self.seed);
        let setup = setup(1 + chance.below(5), &mut chance);
        let nodes = P::build(self.info.name, &setup).expect("the setup has every layout");
        let mut system = System::<P> {
            network: Network::new(nodes, self.info.channel, self.company),
            armed: vec![Vec::new(); setup.nodes()],
            rung: Vec::new(),
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
        system.seen.garbage += system.network.garbage;
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

struct System<'a, P: Election> {
    network: Network<P>,
    /// The alarms of each node that may ring.
    armed: Vec<Vec<P::Timer>>,
    /// What any node armed of late.
    rung: Vec<P::Timer>,
    seen: &'a mut Seen,
}

impl<P: Election> System<'_, P> {
    /// Nodes crash and come back, alarms ring at any time, and detectors err.
    fn honest_step(&mut self, chance: &mut Chance) {
        let node = self.network.anybody(chance);
        let (node, input) = match chance.below(20) {
            0 | 1 => (node, Input::Command(Notice::Call)),
            2 => (node, Input::Command(Notice::Suspect(self.network.anybody(chance)))),
            3 | 4 => (node, Input::Command(Notice::Trust(self.network.anybody(chance)))),
            5 => return self.crash_and_return(node),
            6 | 7 => match self.armed[node.index()].pop() {
                Some(timer) => (node, Input::Expire(timer)),
                None => return,
            },
            _ => match self.network.next_message(chance) {
                Some((from, to, message)) => (to, Input::Deliver { from, message }),
                None => return,
            },
        };
        let result = self.step(node, input);
        assert_eq!(result, Ok(()), "an honest input was refused\n{}", self.network.report());
    }

    fn hostile_step(&mut self, chance: &mut Chance) {
        let node = self.network.anybody(chance);
        let absurd = [u32::MAX, u32::MAX - 1, u32::MAX / 2, 1 << 20].map(u64::from);
        let message = match chance.below(24) {
            0 | 1 => return self.tell(node, Notice::Call),
            2 => return self.tell(node, Notice::Suspect(self.whoever(chance))),
            3 => return self.tell(node, Notice::Trust(self.whoever(chance))),
            4 => return self.crash_and_return(node),
            5 | 6 => return self.ring(node, chance),
            7..=14 => self.network.forged_message(chance, &absurd, 200),
            15 => return self.tell(node, Notice::Drawn(chance.below(5) as u32)),
            _ => self.network.next_message(chance),
        };
        if let Some((from, to, message)) = message {
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
        let Network { nodes, in_flight, story, .. } = &mut self.network;
        story.push(format!("{node} crashes and comes back"));
        in_flight.retain(|&(_, to, _)| to != node);
        self.armed[node.index()].clear();
        let before = nodes[node.index()].epoch();
        nodes[node.index()] = nodes[node.index()].recovered();
        let after = nodes[node.index()].epoch();
        assert!(after >= before, "the epoch is in stable storage\n{}", self.network.report());
        for input in [Input::Start, Input::Command(Notice::Call)] {
            let taken = self.step(node, input);
            assert_eq!(taken, Ok(()), "it comes back\n{}", self.network.report());
        }
    }

    /// A node, or one that does not exist.
    fn whoever(&self, chance: &mut Chance) -> NodeId {
        let node = self.network.anybody(chance);
        if chance.below(3) == 0 { self.network.stranger(node, chance) } else { node }
    }

    fn step(&mut self, node: NodeId, input: Input<P>) -> Result<(), Refused> {
        let before = self.network.nodes[node.index()].epoch();
        let result = self.network.step(node, input, BEFORE);
        self.seen.unexpected += u64::from(result.is_err());
        let report = || self.network.report();
        let after = &self.network.nodes[node.index()];
        assert!(after.epoch() >= before, "the epoch has fallen\n{}", report());
        let bytes = postcard::to_stdvec(after).expect("a node can be written").len();
        assert!(bytes <= MOST_BYTES, "a node takes {bytes} bytes\n{}", report());
        for effect in result? {
            self.effect(node, effect);
        }
        if let Some(most) = self.network.nodes[node.index()].draws() {
            let drawn = 1 + self.network.story.len() as u32 % most;
            let taken = self.step(node, Input::Command(Notice::Drawn(drawn)));
            let left = self.network.nodes[node.index()].draws();
            assert_eq!((taken, left), (Ok(()), None), "it asked\n{}", self.network.report());
        }
        Ok(())
    }

    fn effect(&mut self, node: NodeId, effect: Effect<P>) {
        let report = || self.network.report();
        let armed = &mut self.armed[node.index()];
        match effect {
            Effect::Emit(Elected { leader, .. }) => {
                let known = leader.index() < self.network.nodes.len();
                assert!(known, "{leader} is named, which is no node\n{}", report());
                self.seen.elected += 1;
            }
            Effect::Arm { timer, after } => {
                assert!(after > 0, "an alarm takes a while\n{}", report());
                armed.retain(|other| *other != timer);
                armed.push(timer.clone());
                remember(&mut self.rung, timer);
            }
            Effect::Disarm(timer) => armed.retain(|other| *other != timer),
            Effect::Send { .. } | Effect::Broadcast { .. } => unreachable!("the network has them"),
        }
    }
}
