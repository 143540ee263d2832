//! Projective planes of prime order q: N = q² + q + 1 points and as many lines of q + 1 points, any
//! two of which meet in exactly one (Maekawa 1985).
//!
//! Singer (1938): the points are the powers of a generator modulo N, a line is a difference set, and
//! its translates are all lines. The line D + i goes to node i, which is on it because 0 is in D.

use skeptron_core::NodeId;

use super::{Construction, QuorumError, translates};

pub(super) fn sets(nodes: usize) -> Result<Vec<Vec<NodeId>>, QuorumError> {
    let set = difference_set(nodes)
        .ok_or_else(|| QuorumError::NoPlane { nodes, nearby: planes_near(nodes) })?;
    Ok(translates(nodes, &set))
}

/// A set of q + 1 residues modulo N in which each difference but 0 occurs exactly once; none where N
/// is not q² + q + 1 for a prime q.
pub(super) fn difference_set(nodes: usize) -> Option<Vec<usize>> {
    let q = order(nodes)?;
    // c₀ changes first: with 0, x has no inverse, and where 3 divides q − 1 no cube will do.
    (0..(q - 1) * q * q).find_map(|cubic| {
        let (c0, higher) = (cubic % (q - 1) + 1, cubic / (q - 1));
        singer(q, [c0, higher % q, higher / q])
    })
}

/// The exponents below N of the powers of x that are on the line through 1 and x, in GF(q)[x] with
/// x³ = c₀ + c₁x + c₂x²; none unless x runs through all N points.
fn singer(q: usize, [c0, c1, c2]: [usize; 3]) -> Option<Vec<usize>> {
    let nodes = q * q + q + 1;
    let mut set = Vec::with_capacity(q + 1);
    let mut power = [1, 0, 0];
    for exponent in 0..nodes {
        let [a0, a1, a2] = power;
        // A multiple of 1 is the point 1 again: too early.
        if exponent > 0 && a1 == 0 && a2 == 0 {
            return None;
        }
        if a2 == 0 {
            set.push(exponent);
        }
        power = [c0 * a2 % q, (a0 + c1 * a2) % q, (a1 + c2 * a2) % q];
    }
    (power[1] == 0 && power[2] == 0).then_some(set)
}

/// How many points the plane of order q has.
pub(super) fn nodes(order: usize) -> usize {
    order.saturating_mul(order.saturating_add(1)).saturating_add(1)
}

/// The prime q with N = q² + q + 1.
fn order(nodes: usize) -> Option<usize> {
    let q = nodes.isqrt();
    (is_prime(q) && q * q + q + 1 == nodes).then_some(q)
}

/// The nearest smaller and the nearest larger N that has a plane of prime order and can be built.
fn planes_near(nodes: usize) -> Vec<usize> {
    let most = Construction::Projective(None).most_nodes();
    let smaller = (1..nodes).rev().find(|&n| order(n).is_some());
    let larger = (nodes + 1..=most).find(|&n| order(n).is_some());
    smaller.into_iter().chain(larger).collect()
}

fn is_prime(q: usize) -> bool {
    q > 1 && (2..=q.isqrt()).all(|divisor| !q.is_multiple_of(divisor))
}

#[cfg(test)]
mod tests {
    use skeptron_core::NodeSet;

    use super::*;
    use crate::quorums;
    use crate::tests::degrees;

    #[test]
    fn the_axioms_of_a_plane_hold() {
        for q in [2, 3, 5, 7, 11, 13] {
            let nodes = q * q + q + 1;
            let quorums = quorums(&Construction::Projective(None), nodes).unwrap();
            let lines: Vec<NodeSet> =
                quorums.iter().map(|line| line.iter().copied().collect()).collect();
            let through: Vec<NodeSet> = NodeId::all(nodes)
                .map(|p| NodeId::all(nodes).filter(|l| lines[l.index()].contains(p)).collect())
                .collect();
            for sets in [&lines, &through] {
                assert!(sets.iter().all(|set| set.len() == q + 1), "{q}");
                for (i, a) in sets.iter().enumerate() {
                    for b in &sets[..i] {
                        assert_eq!(a.iter().filter(|&x| b.contains(x)).count(), 1, "{q}");
                    }
                }
            }
            assert_eq!(degrees(&quorums), vec![q + 1; nodes]);
            assert!(NodeId::all(nodes).all(|i| lines[i.index()].contains(i)), "{q}");
        }
    }

    #[test]
    fn planes_exist_for_every_prime_in_reach() {
        let sizes: Vec<_> = (1..=10_000).filter(|&nodes| order(nodes).is_some()).collect();
        assert_eq!(sizes[..7], [7, 13, 31, 57, 133, 183, 307]);
        assert_eq!(sizes.len(), 25, "as many as primes below 100");
        for nodes in sizes {
            let set = difference_set(nodes).unwrap();
            let mut differences: Vec<_> = set
                .iter()
                .flat_map(|a| set.iter().map(move |b| (a + nodes - b) % nodes))
                .filter(|&difference| difference != 0)
                .collect();
            differences.sort_unstable();
            assert!(differences.into_iter().eq(1..nodes), "{nodes}: each exactly once");
        }
    }

    #[test]
    fn other_sizes_name_their_neighbours() {
        let message =
            |nodes| quorums(&Construction::Projective(None), nodes).unwrap_err().to_string();
        assert_eq!(
            message(20),
            "`projective` needs q² + q + 1 nodes with q a prime, not 20; take 13 or 31 nodes, or \
             `cyclic`, which fits every N"
        );
        assert!(message(1).contains("not 1; take 7 nodes"));
        assert!(message(3).contains("not 3; take 7 nodes"), "order 1 is no plane");
        assert!(message(21).contains("not 21; take 13 or 31 nodes"), "4 is no prime");
        assert!(message(9_999).contains("take 9507 nodes"), "the next one is out of reach");
    }
}
