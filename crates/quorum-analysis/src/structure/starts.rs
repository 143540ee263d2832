//! Where the heuristic begins: structures that are known to be good at something.

use skeptron_quorum::{Construction, quorums};

use super::problem::{Family, Problem, members};

/// Hubs are tried with each of these quorum systems, where it exists for so many.
const SYSTEMS: [Construction; 7] = [
    Construction::Cyclic,
    Construction::Majority,
    Construction::Grid,
    Construction::Projective(None),
    Construction::Triangle,
    Construction::Wall(None),
    Construction::Tree(None),
];

/// For each number of hubs, taken from those who ask most or least: hubs that only ask each other and
/// that everybody tells, like the published structure of four nodes, and hubs that hold a quorum system.
/// Its quorums go round, or each node takes the one that is least busy. With one hub both are the star;
/// if all are hubs they are Ricart and Agrawala's structure and Maekawa's. And camps beside a clique.
pub(super) fn families(problem: &Problem) -> Vec<Family> {
    let nodes = problem.nodes();
    let mut families = Vec::new();
    for count in 1..=nodes {
        let systems: Vec<Vec<u64>> =
            SYSTEMS.iter().filter_map(|system| masks(system, count)).collect();
        for first in [0, nodes - count] {
            families.push(asking_each_other(nodes, first, count));
            families.push(camp(nodes, first, count));
            for quorums in &systems {
                let quorums: Vec<u64> = quorums.iter().map(|quorum| quorum << first).collect();
                families.push(around(nodes, first, &quorums));
                families.push(least_busy(problem, &quorums));
            }
        }
    }
    families.extend((0..nodes).map(|centre| (0..nodes).map(|i| 1 << i | 1 << centre).collect()));
    families.sort_unstable();
    families.dedup();
    families
}

fn asking_each_other(nodes: usize, first: usize, count: usize) -> Family {
    let hubs = range(first, count);
    let is_hub = |i: usize| hubs >> i & 1 == 1;
    (0..nodes).map(|i| if is_hub(i) { 1 << i } else { hubs | 1 << i }).collect()
}

/// `count` nodes tell their first, which tells everybody outside; whoever is outside tells nobody. So
/// nobody outside asks the first, and only hand-overs within the camp take two latencies, or from its
/// first.
fn camp(nodes: usize, first: usize, count: usize) -> Family {
    let camp = range(first, count);
    let set = |i: usize| match i {
        _ if i == first => !camp & range(0, nodes) | 1 << first,
        _ if camp >> i & 1 == 1 => 1 << i | 1 << first,
        _ => 1 << i,
    };
    (0..nodes).map(set).collect()
}

fn range(first: usize, count: usize) -> u64 {
    u64::MAX >> (64 - count) << first
}

fn around(nodes: usize, first: usize, quorums: &[u64]) -> Family {
    (0..nodes).map(|i| 1 << i | quorums[(i + nodes - first) % nodes % quorums.len()]).collect()
}

/// One node after the other, who asks most first, takes a quorum whose busiest member is least busy, and
/// of those the smallest.
fn least_busy(problem: &Problem, quorums: &[u64]) -> Family {
    let mut load = vec![0.0_f64; problem.nodes()];
    let mut family = Family::new();
    for (i, share) in problem.shares.iter().enumerate() {
        let told = |quorum: &u64| quorum & !(1 << i);
        let busiest = |set: u64| members(set).map(|node| load[node]).fold(0.0, f64::max);
        let order = |a: &u64, b: &u64| {
            let by_load = busiest(*a).total_cmp(&busiest(*b));
            by_load.then(a.count_ones().cmp(&b.count_ones()))
        };
        let set = quorums.iter().map(told).min_by(order).unwrap_or(0);
        members(set).for_each(|node| load[node] += share);
        family.push(set | 1 << i);
    }
    family
}

/// The quorum of each node as a word.
fn masks(construction: &Construction, nodes: usize) -> Option<Vec<u64>> {
    let quorums = quorums(construction, nodes).ok()?;
    let mask = |set: &[skeptron_core::NodeId]| set.iter().fold(0, |bits, i| bits | 1 << i.index());
    Some(quorums.iter().map(mask).collect())
}
