//! Which form a system has, whatever it was built by.

use std::collections::BTreeSet;

use skeptron_quorum::gates::{Gate, Gates, Part};
use skeptron_quorum::{Shape, System};

/// How many nodes a row of the grid has.
pub(super) fn grid_width(system: &System) -> Option<usize> {
    match system.shape() {
        Shape::Grid { width, .. } => Some(*width),
        _ => None,
    }
}

/// How many nodes each row of the wall has, from the top.
pub(super) fn wall_rows(system: &System) -> Option<Vec<usize>> {
    let gates = gates(system)?;
    let is_node = |part: Part| matches!(part, Part::Node(_));
    let width = |gate: &Gate| gate.members.iter().filter(|member| is_node(member.part)).count();
    let rows: Vec<usize> = gates.gates().iter().map(width).collect();
    (!rows.contains(&0) && Gates::wall(&rows) == *gates).then_some(rows)
}

/// How many edges a path from the root to a leaf has.
pub(super) fn tree_height(system: &System) -> Option<u32> {
    let gates = gates(system)?;
    let height = (gates.nodes() + 1).ilog2() - 1;
    (Gates::tree(height) == *gates).then_some(height)
}

/// How often groups of three are in groups of three.
pub(super) fn hierarchy_height(system: &System) -> Option<u32> {
    let gates = gates(system)?;
    let height = gates.nodes().ilog(3);
    (Gates::hierarchy(height) == *gates).then_some(height)
}

/// The one gate of a system in which every node votes for itself.
pub(super) fn votes(system: &System) -> Option<&Gate> {
    match gates(system)?.gates() {
        [gate] => Some(gate),
        _ => None,
    }
}

pub(super) fn gates(system: &System) -> Option<&Gates> {
    match system.shape() {
        Shape::Gates(gates) => Some(gates),
        _ => None,
    }
}

/// The order q of the projective plane whose lines the nodes ask.
pub(super) fn plane_order(system: &System) -> Option<usize> {
    let Shape::Listed(lines) = system.shape() else {
        return None;
    };
    skeptron_quorum::plane_order(lines, system.nodes())
}

/// For each node the two quorums that it is in, if every two quorums have exactly one node in common and
/// it is in no other: an edge between two of at least four vertices.
pub(super) fn edges(system: &System) -> Option<Vec<(usize, usize)>> {
    let Shape::Listed(stars) = system.shape() else {
        return None;
    };
    let (nodes, vertices) = (system.nodes(), stars.len());
    if vertices < 4 || vertices * (vertices - 1) / 2 != nodes {
        return None;
    }
    // Then nodes that are numbered row by row are drawn so.
    let mut stars: Vec<_> = stars.iter().collect();
    stars.sort_unstable();
    let mut ends = vec![Vec::new(); nodes];
    for (vertex, star) in stars.into_iter().enumerate() {
        for node in star {
            ends[node.index()].push(vertex);
        }
    }
    let edge = |ends: Vec<usize>| match ends[..] {
        [a, b] => Some((a, b)),
        _ => None,
    };
    let edges: Vec<_> = ends.into_iter().map(edge).collect::<Option<_>>()?;
    let different: BTreeSet<_> = edges.iter().collect();
    (different.len() == nodes).then_some(edges)
}
