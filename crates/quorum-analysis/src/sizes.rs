//! How large quorums are, and how many there are.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use serde::Serialize;
use skeptron_quorum::gates::{Gate, Gates};
use skeptron_quorum::{Shape, System};

/// Up to so many steps the quorums of gates are counted: about a second.
const COUNTED: u64 = 10_000_000;

/// The sizes of all quorums of a system.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumSizes"))]
pub struct Sizes {
    /// Of a smallest quorum.
    pub min: usize,
    /// Of a largest quorum.
    pub max: usize,
    /// Of all quorums alike; none if they are too many to be counted.
    pub mean: Option<f64>,
    /// How many quorums there are; none if they are too many to be counted.
    #[serde(skip)]
    pub count: Option<BigUint>,
}

/// The sizes of all quorums, not only of those that are assigned to a node.
///
/// # Panics
/// If a system without quorums was listed.
#[must_use]
pub fn sizes(system: &System) -> Sizes {
    match system.shape() {
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
            let sizes = || quorums.iter().map(Vec::len);
            let there_is_one = "a system has a quorum";
            Sizes {
                min: sizes().min().expect(there_is_one),
                max: sizes().max().expect(there_is_one),
                mean: Some(sizes().sum::<usize>() as f64 / quorums.len() as f64),
                count: Some(quorums.len().into()),
            }
        }
        Shape::Gates(gates) => of_gates(gates),
    }
}

fn of_gates(gates: &Gates) -> Sizes {
    let mut work = 0;
    let leaf = Part { range: Range { min: 1, max: 1 }, digits: 0 };
    let whole = gates.fold(
        |_| leaf,
        |gate, parts| {
            let (range, steps) = range(gate, &parts);
            let digits = parts.iter().map(|part| part.digits + 1).sum();
            // Long numbers take longer.
            work += steps * (1 + digits / 256);
            Part { range, digits }
        },
    );
    let Range { min, max } = whole.range;
    if work > COUNTED {
        return Sizes { min, max, mean: None, count: None };
    }
    let one = || vec![BigUint::ZERO, BigUint::from(1_u8)];
    let counts = gates.fold(|_| one(), |gate, parts| counts(gate, &parts));
    let count: BigUint = counts.iter().sum();
    let members: BigUint = counts.iter().enumerate().map(|(size, count)| count * size).sum();
    Sizes { min, max, mean: Some(ratio(members, &count)), count: Some(count) }
}

/// What is known of the quorums of a part.
#[derive(Clone, Copy)]
struct Part {
    range: Range,
    /// Their number has at most so many binary digits.
    digits: u64,
}

/// The sizes of quorums.
#[derive(Clone, Copy)]
struct Range {
    min: usize,
    max: usize,
}

impl Range {
    fn with(self, other: Range) -> Self {
        Range { min: self.min + other.min, max: self.max + other.max }
    }

    fn or(self, other: Option<Range>) -> Self {
        other.map_or(self, |o| Range { min: self.min.min(o.min), max: self.max.max(o.max) })
    }

    fn len(self) -> u64 {
        (self.max - self.min + 1) as u64
    }
}

/// The sizes of a gate's quorums, and about how many steps it takes to count them.
fn range(gate: &Gate, parts: &[Part]) -> (Range, u64) {
    // Who is in a quorum whose weight is not enough yet, the heaviest first.
    let mut open: Vec<Option<Range>> = vec![None; gate.need as usize];
    open[0] = Some(Range { min: 0, max: 0 });
    let mut complete: Option<Range> = None;
    let (mut taken, mut rest, mut steps) = (0, gate.weight(), 0);
    for index in gate.by_weight() {
        let (weight, part) = (gate.members[index].weight, parts[index].range);
        if weight == 0 {
            break;
        }
        rest -= weight;
        for have in (0..=taken).rev() {
            let Some(range) = open[have as usize] else { continue };
            steps += range.len() * (1 + part.len());
            let more = range.with(part);
            // The lightest decides, so everybody does: it is minimal.
            if have + weight >= gate.need {
                complete = Some(more.or(complete));
            } else {
                let slot = &mut open[(have + weight) as usize];
                *slot = Some(more.or(*slot));
            }
            if have + rest < gate.need {
                open[have as usize] = None;
            }
        }
        taken = (taken + weight).min(gate.need - 1);
    }
    (complete.expect("all members are enough"), steps)
}

/// How many quorums of each size a gate has, if `parts` says so for each member; the index is the size.
fn counts(gate: &Gate, parts: &[Vec<BigUint>]) -> Vec<BigUint> {
    let mut found: Vec<BigUint> = Vec::new();
    // How many ways there are to a weight with a number of nodes; lighter members come later.
    let mut ways = BTreeMap::from([((0, 0), BigUint::from(1_u8))]);
    let mut rest = gate.weight();
    for index in gate.by_weight() {
        let weight = gate.members[index].weight;
        rest -= weight;
        // Who does not vote must not be missed.
        let mut next = ways.clone();
        next.retain(|(have, _), _| have + rest >= gate.need);
        for ((have, size), count) in &ways {
            for (more, times) in parts[index].iter().enumerate().filter(|(_, n)| n.bits() > 0) {
                let (sum, size) = (have + weight, size + more);
                if sum < gate.need {
                    *next.entry((sum, size)).or_default() += count * times;
                } else if weight > 0 {
                    // The lightest decides: so does every other.
                    found.resize(found.len().max(size + 1), BigUint::ZERO);
                    found[size] += count * times;
                }
            }
        }
        ways = next;
    }
    found
}

/// The ratio of numbers that may be too large for a float; itself it is small.
fn ratio(dividend: BigUint, divisor: &BigUint) -> f64 {
    const BITS: i32 = 60;
    let scaled = u128::try_from((dividend << BITS) / divisor);
    scaled.expect("no quorum has more members than there are nodes") as f64 / 2_f64.powi(BITS)
}

#[cfg(test)]
mod tests {
    use skeptron_quorum::{Construction, build};

    use super::*;

    fn of(text: &str) -> Sizes {
        let construction: Construction = text.parse().unwrap();
        sizes(&build(&construction, construction.nodes().unwrap_or(5)).unwrap())
    }

    #[test]
    fn votes_are_counted_by_their_formula() {
        assert_eq!(
            of("majority"),
            Sizes { min: 3, max: 3, mean: Some(3.0), count: Some(10_u8.into()) }
        );
        // The heavy one with any other, or all others.
        assert_eq!(
            of("weighted:3,1,1,1,1"),
            Sizes { min: 2, max: 4, mean: Some(2.4), count: Some(5_u8.into()) }
        );
        let hierarchy = of("hierarchical:4");
        assert_eq!(hierarchy.count, Some(BigUint::from(3_u8).pow(15)));
        assert_eq!((hierarchy.min, hierarchy.max, hierarchy.mean), (16, 16, Some(16.0)));
    }

    /// Trees have doubly exponentially many quorums.
    #[test]
    fn what_cannot_be_counted_still_has_a_smallest_and_a_largest() {
        let large = of_gates(&Gates::tree(12));
        assert_eq!(large, Sizes { min: 13, max: 4096, mean: None, count: None });
        let tree = of("tree:5");
        assert_eq!((tree.min, tree.max), (6, 32));
        assert!(tree.mean.is_some_and(|mean| (6.0..32.0).contains(&mean)));
    }
}
