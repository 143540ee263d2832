//! Which form a system has, whatever it was built by.

use std::collections::BTreeSet;

use skeptron_core::NodeId;
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

/// The order q of the projective plane whose q² + q + 1 lines the nodes ask.
pub(super) fn plane_order(system: &System) -> Option<usize> {
    let Shape::Listed(lines) = system.shape() else { return None };
    let nodes = system.nodes();
    let order = lines.first()?.len().checked_sub(1).filter(|&order| order > 0)?;
    let has_sizes = order * order + order + 1 == nodes
        && lines.len() == nodes
        && lines.iter().all(|line| line.len() == order + 1);
    (has_sizes && joins_any_two(lines, order)).then_some(order)
}

/// Whether every two points are on exactly one line of `order` + 1; then, by counting, two lines have one
/// common point.
fn joins_any_two(lines: &[Vec<NodeId>], order: usize) -> bool {
    let nodes = lines.len();
    let mut through = vec![Vec::new(); nodes];
    for line in lines {
        for point in line {
            through[point.index()].push(line);
        }
    }
    // Enough lines through a point on which nobody else is twice join it to everybody.
    let mut joined_to = vec![None; nodes];
    NodeId::all(nodes).zip(through).all(|(point, through)| {
        let is_enough = through.len() == order + 1;
        let mut others = through.into_iter().flatten().filter(|&&other| other != point);
        is_enough && others.all(|other| joined_to[other.index()].replace(point) != Some(point))
    })
}

/// For each node the two quorums that it is in, if every two quorums have exactly one node in common and
/// it is in no other: an edge between two of at least four vertices.
pub(super) fn edges(system: &System) -> Option<Vec<(usize, usize)>> {
    let Shape::Listed(stars) = system.shape() else { return None };
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
