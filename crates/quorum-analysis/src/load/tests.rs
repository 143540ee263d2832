//! Loads that are known, and loads of anything small by the definition.

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem};
use proptest::prelude::*;
use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;
use skeptron_quorum::{Construction, Shape, build};

use super::*;
use crate::strategy::Search;

/// A construction as it is typed, with the number of nodes where it needs one.
pub(crate) fn system(text: &str) -> System {
    let (name, nodes) = text.split_once(' ').unwrap_or((text, ""));
    let construction: Construction = name.parse().unwrap();
    let nodes = nodes.parse().ok().or(construction.nodes()).unwrap();
    build(&construction, nodes).unwrap()
}

/// The definition as a linear program over all quorums and nodes, by another solver.
fn by_definition(system: &System) -> f64 {
    let quorums = system.quorums(10_000).unwrap();
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let load = problem.add_var(1.0, (0.0, 1.0));
    let shares: Vec<_> = quorums.iter().map(|_| problem.add_var(0.0, (0.0, 1.0))).collect();
    let mut sum = LinearExpr::empty();
    shares.iter().for_each(|&share| sum.add(share, 1.0));
    problem.add_constraint(sum, ComparisonOp::Eq, 1.0);
    for node in NodeId::all(system.nodes()) {
        let mut asked = LinearExpr::empty();
        for (_, &share) in quorums.iter().zip(&shares).filter(|(q, _)| q.contains(&node)) {
            asked.add(share, 1.0);
        }
        asked.add(load, -1.0);
        problem.add_constraint(asked, ComparisonOp::Le, 0.0);
    }
    problem.solve().unwrap().into_solution().unwrap().objective()
}

/// Everything that `Load` says of itself.
fn assert_proved(system: &System, load: &Load) {
    let name = system.name();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12;
    let mut asked = vec![0.0; system.nodes()];
    for share in &load.strategy {
        assert!(share.probability > 0.0, "{name}");
        match system.shape() {
            Shape::Gates(gates) => {
                assert!(gates.is_live(|node| share.quorum.contains(&node)), "{name}");
                for left in &share.quorum {
                    let rest = |node| node != *left && share.quorum.contains(&node);
                    assert!(!gates.is_live(rest), "{name}: a quorum is minimal");
                }
            }
            Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
                assert!(quorums.contains(&share.quorum), "{name}");
            }
        }
        share.quorum.iter().for_each(|node| asked[node.index()] += share.probability);
    }
    assert!(load.strategy.is_sorted_by(|a, b| a.quorum < b.quorum), "{name}");
    assert!(close(load.strategy.iter().map(|share| share.probability).sum(), 1.0), "{name}");
    let busiest = asked.iter().copied().fold(0.0, f64::max);
    assert!(close(busiest, load.value), "{name}: {busiest} {}", load.value);

    assert!(close(load.weights.iter().sum(), 1.0), "{name}");
    assert!(load.weights.iter().all(|&weight| weight >= 0.0), "{name}");
    let lightest = system.cheapest(|node| load.weights[node.index()]).0;
    assert!(close(lightest, load.lower_bound), "{name}: {lightest} {}", load.lower_bound);
    assert!(close(load.lower_bound, load.value), "{name}: {load:?}");
    let (one_over_size, size_over_nodes) = bounds(system);
    assert!(load.value >= one_over_size.max(size_over_nodes) - 1e-12, "{name}");
    if let Some(fraction) = load.fraction {
        assert!(close(*fraction.numer() as f64 / *fraction.denom() as f64, load.value), "{name}");
    }
    assert_eq!(load.fraction.is_some(), load.method.proof == Proof::Exact, "{name}");
}

/// Spec 3, and the formulas of the literature.
#[test]
fn known_loads_are_exact() {
    for (text, over, under) in [
        ("majority 5", 3, 5),
        ("grid 9", 5, 9),
        ("projective 7", 3, 7),
        ("fano", 3, 7),
        ("maekawa-13", 4, 13),
        ("wall:1,2,3,4", 2, 5),
        ("tree:2", 1, 2),
        ("hierarchical:2", 4, 9),
        ("weighted:3,1,1,1,1", 4, 7),
        ("majority 25", 13, 25),
        ("hierarchical:4", 16, 81),
        ("singleton 6", 1, 1),
        ("all 6", 1, 1),
    ] {
        let system = system(text);
        let load = load(&system);
        assert_eq!(load.fraction, Some(Ratio::new(over, under)), "{text}: {}", load.method);
        assert_proved(&system, &load);
    }
}

#[test]
fn square_grids_and_planes_follow_their_formulas() {
    for k in 1..=30 {
        let load = load(&system(&format!("grid {}", k * k)));
        assert_eq!(load.fraction, Some(Ratio::new(2 * k - 1, k * k)), "{k}");
        assert_eq!(load.method.search, Search::Alike);
    }
    for order in [2, 3, 5, 7, 11, 13] {
        let nodes = order * order + order + 1;
        let load = load(&system(&format!("projective {nodes}")));
        assert_eq!(load.fraction, Some(Ratio::new(order + 1, nodes)), "{order}");
    }
    for nodes in 1..=40 {
        let load = load(&system(&format!("majority {nodes}")));
        assert_eq!(load.fraction, Some(Ratio::new(nodes / 2 + 1, nodes)), "{nodes}");
    }
}

#[test]
fn bounds_are_those_of_a_smallest_quorum() {
    assert_eq!(bounds(&system("fano")), (1.0 / 3.0, 3.0 / 7.0));
    assert_eq!(bounds(&system("wall:1,2,3,4")), (1.0 / 4.0, 4.0 / 10.0));
    assert_eq!(bounds(&system("tree:2")), (1.0 / 3.0, 3.0 / 7.0));
}

/// Every construction of every small size.
#[test]
fn loads_agree_with_the_definition() {
    let sizes =
        Construction::NAMES.into_iter().filter_map(|name| name.parse::<Construction>().ok());
    let sizes = sizes.flat_map(|construction| {
        (1..=13).filter_map(move |nodes| build(&construction, nodes).ok())
    });
    let others = ["weighted:5,4,3,2,2,1", "weighted:0,7,1,3,3", "wall:2,2,1,3", "wall:3,1,2,4"];
    for system in sizes.chain(others.map(system)) {
        let load = load(&system);
        let expected = by_definition(&system);
        assert!((load.value - expected).abs() < 1e-9, "{}: {expected}", system.name());
        assert!(load.fraction.is_some(), "{}: {}", system.name(), load.method);
        assert_proved(&system, &load);
    }
}

/// Too many quorums to list, so nothing but the proof can be checked.
#[test]
fn large_loads_prove_themselves() {
    for text in ["wall 60", "tree:6", "hierarchical:5", "majority 101", "grid 95", "cyclic 200"] {
        let system = system(text);
        let load = load(&system);
        assert!(load.fraction.is_some() && !load.is_turned, "{text}: {}", load.method);
        assert_proved(&system, &load);
    }
}

/// Sets of which any two meet, over up to 12 nodes; what would miss another set gets its first member.
fn intersecting() -> impl Strategy<Value = System> {
    (2_usize..=12).prop_flat_map(|nodes| {
        let set = prop::collection::btree_set(0..nodes, 1..=nodes.min(5));
        prop::collection::vec(set, nodes).prop_map(move |mut sets| {
            for later in 1..nodes {
                for earlier in 0..later {
                    if sets[earlier].is_disjoint(&sets[later]) {
                        let first = *sets[earlier].iter().next().unwrap();
                        sets[later].insert(first);
                    }
                }
            }
            let sets = sets.iter().map(|set| set.iter().map(|&i| NodeId::new(i)).collect());
            System::from(Quorums::new(sets.collect()).unwrap())
        })
    })
}

proptest! {
    #[test]
    fn loads_of_random_sets_agree_with_the_definition(system in intersecting()) {
        let load = load(&system);
        prop_assert!((load.value - by_definition(&system)).abs() < 1e-9);
        prop_assert!(load.fraction.is_some(), "{}", load.method);
        assert_proved(&system, &load);
    }

    #[test]
    fn loads_of_random_votes_agree_with_the_definition(
        weights in prop::collection::vec(0_u64..8, 1..10).prop_filter("some", |w| w.iter().any(|&w| w > 0)),
        rows in prop::collection::vec(1_usize..4, 1..5),
    ) {
        let nodes = weights.len();
        let votes = build(&Construction::Weighted(weights), nodes).unwrap();
        let nodes = rows.iter().sum();
        let wall = build(&Construction::Wall(Some(rows)), nodes).unwrap();
        for system in [votes, wall] {
            let load = load(&system);
            prop_assert!((load.value - by_definition(&system)).abs() < 1e-9);
            prop_assert!(load.fraction.is_some(), "{}", load.method);
            assert_proved(&system, &load);
        }
    }
}

/// A plane whose last points are folded onto others has no symmetry left. Up to the rows that the simplex
/// method can take the optimum is found, and from there on what comes near it.
#[test]
fn systems_without_symmetry_are_solved_nearly_however_large() {
    for (points, nodes, share) in [(31, 24, 1.0), (307, 300, 1.0 - 1e-7), (1_407, 1_300, 0.85)] {
        let plane = system(&format!("projective {points}"));
        let fold = |node: &NodeId| match node.index() < nodes {
            true => *node,
            false => NodeId::new(node.index() * 7_919 % nodes),
        };
        let folded = plane.assignment().iter().take(nodes);
        let sets = folded.map(|line| line.iter().map(fold).collect()).collect();
        let load = load(&System::from(Quorums::new(sets).unwrap()));
        assert_eq!(load.fraction.is_some(), nodes == 24, "{}", load.method);
        assert!(load.lower_bound <= load.value);
        assert!(load.lower_bound >= share * load.value, "{}", load.method);
        let is_approximated = matches!(load.method.search, Search::Approximated { .. });
        assert_eq!(is_approximated, nodes == 1_300, "{}", load.method);
    }
}

#[test]
fn methods_say_what_was_done_and_what_it_proves() {
    assert_eq!(
        load(&system("majority 25")).method.to_string(),
        "all nodes are alike, so the smallest quorums decide; strategy and node weights agree in exact \
         fractions: nothing is better"
    );
    assert_eq!(
        load(&system("wall:1,2,3,4")).method.to_string(),
        "linear program over 4 classes of nodes, with quorums generated as needed: 5; strategy and node \
         weights agree in exact fractions: nothing is better"
    );
}
