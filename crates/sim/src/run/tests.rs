//! Runs in which something goes wrong, and what is measured then.

use skeptron_core::{NodeId, Setup, catalogue};

use super::{Options, run};
use crate::distribution::Distribution;
use crate::faults::Fault;
use crate::metrics::Report;
use crate::scenario::Scenario;
use crate::trace::TICKS_PER_UNIT;
use crate::workload::Workload;

fn report(name: &str, scenario: &Scenario) -> Report {
    run(catalogue::find(name).unwrap(), scenario, &Options::default()).unwrap().report
}

fn sequential(nodes: usize, think: f64, faults: &[(u64, Fault)]) -> Scenario {
    let mut scenario = Scenario::new(Setup::new(nodes).unwrap());
    scenario.workload = Workload::Sequential { think: Distribution::constant(think) };
    scenario.entries = 50;
    let ticks = faults.iter().map(|(at, fault)| (at * TICKS_PER_UNIT, fault.clone()));
    scenario.faults.planned = ticks.collect();
    scenario
}

/// Where one request follows from another, the next one comes whoever is down: before it could ask,
/// while it thinks, while it waits and while it stands still.
#[test]
fn a_crash_does_not_end_a_sequential_workload() {
    let (first, second) = (NodeId::new(0), NodeId::new(1));
    let crash = |at| vec![(at, Fault::Crash(second))];
    for think in [0.0, 3.0] {
        for faults in (0..12).map(crash) {
            let report = report("central", &sequential(4, think, &faults));
            // If it crashed inside or waiting, the coordinator waits for it in vain.
            assert!(report.entries == 50 || report.stalled, "{think} {faults:?}: {report:?}");
        }
        let early = report("central", &sequential(4, think, &crash(0)));
        assert_eq!((early.entries, early.stalled), (50, false));
    }
    let pause = [(0, Fault::Pause(first)), (1, Fault::Crash(first))];
    let paused = report(
        "central",
        &sequential(1, 0.0, &[&pause[..], &[(9, Fault::Restart(first))]].concat()),
    );
    assert_eq!((paused.entries, paused.stalled), (50, false), "nobody else was up meanwhile");
}
