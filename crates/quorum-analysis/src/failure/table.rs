//! All sets of a few nodes, a bit for each: for lists with so many quorums that a diagram would have to
//! compare too many of them.

use skeptron_core::NodeId;

/// A table of two to this many bits is made at most.
const MOST_NODES: usize = 24;

/// Which sets of nodes contain a quorum.
pub(crate) struct Table {
    /// The nodes that are in a quorum: bit i of a set stands for the i-th.
    nodes: Vec<NodeId>,
    /// Bit `set % 64` of word `set / 64`: whether the set contains a quorum.
    live: Vec<u64>,
}

/// In a word, the sets without the i-th node.
const WITHOUT: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0F0F_0F0F_0F0F_0F0F,
    0x00FF_00FF_00FF_00FF,
    0x0000_FFFF_0000_FFFF,
    0x0000_0000_FFFF_FFFF,
];

impl Table {
    /// None if there are too many nodes for it.
    pub(crate) fn new(quorums: &[Vec<NodeId>]) -> Option<Self> {
        let mut nodes: Vec<NodeId> = quorums.iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.len() > MOST_NODES {
            return None;
        }
        let mut live = vec![0_u64; (1_usize << nodes.len()).div_ceil(64)];
        for quorum in quorums {
            let place = |member| nodes.binary_search(member).expect("it is the node of a quorum");
            let set = quorum.iter().map(place).fold(0_usize, |set, place| set | 1 << place);
            live[set / 64] |= 1 << (set % 64);
        }
        // Whatever is live is live with one node more.
        for place in 0..nodes.len() {
            match WITHOUT.get(place) {
                Some(without) => {
                    live.iter_mut().for_each(|word| *word |= (*word & without) << (1 << place));
                }
                None => {
                    let half = 1 << (place - 6);
                    for pair in live.chunks_mut(2 * half) {
                        let (without, with) = pair.split_at_mut(half);
                        with.iter_mut().zip(without).for_each(|(with, without)| *with |= *without);
                    }
                }
            }
        }
        Some(Table { nodes, live })
    }

    /// How many nodes are in a quorum.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn is_live(&self, set: usize) -> bool {
        self.live[set / 64] >> (set % 64) & 1 == 1
    }

    /// The probability that no quorum is alive if nodes fail with probability `p`: a sum over the sets
    /// that contain none, by their size.
    pub(crate) fn failure(&self, p: f64) -> f64 {
        let mut dead = vec![0_u64; self.nodes() + 1];
        for set in (0..1_usize << self.nodes()).filter(|&set| !self.is_live(set)) {
            dead[set.count_ones() as usize] += 1;
        }
        let chance = |alive: usize| {
            let failed = self.nodes() - alive;
            p.powi(failed as i32) * (1.0 - p).powi(alive as i32)
        };
        dead.iter().enumerate().map(|(alive, &count)| count as f64 * chance(alive)).sum()
    }

    /// A set that contains no quorum, nor does its complement; none if there is none such.
    pub(crate) fn undecided(&self) -> Option<Vec<NodeId>> {
        let everybody = (1_usize << self.nodes()) - 1;
        let set =
            (0..=everybody).find(|set| !self.is_live(*set) && !self.is_live(everybody ^ set))?;
        let members = self.nodes.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
        Some(members.map(|(_, &node)| node).collect())
    }
}
