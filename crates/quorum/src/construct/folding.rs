//! Folding: a system for fewer nodes than a construction has points. Surplus points are identified with
//! nodes that remain, which takes no two quorums apart; sets and degrees become uneven by it, and the
//! assignment makes the best of that.

use rustc_hash::FxHashSet;
use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::QuorumError;
use crate::conditions::{minimal, through};
use crate::system::{Shape, System, distinct};

/// So many steps may be spent on a better assignment, but one round in any case.
const STEPS: usize = 20_000_000;

/// Quorums of which each node asks the one that is best for all.
///
/// What is best: the sum of |S_i ∩ S_j| over all i and j is to be small. Two quorums need meet only
/// once, and the sum is also that of the squares of the degrees: it grows with the sizes and with every
/// unevenness. Looking at sizes alone would have everybody ask the few quorums that folding made
/// smaller.
pub(super) struct Folded {
    /// Members in ascending order.
    quorums: Vec<Vec<NodeId>>,
    /// Which of them each node asks.
    asks: Vec<usize>,
    /// How many nodes ask each node: its degree.
    asked: Vec<usize>,
}

impl Folded {
    /// Of `sets`, which meet, beginning with the one that each node `asks` and is in.
    pub(super) fn new(mut sets: Vec<Vec<NodeId>>, asks: Vec<usize>) -> Self {
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        let mut asked = vec![0; asks.len()];
        for member in asks.iter().flat_map(|&quorum| &sets[quorum]) {
            asked[member.index()] += 1;
        }
        let mut folded = Folded { quorums: sets, asks, asked };
        folded.improve();
        folded
    }

    /// Σ |S_i ∩ S_j| = Σ degree².
    pub(super) fn overlap(&self) -> usize {
        self.asked.iter().map(|degree| degree * degree).sum()
    }

    /// The system. A quorum that contains another is left out unless somebody asks it: a node that is
    /// in no smaller one.
    pub(super) fn system(self, name: String) -> Result<System, QuorumError> {
        let sets = self.asks.iter().map(|&quorum| self.quorums[quorum].clone()).collect();
        let mut needed: FxHashSet<Vec<NodeId>> = minimal(&self.quorums).into_iter().collect();
        needed.extend(self.asks.iter().map(|&quorum| self.quorums[quorum].clone()));
        let needed = self.quorums.iter().filter(|quorum| needed.contains(*quorum));
        let listed = distinct(needed.map(Vec::as_slice));
        Ok(System::new(name, Shape::Listed(listed), Quorums::new(sets)?))
    }

    /// The nodes choose in turn until nobody changes its mind or it has taken long enough.
    fn improve(&mut self) {
        let through = through(&self.quorums, self.asks.len());
        let round: usize = self.quorums.iter().map(|quorum| quorum.len() * quorum.len()).sum();
        for _ in 0..(STEPS / round).clamp(1, 10) {
            let mut is_stable = true;
            for (node, through) in through.iter().enumerate() {
                is_stable &= !self.choose(node, through);
            }
            if is_stable {
                break;
            }
        }
    }

    /// Lets `node` ask the quorum of `through` with the least overlap; whether it changes its mind.
    fn choose(&mut self, node: usize, through: &[usize]) -> bool {
        let before = self.asks[node];
        for member in &self.quorums[before] {
            self.asked[member.index()] -= 1;
        }
        // What (degree + 1)² is more than degree².
        let cost = |quorum: usize| -> usize {
            self.quorums[quorum].iter().map(|member| 2 * self.asked[member.index()] + 1).sum()
        };
        let best = through.iter().copied().min_by_key(|&quorum| (cost(quorum), quorum != before));
        let best = best.unwrap_or(before);
        self.asks[node] = best;
        for member in &self.quorums[best] {
            self.asked[member.index()] += 1;
        }
        best != before
    }
}

/// `system` with a note for each of conditions 3 and 4 that does not hold.
pub(super) fn with_relaxed_conditions(system: System) -> System {
    let (sizes, degrees) = (sizes(system.assignment()), degrees(system.assignment()));
    let notes = [
        relaxed("condition 3 (equal sizes) is relaxed: quorums have", &sizes, "members"),
        relaxed("condition 4 (equal degrees) is relaxed: nodes are in", &degrees, "quorums"),
    ];
    notes.into_iter().flatten().fold(system, System::with_note)
}

fn relaxed(text: &str, counts: &[usize], what: &str) -> Option<String> {
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    (least < most).then(|| format!("{text} {least} to {most} {what}"))
}

fn sizes(quorums: &Quorums) -> Vec<usize> {
    quorums.iter().map(<[NodeId]>::len).collect()
}

/// How many quorums each node is in.
fn degrees(quorums: &Quorums) -> Vec<usize> {
    let mut degrees = vec![0; quorums.nodes()];
    for member in quorums.iter().flatten() {
        degrees[member.index()] += 1;
    }
    degrees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Construction, build};

    fn sets(sets: &[&[usize]]) -> Vec<Vec<NodeId>> {
        sets.iter().map(|set| set.iter().map(|&node| NodeId::new(node - 1)).collect()).collect()
    }

    fn is_part(a: &[NodeId], b: &[NodeId]) -> bool {
        a.iter().all(|node| b.contains(node))
    }

    #[test]
    fn the_overlap_is_that_of_all_pairs() {
        let folded =
            Folded::new(sets(&[&[1, 2], &[2, 3, 4], &[4, 1, 3], &[4, 2]]), vec![0, 0, 1, 3]);
        let quorum = |node: usize| &folded.quorums[folded.asks[node]];
        let common = |i, j| quorum(i).iter().filter(|&node| quorum(j).contains(node)).count();
        let pairs = (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
        assert_eq!(folded.overlap(), pairs.map(|(i, j)| common(i, j)).sum::<usize>());
    }

    /// Everybody begins with the same large quorum and finds the best one of its own.
    #[test]
    fn nodes_change_to_what_is_better_for_all() {
        let triangle = sets(&[&[1, 2, 3], &[1, 2], &[2, 3], &[3, 1]]);
        let folded = Folded::new(triangle, vec![0; 3]);
        assert_eq!(folded.asked, [2; 3]);
        let system = folded.system("triangle".into()).unwrap();
        assert_eq!(system.shape(), &Shape::Listed(sets(&[&[1, 2], &[2, 3], &[1, 3]])));
        assert!(with_relaxed_conditions(system).notes().is_empty());
    }

    #[test]
    fn a_large_quorum_stays_only_for_a_node_that_is_in_no_smaller_one() {
        let folded = Folded::new(sets(&[&[1, 1], &[1, 2], &[2, 1], &[1, 2, 3]]), vec![0, 1, 3]);
        let system = with_relaxed_conditions(folded.system("example".into()).unwrap());
        assert_eq!(system.shape(), &Shape::Listed(sets(&[&[1], &[1, 2], &[1, 2, 3]])));
        assert_eq!(
            system.notes(),
            [
                "condition 3 (equal sizes) is relaxed: quorums have 1 to 3 members",
                "condition 4 (equal degrees) is relaxed: nodes are in 1 to 3 quorums",
            ]
        );
    }

    #[test]
    fn folded_systems_have_no_needless_quorum() {
        for construction in [Construction::Projective(None), Construction::Triangle] {
            for nodes in 1..=60 {
                let system = build(&construction, nodes).unwrap();
                let all = system.quorums(1_000).unwrap();
                for (index, quorum) in all.iter().enumerate() {
                    let others = all[..index].iter().chain(&all[index + 1..]);
                    let smaller: Vec<_> = others.filter(|other| is_part(other, quorum)).collect();
                    let in_no_smaller = |node| !smaller.iter().any(|other| other.contains(node));
                    assert!(
                        smaller.is_empty() || quorum.iter().any(in_no_smaller),
                        "{construction} {nodes}: {quorum:?}"
                    );
                }
            }
        }
    }
}
