//! The axioms of a projective plane, to be checked on any list of lines.

use skeptron_core::NodeId;
use thiserror::Error;

/// Why a list of lines is no projective plane. Lines are counted from 1 in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlaneViolation {
    /// A line names a node outside the system.
    #[error("line {line} names {node}, but there are only {nodes} nodes")]
    UnknownNode {
        /// Which line.
        line: usize,
        /// The unknown node.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A line names a node twice.
    #[error("line {line} names {node} twice")]
    Twice {
        /// Which line.
        line: usize,
        /// Which node.
        node: NodeId,
    },
    /// A line is longer or shorter than the first one.
    #[error(
        "line {line} has {size} nodes, but line 1 has {expected}; all lines must be equally long"
    )]
    LineSize {
        /// Which line.
        line: usize,
        /// How many nodes it has.
        size: usize,
        /// q + 1, the length of the first line.
        expected: usize,
    },
    /// A node is on more or fewer lines than a line has nodes.
    #[error("{node} is on {lines} lines, but must be on {expected}, as many as a line has nodes")]
    LinesThrough {
        /// Which node.
        node: NodeId,
        /// How many lines go through it.
        lines: usize,
        /// q + 1.
        expected: usize,
    },
    /// Two nodes do not determine a line.
    #[error("{0} and {1} are on {2} common lines; any two nodes must be on exactly one")]
    Nodes(NodeId, NodeId, usize),
    /// Two lines do not determine a node.
    #[error("lines {0} and {1} meet in {2} nodes; any two lines must meet in exactly one")]
    Lines(usize, usize, usize),
    /// All else holds, but there is nothing like a plane.
    #[error("the plane is degenerate: of any four nodes three are on one line")]
    Degenerate,
}

/// The order q of the projective plane of `nodes` nodes with these lines.
///
/// Checked are all axioms: every line has q + 1 nodes, every node is on q + 1 lines, any two nodes are
/// on exactly one common line, any two lines meet in exactly one node, and there are four nodes of
/// which no three are on one line. It takes about N² steps.
///
/// # Errors
/// The first violation, naming the lines or nodes.
pub fn plane_axioms(lines: &[Vec<NodeId>], nodes: usize) -> Result<usize, PlaneViolation> {
    let size = lines.first().map_or(0, Vec::len);
    let mut through = vec![Vec::new(); nodes];
    for (index, members) in lines.iter().enumerate() {
        let line = index + 1;
        if members.len() != size {
            return Err(PlaneViolation::LineSize { line, size: members.len(), expected: size });
        }
        for &node in members {
            let Some(through) = through.get_mut(node.index()) else {
                return Err(PlaneViolation::UnknownNode { line, node, nodes });
            };
            if through.last() == Some(&index) {
                return Err(PlaneViolation::Twice { line, node });
            }
            through.push(index);
        }
    }
    if let Some(node) = through.iter().position(|through| through.len() != size) {
        let (node, lines) = (NodeId::new(node), through[node].len());
        return Err(PlaneViolation::LinesThrough { node, lines, expected: size });
    }
    let indices = |line: &Vec<NodeId>| line.iter().map(|node| node.index()).collect();
    let lines: Vec<Vec<usize>> = lines.iter().map(indices).collect();
    if let Some((a, b, common)) = not_joined_once(&through, &lines) {
        return Err(PlaneViolation::Nodes(NodeId::new(a), NodeId::new(b), common));
    }
    if let Some((a, b, common)) = not_joined_once(&lines, &through) {
        return Err(PlaneViolation::Lines(a + 1, b + 1, common));
    }
    // Two lines, and on each two nodes where the other does not pass: if three of those four were on
    // one line, it would share two nodes with one of the two lines and be that line.
    if size < 3 { Err(PlaneViolation::Degenerate) } else { Ok(size - 1) }
}

/// Two of the `on.len()` things that are not joined by exactly one connection, and by how many they
/// are; `on` has the connections of each thing, `joins` the things of each connection.
fn not_joined_once(on: &[Vec<usize>], joins: &[Vec<usize>]) -> Option<(usize, usize, usize)> {
    let mut common = vec![0; on.len()];
    for (a, connections) in on.iter().enumerate() {
        common.fill(0);
        for &b in connections.iter().flat_map(|&connection| &joins[connection]) {
            common[b] += 1;
        }
        common[a] = 1;
        if let Some(b) = common.iter().position(|&times| times != 1) {
            return Some((a, b, common[b]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FANO: [&[usize]; 7] =
        [&[1, 2, 4], &[2, 3, 5], &[3, 4, 6], &[4, 5, 7], &[1, 5, 6], &[2, 6, 7], &[1, 3, 7]];

    /// The verdict on lines of nodes counted from 1.
    fn verdict(lines: &[&[usize]], nodes: usize) -> Result<usize, String> {
        let line = |line: &&[usize]| line.iter().map(|&node| NodeId::new(node - 1)).collect();
        let lines: Vec<_> = lines.iter().map(line).collect();
        plane_axioms(&lines, nodes).map_err(|violation| violation.to_string())
    }

    fn fano_with(line: usize, members: &'static [usize]) -> Result<usize, String> {
        let mut lines = FANO;
        lines[line - 1] = members;
        verdict(&lines, 7)
    }

    #[test]
    fn the_fano_plane_has_order_2() {
        assert_eq!(verdict(&FANO, 7), Ok(2));
    }

    #[test]
    fn a_violation_names_the_culprits() {
        let wrong = |text: &str| Err(text.to_owned());
        assert_eq!(
            fano_with(3, &[3, 4]),
            wrong("line 3 has 2 nodes, but line 1 has 3; all lines must be equally long")
        );
        assert_eq!(fano_with(3, &[3, 4, 4]), wrong("line 3 names P4 twice"));
        assert_eq!(fano_with(3, &[3, 4, 8]), wrong("line 3 names P8, but there are only 7 nodes"));
        assert_eq!(
            fano_with(3, &[3, 4, 7]),
            wrong("P6 is on 2 lines, but must be on 3, as many as a line has nodes")
        );
        assert_eq!(
            verdict(&FANO[..6], 7),
            wrong("P1 is on 2 lines, but must be on 3, as many as a line has nodes")
        );
    }

    /// Every node is on as many lines as a line has nodes, and yet.
    #[test]
    fn counting_is_not_enough() {
        let translates = |set: [usize; 3]| -> Vec<Vec<usize>> {
            (0..7).map(|i| set.iter().map(|x| (x + i) % 7 + 1).collect()).collect()
        };
        let lines = translates([0, 1, 2]);
        let lines: Vec<&[usize]> = lines.iter().map(Vec::as_slice).collect();
        assert_eq!(
            verdict(&lines, 7),
            Err("P1 and P2 are on 2 common lines; any two nodes must be on exactly one".into())
        );
    }

    /// Where any two nodes are joined once and all lines are alike, any two lines meet: an affine plane
    /// fails by its counts, so the last two checks are tested on their own.
    #[test]
    fn pairs_are_counted_both_ways() {
        let square = [vec![0, 1], vec![2, 3], vec![0, 2], vec![1, 3], vec![0, 3], vec![1, 2]];
        let through: Vec<Vec<usize>> =
            (0..4).map(|p| (0..6).filter(|&line| square[line].contains(&p)).collect()).collect();
        assert_eq!(not_joined_once(&through, &square), None, "any two points are joined");
        assert_eq!(not_joined_once(&square, &through), Some((0, 1, 0)), "parallels do not meet");
    }

    #[test]
    fn a_triangle_a_point_and_nothing_are_degenerate() {
        let degenerate =
            Err("the plane is degenerate: of any four nodes three are on one line".into());
        assert_eq!(verdict(&[&[1, 2], &[2, 3], &[1, 3]], 3), degenerate);
        assert_eq!(verdict(&[&[1]], 1), degenerate);
        assert_eq!(verdict(&[], 0), degenerate);
    }
}
