//! Runs in which something goes wrong, and what is measured then.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use skeptron_core::{NodeId, Setup, catalogue};

use skeptron_sim::election::Detector;
use skeptron_sim::trace::{TICKS_PER_UNIT, Ticks, What};
use skeptron_sim::{
    Distribution, Fault, Latency, Options, PlannedFault, Report, Scenario, ScenarioError, Workload,
    run,
};

fn report(name: &str, scenario: &Scenario) -> Report {
    run(catalogue::find(name).unwrap(), scenario, &Options::default()).unwrap().report
}

/// A fault from one time to another, in units.
fn fault(from: u64, until: Option<u64>, fault: Fault) -> PlannedFault {
    let until = until.map(|until| until * TICKS_PER_UNIT);
    PlannedFault { from: from * TICKS_PER_UNIT, until, fault }
}

fn sequential(nodes: usize, think: f64, faults: &[PlannedFault]) -> Scenario {
    let mut scenario = Scenario::new(Setup::new(nodes).unwrap());
    scenario.workload = Workload::Sequential { think: Distribution::constant(think) };
    scenario.entries = 50;
    scenario.faults.planned = faults.to_vec();
    scenario
}

/// Where one request follows from another, the next one comes whoever is down: before it could ask,
/// while it thinks, while it waits and while it stands still.
#[test]
fn a_crash_does_not_end_a_sequential_workload() {
    let (first, second) = (NodeId::new(0), NodeId::new(1));
    let crash = |at| vec![fault(at, None, Fault::Crash(second))];
    for think in [0.0, 3.0] {
        for faults in (0..12).map(crash) {
            let report = report("central", &sequential(4, think, &faults));
            // If it crashed inside or waiting, the coordinator waits for it in vain.
            assert!(report.entries == 50 || report.stalled, "{think} {faults:?}: {report:?}");
        }
        let early = report("central", &sequential(4, think, &crash(0)));
        assert_eq!((early.entries, early.stalled), (50, false));
    }
    let faults = [fault(0, Some(99), Fault::Pause(first)), fault(1, Some(9), Fault::Crash(first))];
    let paused = report("central", &sequential(1, 0.0, &faults));
    assert_eq!((paused.entries, paused.stalled), (50, false), "nobody else was up meanwhile");
}

/// Requests come without end, but only to nodes that wait already.
#[test]
fn an_open_workload_that_stalled_ends_at_once() {
    let crash = fault(20, None, Fault::Crash(NodeId::new(1)));
    let (rate, every) = (0.2, 7 * TICKS_PER_UNIT);
    let workloads = [
        Workload::Poisson { rate },
        Workload::Hot { rate, hot: 2, share: 0.5 },
        Workload::Hot { rate, hot: 1, share: 1.0 },
        Workload::Bursts { size: 2, every },
    ];
    for workload in workloads {
        let mut scenario = sequential(4, 0.0, std::slice::from_ref(&crash));
        scenario.workload = workload.clone();
        let stalled = report("ricart-agrawala", &scenario);
        let violation = &stalled.violations[0];
        assert!(stalled.stalled && stalled.events < 500, "{workload:?}: {stalled:?}");
        assert!(violation.detail.ends_with("but nothing can happen any more"), "{violation:?}");
        // Whoever waits for one that stands still is served later.
        let pause = fault(20, Some(2_000), Fault::Pause(NodeId::new(1)));
        scenario.faults.planned = vec![pause];
        let late = report("ricart-agrawala", &scenario);
        assert_eq!((late.entries, late.stalled), (50, false), "{workload:?}");
    }
}

/// The end of one fault is not that of another.
#[test]
fn a_fault_lasts_until_its_own_end() {
    let node = NodeId::new(0);
    let resumes_at = |faults: &[PlannedFault]| {
        let scenario = sequential(1, 1.0, faults);
        let options = Options { record: true, ..Options::default() };
        let info = catalogue::find("central").unwrap();
        let records = run(info, &scenario, &options).unwrap().trace.unwrap().records;
        let ends = records.iter().filter(|r| matches!(r.what, What::Resume | What::Restart));
        ends.map(|record| record.t / TICKS_PER_UNIT).collect::<Vec<_>>()
    };
    let pause = |from, until| fault(from, Some(until), Fault::Pause(node));
    let crash = |from, until| fault(from, Some(until), Fault::Crash(node));
    assert_eq!(resumes_at(&[pause(0, 10), crash(1, 2), pause(5, 15)]), [2, 15]);
    assert_eq!(resumes_at(&[pause(0, 10), pause(5, 15)]), [15]);
    assert_eq!(resumes_at(&[pause(0, 10), pause(5, 8)]), [10]);
    assert_eq!(resumes_at(&[crash(0, 10), crash(5, 8), pause(6, 20)]), [10]);
}

/// What the warm-up and the last ones who still wait do is not measured.
#[test]
fn fairness_is_that_of_the_measured_entries() {
    let mut scenario = Scenario::new(Setup::new(5).unwrap());
    scenario.latency = Latency::parse("uniform:0.1..2", 5).unwrap();
    scenario.workload = Workload::Closed { think: Distribution::parse("exp:2").unwrap() };
    scenario.entries = 400;
    let fairness = |warmup, entries| {
        report("suzuki-kasami", &Scenario { warmup, entries, ..scenario.clone() }).fairness
    };
    let (all, first, second) = (fairness(0, 400), fairness(0, 200), fairness(200, 200));
    let inversions = [first, second].map(|half| half.inversions.unwrap());
    assert!(inversions.iter().all(|&count| count > 0), "{inversions:?}");
    assert_eq!(all.inversions, Some(inversions.iter().sum()));
    assert_eq!(all.longest_bypass, first.longest_bypass.max(second.longest_bypass));
}

/// From an exit to the next entry; one that follows without another exit (here since two are inside,
/// or after a crash inside) is not the next.
#[test]
fn only_the_first_entry_after_an_exit_has_a_synchronisation_delay() {
    let [first, second, third] = [0, 1, 2].map(NodeId::new);
    let mut scenario = Scenario::new(Setup::new(3).unwrap());
    scenario.section = Distribution::constant(3.0);
    scenario.workload = Workload::List(vec![(0, third), (2100, first), (2100, second)]);
    let report = report("ricart-agrawala-no-tie-break", &scenario);
    assert_eq!((report.entries, report.violations.len()), (3, 2), "{:?}", report.violations);
    assert_eq!((report.sync_delay.count, report.sync_delay.max), (1, 1.0));
}

#[test]
fn a_list_of_requests_is_ordered_by_time() {
    let node = NodeId::new(0);
    let mut scenario = Scenario::new(Setup::new(1).unwrap());
    scenario.workload = Workload::List(vec![(2000, node), (1500, node)]);
    let error = run(catalogue::find("central").unwrap(), &scenario, &Options::default());
    let text = error.unwrap_err().to_string();
    assert!(text.contains("is 1.5; it must be no earlier than that of the one before"), "{text}");
}

#[test]
fn a_run_can_be_stopped() {
    let scenario = Scenario { entries: 100_000, ..Scenario::new(Setup::new(3).unwrap()) };
    let info = catalogue::find("lamport").unwrap();
    let stopped = |stop| {
        let stop = Some(Arc::new(AtomicBool::new(stop)));
        run(info, &scenario, &Options { stop, ..Options::default() })
    };
    assert_eq!(stopped(true).unwrap_err(), ScenarioError::Stopped);
    assert!(stopped(false).is_ok());
}

/// A list of requests, each at a time in units, of Agrawal and El Abbadi's algorithm, in which the first node crashes.
fn told_of_a_crash(name: &str, requests: &[(u64, usize)], at: Ticks, detector: Detector) -> Report {
    let mut scenario = Scenario { detector, warmup: 0, ..Scenario::new(Setup::new(3).unwrap()) };
    let request = |&(at, node): &(u64, usize)| (at * TICKS_PER_UNIT, NodeId::new(node - 1));
    scenario.workload = Workload::List(requests.iter().map(request).collect());
    let fault = Fault::Crash(NodeId::new(0));
    scenario.faults.planned = vec![PlannedFault { from: at, until: None, fault }];
    report(name, &scenario)
}

/// An arbiter that has only heard of a fence takes nothing with it: two nodes that are left enter with the same one.
#[test]
fn the_crash_of_who_only_heard_of_a_fence_hides_nothing() {
    let detector = Detector::Perfect { delay: TICKS_PER_UNIT };
    for at in [3500, 4500] {
        let requests = [(0, 3), (10, 2)];
        let found = told_of_a_crash("agrawal-el-abbadi-one-child", &requests, at, detector);
        let found: Vec<_> = found.violations.iter().map(|violation| violation.property).collect();
        assert_eq!(found, ["fence"], "P1 crashes at {at}");
    }
}

/// There are only so many false suspicions: a run does not go on for their sake.
#[test]
fn false_suspicions_come_to_an_end() {
    let detector = Detector::Imperfect { delay: 2 * TICKS_PER_UNIT, rate: 1.0, lasting: 1.0 };
    let requests = [(0, 3), (10, 2), (20, 1)];
    let report = told_of_a_crash("agrawal-el-abbadi", &requests, 5000, detector);
    assert!(report.events < 1000, "{} events", report.events);
}
