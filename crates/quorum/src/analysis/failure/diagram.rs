//! A binary decision diagram over the nodes, level by level: alive or not.
//!
//! A state is the set of quorums without a failed member, of which only those count whose rest does not
//! contain the rest of another: so two states are equal exactly if they are live for the same rest of the
//! nodes, and no diagram in this order has fewer states. Only one level is kept at a time, with the
//! probability of each state and the number of ways to it.

use rustc_hash::{FxHashMap, FxHashSet};
use skeptron_core::NodeId;

use crate::analysis::conditions::{minimal, through};

/// Sets of nodes are counted in a `u128`.
const MOST_NODES: usize = 127;

/// Which rests contain which others is found by comparing any two quorums at every node: at most so often.
const MOST_COMPARED: usize = 650_000_000;

/// How many states a diagram may have, and how many words they take.
const MOST_STATES: usize = 2_000_000;
const MOST_WORDS: usize = 4_000_000;

/// How much more a quorum counts in the order of the nodes for each member less that is left of it.
const BASE: f64 = 2.0;

/// A set of quorums, 64 in a word.
type Set = Vec<u64>;

/// The diagram of a list of quorums.
pub(crate) struct Diagram {
    nodes: Vec<NodeId>,
    levels: Vec<Level>,
    start: Set,
}

/// What happens at one node.
struct Level {
    /// The quorums it is in.
    through: Set,
    /// The quorums of which it is the last.
    last_of: Set,
    /// The quorums whose rest after it contains that of another, for each that does not stand alone.
    absorbed: Vec<(usize, Set)>,
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
        let levels = (0..nodes.len()).map(|place| Level::new(&masks, place)).collect();
        Some(Diagram { levels, start: set(masks.len(), |_| true), nodes })
    }

    /// The nodes that are in a quorum, in the order of the levels.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// How many nodes are in a quorum.
    pub(crate) fn levels(&self) -> usize {
        self.levels.len()
    }

    /// If nodes fail with probability `p`, and the first ones are alive as `fixed` says; none if there are
    /// too many states.
    pub(crate) fn outcome(&self, p: f64, fixed: &[bool]) -> Option<Outcome> {
        let mut open = FxHashMap::from_iter([(self.start.clone(), Mass { chance: 1.0, ways: 1 })]);
        let mut outcome = Outcome { failure: 0.0, dead: 0, states: 0 };
        for (place, level) in self.levels.iter().enumerate() {
            outcome.states += open.len();
            if outcome.states > MOST_STATES.min(MOST_WORDS / self.start.len()) {
                return None;
            }
            let mut next = FxHashMap::default();
            let rest = self.levels() - fixed.len().max(place + 1);
            for (state, mass) in open {
                if fixed.get(place) != Some(&true) {
                    let (state, mass) = (level.failed(&state), mass.times(p));
                    if is_empty(&state) {
                        outcome.failure += mass.chance;
                        outcome.dead += mass.ways << rest;
                    } else {
                        mass.add_to(&mut next, state);
                    }
                }
                let is_live = meets(&state, &level.last_of);
                if fixed.get(place) != Some(&false) && !is_live {
                    mass.times(1.0 - p).add_to(&mut next, level.reduced(state));
                }
            }
            open = next;
        }
        Some(outcome)
    }
}

impl Level {
    fn new(quorums: &[u128], place: usize) -> Self {
        let rest = |quorum: u128| quorum >> place >> 1;
        let is_absorbed = |inner: usize, outer: usize| {
            let (small, large) = (rest(quorums[inner]), rest(quorums[outer]));
            // Of equal rests the first one stays.
            small & !large == 0 && (small != large || inner < outer)
        };
        // What is over before is live or without a part in any state.
        let is_open = |quorum: usize| rest(quorums[quorum]) != 0;
        let absorbed =
            |inner| set(quorums.len(), |outer| is_open(outer) && is_absorbed(inner, outer));
        let open = (0..quorums.len()).filter(|&quorum| is_open(quorum));
        Level {
            through: set(quorums.len(), |index| quorums[index] >> place & 1 == 1),
            last_of: set(quorums.len(), |index| quorums[index] >> place == 1),
            absorbed: open
                .map(|inner| (inner, absorbed(inner)))
                .filter(|(_, absorbed)| !is_empty(absorbed))
                .collect(),
        }
    }

    fn failed(&self, state: &Set) -> Set {
        self.reduced(state.iter().zip(&self.through).map(|(state, hit)| state & !hit).collect())
    }

    /// Without the quorums whose rest contains that of another.
    fn reduced(&self, mut state: Set) -> Set {
        for (inner, absorbed) in &self.absorbed {
            if state[inner / 64] >> (inner % 64) & 1 == 1 {
                for (word, absorbed) in state.iter_mut().zip(absorbed) {
                    *word &= !absorbed;
                }
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

fn set(quorums: usize, mut is_in: impl FnMut(usize) -> bool) -> Set {
    let mut set = vec![0; quorums.div_ceil(64)];
    for quorum in (0..quorums).filter(|&quorum| is_in(quorum)) {
        set[quorum / 64] |= 1 << (quorum % 64);
    }
    set
}

fn is_empty(set: &Set) -> bool {
    set.iter().all(|&word| word == 0)
}

fn meets(a: &Set, b: &Set) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}
