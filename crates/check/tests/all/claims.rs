//! Every correct algorithm keeps all that it claims in every interleaving of small systems.

use std::sync::atomic::{AtomicBool, Ordering};

use skeptron_check::{Faults, Judging, Options, Property, Report, Scenario, check};
use skeptron_core::catalogue::{self, Info, Order};
use skeptron_core::claims::Quantity;
use skeptron_core::topology::{Clusters, ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{Arbitration, NodeId, Setup};
use skeptron_quorum::Construction;
use skeptron_testing::{is_full, sample};

use crate::setup;

fn explore(name: &str, setup: &Setup, requests: &[u8], order: Order) -> Report {
    let info = catalogue::find(name).unwrap();
    let (setup, requests) = (setup.clone(), requests.to_vec());
    let scenario = Scenario { requests, ..Scenario::new(setup, 0, order) };
    check(info, &scenario, &Options::default()).unwrap()
}

/// Asserts that the search is complete and that everything that is claimed holds.
fn prove(name: &str, setup: &Setup, requests: &[u8], order: Order) {
    let report = explore(name, setup, requests, order);
    let violation = report.violation();
    assert!(report.complete && violation.is_none(), "{name} {requests:?} {order}: {violation:?}");
    assert!(report.verdicts.iter().all(|verdict| verdict.holds == Some(true)));
}

/// The orders on which it claims to be correct.
fn orders(info: &Info) -> &'static [Order] {
    match info.channel {
        Order::Fifo => &[Order::Fifo],
        Order::Any => &[Order::Fifo, Order::Any],
    }
}

/// Every correct algorithm on every channel that it claims.
fn claimed() -> impl Iterator<Item = (&'static str, Order)> {
    catalogue::sound().flat_map(|info| orders(info).iter().map(|&order| (info.name, order)))
}

#[test]
fn three_nodes_twice() {
    for (name, order) in sample("three nodes twice", claimed(), 8) {
        prove(name, &setup(3), &[2, 2, 2], order);
    }
}

#[test]
fn four_nodes_once() {
    // These take up to a minute and a half each.
    let asking_all = ["lamport", "lamport-lazy", "ricart-agrawala", "lodha-kshemkalyani"];
    let large =
        [&asking_all[..], &["maekawa", "sanders", "cao-singhal", "agrawal-el-abbadi"]].concat();
    let cases = claimed().filter(|(name, _)| is_full() || !large.contains(name));
    for (name, order) in sample("four nodes once", cases, 4) {
        prove(name, &setup(4), &[1, 1, 1, 1], order);
    }
}

#[test]
fn four_nodes_twice_where_few_messages_fly() {
    for name in ["central", "token-ring", "raymond", "naimi-trehel", "neilsen-mizuno", "composed"] {
        for order in [Order::Fifo, Order::Any] {
            prove(name, &setup(4), &[2, 2, 2, 2], order);
        }
    }
}

#[test]
fn five_nodes_on_trees_and_rings() {
    for order in [Order::Fifo, Order::Any] {
        for tree in [Tree::balanced(5, 2), Tree::star(5), Tree::line(5)] {
            for name in ["raymond", "neilsen-mizuno"] {
                prove(name, &setup(5).with_tree(tree.clone()).unwrap(), &[1; 5], order);
            }
        }
        for name in ["token-ring", "naimi-trehel"] {
            prove(name, &setup(5), &[1; 5], order);
        }
    }
}

/// What is claimed is claimed: every algorithm is judged by all that its catalogue entry says.
#[test]
fn claims_are_judged() {
    for info in catalogue::sound() {
        let report = explore(info.name, &setup(2), &[1, 1], Order::Fifo);
        let judged = |property| report.verdict(property).is_some();
        for property in [Property::Exclusion, Property::Progress, Property::Refused] {
            assert!(judged(property), "{}: {property}", info.name);
        }
        let is_exclusive = info.admission(&setup(2)).is_exclusive();
        assert_eq!(judged(Property::Fence), is_exclusive, "{}", info.name);
        assert_eq!(judged(Property::Order), info.claims.ordered, "{}", info.name);
        let bounded = info.claims.most(Quantity::Messages).is_some();
        assert_eq!(judged(Property::Messages), bounded, "{}", info.name);
    }
}

/// Any node crashes at any moment, and the others are told and go on. What is told of a node that is alive lets two in.
#[test]
fn crashes_are_survived_where_nodes_are_told() {
    let explore = |nodes: usize, requests: u8, order, faults| {
        let scenario = Scenario { faults, ..Scenario::new(setup(nodes), requests, order) };
        let info = catalogue::find("agrawal-el-abbadi").unwrap();
        check(info, &scenario, &Options::default()).unwrap()
    };
    let systems = [(3, 1), (3, 2)];
    let cases = systems.into_iter().flat_map(|s| [(s, Order::Fifo), (s, Order::Any)]);
    for ((nodes, requests), order) in sample("crashes that are told", cases, 2) {
        let report = explore(nodes, requests, order, Faults { crashes: 1, ..Faults::default() });
        let judged = report.verdicts.iter().map(|verdict| verdict.property);
        let refused = [Property::Fence, Property::Rest, Property::Refused];
        assert!(refused.iter().all(|property| judged.clone().any(|p| p == *property)));
        let holds = report.verdicts.iter().all(|verdict| verdict.holds == Some(true));
        assert!(report.complete && holds, "{nodes} {requests} {order}: {:?}", report.verdicts);
    }
    let faults = Faults { suspicions: 1, ..Faults::default() };
    let scenario = Scenario { faults, ..Scenario::new(setup(3), 1, Order::Fifo) };
    let options = Options { keep_going: true, ..Options::default() };
    let report = check(catalogue::find("agrawal-el-abbadi").unwrap(), &scenario, &options).unwrap();
    for property in [Property::Exclusion, Property::Progress] {
        assert_eq!(report.verdict(property).and_then(|verdict| verdict.holds), Some(false));
    }
}

/// The repair of Singhal's algorithm, with every arbitration rule. (Three nodes, three times, on
/// unordered channels hold, too: `skeptron check singhal --requests 3 --order any` takes minutes.)
#[test]
fn repaired_singhal() {
    for rule in sample("arbitration", Arbitration::ALL, 1) {
        if is_full() {
            prove("singhal", &setup(3).with_arbitration(rule), &[3, 3, 3], Order::Fifo);
        }
        for order in [Order::Fifo, Order::Any] {
            prove("singhal", &setup(4).with_arbitration(rule), &[1, 1, 1, 1], order);
            prove("singhal", &setup(3).with_arbitration(rule), &[2, 2, 2], order);
        }
    }
}

/// The repair of Lodha and Kshemkalyani's algorithm, each part of which is needed: without the one the published
/// rules deadlock, without the other, too, and without the third they let two in.
#[test]
fn repaired_lodha_kshemkalyani() {
    prove("lodha-kshemkalyani", &setup(3), &[2, 2, 2], Order::Fifo);
    let parts = [
        ("lodha-kshemkalyani-2000", [1, 1, 1], Property::Progress),
        ("lodha-kshemkalyani-bare-request", [1, 1, 2], Property::Progress),
        ("lodha-kshemkalyani-flush-answers", [2, 1, 2], Property::Exclusion),
    ];
    for (name, requests, property) in parts {
        let scenario =
            Scenario { requests: requests.to_vec(), ..Scenario::new(setup(3), 0, Order::Fifo) };
        let options = Options { keep_going: true, ..Options::default() };
        let report = check(catalogue::find(name).unwrap(), &scenario, &options).unwrap();
        let verdict = report.verdict(property).map(|verdict| verdict.holds);
        assert_eq!(verdict, Some(Some(false)), "{name}: {property}");
    }
}

/// Several inside at once, and never more. Fences are not promised there, and do not rise.
#[test]
fn no_more_are_inside_than_fit() {
    for order in [Order::Fifo, Order::Any] {
        let two_of_three = setup(3).with_capacity(2).unwrap();
        prove("raymond-k", &two_of_three, &[2, 2, 2], order);
    }
    let of_four = [2, 3].into_iter().flat_map(|k| [(k, Order::Fifo), (k, Order::Any)]);
    for (capacity, order) in sample("capacities", of_four, 1) {
        prove("raymond-k", &setup(4).with_capacity(capacity).unwrap(), &[1, 1, 1, 1], order);
    }
    let scenario = Scenario::new(setup(3).with_capacity(2).unwrap(), 1, Order::Fifo);
    let fences = |only: Option<&[Property]>| {
        let options =
            Options { judging: Judging { only, ..Judging::default() }, ..Options::default() };
        let report = check(catalogue::find("raymond-k").unwrap(), &scenario, &options).unwrap();
        report.verdict(Property::Fence).map(|verdict| verdict.holds)
    };
    assert_eq!(fences(None), None);
    assert_eq!(fences(Some(&[Property::Fence])), Some(Some(false)));
    assert_eq!(fences(Some(&[Property::Exclusion, Property::Fence])), Some(Some(false)));
}

/// Readers together, a writer alone, over quorums of every kind.
#[test]
fn no_writer_shares_the_section() {
    let systems = ReadWriteKind::ALL.into_iter().flat_map(|(name, kind)| {
        [1, 2].map(|readers| {
            let readers = NodeId::all(readers).collect();
            (name, ReadWrite::of_kind(kind, 3, readers).unwrap())
        })
    });
    for (name, system) in sample("readers and writers", systems, 3) {
        let setup = Setup::new(3).unwrap().with_read_write(system).unwrap();
        for order in [Order::Fifo, Order::Any] {
            println!("{name} {order}");
            prove("quorum-readers-writers", &setup, &[1, 1, 2], order);
        }
    }
}

/// Clusters of every kind, from one of all to one of each.
#[test]
fn clusters_of_every_kind() {
    let sizes: [&[usize]; 6] = [&[3], &[1, 1, 1], &[2, 2], &[3, 1], &[1, 3], &[2, 1, 2]];
    for sizes in sizes {
        let clusters = Clusters::of_sizes(sizes).unwrap();
        let nodes = clusters.nodes();
        let setup = setup(nodes).with_clusters(clusters).unwrap();
        let requests = vec![if nodes < 5 { 2 } else { 1 }; nodes];
        for order in [Order::Fifo, Order::Any] {
            prove("composed", &setup, &requests, order);
        }
    }
}

#[test]
fn quorums_of_every_kind() {
    let kinds = ["singleton", "all", "majority", "grid", "projective", "triangle", "wall", "tree"];
    let kinds = kinds.into_iter().chain(["hierarchical", "weighted:2,1,1", "weighted:1,0,3"]);
    for kind in sample("kinds of quorums", kinds, 3) {
        let kind: Construction = kind.parse().unwrap();
        let quorums = skeptron_quorum::quorums(&kind, 3).unwrap();
        let structure = Structure::maekawa(&quorums);
        let setup = setup(3).with_quorums(quorums).unwrap().with_structure(structure).unwrap();
        for order in [Order::Fifo, Order::Any] {
            prove("maekawa", &setup, &[1, 1, 2], order);
            prove("cao-singhal", &setup, &[1, 1, 1], order);
            prove("sanders", &setup, &[1, 1, 1], order);
        }
    }
    // Two quorums that meet in a node that is neither of the askers.
    let seven = |kind: Construction| {
        let quorums = skeptron_quorum::quorums(&kind, 7).unwrap();
        Setup::new(7).unwrap().with_quorums(quorums).unwrap()
    };
    for kind in [Construction::Tree(None), Construction::Wall(None), Construction::Grid] {
        prove("maekawa", &seven(kind), &[1, 0, 0, 1, 0, 0, 1], Order::Any);
    }
    // Permissions that are passed on, also to who is told so late: arbiters that do not ask, and three who do.
    for (votes, requests) in
        [("weighted:1,0,0,0", [0, 2, 2, 1]), ("weighted:1,1,0,0", [0, 1, 1, 1])]
    {
        let quorums = skeptron_quorum::quorums(&votes.parse().unwrap(), 4).unwrap();
        let setup = setup(4).with_quorums(quorums).unwrap();
        for order in [Order::Fifo, Order::Any] {
            prove("cao-singhal", &setup, &requests, order);
        }
    }
}

#[test]
fn information_structures_of_every_kind() {
    let three = [Structure::lamport(3), Structure::ricart_agrawala(3)];
    for order in [Order::Fifo, Order::Any] {
        for structure in three.clone() {
            prove("sanders", &setup(3).with_structure(structure).unwrap(), &[1, 1, 1], order);
        }
        let four = setup(4).with_structure(Structure::four_nodes()).unwrap();
        prove("sanders", &four, &[1, 1, 1, 0], order);
        prove("sanders", &four, &[0, 1, 1, 1], order);
    }
}

/// The plane of order 2 with 0, 4, 5 and 6 asking. From fresh clocks the published rules survive it:
/// at their common arbiter, 0 itself, a request is displaced only if 0's own is younger than one it has
/// not heard of. With one entry of 0 before they deadlock, and the corrected rules do not.
#[test]
fn the_fano_plane() {
    let quorums = skeptron_quorum::quorums(&Construction::Fano, 7).unwrap();
    let fano = Setup::new(7).unwrap().with_quorums(quorums).unwrap();
    let (once, twice) = ([1, 0, 0, 0, 1, 1, 1], [2, 0, 0, 0, 1, 1, 1]);
    for order in sample("orders on the plane", [Order::Fifo, Order::Any], 1) {
        prove("maekawa", &fano, &once, order);
        let published = explore("maekawa-1985", &fano, &once, order);
        assert!(published.complete && published.holds());
        let published = explore("maekawa-1985", &fano, &twice, order);
        assert_eq!(published.violation().map(|(property, _)| property), Some(Property::Progress));
    }
    if is_full() {
        prove("maekawa", &fano, &twice, Order::Fifo);
    }
}

/// What a stopped search has not found out it does not claim, and it does not blame the memory.
#[test]
fn a_search_that_is_stopped_decides_nothing() {
    for (name, stop_at_once) in [("lamport", true), ("lamport", false), ("token-ring", true)] {
        let stop = AtomicBool::new(stop_at_once);
        let progress = |_| stop.store(true, Ordering::Relaxed);
        let options = Options {
            stop: Some(&stop),
            progress: Some(&progress),
            keep_going: true,
            ..Options::default()
        };
        let info = catalogue::find(name).unwrap();
        let scenario = Scenario::new(setup(3), 2, Order::Fifo);
        let report = check(info, &scenario, &options).unwrap();
        assert!(!report.complete && !report.out_of_memory, "{name}");
        assert!(report.verdicts.iter().all(|verdict| verdict.holds.is_none()), "{name}");
        assert!(report.states < check(info, &scenario, &Options::default()).unwrap().states);
    }
}
