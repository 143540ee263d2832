//! The published figures of elections (spec 4), each in the situation for which it is published. With
//! constant latency 1 an exact claim is an equality; a mean over random rings must lie within an
//! interval that is narrow enough to mean something.

use skeptron_core::catalogue::{self, ElectionInfo};
use skeptron_core::election::{Case, RingOrder};
use skeptron_core::{Claim, Figures, NodeId};
use skeptron_sim::Options;
use skeptron_sim::election::{Report, Scenario, run};

fn info(name: &str) -> &'static ElectionInfo {
    catalogue::find_election(name).expect("it is offered")
}

fn case(name: &str, case: &str) -> &'static Case {
    let cases = info(name).claims.cases.iter();
    cases.into_iter().find(|known| known.name == case).expect("it is published")
}

/// Runs one case and asserts that every property held.
fn run_case(info: &'static ElectionInfo, case: &Case, nodes: usize, seed: u64) -> Report {
    let scenario = Scenario::of_case(info, case, nodes, seed).unwrap();
    let report = run(info, &scenario, &Options::default()).unwrap().report;
    let violations = &report.violations;
    assert!(report.is_fine(), "{}, {}, N = {nodes}: {violations:?}", info.name, case.name);
    assert!(report.leader.is_some() && report.agreement);
    report
}

fn is_claimed(what: &str, claim: &Claim, nodes: usize, measured: f64) {
    let figures = Figures { n: nodes as f64, ..Figures::default() };
    let (low, high) = (claim.low.value(&figures), claim.high.value(&figures));
    assert!((low..=high).contains(&measured), "{what}, N = {nodes}: {measured}, claimed {claim}");
}

#[test]
fn every_case_of_every_election_is_as_published() {
    for info in catalogue::sound_elections() {
        for case in info.claims.cases {
            for nodes in case.least_nodes()..=16 {
                let has_chance = case.ring == RingOrder::Random || info.is_randomised();
                let seeds = if has_chance { 20 } else { 1 };
                for seed in 1..=seeds {
                    let report = run_case(info, case, nodes, seed);
                    let what = format!("{}, {}", info.name, case.name);
                    let messages = report.messages.counted(case.counted) as f64;
                    is_claimed(&what, &case.messages, nodes, messages);
                    if let Some(claim) = &case.time {
                        let time = report.time.expect("everybody named the leader");
                        is_claimed(&format!("time of {what}"), claim, nodes, time);
                    }
                }
            }
        }
    }
}

/// Where ids decide, the highest that is up wins.
#[test]
fn the_highest_wins_where_that_is_claimed() {
    for info in catalogue::sound_elections().filter(|info| info.claims.highest) {
        for case in info.claims.cases {
            let up = 7 - usize::from(case.highest_down);
            let report = run_case(info, case, 7, 3);
            assert_eq!(report.leader, Some(NodeId::new(up - 1)), "{}, {}", info.name, case.name);
        }
    }
}

fn messages(name: &str, of: &str, nodes: usize) -> u64 {
    let case = case(name, of);
    run_case(info(name), case, nodes, 1).messages.counted(case.counted)
}

/// Garcia-Molina 1982 in numbers: 1 + (N−2) … N²−N−1.
#[test]
fn the_bully_costs_eleven_messages_among_four_and_155_among_thirteen() {
    for (nodes, best, worst) in [(4, 3, 11), (5, 4, 19), (13, 12, 155)] {
        assert_eq!(messages("bully", "best", nodes), best);
        assert_eq!(messages("bully", "worst", nodes), worst);
    }
}

/// The ring: two rounds for each initiator, among those who are up.
#[test]
fn the_ring_costs_two_rounds_of_the_living() {
    for nodes in [3, 4, 9, 13] {
        let live = nodes as u64 - 1;
        assert_eq!(messages("ring", "one initiator", nodes), 2 * live);
        assert_eq!(messages("ring", "two initiators", nodes), 4 * live);
    }
}

/// Chang and Roberts 1979: N·H(N) messages in the mean over all orders of the ring, if all call.
#[test]
fn chang_and_roberts_mean_is_n_times_the_harmonic_number() {
    let info = info("chang-roberts");
    let random = |case: &&Case| case.ring == RingOrder::Random && case.counted == ["ELECTION"];
    let case = info.claims.cases.iter().find(random).expect("the mean is published");
    for nodes in [2usize, 3, 5, 8, 16, 32, 64] {
        let count = |seed| run_case(info, case, nodes, seed).messages.counted(case.counted) as f64;
        let values: Vec<f64> = (1..=2000).map(count).collect();
        let runs = values.len() as f64;
        let mean = values.iter().sum::<f64>() / runs;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (runs - 1.0);
        let error = (variance / runs).sqrt();
        let harmonic: f64 = (1..=nodes).map(|i| 1.0 / i as f64).sum();
        let expected = nodes as f64 * harmonic;
        assert!(
            (mean - expected).abs() <= 4.0 * error,
            "N = {nodes}: {mean} ± {error}, {expected}"
        );
        assert!(error < 0.005 * expected, "N = {nodes}: too coarse to mean anything: {error}");
    }
}

/// What `candidates` need in the mean if each draws one of `numbers` and those with the highest one go on: phases, and
/// messages for each node of the ring. A message goes past candidates whose number is not higher.
fn chain(candidates: usize, numbers: usize) -> (f64, f64) {
    let k = numbers as f64;
    // The probability that the highest number is drawn by `tied` of `all`.
    let tie = |all: usize, tied: usize| -> f64 {
        let ways = (0..tied).fold(1.0, |ways, i| ways * (all - i) as f64 / (i + 1) as f64);
        let at = |highest: usize| {
            k.powi(-(tied as i32)) * ((highest as f64 - 1.0) / k).powi((all - tied) as i32)
        };
        ways * (1..=numbers).map(at).sum::<f64>()
    };
    let hops = |all: usize| {
        let past =
            |others: usize| (1..=numbers).map(|x| (x as f64 / k).powi(others as i32)).sum::<f64>();
        (0..all).map(past).sum::<f64>() / k
    };
    let mut expected = vec![(0.0, 0.0); candidates + 1];
    for all in 2..=candidates {
        let further = |of: fn(&(f64, f64)) -> f64| -> f64 {
            (2..all).map(|tied| tie(all, tied) * of(&expected[tied])).sum()
        };
        let again = 1.0 - tie(all, all);
        expected[all] = ((1.0 + further(|e| e.0)) / again, (hops(all) + further(|e| e.1)) / again);
    }
    expected[candidates]
}

/// The mean of some values, and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let runs = values.len() as f64;
    let mean = values.iter().sum::<f64>() / runs;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (runs - 1.0);
    (mean, (variance / runs).sqrt())
}

/// Itai and Rodeh 1990: at most e·N/(N−1) phases and O(N log N) messages in the mean; here exactly those of the chain of
/// ties. With constant latency a phase takes N, and the result N−1 more.
#[test]
fn itai_and_rodeh_cost_in_the_mean_what_the_chain_of_ties_says() {
    let (info, case) = (info("itai-rodeh"), case("itai-rodeh", "everybody"));
    for nodes in [2usize, 3, 5, 8, 16, 32] {
        let n = nodes as f64;
        let reports: Vec<Report> =
            (1..=2000).map(|seed| run_case(info, case, nodes, seed)).collect();
        let time = |report: &Report| report.time.expect("everybody named the leader");
        let phases: Vec<f64> = reports.iter().map(|r| (time(r) - (n - 1.0)) / n).collect();
        assert!(phases.iter().all(|phases| phases.fract() == 0.0), "each phase takes N");
        let ids: Vec<f64> =
            reports.iter().map(|r| r.messages.counted(&["ID"]) as f64 / n).collect();
        let expected = chain(nodes, nodes);
        for (what, values, expected) in [("phases", phases, expected.0), ("ID/N", ids, expected.1)]
        {
            let (mean, error) = mean(&values);
            let place = format!("N = {nodes}, {what}: {mean} ± {error}, {expected}");
            assert!((mean - expected).abs() <= 4.0 * error, "{place}");
            assert!(error < 0.03 * expected, "{place}: too coarse to mean anything");
        }
        assert!(expected.0 <= std::f64::consts::E * n / (n - 1.0), "N = {nodes}: {expected:?}");
        assert!(expected.1 <= 3.0 + n.ln(), "N = {nodes}: {expected:?}");
    }
}
