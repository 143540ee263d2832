//! Self-stabilising algorithms, begun in every state.

use skeptron_check::{Options, Property, Report, Scenario, check};
use skeptron_core::catalogue::{self, Order};
use skeptron_core::{NodeId, Setup};
use skeptron_testing::is_full;

fn anywhere(nodes: usize, requests: u8) -> Scenario {
    let setup = Setup::new(nodes).unwrap();
    Scenario { anywhere: true, ..Scenario::new(setup, requests, Order::Fifo) }
}

fn judge(name: &str, scenario: &Scenario) -> Report {
    check(catalogue::find(name).unwrap(), scenario, &Options::default()).unwrap()
}

/// What was found is what follows: K numbers at each of N nodes, and one of them or nothing in each channel, but
/// something in one.
#[test]
fn from_every_state_it_comes_to_a_legitimate_one_and_stays_there() {
    let mut cases =
        vec![(1, 2, 1, 5), (2, 2, 32, 772), (3, 1, 1701, 55_440), (3, 2, 1701, 124_941)];
    if is_full() {
        cases.push((4, 1, 159_744, 12_582_744));
    }
    for (nodes, requests, starts, states) in cases {
        let report = judge("dijkstra", &anywhere(nodes, requests));
        assert!(report.complete && report.holds(), "{nodes} nodes: {report:?}");
        assert_eq!((report.starts, report.states), (starts, states), "{nodes} nodes");
        for property in [Property::Exclusion, Property::Closure, Property::Convergence] {
            assert_eq!(report.verdict(property).unwrap().holds, Some(true), "{property}");
        }
    }
}

/// Begun well, it never has to recover.
#[test]
fn begun_well_it_is_legitimate_from_the_first_state_on() {
    let scenario = Scenario::new(Setup::new(3).unwrap(), 2, Order::Fifo);
    let report = judge("dijkstra", &scenario);
    assert!(report.complete && report.holds());
    assert_eq!(report.starts, 1);
}

/// A run that never recovers goes round: what it repeats is fair, and it says where it begins.
#[test]
fn too_few_numbers_never_recover() {
    let report = judge("dijkstra-small-k", &anywhere(3, 1));
    let (property, run) = report.violation().unwrap();
    assert_eq!(property, Property::Convergence);
    assert_eq!(run.beginnings.len(), 3);
    assert!(run.cycle.is_some_and(|begins| begins < run.steps.len()));

    // Begun there alone it does not recover either; begun well it has nothing to recover from.
    let setup = Setup::new(3).unwrap().with_beginnings(run.beginnings.clone()).unwrap();
    let there = judge("dijkstra-small-k", &Scenario::new(setup, 1, Order::Fifo));
    assert_eq!(there.verdict(Property::Convergence).unwrap().holds, Some(false));
    let well = Scenario::new(Setup::new(3).unwrap(), 1, Order::Fifo);
    assert!(judge("dijkstra-small-k", &well).holds());
}

/// A node that repeats nothing lets the messages run out.
#[test]
fn without_repetition_the_ring_falls_silent() {
    let info = catalogue::find("dijkstra-silent").unwrap();
    let options = Options { keep_going: true, ..Options::default() };
    let report = check(info, &anywhere(2, 1), &options).unwrap();
    let convergence = report.verdict(Property::Convergence).unwrap();
    let run = convergence.counterexample.as_ref().unwrap();
    assert_eq!((run.cycle, run.shortest), (None, true));
}

/// Where messages overtake each other an old number is taken for a new one.
#[test]
fn it_needs_the_order_of_its_channels() {
    let scenario = Scenario { order: Order::Any, ..anywhere(3, 1) };
    let report = judge("dijkstra", &scenario);
    assert!(report.violation().is_some(), "{report:?}");
}

#[test]
fn only_what_recovers_begins_anywhere() {
    let info = catalogue::find("token-ring").unwrap();
    let error = check(info, &anywhere(2, 1), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "token-ring needs the right beginning; only a self-stabilising algorithm begins in any state"
    );
    let steps = vec![skeptron_check::Step::Request(NodeId::new(0))];
    let begun = Scenario { after: steps, ..anywhere(2, 1) };
    let info = catalogue::find("dijkstra").unwrap();
    assert!(check(info, &begun, &Options::default()).is_err());
}
