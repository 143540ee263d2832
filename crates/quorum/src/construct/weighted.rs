//! Weighted votes: any nodes with more than half of the weight (Gifford 1979).

use std::collections::BTreeSet;

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::{Construction, QuorumError};
use crate::gates::Gates;
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
    let votes = Votes { need: total / 2 + 1, weights: reduced };
    let assignment = Quorums::new(votes.assignment())?;
    let shape = Shape::Gates(Gates::weighted(&votes.weights, votes.need));
    Ok(System::new(Construction::Weighted(weights.to_vec()).to_string(), shape, assignment))
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

struct Votes {
    weights: Vec<u64>,
    need: u64,
}

impl Votes {
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
        let at = by_weight.partition_point(|&i| !self.decides(i));
        let lightest = *by_weight.get(at)?;
        let mut quorum = self.others(lightest)?;
        quorum.insert(0, lightest);
        Some((lightest, quorum))
    }

    /// Whether others weigh just too little without this node.
    fn decides(&self, node: usize) -> bool {
        let sums = self.sums_without(node);
        let last = sums.last().expect("one for nobody");
        self.deciding_sums(node).any(|sum| last.contains(sum))
    }

    /// Others that weigh just too little without this node.
    fn others(&self, node: usize) -> Option<Vec<usize>> {
        let sums = self.sums_without(node);
        let mut sum = self.deciding_sums(node).find(|&sum| sums[sums.len() - 1].contains(sum))?;
        let mut others = Vec::new();
        for (i, before) in (0..self.weights.len()).zip(&sums).rev() {
            if !before.contains(sum) {
                sum -= self.weights[i];
                others.push(i);
            }
        }
        Some(others)
    }

    fn deciding_sums(&self, node: usize) -> impl Iterator<Item = u64> {
        self.need.saturating_sub(self.weights[node])..self.need
    }

    /// What the first 0, 1, 2, … nodes can weigh together, in any choice of them but without `node`.
    fn sums_without(&self, node: usize) -> Vec<Sums> {
        let mut sums = vec![Sums::nothing(self.need)];
        for (i, &weight) in self.weights.iter().enumerate() {
            let before = &sums[i];
            let next = if i == node { before.clone() } else { before.with(weight) };
            sums.push(next);
        }
        sums
    }
}

/// A set of sums below what is needed, a bit for each.
#[derive(Clone)]
struct Sums(Vec<u64>);

impl Sums {
    fn nothing(need: u64) -> Self {
        let mut words = vec![0; (need / 64 + 1) as usize];
        words[0] = 1;
        Sums(words)
    }

    fn contains(&self, sum: u64) -> bool {
        self.0[(sum / 64) as usize] >> (sum % 64) & 1 == 1
    }

    /// These, and these with `weight` more.
    fn with(&self, weight: u64) -> Self {
        let mut words = self.0.clone();
        let (skip, shift) = ((weight / 64) as usize, weight % 64);
        for (place, word) in words.iter_mut().enumerate().skip(skip) {
            let mut moved = self.0[place - skip] << shift;
            if shift > 0 && place > skip {
                moved |= self.0[place - skip - 1] >> (64 - shift);
            }
            *word |= moved;
        }
        Sums(words)
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
