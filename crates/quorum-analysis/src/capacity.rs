//! Capacity and latency: how many entries a second the nodes can serve, and how fast.
//!
//! Node `i` serves `capacities[i]` requests in a unit of time. Quorums are asked at rates that leave
//! nobody with more than that; the capacity is the largest sum of such rates (the inverse of the load
//! where all capacities are 1). A quorum is as slow as its slowest member, so among the strategies of
//! that capacity the one of the least expected latency is taken.

use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_quorum::System;
use thiserror::Error;

use crate::strategy::{self, Method, Proof, Share, slowest};

/// What nodes of given speed can do together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumPerformance"))]
pub struct Performance {
    /// The largest rate of entries that the nodes can serve.
    pub capacity: f64,
    /// No strategy has a larger one.
    pub capacity_at_most: f64,
    /// How it was found, and what is proved of the capacity.
    #[cfg_attr(feature = "typescript", ts(type = "string"))]
    pub method: Method,
    /// How likely which quorums are chosen for that, in ascending order.
    pub strategy: Vec<Share>,
    /// How long it takes, on average, until all of the quorum chosen have answered; unknown if the
    /// strategy has too many quorums to write out, and these differ in that.
    pub latency: Option<f64>,
    /// Whether no other strategy of this capacity has a smaller expected latency; otherwise that was
    /// not looked for, because there are too many quorums.
    pub latency_is_least: bool,
    /// When the quorum that answers first has answered.
    pub fastest: f64,
    /// That quorum.
    #[cfg_attr(feature = "typescript", ts(type = "number[]"))]
    pub fastest_quorum: Vec<NodeId>,
}

/// Why there is no capacity or latency.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PerformanceError {
    /// Not one number for each node.
    #[error("there are {given} {what} for {nodes} nodes; give one for each node")]
    WrongLength {
        /// Capacities or latencies.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A number that is none, or below 0.
    #[error("{value} among the {what} is for {node}; it has to be a finite number from 0 up")]
    NoNumber {
        /// Capacities or latencies.
        what: &'static str,
        /// Whose it is.
        node: NodeId,
        /// What was given.
        value: f64,
    },
    /// Nobody can enter at all.
    #[error(
        "every quorum has a node of capacity 0, so nobody could ever enter; give more nodes a \
         capacity above 0"
    )]
    NoCapacity,
}

/// The capacity of `system` and its latency at that rate, for nodes that serve `capacities` requests in
/// a unit of time and answer after `latencies`.
///
/// # Errors
/// If there is not one number from 0 up for each node, or every quorum has a node of capacity 0.
pub fn performance(
    system: &System,
    capacities: &[f64],
    latencies: &[f64],
) -> Result<Performance, PerformanceError> {
    check("capacities", system.nodes(), capacities)?;
    check("latencies", system.nodes(), latencies)?;
    let unit = bottleneck(system, capacities).ok_or(PerformanceError::NoCapacity)?;
    let useful = |capacity: &f64| (capacity / unit).min(capacities.len() as f64);
    let useful: Vec<f64> = capacities.iter().map(useful).collect();
    let best = strategy::best(system, &useful, Some(latencies));
    let (capacity, capacity_at_most) = (best.rate * unit, best.at_most * unit);
    let proof = match best.fraction {
        Some(_) => Proof::Exact,
        None => Proof::by_bounds(capacity, capacity_at_most),
    };
    let are_equal = latencies.iter().all(|latency| *latency == latencies[0]);
    let latency = |share: &Share| share.probability * slowest(&share.quorum, latencies);
    let (fastest, fastest_quorum) = fastest(system, latencies);
    Ok(Performance {
        capacity,
        capacity_at_most,
        method: Method { search: best.search, proof },
        latency: (are_equal || !best.is_turned).then(|| best.strategy.iter().map(latency).sum()),
        latency_is_least: are_equal || best.is_fastest,
        strategy: best.strategy,
        fastest,
        fastest_quorum,
    })
}

fn check(what: &'static str, nodes: usize, numbers: &[f64]) -> Result<(), PerformanceError> {
    if numbers.len() != nodes {
        return Err(PerformanceError::WrongLength { what, given: numbers.len(), nodes });
    }
    match NodeId::all(nodes).zip(numbers).find(|(_, value)| !(value.is_finite() && **value >= 0.0))
    {
        Some((node, &value)) => Err(PerformanceError::NoNumber { what, node, value }),
        None => Ok(()),
    }
}

/// The largest capacity that all members of some quorum have; none if that is 0.
///
/// That quorum alone serves so much. Every quorum has a member of no more, so all together serve at most
/// N times as much, and to have even more is of no use to a node. The solver, which is at ease with numbers
/// about one, gets capacities in this unit, however far apart they are.
fn bottleneck(system: &System, capacities: &[f64]) -> Option<f64> {
    let mut falling: Vec<f64> = capacities.iter().copied().filter(|&c| c > 0.0).collect();
    falling.sort_by(|a, b| b.total_cmp(a));
    let too_few = |least: &f64| !system.is_live(|node| capacities[node.index()] >= *least);
    falling.get(falling.partition_point(too_few)).copied()
}

/// The quorum whose slowest member is the fastest; of several the smallest.
fn fastest(system: &System, latencies: &[f64]) -> (f64, Vec<NodeId>) {
    let mut times = latencies.to_vec();
    times.sort_by(f64::total_cmp);
    let is_early = |time: &f64| !system.is_live(|node| latencies[node.index()] <= *time);
    let time = times[times.partition_point(is_early)];
    let is_late = |node: NodeId| latencies[node.index()] > time;
    (time, system.cheapest(|node| if is_late(node) { f64::INFINITY } else { 1.0 }).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;
    use crate::load::tests::system;
    use crate::strategy::Search;

    fn with_ones(text: &str) -> Performance {
        let system = system(text);
        let ones = vec![1.0; system.nodes()];
        performance(&system, &ones, &ones).unwrap()
    }

    #[test]
    fn equal_nodes_have_the_inverse_of_the_load() {
        for text in [
            "majority 5",
            "majority 25",
            "grid 9",
            "grid 20",
            "fano",
            "wall:1,2,3,4",
            "wall 60",
            "tree:2",
            "hierarchical:3",
            "weighted:3,1,1,1,1",
        ] {
            let performance = with_ones(text);
            let load = load(&system(text));
            assert!((performance.capacity * load.value - 1.0).abs() < 1e-9, "{text}");
            assert!((performance.latency.unwrap() - 1.0).abs() < 1e-9, "{text}");
            assert_eq!(performance.fastest, 1.0, "{text}");
        }
    }

    /// Twice the capacity everywhere serves twice as many.
    #[test]
    fn capacity_is_proportional() {
        let system = system("wall:1,2,3");
        let capacities = [5.0, 1.0, 2.0, 4.0, 3.0, 1.0];
        let single = performance(&system, &capacities, &[1.0; 6]).unwrap();
        let double = performance(&system, &capacities.map(|c| 2e6 * c), &[1.0; 6]).unwrap();
        assert!((double.capacity / single.capacity / 2e6 - 1.0).abs() < 1e-12);
        assert_eq!(single.method.proof, Proof::Rounded, "{}", single.method);
    }

    /// Two of three, with node 3 slow: its capacity is worth a slower answer, but no more than needed.
    #[test]
    fn the_fastest_of_the_best_strategies_is_taken() {
        let system = system("majority 3");
        let found = performance(&system, &[3.0, 3.0, 2.0], &[1.0, 2.0, 9.0]).unwrap();
        // Every entry takes two requests of eight.
        assert!((found.capacity - 4.0).abs() < 1e-12);
        // Quorums {1,2}, {1,3}, {2,3} at the rates 2, 1, 1.
        assert!((found.latency.unwrap() - (2.0 * 2.0 + 9.0 + 9.0) / 4.0).abs() < 1e-12);
        assert_eq!(found.fastest, 2.0);
        assert_eq!(found.fastest_quorum, [0, 1].map(NodeId::new));
        assert!(found.latency_is_least);
    }

    #[test]
    fn who_is_never_asked_needs_no_capacity() {
        let found =
            performance(&system("singleton 3"), &[2.0, 0.0, 0.0], &[4.0, 1.0, 1.0]).unwrap();
        assert_eq!((found.capacity, found.latency), (2.0, Some(4.0)));
    }

    /// Only node 3 has time to spare; at these scales absolute tolerances would see nothing at all.
    #[test]
    fn capacities_and_latencies_may_be_far_apart() {
        let (majority, singleton) = (system("majority 3"), system("singleton 2"));
        for scale in [1e-12, 1.0, 1e12] {
            let capacities = [scale, scale, 1e14 * scale];
            let found = performance(&majority, &capacities, &[scale; 3]).unwrap();
            assert!((found.capacity / scale - 2.0).abs() < 1e-9, "{}", found.capacity);
            assert!(
                (found.capacity_at_most / scale - 2.0).abs() < 1e-9,
                "{}",
                found.capacity_at_most
            );
            assert_eq!(found.method.proof, Proof::Rounded);
            let capacities = [3.0, 3.0, 2.0].map(|c| c * scale);
            let found =
                performance(&majority, &capacities, &[1.0, 2.0, 9.0].map(|t| t * scale)).unwrap();
            assert!((found.latency.unwrap() / scale - 5.5).abs() < 1e-9, "{scale}");
        }
        let found = performance(&singleton, &[1e-300, 1e300], &[1.0; 2]);
        assert!((found.unwrap().capacity / 1e-300 - 1.0).abs() < 1e-9);
    }

    /// Nobody is like anybody else.
    #[test]
    fn large_systems_reach_the_optimum() {
        let system = system("grid 400");
        let capacities: Vec<f64> = (0..400).map(|i| 1.0 + (i * 37 % 400) as f64 / 400.0).collect();
        let found = performance(&system, &capacities, &[1.0; 400]).unwrap();
        assert!(matches!(found.method.search, Search::Classes { nodes: 400, .. }));
        assert_eq!(found.method.proof, Proof::Rounded, "{}", found.method);
    }

    #[test]
    fn errors_name_cause_and_remedy() {
        let system = system("majority 3");
        let message = |capacities: &[f64], latencies: &[f64]| {
            performance(&system, capacities, latencies).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[1.0], &[1.0; 3]),
            "there are 1 capacities for 3 nodes; give one for each node"
        );
        assert_eq!(
            message(&[1.0; 3], &[1.0, -2.0, 1.0]),
            "-2 among the latencies is for P2; it has to be a finite number from 0 up"
        );
        assert_eq!(
            message(&[1.0, 1.0, f64::NAN], &[1.0; 3]),
            "NaN among the capacities is for P3; it has to be a finite number from 0 up"
        );
        assert_eq!(
            message(&[1.0, 0.0, 0.0], &[1.0; 3]),
            "every quorum has a node of capacity 0, so nobody could ever enter; give more nodes a \
             capacity above 0"
        );
    }
}
