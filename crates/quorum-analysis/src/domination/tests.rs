use skeptron_quorum::{Construction, build};

use super::*;

fn of(text: &str, nodes: usize) -> Domination {
    domination(&build(&text.parse::<Construction>().unwrap(), nodes).unwrap())
}

fn is_non_dominated(text: &str, nodes: usize) -> bool {
    match of(text, nodes) {
        Domination::NonDominated => true,
        Domination::Dominated { .. } => false,
        Domination::Unknown => panic!("{text} {nodes}: unknown"),
    }
}

/// Spec 3: majority is non-dominated iff N is odd.
#[test]
fn odd_majorities_are_best() {
    for nodes in (1..40).chain([499, 500]) {
        assert_eq!(is_non_dominated("majority", nodes), nodes % 2 == 1, "{nodes}");
    }
}

/// Spec 3: planes only for order 1 and 2; the one of order 1 is the triangle.
#[test]
fn planes_are_dominated_from_order_3_on() {
    assert!(is_non_dominated("cyclic", 3));
    assert!(is_non_dominated("fano", 7));
    for order in [3, 5, 7, 11, 31] {
        assert!(!is_non_dominated("projective", order * order + order + 1), "{order}");
    }
}

/// Spec 3: grids are dominated.
#[test]
fn grids_are_dominated() {
    assert!(is_non_dominated("grid", 1));
    for nodes in (2..60).chain([1000]) {
        assert!(!is_non_dominated("grid", nodes), "{nodes}");
    }
}

/// Spec 3: trees, hierarchies and walls with a top row of width 1 and all others ≥ 2.
#[test]
fn trees_hierarchies_and_good_walls_are_best() {
    assert!((0..9).all(|height| is_non_dominated("tree", (2 << height) - 1)));
    assert!((0..6).all(|height| is_non_dominated("hierarchical", 3_usize.pow(height))));
    assert!((1..=100).all(|nodes| is_non_dominated("wall", nodes)));
    for (rows, is_best) in [
        ("1,2,3,4", true),
        ("1,2,2,7,2", true),
        ("2,3", false),
        ("1,2,1", true),
        ("2,2,1", true),
        ("2,1,3", true),
        ("3,2,2", false),
    ] {
        let nodes = rows.split(',').map(|width| width.parse::<usize>().unwrap()).sum();
        // A row of one node makes the rows above it superfluous.
        assert_eq!(is_non_dominated(&format!("wall:{rows}"), nodes), is_best, "{rows}");
    }
}

/// The witness is where the reason is, however deep.
#[test]
fn a_witness_meets_all_and_contains_none() {
    for (text, nodes) in [("wall:2,3,3", 8), ("weighted:4,3,2,1", 4), ("wall:4,2,2,2", 10)] {
        let system = build(&text.parse::<Construction>().unwrap(), nodes).unwrap();
        let Domination::Dominated { witness } = domination(&system) else { panic!("{text}") };
        for quorum in system.quorums(1000).unwrap().iter() {
            assert!(quorum.iter().any(|node| witness.contains(node)), "{text}");
            assert!(!quorum.iter().all(|node| witness.contains(node)), "{text}");
        }
    }
}

/// The count finds the witness too that the search would find first.
#[test]
fn counting_finds_a_witness() {
    for (text, nodes) in [("maekawa-13", 13), ("cyclic", 11), ("cyclic", 20)] {
        let system = build(&text.parse::<Construction>().unwrap(), nodes).unwrap();
        let family = Family::new(&system.quorums(100).unwrap(), nodes);
        let witness = family.counted().unwrap();
        assert_eq!(witness.is_some(), family.search().is_some(), "{text} {nodes}");
        let witness = witness.unwrap();
        for quorum in &family.quorums {
            let hits = quorum.iter().filter(|node| witness.contains(node)).count();
            assert!(0 < hits && hits < quorum.len(), "{text} {nodes}");
        }
    }
}

/// Lists are judged like the gates they come from.
#[test]
fn half_of_all_sets_is_proof() {
    for (text, nodes) in [("tree", 15), ("hierarchical", 9), ("majority", 11), ("majority", 13)] {
        let system = build(&text.parse::<Construction>().unwrap(), nodes).unwrap();
        let list = system.quorums(2000).unwrap();
        assert_eq!(of_listed(&list, nodes), Domination::NonDominated, "{text} {nodes}");
    }
}

#[test]
fn what_is_too_large_is_not_guessed() {
    // Of all pairs of nodes with the first one, and all others together: nothing is better, but that is
    // too much to count.
    let nodes = 200;
    let mut sets: Vec<Vec<NodeId>> =
        (1..nodes).map(|i| vec![NodeId::new(0), NodeId::new(i)]).collect();
    sets.push((1..nodes).map(NodeId::new).collect());
    assert_eq!(of_listed(&sets, nodes), Domination::Unknown);
}
