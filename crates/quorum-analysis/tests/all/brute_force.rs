//! Every analysis against its definition, over all sets of nodes.

use num_bigint::BigUint;
use proptest::prelude::*;
use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;
use skeptron_quorum::conditions::{conditions, contained};
use skeptron_quorum::{Construction, Shape, System, build};
use skeptron_quorum_analysis::domination::{Domination, domination};
use skeptron_quorum_analysis::failure::{Sampling, failure};
use skeptron_quorum_analysis::resilience::resilience;
use skeptron_quorum_analysis::sizes::sizes;

/// Sets of nodes as bits.
type Set = u32;

fn bits(set: &[NodeId]) -> Set {
    set.iter().fold(0, |bits, node| bits | 1 << node.index())
}

fn all_sets(nodes: usize) -> impl Iterator<Item = Set> {
    0..1 << nodes
}

/// A quorum system by its quorums alone.
struct Truth {
    nodes: usize,
    quorums: Vec<Set>,
}

impl Truth {
    fn is_live(&self, set: Set) -> bool {
        self.quorums.iter().any(|quorum| quorum & !set == 0)
    }

    fn complement(&self, set: Set) -> Set {
        !set & ((1 << self.nodes) - 1)
    }

    /// What meets every quorum.
    fn is_transversal(&self, set: Set) -> bool {
        self.quorums.iter().all(|quorum| quorum & set != 0)
    }

    fn resilience(&self) -> usize {
        let fatal = all_sets(self.nodes).filter(|&dead| !self.is_live(self.complement(dead)));
        fatal.map(Set::count_ones).min().unwrap() as usize - 1
    }

    fn failure(&self, p: f64) -> f64 {
        let chance = |alive: Set| {
            let alive = alive.count_ones() as i32;
            (1.0 - p).powi(alive) * p.powi(self.nodes as i32 - alive)
        };
        all_sets(self.nodes).filter(|&alive| !self.is_live(alive)).map(chance).sum()
    }

    fn is_non_dominated(&self) -> bool {
        all_sets(self.nodes).all(|set| self.is_live(set) != self.is_live(self.complement(set)))
    }

    /// Everything that is said about a system.
    fn judge(&self, system: &System) {
        let name = format!("{} with {} nodes", system.name(), self.nodes);
        self.judge_sizes(system, &name);
        let found = resilience(system);
        assert_eq!(found.exact(), Some(self.resilience()), "{name}");
        assert_eq!(found.fatal.len(), found.at_most + 1, "{name}");
        assert!(self.is_transversal(bits(&found.fatal)), "{name}");
        for p in [1e-3, 0.1, 0.5, 0.9] {
            let (found, truth) =
                (failure(system, p, &Sampling::default()).unwrap(), self.failure(p));
            assert!((found.value - truth).abs() <= 1e-11 * truth, "{name}, {p}: {found:?} {truth}");
            assert_eq!(found.interval, None, "{name}");
        }
        match domination(system) {
            Domination::NonDominated => assert!(self.is_non_dominated(), "{name}"),
            Domination::Dominated { witness } => {
                let witness = bits(&witness);
                assert!(!self.is_live(witness) && self.is_transversal(witness), "{name}");
                let mut fewer = (0..self.nodes).map(|i| witness & !(1 << i));
                assert!(fewer.all(|set| set == witness || !self.is_transversal(set)), "{name}");
            }
            Domination::Unknown => panic!("{name}: unknown"),
        }
    }

    fn judge_sizes(&self, system: &System, name: &str) {
        let found = sizes(system);
        let sizes: Vec<usize> = self.quorums.iter().map(|set| set.count_ones() as usize).collect();
        assert_eq!((Some(&found.min), Some(&found.max)), (sizes.iter().min(), sizes.iter().max()));
        assert_eq!(found.count, Some(BigUint::from(sizes.len())), "{name}");
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!(found.mean.is_some_and(|found| (found - mean).abs() < 1e-12), "{name}");
    }
}

/// The quorums as they are listed, or for gates the minimal sets that pass.
fn truth(system: &System) -> Truth {
    let nodes = system.nodes();
    let quorums = match system.shape() {
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
            quorums.iter().map(|quorum| bits(quorum)).collect()
        }
        Shape::Gates(gates) => {
            let passes = |set: Set| gates.is_live(|node| set >> node.index() & 1 == 1);
            let is_minimal =
                |set: Set| (0..nodes).all(|i| set >> i & 1 == 0 || !passes(set & !(1 << i)));
            all_sets(nodes).filter(|&set| passes(set) && is_minimal(set)).collect()
        }
    };
    Truth { nodes, quorums }
}

#[test]
fn every_construction_up_to_twelve_nodes() {
    let mut judged = 0;
    for name in Construction::NAMES.into_iter().filter(|&name| name != "weighted") {
        let construction: Construction = name.parse().unwrap();
        for nodes in 1..=12 {
            // Not every construction exists in every size.
            if let Ok(system) = build(&construction, nodes) {
                truth(&system).judge(&system);
                judged += 1;
            }
        }
    }
    assert!(judged > 70, "{judged}");
}

/// The walls whose rows have up to four nodes, and ten nodes at most.
#[test]
fn every_small_wall() {
    let mut open: Vec<Vec<usize>> = vec![Vec::new()];
    while let Some(rows) = open.pop() {
        let nodes: usize = rows.iter().sum();
        if nodes > 0 {
            let system = build(&Construction::Wall(Some(rows.clone())), nodes).unwrap();
            truth(&system).judge(&system);
        }
        for width in 1..=4.min(10 - nodes) {
            open.push([&rows[..], &[width]].concat());
        }
    }
}

/// Sets of up to `nodes` nodes, made to meet: each set that does not meet one before it takes a member of
/// that one.
fn intersecting() -> impl Strategy<Value = (usize, Vec<Set>)> {
    (2_usize..=10).prop_flat_map(|nodes| {
        let sets = prop::collection::vec((1_u32..1 << nodes, any::<u32>()), nodes..=nodes);
        sets.prop_map(move |drawn| {
            let mut sets: Vec<Set> = Vec::new();
            for (set, mask) in drawn {
                let thin = if set & mask == 0 { set } else { set & mask };
                let meet = |set: Set, other: &Set| match set & other {
                    0 => set | 1 << other.trailing_zeros(),
                    _ => set,
                };
                sets.push(sets.iter().fold(thin, meet));
            }
            (nodes, sets)
        })
    })
}

fn members(set: Set, nodes: usize) -> Vec<NodeId> {
    NodeId::all(nodes).filter(|node| set >> node.index() & 1 == 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_intersecting_family((nodes, sets) in intersecting()) {
        let lists: Vec<Vec<NodeId>> = sets.iter().map(|&set| members(set, nodes)).collect();
        let system = System::from(Quorums::new(lists).unwrap());
        truth(&system).judge(&system);
    }

    #[test]
    fn any_votes(weights in prop::collection::vec(0_u64..8, 1..=9)) {
        prop_assume!(weights.iter().sum::<u64>() > 0);
        let system = build(&Construction::Weighted(weights.clone()), weights.len()).unwrap();
        truth(&system).judge(&system);
    }

    /// Also of sets that are no quorum system.
    #[test]
    fn conditions_are_those_of_the_definition(
        (nodes, sets) in (1_usize..=6).prop_flat_map(|nodes| {
            (Just(nodes), prop::collection::vec(0_u32..1 << nodes, nodes..=nodes))
        })
    ) {
        let lists: Vec<Vec<NodeId>> = sets.iter().map(|&set| members(set, nodes)).collect();
        let pairs = || (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
        let found = conditions(&lists, nodes);
        prop_assert_eq!(found.disjoint, pairs().find(|&(i, j)| sets[i] & sets[j] == 0));
        let mut without = (0..nodes).filter(|&i| sets[i] >> i & 1 == 0);
        prop_assert_eq!(found.without_self, without.next().map(NodeId::new));
        let is_size = |set: &Set| set.count_ones() == sets[0].count_ones();
        prop_assert_eq!(found.equal_size, sets.iter().all(is_size));
        let degree = |i: usize| sets.iter().filter(|&set| set >> i & 1 == 1).count();
        prop_assert_eq!(found.equal_degree, (0..nodes).all(|i| degree(i) == degree(0)));
        let inside = |&(i, j): &(usize, usize)| i != j && sets[i] & !sets[j] == 0;
        prop_assert_eq!(contained(&lists), pairs().find(inside));
    }
}
