//! Two checkers that have nothing in common count the same states and come to the same verdicts.

use std::collections::BTreeMap;

use skeptron_check::{Faults, Options, Property, Scenario, check};
use skeptron_core::catalogue::{self, Info, Layout, Order};
use skeptron_core::topology::{ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{Arbitration, NodeId, Setup};
use skeptron_quorum::Construction;
use skeptron_testing::{is_full, sample};

/// Larger systems are left to the checker alone.
const MOST_STATES: u64 = 30_000;

/// Every layout of `n` nodes that makes a difference to the algorithm.
fn setups(info: &Info, n: usize) -> Vec<Setup> {
    let plain = Setup::new(n).unwrap();
    let quorums = [Construction::Singleton, Construction::Majority, Construction::All];
    let quorums = quorums.map(|construction| skeptron_quorum::quorums(&construction, n).unwrap());
    match info.layout {
        Layout::None
        | Layout::Coordinator
        | Layout::Ring
        | Layout::Graph
        | Layout::Clusters
        | Layout::Beginning
        | Layout::Detector => {
            vec![plain]
        }
        Layout::Quorums => {
            quorums.map(|quorums| plain.clone().with_quorums(quorums).unwrap()).to_vec()
        }
        Layout::Structure => {
            [Structure::maekawa(&quorums[1]), Structure::ricart_agrawala(n), Structure::lamport(n)]
                .map(|structure| plain.clone().with_structure(structure).unwrap())
                .to_vec()
        }
        Layout::Tree => [Tree::balanced(n, 2), Tree::line(n)]
            .map(|tree| plain.clone().with_tree(tree).unwrap())
            .to_vec(),
        Layout::Capacity => {
            let several = (1..n).map(|capacity| plain.clone().with_capacity(capacity).unwrap());
            several.collect()
        }
        Layout::ReadWrite => {
            let kinds = ReadWriteKind::ALL.iter();
            let systems = kinds.flat_map(|&(_, kind)| {
                (0..=n).map(move |readers| {
                    let readers = NodeId::all(readers).collect();
                    ReadWrite::of_kind(kind, n, readers).unwrap()
                })
            });
            systems.map(|system| plain.clone().with_read_write(system).unwrap()).collect()
        }
        Layout::Arbitration => {
            Arbitration::ALL.map(|rule| plain.clone().with_arbitration(rule)).to_vec()
        }
    }
}

/// Compares the two on one system. False if it is too large, or if everything that can be wrong with
/// it is: then the checker stops as soon as it knows, and the other one might never end.
fn agree(info: &Info, scenario: &Scenario) -> bool {
    // Where messages overtake each other the checker keeps them in the order of sending all the same, if that
    // tells whether a state is legitimate, and so has more states.
    if info.is_stabilising() && scenario.order == Order::Any {
        return false;
    }
    let options = Options {
        threads: 1,
        max_memory: 8 << 20,
        reduction: false,
        keep_going: true,
        ..Options::default()
    };
    let report = check(info, scenario, &options).unwrap();
    if !report.complete || report.states > MOST_STATES {
        return false;
    }
    let opinion = crate::oracle::explore(info, scenario);
    let place = format!("{}: {scenario:?}", info.name);
    assert_eq!(report.states, opinion.states, "{place}");
    let verdicts = [
        (Property::Exclusion, opinion.exclusion),
        (Property::Progress, opinion.progress),
        (Property::Order, opinion.order),
        (Property::Refused, opinion.accepted),
    ];
    for (property, holds) in verdicts {
        if let Some(verdict) = report.verdict(property) {
            // The other one looks for an end, and knows nothing of runs that go round for ever.
            if verdict.counterexample.as_ref().is_some_and(|run| run.cycle.is_some()) {
                continue;
            }
            assert_eq!(verdict.holds, Some(holds), "{property} of {place}");
        }
    }
    true
}

/// How many systems of each test are compared in the usual tier.
const SYSTEMS: usize = 60;

/// Compares the two on small systems of every algorithm.
fn agree_on_everything(what: &str, order: Order, faults: &Faults, requests: &[&[u8]]) {
    let systems = catalogue::all().flat_map(|info| {
        let setups = requests.iter().flat_map(move |requests| {
            setups(info, requests.len()).into_iter().map(|setup| (setup, requests.to_vec()))
        });
        setups.map(move |(setup, requests)| {
            (info, Scenario { requests, faults: faults.clone(), ..Scenario::new(setup, 0, order) })
        })
    });
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for (info, scenario) in sample(&format!("{what}, {order}"), systems, SYSTEMS) {
        *compared.entry(info.name).or_default() += usize::from(agree(info, &scenario));
    }
    assert!(compared.values().sum::<usize>() > 0, "no states were compared");
    for info in catalogue::all().filter(|_| is_full()) {
        let on_its_channel = info.channel == Order::Any || order == Order::Fifo;
        let expected = on_its_channel && faults.is_none();
        assert!(compared[info.name] > 0 || !expected, "{}: no states were compared", info.name);
    }
}

fn agree_despite(what: &str, faults: &Faults) {
    let requests: &[&[u8]] = &[&[1, 1], &[2, 2], &[0, 1, 1]];
    agree_on_everything(what, Order::Fifo, faults, requests);
    agree_on_everything(what, Order::Any, faults, requests);
}

const REQUESTS: &[&[u8]] = &[&[1, 1], &[2, 2], &[1, 1, 1], &[1, 1, 2], &[2, 2, 2]];

#[test]
fn on_channels_that_keep_the_order() {
    agree_on_everything("no faults", Order::Fifo, &Faults::default(), REQUESTS);
}

#[test]
fn on_channels_that_do_not() {
    agree_on_everything("no faults", Order::Any, &Faults::default(), REQUESTS);
}

#[test]
fn when_a_message_is_lost() {
    agree_despite("losses", &Faults { losses: 1, ..Faults::default() });
}

#[test]
fn when_a_message_arrives_twice() {
    agree_despite("duplicates", &Faults { duplicates: 1, ..Faults::default() });
}

#[test]
fn when_a_node_crashes() {
    agree_despite("crashes", &Faults { crashes: 1, ..Faults::default() });
}
