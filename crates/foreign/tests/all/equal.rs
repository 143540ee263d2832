//! Ricart and Agrawala's algorithm in Python and JavaScript is the one of the catalogue: the same states, the same
//! runs, the same verdicts.

use skeptron_check::{Judging, Options, Scenario, check};
use skeptron_core::catalogue::{self, Info, Order};
use skeptron_core::{Setup, catalogue::Algorithm};
use skeptron_foreign::load;
use skeptron_sim::replay::replay;
use skeptron_sim::{Latency, Options as SimOptions, Scenario as SimScenario, run};

use crate::{example, has};

const BOTH: [(&str, &str); 2] = [("python3", "ricart_agrawala.py"), ("node", "ricart_agrawala.js")];

/// What `check` finds, without how long it took.
fn searched(info: &Info, scenario: &Scenario, reduction: bool) -> serde_json::Value {
    let judging = Judging { endless_states: Some(100_000), ..Judging::default() };
    let options = Options { reduction, judging, ..Options::default() };
    let report = check(info, scenario, &options).unwrap();
    assert!(report.complete && report.holds());
    let mut told = serde_json::to_value(report).unwrap();
    let fields = told.as_object_mut().unwrap();
    fields.remove("seconds");
    fields.remove("peak_bytes");
    told
}

#[test]
fn the_checker_finds_the_same_states() {
    let ours = catalogue::find("ricart-agrawala").unwrap();
    for (interpreter, file) in BOTH {
        if !has(interpreter) {
            continue;
        }
        let theirs = load(&example(file)).unwrap();
        for (nodes, requests, reduction) in [(2, 3, false), (3, 1, false), (3, 2, true)] {
            let scenario = Scenario::new(Setup::new(nodes).unwrap(), requests, Order::Any);
            let found = searched(theirs, &scenario, reduction);
            assert_eq!(found, searched(ours, &scenario, reduction), "{file}, {nodes} × {requests}");
        }
    }
}

#[test]
fn the_simulator_makes_the_same_runs() {
    let ours = catalogue::find("ricart-agrawala").unwrap();
    for (interpreter, file) in BOTH {
        if !has(interpreter) {
            continue;
        }
        let theirs = load(&example(file)).unwrap();
        for (nodes, seed) in [(1, 1), (3, 2), (5, 3)] {
            let scenario = SimScenario {
                seed,
                entries: 100,
                latency: Latency::parse("exp:1", nodes).unwrap(),
                order: Order::Any,
                ..SimScenario::new(Setup::new(nodes).unwrap().with_clocks(vec![7; nodes]).unwrap())
            };
            let report = |info| run(info, &scenario, &SimOptions::default()).unwrap().report;
            let (found, expected) = (report(theirs), report(ours));
            assert!(found.is_fine());
            assert_eq!(found.trace_hash, expected.trace_hash, "{file}, {nodes} nodes");
            assert_eq!(
                serde_json::to_value(&found.messages).unwrap(),
                serde_json::to_value(&expected.messages).unwrap(),
                "messages, their kinds and bytes"
            );
        }
    }
}

#[test]
fn a_recorded_run_is_replayed() {
    for (interpreter, file) in BOTH {
        if !has(interpreter) {
            continue;
        }
        let info = load(&example(file)).unwrap();
        let scenario = SimScenario { entries: 20, ..SimScenario::new(Setup::new(3).unwrap()) };
        let recording = SimOptions { record: true, ..SimOptions::default() };
        let trace = run(info, &scenario, &recording).unwrap().trace.unwrap();
        assert_eq!(trace.header.algorithm, info.name);
        assert!(matches!(Algorithm::find(info.name), Some(Algorithm::Mutex(_))));
        assert!(replay(&trace).unwrap().violations.is_empty());
    }
}

#[test]
fn the_templates_are_correct() {
    for (interpreter, file) in [("python3", "template.py"), ("node", "template.js")] {
        if !has(interpreter) {
            continue;
        }
        let info = load(&example(file)).unwrap();
        let scenario = Scenario::new(Setup::new(3).unwrap(), 2, Order::Fifo);
        let judging = Judging { endless_states: Some(100_000), ..Judging::default() };
        let report = check(info, &scenario, &Options { judging, ..Options::default() }).unwrap();
        assert!(report.complete && report.holds(), "{file}: {report:?}");
        assert!(report.verdicts.iter().all(|verdict| verdict.holds == Some(true)), "{report:?}");
    }
}
