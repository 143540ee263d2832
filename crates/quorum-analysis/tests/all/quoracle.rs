//! Load, capacity and latency beside the crate `quoracle`, which enumerates quorums and nodes one by one.

use quoracle::{Objective, StrategyLimits};
use skeptron_quorum_analysis::capacity::performance;
use skeptron_quorum_analysis::load::load;

use crate::oracle::{Nodes, only_writes, strategy, system};

const SYSTEMS: [&str; 26] = [
    "singleton 4",
    "all 5",
    "majority 1",
    "majority 2",
    "majority 3",
    "majority 4",
    "majority 5",
    "majority 6",
    "majority 7",
    "majority 8",
    "majority 9",
    "grid 8",
    "grid 9",
    "grid 14",
    "grid 16",
    "cyclic 12",
    "fano",
    "maekawa-13",
    "projective 31",
    "wall:1,2,3",
    "wall:1,2,3,4",
    "wall:2,3,2",
    "tree:2",
    "hierarchical:2",
    "weighted:3,1,1,1,1",
    "weighted:5,4,3,2,2,1",
];

#[test]
fn loads_agree() {
    for text in SYSTEMS {
        let ours = system(text);
        let ones = vec![1.0; ours.nodes()];
        let theirs = Nodes::new(&ones, &ones).quorum_system(&ours);
        let theirs = strategy(&theirs, Objective::Load, &StrategyLimits::default());
        let expected = theirs.load(Some(&only_writes()), None).unwrap();
        let found = load(&ours);
        assert!((found.value - expected).abs() < 1e-9, "{text}: {} {expected}", found.value);
    }
}

/// Nodes of different speed: the capacity, and the least latency that goes with it.
#[test]
fn capacities_and_latencies_agree() {
    for text in SYSTEMS {
        let ours = system(text);
        let figure = |i: usize, a: usize, b: usize| (1 + (i * a + 2) % b) as f64;
        let capacities: Vec<f64> = (0..ours.nodes()).map(|i| figure(i, 7, 5)).collect();
        let latencies: Vec<f64> = (0..ours.nodes()).map(|i| figure(i, 5, 7)).collect();
        let theirs = Nodes::new(&capacities, &latencies).quorum_system(&ours);
        let best = strategy(&theirs, Objective::Load, &StrategyLimits::default());
        let found = performance(&ours, &capacities, &latencies).unwrap();
        let expected = best.capacity(Some(&only_writes()), None).unwrap();
        assert!((found.capacity / expected - 1.0).abs() < 1e-9, "{text}: {expected}");

        // Their solver needs some room for rounding, which it may use to be faster.
        let room = 1e-7;
        let limits =
            StrategyLimits { load: Some((1.0 + room) / found.capacity), ..Default::default() };
        let fast = strategy(&theirs, Objective::Latency, &limits);
        let expected = fast.latency(Some(&only_writes()), None).unwrap().as_secs_f64();
        let latency = found.latency.unwrap();
        assert!((latency - expected).abs() < 1e-4, "{text}: {latency} {expected}");

        let fastest = strategy(&theirs, Objective::Latency, &StrategyLimits::default());
        let expected = fastest.latency(Some(&only_writes()), None).unwrap().as_secs_f64();
        assert!((found.fastest - expected).abs() < 1e-6, "{text}: {expected}");
    }
}

#[test]
fn resiliences_agree() {
    for text in SYSTEMS {
        let ours = system(text);
        let ones = vec![1.0; ours.nodes()];
        let expected = Nodes::new(&ones, &ones).quorum_system(&ours).write_resilience();
        let found = skeptron_quorum_analysis::resilience::resilience(&ours);
        assert_eq!((found.at_least, found.at_most), (expected, expected), "{text}");
    }
}
