//! Where the heuristic begins: structures that are known to be good at something.

use crate::construct::{Construction, quorums};

use super::problem::{Family, Problem};

/// Hubs are tried with each of these quorum systems, where it exists for so many.
const SYSTEMS: [Construction; 6] = [
    Construction::Cyclic,
    Construction::Majority,
    Construction::Grid,
    Construction::Projective(None),
    Construction::Wall(None),
    Construction::Tree(None),
];

/// For each number of hubs, taken from those who ask most or least: hubs that only ask each other and
/// that everybody tells, like the published structure of four nodes, and hubs that hold a quorum system,
/// whose quorums go round. With one hub both are the star; if all are hubs they are Ricart and
/// Agrawala's structure and Maekawa's.
pub(super) fn families(problem: &Problem) -> Vec<Family> {
    let nodes = problem.nodes();
    let mut families = Vec::new();
    for count in 1..=nodes {
        let systems: Vec<Vec<u64>> =
            SYSTEMS.iter().filter_map(|system| masks(system, count)).collect();
        for first in [0, nodes - count] {
            families.push(asking_each_other(nodes, first, count));
            let around = |quorums: &Vec<u64>| -> Family {
                let quorum = |i: usize| quorums[(i + nodes - first) % nodes % count] << first;
                (0..nodes).map(|i| 1 << i | quorum(i)).collect()
            };
            families.extend(systems.iter().map(around));
        }
    }
    families.extend((0..nodes).map(|centre| (0..nodes).map(|i| 1 << i | 1 << centre).collect()));
    families.sort_unstable();
    families.dedup();
    families
}

fn asking_each_other(nodes: usize, first: usize, count: usize) -> Family {
    let hubs = (0..count).fold(0, |hubs, hub| hubs | 1 << (first + hub));
    let is_hub = |i: usize| hubs >> i & 1 == 1;
    (0..nodes).map(|i| if is_hub(i) { 1 << i } else { hubs | 1 << i }).collect()
}

/// The quorum of each node as a word.
fn masks(construction: &Construction, nodes: usize) -> Option<Vec<u64>> {
    let quorums = quorums(construction, nodes).ok()?;
    let mask = |set: &[skeptron_core::NodeId]| set.iter().fold(0, |bits, i| bits | 1 << i.index());
    Some(quorums.iter().map(mask).collect())
}
