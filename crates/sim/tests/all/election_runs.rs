//! Runs of elections: figures, who takes over, ties, pauses and detectors.

use skeptron_core::election::Epoch;
use skeptron_core::topology::Graph;
use skeptron_core::{NodeId, Setup, catalogue};

use skeptron_sim::election::{Detector, Initiator, Reign, Report, Scenario, run};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Record, TICKS_PER_UNIT, Ticks, What};
use skeptron_sim::{Fault, Latency, Options, PlannedFault, QueueKind};

fn node(number: usize) -> NodeId {
    NodeId::new(number - 1)
}

fn unit(units: f64) -> Ticks {
    (units * TICKS_PER_UNIT as f64) as Ticks
}

/// `n` nodes, of which `caller` calls when it suspects its leader.
fn scenario(n: usize, caller: usize) -> Scenario {
    let initiators = vec![Initiator { node: node(caller), at: None }];
    Scenario { initiators, ..Scenario::new(Setup::new(n).unwrap()) }
}

fn fault(scenario: &mut Scenario, fault: Fault, from: f64, until: Option<f64>) {
    let planned = PlannedFault { from: unit(from), until: until.map(unit), fault };
    scenario.faults.planned.push(planned);
}

fn crash(scenario: &mut Scenario, number: usize, from: f64, until: Option<f64>) {
    fault(scenario, Fault::Crash(node(number)), from, until);
}

fn report(name: &str, scenario: &Scenario) -> Report {
    let info = catalogue::find_election(name).unwrap();
    run(info, scenario, &Options::default()).unwrap().report
}

/// What happens; a replay must find the same.
fn records(name: &str, scenario: &Scenario) -> Vec<Record> {
    let info = catalogue::find_election(name).unwrap();
    let options = Options { record: true, ..Options::default() };
    let trace = run(info, scenario, &options).unwrap().trace.unwrap();
    replay(&trace).unwrap();
    trace.records
}

/// Where and when the first record of a kind is, in ticks.
fn when(records: &[Record], is: impl Fn(&What) -> bool) -> Vec<(Ticks, NodeId)> {
    records.iter().filter(|r| is(&r.what)).map(|r| (r.t, r.node)).collect()
}

/// 11 at N = 4, 19 at 5, 155 at 13 from the lowest; 1 + (N − 2) from the second highest (spec 4.1).
#[test]
fn the_bully_costs_what_is_published() {
    for (n, worst) in [(4, 11), (5, 19), (13, 155)] {
        for (caller, messages, time) in [(1, worst, 4.0), (n - 1, n as u64 - 1, 3.0)] {
            let mut scenario = scenario(n, caller);
            crash(&mut scenario, n, 0.0, None);
            let report = report("bully", &scenario);
            assert_eq!(report.violations, []);
            assert_eq!(
                (report.messages.total, report.time),
                (messages, Some(time)),
                "{n} {caller}"
            );
            assert_eq!((report.leader, report.live), (Some(node(n - 1)), n - 1));
            assert_eq!(
                (report.first_call, report.calls),
                (Some(2.0), 1),
                "as the detector tells it"
            );
            let epoch = Epoch { round: 1, by: node(caller) };
            let at = 2.0 + time - 1.0;
            let reign = Reign { epoch, leader: node(n - 1), at, named_by: n - 1 };
            assert_eq!(report.leaders, [reign]);
            assert_eq!((report.suspicions, report.false_suspicions), (n as u64 - 1, 0));
        }
    }
}

#[test]
fn whoever_comes_back_higher_takes_over() {
    let mut scenario = scenario(4, 1);
    crash(&mut scenario, 4, 0.0, Some(20.0));
    let report = report("bully", &scenario);
    assert_eq!(report.violations, []);
    let mut leaders: Vec<NodeId> = report.leaders.iter().map(|reign| reign.leader).collect();
    leaders.dedup();
    assert_eq!(leaders, [node(3), node(4)]);
    assert_eq!((report.leader, report.live), (Some(node(4)), 4));
    assert_eq!(report.calls, 3, "P1 suspects P4 still when that names itself, and calls again");
}

#[test]
fn nobody_calls_while_the_leader_is_well() {
    let mut scenario = scenario(4, 1);
    crash(&mut scenario, 2, 3.0, None);
    let report = report("bully", &scenario);
    assert_eq!((report.calls, report.messages.total, report.time), (0, 0, None));
    assert_eq!((report.leader, report.suspicions), (Some(node(4)), 3));
    assert!(report.is_fine());
}

/// Nobody can tell the other part of a network that a crash has cut apart.
#[test]
fn each_part_of_a_network_has_its_own_leader() {
    let line = Graph::of_links(5, (1..5).map(|i| (node(i), node(i + 1)))).unwrap();
    let setup = Setup::new(5).unwrap().with_graph(line).unwrap();
    let called = |callers: &[usize], crashed: usize| {
        let initiators = callers.iter().map(|&i| Initiator { node: node(i), at: Some(unit(1.0)) });
        let initiators = initiators.collect();
        let mut scenario = Scenario { initiators, ..Scenario::new(setup.clone()) };
        crash(&mut scenario, crashed, 0.0, None);
        report("spanning-tree", &scenario)
    };
    let both = called(&[1, 2, 4, 5], 3);
    assert_eq!(both.violations, []);
    let leaders: Vec<NodeId> = both.leaders.iter().map(|reign| reign.leader).collect();
    assert!(leaders.iter().any(|leader| *leader < node(3)), "{leaders:?}");
    assert!(leaders.iter().any(|leader| *leader > node(3)), "{leaders:?}");
    let one = called(&[1], 3);
    assert_eq!((&one.violations[..], one.leader), (&[][..], None), "P4 and P5 were never asked");
}

/// The answer takes exactly as long as the alarm: it comes first.
#[test]
fn at_one_tick_deliveries_come_before_alarms() {
    for latency in ["0", "0.5", "1"] {
        let mut scenario = Scenario::new(Setup::new(5).unwrap());
        scenario.latency = Latency::parse(latency, 5).unwrap();
        let report = report("bully", &scenario);
        assert_eq!((report.leader, report.alarms), (Some(node(5)), 0), "{latency}");
    }
    // A bound that is a tick too short makes two leaders in one epoch.
    let mut scenario = Scenario::new(Setup::new(3).unwrap());
    scenario.bound = Some(999);
    let report = report("bully", &scenario);
    assert!(!report.agreement, "{report:?}");
    assert_eq!(report.leaders.iter().filter(|reign| reign.epoch.round == 1).count(), 2);
}

#[test]
fn alarms_of_a_paused_node_ring_when_it_goes_on_after_what_was_held() {
    let mut scenario = Scenario::new(Setup::new(3).unwrap());
    fault(&mut scenario, Fault::Pause(node(1)), 1.5, Some(9.0));
    let records = records("bully", &scenario);
    let first = |what: &What| matches!(what, What::Deliver { .. } | What::Expire { .. });
    let at_first: Vec<_> = records.iter().filter(|r| r.node == node(1) && first(&r.what)).collect();
    // The OKs were held, and stopped the alarm that would have rung meanwhile.
    assert!(at_first.iter().all(|r| matches!(r.what, What::Deliver { .. })), "{at_first:#?}");
    assert!(at_first.iter().all(|r| r.t == unit(9.0)), "{at_first:#?}");
    // Without the others it is the alarm that was held.
    crash(&mut scenario, 2, 0.0, None);
    crash(&mut scenario, 3, 0.0, None);
    let records = self::records("bully", &scenario);
    let rings = when(&records, |what| matches!(what, What::Expire { .. }));
    assert_eq!(rings, [(unit(9.0), node(1))]);
    let resumed = records.iter().position(|r| r.what == What::Resume).unwrap();
    assert!(matches!(records[resumed + 1].what, What::Suspect { .. }), "held before it");
}

#[test]
fn a_perfect_detector_tells_everybody_once_after_its_delay() {
    let mut scenario = scenario(3, 1);
    scenario.detector = Detector::Perfect { delay: unit(3.0) };
    crash(&mut scenario, 3, 1.0, Some(10.0));
    crash(&mut scenario, 2, 6.0, Some(8.0));
    let records = records("bully", &scenario);
    let suspicions = when(&records, |what| matches!(what, What::Suspect { .. }));
    // P2 comes back before anybody misses it, and hears then of P3, which is back already.
    assert_eq!(suspicions, [(unit(4.0), node(1)), (unit(4.0), node(2))]);
    let trust = when(&records, |what| matches!(what, What::Trust { .. }));
    assert_eq!(trust, [(unit(13.0), node(1))], "P2 has forgotten that it suspected P3");
}

#[test]
fn who_comes_back_hears_who_is_down() {
    let mut scenario = scenario(4, 1);
    crash(&mut scenario, 4, 0.0, None);
    crash(&mut scenario, 2, 5.0, Some(9.0));
    let records = records("bully", &scenario);
    let suspicions: Vec<_> = records
        .iter()
        .filter(|r| r.node == node(2) && matches!(r.what, What::Suspect { .. }))
        .map(|r| (r.t, r.what.clone()))
        .collect();
    let told = What::Suspect { whom: node(4) };
    assert_eq!(suspicions, [(unit(2.0), told.clone()), (unit(11.0), told)]);
}

#[test]
fn false_suspicions_come_at_their_rate_and_are_withdrawn() {
    let mut scenario = Scenario::new(Setup::new(4).unwrap());
    scenario.detector = Detector::Imperfect { delay: unit(2.0), rate: 0.5, lasting: 1.0 };
    scenario.until = unit(2000.0);
    let report = report("bully", &scenario);
    // A quarter would suspect itself, and now and then one is suspected already.
    assert!((600..760).contains(&report.false_suspicions), "{}", report.false_suspicions);
    assert_eq!(report.false_suspicions, report.suspicions);
    let records = records("bully", &scenario);
    let count = |is: fn(&What) -> bool| records.iter().filter(|r| is(&r.what)).count();
    let trusted = count(|what| matches!(what, What::Trust { .. }));
    assert_eq!(trusted as u64, report.suspicions);
    let last = records.iter().rfind(|r| matches!(r.what, What::Suspect { .. })).unwrap();
    assert!(last.t < scenario.until);
}

/// Only whoever is an initiator calls, and it does whenever it suspects the leader it names.
#[test]
fn whoever_names_a_leader_that_it_suspects_calls_again() {
    let mut scenario = scenario(3, 1);
    scenario.detector = Detector::Imperfect { delay: unit(2.0), rate: 1.0, lasting: 20.0 };
    scenario.until = unit(50.0);
    let records = records("bully", &scenario);
    let calls = when(&records, |what| *what == What::Call);
    assert!(calls.len() > 3 && calls.iter().all(|&(_, caller)| caller == node(1)), "{calls:?}");
    for (i, record) in records.iter().enumerate().filter(|(_, r)| r.what == What::Call) {
        let before = records[..i].iter().rev().find(|r| r.node == node(1)).unwrap();
        let fits = matches!(before.what, What::Suspect { .. } | What::Elect { .. });
        assert!(fits && before.t == record.t, "{before:?}");
    }
}

#[test]
fn loss_ends_with_chance() {
    let mut scenario = Scenario::new(Setup::new(6).unwrap());
    scenario.faults.loss = 1.0;
    scenario.until = unit(0.0);
    let calm = report("bully", &scenario);
    assert_eq!((calm.lost, calm.leader), (0, Some(node(6))));
    scenario.until = unit(50.0);
    let lossy = report("bully", &scenario);
    assert!(lossy.lost > 0 && !lossy.is_fine(), "{lossy:?}");
}

#[test]
fn an_election_that_never_ends_violates_termination() {
    let scenario = Scenario::new(Setup::new(3).unwrap());
    let broken = report("bully-only-answers", &scenario);
    let found = broken.violations.first().expect("it never elects anybody");
    assert_eq!(found.property, "termination");
    assert!(found.detail.contains("again and again"), "{}", found.detail);
}

#[test]
fn a_run_is_the_same_on_both_queues_and_recorded() {
    let info = catalogue::find_election("bully").unwrap();
    let mut scenario = scenario(6, 2);
    scenario.latency = Latency::parse("uniform:0.1..1", 6).unwrap();
    scenario.detector = Detector::Imperfect { delay: 700, rate: 0.2, lasting: 3.0 };
    scenario.faults.crashes = Some(skeptron_sim::RandomFault { rate: 0.1, lasting: Some(9.0) });
    let hash = |queue, record| {
        let options = Options { queue, record, ..Options::default() };
        run(info, &scenario, &options).unwrap().report.trace_hash
    };
    let expected = hash(QueueKind::Wheel, false);
    assert_eq!(hash(QueueKind::Wheel, false), expected);
    assert_eq!(hash(QueueKind::Heap, false), expected);
    assert_eq!(hash(QueueKind::Heap, true), expected);
}

#[test]
fn an_impossible_scenario_is_refused() {
    let info = catalogue::find_election("bully").unwrap();
    let good = || Scenario::new(Setup::new(3).unwrap());
    let refused = |change: fn(&mut Scenario)| {
        let mut scenario = good();
        change(&mut scenario);
        run(info, &scenario, &Options::default()).unwrap_err().to_string()
    };
    let causes = [
        refused(|s| s.initiators[0].node = node(4)),
        refused(|s| s.initiators[0].at = Some(100_001)),
        refused(|s| s.bound = Some(0)),
        refused(|s| s.detector = Detector::Imperfect { delay: 0, rate: 0.0, lasting: 1.0 }),
        refused(|s| s.detector = Detector::Imperfect { delay: 0, rate: 1.0, lasting: 0.0 }),
        refused(|s| s.faults.loss = 2.0),
        refused(|s| crash(s, 4, 0.0, None)),
    ];
    insta::assert_snapshot!(causes.join("\n"), @"
    the list of initiators names P4, but there are only 3 nodes
    the time of a call is 100.001; it must be at most the time from which nobody calls of his own accord
    the bound on messages is 0; it must be at least 0.001
    the rate of false suspicions is 0; it must be above 0 and at most 1000
    the mean length of a false suspicion is 0; it must be above 0 and at most 1000000
    the probability of loss is 2; it must be between 0 and 1
    a crash names P4, but there are only 3 nodes
    ");
}
