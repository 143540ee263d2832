//! Elections in the simulator: published figures, random runs in which no correct algorithm fails and
//! every broken one does, determinism, and replays. A failure prints the one command that shows it.

use rayon::prelude::*;
use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron_core::catalogue::{self, Algorithm, Breaks, ElectionInfo, Layout, Order};
use skeptron_sim::election::{Report, Scenario, run};
use skeptron_sim::{Options, QueueKind};
use skeptron_testing::{Chance, amount};

use crate::replay::{is_replayed, misses_lost_lines};

fn sound() -> impl Iterator<Item = &'static ElectionInfo> {
    catalogue::elections().filter(|info| info.broken.is_none())
}

/// The scenario of these options of `skeptron sim`.
fn scenario(args: &SimOptions) -> (&'static ElectionInfo, Scenario) {
    let name = args.algorithm.as_deref().unwrap();
    let Some(Algorithm::Election(info)) = Algorithm::find(name) else { panic!("{name}") };
    (
        info,
        args.election(info, Files::Disk)
            .unwrap_or_else(|error| panic!("{}: {error:#}", args.command())),
    )
}

fn report(words: &str) -> Report {
    let (info, scenario) = scenario(&SimOptions::parse(words).unwrap());
    run(info, &scenario, &Options::default()).unwrap().report
}

/// A time below `most` units, in tenths or in halves: those meet more often.
fn time(dice: &mut Chance, most: u64) -> f64 {
    match dice.below(2) {
        0 => dice.below(10 * most) as f64 / 10.0,
        _ => dice.below(2 * most) as f64 / 2.0,
    }
}

/// All of them have a longest, which is the bound that timers count in, and none is always 0: whoever
/// suspects the leader that an election at no latency names again would call for ever at one tick.
const LATENCIES: [&str; 6] = ["1", "0.5", "0.01", "uniform:0.1..1", "uniform:0..2", "three-dc"];

/// Random options for a run in which the assumptions of every election hold: messages arrive within
/// the bound, exactly the crashed are suspected.
fn options(info: &ElectionInfo, seed: u64) -> String {
    let mut dice = Chance::new(seed);
    let n = 1 + dice.below(9);
    let mut options = format!("{} -n {n} --seed {seed}", info.name);
    let mut add = |option: &str, value: &str| options.push_str(&format!(" --{option} {value}"));
    add("latency", dice.pick(&LATENCIES));
    if info.channel == Order::Any {
        add("order", dice.pick(&["fifo", "any"]));
    }
    match info.layout {
        Layout::Ring => add("ring", &format!("random:{}", dice.below(1000))),
        // Whoever is left must be linked.
        Layout::Graph => add("graph", "complete"),
        _ => {}
    }
    add("detector", &format!("perfect:{}", time(&mut dice, 6)));
    for _ in 0..dice.below(4) {
        let (node, from) = (1 + dice.below(n), time(&mut dice, 20));
        let until = from + 0.1 + time(&mut dice, 25);
        match dice.below(3) {
            0 => add("crash", &format!("{node}@{from}")),
            _ => add("crash", &format!("{node}@{from}..{until}")),
        }
    }
    if dice.below(4) == 0 {
        add("crash", &format!("random:0.0{},{}", 1 + dice.below(9), 1 + dice.below(20)));
    }
    // Everybody watches the leader, and some call anyhow.
    let called: Vec<String> = (0..dice.below(4))
        .map(|_| format!(",{}@{}", 1 + dice.below(n), time(&mut dice, 30)))
        .collect();
    add("initiators", &format!("all{}", called.concat()));
    options
}

#[test]
fn no_correct_election_fails() {
    let (runs, start) = (amount("SKEPTRON_RUNS", 500, 3_000), amount("SKEPTRON_SEED", 1, 1));
    for info in sound() {
        let failed: Vec<String> = (start..start + runs)
            .into_par_iter()
            .filter_map(|seed| {
                let args = SimOptions::parse(&options(info, seed)).unwrap();
                let (info, scenario) = scenario(&args);
                let report = run(info, &scenario, &Options::default()).unwrap().report;
                let command = args.command();
                let found = report.violations.first();
                found.map(|found| format!("{} {}\n  {command}", found.property, found.detail))
            })
            .collect();
        let shown = failed.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(failed.is_empty(), "{}: {} of {runs}\n{shown}", info.name, failed.len());
    }
}

#[test]
fn every_broken_election_is_caught() {
    for info in catalogue::elections() {
        let Some(broken) = info.broken else { continue };
        let args = SimOptions::parse(&format!("{} {}", info.name, broken.shown_by)).unwrap();
        let (info, first) = scenario(&args);
        let property = match broken.breaks {
            Breaks::Agreement => "agreement",
            Breaks::Validity => "validity",
            Breaks::Termination => "termination",
            Breaks::Refused => "refused",
            other => panic!("{}: no election breaks {other:?}", info.name),
        };
        let caught = (1..=500).find(|&seed| {
            let scenario = Scenario { seed, ..first.clone() };
            let report = run(info, &scenario, &Options::default()).unwrap().report;
            report.violations.iter().any(|violation| violation.property == property)
        });
        let Some(seed) = caught else {
            panic!("{} survives 500 seeds of {}", info.name, broken.shown_by);
        };
        // The command that a failure prints shows the same again.
        let command = SimOptions { seed, ..args }.command();
        assert!(!report(command.strip_prefix("skeptron sim ").unwrap()).is_fine(), "{command}");
    }
}

/// Run again, with the other queue, recorded, or parsed back from the printed command: a run has the
/// same hash.
#[test]
fn a_seed_determines_everything() {
    for info in sound() {
        for seed in 1..=20 {
            let args = SimOptions::parse(&options(info, seed)).unwrap();
            let (info, first) = scenario(&args);
            let hash = |options: &Options| run(info, &first, options).unwrap().report.trace_hash;
            let expected = hash(&Options::default());
            let heap = Options { queue: QueueKind::Heap, ..Options::default() };
            let recorded = Options { record: true, ..Options::default() };
            for options in [Options::default(), heap, recorded] {
                assert_eq!(hash(&options), expected, "{}: {options:?}", args.command());
            }
            let command = args.command();
            let again = SimOptions::parse(command.strip_prefix("skeptron sim ").unwrap()).unwrap();
            assert_eq!(scenario(&again).1, first, "{command}");
        }
    }
}

/// Options of `skeptron sim`, each a mix of what can happen.
const MIXES: [&str; 8] = [
    "",
    "-n 1",
    "-n 2 --order any --latency exp:1",
    "--crash P4@0..9 --crash P3@14 --initiators all,1@3",
    "--loss 0.1 --duplicate 0.2 --latency uniform:0..3 --bound 1",
    "--pause P1@0.5..5 --pause P4@4..9 --initiators all@0",
    "--partition 1|2,3@0..8 --detector imperfect:1,0.1,4",
    "--loss 0.02 --duplicate 0.05 --crash random:0.05,3 --pause random:0.1,2 \
     --partition random:0.05,2 --detector imperfect:1,0.05",
];

#[test]
fn what_is_recorded_is_replayed() {
    for info in catalogue::elections() {
        for (seed, mix) in (1..).zip(MIXES) {
            let size = if mix.contains("-n") { "" } else { "-n 4" };
            let words = format!("{} {size} {mix} --until 30 --seed {seed}", info.name);
            is_replayed(&words);
        }
    }
}

/// A run can end between any two steps, a message be on its way for ever, and a detector silent.
#[test]
fn a_lost_line_is_noticed() {
    misses_lost_lines("bully -n 3 --crash 3@0..9 --initiators 1", |line| {
        ["deliver", "lose", "suspect", "trust"]
            .iter()
            .any(|what| line.contains(&format!("\"do\":\"{what}\"")))
    });
}

/// What `skeptron sim` accepts as the issue writes it.
#[test]
fn the_bully_of_thirteen_costs_155_messages() {
    let report = report("bully -n 13 --crash 13@0 --initiators 1 --detector perfect:2");
    assert_eq!((report.messages.total, report.time), (155, Some(4.0)));
    assert_eq!(report.leader.unwrap().to_string(), "P12");
    assert_eq!(report.leaders.len(), 1);
}
