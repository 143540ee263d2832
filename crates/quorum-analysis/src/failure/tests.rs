use num_bigint::BigInt;
use num_rational::BigRational;
use skeptron_quorum::{Construction, Family, build};

use super::*;
use crate::domination::{Domination, domination};

fn system(text: &str, nodes: usize) -> System {
    build(&text.parse::<Construction>().unwrap(), nodes).unwrap()
}

fn of(text: &str, nodes: usize, p: f64) -> Failure {
    failure(&system(text, nodes), p, &Sampling::default()).unwrap()
}

fn assert_close(value: f64, expected: f64, place: &str) {
    assert!((value - expected).abs() <= 1e-12 * expected, "{place}: {value}, not {expected}");
}

/// Spec 3, figures to test against: all printed digits.
#[test]
fn figures_of_the_spec() {
    for (text, nodes, digits, figure) in [
        ("majority", 5, 5, "0.00856"),
        ("grid", 9, 7, "0.0333088"),
        ("projective", 7, 7, "0.0068104"),
        ("fano", 7, 7, "0.0068104"),
        ("projective", 13, 8, "0.00141677"),
        ("maekawa-13", 13, 8, "0.00141677"),
        ("wall:1,2,3,4", 10, 8, "0.00304293"),
        ("tree:2", 7, 7, "0.0062272"),
        ("hierarchical:2", 9, 7, "0.0023081"),
    ] {
        assert_eq!(format!("{:.digits$}", of(text, nodes, 0.1).value), figure, "{text}");
    }
}

/// The recurrences of spec 3.
#[test]
fn recurrences_of_the_spec() {
    for p in [1e-6_f64, 0.1, 0.5, 0.8] {
        let q = 1.0 - p;
        for rows in [vec![1], vec![1, 2, 3, 4], vec![3, 1, 2], vec![1, 5, 5, 5, 5], vec![2; 9]] {
            let wall = rows.iter().fold(1.0, |above, &width| {
                let (none, all) = (p.powi(width), q.powi(width));
                none + (1.0 - none - all) * above
            });
            let text = rows.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let found = of(&format!("wall:{text}"), rows.iter().sum::<i32>() as usize, p);
            assert!((found.value - wall).abs() < 1e-13, "{text} {p}: {} {wall}", found.value);
        }
        let (mut tree, mut hierarchy) = (q, q);
        for height in 0..6_u32 {
            let found = of("tree", (2 << height) - 1, p).value;
            assert!((1.0 - found - tree).abs() < 1e-13, "{height} {p}");
            let found = of("hierarchical", 3_usize.pow(height), p).value;
            assert!((1.0 - found - hierarchy).abs() < 1e-13, "{height} {p}");
            tree = q * (2.0 * tree - tree * tree) + p * tree * tree;
            hierarchy = 3.0 * hierarchy.powi(2) - 2.0 * hierarchy.powi(3);
        }
    }
}

/// Σ C(n, k) p^k q^(n−k) for k failures that leave no majority, in rational numbers.
fn majority(nodes: u32, p: &BigRational) -> BigRational {
    let q = BigRational::from_integer(1.into()) - p;
    let mut binomial = BigInt::from(1);
    let mut sum = BigRational::from_integer(0.into());
    for k in 0..=nodes {
        if nodes - k < nodes / 2 + 1 {
            let ways = BigRational::from_integer(binomial.clone());
            sum += ways * p.pow(k as i32) * q.pow((nodes - k) as i32);
        }
        binomial = binomial * (nodes - k) / (k + 1);
    }
    sum
}

/// A rational number as a float, digit by digit.
fn float(number: &BigRational) -> f64 {
    let mut shift = 0_i32;
    let mut scaled = number.numer().clone();
    while scaled < number.denom() << 60 {
        scaled <<= 1;
        shift += 1;
    }
    let digits = u128::try_from(scaled / number.denom()).unwrap() as f64;
    (0..shift).fold(digits, |value, _| value / 2.0)
}

/// The failure probability of 99 nodes at p = 0.001 is about 10⁻¹²¹: nothing of it may be lost.
#[test]
fn tiny_probabilities_have_full_precision() {
    for (nodes, p, ratio) in [(99, 1e-3, (1, 1000)), (100, 1e-3, (1, 1000)), (51, 0.25, (1, 4))] {
        let rational = BigRational::new(ratio.0.into(), ratio.1.into());
        let expected = float(&majority(nodes, &rational));
        let found = of("majority", nodes as usize, p).value;
        assert_close(found, expected, &format!("{nodes} {p}"));
    }
    assert!(of("majority", 99, 1e-3).value < 1e-115);
    // The smallest sets that meet every line are the seven lines.
    assert!((of("fano", 7, 1e-9).value / 7e-27 - 1.0).abs() < 1e-7);
    // One node of each row, or one of each column: 3³ + 3³ − 3! ways.
    assert!((of("grid", 9, 1e-9).value / 48e-27 - 1.0).abs() < 1e-7);
}

/// The columns agree with the diagram of the same quorums.
#[test]
fn a_grid_is_what_its_list_says() {
    for nodes in 1..=25 {
        let grid = system("grid", nodes);
        let Shape::Grid { quorums, .. } = grid.shape() else { panic!("no grid") };
        for p in [1e-4, 0.1, 0.6] {
            let (listed, _) = by_diagram(quorums, p).unwrap();
            assert_close(of("grid", nodes, p).value, listed, &format!("{nodes} {p}"));
        }
    }
}

/// With one, two and many words of quorums in a state.
#[test]
fn gates_are_what_their_lists_say() {
    for (text, nodes, quorums) in [
        ("tree", 7, 15),
        ("hierarchical", 9, 27),
        ("majority", 9, 126),
        ("majority", 11, 462),
        ("majority", 12, 792),
    ] {
        let system = system(text, nodes);
        let list = system.quorums(1000).unwrap();
        assert_eq!(list.len(), quorums, "{text} {nodes}");
        for p in [1e-4, 0.1, 0.6] {
            let (listed, _) = by_diagram(&list, p).unwrap();
            assert_close(of(text, nodes, p).value, listed, &format!("{text} {nodes} {p}"));
        }
    }
}

#[test]
fn large_systems_are_exact_where_there_is_a_formula() {
    assert_eq!(of("grid", 2_500, 0.1).method, Method::Grid);
    assert_eq!(of("majority", 1000, 0.1).method, Method::Gates);
    assert!((of("majority", 999, 0.5).value - 0.5).abs() < 1e-12, "as often as not");
    assert!((of("tree", 511, 0.5).value - 0.5).abs() < 1e-12, "as often as not");
    let planes = [of("projective", 31, 0.1), of("cyclic", 30, 0.1)];
    assert!(planes.iter().all(|f| matches!(f.method, Method::Diagram { .. })), "{planes:?}");
}

#[test]
fn samples_agree_with_what_is_exact() {
    let plane = system("projective", 13);
    let Shape::Listed(quorums) = plane.shape() else { panic!("no list") };
    for (p, seed) in [(0.1, 1), (0.5, 2), (0.05, 3)] {
        let (exact, _) = by_diagram(quorums, p).unwrap();
        let samples = Sampling { samples: 300_000, seed };
        let sampled = sampling::failure(quorums, 13, p, &samples);
        let (low, high) = sampled.interval.unwrap();
        assert!(low <= exact && exact <= high, "{p}: {exact} {low} {high}");
        assert!(low <= sampled.value && sampled.value <= high);
        assert_eq!(sampled, sampling::failure(quorums, 13, p, &samples), "a seed is a result");
        let other = sampling::failure(quorums, 13, p, &Sampling { seed: seed + 7, ..samples });
        assert_ne!(sampled.value, other.value);
    }
}

#[test]
fn methods_are_said_in_words() {
    let method = |text, nodes, p| of(text, nodes, p).method.to_string();
    assert_eq!(method("tree", 7, 0.1), "exact: gate by gate");
    assert_eq!(method("grid", 7, 0.1), "exact: columns of the grid one by one");
    assert_eq!(method("grid", 7, 1.0), "exact: nobody or everybody fails");
    let diagram = Method::Diagram { nodes: 7, states: 37 };
    assert_eq!(diagram.to_string(), "exact: decision diagram of 37 states on 7 levels");
    assert_eq!(of("fano", 7, 0.1).method, diagram);
    let few = failure(&system("cyclic", 200), 0.1, &Sampling { samples: 100, seed: 5 }).unwrap();
    assert_eq!(few.method.to_string(), "sampled: 128 samples, seed 5, 99 % interval");
    assert!(few.interval.is_some());
}

#[test]
fn what_is_no_probability_is_refused() {
    let refuse = |p| failure(&system("fano", 7), p, &Sampling::default()).unwrap_err().to_string();
    assert_eq!(refuse(1.5), "nodes cannot fail with probability 1.5; take a number from 0 to 1");
    assert!(refuse(-0.1).contains("-0.1"));
    assert!(refuse(f64::NAN).contains("NaN"));
    assert_eq!(of("fano", 7, 0.0).value, 0.0);
    assert_eq!(of("fano", 7, 1.0).value, 1.0);
}

/// More quorums than a diagram compares, on few nodes.
#[test]
fn few_nodes_with_many_quorums_are_tried_one_by_one() {
    let gates = build(&Construction::Majority, 17).unwrap();
    let listed = Family::listed(listing(&gates), 17).unwrap().system("listed").unwrap();
    for p in [0.1, 0.5, 0.9] {
        let expected = failure(&gates, p, &Sampling::default()).unwrap().value;
        let found = failure(&listed, p, &Sampling::default()).unwrap();
        assert_eq!(found.method, Method::Table { nodes: 17 });
        assert!((found.value - expected).abs() <= 1e-12 * expected, "{} {expected}", found.value);
    }
    assert_eq!(domination(&listed), Domination::NonDominated);
}

/// Tables of less than a word, of some and of many, against diagrams.
#[test]
fn tables_and_diagrams_agree() {
    for (text, nodes) in
        [("fano", 7), ("cyclic", 4), ("cyclic", 12), ("grid", 14), ("majority", 11)]
    {
        let quorums = listing(&build(&text.parse().unwrap(), nodes).unwrap());
        let (value, _) = by_diagram(&quorums, 0.2).unwrap();
        let table = table::Table::new(&quorums).unwrap();
        assert!((table.failure(0.2) - value).abs() < 1e-14, "{text} {nodes}");
        let is_dominated = !matches!(text, "fano" | "majority");
        assert_eq!(table.undecided().is_some(), is_dominated, "{text} {nodes}");
    }
}

fn listing(system: &System) -> Vec<Vec<NodeId>> {
    system.quorums(100_000).unwrap().into_owned()
}
