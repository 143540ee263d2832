//! The view layer over the real member core: every interleaving of small clusters whose views change,
//! whose members crash and whose leases end.

use skeptron_check::members::{Report, Scenario, check};
use skeptron_check::{Options, Property};
use skeptron_member::Flaw;
use skeptron_member::plan::Plan;
use skeptron_testing::{is_full, sample};

/// Token algorithms, and permission algorithms with and without a word of the home in every quorum.
const ALGORITHMS: [&str; 4] = ["naimi-trehel", "suzuki-kasami", "ricart-agrawala", "maekawa"];

fn scenario(algorithm: &str, members: usize, requests: u8) -> Scenario {
    Scenario::new(Plan::named(algorithm).unwrap(), members, requests)
}

fn explore(scenario: &Scenario) -> Report {
    let report = check(scenario, &Options::default()).unwrap();
    println!("{report}");
    report
}

/// Asserts that the search is complete and that everything holds.
fn prove(scenario: &Scenario) {
    let report = explore(scenario);
    assert!(report.complete && report.holds(), "{report}");
    assert!(report.verdicts.iter().all(|verdict| verdict.holds == Some(true)), "{report}");
}

#[test]
fn two_members_one_view_change_and_a_crash() {
    for algorithm in ALGORITHMS {
        let two = Scenario { views: 1, crashes: 1, met: false, ..scenario(algorithm, 2, 2) };
        prove(&two);
    }
}

#[test]
fn three_members_and_a_view_change() {
    for algorithm in sample("three members and a view change", ALGORITHMS, 1) {
        prove(&Scenario { views: 1, ..scenario(algorithm, 3, 1) });
    }
}

#[test]
fn three_members_of_which_one_crashes_and_is_excluded() {
    for algorithm in sample("three members of which one crashes and is excluded", ALGORITHMS, 1) {
        prove(&Scenario { views: 1, crashes: 1, ..scenario(algorithm, 3, 1) });
    }
}

/// Two crashes, two view changes, a lease end and a new life among three members of which `askers` ask.
fn three(algorithm: &str, askers: usize) -> Scenario {
    let three = Scenario { views: 2, crashes: 2, askers, ..scenario(algorithm, 3, 1) };
    Scenario { lease_ends: 1, rejoins: 1, ..three }
}

#[test]
fn three_members_of_which_two_crash() {
    prove(&three("naimi-trehel", 1));
    if is_full() {
        prove(&three("ricart-agrawala", 1));
    }
}

/// A minute or two, so only in full.
#[test]
fn three_members_of_which_two_crash_and_two_ask() {
    if is_full() {
        prove(&three("naimi-trehel", 2));
    }
}

#[test]
fn lease_ends_and_the_member_comes_back_in_another_life() {
    for algorithm in sample("lease ends and the member comes back in another life", ALGORITHMS, 1) {
        let two = Scenario { views: 2, lease_ends: 1, rejoins: 1, ..scenario(algorithm, 2, 2) };
        prove(&Scenario { crashes: 1, ..two });
    }
}

#[test]
fn member_that_is_away_comes_back_or_is_excluded() {
    for algorithm in sample("member that is away comes back or is excluded", ALGORITHMS, 1) {
        let two = Scenario { views: 2, aways: 1, crashes: 1, ..scenario(algorithm, 2, 2) };
        prove(&Scenario { lease_ends: 1, ..two });
    }
    let three = Scenario { views: 2, aways: 1, ..scenario("naimi-trehel", 3, 1) };
    prove(&Scenario { askers: 2, crashes: 1, ..three });
}

#[test]
fn members_are_away_one_after_another() {
    for algorithm in sample("away one after another", ["naimi-trehel", "ricart-agrawala"], 1) {
        prove(&Scenario { views: 4, aways: 2, ..scenario(algorithm, 2, 1) });
    }
}

#[test]
fn cancelled_waiters_leave_no_trace() {
    for algorithm in ALGORITHMS {
        prove(&Scenario { views: 1, cancels: 2, ..scenario(algorithm, 2, 2) });
    }
}

/// What is found must not depend on which thread was first.
#[test]
fn same_search_finds_the_same_states() {
    let two = Scenario { views: 2, crashes: 1, ..scenario("maekawa", 2, 2) };
    let [a, b] = [1, 2].map(|threads| {
        let report = check(&two, &Options { threads, ..Options::default() }).unwrap();
        (report.states, report.transitions, report.depth)
    });
    assert_eq!(a, b);
}

/// Asserts that the search refutes the property, and returns in how many steps.
fn refute(scenario: &Scenario, property: Property) -> usize {
    let options = Options { keep_going: true, ..Options::default() };
    let report = check(scenario, &options).unwrap();
    let verdict = report.verdicts.iter().find(|verdict| verdict.property == property).unwrap();
    let Some(counterexample) = &verdict.counterexample else {
        panic!("{property} holds: {report}");
    };
    println!("{}: {property} violated\n{counterexample}", report.scenario);
    counterexample.steps.len()
}

#[test]
fn every_rule_of_a_view_change_is_needed() {
    use Property::{Exclusion, Fence, Progress};
    let two = |algorithm| Scenario { views: 1, ..scenario(algorithm, 2, 2) };
    let three = |algorithm| Scenario { views: 1, ..scenario(algorithm, 3, 1) };
    let (token, permission) = ("naimi-trehel", "ricart-agrawala");
    let flaws = [
        // V2: nothing of an older epoch is taken.
        (Flaw::OldViewTaken, three(token), Exclusion),
        (Flaw::EarlyDropped, two(token), Progress),
        (Flaw::KeptNotAnnounced, two(token), Exclusion),
        (Flaw::KeptNotAnnounced, two(permission), Exclusion),
        // V4: a home waits for every member's word, and for every keeper.
        (Flaw::HomeOpensEarly, two(token), Exclusion),
        (Flaw::HomeOpensEarly, two(permission), Exclusion),
        (Flaw::KeepersIgnored, two(token), Exclusion),
        (Flaw::KeepersIgnored, two(permission), Exclusion),
        (Flaw::FenceNotInherited, two(token), Fence),
        // V5: what arrives early is held back, and a right that is given up is gone.
        (Flaw::HeldBackDropped, two(token), Progress),
        (Flaw::FreedButKept, two(token), Exclusion),
        // V7: where a quorum may leave the home out, its word is awaited.
        (Flaw::PassNotAwaited, three("maekawa"), Exclusion),
        (Flaw::FenceNotSent, two(token), Fence),
    ];
    for (flaw, sound, property) in flaws {
        let steps = refute(&Scenario { flaw: Some(flaw), ..sound }, property);
        assert!(steps <= 20, "{flaw:?}: {steps} steps");
    }
}

#[test]
fn every_rule_of_early_views_is_needed() {
    use Property::{Exclusion, Fence};
    let two = |algorithm, views| Scenario { views, aways: 1, ..scenario(algorithm, 2, 1) };
    let (token, permission, quorums) = ("naimi-trehel", "ricart-agrawala", "maekawa");
    let over = Scenario { requests: 2, lease_ends: 1, ..two(token, 3) };
    let flaws = [
        (Flaw::AwayIgnored, two(token, 2), Exclusion),
        (Flaw::AwayIgnored, two(permission, 2), Exclusion),
        (Flaw::AwayIgnored, two(quorums, 2), Exclusion),
        (Flaw::OwnedThoughLetGo, two(token, 2), Exclusion),
        (Flaw::OwnedThoughLetGo, two(permission, 2), Exclusion),
        (Flaw::OwnedThoughLetGo, two(quorums, 2), Exclusion),
        (Flaw::OwnedByAnyHome, two(token, 2), Exclusion),
        (Flaw::OwnedUnheard, two(token, 3), Exclusion),
        (Flaw::OwnedUnheard, two(permission, 3), Exclusion),
        // It is not enough that the lease is over: (2, 1) after (3, 1).
        (Flaw::AwayStruckInPlace, over, Fence),
    ];
    for (flaw, sound, property) in flaws {
        let steps = refute(&Scenario { flaw: Some(flaw), ..sound }, property);
        assert!(steps <= 20, "{flaw:?}: {steps} steps");
    }
}

#[test]
fn members_are_excluded_only_after_their_leases() {
    for algorithm in ALGORITHMS {
        let two = Scenario { views: 1, excludes_early: true, ..scenario(algorithm, 2, 1) };
        refute(&two, Property::Exclusion);
    }
}
