//! Runs: told as the command line tells them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use skeptron_core::catalogue;

use super::server::Lab;

/// What the command writes to a file with that extension.
fn written(command: &Value, extension: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("run.{extension}"));
    let words = command.as_str().unwrap().strip_prefix("skeptron ").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_skeptron"))
        .args(words.split(' '))
        .args([Path::new("--trace"), &file])
        .output()
        .unwrap();
    assert!(ran.status.code().unwrap() < 2, "{ran:?}");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn a_run_is_exported_as_the_command_line_writes_it() {
    let lab = Lab::start();
    for sim in [
        json!({ "algorithm": "ricart-agrawala", "nodes": 3, "entries": 4, "seed": 7 }),
        json!({ "algorithm": "maekawa", "quorum": "fano", "entries": 9, "latency": "exp:1" }),
        json!({ "algorithm": "central", "loss": 0.1, "crash": ["3@5..9"], "entries": 20, "order": "any" }),
        json!({ "algorithm": "bully", "nodes": 4, "crash": ["4@0"] }),
    ] {
        let run = lab.run(&json!({ "sim": sim }));
        let command = &lab.told(&run).header["command"];
        for (format, extension) in [
            ("svg", "svg"),
            ("jsonl", "jsonl"),
            ("mmd", "mmd"),
            ("shiviz", "shiviz"),
            ("txt", "txt"),
            ("perfetto", "json"),
        ] {
            let file = lab.get(&format!("{run}/export?format={format}"));
            let name = format!("filename=\"{}.{extension}\"", sim["algorithm"].as_str().unwrap());
            assert!(file.headers.contains(&name), "{}", file.headers);
            assert!(file.text() == written(command, extension), "{command} {format}");
        }
    }
}

#[test]
fn what_was_exported_plays_again() {
    let lab = Lab::start();
    for sim in [
        json!({ "algorithm": "suzuki-kasami", "nodes": 4, "entries": 6, "duplicate": 0.2 }),
        json!({ "algorithm": "ring", "nodes": 5, "crash": ["5@0..20"], "initiators": "all" }),
    ] {
        let run = lab.run(&json!({ "sim": sim }));
        let first = lab.told(&run);
        let text = lab.get(&format!("{run}/export?format=jsonl")).text();
        let again = lab.told(&lab.run(&json!({ "trace": text })));
        assert_eq!(first.records, again.records);
        assert_eq!(first.header["topology"], again.header["topology"]);
    }
}

#[test]
fn records_say_who_when_what() {
    let lab = Lab::start();
    let sim = json!({ "algorithm": "suzuki-kasami", "nodes": 3, "requesters": "P2", "entries": 1 });
    let told = lab.told_sim(&sim);
    assert_eq!(told.header["nodes"], 3);
    assert_eq!(told.header["kind"], "mutex");
    assert_eq!(told.header["may_act"], true);
    let of_kind = |kind: &str| told.records.iter().find(|record| record["kind"] == kind).unwrap();
    assert_eq!(
        *of_kind("request"),
        json!({"t": 0, "node": 2, "kind": "request", "text": "requests"})
    );
    let send = of_kind("send");
    assert_eq!((&send["label"], &send["to"]), (&json!("REQUEST"), &json!(1)));
    assert_eq!(send["content"], "(number=1)");
    let deliver = of_kind("deliver");
    assert_eq!(
        (&deliver["message"], &deliver["text"]),
        (&send["message"], &json!("REQUEST 1 ← P2"))
    );
    assert_eq!(of_kind("enter")["fence"], 1);
    let figures = told.end["figures"].as_array().unwrap();
    let messages = figures.iter().find(|figure| figure["name"] == "messages per entry").unwrap();
    assert_eq!((&messages["measured"], &messages["holds"]), (&json!("3"), &json!(true)));
}

/// The state at the start of a chunk is what all changes before it add up to, and a run told in chunks
/// has no gaps.
#[test]
fn states_add_up_from_chunk_to_chunk() {
    let lab = Lab::start();
    for name in ["lamport", "maekawa", "singhal", "raymond", "sanders"] {
        let sim = json!({ "algorithm": name, "nodes": 4, "entries": 60, "pause": ["2@9..12"] });
        let run = lab.run(&json!({ "sim": sim }));
        let records = lab.told(&run).records;
        let chunk = |k: usize| lab.get(&format!("{run}/states?chunk={k}"));
        let mut states = chunk(0).json(200)["start"].as_array().unwrap().clone();
        assert_eq!(states.len(), 4);
        let chunks = records.len().div_ceil(256);
        assert!(chunks > 1, "{name}: {}", records.len());
        for k in 0..chunks {
            let told = chunk(k).json(200);
            assert_eq!(told["start"].as_array().unwrap(), &states, "{name}, chunk {k}");
            for change in told["changes"].as_array().unwrap() {
                let record = change["record"].as_u64().unwrap() as usize;
                assert!((k * 256..(k + 1) * 256).contains(&record));
                assert_eq!(change["node"], records[record]["node"]);
                let node = change["node"].as_u64().unwrap() as usize - 1;
                assert_ne!(states[node], change["state"], "it changes something");
                states[node] = change["state"].clone();
            }
        }
        assert_eq!(chunk(chunks).status, 422);
    }
}

/// Every variable of every correct algorithm is found in a state, and says something at some time.
#[test]
fn every_variable_has_a_value() {
    let lab = Lab::start();
    let infos = lab.get("/lab/algorithms").json(200);
    for info in infos.as_array().unwrap().iter().filter(|info| info["broken"].is_null()) {
        let sim = json!({ "algorithm": info["name"], "nodes": 4 });
        let run = lab.run(&json!({ "sim": sim }));
        let chunk = lab.get(&format!("{run}/states?chunk=0")).json(200);
        let fields = |list: &Value| -> Vec<Value> {
            list.as_array().unwrap().iter().map(|variable| variable["field"].clone()).collect()
        };
        assert_eq!(fields(&chunk["start"][0]["vars"]), fields(&info["variables"]), "{info}");
        let states = chunk["changes"].as_array().unwrap().iter().map(|change| &change["state"]);
        let states: Vec<&Value> = states.chain(chunk["start"].as_array().unwrap()).collect();
        for (place, variable) in info["variables"].as_array().unwrap().iter().enumerate() {
            let says = |state: &&Value| state["vars"][place]["value"] != "–";
            let said = states.iter().filter(|state| state["up"] == true).any(says);
            assert!(said, "{}: {variable} is never anything", info["name"]);
        }
    }
}

#[test]
fn lamps_show_what_is_violated_and_where() {
    let lab = Lab::start();
    let fine = lab.told_sim(&json!({ "algorithm": "lamport", "nodes": 4, "entries": 50 }));
    for property in ["exclusion", "progress", "order", "fence"] {
        assert_eq!(fine.verdict(property)["holds"], true, "{property}");
    }
    let unordered = lab.told_sim(&json!({ "algorithm": "raymond", "nodes": 4, "entries": 50 }));
    assert_eq!(unordered.verdict("order")["holds"], Value::Null);
    let naive = json!({ "algorithm": "maekawa-naive", "nodes": 7, "entries": 50 });
    let stuck = lab.told_sim(&naive);
    let verdict = stuck.verdict("progress");
    assert_eq!(verdict["holds"], false);
    let record = &stuck.records[verdict["at"].as_u64().unwrap() as usize];
    assert_eq!((&record["kind"], &record["property"]), (&json!("violation"), &json!("progress")));
    let election = lab.told_sim(&json!({ "algorithm": "bully", "nodes": 4, "crash": ["4@0"] }));
    for property in ["agreement", "validity", "termination"] {
        assert_eq!(election.verdict(property)["holds"], true, "{property}");
    }
}

#[test]
fn layouts_are_told() {
    let lab = Lab::start();
    let topology = |sim: Value| lab.told_sim(&sim).header["topology"].clone();
    let tree = topology(json!({ "algorithm": "raymond", "nodes": 3, "tree": "line" }));
    assert_eq!(tree["tree"], json!([null, 1, 2]));
    let fano = topology(json!({ "algorithm": "maekawa", "quorum": "fano" }));
    assert_eq!(fano["quorums"].as_array().unwrap().len(), 7);
    let ring = topology(json!({ "algorithm": "ring", "ring": "2,1,3" }));
    assert_eq!(ring["ring"], json!([2, 1, 3]));
    let graph = topology(json!({ "algorithm": "spanning-tree", "nodes": 4, "graph": "ring" }));
    assert_eq!(graph["links"], json!([[1, 2], [1, 4], [2, 3], [3, 4]]));
    let central = topology(json!({ "algorithm": "central", "nodes": 3, "coordinator": "P2" }));
    assert_eq!(central["coordinator"], 2);
    let sanders = topology(json!({ "algorithm": "sanders", "structure": "sanders-4" }));
    assert!(sanders["request"].is_array() && sanders["inform"].is_array());
    let token = topology(json!({ "algorithm": "token-ring", "nodes": 3, "entries": 2 }));
    assert_eq!(token["ring"], json!([1, 2, 3]));
    assert_eq!(catalogue::all().filter(|info| info.name.starts_with("token-ring")).count(), 2);
}

#[test]
fn a_run_is_where_only_its_maker_knows() {
    let lab = Lab::start();
    let request = json!({ "sim": { "algorithm": "central", "entries": 1 } });
    let (one, other) = (lab.run(&request), lab.run(&request));
    assert_ne!(one, other);
    assert_eq!(one.len(), "/lab/runs/".len() + 32);
    let mut near = one.clone();
    let last = if near.pop() == Some('0') { '1' } else { '0' };
    near.push(last);
    assert_eq!(lab.get(&near).status, 404);
}

/// A run of the checker says of itself what it is: its system and its channels.
#[test]
fn a_counterexample_tells_its_options() {
    let lab = Lab::start();
    let sim = |name: &str| {
        let run = lab.run(&json!({ "scenario": format!("counterexample/{name}") }));
        lab.told(&run).header["sim"].clone()
    };
    let lamport = sim("lamport-without-fifo");
    assert_eq!((&lamport["order"], &lamport["latency"]), (&json!("any"), &Value::Null));
    let maekawa = sim("maekawa-1985");
    assert!(maekawa["quorum"].is_string(), "{maekawa}");
}

/// A node that answers an election holds one, too: its own state says so.
#[test]
fn the_nodes_of_an_election_are_what_their_state_says() {
    let lab = Lab::start();
    for info in skeptron_core::catalogue::sound_elections() {
        let name = info.name;
        let sim =
            json!({ "algorithm": name, "nodes": 4, "crash": ["4@1..9"], "initiators": "1@2" });
        let told = lab.told_sim(&sim);
        let becomes = |node: u32, phase: &str| {
            let mut records = told.records.iter();
            records.any(|record| record["node"] == node && record["becomes"] == phase)
        };
        assert!(becomes(1, "waiting"), "{name}: P1 calls an election");
        assert!(becomes(4, "down"), "{name}");
        let leads = (1..=4).any(|node| becomes(node, "inside"));
        assert!(leads, "{name}: somebody leads");
        let other = (2..=3).any(|node| becomes(node, "waiting"));
        assert!(other, "{name}: others take part");
    }
    let bully = lab.told_sim(&json!({ "algorithm": "bully", "nodes": 3, "initiators": "none" }));
    assert_eq!(bully.header["phases"], json!(["idle", "idle", "inside"]));
}
