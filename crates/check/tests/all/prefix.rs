//! Searches that begin in the middle of a run.

use skeptron_check::{
    Counterexample, ElectionScenario, Faults, Goal, Judging, Measure, Options, Property, Report,
    Scenario, ScenarioError, Step, Which, check, check_election, extreme,
};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{self, Order};

use crate::setup;

fn judge(name: &str, scenario: &Scenario) -> Report {
    check(catalogue::find(name).unwrap(), scenario, &Options::default()).unwrap()
}

/// The same system once these steps were taken: what was asked is not asked again.
fn after(scenario: &Scenario, steps: &[Step]) -> Scenario {
    let mut later = Scenario { after: steps.to_vec(), ..scenario.clone() };
    for step in steps {
        match step {
            Step::Request(node) => later.requests[node.index()] -= 1,
            Step::Lose(_) => later.faults.losses -= 1,
            Step::Duplicate(_) => later.faults.duplicates -= 1,
            Step::Crash(_) => later.faults.crashes -= 1,
            _ => {}
        }
    }
    later
}

/// From each state on the shortest way to a mistake, the mistake is as near as it was from the start.
#[test]
fn every_state_on_the_way_to_a_mistake_leads_to_it() {
    let loss = Faults { losses: 1, ..Faults::default() };
    let cases = [
        ("ricart-agrawala-no-tie-break", 2, 1, Order::Fifo, Faults::default()),
        ("lamport", 2, 1, Order::Any, Faults::default()),
        ("lamport", 3, 1, Order::Any, Faults::default()),
        ("singhal-1989", 3, 2, Order::Fifo, Faults::default()),
        ("suzuki-kasami", 2, 1, Order::Any, loss.clone()),
        ("central", 2, 1, Order::Fifo, Faults { duplicates: 1, ..Faults::default() }),
        ("token-ring", 2, 1, Order::Fifo, Faults { crashes: 1, ..Faults::default() }),
    ];
    for (name, nodes, requests, order, faults) in cases {
        let scenario = Scenario { faults, ..Scenario::new(setup(nodes), requests, order) };
        let report = judge(name, &scenario);
        let (property, shown) = report.violation().unwrap_or_else(|| panic!("{name} holds"));
        let is_wrong_at_once = matches!(property, Property::Exclusion | Property::Refused);
        leads_there(name, (property, shown), is_wrong_at_once, |steps| {
            judge(name, &after(&scenario, steps))
        });
    }
}

/// Searches from every state of a counterexample find the rest of it.
fn leads_there(
    name: &str,
    (property, shown): (Property, &Counterexample),
    is_wrong_at_once: bool,
    report_after: impl Fn(&[Step]) -> Report,
) {
    let steps = &shown.steps;
    for taken in 0..=steps.len() {
        let report = report_after(&steps[..taken]);
        let (found, from_here) = report
            .violation()
            .unwrap_or_else(|| panic!("{name} after {taken} of {steps:?}: {:?}", report.verdicts));
        assert_eq!(found, property, "{name} after {taken}");
        assert_eq!(&from_here.steps[..taken], &steps[..taken], "{name}");
        assert_eq!(from_here.steps.len(), steps.len(), "{name} after {taken}: {from_here:?}");
        let is_over = is_wrong_at_once && taken == steps.len();
        assert_eq!(report.states == 0, is_over, "{name} after {taken}");
        if is_over {
            assert_eq!((from_here.node, &from_here.detail), (shown.node, &shown.detail));
        }
    }
}

/// What is proved from the start is proved from every state of a run, too.
#[test]
fn what_holds_from_the_start_holds_from_every_state() {
    for info in catalogue::sound() {
        let scenario = Scenario::new(setup(3), 1, Order::Fifo);
        let whole = judge(info.name, &scenario);
        let names = |report: &Report| -> Vec<(Property, Option<bool>)> {
            report.verdicts.iter().map(|verdict| (verdict.property, verdict.holds)).collect()
        };
        let goal = (Goal::Maximise, Measure::Bypass);
        let run = extreme(info, &scenario, goal, &Options::default()).unwrap().run.unwrap();
        for taken in [1, run.steps.len() / 2, run.steps.len()] {
            let report = judge(info.name, &after(&scenario, &run.steps[..taken]));
            assert!(report.complete, "{}", info.name);
            assert_eq!(names(&report), names(&whole), "{} after {taken}", info.name);
        }
    }
}

/// Requests may be added: the search is of what follows, with as many as are asked for.
#[test]
fn further_requests_are_asked_from_there_on() {
    let [first, second] = [NodeId::new(0), NodeId::new(1)];
    let after = vec![Step::Request(first)];
    let none = Scenario { after, ..Scenario::new(setup(2), 0, Order::Fifo) };
    let few = judge("ricart-agrawala", &none);
    let more = judge("ricart-agrawala", &Scenario { requests: vec![1, 2], ..none.clone() });
    assert!(few.holds() && more.holds() && few.complete && more.complete);
    assert!(few.states < more.states, "{} {}", few.states, more.states);

    let deliver = |from, to| Step::Deliver(Which { from, to, nth: 0 });
    let inside = vec![Step::Request(first), deliver(first, second), deliver(second, first)];
    let entered = Scenario { after: inside, ..none };
    assert!(judge("ricart-agrawala", &entered).holds());
}

/// What follows a crash is judged by what is promised then: safety and progress.
#[test]
fn a_fault_before_the_search_counts_as_one() {
    let [first, second] = [NodeId::new(0), NodeId::new(1)];
    let after = vec![Step::Crash(first), Step::Request(second)];
    let scenario = Scenario { after, ..Scenario::new(setup(2), 0, Order::Fifo) };
    let report = judge("central", &scenario);
    assert!(report.verdict(Property::Messages).is_none());
    let (property, shown) = report.violation().unwrap();
    assert_eq!((property, shown.steps.len()), (Property::Progress, 2));
    assert_eq!(shown.detail, "P2 waits for ever");
}

/// The order of requests is judged across the moment at which the search begins.
#[test]
fn a_request_of_the_run_so_far_can_be_overtaken() {
    let only = [Property::OrderByTime];
    let judging = Judging { only: Some(&only), ..Judging::default() };
    let options = Options { judging, ..Options::default() };
    let info = catalogue::find("token-ring").unwrap();
    let whole = Scenario::new(setup(3), 1, Order::Fifo);
    let shown = check(info, &whole, &options).unwrap();
    let shown = shown.violation().unwrap().1.clone();
    let begun = after(&whole, &shown.steps[..shown.steps.len() - 1]);
    let found = check(info, &begun, &options).unwrap();
    assert_eq!(found.violation().unwrap().1.steps.len(), shown.steps.len());
    assert_eq!(found.violation().unwrap().1.detail, shown.detail);
}

/// Somebody starves from the middle of a run as from its beginning.
#[test]
fn starvation_is_shown_behind_the_run_so_far() {
    let setup = setup(4).with_arbitration(skeptron_core::Arbitration::Nearest);
    let requests = vec![1, 1, 0, 1];
    let after = vec![Step::Request(NodeId::new(1))];
    let scenario = Scenario { requests, after, ..Scenario::new(setup, 0, Order::Fifo) };
    let only = [Property::Starvation];
    let judging =
        Judging { only: Some(&only), endless_states: Some(4_000_000), ..Judging::default() };
    let options = Options { judging, ..Options::default() };
    let report = check(catalogue::find("singhal").unwrap(), &scenario, &options).unwrap();
    let shown = report.verdicts[0].counterexample.clone().unwrap();
    assert_eq!(shown.steps[0], Step::Request(NodeId::new(1)));
    assert!(shown.cycle.is_some_and(|begins| 1 <= begins && begins < shown.steps.len()));
}

#[test]
fn a_step_that_cannot_be_taken_is_refused() {
    let release = Step::Release(NodeId::new(0));
    let nowhere = Step::Request(NodeId::new(7));
    let nothing = Step::Deliver(Which { from: NodeId::new(0), to: NodeId::new(1), nth: 0 });
    for step in [release, nowhere, nothing, Step::Tick] {
        let after = vec![Step::Request(NodeId::new(1)), step];
        let scenario = Scenario { after, ..Scenario::new(setup(3), 1, Order::Fifo) };
        let info = catalogue::find("central").unwrap();
        let refused = check(info, &scenario, &Options::default()).unwrap_err();
        assert_eq!(refused, ScenarioError::NoSuchStep(2), "{step:?}");
    }
}

fn elect(name: &str, scenario: &ElectionScenario) -> Report {
    let info = catalogue::find_election(name).unwrap();
    check_election(info, scenario, &Options::default()).unwrap()
}

/// The same election once these steps were taken: what was called and went wrong does not come again.
fn elected_after(scenario: &ElectionScenario, steps: &[Step]) -> ElectionScenario {
    let mut later = ElectionScenario { after: steps.to_vec(), ..scenario.clone() };
    for step in steps {
        match step {
            Step::Call(_) => later.calls -= 1,
            Step::Lose(_) => later.faults.losses -= 1,
            Step::Duplicate(_) => later.faults.duplicates -= 1,
            Step::Crash(_) => later.faults.crashes -= 1,
            Step::Restart(_) => later.faults.restarts -= 1,
            _ => {}
        }
    }
    later
}

/// From each state on the shortest way to a mistake of an election, the mistake is as near as from the start: alarms,
/// detectors and late messages keep their times. (Of an election that never ends the rounds count from where the search
/// begins.)
#[test]
fn every_state_on_the_way_to_a_wrong_election_leads_to_it() {
    let name = "bully-short-timeout";
    for order in [Order::Fifo, Order::Any] {
        let initiators = vec![NodeId::new(0)];
        let scenario = ElectionScenario::new(setup(3), order);
        let scenario = ElectionScenario { initiators, calls: 1, ..scenario };
        let report = elect(name, &scenario);
        let (property, shown) = report.violation().unwrap_or_else(|| panic!("{name} holds"));
        let is_wrong_at_once = matches!(property, Property::Agreement | Property::Validity);
        leads_there(name, (property, shown), is_wrong_at_once, |steps| {
            elect(name, &elected_after(&scenario, steps))
        });
    }
}

/// Rounds count from where the search begins: many elections before it do not end it.
#[test]
fn elections_go_on_after_many_rounds() {
    let caller = NodeId::new(1);
    let deliver = |from, to| {
        let [from, to] = [from, to].map(NodeId::new);
        Step::Deliver(Which { from, to, nth: 0 })
    };
    let mut after = Vec::new();
    for _ in 0..20 {
        after.extend([Step::Call(caller), deliver(1, 0), Step::Tick]);
    }
    let scenario = ElectionScenario { after, ..ElectionScenario::new(setup(2), Order::Fifo) };
    let report = elect("bully", &scenario);
    assert!(report.complete && report.holds(), "{:?}", report.violation());
    assert!(report.states > 5, "{}", report.states);
}

#[test]
fn an_election_refuses_steps_that_cannot_be() {
    let node = NodeId::new(0);
    for step in [
        Step::Request(node),
        Step::Trust { node, whom: NodeId::new(1) },
        Step::Expire { node, nth: 0 },
        Step::Restart(node),
        Step::Draw { node, number: 1 },
    ] {
        let after = vec![Step::Tick, step];
        let scenario = ElectionScenario { after, ..ElectionScenario::new(setup(2), Order::Fifo) };
        let info = catalogue::find_election("bully").unwrap();
        let refused = check_election(info, &scenario, &Options::default()).unwrap_err();
        assert!(matches!(refused, ScenarioError::NoSuchStep(2)), "{step:?}: {refused}");
    }
}
