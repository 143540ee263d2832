//! The history of one lock is a trace that the simulator plays again.

use skeptron_core::catalogue;
use skeptron_member::Flaw;
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Format, Trace, What};
use skeptron_world::{FaultKind, Faults, Mutant, Options, run, run_recorded};

/// Through the file format and back.
fn written_and_read(trace: &Trace) -> Trace {
    let mut file = Vec::new();
    trace.write(Format::JsonLines, &mut file).unwrap();
    Trace::read(&file[..]).unwrap()
}

#[test]
fn every_algorithm_can_be_played_again() {
    for info in catalogue::for_clusters() {
        for faults in [Faults::FIXED, Faults::FIXED.with(FaultKind::Views)] {
            let algorithm = info.name.to_string();
            let options = Options { algorithm, faults, entries: 50, ..Options::default() };
            let (outcome, trace) = run_recorded(&options, 5, Some("skeptron storm".to_string()));
            assert_eq!(outcome.violation, None, "{}", info.name);
            assert_eq!(outcome.hash, run(&options, 5).hash, "recording changes nothing");
            let trace = trace.unwrap_or_else(|| panic!("{} {faults} leaves no trace", info.name));
            let replayed = replay(&written_and_read(&trace)).unwrap();
            assert!(replayed.entries > 3, "{} {faults} {replayed:?}", info.name);
            assert_eq!((replayed.violations, replayed.refused), (vec![], 0), "{}", info.name);
        }
    }
}

#[test]
fn a_violation_is_the_last_word_of_its_trace() {
    let faults = Faults::FIXED.with(FaultKind::Views);
    let mutant = Some(Mutant::Member(Flaw::KeepersIgnored));
    let options = Options { faults, mutant, ..Options::default() };
    let mut runs = (1..50).map(|seed| run_recorded(&options, seed, None));
    let violated = runs.find(|(outcome, _)| outcome.violation.is_some());
    let trace = violated.expect("a seed shows it").1.unwrap();
    replay(&written_and_read(&trace)).unwrap();
    assert!(matches!(trace.records.last().unwrap().what, What::Violation { .. }));
}
