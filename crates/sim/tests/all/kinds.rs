//! Locks with kinds in simulated time: figures that are exact, storms that starve nobody, and rules that are
//! missed when they are left out.

use skeptron_core::catalogue::{self, Breaks, Info, Order};
use skeptron_core::mutex::Usage;
use skeptron_core::mutex::shared::offers_kinds;
use skeptron_core::mutex::sharing::SharingFlaw;
use skeptron_core::{NodeId, Setup};
use skeptron_sim::kinds::{Kinds, KindsReport, run_kinds};
use skeptron_sim::{Distribution, Latency, Scenario, ScenarioError, Workload};

fn inner_locks() -> impl Iterator<Item = &'static Info> {
    catalogue::sound().filter(|info| offers_kinds(info))
}

fn kinds(modes: &str, nodes: usize) -> Kinds {
    Kinds { usages: Usage::lists(modes, nodes).unwrap(), at_once: 1, flaw: None }
}

fn scenario(nodes: usize) -> Scenario {
    Scenario { warmup: 20, entries: 500, ..Scenario::new(Setup::new(nodes).unwrap()) }
}

fn report(info: &'static Info, scenario: &Scenario, kinds: &Kinds) -> KindsReport {
    run_kinds(info, scenario, kinds, false).unwrap().report
}

/// A reader that comes back alone pays what the inner lock costs, and nothing for having left.
#[test]
fn a_lone_reader_pays_the_inner_lock() {
    for info in inner_locks() {
        let lone = Scenario { requesters: vec![NodeId::new(4)], ..scenario(5) };
        let report = report(info, &lone, &kinds("shared", 5));
        assert!(report.is_fine(), "{report:?}");
        let inner = match info.name {
            "central" => 3.0,
            "ricart-agrawala" => 8.0,
            _ => 0.0,
        };
        assert_eq!(report.messages_per_entry, inner, "{}", info.name);
        let told = report.by_type.iter().filter(|(kind, _)| ["ASK", "LEFT"].contains(kind));
        assert!(told.map(|(_, count)| count).sum::<u64>() == 0, "{}", info.name);
    }
}

/// Exclusive entries through the inner lock are the algorithm's own entries, message for message.
#[test]
fn exclusive_entries_cost_what_the_algorithm_costs() {
    for info in inner_locks() {
        let scenario = scenario(5);
        let with_kinds = report(info, &scenario, &kinds("exclusive", 5));
        let plain = skeptron_sim::run(info, &scenario, &skeptron_sim::Options::default()).unwrap();
        assert!(with_kinds.is_fine());
        assert_eq!(with_kinds.messages_per_entry, plain.report.messages.per_entry, "{}", info.name);
        assert_eq!(with_kinds.throughput, plain.report.throughput, "{}", info.name);
        assert_eq!(with_kinds.concurrency.most, 1);
    }
}

/// Everybody reads for long: all are inside together.
#[test]
fn readers_share_and_permits_are_counted() {
    for info in inner_locks() {
        let long = Scenario { section: Distribution::constant(100.0), ..scenario(5) };
        for (modes, most) in [("shared", 5), ("permits:2", 2), ("permits:4", 4), ("exclusive", 1)] {
            let report = report(info, &long, &kinds(modes, 5));
            assert!(report.is_fine(), "{} {modes}", info.name);
            assert_eq!(report.concurrency.most, most, "{} {modes}", info.name);
            assert!(report.concurrency.mean > 0.8 * most as f64, "{} {modes}", info.name);
        }
    }
}

/// Many entries of one node at once.
#[test]
fn several_entries_of_a_node() {
    for info in inner_locks() {
        let long = Scenario { section: Distribution::constant(100.0), ..scenario(3) };
        let kinds = Kinds { at_once: 4, ..kinds("shared", 3) };
        let report = report(info, &long, &kinds);
        assert!(report.is_fine());
        assert_eq!(report.concurrency.most, 12, "{}", info.name);
    }
}

/// Nine readers ask again as soon as they have left. A writer that holds the inner lock stops them, so it is passed only by
/// those that get the inner lock before it: a few for each node, in a run of hundreds.
#[test]
fn a_storm_of_readers_does_not_starve_a_writer() {
    for info in inner_locks() {
        for seed in 1..=20 {
            let storm = Scenario {
                seed,
                section: Distribution::parse("exp:1").unwrap(),
                latency: Latency::same(Distribution::parse("uniform:0.1..2").unwrap()),
                ..scenario(10)
            };
            let readers =
                "shared,shared,shared,shared,shared,shared,shared,shared,shared,exclusive";
            let report = report(info, &storm, &kinds(readers, 10));
            assert!(report.is_fine(), "{} seed {seed}: {:?}", info.name, report.violations);
            let writer = report.usages.iter().find(|usage| usage.usage == "exclusive").unwrap();
            assert!(writer.entries > 0 && writer.longest_bypass <= 40, "{} {writer:?}", info.name);
        }
    }
}

/// A mix of everything, on channels that reorder, with chance in every time.
#[test]
fn random_runs_are_fine_and_repeat() {
    for info in inner_locks() {
        for seed in 1..=100 {
            let random = Scenario {
                seed,
                workload: Workload::Closed { think: Distribution::parse("exp:2").unwrap() },
                section: Distribution::parse("exp:1").unwrap(),
                latency: Latency::same(Distribution::parse("uniform:0.1..4").unwrap()),
                order: info.channel,
                entries: 200,
                ..scenario(4)
            };
            let modes = "4*shared+exclusive+upgrade+downgrade,permits:2+upgrade:2,permits:3+shared";
            let kinds = Kinds { at_once: 1 + seed as usize % 3, ..kinds(modes, 4) };
            let first = report(info, &random, &kinds);
            assert!(first.is_fine(), "{} seed {seed}: {:?}", info.name, first.violations);
            if seed <= 5 {
                assert_eq!(report(info, &random, &kinds), first, "a seed is a run");
            }
        }
    }
}

/// The options under which each broken variant is caught, for a few hundred seeds at most.
#[test]
fn without_any_rule_something_breaks() {
    for flaw in SharingFlaw::ALL {
        let broken = flaw.broken();
        let words: Vec<&str> = broken.shown_by.split_whitespace().collect();
        let value = |option: &str| {
            let place = words.iter().position(|word| *word == option);
            place.map(|place| words[place + 1])
        };
        let nodes: usize = value("-n").unwrap().parse().unwrap();
        let kinds = Kinds { flaw: Some(flaw), ..kinds(value("--modes").unwrap(), nodes) };
        for info in inner_locks() {
            let shown = (1..=300).any(|seed| {
                let latency = Distribution::parse(value("--latency").unwrap_or("1")).unwrap();
                let order = value("--order").map_or(Order::Fifo, |_| Order::Any);
                let latency = Latency::same(latency);
                let section = Distribution::parse(value("--section").unwrap_or("1")).unwrap();
                let run = Scenario { seed, latency, section, order, ..scenario(nodes) };
                let report = report(info, &run, &kinds);
                let expected = match broken.breaks {
                    Breaks::Liveness => "progress",
                    _ => "exclusion",
                };
                report.violations.iter().any(|violation| violation.property == expected)
            });
            assert!(shown, "{flaw} over {}", info.name);
        }
    }
}

#[test]
fn what_is_not_offered_is_refused() {
    let maekawa = catalogue::find("raymond").unwrap();
    let refused = run_kinds(maekawa, &scenario(3), &kinds("shared", 3), false).unwrap_err();
    assert_eq!(refused, ScenarioError::NoKinds("raymond"));
    let mut faulty = scenario(3);
    faulty.faults.loss = 0.1;
    let central = catalogue::find("central").unwrap();
    let refused = run_kinds(central, &faulty, &kinds("shared", 3), false).unwrap_err();
    assert_eq!(refused, ScenarioError::KindsWithFaults);
}
