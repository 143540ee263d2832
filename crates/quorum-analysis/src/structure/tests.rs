//! The optimiser beside brute force.

use proptest::prelude::*;
use skeptron_core::topology::Structure;
use skeptron_core::{NodeId, NodeSet};

use super::problem::{Problem, Score};
use super::*;

/// Few enough for brute force, and with ties, nodes that never ask, and one that asks most.
const RATES: [&[f64]; 12] = [
    &[1.0],
    &[1.0, 1.0],
    &[3.0, 1.0],
    &[0.0, 2.0],
    &[1.0, 1.0, 1.0],
    &[1.0, 2.0, 4.0],
    &[0.0, 1.0, 1.0],
    &[1.0, 1.0, 1.0, 1.0],
    &[1.0, 1.0, 1.0, 5.0],
    &[4.0, 3.0, 2.0, 1.0],
    &[0.0, 2.0, 0.0, 1.0],
    &[0.0, 0.0, 7.0, 0.0],
];

fn demands() -> impl Iterator<Item = Demands> {
    let shares = [None, Some(0.0), Some(0.25), Some(0.4), Some(0.5), Some(0.6), Some(0.75)];
    let delays = [None, Some(1.0), Some(1.1), Some(1.2), Some(1.5), Some(1.8)];
    shares
        .into_iter()
        .flat_map(move |busiest| delays.into_iter().map(move |delay| Demands { busiest, delay }))
}

/// What everything costs, with the least request sets.
fn everything(rates: &Rates) -> Vec<Expected> {
    let nodes = rates.nodes();
    let set = |bits: usize| -> NodeSet {
        NodeId::all(nodes).filter(|i| bits >> i.index() & 1 == 1).collect()
    };
    let families = (0..1_usize << (nodes * nodes)).map(|code| {
        (0..nodes).map(|i| set(code >> (i * nodes) & ((1 << nodes) - 1))).collect::<Vec<_>>()
    });
    let structures = families.filter_map(|inform| Structure::of_inform(inform).ok());
    structures.map(|structure| Expected::of(&structure, rates)).collect()
}

fn meets(expected: &Expected, demands: &Demands) -> bool {
    demands.busiest.is_none_or(|most| expected.busiest() <= most + 1e-9)
        && demands.delay.is_none_or(|most| expected.exact_delay <= most + 1e-9)
}

/// Every family of inform sets against the search, for every demand.
#[test]
fn the_exact_search_finds_what_brute_force_finds() {
    for rates in RATES {
        let rates = Rates::new(rates.to_vec()).unwrap();
        let everything = everything(&rates);
        for demands in demands() {
            let allowed = everything.iter().filter(|expected| meets(expected, &demands));
            let least = allowed.map(|expected| expected.low).min_by(f64::total_cmp);
            match (least, optimise(&rates, &demands)) {
                (Some(least), Ok(found)) => {
                    assert!((found.messages - least).abs() < 1e-9, "{rates:?} {demands:?}");
                    assert!(found.is_proved());
                    assert_does_what_it_says(&found, &rates, &demands);
                }
                (None, Err(OptimiseError::Impossible(_))) => {}
                (least, found) => panic!("{rates:?} {demands:?}: {least:?} but {found:?}"),
            }
        }
    }
}

fn assert_does_what_it_says(found: &Optimum, rates: &Rates, demands: &Demands) {
    let expected = Expected::of(&found.structure, rates);
    assert!((expected.low - found.messages).abs() < 1e-9, "{rates:?} {demands:?} {found:?}");
    assert!(meets(&expected, demands), "{rates:?} {demands:?} {found:?}");
    assert!(found.lower_bound <= found.messages + 1e-9, "{rates:?} {demands:?} {found:?}");
}

/// The theorem in the module's documentation, at every size.
#[test]
fn without_demands_the_star_is_best() {
    for nodes in 1..=MOST_NODES {
        let rates: Vec<f64> = (0..nodes).map(|i| (i * 7 % 11) as f64 + 0.5).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        let sum: f64 = rates.iter().sum();
        let found = optimise(&Rates::new(rates).unwrap(), &Demands::default()).unwrap();
        assert!((found.messages - 3.0 * (sum - most) / sum).abs() < 1e-9, "{nodes}");
        assert!(found.is_proved(), "{nodes}");
    }
}

/// Worse than anything.
const NOTHING: Score = Score { excess: f64::INFINITY, messages: f64::INFINITY };

/// The search does not know the theorem: without demands it must arrive there by itself.
#[test]
fn the_exact_search_arrives_at_the_star() {
    for nodes in 1..=5_u32 {
        for code in 1..3_u32.pow(nodes) {
            let rates = (0..nodes).map(|i| f64::from(code / 3_u32.pow(i) % 3)).collect();
            let rates = Rates::new(rates).unwrap();
            let problem = Problem::new(&rates.shares(), &Demands::default());
            let (mut family, mut score) = (Vec::new(), NOTHING);
            exact::search(&problem, &mut family, &mut score);
            let star = 3.0 * (1.0 - problem.shares[0]);
            assert!((score.messages - star).abs() < 1e-9, "{rates:?}: {score:?}");
        }
    }
}

/// Figures of the exact search that are worth telling.
#[test]
fn known_optima() {
    let messages = |nodes: usize, busiest, delay| {
        let found = optimise(&Rates::equal(nodes).unwrap(), &Demands { busiest, delay }).unwrap();
        assert!(found.is_proved());
        (found.messages * nodes as f64).round() as usize
    };
    // One latency everywhere: a ring of three is cheaper than Ricart and Agrawala's, nothing else is.
    let at_once: Vec<usize> = (2..=6).map(|nodes| messages(nodes, None, Some(1.0))).collect();
    assert_eq!(at_once, [3, 9, 24, 40, 60]);
    // Nobody asked for more than half of the entries.
    let shared: Vec<usize> = (2..=6).map(|nodes| messages(nodes, Some(0.5), None)).collect();
    assert_eq!(shared, [3, 9, 15, 24, 27]);
}

/// Beyond the exact search the result is valid, does what it says and is not below the bound; here
/// the bound is reached by the planes, so it is the best.
#[test]
fn the_heuristic_finds_planes() {
    for (nodes, busiest, messages) in [(7, 2.0 / 7.0, 6.0), (13, 3.0 / 13.0, 9.0)] {
        let (rates, demands) =
            (Rates::equal(nodes).unwrap(), Demands { busiest: Some(busiest), delay: None });
        let found = optimise(&rates, &demands).unwrap();
        assert_does_what_it_says(&found, &rates, &demands);
        assert!((found.messages - messages).abs() < 1e-9 && found.is_proved(), "{found:?}");
    }
}

/// What the whole search reached once it must reach again.
#[test]
fn rising_rates_cost_no_more_than_they_did() {
    let rates = Rates::new((1..=13).map(f64::from).collect()).unwrap();
    let demands = Demands { busiest: Some(0.3), delay: None };
    let found = optimise(&rates, &demands).unwrap();
    assert_does_what_it_says(&found, &rates, &demands);
    assert!(found.messages < 7.82, "{found:?}");
}

/// Equal rates need good starts more than a long search, so a small part of the usual effort is enough.
#[test]
fn equal_rates_cost_no_more_than_they_did() {
    let delay = Demands { busiest: None, delay: Some(1.3) };
    let busiest = Demands { busiest: Some(0.2), delay: None };
    for (nodes, demands, most) in [(31, delay, 43.55), (64, delay, 89.96), (64, busiest, 21.33)] {
        let problem = Problem::new(&Rates::equal(nodes).unwrap().shares(), &demands);
        let (_, score) = search::search(&problem, 50_000, 0.0);
        assert!(score.is_allowed() && score.messages < most, "{nodes} {demands:?}: {score:?}");
    }
}

/// A node that never asks has an inform set like the others, though any other would cost as little.
#[test]
fn who_never_asks_tells_the_centre() {
    for silent in 1..=8 {
        let rates = Rates::new((0..=silent).map(|i| f64::from(i == 0)).collect()).unwrap();
        let found = optimise(&rates, &Demands::default()).unwrap();
        for i in NodeId::all(rates.nodes()) {
            let told: NodeSet = [NodeId::new(0), i].into_iter().collect();
            assert_eq!(found.structure.inform(i), &told, "{silent}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let rates = |rates: &[f64]| Rates::new(rates.to_vec()).unwrap_err().to_string();
    assert!(rates(&[]).contains("no rates"));
    assert!(rates(&[1.0, -1.0]).contains("the rate of P2 is -1"));
    assert!(rates(&[f64::NAN]).contains("the rate of P1 is NaN"));
    assert!(rates(&[0.0, 0.0]).contains("at least one node must ask"));
    assert!(rates(&[f64::MAX, f64::MAX]).contains("more than a number can hold"));
    let refused = |nodes: usize, busiest, delay| {
        let found = optimise(&Rates::equal(nodes).unwrap(), &Demands { busiest, delay });
        found.unwrap_err().to_string()
    };
    assert!(refused(65, None, None).contains("at most 64"));
    assert!(refused(3, Some(1.5), None).contains("from 0 to 1"));
    assert!(refused(3, None, Some(f64::NAN)).contains("from 1 up"));
    assert!(refused(3, None, Some(0.9)).contains("from 1 up"));
    assert!(refused(5, Some(0.3), None).contains("is asked for 0.4000 of all"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The heuristic alone is never better than the exact search, and where it says so, allowed.
    #[test]
    fn the_heuristic_is_sound(
        rates in prop::collection::vec(0_u8..5, 2..=5),
        busiest in prop::option::of(0.2..1.0),
        delay in prop::option::of(1.0..2.0),
    ) {
        let Ok(rates) = Rates::new(rates.into_iter().map(f64::from).collect()) else { return Ok(()) };
        let demands = Demands { busiest, delay };
        let problem = Problem::new(&rates.shares(), &demands);
        let Some(bound) = problem.lower_bound() else {
            prop_assert!(!everything_small(&rates).iter().any(|e| meets(e, &demands)));
            return Ok(());
        };
        let (family, score) = search::search(&problem, 2_000, bound);
        prop_assert_eq!(score, problem.score(&family));
        match optimise(&rates, &demands) {
            Ok(best) => {
                prop_assert!(best.messages >= bound - 1e-9);
                prop_assert!(!score.is_allowed() || score.messages >= best.messages - 1e-9);
                assert_does_what_it_says(&best, &rates, &demands);
            }
            Err(_) => prop_assert!(!score.is_allowed()),
        }
    }
}

/// Brute force where it is quick.
fn everything_small(rates: &Rates) -> Vec<Expected> {
    if rates.nodes() <= 3 { everything(rates) } else { Vec::new() }
}
