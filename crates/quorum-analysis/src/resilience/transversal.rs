//! Smallest sets that meet all of a list of quorums: bounds at once, then a search with a budget.

use skeptron_core::NodeId;
use skeptron_quorum::conditions::{minimal, through};

/// Up to so many steps are searched: about a second.
const STEPS: u64 = 400_000_000;

/// A transversal, and the size that every transversal has at least. They agree if the search came to its
/// end.
pub(super) fn smallest(quorums: &[Vec<NodeId>], nodes: usize) -> (usize, Vec<NodeId>) {
    let quorums = minimal(quorums);
    let mut search = Search::new(&quorums, nodes);
    let mut best = search.greedy();
    // Any two quorums meet, so each is a transversal itself.
    let quorum = quorums.iter().min_by_key(|quorum| quorum.len());
    if let Some(quorum) = quorum.filter(|quorum| quorum.len() < best.len()) {
        best.clone_from(quorum);
    }
    let mut least = search.bound().0;
    // Each size that is refuted raises the bound, whatever happens later.
    while least < best.len() {
        match search.within(least) {
            Some(true) => best = search.chosen.clone(),
            Some(false) => least += 1,
            None => break,
        }
    }
    (least, best)
}

/// What remains of a transversal if one after another is left out who is not needed to meet every quorum;
/// then nobody can be left out any more. `hits` is how many members of each quorum are in it.
pub(crate) fn shrunk(
    transversal: impl Iterator<Item = NodeId>,
    through: &[Vec<usize>],
    hits: &mut [usize],
) -> Vec<NodeId> {
    let mut left = Vec::new();
    for node in transversal {
        let quorums = &through[node.index()];
        if quorums.iter().any(|&quorum| hits[quorum] == 1) {
            left.push(node);
            continue;
        }
        for &quorum in quorums {
            hits[quorum] -= 1;
        }
    }
    left
}

/// A search for transversals of at most a given size, by branching on the members of a quorum that is not
/// met yet.
struct Search<'a> {
    quorums: &'a [Vec<NodeId>],
    /// How many members they have in all.
    members: usize,
    through: Vec<Vec<usize>>,
    /// How many of the chosen are in each quorum.
    hits: Vec<usize>,
    /// How many quorums are not met yet.
    unmet: usize,
    /// In how many of those each node is.
    degree: Vec<u32>,
    /// Who may not be chosen here, because what it leads to has been searched.
    is_excluded: Vec<bool>,
    chosen: Vec<NodeId>,
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(quorums: &'a [Vec<NodeId>], nodes: usize) -> Self {
        let through = through(quorums, nodes);
        Search {
            quorums,
            members: quorums.iter().map(Vec::len).sum(),
            hits: vec![0; quorums.len()],
            unmet: quorums.len(),
            degree: through.iter().map(|quorums| quorums.len() as u32).collect(),
            is_excluded: vec![false; nodes],
            chosen: Vec::new(),
            through,
            steps: 0,
        }
    }

    /// Always the node that meets most of what is unmet; whom that makes superfluous is left out.
    fn greedy(&self) -> Vec<NodeId> {
        let (mut degree, mut hits) = (self.degree.clone(), self.hits.clone());
        let mut chosen = Vec::new();
        while let Some((node, 1..)) =
            degree.iter().copied().enumerate().rev().max_by_key(|(_, degree)| *degree)
        {
            chosen.push(NodeId::new(node));
            for &quorum in &self.through[node] {
                if hits[quorum] == 0 {
                    for member in &self.quorums[quorum] {
                        degree[member.index()] -= 1;
                    }
                }
                hits[quorum] += 1;
            }
        }
        shrunk(chosen.into_iter(), &self.through, &mut hits)
    }

    /// How many more nodes it takes at least, and an unmet quorum that leaves the least choice. If each unmet
    /// quorum shares itself out so that no node gets more than 1 in all, no node is worth more than 1, and
    /// together they must be worth all that was shared: a fractional packing.
    fn bound(&self) -> (usize, &'a [NodeId]) {
        let (mut shares, mut tightest, mut fewest) = (0.0, &[][..], usize::MAX);
        for (quorum, _) in self.quorums.iter().zip(&self.hits).filter(|(_, hits)| **hits == 0) {
            let (mut most, mut open) = (0, 0);
            for node in quorum {
                // Whoever may be chosen is in this one at least.
                let degree = self.degree[node.index()];
                let degree = if self.is_excluded[node.index()] { 0 } else { degree };
                most = most.max(degree);
                open += usize::from(degree > 0);
            }
            shares += if most == 0 { f64::INFINITY } else { 1.0 / f64::from(most) };
            if open < fewest {
                (tightest, fewest) = (quorum, open);
            }
        }
        // Rounding may not make the bound one too high.
        ((shares - 1e-6).ceil().max(0.0) as usize, tightest)
    }

    /// Whether there is a transversal of this size, which is then `chosen`; none if the steps are used up.
    fn within(&mut self, size: usize) -> Option<bool> {
        if self.unmet == 0 {
            return Some(true);
        }
        self.steps += self.members as u64;
        if self.steps > STEPS {
            return None;
        }
        let Some(left) = size.checked_sub(1) else { return Some(false) };
        let (least, tightest) = self.bound();
        if least > size {
            return Some(false);
        }
        let branches = self.branches(tightest);
        let mut result = Some(false);
        let mut tried = 0;
        for &node in &branches {
            self.choose(node);
            result = self.within(left);
            if result == Some(true) {
                return result;
            }
            self.unchoose(node);
            if result.is_none() {
                break;
            }
            self.is_excluded[node.index()] = true;
            tried += 1;
        }
        for node in &branches[..tried] {
            self.is_excluded[node.index()] = false;
        }
        result
    }

    /// One of these has to be chosen, those first that meet most.
    fn branches(&self, tightest: &[NodeId]) -> Vec<NodeId> {
        let open = tightest.iter().copied().filter(|node| !self.is_excluded[node.index()]);
        let mut branches: Vec<_> = open.collect();
        branches.sort_by_key(|node| std::cmp::Reverse(self.degree[node.index()]));
        branches
    }

    fn choose(&mut self, node: NodeId) {
        self.chosen.push(node);
        for &quorum in &self.through[node.index()] {
            self.hits[quorum] += 1;
            if self.hits[quorum] == 1 {
                self.unmet -= 1;
                for member in &self.quorums[quorum] {
                    self.degree[member.index()] -= 1;
                }
            }
        }
    }

    fn unchoose(&mut self, node: NodeId) {
        self.chosen.pop();
        for &quorum in &self.through[node.index()] {
            self.hits[quorum] -= 1;
            if self.hits[quorum] == 0 {
                self.unmet += 1;
                for member in &self.quorums[quorum] {
                    self.degree[member.index()] += 1;
                }
            }
        }
    }
}
