//! Projective planes of order q, a prime power: N = q² + q + 1 points and as many lines of q + 1 points,
//! any two of which meet in exactly one (Maekawa 1985).
//!
//! Singer (1938): the points are the powers of x in GF(q³) modulo N, a line is a difference set D, and
//! its translates are all lines. The line D + i goes to node i, which is on it because 0 is in D: that
//! is the perfect matching of lines with nodes that condition 2 asks for, for every order.
//!
//! For an N in between, the next larger plane is folded.

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::field::{Field, prime_power};
use super::folding::{Folded, with_relaxed_conditions};
use super::plane::plane_order;
use super::{Construction, QuorumError, translates};
use crate::system::System;

/// The largest order whose plane has at most 10 000 nodes.
const LARGEST_ORDER: usize = 97;

/// How many nodes the largest plane has.
pub(super) const MOST_NODES: usize = LARGEST_ORDER * (LARGEST_ORDER + 1) + 1;

/// Up to here the axioms are checked whenever a plane is built.
const VERIFIED: usize = 3_000;

/// The plane of `nodes` nodes, or the next larger one folded.
pub(super) fn system(construction: &Construction, nodes: usize) -> Result<System, QuorumError> {
    let name = construction.to_string();
    match order(nodes) {
        Some(q) => plane(name, q),
        None => folded(name, nodes),
    }
}

/// Whether there is a plane of order q within reach.
pub(super) fn check_order(q: usize) -> Result<(), QuorumError> {
    if q > LARGEST_ORDER {
        return Err(QuorumError::OrderTooLarge { order: q, most: LARGEST_ORDER });
    }
    if !is_order(q) {
        return Err(QuorumError::NoPrimePower { order: q, nearby: prime_powers_near(q) });
    }
    Ok(())
}

/// How many points the plane of order q has.
pub(super) fn nodes(order: usize) -> usize {
    order.saturating_mul(order.saturating_add(1)).saturating_add(1)
}

/// A set of q + 1 residues modulo N in which each difference but 0 occurs exactly once, and which has 0;
/// none where N is not q² + q + 1 for an order q.
pub(super) fn difference_set(nodes: usize) -> Option<Vec<usize>> {
    match order(nodes)? {
        1 => Some(vec![0, 1]),
        q => {
            let field = Field::new(q)?;
            // c₀ changes first: with 0, x has no inverse, and where 3 divides q − 1 no cube will do.
            (0..(q - 1) * q * q).find_map(|cubic| {
                let (c0, higher) = (cubic % (q - 1) + 1, cubic / (q - 1));
                singer(&field, [c0, higher % q, higher / q])
            })
        }
    }
}

/// The exponents below N of the powers of x that are on the line through 1 and x, in GF(q)[x] with
/// x³ = c₀ + c₁x + c₂x²; none unless x runs through all N points.
fn singer(field: &Field, [c0, c1, c2]: [usize; 3]) -> Option<Vec<usize>> {
    let mut set = Vec::with_capacity(field.order() + 1);
    let mut power = [1, 0, 0];
    for exponent in 0..nodes(field.order()) {
        let [a0, a1, a2] = power;
        // A multiple of 1 is the point 1 again: too early.
        if exponent > 0 && a1 == 0 && a2 == 0 {
            return None;
        }
        if a2 == 0 {
            set.push(exponent);
        }
        let reduced = [c0, c1, c2].map(|c| field.times(c, a2));
        power = [reduced[0], field.plus(a0, reduced[1]), field.plus(a1, reduced[2])];
    }
    (power[1] == 0 && power[2] == 0).then_some(set)
}

/// The order q with N = q² + q + 1.
fn order(nodes: usize) -> Option<usize> {
    let q = nodes.isqrt();
    (is_order(q) && q * q + q + 1 == nodes).then_some(q)
}

/// The prime powers, and 1 for the triangle.
fn is_order(q: usize) -> bool {
    q == 1 || prime_power(q).is_some()
}

/// The next smaller and the next larger prime power within reach.
fn prime_powers_near(q: usize) -> Vec<usize> {
    let is_prime_power = |&q: &usize| prime_power(q).is_some();
    let smaller = (2..q).rev().find(is_prime_power);
    smaller.into_iter().chain((q..=LARGEST_ORDER).find(is_prime_power)).collect()
}

/// The plane of order q, verified where that takes no time to speak of.
fn plane(name: String, q: usize) -> Result<System, QuorumError> {
    let nodes = nodes(q);
    let lines = lines(q);
    let verified = (nodes <= VERIFIED).then(|| plane_order(&lines, nodes)).flatten();
    let system = System::of_assigned(name, Quorums::new(lines)?);
    Ok(match verified {
        Some(1) => system
            .with_note("degenerate: the plane of order 1 is a triangle, its lines are the three sides"),
        Some(_) => system.with_note(
            "verified: any two lines meet in exactly one node, any two nodes are on exactly one line",
        ),
        None => system,
    })
}

/// The lines of the plane of order q: that of each node, which is on it.
fn lines(q: usize) -> Vec<Vec<NodeId>> {
    let nodes = nodes(q);
    let set = difference_set(nodes).expect("every prime power has a Singer difference set");
    translates(nodes, &set)
}

/// The next larger plane with its surplus points N, N + 1, … identified with successive nodes.
///
/// No node takes in more than one surplus point (but for N = 1), since it is on the lines of both and
/// is asked more often. All pairs have the same difference, so each is on a line of its own, which
/// becomes smaller by one. With which node to begin is free; a few beginnings are tried and the best is
/// kept.
fn folded(name: String, nodes: usize) -> Result<System, QuorumError> {
    let mut larger = (1..=LARGEST_ORDER).filter(|&q| is_order(q) && self::nodes(q) > nodes);
    let q = larger.next().unwrap_or(LARGEST_ORDER);
    let (points, lines) = (self::nodes(q), lines(q));
    let surplus = points - nodes;
    let begin_at = |first: usize| {
        let place = |point: &NodeId| match point.index().checked_sub(nodes) {
            Some(beyond) => NodeId::new((first + beyond) % nodes),
            None => *point,
        };
        let fold = |line: &Vec<NodeId>| line.iter().map(place).collect();
        Folded::new(lines.iter().map(fold).collect(), (0..nodes).collect())
    };
    let free = (nodes + 1).saturating_sub(surplus);
    let tried = (200_000 / (nodes * nodes)).clamp(1, 8).min(free);
    let best = (1..tried).map(begin_at).fold(begin_at(0), |best, other| {
        if other.overlap() < best.overlap() { other } else { best }
    });
    Ok(with_relaxed_conditions(best.system(name)?.with_note(format!(
        "folded: the plane of order {q} has {points} nodes, {surplus} too many, \
         which were identified with others"
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{degrees, listed};
    use crate::{build, quorums};

    fn orders() -> impl Iterator<Item = usize> {
        (2..=LARGEST_ORDER).filter(|&q| is_order(q))
    }

    /// Conditions 1–4 and all axioms, for every prime power up to 49.
    #[test]
    fn the_axioms_of_a_plane_hold() {
        for q in orders().filter(|&q| q <= 49) {
            let construction = Construction::Projective(Some(q));
            let nodes = q * q + q + 1;
            assert_eq!(construction.nodes(), Some(nodes));
            let system = build(&construction, nodes).unwrap();
            let lines = system.quorums(nodes).unwrap();
            assert_eq!(lines.len(), nodes);
            assert_eq!(plane_order(&lines, nodes), Some(q));
            assert!(system.notes()[0].starts_with("verified: any two lines meet"), "{q}");
            let assignment = system.assignment();
            assert_eq!(degrees(assignment), vec![q + 1; nodes], "{q}");
            assert!(NodeId::all(nodes).all(|i| assignment.of(i).contains(&i)), "{q}");
            assert_eq!(quorums(&Construction::Projective(None), nodes).as_ref(), Ok(assignment));
        }
    }

    /// Straight from the definition, without the help of `plane_order`.
    #[test]
    fn small_planes_are_planes() {
        for q in [2, 3, 4, 5, 7, 8, 9] {
            let nodes = q * q + q + 1;
            let lines = quorums(&Construction::Projective(None), nodes).unwrap();
            let on = |line: &[NodeId], node| line.contains(&node);
            for (i, a) in NodeId::all(nodes).enumerate() {
                for b in NodeId::all(i) {
                    let joins = lines.iter().filter(|line| on(line, a) && on(line, b)).count();
                    let meets = lines.of(a).iter().filter(|&&node| on(lines.of(b), node)).count();
                    assert_eq!((joins, meets), (1, 1), "{q}: {a}, {b}");
                }
            }
        }
    }

    #[test]
    fn difference_sets_exist_for_every_prime_power_in_reach() {
        let sizes: Vec<_> = (4..=10_000).filter(|&nodes| order(nodes).is_some()).collect();
        assert_eq!(sizes[..10], [7, 13, 21, 31, 57, 73, 91, 133, 183, 273]);
        assert_eq!(sizes.last(), Some(&MOST_NODES));
        assert_eq!(sizes.len(), 35, "as many as prime powers below 100");
        for nodes in sizes {
            let set = difference_set(nodes).unwrap();
            assert_eq!(set[0], 0);
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
    fn order_1_is_a_triangle_and_says_so() {
        let triangle = build(&Construction::Projective(Some(1)), 3).unwrap();
        assert_eq!(listed(triangle.assignment()), [[1, 2], [2, 3], [1, 3]]);
        assert!(triangle.notes()[0].starts_with("degenerate: "));
        assert_eq!(triangle.notes().len(), 1);
    }

    /// Condition 1 is checked by `Quorums`; here again for all quorums, asked or not.
    #[test]
    fn folding_keeps_conditions_1_and_2_and_says_what_it_gave_up() {
        for nodes in 1..=300 {
            let Some(q) = (1..).filter(|&q| is_order(q)).find(|q| q * q + q + 1 >= nodes) else {
                unreachable!("there is always a larger prime power")
            };
            let system = build(&Construction::Projective(None), nodes).unwrap();
            assert_eq!((system.name(), system.nodes()), ("projective", nodes));
            let assignment = system.assignment();
            let all = system.quorums(nodes * 2 + 2).unwrap();
            for node in NodeId::all(nodes) {
                let own = assignment.of(node);
                assert!(own.contains(&node) && own.len() <= q + 1, "{nodes} {node}");
                assert!(all.iter().any(|quorum| quorum == own), "{nodes} {node}");
            }
            if nodes <= 150 {
                let meet = |a: &[NodeId], b: &[NodeId]| a.iter().any(|node| b.contains(node));
                assert!(all.iter().all(|a| all.iter().all(|b| meet(a, b))), "{nodes}");
            }
            let surplus = q * q + q + 1 - nodes;
            let says = |text: &str| system.notes().iter().any(|note| note.contains(text));
            assert_eq!(says(&format!("the plane of order {q} has")), surplus > 0, "{nodes}");
            assert_eq!(says(&format!("{surplus} too many, which")), surplus > 0, "{nodes}");
            let sizes: Vec<_> = assignment.iter().map(<[NodeId]>::len).collect();
            let differ = |counts: &[usize]| counts.iter().any(|count| *count != counts[0]);
            assert_eq!(says("condition 3 (equal sizes) is relaxed"), differ(&sizes), "{nodes}");
            let degrees = degrees(assignment);
            assert_eq!(says("condition 4 (equal degrees) is relaxed"), differ(&degrees), "{nodes}");
            // As if every line through a node and the point it took in were asked once.
            assert!(degrees.iter().all(|&degree| degree <= 2 * q + 1), "{nodes}");
        }
    }

    #[test]
    fn forty_nodes_are_folded_from_fifty_seven() {
        let system = build(&Construction::Projective(None), 40).unwrap();
        assert_eq!(
            system.notes(),
            [
                "folded: the plane of order 7 has 57 nodes, 17 too many, which were identified \
                 with others",
                "condition 3 (equal sizes) is relaxed: quorums have 7 to 8 members",
                "condition 4 (equal degrees) is relaxed: nodes are in 4 to 9 quorums",
            ]
        );
        assert!(system.assignment().mean_size() < 7.5);
    }

    #[test]
    fn orders_and_sizes_without_a_plane_name_the_remedy() {
        let order = |q| {
            let construction = Construction::Projective(Some(q));
            build(&construction, construction.nodes().unwrap()).unwrap_err().to_string()
        };
        assert_eq!(order(6), "order 6 is no prime power; take 5 or 7");
        assert_eq!(order(0), "order 0 is no prime power; take 2");
        assert_eq!(order(96), "order 96 is no prime power; take 89 or 97");
        for q in [98, 101, usize::MAX] {
            assert_eq!(
                order(q),
                format!("order {q} is out of reach; take at most 97, which has 9507 nodes")
            );
        }
        let other = build(&Construction::Projective(Some(6)), 5).unwrap_err().to_string();
        assert_eq!(other, order(6), "the order is wrong for any number of nodes");
        let size = |nodes| build(&Construction::Projective(None), nodes).unwrap_err().to_string();
        assert_eq!(
            size(9_508),
            "`projective` is built for at most 9507 nodes, not 9508; take fewer nodes or `cyclic`"
        );
    }
}
