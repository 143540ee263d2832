//! The judges notice every rule that is left out.

use skeptron_member::Flaw;
use skeptron_world::{FaultKind, Faults, Options, Property, run};

/// With which algorithm and faults a flaw is looked for, and within how many seeds it must show.
fn hunt(flaw: Flaw) -> (&'static str, Faults, u64) {
    let fixed = Faults::FIXED;
    let views = fixed.with(FaultKind::Views);
    let crashes = fixed.with(FaultKind::Crashes);
    let leases = views.with(FaultKind::Crashes);
    match flaw {
        Flaw::EarlyDropped => ("lamport", views, 20),
        Flaw::EarlyTaken => ("lamport", views, 20),
        Flaw::OldViewTaken => ("naimi-trehel", views, 20),
        Flaw::FenceNotSent => ("naimi-trehel", fixed, 20),
        Flaw::FenceNotInherited => ("naimi-trehel", views, 50),
        Flaw::AnyFenceReleases => ("naimi-trehel", fixed, 50),
        Flaw::KeptNotAnnounced => ("naimi-trehel", views, 50),
        Flaw::HomeOpensEarly => ("lamport", views, 50),
        Flaw::KeepersIgnored => ("naimi-trehel", views, 50),
        Flaw::HeldBackDropped => ("maekawa", views, 50),
        Flaw::FreedButKept => ("lamport", views, 50),
        Flaw::PassNotAwaited => ("maekawa", views, 50),
        Flaw::LeaseIgnored => ("naimi-trehel", leases, 200),
        Flaw::ExpiredSessionHolds => ("naimi-trehel", fixed, 50),
        Flaw::SessionNeverExpires => ("naimi-trehel", fixed, 50),
        Flaw::WithdrawnForgotten => ("naimi-trehel", fixed, 100),
        Flaw::ReleasedForgotten => ("naimi-trehel", fixed, 100),
        Flaw::DuplicatesTaken => ("lamport", fixed, 50),
        Flaw::RestartAccepted => ("naimi-trehel", crashes, 50),
        Flaw::DriftIgnored => {
            ("naimi-trehel", Faults::of(&[FaultKind::Pauses, FaultKind::Drift]), 1000)
        }
        Flaw::CountedFromAnswer => ("naimi-trehel", fixed, 200),
        // Nobody is away in this world; `crates/check/tests/members.rs` catches them.
        Flaw::AwayIgnored
        | Flaw::AwayStruckInPlace
        | Flaw::OwnedThoughLetGo
        | Flaw::OwnedUnheard
        | Flaw::OwnedByAnyHome => ("naimi-trehel", fixed, 0),
    }
}

/// In how many seeds it showed, and which property it violated.
fn caught(flaw: Flaw) -> Option<(u64, Property)> {
    let (algorithm, faults, most) = hunt(flaw);
    let algorithm = algorithm.to_string();
    let options = Options { algorithm, faults, flaw: Some(flaw), ..Options::default() };
    (1..=most).find_map(|seed| Some((seed, run(&options, seed).violation?.property)))
}

#[test]
fn every_flaw_is_caught() {
    let mut missed = Vec::new();
    for flaw in Flaw::ALL.into_iter().filter(|&flaw| hunt(flaw).2 > 0) {
        let (algorithm, faults, most) = hunt(flaw);
        match caught(flaw) {
            Some((seeds, property)) => {
                println!("| {flaw} | {algorithm} | {faults} | {property} | {seeds} |");
            }
            None => missed.push(format!("{flaw} was not caught in {most} seeds")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Where a flaw endangers exclusion it must also show as such, not only as a message refused.
#[test]
fn rules_of_the_views_keep_two_from_being_inside() {
    let flaws = [
        Flaw::KeptNotAnnounced,
        Flaw::KeepersIgnored,
        Flaw::HomeOpensEarly,
        Flaw::FreedButKept,
        Flaw::PassNotAwaited,
        Flaw::OldViewTaken,
        Flaw::EarlyDropped,
    ];
    for flaw in flaws {
        let (algorithm, faults, _) = hunt(flaw);
        let algorithm = algorithm.to_string();
        let options = Options { algorithm, faults, flaw: Some(flaw), ..Options::default() };
        let seen = (1..200).any(|seed| {
            run(&options, seed).violation.is_some_and(|it| it.property == Property::Exclusion)
        });
        assert!(seen, "{flaw}");
    }
}
