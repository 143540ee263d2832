//! Weighted votes: any nodes with more than half of the weight (Gifford 1979).

use std::collections::BTreeSet;

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::{Construction, QuorumError};
use crate::gates::{Gate, Gates};
use crate::system::{Shape, System};

/// Votes are counted in tables of nodes times weight, up to this size.
const MOST_VOTES: u64 = 10_000_000;

/// Each weight is a row of the linear program for the load.
const MOST_DIFFERENT: usize = 250;

pub(super) fn system(weights: &[u64]) -> Result<System, QuorumError> {
    let common = weights.iter().fold(0, |common, &weight| greatest_divisor(common, weight));
    if common == 0 {
        return Err(QuorumError::NoWeight);
    }
    let reduced: Vec<u64> = weights.iter().map(|weight| weight / common).collect();
    let total = reduced.iter().fold(0_u64, |sum, &weight| sum.saturating_add(weight));
    let most = MOST_VOTES / weights.len() as u64;
    if total > most {
        return Err(QuorumError::TooMuchWeight { total, most });
    }
    let different = reduced.iter().collect::<BTreeSet<_>>().len();
    if different > MOST_DIFFERENT {
        return Err(QuorumError::TooManyWeights { different, most: MOST_DIFFERENT });
    }
    let gates = Gates::weighted(&reduced, total / 2 + 1);
    let [gate] = gates.gates() else { unreachable!("one vote is one gate") };
    let votes = Votes { need: gate.need, gate, weights: reduced };
    let assignment = Quorums::new(votes.assignment())?;
    let name = Construction::Weighted(weights.to_vec()).to_string();
    Ok(System::new(name, Shape::Gates(gates), assignment))
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

struct Votes<'a> {
    gate: &'a Gate,
    weights: Vec<u64>,
    need: u64,
}

impl Votes<'_> {
    /// Each node gets a minimal quorum that it is in, of heavy nodes, those of one weight by turns; who is
    /// in no minimal quorum asks any.
    fn assignment(&self) -> Vec<Vec<NodeId>> {
        let nodes = self.weights.len();
        let lightest = self.lightest();
        let mut asked = vec![0_usize; nodes];
        let choose = |own: usize| {
            let heavy_first = |&i: &usize| (std::cmp::Reverse(self.weights[i]), asked[i]);
            let mut others: Vec<usize> = (0..nodes).filter(|&i| i != own).collect();
            others.sort_by_key(heavy_first);
            let quorum = match &lightest {
                Some((decisive, _)) if self.weights[own] < self.weights[*decisive] => {
                    let mut all = vec![own];
                    all.extend(others);
                    self.without_idle(all)
                }
                lightest => self.greedy(own, &others).unwrap_or_else(|| {
                    let (decisive, quorum) = lightest.as_ref().expect("somebody decides");
                    self.exchanged(quorum, *decisive, own)
                }),
            };
            for &member in &quorum {
                asked[member] += 1;
            }
            quorum.into_iter().map(NodeId::new).collect()
        };
        (0..nodes).map(choose).collect()
    }

    /// The heaviest others that together with `own` are enough, but not without it.
    fn greedy(&self, own: usize, others: &[usize]) -> Option<Vec<usize>> {
        let (mut quorum, mut sum) = (vec![own], 0);
        for &other in others {
            if sum + self.weights[own] >= self.need {
                break;
            }
            if sum + self.weights[other] < self.need {
                sum += self.weights[other];
                quorum.push(other);
            }
        }
        (sum + self.weights[own] >= self.need).then(|| self.without_idle(quorum))
    }

    /// The same without those who can be left out, the last first.
    fn without_idle(&self, mut quorum: Vec<usize>) -> Vec<usize> {
        let mut sum: u64 = quorum.iter().map(|&i| self.weights[i]).sum();
        for place in (0..quorum.len()).rev() {
            let weight = self.weights[quorum[place]];
            if sum - weight >= self.need {
                sum -= weight;
                quorum.remove(place);
            }
        }
        quorum
    }

    /// `own` in the place of a lighter node that decides in `quorum`: then it decides too. If it is in
    /// the quorum already it decides there, since it is heavier.
    fn exchanged(&self, quorum: &[usize], decisive: usize, own: usize) -> Vec<usize> {
        let mut exchanged = vec![own];
        if quorum.contains(&own) {
            exchanged.extend(quorum.iter().filter(|&&i| i != own));
        } else {
            exchanged.extend(quorum.iter().filter(|&&i| i != decisive));
        }
        // The first decides, so that it stays whoever is left out before.
        self.without_idle(exchanged)
    }

    /// The lightest node that decides anything, and a quorum in which it does. A heavier one could take
    /// its place, so all that are heavier decide too.
    fn lightest(&self) -> Option<(usize, Vec<usize>)> {
        let mut by_weight: Vec<usize> = (0..self.weights.len()).collect();
        by_weight.sort_by_key(|&i| self.weights[i]);
        let at = by_weight.partition_point(|&i| self.gate.partners(i).is_none());
        let lightest = *by_weight.get(at)?;
        let mut quorum = self.gate.partners(lightest)?;
        quorum.insert(0, lightest);
        Some((lightest, quorum))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Everybody who decides is in its quorum, which is minimal; nobody else is in any.
        #[test]
        fn who_decides_is_in_its_quorum(weights in prop::collection::vec(0_u64..12, 1..9)) {
            prop_assume!(weights.iter().any(|&weight| weight > 0));
            let system = system(&weights).unwrap();
            let quorums = system.quorums(1_000).unwrap();
            for (node, quorum) in NodeId::all(weights.len()).zip(system.assignment().iter()) {
                prop_assert!(quorums.iter().any(|known| known == quorum), "{quorum:?}");
                let decides = quorums.iter().any(|quorum| quorum.contains(&node));
                prop_assert_eq!(quorum.contains(&node), decides, "{}", node);
            }
        }
    }

    #[test]
    fn only_ratios_matter() {
        let assignment = |weights: &[u64]| system(weights).unwrap().assignment().clone();
        assert_eq!(
            assignment(&[3, 1, 1, 1, 1]),
            assignment(&[3_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000])
        );
    }

    #[test]
    fn large_weights_are_no_trouble() {
        let weights: Vec<u64> = (0..1_000).map(|i| (i * 7_919) % 19).collect();
        assert_eq!(system(&weights).unwrap().nodes(), 1_000);
        let weights: Vec<u64> = (1..=40).map(|i| (i * 7_919) % 1_900).collect();
        assert_eq!(system(&weights).unwrap().nodes(), 40);
    }
}
