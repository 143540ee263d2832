//! Which lists of lines are a projective plane.

use skeptron_core::NodeId;

use crate::conditions::through;

/// The order q of the projective plane of `nodes` nodes with these lines; none if they are no such plane.
///
/// There are q² + q + 1 nodes and as many lines of q + 1 nodes, and every two nodes are on exactly one
/// line. Then, by counting, every two lines meet in exactly one node, and if q > 1 there are four nodes
/// of which no three are on one line; the plane of order 1 is a triangle. It takes about N² steps.
#[must_use]
pub fn plane_order(lines: &[Vec<NodeId>], nodes: usize) -> Option<usize> {
    let order = lines.first()?.len().checked_sub(1).filter(|&order| order > 0)?;
    let has_sizes = order * order + order + 1 == nodes
        && lines.len() == nodes
        && lines.iter().all(|line| line.len() == order + 1);
    let is_known = |line: &Vec<NodeId>| line.iter().all(|node| node.index() < nodes);
    if !has_sizes || !lines.iter().all(is_known) {
        return None;
    }
    // Enough lines through a node on which nobody else is twice join it to everybody.
    let mut joined_to = vec![None; nodes];
    let is_joined = |(node, through): (NodeId, Vec<usize>)| {
        let mut others = through.iter().flat_map(|&line| &lines[line]).filter(|&&n| n != node);
        through.len() == order + 1
            && others.all(|other| joined_to[other.index()].replace(node) != Some(node))
    };
    NodeId::all(nodes).zip(through(lines, nodes)).all(is_joined).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FANO: [&[usize]; 7] =
        [&[1, 2, 4], &[2, 3, 5], &[3, 4, 6], &[4, 5, 7], &[1, 5, 6], &[2, 6, 7], &[1, 3, 7]];

    /// Of lines of nodes counted from 1.
    fn order(lines: &[&[usize]], nodes: usize) -> Option<usize> {
        let line = |line: &&[usize]| line.iter().map(|&node| NodeId::new(node - 1)).collect();
        plane_order(&lines.iter().map(line).collect::<Vec<_>>(), nodes)
    }

    #[test]
    fn the_smallest_planes_have_their_order() {
        assert_eq!(order(&FANO, 7), Some(2));
        assert_eq!(order(&[&[1, 2], &[2, 3], &[1, 3]], 3), Some(1));
    }

    #[test]
    fn what_is_no_plane_has_none() {
        for line in [&[3, 4][..], &[3, 4, 4], &[3, 4, 8], &[3, 4, 7]] {
            let mut lines = FANO;
            lines[2] = line;
            assert_eq!(order(&lines, 7), None, "{line:?}");
        }
        assert_eq!(order(&FANO[..6], 7), None);
        assert_eq!(order(&[&[1]], 1), None);
        assert_eq!(order(&[], 0), None);
        // Every node is on as many lines as a line has nodes, and yet.
        let intervals: Vec<Vec<usize>> =
            (0..7).map(|i| [0, 1, 2].map(|x| (x + i) % 7 + 1).to_vec()).collect();
        assert_eq!(order(&intervals.iter().map(Vec::as_slice).collect::<Vec<_>>(), 7), None);
    }
}
