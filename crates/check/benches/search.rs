//! The checker beside stateright on the same worlds, one thread each, and what the reduction saves.

#[path = "../tests/all/oracle.rs"]
mod oracle;

use std::fs;
use std::time::Instant;

use oracle::Opinion;
use skeptron_check::{Options, Report, Scenario, check};
use skeptron_core::catalogue::{self, Info};
use skeptron_core::topology::{ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{NodeId, Setup};
use skeptron_quorum::default_for;

/// How often each node asks: systems that take stateright a second or a few.
const SYSTEMS: [(&str, &[u8]); 12] = [
    ("central", &[3, 3, 3, 3]),
    ("lamport", &[1, 2, 2]),
    ("lamport-lazy", &[1, 2, 2]),
    ("ricart-agrawala", &[2, 2, 3]),
    ("carvalho-roucairol", &[3, 3, 3]),
    ("maekawa", &[2, 2, 2]),
    ("sanders", &[1, 2, 2]),
    ("token-ring", &[3, 3, 3, 3, 3]),
    ("suzuki-kasami", &[2, 2, 3]),
    ("singhal", &[2, 2, 2]),
    ("raymond", &[3, 3, 3, 3]),
    ("naimi-trehel", &[2, 2, 3, 3]),
];

fn main() {
    // `cargo test` runs this too, without the flag of `cargo bench`.
    let in_earnest = |arguments: Vec<String>| {
        arguments.iter().any(|a| a == "--bench") && !arguments.iter().any(|a| a == "--test")
    };
    let (rounds, smallest) =
        if in_earnest(std::env::args().collect()) { (3, None) } else { (1, Some([1, 1])) };
    println!(
        "{:18} {:>12} {:>5} {:>10} {:>8} {:>10} {:>6} {:>6} {:>10}",
        "algorithm",
        "requests",
        "order",
        "states",
        "here",
        "stateright",
        "ratio",
        "bytes",
        "reduction"
    );
    for info in catalogue::sound() {
        let system = SYSTEMS.iter().find(|(name, _)| *name == info.name);
        let (_, requests) = system.unwrap_or_else(|| panic!("{} has no system", info.name));
        let requests = smallest.as_ref().map_or(*requests, |requests| requests);
        compare(info, requests, rounds);
    }
    println!(
        "Thousands of distinct states per CPU second, the best of {rounds}; bytes per state here."
    );
}

fn compare(info: &Info, requests: &[u8], rounds: usize) {
    let scenario = Scenario {
        requests: requests.to_vec(),
        ..Scenario::new(setup(requests.len()), 1, info.channel)
    };
    let (mut here, mut there) = (f64::INFINITY, f64::INFINITY);
    let reduced = search(info, &scenario, true);
    let mut full = reduced.clone();
    for _ in 0..rounds {
        let seconds;
        (seconds, full) = timed(|| search(info, &scenario, false));
        here = here.min(seconds);
        let (seconds, opinion) = timed(|| oracle::explore(info, &scenario));
        there = there.min(seconds);
        let all_well = Opinion {
            states: full.states,
            exclusion: true,
            progress: true,
            order: true,
            accepted: true,
        };
        assert_eq!(opinion, all_well, "{}", info.name);
    }
    let states = full.states as f64;
    let saved = if reduced.reduction {
        format!("{:.1}", states / reduced.states as f64)
    } else {
        "-".to_string()
    };
    let requests: Vec<String> = requests.iter().map(u8::to_string).collect();
    println!(
        "{:18} {:>12} {:>5} {:>10} {:>8.0} {:>10.0} {:>6.1} {:>6.0} {:>10}",
        info.name,
        requests.join(","),
        info.channel.to_string(),
        full.states,
        states / here / 1e3,
        states / there / 1e3,
        there / here,
        full.peak_bytes as f64 / states,
        saved
    );
}

/// A system with every layout that an algorithm might need.
fn setup(n: usize) -> Setup {
    let quorums = skeptron_quorum::quorums(&default_for(n), n).expect("quorums for every size");
    let setup = Setup::new(n).and_then(|setup| setup.with_tree(Tree::balanced(n, 2)));
    let readers = [NodeId::new(0)].into_iter().collect();
    let system =
        ReadWrite::of_kind(ReadWriteKind::Majority, n, readers).expect("a reader of the system");
    setup
        .and_then(|setup| setup.with_structure(Structure::ricart_agrawala(n)))
        .and_then(|setup| setup.with_quorums(quorums))
        .and_then(|setup| setup.with_read_write(system))
        .expect("all of the same size")
}

fn search(info: &Info, scenario: &Scenario, reduction: bool) -> Report {
    let options = Options {
        threads: 1,
        max_memory: 2 << 30,
        reduction,
        keep_going: true,
        ..Options::default()
    };
    let report = check(info, scenario, &options).expect("the scenario is within bounds");
    assert!(report.complete && report.holds(), "{}", info.name);
    report
}

/// How many CPU seconds it takes.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = (Instant::now(), cpu_seconds());
    let result = work();
    let seconds = match (began.1, cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => began.0.elapsed().as_secs_f64(),
    };
    // The clock has a hundred ticks per second.
    (seconds.max(0.01), result)
}

/// What all threads of this process have used, where the system tells.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Some(ticks.sum::<Result<f64, _>>().ok()? / 100.0)
}
