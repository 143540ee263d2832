//! Worlds of small protocols made for the purpose: messages that never end.

use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::Order;
use skeptron_core::mutex::{Entered, Lock};
use skeptron_core::{Input, Message, Never, NodeId, Outbox, Protocol, Refused, Setup};

use crate::cycles::endless_runs;
use crate::explorer::{Found, Limits, explore};
use crate::local::NodeTable;
use crate::property::{Properties, Property};
use crate::scenario::{Faults, Scenario};
use crate::world::{Watch, World};

fn scenario(requests: &[u8], faults: Faults) -> Scenario {
    let setup = Setup::new(requests.len()).unwrap();
    Scenario { requests: requests.to_vec(), faults, ..Scenario::new(setup, 0, Order::Fifo) }
}

fn world(nodes: Vec<Player>, scenario: &Scenario, most_messages: Option<f64>) -> World {
    let judged = Properties::from_iter([Property::Exclusion, Property::Progress]);
    let node_table = Box::new(NodeTable::new(nodes));
    World::of_nodes(node_table, scenario, judged, Watch::default(), most_messages)
}

fn search(world: &World) -> Found<'_, World> {
    let limits = Limits {
        threads: 2,
        reduction: false,
        max_memory: 1 << 28,
        keep_going: true,
        progress: None,
        stop: None,
    };
    explore(world, &limits)
}

/// What these protocols say: a ball, a question or its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Word {
    Ball,
    Ask,
    Grant,
}

impl Message for Word {
    const KINDS: &'static [&'static str] = &["BALL", "ASK", "GRANT"];

    fn kind(&self) -> usize {
        self.clone() as usize
    }
}

/// A ball goes to and fro between the first two nodes for ever. The third one gets a grant from the
/// first when it asks, at once or, if that is stingy, never.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Player {
    me: u8,
    stingy: bool,
}

impl Protocol for Player {
    type Command = Lock;
    type Message = Word;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start if self.me == 0 => out.send(NodeId::new(1), Word::Ball),
            Input::Command(Lock::Request) => out.send(NodeId::new(0), Word::Ask),
            Input::Deliver { message: Word::Ball, from } => out.send(from, Word::Ball),
            Input::Deliver { message: Word::Ask, from } if !self.stingy => {
                out.send(from, Word::Grant);
            }
            Input::Deliver { message: Word::Grant, .. } => out.emit(Entered),
            _ => {}
        }
        Ok(())
    }
}

fn players(stingy: bool) -> Vec<Player> {
    (0..3).map(|me| Player { me, stingy }).collect()
}

/// The ball may go round for ever while the question is under way, but that is not fair.
#[test]
fn a_message_that_is_never_delivered_is_no_excuse() {
    let world = world(players(false), &scenario(&[0, 0, 1], Faults::default()), None);
    assert!(search(&world).complete);
    assert!(endless_runs(&world, 1000, None).unwrap().wait.is_none());
}

#[test]
fn who_waits_while_messages_go_round_for_ever_is_found() {
    let world = world(players(true), &scenario(&[0, 0, 1], Faults::default()), None);
    let found = search(&world);
    assert!(found.complete && found.violated().is_empty(), "there is no end at which to see it");
    let (moves, begins) = endless_runs(&world, 1000, None).unwrap().wait.unwrap();
    assert_eq!((moves.len(), begins), (4, 2), "ask, refuse; then to and fro");
}

#[test]
fn too_many_states_for_cycles_are_too_many() {
    let world = world(players(true), &scenario(&[0, 0, 1], Faults::default()), None);
    assert!(endless_runs(&world, 3, None).is_err());
}

/// The number of threads changes nothing, the trace included.
#[test]
fn threads_do_not_matter() {
    use skeptron_core::catalogue;
    let info = catalogue::find("ricart-agrawala-no-clock-update").unwrap();
    let scenario = Scenario::new(Setup::new(3).unwrap(), 2, Order::Any);
    let run = |threads| {
        let options = crate::Options { threads, keep_going: true, ..crate::Options::default() };
        let report = crate::check(info, &scenario, &options).unwrap();
        let steps: Vec<_> = report.verdicts.into_iter().map(|v| v.counterexample).collect();
        (report.states, report.transitions, report.depth, steps)
    };
    let alone = run(1);
    for _ in 0..3 {
        assert_eq!(run(3), alone);
    }
}

#[test]
fn a_search_that_runs_out_of_memory_says_how_far_it_came() {
    use skeptron_core::catalogue;
    let info = catalogue::find("ricart-agrawala").unwrap();
    let scenario = Scenario::new(Setup::new(3).unwrap(), 2, Order::Any);
    let options = crate::Options { max_memory: 1 << 20, ..crate::Options::default() };
    let report = crate::check(info, &scenario, &options).unwrap();
    assert!(report.out_of_memory && !report.complete && report.holds());
    assert!((5..36).contains(&report.depth), "{}", report.depth);
    assert!(report.verdicts.iter().all(|verdict| verdict.holds.is_none()));
}

/// A system whose counters are brought into their normal form does what the one with counters that grow
/// does, step by step: the same messages on the same links, the same users inside.
#[test]
fn normal_counters_do_the_same_as_growing_ones() {
    use crate::model::Model as _;
    use skeptron_core::catalogue;
    for info in catalogue::sound() {
        use skeptron_core::topology::{ReadWrite, ReadWriteKind, Structure, Tree};
        let readers = [NodeId::new(0)].into_iter().collect();
        let system = ReadWrite::of_kind(ReadWriteKind::Majority, 3, readers).unwrap();
        let quorums = skeptron_quorum::quorums(&skeptron_quorum::default_for(3), 3).unwrap();
        let setup = Setup::new(3)
            .unwrap()
            .with_structure(Structure::maekawa(&quorums))
            .and_then(|setup| setup.with_quorums(quorums))
            .and_then(|setup| setup.with_tree(Tree::balanced(3, 2)))
            .and_then(|setup| setup.with_read_write(system))
            .unwrap();
        for order in [Order::Fifo, info.channel] {
            let scenario = Scenario::new(setup.clone(), 1, order);
            let world = |normal| {
                let endless = Some(crate::world::Endless { per_link: 2, normal });
                World::new(info, &scenario, Watch { endless, ..Watch::default() }, None).unwrap()
            };
            let (normal, growing) = (world(true), world(false));
            let (mut memory, mut other) = (normal.memory(false), growing.memory(false));
            let (mut a, mut b) = (normal.start().clone(), growing.start().clone());
            let (mut moves, mut others) = (Vec::new(), Vec::new());
            let mut chance = 1u64;
            for step in 0..20_000 {
                normal.moves(&mut memory, &a, &mut moves);
                growing.moves(&mut other, &b, &mut others);
                assert_eq!(moves, others, "{} {order}, step {step}", info.name);
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let chosen = moves[(chance >> 33) as usize % moves.len()];
                normal.take(&mut memory, &mut a, chosen);
                growing.take(&mut other, &mut b, chosen);
                let users = |state: &crate::state::State| state.sites.map(|site| site.user);
                assert_eq!(users(&a), users(&b), "{} {order}, step {step}", info.name);
            }
        }
    }
}
