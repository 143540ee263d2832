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

/// What is said at a step is said of a step that there is.
fn runs(lab: &Lab, item: &Value) -> Value {
    let told = lab.told(&lab.run(&json!({ "scenario": item["name"] })));
    assert_eq!(told.header["algorithm"], item["algorithm"]);
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
    }
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
        let lamps = end["lamps"].as_array().unwrap();
        assert!(lamps.iter().any(|lamp| lamp["holds"] == false), "{item}: {end}");
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
