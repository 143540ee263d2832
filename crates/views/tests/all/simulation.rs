//! Leases over real consensus, under faults. `SKEPTRON_SEED=17 cargo test -p skeptron-views --test all simulation
//! -- --nocapture` replays seed 17 of every scenario; `SKEPTRON_SEEDS=20000` runs that many.

use std::time::Duration;

use skeptron_testing::{amount, variable};
use skeptron_views::flaw::Flaw;

use crate::world::{MS, Report, SECOND, Scenario, THREE, World};

fn seeds(usual: u64, full: u64) -> std::ops::Range<u64> {
    match variable("SKEPTRON_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..amount("SKEPTRON_SEEDS", usual, full),
    }
}

#[allow(clippy::disallowed_types, clippy::disallowed_methods)]
fn clock() -> impl Fn() -> Duration {
    let start = std::time::Instant::now();
    move || start.elapsed()
}

/// Runs until a seed fails; says how many that took.
fn first_violation(scenario: Scenario, seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    seeds
        .clone()
        .find_map(|seed| World::run(seed, scenario).violation.map(|violation| (seed, violation)))
}

/// The usual tier makes a fifth of the runs.
fn is_sound(name: &str, scenario: Scenario, runs: u64) {
    let (took, seeds) = (clock(), seeds(runs / 5, runs));
    let mut sum = Report {
        violation: None,
        events: 0,
        hash: 0,
        removed: 0,
        epochs: 0,
        terms: 0,
        replaced: 0,
        aways: 0,
        backs: 0,
    };
    for seed in seeds.clone() {
        let report = World::run(seed, scenario);
        if let Some(violation) = report.violation {
            panic!(
                "{name}: seed {seed}: {violation}\nreplay: SKEPTRON_SEED={seed} \
                 cargo test -p skeptron-views --test all simulation {name} -- --nocapture"
            );
        }
        sum.events += report.events;
        sum.removed += report.removed;
        sum.epochs += report.epochs;
        sum.terms += report.terms;
        sum.replaced += report.replaced;
        sum.aways += report.aways;
        sum.backs += report.backs;
    }
    let count = seeds.end - seeds.start;
    println!(
        "{name}: seeds {seeds:?} in {:.1} s; per seed {} events, {} removed, {} epochs, {} terms; {} voters replaced, {} away, {} back",
        took().as_secs_f64(),
        sum.events / count,
        sum.removed as u64 / count,
        sum.epochs / count,
        sum.terms / count,
        sum.replaced,
        sum.aways,
        sum.backs,
    );
    // Not in every few runs.
    let is_telling = sum.backs > 0 && sum.aways > sum.backs;
    assert!(count < 100 || is_telling, "{name}: nobody was away, or all came back");
}

fn is_caught(flaw: Flaw, scenario: Scenario, limit: u64) {
    let took = clock();
    let found = first_violation(Scenario { flaw: Some(flaw), ..scenario }, seeds(limit, limit));
    let seconds = took().as_secs_f64();
    match found {
        Some((seed, violation)) => {
            println!("{flaw:?}: caught by seed {seed}, after {seconds:.1} s: {violation}");
        }
        None => panic!("{flaw:?}: not caught in {limit} seeds, {seconds:.1} s"),
    }
}

#[test]
fn three_voters_are_sound() {
    is_sound("three_voters_are_sound", THREE, 600);
}

#[test]
fn one_voter_is_sound() {
    is_sound("one_voter_is_sound", Scenario { voters: 1, nodes: 3, ..THREE }, 200);
}

#[test]
fn five_voters_are_sound() {
    is_sound("five_voters_are_sound", Scenario { voters: 5, nodes: 7, ..THREE }, 150);
}

const WIDE_CLOCKS: Scenario = Scenario { drift_ppm: 20_000, rho_ppm: 20_000, ..THREE };
const SLOW_APPLY: Scenario = Scenario { apply_every: 12, calm: SECOND, ..THREE };
/// Decisions take long, so that much happens between a proposal and its commit.
const SLOW_VOTERS: Scenario = Scenario { voter_delay: Some(350 * MS), ..THREE };

#[test]
fn slow_voters_are_sound() {
    is_sound("slow_voters_are_sound", SLOW_VOTERS, 150);
}

#[test]
fn clocks_far_off_but_within_the_bound_are_sound() {
    is_sound("clocks_far_off_but_within_the_bound_are_sound", WIDE_CLOCKS, 150);
}

#[test]
fn replacing_voters_is_sound() {
    let three = Scenario { replaces: true, ..THREE };
    is_sound("replacing_voters_is_sound", three, 200);
    is_sound("replacing_voters_is_sound", Scenario { voters: 5, nodes: 6, ..three }, 50);
}

#[test]
fn slow_applying_is_sound() {
    is_sound("slow_applying_is_sound", SLOW_APPLY, 200);
}

#[test]
fn a_seed_means_one_run() {
    for seed in 0..5 {
        let [one, two] = [(); 2].map(|()| World::run(seed, THREE));
        assert_eq!((one.hash, one.events), (two.hash, two.events), "seed {seed}");
    }
}

#[test]
fn each_rule_is_needed() {
    is_caught(Flaw::NewLeaderDoesNotWait, THREE, 200);
    is_caught(Flaw::CountsFromAnswer, THREE, 2000);
    is_caught(Flaw::NoDrift, WIDE_CLOCKS, 1000);
    is_caught(Flaw::JoiningIsNotRenewing, THREE, 200);
    is_caught(Flaw::ComesBack, THREE, 200);
    is_caught(Flaw::SendsBeforeSync, THREE, 1000);
    is_caught(Flaw::AwayIsGone, THREE, 200);
    is_caught(Flaw::NotTakenBack, THREE, 200);
}

#[test]
fn each_rule_is_needed_rare() {
    is_caught(Flaw::NoReadIndex, THREE, 4000);
    is_caught(Flaw::NotDoomed, SLOW_VOTERS, 4000);
    is_caught(Flaw::BeforeApplied, SLOW_APPLY, 4000);
}

/// For the docs: `SKEPTRON_SEEDS=20000 cargo test -p skeptron-views --test all simulation how_often -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a measurement, not a check"]
fn how_often_each_flaw_shows() {
    let flaws = [
        (Flaw::NewLeaderDoesNotWait, THREE),
        (Flaw::CountsFromAnswer, THREE),
        (Flaw::NoReadIndex, THREE),
        (Flaw::NotDoomed, SLOW_VOTERS),
        (Flaw::BeforeApplied, SLOW_APPLY),
        (Flaw::NoDrift, WIDE_CLOCKS),
        (Flaw::JoiningIsNotRenewing, THREE),
        (Flaw::ComesBack, THREE),
        (Flaw::SendsBeforeSync, THREE),
        (Flaw::AwayIsGone, THREE),
        (Flaw::NotTakenBack, THREE),
    ];
    let seeds = seeds(1000, 1000);
    for (flaw, scenario) in flaws {
        let scenario = Scenario { flaw: Some(flaw), ..scenario };
        let violated = |&seed: &u64| World::run(seed, scenario).violation.is_some();
        println!("{flaw:?}: {} of seeds {seeds:?}", seeds.clone().filter(violated).count());
    }
}
