//! How many nodes may crash, whichever they are, so that a quorum is still alive.
//!
//! A crash of nodes leaves no quorum if they meet every quorum: a transversal. The resilience is the size
//! of a smallest transversal, less one.

mod grid;
mod transversal;

use skeptron_core::NodeId;
use skeptron_quorum::{Shape, System};

pub(crate) use transversal::shrunk;

/// The resilience of a system, or bounds on it where it could not be found exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resilience {
    /// So many crashes always leave a live quorum.
    pub at_least: usize,
    /// One crash more than this can leave none.
    pub at_most: usize,
    /// The crashes, one more than `at_most`, that leave none.
    pub fatal: Vec<NodeId>,
}

impl Resilience {
    /// The resilience, if the bounds meet.
    #[must_use]
    pub fn exact(&self) -> Option<usize> {
        (self.at_least == self.at_most).then_some(self.at_most)
    }

    /// From a transversal and the size that each has at least.
    fn between(smallest: usize, mut fatal: Vec<NodeId>) -> Self {
        fatal.sort_unstable();
        Resilience { at_least: smallest - 1, at_most: fatal.len() - 1, fatal }
    }
}

/// The resilience of a system: exactly for gates and grids, and for listed quorums as far as a search of
/// about a second proves it.
#[must_use]
pub fn resilience(system: &System) -> Resilience {
    let exact = |fatal: Vec<NodeId>| Resilience::between(fatal.len(), fatal);
    match system.shape() {
        Shape::Gates(gates) => exact(gates.dual().cheapest(|_| 1.0).1),
        Shape::Grid { width, .. } => exact(grid::transversal(system.nodes(), *width)),
        Shape::Listed(quorums) => {
            let (smallest, fatal) = transversal::smallest(quorums, system.nodes());
            Resilience::between(smallest, fatal)
        }
    }
}

#[cfg(test)]
mod tests {
    use skeptron_quorum::{Construction, build};

    use super::*;

    fn of(text: &str, nodes: usize) -> Resilience {
        resilience(&build(&text.parse::<Construction>().unwrap(), nodes).unwrap())
    }

    /// Spec 3, figures to test against.
    #[test]
    fn figures_of_the_spec() {
        for (text, nodes, figure) in [
            ("majority", 5, 2),
            ("grid", 9, 2),
            ("fano", 7, 2),
            ("maekawa-13", 13, 3),
            ("wall:1,2,3,4", 10, 3),
            ("tree:2", 7, 2),
            ("hierarchical:2", 9, 3),
        ] {
            assert_eq!(of(text, nodes).exact(), Some(figure), "{text}");
        }
    }

    #[test]
    fn large_systems_are_as_known() {
        assert_eq!(of("majority", 1000).exact(), Some(499));
        assert_eq!(of("all", 500).exact(), Some(0));
        assert_eq!(of("tree", 511).exact(), Some(8), "a path from the root to a leaf");
        assert_eq!(of("hierarchical", 729).exact(), Some(63));
        assert_eq!(of("grid", 1000).exact(), Some(30));
        // Counting proves that no set smaller than a line meets all lines.
        assert_eq!(of("projective", 993).exact(), Some(31));
    }

    #[test]
    fn bounds_hold_where_the_search_ends() {
        let cyclic = of("cyclic", 300);
        assert!(cyclic.at_least <= cyclic.at_most);
        assert_eq!(cyclic.fatal.len(), cyclic.at_most + 1);
        let quorums = skeptron_quorum::quorums(&Construction::Cyclic, 300).unwrap();
        let meets = |quorum: &[NodeId]| quorum.iter().any(|node| cyclic.fatal.contains(node));
        assert!(quorums.iter().all(meets));
    }
}
