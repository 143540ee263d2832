//! Every correct election keeps all that it claims in every interleaving of small systems in which
//! messages, alarms and detectors keep their times.

use skeptron_check::{ElectionFaults, ElectionScenario, Options, Property, Report, check_election};
use skeptron_core::catalogue::{self, ElectionInfo, Order};
use skeptron_core::topology::Graph;
use skeptron_core::{NodeId, Setup};
use skeptron_testing::is_full;

fn sound() -> impl Iterator<Item = &'static ElectionInfo> {
    catalogue::elections().filter(|info| info.broken.is_none())
}

/// The orders on which it claims to be correct.
fn orders(info: &ElectionInfo) -> &'static [Order] {
    match info.channel {
        Order::Fifo => &[Order::Fifo],
        Order::Any => &[Order::Fifo, Order::Any],
    }
}

/// Everybody calls when it suspects its leader, and so many without need.
fn scenario(nodes: usize, calls: u8, order: Order, faults: ElectionFaults) -> ElectionScenario {
    let scenario = ElectionScenario::new(Setup::new(nodes).unwrap(), order);
    ElectionScenario { calls, faults, ..scenario }
}

fn crash() -> ElectionFaults {
    ElectionFaults { crashes: 1, ..ElectionFaults::default() }
}

fn crash_of(victim: usize) -> ElectionFaults {
    ElectionFaults { victims: Some(vec![NodeId::new(victim)]), ..crash() }
}

fn explore(name: &str, scenario: &ElectionScenario) -> Report {
    let info = catalogue::find_election(name).unwrap();
    check_election(info, scenario, &Options::default()).unwrap()
}

/// Asserts that the search is complete and that everything that is claimed holds.
fn prove(name: &str, scenario: &ElectionScenario) {
    let report = explore(name, scenario);
    let violation = report.violation();
    assert!(report.complete && violation.is_none(), "{name} {scenario:?}: {violation:?}");
    assert!(report.verdicts.iter().all(|verdict| verdict.holds == Some(true)), "{name}");
    assert_eq!(report.verdicts.len(), Property::ELECTION.len(), "{name}: all is judged");
}

#[test]
fn two_nodes_that_all_call() {
    for info in sound() {
        for &order in orders(info) {
            prove(info.name, &scenario(2, 2, order, crash()));
        }
    }
}

/// The middle of a line may crash before anybody calls: then each end is a network of its own.
#[test]
fn each_part_of_a_network_elects_its_own_leader() {
    let [a, b, c] = [0, 1, 2].map(NodeId::new);
    let line = Graph::of_links(3, [(a, b), (b, c)]).unwrap();
    let setup = Setup::new(3).unwrap().with_graph(line).unwrap();
    let scenario = ElectionScenario {
        calls: 1,
        faults: crash_of(1),
        ..ElectionScenario::new(setup, Order::Fifo)
    };
    prove("spanning-tree", &scenario);
}

/// Everybody may call at once, and nothing goes wrong.
#[test]
fn three_nodes_that_all_call() {
    for name in [
        "bully",
        "ring",
        "chang-roberts",
        "peterson",
        "franklin",
        "itai-rodeh",
        "invitation",
        "spanning-tree",
    ] {
        prove(name, &scenario(3, 3, Order::Fifo, ElectionFaults::default()));
    }
}

/// Whoever crashes, at whatever moment of an election: the leader before it, the one who called, the
/// one who would have won.
#[test]
fn three_nodes_of_which_one_crashes() {
    for info in sound() {
        for &order in orders(info) {
            prove(info.name, &scenario(3, 1, order, crash()));
        }
    }
}

#[test]
fn four_nodes_whose_leader_crashes() {
    for info in sound() {
        for &order in orders(info) {
            prove(info.name, &scenario(4, 0, order, crash_of(3)));
        }
    }
}

/// Whoever of four crashes, with one who calls without need: all of them may where that is cheap, else
/// one alone. (P1 alone holds, too, for every election but the spanning tree, which takes minutes:
/// `skeptron check bully -n 4 --initiators P1 --crashes 1`.)
#[test]
fn four_nodes_of_which_one_crashes() {
    for name in ["ring", "chang-roberts", "peterson"] {
        prove(name, &scenario(4, 1, Order::Fifo, crash()));
    }
    prove("chang-roberts", &scenario(4, 1, Order::Any, crash()));
    for name in
        ["bully", "hirschberg-sinclair", "franklin", "itai-rodeh", "invitation", "spanning-tree"]
    {
        for &order in orders(catalogue::find_election(name).unwrap()) {
            // Four million states.
            if is_full() || (name, order) != ("franklin", Order::Any) {
                prove(name, &scenario(4, 0, order, crash()));
            }
        }
    }
    for initiator in [1, 2, 3] {
        let initiators = vec![NodeId::new(initiator)];
        let scenario = scenario(4, 1, Order::Fifo, crash());
        prove("bully", &ElectionScenario { initiators, ..scenario });
    }
}

/// Who comes back calls, and all end up with the same leader again.
#[test]
fn three_nodes_of_which_one_returns() {
    let faults = ElectionFaults { restarts: 1, ..crash() };
    prove("ring", &scenario(3, 0, Order::Fifo, faults.clone()));
    for order in [Order::Fifo, Order::Any] {
        let initiators = vec![NodeId::new(1)];
        let scenario = scenario(3, 0, order, faults.clone());
        prove("bully", &ElectionScenario { initiators, ..scenario });
    }
}

/// Detectors that take longer, or no time at all.
#[test]
fn detectors_of_every_speed() {
    for info in sound() {
        for detector in [0, 2, 3] {
            let scenario = scenario(3, 0, Order::Fifo, crash());
            prove(info.name, &ElectionScenario { detector, ..scenario });
        }
    }
}

/// An alarm that rings too early makes two leaders of one epoch: the shortest run that shows it.
#[test]
fn bully_needs_patience() {
    let faults = ElectionFaults { premature: 1, ..ElectionFaults::default() };
    let scenario = scenario(3, 1, Order::Fifo, faults);
    let info = catalogue::find_election("bully").unwrap();
    let options = Options { keep_going: true, ..Options::default() };
    let report = check_election(info, &scenario, &options).unwrap();
    let found = report.verdict(Property::Agreement).unwrap().counterexample.as_ref().unwrap();
    assert_eq!(found.steps.len(), 3, "call, ring, and word reaches the highest");
}

#[test]
fn invitation_needs_none() {
    let faults = |premature, suspicions| ElectionFaults {
        premature,
        suspicions,
        ..ElectionFaults::default()
    };
    for faults in [faults(1, 0), faults(2, 0), faults(0, 1)] {
        let report = explore("invitation", &scenario(3, 1, Order::Fifo, faults.clone()));
        let violation = report.violation();
        assert!(report.complete && violation.is_none(), "{faults:?}: {violation:?}");
    }
}

/// The number of threads changes nothing, the trace included.
#[test]
fn threads_do_not_matter() {
    let info = catalogue::find_election("bully-short-timeout").unwrap();
    let scenario = scenario(3, 1, Order::Fifo, crash());
    let run = |threads| {
        let options = Options { threads, keep_going: true, ..Options::default() };
        let report = check_election(info, &scenario, &options).unwrap();
        let steps: Vec<_> = report.verdicts.into_iter().map(|v| v.counterexample).collect();
        (report.states, report.transitions, report.depth, steps)
    };
    let alone = run(1);
    assert!(alone.3.iter().any(Option::is_some));
    assert_eq!(run(3), alone);
}

/// Two who take each other for dead both lead in one round: without ids nothing tells their rounds apart.
#[test]
fn an_anonymous_ring_needs_detectors_that_are_right() {
    let faults = ElectionFaults { suspicions: 2, ..ElectionFaults::default() };
    let report = explore("itai-rodeh", &scenario(2, 2, Order::Fifo, faults));
    let found = report.verdict(Property::Agreement).unwrap().counterexample.as_ref().unwrap();
    assert_eq!(found.steps.len(), 3, "P1 suspects its leader and calls at once: {found:?}");
}

/// A tie can follow a tie, so some runs never end; but no schedule brings that about on its own. If the tied do not draw
/// again, one does.
#[test]
fn ties_are_left_to_chance() {
    let all_call = scenario(2, 2, Order::Fifo, ElectionFaults::default());
    prove("itai-rodeh", &all_call);
    let report = explore("itai-rodeh-same-number", &all_call);
    let found = report.verdict(Property::Termination).unwrap().counterexample.as_ref().unwrap();
    assert!(found.cycle.is_some(), "they send the same numbers again and again: {found:?}");
}
