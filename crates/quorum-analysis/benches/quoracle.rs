//! The load of a system with its best strategy, and its resilience, here and by the crate `quoracle`, in
//! one run.

#[path = "../tests/all/oracle.rs"]
mod oracle;

use std::hint::black_box;
use std::time::{Duration, Instant};

use skeptron_quorum_analysis::load::load;
use skeptron_quorum_analysis::resilience::resilience;

use oracle::{Nodes, only_writes, strategy, system};
use quoracle::{Objective, StrategyLimits};

const SYSTEMS: [&str; 28] = [
    "singleton 1",
    "singleton 5",
    "all 5",
    "majority 2",
    "majority 3",
    "majority 5",
    "majority 7",
    "majority 9",
    "majority 11",
    "majority 13",
    "grid 9",
    "grid 16",
    "grid 25",
    "grid 14",
    "cyclic 12",
    "fano",
    "maekawa-13",
    "wall:1,2,3",
    "wall:1,2,3,4",
    "tree:2",
    "tree:3",
    "hierarchical:2",
    "weighted:3,1,1,1,1",
    "weighted:5,4,3,2,2,1",
    "weighted:9,7,5,4,3,2,1",
    "weighted:991,846,712,605,533,417,389,256,143,97",
    "wall:2,3,2",
    "projective 31",
];

fn main() {
    // `cargo test` runs this too, without the flag of `cargo bench`.
    let in_earnest = |arguments: Vec<String>| {
        arguments.iter().any(|a| a == "--bench") && !arguments.iter().any(|a| a == "--test")
    };
    let (systems, budget) = match in_earnest(std::env::args().collect()) {
        true => (&SYSTEMS[..], Duration::from_millis(300)),
        false => (&SYSTEMS[..2], Duration::ZERO),
    };
    println!("{:48} {:>9} {:>30}", "", "load", "resilience");
    let columns = ["here µs", "quoracle", "ratio", "here µs", "quoracle", "ratio"];
    println!("{:48} {}", "system", columns.map(|title| format!("{title:>9}")).join(" "));
    for text in systems {
        compare(text, budget);
    }
    println!("Each the best of as many runs as fit into {budget:?}, of one at least.");
}

fn compare(text: &str, budget: Duration) {
    let ours = system(text);
    let ones = vec![1.0; ours.nodes()];
    let theirs = Nodes::new(&ones, &ones).quorum_system(&ours);
    let (here, found) = best(budget, || load(black_box(&ours)).value);
    let (there, expected) = best(budget, || {
        let limits = StrategyLimits::default();
        let strategy = strategy(black_box(&theirs), Objective::Load, &limits);
        strategy.load(Some(&only_writes()), None).expect("a load")
    });
    assert!((found - expected).abs() < 1e-9, "{text}: {found} {expected}");
    let (crashes_here, survived) = best(budget, || resilience(black_box(&ours)).exact());
    let (crashes_there, known) = best(budget, || black_box(&theirs).write_resilience());
    assert_eq!(survived, Some(known), "{text}");
    let columns = [figures(here, there), figures(crashes_here, crashes_there)];
    println!("{text:48} {}", columns.join(" "));
}

fn figures(here: Duration, there: Duration) -> String {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let ratio = there.as_secs_f64() / here.as_secs_f64();
    format!("{:>9.1} {:>9.1} {ratio:>8.1}x", micros(here), micros(there))
}

/// The shortest of the runs that fit into `budget`, and what they answer.
fn best<T>(budget: Duration, mut run: impl FnMut() -> T) -> (Duration, T) {
    let started = Instant::now();
    let mut shortest = Duration::MAX;
    loop {
        let start = Instant::now();
        let answer = run();
        shortest = shortest.min(start.elapsed());
        if started.elapsed() >= budget {
            return (shortest, answer);
        }
    }
}
