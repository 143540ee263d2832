//! Random runs: no correct algorithm fails in any, every broken one fails in some, and a failure
//! prints the one command that shows it again.

use rayon::prelude::*;
use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{self, Breaks, Info, Layout, Order};
use skeptron_sim::{Fault, Options, QueueKind, run};
use skeptron_testing::{Chance, amount};

const LATENCIES: [&str; 8] = [
    "1",
    "0.001",
    "uniform:0.1..2",
    "uniform:0..10",
    "exp:1",
    "normal:1,0.5",
    "pareto:0.2,1.2",
    "three-dc",
];
const SECTIONS: [&str; 5] = ["1", "0.1", "uniform:0..3", "exp:1", "pareto:0.1,1.1"];
const THINKING: [&str; 6] = ["0", "0.5", "exp:1", "exp:10", "uniform:0..5", "pareto:0.1,1.1"];

/// Any quorums of `n` nodes.
pub(crate) fn quorums(dice: &mut Chance, n: u64) -> String {
    let height = (n + 1).ilog2() - 1;
    match dice.below(4) {
        0 => {
            let weights: Vec<_> = (0..n).map(|_| (1 + dice.below(9)).to_string()).collect();
            format!("weighted:{}", weights.join(","))
        }
        1 if n + 1 == 2 << height => "tree".to_string(),
        2 if n == 1 || n == 3 || n == 9 => "hierarchical".to_string(),
        _ => {
            let kinds = [
                "cyclic",
                "grid",
                "projective",
                "triangle",
                "wall",
                "majority",
                "all",
                "singleton",
            ];
            dice.pick(&kinds).to_string()
        }
    }
}

/// Sizes of clusters of `n` nodes.
pub(crate) fn clusters(dice: &mut Chance, n: u64) -> String {
    let mut sizes = Vec::new();
    let mut left = n;
    while left > 0 {
        let size = 1 + dice.below(left.min(5));
        sizes.push(size.to_string());
        left -= size;
    }
    sizes.join(",")
}

/// Random options for a run in which the algorithm's assumptions hold.
fn options(info: &Info, seed: u64) -> String {
    let mut dice = Chance::new(seed);
    let n = 1 + dice.below(16);
    let mut options = format!("{} -n {n} --seed {seed}", info.name);
    let mut add = |option: &str, value: &str| options.push_str(&format!(" --{option} {value}"));
    add("latency", dice.pick(&LATENCIES));
    add("section", dice.pick(&SECTIONS));
    add("entries", &(5 + dice.below(60)).to_string());
    add("warmup", &dice.below(10).to_string());
    if info.channel == Order::Any {
        add("order", dice.pick(&["fifo", "any"]));
    }
    match dice.below(6) {
        0 => add("workload", "sequential"),
        1 => add("workload", &format!("poisson:{}", 1 + dice.below(20))),
        2 => add("workload", &format!("bursts:1,{}", 1 + dice.below(9))),
        3 => add("workload", &format!("hot:1,0.8,{}", 1 + dice.below(5))),
        _ => add("think", dice.pick(&THINKING)),
    }
    let able = if info.layout == Layout::Coordinator && n > 1 { n - 1 } else { n };
    if dice.below(3) == 0 {
        add("requesters", &(1 + dice.below(able)).to_string());
    }
    match info.layout {
        Layout::Coordinator => add("coordinator", &format!("P{}", 1 + dice.below(n))),
        Layout::Quorums => add("quorum", &quorums(&mut dice, n)),
        Layout::Structure if dice.below(2) == 0 => add("quorum", &quorums(&mut dice, n)),
        Layout::Structure => add("structure", dice.pick(&["lamport", "ricart-agrawala", "star"])),
        Layout::Tree => add("tree", dice.pick(&["balanced:2", "balanced:3", "star", "line"])),
        Layout::Arbitration => {
            add("arbitration", dice.pick(&["round-robin", "smallest-sequence", "nearest"]));
        }
        Layout::Capacity => {
            add("capacity", &(1 + dice.below(n.saturating_sub(1).max(1))).to_string());
        }
        Layout::ReadWrite => {
            add("readers", &dice.below(n + 1).to_string());
            add("read-quorums", dice.pick(&["grid", "majority", "read-one"]));
        }
        Layout::Beginning => add("begin", dice.pick(&["initial", "random", "random"])),
        Layout::Clusters => add("clusters", &clusters(&mut dice, n)),
        // Rings and networks are of elections.
        Layout::None | Layout::Ring | Layout::Graph | Layout::Detector => {}
    }
    options
}

#[test]
fn no_correct_algorithm_fails() {
    let (runs, start) = (amount("SKEPTRON_RUNS", 1000, 10_000), amount("SKEPTRON_SEED", 1, 1));
    for info in catalogue::sound() {
        (start..start + runs).into_par_iter().for_each(|seed| {
            let args = SimOptions::parse(&options(info, seed)).unwrap();
            let (info, scenario) = args.scenario(Files::Disk).unwrap();
            let report = run(info, &scenario, &Options::default()).unwrap().report;
            let found = (report.is_fine(), report.refused, report.entries);
            let command = args.command();
            let expected = (true, 0, scenario.entries);
            assert_eq!(found, expected, "{:?}\nreplay it: {command}", report.violations);
        });
    }
}

/// Where nodes are told of crashes the others go on, as long as a quorum is left: without any one of three or more, or
/// without any nodes that have others below them.
#[test]
fn crashes_are_survived_where_nodes_are_told() {
    let (runs, start) = (amount("SKEPTRON_RUNS", 1000, 10_000), amount("SKEPTRON_SEED", 1, 1));
    for info in catalogue::sound().filter(|info| info.has_detector()) {
        (start..start + runs).into_par_iter().for_each(|seed| {
            let args = SimOptions::parse(&options(info, seed)).unwrap();
            let mut dice = Chance::new(seed ^ 0x5EED);
            let n = args.system.nodes.unwrap() as u64;
            let (those, most) = match dice.below(2) {
                0 if n > 2 => (n, 1),
                _ => (n / 2, n / 2),
            };
            let crash = |_| format!("P{}@{}", 1 + dice.below(those), dice.below(60));
            let crash = (0..most).map(crash).collect();
            let detector = Some(dice.pick(&["perfect:0", "perfect:2", "perfect:20"]).into());
            let args = SimOptions { crash, detector, ..args };
            let (info, scenario) = args.scenario(Files::Disk).unwrap();
            let is_crashed = |node: &NodeId| {
                let planned = scenario.faults.planned.iter();
                planned.into_iter().any(|planned| planned.fault == Fault::Crash(*node))
            };
            if scenario.requesters.iter().all(is_crashed) {
                return; // Nobody is left who asks.
            }
            let report = run(info, &scenario, &Options::default()).unwrap().report;
            let command = args.command();
            let found = (report.is_fine(), report.refused);
            assert_eq!(found, (true, 0), "{:?}\nreplay it: {command}", report.violations);
        });
    }
}

#[test]
fn every_broken_variant_is_caught() {
    for info in catalogue::all() {
        let Some(broken) = info.broken else { continue };
        let args = SimOptions::parse(&format!("{} {}", info.name, broken.shown_by)).unwrap();
        let caught = (1..=500).find(|&seed| {
            let args = SimOptions { seed, ..args.clone() };
            let (info, scenario) = args.scenario(Files::Disk).unwrap();
            let report = run(info, &scenario, &Options::default()).unwrap().report;
            let violates = |name| report.violations.iter().any(|v| v.property == name);
            match broken.breaks {
                Breaks::Safety => violates("exclusion"),
                Breaks::Liveness => report.stalled,
                // No bound is claimed, but it is told: most others have passed somebody who still waits.
                Breaks::Starvation => report.unended.iter().any(|w| w.bypass * 2 > report.entries),
                Breaks::Order => violates("order"),
                Breaks::Refused => violates("refused"),
                Breaks::Convergence => violates("convergence"),
                Breaks::Agreement | Breaks::Validity | Breaks::Termination => false,
            }
        });
        let Some(seed) = caught else {
            panic!("{} survives 500 seeds of {}", info.name, broken.shown_by);
        };
        // The command that a failure prints shows the same again.
        let command = SimOptions { seed, ..args }.command();
        let again = SimOptions::parse(command.strip_prefix("skeptron sim ").unwrap()).unwrap();
        let (info, scenario) = again.scenario(Files::Disk).unwrap();
        let report = run(info, &scenario, &Options::default()).unwrap().report;
        let starves = broken.breaks == Breaks::Starvation && !report.unended.is_empty();
        assert!(!report.is_fine() || starves, "{command}");
    }
}

/// Run again, with the other queue, recorded, without watching the order, or parsed back from the
/// printed command: a run has the same hash.
#[test]
fn a_seed_determines_everything() {
    for info in catalogue::sound() {
        for seed in 1..=20 {
            let args = SimOptions::parse(&options(info, seed)).unwrap();
            let (info, scenario) = args.scenario(Files::Disk).unwrap();
            let hash = |options: &Options| run(info, &scenario, options).unwrap().report.trace_hash;
            let expected = hash(&Options::default());
            let heap = Options { queue: QueueKind::Heap, ..Options::default() };
            let recorded = Options { record: true, ..Options::default() };
            let unwatched = Options { skip_order: true, ..Options::default() };
            for options in [Options::default(), heap, recorded, unwatched] {
                assert_eq!(hash(&options), expected, "{}: {options:?}", args.command());
            }
            let command = args.command();
            let again = SimOptions::parse(command.strip_prefix("skeptron sim ").unwrap()).unwrap();
            assert_eq!(
                (again.scenario(Files::Disk).unwrap().1, again.command()),
                (scenario, command)
            );
        }
    }
}

/// The trace hash of one run, on every machine.
#[test]
fn a_seed_means_the_same_run_everywhere() {
    let options =
        "maekawa -n 9 --latency exp:1 --think normal:2,1 --section pareto:0.2,1.5 --order any";
    let (info, scenario) = SimOptions::parse(options).unwrap().scenario(Files::Disk).unwrap();
    let report = run(info, &scenario, &Options::default()).unwrap().report;
    assert_eq!(report.trace_hash, "2d0e5312a6278667");
}

/// The first request of every node comes at the same time, whatever the network does meanwhile.
#[test]
fn a_fault_does_not_shift_the_workload() {
    use skeptron_sim::trace::{Record, What};
    let first_requests = |trouble: &str| {
        let calm = "suzuki-kasami -n 6 --think exp:5 --entries 30 --latency exp:1";
        let trace =
            SimOptions::parse(&format!("{calm} {trouble}")).unwrap().trace(Files::Disk).unwrap();
        let is_request = |record: &&Record| record.what == What::Request;
        let requests = trace.records.iter().filter(is_request);
        let mut firsts: Vec<_> = requests.map(|record| (record.node, record.t)).collect();
        firsts.sort_unstable();
        firsts.dedup_by_key(|(node, _)| *node);
        firsts
    };
    let calm = first_requests("");
    assert_eq!(calm.len(), 6);
    for trouble in ["--loss 0.2", "--duplicate 0.5", "--partition random:0.5,1", "--crash P6@40"] {
        let shifted: Vec<_> =
            first_requests(trouble).into_iter().filter(|request| !calm.contains(request)).collect();
        assert_eq!(shifted, [], "{trouble}");
    }
}
