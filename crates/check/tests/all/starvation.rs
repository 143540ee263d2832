//! Requests without end: who starves, who is passed how often, and in which order requests are served.

use skeptron_check::{
    Counterexample, Goal, Judging, Measure, Options, Property, Report, Scenario, Step, check,
    extreme,
};
use skeptron_core::catalogue::{self, Order};
use skeptron_core::{Arbitration, NodeId, Setup};

use crate::setup;

fn scenario(setup: Setup, requests: &[u8], order: Order) -> Scenario {
    Scenario { requests: requests.to_vec(), ..Scenario::new(setup, 0, order) }
}

fn judge(name: &str, scenario: &Scenario, judging: Judging<'_>) -> Report {
    let info = catalogue::find(name).unwrap();
    check(info, scenario, &Options { judging, ..Options::default() }).unwrap()
}

/// Whether nobody starves; none if there are too many states.
fn starves(name: &str, scenario: &Scenario) -> (Option<bool>, Option<Counterexample>) {
    let only = [Property::Starvation];
    let judging =
        Judging { only: Some(&only), endless_states: Some(4_000_000), ..Judging::default() };
    let report = judge(name, scenario, judging);
    let verdict = report.verdict(Property::Starvation).unwrap().clone();
    println!("{name} {:?}: {} states", scenario.order, report.endless_states);
    (verdict.holds, verdict.counterexample)
}

/// Three nodes that ask without end: nobody starves, on every channel that the algorithm claims.
#[test]
fn sound_algorithms_starve_nobody() {
    for info in catalogue::sound() {
        let (holds, found) = starves(info.name, &scenario(setup(3), &[1; 3], Order::Fifo));
        assert_eq!(holds, Some(true), "{}: {found:?}", info.name);
    }
    for name in ["central", "ricart-agrawala", "token-ring", "raymond", "naimi-trehel"] {
        let (holds, found) = starves(name, &scenario(setup(3), &[1; 3], Order::Any));
        assert_eq!(holds, Some(true), "{name}: {found:?}");
    }
}

/// Two neighbours keep the token between them for ever: a way there, and a round that repeats.
#[test]
fn nearest_starves_the_distant() {
    let setup = setup(4).with_arbitration(Arbitration::Nearest);
    let (holds, found) = starves("singhal", &scenario(setup, &[1, 1, 0, 1], Order::Fifo));
    assert_eq!(holds, Some(false));
    let found = found.unwrap();
    let begins = found.cycle.unwrap();
    let round = &found.steps[begins..];
    let asks = |node| round.contains(&Step::Request(NodeId::new(node)));
    assert_eq!((found.node, asks(3)), (NodeId::new(3), false), "{found:?}");
    assert!(asks(0) && asks(1), "{found:?}");
}

/// Ids before clocks let low ids pass again and again, but a REPLY that was given stays given.
#[test]
fn low_ids_pass_the_others_but_starve_nobody() {
    let (holds, found) =
        starves("ricart-agrawala-id-first", &scenario(setup(3), &[1; 3], Order::Fifo));
    assert_eq!(holds, Some(true), "{found:?}");
}

/// Where messages never end, and where nothing more happens, somebody starves as well.
#[test]
fn deadlocks_starve() {
    let (holds, found) = starves("singhal-1989", &scenario(setup(3), &[1; 3], Order::Fifo));
    assert_eq!(holds, Some(false), "{found:?}");
    let (holds, found) = starves("raymond-no-reask", &scenario(setup(3), &[1; 3], Order::Fifo));
    assert_eq!((holds, found.unwrap().cycle), (Some(false), None));
}

/// Too many states: nothing is claimed.
#[test]
fn what_was_not_searched_is_unknown() {
    let only = [Property::Starvation];
    let judging = Judging { only: Some(&only), endless_states: Some(10), ..Judging::default() };
    let report = judge("central", &scenario(setup(3), &[1; 3], Order::Fifo), judging);
    assert_eq!(report.verdict(Property::Starvation).unwrap().holds, None);
}

/// A bound on how often a wait is passed, where the algorithm claims one and where it does not.
#[test]
fn bypasses_are_bounded() {
    let ring = scenario(setup(4), &[2; 4], Order::Fifo);
    let bypass = |name, scenario, most| {
        let judging = Judging { bypass: Some(most), ..Judging::default() };
        let report = judge(name, scenario, judging);
        report.verdict(Property::Bypass).unwrap().clone()
    };
    assert_eq!(bypass("token-ring", &ring, 3).holds, Some(true));
    let passed = bypass("token-ring", &ring, 2).counterexample.unwrap();
    assert!(passed.detail.ends_with("3 others have by now passed P1"), "{}", passed.detail);
    let central = scenario(setup(3), &[0, 3, 3], Order::Fifo);
    assert_eq!(bypass("central", &central, 2).holds, Some(false), "a slow REQUEST is passed");
    assert_eq!(bypass("central", &central, 3).holds, Some(true), "nobody asks more often");
}

/// The two orders are told apart: by happened-before, and by the moment of the request.
#[test]
fn order_is_judged_where_it_is_not_claimed() {
    let only = [Property::Order, Property::OrderByTime];
    let verdicts = |name, requests: &[u8]| {
        let judging = Judging { only: Some(&only), ..Judging::default() };
        let report = judge(name, &scenario(setup(3), requests, Order::Fifo), judging);
        only.map(|property| report.verdict(property).unwrap().holds)
    };
    // Nobody hears of a request on the ring, so none happens before another one.
    assert_eq!(verdicts("token-ring", &[1, 1, 1]), [Some(true), Some(false)]);
    assert_eq!(verdicts("suzuki-kasami", &[1, 1, 1]), [Some(false), Some(false)]);
    assert_eq!(verdicts("ricart-agrawala", &[1, 1, 1]), [Some(true), Some(false)]);
    assert_eq!(verdicts("central", &[0, 1, 1]), [Some(true), Some(false)]);
    let lone = verdicts("central", &[0, 0, 2]);
    assert_eq!(lone, [Some(true), Some(true)]);
}

/// The dearest and the cheapest run, with a run that has the value.
#[test]
fn extremes_are_exact() {
    let find = |name: &str, requests: &[u8], goal, measure| {
        let info = catalogue::find(name).unwrap();
        let scenario = scenario(setup(3), requests, Order::Fifo);
        let found = extreme(info, &scenario, (goal, measure), &Options::default()).unwrap();
        assert!(found.complete && found.run.is_some(), "{name}");
        found.value.unwrap()
    };
    use Goal::{Maximise, Minimise};
    for goal in [Maximise, Minimise] {
        assert_eq!(find("ricart-agrawala", &[1; 3], goal, Measure::Messages), 12);
        assert_eq!(find("central", &[0, 1, 1], goal, Measure::Messages), 6);
    }
    assert_eq!(find("central", &[0, 0, 1], Maximise, Measure::Delay), 2);
    assert_eq!(find("token-ring", &[1; 3], Maximise, Measure::Delay), 3);
    assert_eq!(find("token-ring", &[1; 3], Maximise, Measure::Bypass), 2);
    assert_eq!(find("suzuki-kasami", &[2; 3], Minimise, Measure::Messages), 6);
    assert_eq!(find("suzuki-kasami", &[2; 3], Maximise, Measure::Messages), 18);
}
