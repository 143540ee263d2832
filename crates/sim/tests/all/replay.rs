//! What was recorded is played again: the nodes must do what the records say.

use std::ops::ControlFlow;

use skeptron_core::{NodeId, Setup, catalogue};
use skeptron_sim::election;
use skeptron_sim::replay::{ReplayError, Snapshots, Visit, complete, replay, states};
use skeptron_sim::trace::{Loss, Record, Ticks, Trace, VERSION, What};
use skeptron_sim::value::Value;
use skeptron_sim::{Fault, Options, PlannedFault, Scenario, run};

use crate::sample::Scene;

fn record(t: Ticks, node: usize, what: What) -> Record {
    Record { t, node: NodeId::new(node - 1), what }
}

/// The place of the first record that satisfies `is`.
fn place(trace: &Trace, is: impl Fn(&Record) -> bool) -> usize {
    trace.records.iter().position(is).unwrap()
}

fn mismatch(trace: &Trace) -> (usize, String) {
    match replay(trace) {
        Err(ReplayError::Line { line, mismatch }) => (line, mismatch.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_is_what_was_recorded() {
    let trace = Scene::new(3).play();
    let replayed = replay(&trace).unwrap();
    assert_eq!(replayed.records, trace.records.len());
    assert_eq!((replayed.entries, replayed.messages), (6, 6 * 4));
    assert_eq!((replayed.violations, replayed.waiting), (vec![], vec![]));
    assert_eq!(replayed.nodes.len(), 3);
    let first = replayed.nodes[0].as_ref().unwrap();
    assert_eq!(first.field("me"), Some(&Value::Node(NodeId::new(0))));
}

#[test]
fn a_run_with_faults_is_what_was_recorded() {
    let trace = Scene::faulty().play();
    let replayed = replay(&trace).unwrap();
    assert!(replayed.refused > 0, "the copy is refused");
    assert!(!replayed.waiting.is_empty(), "a lost message is waited for");
    let down = Scene { script: &Scene::faulty().script[..3], ..Scene::faulty() }.play();
    assert_eq!(replay(&down).unwrap().nodes[1], None);
}

#[test]
fn violations_are_found_again_whether_recorded_or_not() {
    let mut trace = Scene { algorithm: "ricart-agrawala-no-tie-break", ..Scene::new(2) }.play();
    let found = replay(&trace).unwrap().violations;
    assert_eq!((found[0].property, found[1].property), ("exclusion", "fence"));
    let recorded = place(&trace, |r| matches!(r.what, What::Violation { .. }));
    assert_eq!(found[0].line, recorded - 1 + 2, "the entry right before");
    trace.records.retain(|r| !matches!(r.what, What::Violation { .. }));
    assert_eq!(replay(&trace).unwrap().violations[0], found[0]);
}

/// What the nodes know since a record, node by node, and all that changes from there on.
type Seen = (Vec<Option<Value>>, Vec<(usize, NodeId, Option<Value>)>);

#[test]
fn states_are_the_same_from_anywhere() {
    let info = catalogue::find("suzuki-kasami").unwrap();
    let scenario = Scenario { entries: 2000, ..Scenario::new(Setup::new(4).unwrap()) };
    let options = Options { record: true, ..Options::default() };
    let trace = run(info, &scenario, &options).unwrap().trace.unwrap();
    let seen = |from: usize, look: &mut dyn FnMut(Visit) -> Result<(), ReplayError>| -> Seen {
        let (mut known, mut changes) = (vec![None; 4], Vec::new());
        look(&mut |record, node, state| {
            match record.filter(|&record| record >= from) {
                Some(record) => changes.push((record, node, state.cloned())),
                None => known[node.index()] = state.cloned(),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        (known, changes)
    };
    let end = trace.records.len();
    assert!(end > 3 * 4096, "several snapshots, but {end} records");
    let mut snapshots = Snapshots::default();
    // Forth, back, and to where a snapshot is and a step may be under way.
    for from in [0, 5000, end, end - 1, 4096, 4095, 8192, 100] {
        let expected = seen(from, &mut |visit| states(&trace, visit));
        let found = seen(from, &mut |visit| snapshots.states(&trace, from, visit));
        assert_eq!(found, expected, "from {from}");
    }
}

#[test]
fn another_message_is_noticed() {
    let mut trace = Scene::new(2).play();
    let at = place(&trace, |r| matches!(&r.what, What::Send { label, .. } if label == "REPLY"));
    let What::Send { message, .. } = &mut trace.records[at].what else { unreachable!() };
    *message = serde_json::json!({"Reply": {"t": 77}}).into();
    let (line, text) = mismatch(&trace);
    assert_eq!(line, at + 2);
    insta::assert_snapshot!(text, @r#"
    expected {"t":1000,"node":2,"do":"send","to":1,"label":"REPLY","message":{"Reply":{"t":1}}}, found {"t":1000,"node":2,"do":"send","id":3,"to":1,"label":"REPLY","message":{"Reply":{"t":77}}}
    "#);
}

#[test]
fn another_fence_is_noticed() {
    let mut trace = Scene::new(2).play();
    let at = place(&trace, |r| matches!(r.what, What::Enter { fence: 2 }));
    trace.records[at].what = What::Enter { fence: 3 };
    let (line, text) = mismatch(&trace);
    assert_eq!(line, at + 2);
    insta::assert_snapshot!(text, @r#"
    expected {"t":3500,"node":2,"do":"enter","fence":2}, found {"t":3500,"node":2,"do":"enter","fence":3}
    "#);
}

#[test]
fn a_missing_effect_is_noticed() {
    let mut trace = Scene::new(3).play();
    let at = place(&trace, |r| matches!(r.what, What::Send { id: 2, .. }));
    trace.records.remove(at);
    let (line, text) = mismatch(&trace);
    assert_eq!(line, at + 2);
    insta::assert_snapshot!(text, @r#"
    expected {"t":0,"node":1,"do":"send","to":3,"label":"REQUEST","message":{"Request":{"t":1}}}, found {"t":0,"node":2,"do":"request"}
    "#);
    trace.records.truncate(at);
    let (line, text) = mismatch(&trace);
    assert_eq!(line, at + 2);
    insta::assert_snapshot!(text, @r#"
    expected {"t":0,"node":1,"do":"send","to":3,"label":"REQUEST","message":{"Request":{"t":1}}}, found the end
    "#);
}

#[test]
fn an_effect_without_a_cause_is_noticed() {
    let mut trace = Scene::new(2).play();
    trace.records.insert(0, record(0, 1, What::Enter { fence: 1 }));
    let (line, text) = mismatch(&trace);
    assert_eq!(line, 2);
    insta::assert_snapshot!(text, @r#"
    expected an input, as the node does nothing more; found {"t":0,"node":1,"do":"enter","fence":1}
    "#);
}

#[test]
fn a_message_arrives_once() {
    let mut trace = Scene::new(2).play();
    let end = trace.records.last().unwrap().t;
    let to = place(&trace, |r| matches!(r.what, What::Deliver { id: 1 }));
    let again = Record { t: end, ..trace.records[to].clone() };
    trace.records.push(again);
    let (line, text) = mismatch(&trace);
    assert_eq!(line, trace.records.len() + 1);
    assert_eq!(text, "message 1 was delivered or lost before");
}

#[test]
fn only_what_is_under_way_is_lost_or_copied() {
    for what in [
        What::Lose { id: 99, cause: Loss::Chance },
        What::Duplicate { id: 100, of: 99 },
        What::Deliver { id: 99 },
    ] {
        let mut trace = Scene::new(2).play();
        trace.records.insert(0, record(0, 1, what));
        assert_eq!(mismatch(&trace), (2, "message 99 was not sent before".into()));
    }
}

#[test]
fn who_is_down_or_paused_does_nothing() {
    let faulty = Scene::faulty().play();
    for (stops, node, state) in [(What::Crash, 2, "down"), (What::Pause, 3, "paused")] {
        let mut trace = faulty.clone();
        let at = place(&trace, |r| r.what == stops);
        let t = trace.records[at].t;
        trace.records.insert(at + 1, record(t, node, What::Request));
        let (line, text) = mismatch(&trace);
        assert_eq!(line, at + 3);
        assert!(text.starts_with(&format!("P{node} is {state}")), "{text}");
    }
    let mut trace = faulty;
    trace.records.insert(0, record(0, 1, What::Restart));
    assert!(mismatch(&trace).1.starts_with("P1 is up"));
}

#[test]
fn a_run_of_nobody_cannot_be_run_again() {
    let mut trace = Scene::new(2).play();
    trace.header.skeptron = 2;
    assert_eq!(replay(&trace), Err(ReplayError::OtherVersion(2)));
    trace.header.skeptron = VERSION;
    trace.header.algorithm = "nobody".into();
    assert_eq!(replay(&trace), Err(ReplayError::UnknownAlgorithm("nobody".into())));
}

/// The example of the format's description happened as it says.
#[test]
fn the_example_in_the_docs_can_be_played_again() {
    let page = include_str!("../../../../docs/trace-format.md");
    let example = page.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
    replay(&Trace::read(example.as_bytes()).unwrap()).unwrap();
}

/// What the nodes do follows from the inputs: nothing else is needed to make a run again.
#[test]
fn the_inputs_of_a_run_complete_to_the_run() {
    let options = Options { record: true, ..Options::default() };
    let node = NodeId::new(1);
    let crash = PlannedFault { from: 2_500, until: Some(9_000), fault: Fault::Crash(node) };
    let setup = Setup::new(4).unwrap();
    let mut traces = Vec::new();
    for name in ["token-ring", "ricart-agrawala"] {
        let info = catalogue::find(name).unwrap();
        let mut scenario = Scenario { entries: 20, ..Scenario::new(setup.clone()) };
        scenario.faults.planned.push(crash.clone());
        scenario.faults.loss = 0.02;
        traces.extend(run(info, &scenario, &options).unwrap().trace);
    }
    for name in ["bully", "ring"] {
        let info = catalogue::find_election(name).unwrap();
        let mut scenario = election::Scenario::new(setup.clone());
        scenario.faults.planned.push(crash.clone());
        traces.extend(election::run(info, &scenario, &options).unwrap().trace);
    }
    for mut trace in traces {
        let inputs = trace.records.iter().filter(|record| record.what.is_input()).cloned();
        let completed = complete(trace.header.clone(), inputs.collect::<Vec<_>>()).unwrap();
        trace.records.retain(|record| !matches!(record.what, What::Violation { .. }));
        assert_eq!(completed, trace);
    }
}

#[test]
fn an_input_that_cannot_be_completes_to_nothing() {
    let header = Scene::new(2).play().header;
    let late = record(0, 1, What::Deliver { id: 7 });
    let Err(ReplayError::Line { line, mismatch }) = complete(header, [late]) else {
        panic!("message 7 was never sent")
    };
    assert_eq!((line, mismatch.to_string().as_str()), (2, "message 7 was not sent before"));
}
