//! A binary decision diagram over the nodes, level by level: alive or not.
//!
//! A state is the set of quorums without a failed member, of which only those count whose rest does not
//! contain the rest of another: so two states are equal exactly if they are live for the same rest of the
//! nodes, and no diagram in this order has fewer states. Only one level is kept at a time, with the
//! probability of each state and the number of ways to it.

mod sets;

use rustc_hash::{FxHashMap, FxHashSet};
use skeptron_core::NodeId;
use skeptron_quorum::conditions::{minimal, through};

use sets::Set;

/// Sets of nodes are counted in a `u128`.
const MOST_NODES: usize = 127;

/// Which rests contain which others is found by comparing any two quorums at every node: at most so often.
const MOST_COMPARED: usize = 650_000_000;

/// How many states a diagram may have, and how many words they take.
const MOST_STATES: usize = 5_000_000;
const MOST_WORDS: usize = 5_000_000;

/// How much more a quorum counts in the order of the nodes for each member less that is left of it.
const BASE: f64 = 2.0;

/// The diagram of a list of quorums.
pub(crate) struct Diagram {
    nodes: Vec<NodeId>,
    levels: Vec<Level>,
}

/// What a diagram says.
pub(crate) struct Outcome {
    /// The probability that no quorum is alive.
    pub(crate) failure: f64,
    /// How many sets of nodes contain no quorum.
    pub(crate) dead: u128,
    /// How many states it has.
    pub(crate) states: usize,
}

impl Diagram {
    /// None if there are too many nodes or quorums for it.
    pub(crate) fn new(quorums: &[Vec<NodeId>]) -> Option<Self> {
        let quorums = minimal(quorums);
        let used = used(&quorums);
        let compared = quorums.len().saturating_pow(2).saturating_mul(used);
        if used > MOST_NODES || compared > MOST_COMPARED {
            return None;
        }
        let nodes = ordered(&quorums);
        let place = |member: &NodeId| nodes.iter().position(|node| node == member);
        let mask = |quorum: &Vec<NodeId>| {
            quorum.iter().filter_map(place).fold(0_u128, |mask, place| mask | 1 << place)
        };
        let masks: Vec<u128> = quorums.iter().map(mask).collect();
        let levels = (0..used).map(|place| Level::new(&masks, place)).collect();
        Some(Diagram { nodes, levels })
    }

    /// The nodes that are in a quorum, in the order of the levels.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// If nodes fail with probability `p`, and the first ones are alive as `fixed` says; none if there are
    /// too many states.
    pub(crate) fn outcome(&self, p: f64, fixed: &[bool]) -> Option<Outcome> {
        let (levels, mut outcome) = (&self.levels, Outcome { failure: 0.0, dead: 0, states: 0 });
        let all = levels.first()?.quorums.clone();
        let most_states = MOST_STATES.min(MOST_WORDS / all.words());
        let mut open = FxHashMap::from_iter([(all, Mass { chance: 1.0, ways: 1 })]);
        for (place, level) in levels.iter().enumerate() {
            outcome.states += open.len();
            // Levels grow up to the middle: what is wide before will not be through in time.
            let is_wide = 2 * place < levels.len() && open.len() > most_states / 16;
            if outcome.states > most_states || is_wide {
                return None;
            }
            let mut next = FxHashMap::default();
            let rest = levels.len() - fixed.len().max(place + 1);
            for (state, mass) in open {
                if fixed.get(place) != Some(&true) {
                    let (state, mass) = (level.failed(state.clone()), mass.times(p));
                    if state.is_empty() {
                        outcome.failure += mass.chance;
                        outcome.dead += mass.ways << rest;
                    } else {
                        mass.add_to(&mut next, state);
                    }
                }
                let is_live = state.meets(&level.last_of);
                if fixed.get(place) != Some(&false) && !is_live {
                    mass.times(1.0 - p).add_to(&mut next, level.reduced(state));
                }
            }
            open = next;
        }
        Some(outcome)
    }
}

/// What happens at one node.
struct Level {
    /// All quorums.
    quorums: Set,
    /// The quorums it is in.
    through: Set,
    /// The quorums of which it is the last.
    last_of: Set,
    /// Quorums, and those whose rest after the node contains the rest of that one.
    absorbed: Vec<(usize, Set)>,
}

impl Level {
    fn new(quorums: &[u128], place: usize) -> Self {
        let rest = |quorum: usize| quorums[quorum] >> place >> 1;
        // What is over is live or has failed.
        let is_open = |quorum: &usize| rest(*quorum) != 0;
        let absorbed = |inner: usize| {
            Set::of(quorums.len(), |outer| {
                let (small, large) = (rest(inner), rest(*outer));
                // Of equal rests the first one stays.
                small & !large == 0 && (small != large || inner < *outer)
            })
        };
        let open = (0..quorums.len()).filter(is_open);
        let absorbed = open.map(|inner| (inner, absorbed(inner)));
        Level {
            quorums: Set::of(quorums.len(), |_| true),
            through: Set::of(quorums.len(), |&quorum| quorums[quorum] >> place & 1 == 1),
            last_of: Set::of(quorums.len(), |&quorum| quorums[quorum] >> place == 1),
            absorbed: absorbed.filter(|(_, absorbed)| !absorbed.is_empty()).collect(),
        }
    }

    /// The state after the node has failed.
    fn failed(&self, mut state: Set) -> Set {
        state.remove(&self.through);
        self.reduced(state)
    }

    /// Without the quorums whose rest contains that of another.
    fn reduced(&self, mut state: Set) -> Set {
        for (inner, absorbed) in &self.absorbed {
            if state.contains(*inner) {
                state.remove(absorbed);
            }
        }
        state
    }
}

/// What leads to a state.
#[derive(Clone, Copy, Default)]
struct Mass {
    chance: f64,
    ways: u128,
}

impl Mass {
    fn times(self, chance: f64) -> Self {
        Mass { chance: self.chance * chance, ways: self.ways }
    }

    fn add_to(self, states: &mut FxHashMap<Set, Mass>, state: Set) {
        let sum = states.entry(state).or_default();
        sum.chance += self.chance;
        sum.ways += self.ways;
    }
}

/// The members of the quorums, so that quorums are soon over: next comes whoever is in most quorums of
/// which little is left.
fn ordered(quorums: &[Vec<NodeId>]) -> Vec<NodeId> {
    let nodes = quorums.iter().flatten().map(|node| node.index() + 1).max().unwrap_or(0);
    let through = through(quorums, nodes);
    let mut left: Vec<i32> = quorums.iter().map(|quorum| quorum.len() as i32).collect();
    let mut open: Vec<NodeId> =
        NodeId::all(nodes).filter(|node| !through[node.index()].is_empty()).collect();
    let mut order = Vec::with_capacity(open.len());
    while !open.is_empty() {
        let weight = |node: &NodeId| -> f64 {
            through[node.index()].iter().map(|&quorum| BASE.powi(-left[quorum])).sum()
        };
        let best = open.iter().enumerate().rev().max_by(|a, b| weight(a.1).total_cmp(&weight(b.1)));
        let (index, _) = best.expect("somebody is left");
        let node = open.remove(index);
        for &quorum in &through[node.index()] {
            left[quorum] -= 1;
        }
        order.push(node);
    }
    order
}

/// How many nodes are in a quorum.
fn used(quorums: &[Vec<NodeId>]) -> usize {
    quorums.iter().flatten().collect::<FxHashSet<_>>().len()
}
