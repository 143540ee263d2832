//! Every scenario of the gallery, and every counterexample.

use serde_json::{Value, json};
use skeptron_core::catalogue;

use super::server::Lab;

fn items(lab: &Lab) -> Vec<Value> {
    lab.get("/lab/scenarios").json(200).as_array().unwrap().clone()
}

fn is_counterexample(item: &Value) -> bool {
    item["group"] == "counterexamples"
}

/// What is said at a step is said of a step that there is, and it is so.
fn runs(lab: &Lab, item: &Value) -> Value {
    let told = lab.told(&lab.run(&json!({ "scenario": item["name"] })));
    assert_eq!(told.header["algorithm"], item["algorithm"]);
    assert_eq!(told.end["doubts"], json!([]), "{}", item["name"]);
    let notes = item["notes"].as_array().unwrap();
    let places: Vec<u64> = notes.iter().map(|note| note["at"].as_u64().unwrap()).collect();
    assert!(places.is_sorted(), "{item}");
    assert!(places.iter().all(|&at| at <= told.records.len() as u64), "{item}");
    told.end
}

#[test]
fn every_scenario_runs() {
    let lab = Lab::start();
    for item in items(&lab).iter().filter(|item| !is_counterexample(item)) {
        for text in ["title", "group", "summary"] {
            assert!(!item[text].as_str().unwrap().is_empty(), "{item}");
        }
        runs(&lab, item);
        // What an erratum says is of what was printed.
        if item["group"] == "errata of the lectures" {
            continue;
        }
        for note in item["notes"].as_array().unwrap() {
            assert!(!note["facts"].as_array().unwrap().is_empty(), "{}: {note}", item["name"]);
        }
    }
}

/// Each kind of fact is looked up: what is so is not doubted, and what is not so is.
#[test]
fn a_note_that_is_not_so_is_doubted() {
    let lab = Lab::start();
    let sim = json!({ "algorithm": "central", "nodes": 2, "requesters": "P2", "entries": 1 });
    // P2 requests, P1 grants, P2 enters.
    let facts = [
        (
            json!({ "record": 1, "node": 2, "kind": "send", "label": "REQUEST", "peer": 1 }),
            json!({ "record": 1, "node": 2, "kind": "send", "label": "REQUEST", "peer": 2 }),
        ),
        (
            json!({ "record": 0, "node": 2, "kind": "request" }),
            json!({ "record": 9, "node": 1, "kind": "enter" }),
        ),
        (
            json!({ "node": 2, "field": "phase", "value": "inside" }),
            json!({ "node": 2, "field": "phase", "value": "idle" }),
        ),
        (
            json!({ "node": 1, "field": "phase", "value": "idle" }),
            json!({ "node": 7, "field": "phase", "value": "idle" }),
        ),
        (
            json!({ "count": 1, "kind": "send", "label": "REPLY" }),
            json!({ "count": 1, "kind": "send" }),
        ),
        (json!({ "holds": "exclusion" }), json!({ "violated": "exclusion" })),
    ];
    let doubts = |facts: Vec<&Value>| {
        let notes = json!([{ "at": 6, "text": "", "facts": facts }]);
        lab.told(&lab.run(&json!({ "sim": sim, "notes": notes }))).end["doubts"].clone()
    };
    assert_eq!(doubts(facts.iter().map(|(so, _)| so).collect()), json!([]));
    for (_, not_so) in &facts {
        assert_eq!(doubts(vec![not_so]).as_array().unwrap().len(), 1, "{not_so}");
    }
}

#[test]
fn the_gallery_goes_the_way_of_a_lecture() {
    let lab = Lab::start();
    let items = items(&lab);
    let stops: Vec<&Value> = items.iter().filter(|item| item["stop"].is_u64()).collect();
    let names: Vec<&str> = stops.iter().map(|item| item["name"].as_str().unwrap()).collect();
    let begin = ["logical-clocks", "central", "token-ring", "lamport-queues"];
    assert_eq!(names[..4], begin);
    for (place, item) in stops.iter().enumerate() {
        assert_eq!(item["stop"], place + 1, "a stop of the lecture is missing: {names:?}");
    }
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(place("naimi-trehel") < place("bully"), "elections come last");
    // What is beside the lecture comes after it, and what the checker found comes last.
    assert!(items[..stops.len()].iter().all(|item| item["stop"].is_u64()));
    let first = items.iter().position(is_counterexample).unwrap();
    assert!(items[first..].iter().all(is_counterexample));
}

#[test]
fn a_lecturers_own_scenarios_hang_there_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let mut mine = json!({
        "title": "Mine", "summary": "Of my own.",
        "sim": { "algorithm": "central", "nodes": 2, "workload": "none" },
        "acts": [{ "after": 0, "t": 0, "do": "request", "node": 2 }],
        "notes": [{ "at": 1, "text": "P2 asks.", "facts": [{ "record": 0, "node": 2, "kind": "request" }] }],
    });
    std::fs::write(&file, mine.to_string()).unwrap();
    let lab = Lab::start_with(&["--gallery", folder.path().to_str().unwrap()]);
    let item = |lab: &Lab| items(lab).into_iter().find(|item| item["name"] == "own/mine").unwrap();
    assert_eq!(item(&lab)["group"], "your own");
    assert_eq!(runs(&lab, &item(&lab))["doubts"], json!([]));
    // It is read anew, and what is no longer so is said.
    mine["acts"][0]["node"] = json!(1);
    std::fs::write(&file, mine.to_string()).unwrap();
    let told = lab.told(&lab.run(&json!({ "scenario": "own/mine" })));
    assert_eq!(told.end["doubts"].as_array().unwrap().len(), 1);
    std::fs::write(&file, "{").unwrap();
    assert!(lab.error("/lab/runs", &json!({ "scenario": "own/mine" })).contains("own/mine"));
}

#[test]
fn a_recorded_run_hangs_there_as_well() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "scenario": "counterexample/lamport-without-fifo" }));
    let trace = lab.get(&format!("{run}/export?format=jsonl")).text();
    let folder = tempfile::tempdir().unwrap();
    let mine = json!({ "title": "Mine", "summary": "", "trace": trace, "notes": [] });
    std::fs::write(folder.path().join("mine.json"), mine.to_string()).unwrap();
    let own = Lab::start_with(&["--gallery", folder.path().to_str().unwrap()]);
    let item = items(&own).into_iter().find(|item| item["name"] == "own/mine").unwrap();
    assert_eq!(item["algorithm"], "lamport-without-fifo");
    let told = own.told(&own.run(&json!({ "scenario": "own/mine" })));
    assert_eq!(told.records, lab.told(&run).records);
}

#[test]
fn the_engine_knows_where_a_variant_leaves_the_rules() {
    let lab = Lab::start();
    let exercises = include_str!("../../../ui/exercises.json");
    let exercises: Value = serde_json::from_str(exercises).unwrap();
    for name in exercises["bugs"].as_array().unwrap() {
        let scenario = format!("counterexample/{}", name.as_str().unwrap());
        let run = lab.run(&json!({ "scenario": scenario }));
        let mistake = lab.get(&format!("{run}/mistake")).json(200);
        let record = mistake["record"].as_u64().unwrap_or_else(|| panic!("{name}: {mistake}"));
        assert_eq!(lab.told(&run).records[record as usize]["node"], mistake["node"], "{name}");
    }
    let run = lab.run(&json!({ "scenario": "counterexample/ricart-agrawala-no-tie-break" }));
    let mistake = lab.get(&format!("{run}/mistake")).json(200);
    let told = lab.told(&run);
    let record = &told.records[mistake["record"].as_u64().unwrap() as usize];
    assert_eq!(record["kind"], "deliver", "an equal timestamp arrives: {mistake}");
    // Where every node keeps to the rules the channel is to blame.
    let run = lab.run(&json!({ "scenario": "counterexample/lamport-without-fifo" }));
    assert_eq!(lab.get(&format!("{run}/mistake")).json(200), Value::Null);
    let sound = lab.run(&json!({ "sim": { "algorithm": "central", "entries": 1 } }));
    assert_eq!(lab.get(&format!("{sound}/mistake")).status, 422);
}

#[test]
fn every_broken_variant_is_refuted_in_the_gallery() {
    let lab = Lab::start();
    let items: Vec<Value> = items(&lab).into_iter().filter(is_counterexample).collect();
    let broken = catalogue::all().filter(|info| info.broken.is_some()).count()
        + catalogue::elections().filter(|info| info.broken.is_some()).count();
    assert_eq!(items.len(), broken);
    for item in &items {
        let end = runs(&lab, item);
        let verdicts = end["verdicts"].as_array().unwrap();
        assert!(verdicts.iter().any(|verdict| verdict["holds"] == false), "{item}: {end}");
    }
}

#[test]
fn what_does_not_hang_there_is_not_found() {
    let lab = Lab::start();
    for name in ["", "nothing", "../jsconfig", "counterexample/", "counterexample/lamport"] {
        let answer = lab.post("/lab/runs", &json!({ "scenario": name }));
        assert_eq!(answer.status, 404, "{name}");
    }
}
