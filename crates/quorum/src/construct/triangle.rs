//! Triangles: the nodes are the edges of the complete graph on the vertices 0 … k, so N = k(k+1)/2, and
//! a quorum is the star of a vertex: its k edges. Two stars share the edge between their centres.
//!
//! The nodes are numbered row by row: row b = 1 … k has the edges {a, b} with a = 0 … b − 1, from left
//! to right. In that picture the star of v is row v and, below it, column v:
//!
//! ```text
//! b = 1   1                   the star of 2:   .
//!     2   2 3                                  2 3
//!     3   4 5 6                                . . 6
//!     4   7 8 9 10                             . . 9 .
//! ```
//!
//! For an N in between, the last row is short, and its missing edges are folded away.

use std::cmp::Ordering;

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::folding::{Folded, with_relaxed_conditions};
use super::{Construction, QuorumError};
use crate::system::{Shape, System, distinct};

pub(super) fn system(nodes: usize) -> Result<System, QuorumError> {
    let k = rows(nodes);
    let surplus = k * (k + 1) / 2 - nodes;
    let system = if surplus == 0 { full(k)? } else { folded(k, surplus)? };
    Ok(with_relaxed_conditions(system))
}

/// The least k with k(k+1)/2 ≥ N.
fn rows(nodes: usize) -> usize {
    let k = ((8 * nodes + 1).isqrt() - 1) / 2;
    k + usize::from(k * (k + 1) / 2 < nodes)
}

/// All edges are nodes.
fn full(k: usize) -> Result<System, QuorumError> {
    let star = |v| star(v, k).map(|(a, b)| node(a, b)).collect();
    let stars: Vec<Vec<NodeId>> = (0..=k).map(star).collect();
    let sets = edges(k).map(|(a, b)| stars[centre(a, b, k)].clone()).collect();
    let listed = Shape::Listed(distinct(stars.iter().map(Vec::as_slice)));
    Ok(System::new(Construction::Triangle.to_string(), listed, Quorums::new(sets)?))
}

/// Which of its two stars the edge {a, b} asks: that of the end from which it is the shorter way round
/// to the other. An odd number of vertices is a regular tournament: every star is asked by k/2 nodes,
/// and every node is in k quorums. Otherwise the vertices opposite to each other alternate.
fn centre(a: usize, b: usize, k: usize) -> usize {
    let vertices = k + 1;
    match (2 * (b - a)).cmp(&vertices) {
        Ordering::Less => a,
        Ordering::Greater => b,
        Ordering::Equal => [a, b][a % 2],
    }
}

/// The last `surplus` edges {a, k} are identified with others, in pairs where possible: {a, k} and
/// {a + 1, k} with {a, a + 1}, which makes all three stars smaller by one.
fn folded(k: usize, surplus: usize) -> Result<System, QuorumError> {
    let nodes = k * (k + 1) / 2 - surplus;
    let first = k - surplus;
    let place = |(a, b): (usize, usize)| {
        if b < k || a < first {
            return node(a, b);
        }
        // The second of a pair, or the last one without a partner, looks back.
        let is_second = (a - first) % 2 == 1;
        if is_second || a + 1 == k { node(a - 1, a) } else { node(a, a + 1) }
    };
    let stars = (0..=k).map(|v| star(v, k).map(place).collect()).collect();
    let asks = edges(k).take(nodes).map(|(a, b)| centre(a, b, k)).collect();
    let system = Folded::new(stars, asks).system(Construction::Triangle.to_string())?;
    Ok(system.with_note(format!(
        "folded: the triangle of {k} rows has {points} nodes, {surplus} too many, \
         which were identified with others",
        points = nodes + surplus
    )))
}

/// All edges {a, b}, a < b, in the order of the nodes.
fn edges(k: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..=k).flat_map(|b| (0..b).map(move |a| (a, b)))
}

/// The edges {a, b}, a < b, at vertex v, in the order of the nodes.
fn star(v: usize, k: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..v).map(move |a| (a, v)).chain((v + 1..=k).map(move |b| (v, b)))
}

/// The node that is the edge {a, b}, a < b.
fn node(a: usize, b: usize) -> NodeId {
    NodeId::new(b * (b - 1) / 2 + a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::tests::{degrees, listed};

    fn triangle(nodes: usize) -> System {
        build(&Construction::Triangle, nodes).unwrap()
    }

    #[test]
    fn ten_nodes_are_the_picture_above() {
        let system = triangle(10);
        let Shape::Listed(stars) = system.shape() else { panic!("stars are listed") };
        let stars: Vec<Vec<usize>> =
            stars.iter().map(|star| star.iter().map(|node| node.index() + 1).collect()).collect();
        assert_eq!(stars, [[1, 2, 4, 7], [1, 3, 5, 8], [2, 3, 6, 9], [4, 5, 6, 10], [7, 8, 9, 10]]);
        assert_eq!(degrees(system.assignment()), [4; 10]);
        assert!(system.notes().is_empty());
    }

    /// Every node asks one of its two stars; conditions 3 and 4 hold if the vertices are odd in number.
    #[test]
    fn full_triangles_are_as_even_as_they_can_be() {
        for k in 1..=30 {
            let nodes = k * (k + 1) / 2;
            let system = triangle(nodes);
            assert_eq!(system.quorums(nodes + 1).unwrap().len(), if k == 1 { 1 } else { k + 1 });
            for (node, quorum) in NodeId::all(nodes).zip(system.assignment().iter()) {
                assert!(quorum.contains(&node) && quorum.len() == k, "{k}");
            }
            let mut askers = vec![0; k + 1];
            for (a, b) in edges(k) {
                askers[centre(a, b, k)] += 1;
            }
            assert!(askers.iter().all(|&count| count == k / 2 || count == k.div_ceil(2)), "{k}");
            let degrees = degrees(system.assignment());
            if k % 2 == 0 {
                assert_eq!(degrees, vec![k; nodes]);
                assert!(system.notes().is_empty(), "{k}");
            } else {
                assert!(degrees.iter().all(|degree| degree.abs_diff(k) <= 1), "{k}");
            }
        }
    }

    #[test]
    fn in_between_the_last_row_is_folded() {
        for nodes in 1..=300 {
            let k = (1..).find(|k| k * (k + 1) / 2 >= nodes).unwrap();
            assert_eq!(rows(nodes), k);
            let system = triangle(nodes);
            let all = system.quorums(k + 1).unwrap();
            let meet = |a: &[NodeId], b: &[NodeId]| a.iter().any(|node| b.contains(node));
            assert!(all.iter().all(|a| all.iter().all(|b| meet(a, b))), "{nodes}");
            for (node, quorum) in NodeId::all(nodes).zip(system.assignment().iter()) {
                assert!(quorum.contains(&node) && quorum.len() <= k, "{nodes}");
                assert!(all.iter().any(|known| known == quorum), "{nodes}");
            }
            let says = |text: &str| system.notes().iter().any(|note| note.contains(text));
            let surplus = k * (k + 1) / 2 - nodes;
            assert_eq!(says(&format!("{surplus} too many, which")), surplus > 0, "{nodes}");
            let differ = |counts: &[usize]| counts.iter().any(|count| *count != counts[0]);
            let sizes: Vec<_> = system.assignment().iter().map(<[NodeId]>::len).collect();
            assert_eq!(says("condition 3"), differ(&sizes), "{nodes}");
            assert_eq!(says("condition 4"), differ(&degrees(system.assignment())), "{nodes}");
        }
    }

    /// Nodes 9 and 10 of ten are {2, 4} and {3, 4}; both become {2, 3}, node 6.
    #[test]
    fn two_surplus_edges_become_the_third_side_of_their_triangle() {
        let system = triangle(8);
        let Shape::Listed(stars) = system.shape() else { panic!("stars are listed") };
        let stars = Quorums::new(stars.iter().cycle().take(8).cloned().collect()).unwrap();
        assert_eq!(
            listed(&stars)[..5],
            [vec![1, 2, 4, 7], vec![1, 3, 5, 8], vec![2, 3, 6], vec![4, 5, 6], vec![6, 7, 8]]
        );
    }
}
