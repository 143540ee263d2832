//! Random walks: within what a search finds, the same on any number of threads and in shards, and never a proof.

use skeptron_check::{
    ElectionFaults, ElectionScenario, Judging, Options, Property, Report, Scenario, ScenarioError,
    Walks, check, check_election,
};
use skeptron_core::catalogue::{self, Order};

use crate::setup;

const WALKS: Walks = Walks { count: 3000, most_steps: 1000, seed: 7, shard: (0, 1) };

fn walk(name: &str, requests: &[u8], options: &Options<'_>) -> Report {
    let setup = setup(requests.len());
    let scenario = Scenario { requests: requests.to_vec(), ..Scenario::new(setup, 0, Order::Fifo) };
    check(catalogue::find(name).unwrap(), &scenario, options).unwrap()
}

fn walked(name: &str, requests: &[u8], walks: Walks) -> Report {
    walk(name, requests, &Options { walks: Some(walks), keep_going: true, ..Options::default() })
}

/// A small system is walked through completely: its states are those of a search, and none is new at the end.
#[test]
fn they_come_to_the_states_that_a_search_finds() {
    for name in ["central", "ricart-agrawala", "suzuki-kasami"] {
        let all = walk(name, &[2, 1], &Options { reduction: false, ..Options::default() });
        let walked = walked(name, &[2, 1], WALKS);
        assert!(all.complete && !walked.complete, "{name}");
        assert_eq!((walked.states, walked.depth), (all.states, all.depth), "{name}");
        let tally = walked.walked.unwrap();
        assert_eq!((tally.walks, tally.cut_short, tally.new_states), (3000, 0, 0.0), "{name}");
    }
}

/// What is sound is not violated, and not said to hold either.
#[test]
fn they_prove_nothing() {
    for info in catalogue::sound() {
        let report = walked(info.name, &[1; 3], Walks { count: 500, ..WALKS });
        assert!(report.verdicts.iter().all(|verdict| verdict.holds.is_none()), "{}", info.name);
    }
    let only = [Property::Starvation];
    let judging = Judging { only: Some(&only), ..Judging::default() };
    let scenario = Scenario::new(setup(3), 1, Order::Fifo);
    let options = Options { judging, walks: Some(WALKS), ..Options::default() };
    let refused = check(catalogue::find("central").unwrap(), &scenario, &options);
    assert_eq!(refused.unwrap_err(), ScenarioError::StarvationByWalks);
}

/// What is violated is found, and nobody says that it cannot be had in fewer steps.
#[test]
fn they_find_violations() {
    let report = walked("ricart-agrawala-no-tie-break", &[1; 3], WALKS);
    let found = report.verdict(Property::Exclusion).unwrap().counterexample.clone().unwrap();
    assert!(!found.shortest);
    let shortest = walk("ricart-agrawala-no-tie-break", &[1; 3], &Options::default());
    assert!(found.steps.len() >= shortest.violation().unwrap().1.steps.len());

    let faults = ElectionFaults { premature: 1, ..ElectionFaults::default() };
    let scenario = ElectionScenario { faults, ..ElectionScenario::new(setup(3), Order::Fifo) };
    let options = Options { walks: Some(WALKS), keep_going: true, ..Options::default() };
    let bully = catalogue::find_election("bully").unwrap();
    let report = check_election(bully, &scenario, &options).unwrap();
    assert_eq!(report.verdict(Property::Agreement).unwrap().holds, Some(false));
}

/// Neither the number of threads nor that of shards decides what a walk does.
#[test]
fn threads_and_shards_do_not_matter() {
    let on = |threads, shard| {
        let walks = Some(Walks { shard, ..WALKS });
        let options = Options { threads, walks, keep_going: true, ..Options::default() };
        let report = walk("ricart-agrawala-no-tie-break", &[2, 2, 1], &options);
        let runs: Vec<_> = report.verdicts.into_iter().map(|v| v.counterexample).collect();
        (report.states, report.transitions, report.walked.unwrap(), runs)
    };
    let whole = on(1, (0, 1));
    assert_eq!(on(3, (0, 1)), whole);
    let shards: Vec<_> = (0..4).map(|place| on(2, (place, 4))).collect();
    let sum = |of: fn(&(u64, u64, skeptron_check::Walked, Vec<_>)) -> u64| -> u64 {
        shards.iter().map(of).sum()
    };
    assert_eq!(sum(|shard| shard.1), whole.1);
    assert_eq!(sum(|shard| shard.2.walks), 3000);
    let length = |runs: &[Option<skeptron_check::Counterexample>]| {
        runs.iter().flatten().map(|run| run.steps.len()).min()
    };
    assert_eq!(shards.iter().filter_map(|shard| length(&shard.3)).min(), length(&whole.3));
}
