//! What the checker finds is a run: it can be written, read and replayed, and it shows what it says.

use skeptron::cli::check::CheckArgs;
use skeptron_check::Property;
use skeptron_core::catalogue::{self, Breaks, Layout};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Format, Trace, What};

/// Writes, reads and replays a counterexample.
fn follow(words: &str, property: Property, trace: &Trace) {
    let mut lines = Vec::new();
    trace.write(Format::JsonLines, &mut lines).unwrap();
    let read = Trace::read(&lines[..]).unwrap_or_else(|error| panic!("{words}: {error}"));
    assert_eq!(read, *trace, "{words}");
    let replayed = replay(&read).unwrap_or_else(|error| panic!("{words}, {property}: {error}"));
    match property {
        Property::Exclusion | Property::Fence => {
            let judged = replayed.violations.iter().any(|v| v.property == property.name());
            assert!(judged, "{words}: {property}");
        }
        Property::Progress => assert!(!replayed.waiting.is_empty(), "{words}"),
        Property::Refused => assert!(replayed.refused > 0, "{words}"),
        Property::Order | Property::Messages | Property::Rest => {}
    }
    let found = trace.records.last().map(|record| &record.what);
    assert!(
        matches!(found, Some(What::Violation { property: name, .. }) if name == property.name()),
        "{words}"
    );
    for (format, _) in Format::ALL {
        let mut out = Vec::new();
        trace.write(format, &mut out).unwrap();
        assert!(!out.is_empty(), "{words}: {format}");
    }
}

/// Every broken variant is refuted by the command that its page gives, in the way it says.
#[test]
fn every_broken_variant_is_refuted_and_replayed() {
    for info in catalogue::all() {
        let Some(broken) = info.broken else { continue };
        let words = format!("{} {}", info.name, broken.refuted_by);
        let search = |words: &str| CheckArgs::parse(words).unwrap().counterexamples().unwrap();
        let expected = match broken.breaks {
            Breaks::Safety => Property::Exclusion,
            Breaks::Liveness => Property::Progress,
            Breaks::Order => Property::Order,
            Breaks::Refused => Property::Refused,
        };
        let shows = |found: &[(Property, Trace)]| found.iter().any(|(p, _)| *p == expected);
        let mut found = search(&words);
        assert!(!found.is_empty(), "{words}");
        if !shows(&found) {
            // Something else breaks sooner.
            found = search(&format!("{words} --keep-going"));
        }
        assert!(shows(&found), "{words}: {expected}");
        for (property, trace) in &found {
            follow(&words, *property, trace);
        }
    }
}

/// What faults do to sound algorithms is a run, too.
#[test]
fn faults_are_replayed() {
    let mixes = [
        "--loss 1",
        "--duplicate 1 --order any",
        "--duplicate 2",
        "--crashes 1",
        "--crashes 1 --crash-when holding --victims P1",
        "--crashes 1 --loss 1 --duplicate 1 --order any",
    ];
    let mut found = 0;
    for info in catalogue::sound() {
        for mix in mixes {
            let structure =
                if info.layout == Layout::Structure { "--structure lamport" } else { "" };
            let words = format!("{} -n 2 {structure} --keep-going {mix}", info.name);
            for (property, trace) in CheckArgs::parse(&words).unwrap().counterexamples().unwrap() {
                follow(&words, property, &trace);
                found += 1;
            }
        }
    }
    assert!(found > 50, "{found}");
}
