//! Whether there is a better coterie: one that dominates, so that every quorum here contains one there.
//!
//! A coterie is dominated exactly if some set of nodes meets every quorum but contains none: that set could
//! be added, and what contains it dropped. Put differently, it is non-dominated if of every set and its
//! complement exactly one contains a quorum. So half of all sets do, which can be counted.
//!
//! Quorums that contain others change nothing of that: it is their minimal quorums that are judged.

mod gates;

use rand_core::Rng as _;
use rand_pcg::Mcg128Xsl64;
use skeptron_core::NodeId;
use skeptron_quorum::conditions::{minimal, through};
use skeptron_quorum::{Shape, System};

use crate::failure::diagram::Diagram;
use crate::failure::table::Table;
use crate::resilience::{resilience, shrunk};

/// Up to so many steps a witness is searched for: about a second.
const STEPS: usize = 200_000_000;

/// So many orders of the nodes are tried at most in that search.
const TRIES: usize = 1_000;

/// Whether a system is dominated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domination {
    /// Nothing better exists.
    NonDominated,
    /// There is something better.
    Dominated {
        /// A set that meets every quorum and contains none, so that it could be a quorum too; nobody can
        /// be left out of it.
        witness: Vec<NodeId>,
    },
    /// The system is too large to be sure, and no witness was found.
    Unknown,
}

/// Whether some coterie dominates a system: exactly for gates and grids, and for listed quorums of about 40
/// nodes; for more nodes a witness is searched for.
#[must_use]
pub fn domination(system: &System) -> Domination {
    match system.shape() {
        Shape::Gates(gates) => match gates::witness(gates) {
            Some(witness) => Domination::Dominated { witness },
            None => Domination::NonDominated,
        },
        Shape::Grid { quorums, .. } => {
            let fatal = resilience(system).fatal;
            // What is smaller than every quorum contains none.
            if quorums.iter().all(|quorum| quorum.len() > fatal.len()) {
                return Domination::Dominated { witness: fatal };
            }
            of_listed(quorums, system.nodes())
        }
        Shape::Listed(quorums) => of_listed(quorums, system.nodes()),
    }
}

fn of_listed(quorums: &[Vec<NodeId>], nodes: usize) -> Domination {
    let family = Family::new(quorums, nodes);
    if let Some(witness) = family.search() {
        return Domination::Dominated { witness };
    }
    match family.counted() {
        Some(None) => Domination::NonDominated,
        Some(Some(set)) => {
            let witness = family.reduced(&set).expect("what is left contains no quorum either");
            Domination::Dominated { witness }
        }
        None => Domination::Unknown,
    }
}

/// Minimal quorums, and through each node the quorums it is in.
struct Family {
    quorums: Vec<Vec<NodeId>>,
    through: Vec<Vec<usize>>,
    nodes: usize,
}

impl Family {
    fn new(quorums: &[Vec<NodeId>], nodes: usize) -> Self {
        let quorums = minimal(quorums);
        let through = through(&quorums, nodes);
        Family { quorums, through, nodes }
    }

    /// Makes minimal sets that meet every quorum until one contains none.
    fn search(&self) -> Option<Vec<NodeId>> {
        let steps = self.nodes + self.quorums.iter().map(Vec::len).sum::<usize>();
        let mut chance = Mcg128Xsl64::new(1);
        let mut order: Vec<NodeId> = NodeId::all(self.nodes).collect();
        (0..TRIES.min(1 + STEPS / steps)).find_map(|_| {
            let witness = self.reduced(&order);
            shuffle(&mut order, &mut chance);
            witness
        })
    }

    /// What remains of these nodes if as many as possible are left out, the first of them first, so that
    /// every quorum is still met; none if that contains a quorum.
    fn reduced(&self, order: &[NodeId]) -> Option<Vec<NodeId>> {
        let mut hits = vec![0; self.quorums.len()];
        for &quorum in order.iter().flat_map(|node| &self.through[node.index()]) {
            hits[quorum] += 1;
        }
        let mut left = shrunk(order.iter().copied(), &self.through, &mut hits);
        left.sort_unstable();
        let is_without = self.quorums.iter().zip(&hits).all(|(quorum, &hits)| hits < quorum.len());
        is_without.then_some(left)
    }

    /// A set that meets every quorum and contains none, or the proof that there is none such; none if
    /// there are too many sets to count.
    fn counted(&self) -> Option<Option<Vec<NodeId>>> {
        let Some(diagram) = Diagram::new(&self.quorums) else {
            return Table::new(&self.quorums).map(|table| table.undecided());
        };
        // Of how many sets that begin so neither they nor their complement contains a quorum.
        let neither = |begin: &[bool]| {
            let complement: Vec<bool> = begin.iter().map(|is_in| !is_in).collect();
            let dead = diagram.outcome(0.5, begin)?.dead + diagram.outcome(0.5, &complement)?.dead;
            Some(dead - (1 << (diagram.nodes().len() - begin.len())))
        };
        if neither(&[])? == 0 {
            return Some(None);
        }
        let mut begin = Vec::new();
        while begin.len() < diagram.nodes().len() {
            begin.push(true);
            if neither(&begin)? == 0 {
                begin.pop();
                begin.push(false);
            }
        }
        let members = diagram.nodes().iter().zip(begin).filter(|(_, is_in)| *is_in);
        Some(Some(members.map(|(node, _)| *node).collect()))
    }
}

/// Fisher and Yates.
fn shuffle(order: &mut [NodeId], chance: &mut Mcg128Xsl64) {
    for last in (1..order.len()).rev() {
        let below = u128::from(chance.next_u64()) * (last as u128 + 1);
        order.swap(last, (below >> 64) as usize);
    }
}

#[cfg(test)]
mod tests;
