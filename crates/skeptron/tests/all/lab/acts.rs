//! What a hand does to a run.

use serde_json::{Value, json};

use super::server::{Lab, Told};

/// Three nodes that only do what they are told.
fn still() -> Value {
    json!({ "algorithm": "ricart-agrawala", "nodes": 3, "workload": "none", "section": "hand" })
}

fn kinds(told: &Told) -> Vec<&str> {
    told.records.iter().map(|record| record["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_hand_lets_a_node_in_and_out() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": still() }));
    let empty = lab.told(&run);
    assert_eq!((empty.records.len(), &empty.header["holds"]), (0, &json!(true)));
    let acts = format!("{run}/acts");
    let asked = lab.post(&acts, &json!({ "after": 0, "t": 500, "do": "request", "node": 2 }));
    assert_eq!(asked.json(200)["acts"].as_array().unwrap().len(), 1);
    let inside = lab.told(&run);
    assert_eq!(inside.records[0]["by_hand"], true);
    assert_eq!(inside.records[0]["t"], 500);
    assert_eq!(kinds(&inside).last(), Some(&"enter"));
    assert_eq!(inside.header["command"], Value::Null);
    assert_eq!(inside.verdict("progress")["holds"], true);
    let after = inside.records.len();
    let left = lab.post(&acts, &json!({ "after": after, "t": 9000, "do": "release", "node": 2 }));
    left.json(200);
    let told = lab.told(&run);
    assert_eq!(told.records[after]["kind"], "release");
    assert_eq!(told.records[..after], inside.records[..]);
    // Taking back goes the same way, and so does doing again.
    let all = told.header["acts"].clone();
    for (kept, expected) in [(1, &inside), (0, &empty), (1, &inside), (2, &told)] {
        let acts = json!({ "acts": all.as_array().unwrap()[..kept] });
        lab.ask("PUT", &format!("{run}/acts"), "", &acts.to_string()).json(200);
        assert_eq!(&lab.told(&run), expected);
    }
}

/// At a position, what was done there has not happened yet.
#[test]
fn acting_where_one_acted_before_is_another_history() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": still() }));
    let act = |act: Value| lab.post(&format!("{run}/acts"), &act).json(200)["acts"].clone();
    let ask =
        |node: u32, after: usize| json!({ "after": after, "t": 0, "do": "request", "node": node });
    let cut = json!({ "after": 0, "t": 0, "do": "cut", "from": [1], "to": [2], "both_ways": true });
    // A cut leaves no record, so it stays.
    act(cut.clone());
    assert_eq!(act(ask(2, 0)), json!([cut, ask(2, 0)]));
    assert_eq!(act(ask(2, 0)), json!([cut, ask(2, 0)]));
    assert_eq!(act(ask(3, 1)), json!([cut, ask(2, 0), ask(3, 1)]));
    assert_eq!(act(ask(3, 0)), json!([cut, ask(3, 0)]));
}

#[test]
fn whoever_follows_a_run_is_told_what_changes() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": still() }));
    let mut follower = lab.get(&run);
    assert_eq!(follower.next().unwrap().0, "run");
    assert_eq!(follower.rest(0).0, Vec::<Value>::new());
    let act = |act: Value| lab.post(&format!("{run}/acts"), &act).json(200);
    act(json!({ "after": 0, "t": 0, "do": "request", "node": 1 }));
    let (name, cut) = follower.next().unwrap();
    assert_eq!((name.as_str(), &cut["from"]), ("cut", &json!(0)));
    assert_eq!(cut["acts"].as_array().unwrap().len(), 1);
    let (first, _) = follower.rest(0);
    // One of the requests is lost: everything before is as it was.
    let sent = first.iter().position(|record| record["kind"] == "send").unwrap();
    let end_of_step = first.iter().position(|record| record["kind"] == "deliver").unwrap();
    let message = &first[sent]["message"];
    act(json!({ "after": end_of_step, "t": 0, "do": "drop", "message": message }));
    let (name, cut) = follower.next().unwrap();
    assert_eq!((name.as_str(), &cut["from"]), ("cut", &json!(end_of_step)));
    let (rest, end) = follower.rest(end_of_step);
    assert_eq!((&rest[0]["kind"], &rest[0]["cause"]), (&json!("lose"), &json!("hand")));
    assert_eq!(rest[0]["by_hand"], true);
    let verdict = end["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|verdict| verdict["property"] == "progress");
    assert_eq!(verdict.unwrap()["holds"], false, "the request never gets its answer: {end}");
}

#[test]
fn going_back_and_acting_makes_another_history() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": still() }));
    let act = |act: Value| lab.post(&format!("{run}/acts"), &act).json(200)["acts"].clone();
    act(json!({ "after": 0, "t": 0, "do": "request", "node": 1 }));
    let records = lab.told(&run).records.len();
    act(json!({ "after": records, "t": 9000, "do": "crash", "node": 3 }));
    let acts = act(json!({ "after": 3, "t": 0, "do": "request", "node": 2 }));
    let by_hand = |record: &&Value| record["by_hand"] == true;
    assert_eq!(lab.told(&run).records.iter().filter(by_hand).count(), 2);
    assert_eq!(
        acts,
        json!([
            { "after": 0, "t": 0, "do": "request", "node": 1 },
            { "after": 3, "t": 0, "do": "request", "node": 2 },
        ])
    );
    // The same acts at once make the same run.
    let at_once = lab.told(&lab.run(&json!({ "sim": still(), "acts": acts })));
    assert_eq!(at_once, lab.told(&run));
}

#[test]
fn what_is_impossible_changes_nothing() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": { "algorithm": "central", "nodes": 3, "entries": 2 } }));
    let before = lab.told(&run);
    let acts = format!("{run}/acts");
    for (act, said) in [
        (json!({ "after": 0, "t": 0, "do": "release", "node": 2 }), "not inside"),
        (json!({ "after": 0, "t": 0, "do": "deliver", "message": 99 }), "not in flight"),
        (json!({ "after": 0, "t": 0, "do": "restart", "node": 2 }), "not down"),
        (json!({ "after": 0, "t": 0, "do": "call", "node": 2 }), "mutual exclusion"),
        (json!({ "after": 0, "t": 0, "do": "request", "node": 9 }), "only 3 nodes"),
        (json!({ "after": 0, "t": 0, "do": "request", "node": 0 }), "counted from 1"),
        (json!({ "after": 9999, "t": 0, "do": "request", "node": 2 }), "9999"),
        (json!({ "after": 0, "t": u64::MAX, "do": "request", "node": 2 }), "time of an act"),
        (json!({ "after": 0, "t": 0, "do": "mend" }), "not cut"),
        (
            json!({ "after": 0, "t": 0, "do": "cut", "from": [1], "to": [7], "both_ways": true }),
            "P7",
        ),
        (json!({ "after": 0, "t": 0, "do": "dance", "node": 2 }), "dance"),
        (json!({ "after": -1, "t": 0, "do": "request", "node": 2 }), "-1"),
        (json!({ "do": "request", "node": 2 }), "after"),
    ] {
        let error = lab.error(&acts, &act);
        assert!(error.contains(said), "{act}: {error}");
    }
    assert_eq!(lab.told(&run), before);
}

/// What a command recorded is what the command makes: its options are known, and it is changed like any
/// other run.
#[test]
fn a_run_that_its_command_makes_again_is_that_run() {
    let lab = Lab::start();
    let sim =
        json!({ "algorithm": "central", "nodes": 3, "entries": 2, "latency": "exp:2", "seed": 9 });
    let run = lab.run(&json!({ "sim": sim }));
    let text = lab.get(&format!("{run}/export?format=jsonl")).text();
    let again = lab.told(&lab.run(&json!({ "trace": text })));
    assert_eq!(again.records, lab.told(&run).records);
    assert_eq!(
        (&again.header["recorded"], &again.header["may_act"]),
        (&json!(false), &json!(true))
    );
    for (option, value) in sim.as_object().unwrap() {
        assert_eq!(&again.header["sim"][option], value, "{option}");
    }
}

/// Every counterexample of mutual exclusion is forked in its midst and at its end: up to there it is what
/// it was.
#[test]
fn a_recorded_run_is_forked_where_a_hand_acts() {
    let lab = Lab::start();
    let items = lab.get("/lab/scenarios").json(200);
    let names = items.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap());
    let mut forked = 0;
    for name in names.filter(|name| name.starts_with("counterexample/")) {
        let run = lab.run(&json!({ "scenario": name }));
        let recorded = lab.told(&run);
        if recorded.header["may_act"] == false {
            let has_detector = name.contains("agrawal-el-abbadi");
            assert!(has_detector || recorded.header["kind"] == "election", "{name}");
            continue;
        }
        forked += 1;
        let steps = recorded.records.iter().enumerate().filter(|(_, record)| {
            let kind = record["kind"].as_str().unwrap();
            matches!(kind, "request" | "release" | "deliver" | "crash" | "call")
        });
        let steps: Vec<usize> = steps.map(|(place, _)| place).collect();
        for after in [steps[steps.len() / 2], *steps.last().unwrap()] {
            let crashed: Vec<&Value> = recorded.records[..after]
                .iter()
                .filter(|record| record["kind"] == "crash")
                .map(|record| &record["node"])
                .collect();
            let node = (1..).find(|node| !crashed.contains(&&json!(node))).unwrap();
            let t = &recorded.records[after - 1]["t"];
            let act = json!({ "after": after, "t": t, "do": "crash", "node": node });
            let acts = json!({ "acts": [act] }).to_string();
            lab.ask("PUT", &format!("{run}/acts"), "", &acts).json(200);
            let told = lab.told(&run);
            assert_eq!(told.records[..after], recorded.records[..after], "{name} at {after}");
            let crash = &told.records[after];
            assert_eq!(
                (&crash["kind"], &crash["by_hand"]),
                (&json!("crash"), &json!(true)),
                "{name}"
            );
            assert_eq!(told.header["acts"], json!([act]));
        }
        // Taken back, it is what was recorded.
        lab.ask("PUT", &format!("{run}/acts"), "", "{\"acts\": []}").json(200);
        assert_eq!(lab.told(&run), recorded, "{name}");
    }
    assert!(forked > 30, "{forked}");
}

#[test]
fn what_alarms_did_stays_as_it_is() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "scenario": "counterexample/bully-short-timeout" }));
    let told = lab.told(&run);
    assert_eq!((&told.header["may_act"], &told.header["recorded"]), (&json!(false), &json!(true)));
    let act = json!({ "after": 0, "t": 0, "do": "call", "node": 1 });
    let error = lab.error(&format!("{run}/acts"), &act);
    assert!(error.contains("recorded"), "{error}");
}

#[test]
fn elections_are_called_by_hand() {
    let lab = Lab::start();
    let sim = json!({ "algorithm": "bully", "nodes": 4, "initiators": "none" });
    let run = lab.run(&json!({ "sim": sim }));
    assert_eq!(lab.told(&run).records.len(), 0);
    let act = |act: Value| lab.post(&format!("{run}/acts"), &act).json(200);
    act(json!({ "after": 0, "t": 100, "do": "crash", "node": 4 }));
    let after = lab.told(&run).records.len();
    act(json!({ "after": after, "t": 9000, "do": "call", "node": 1 }));
    let told = lab.told(&run);
    let elected = told.records.iter().rev().find(|record| record["kind"] == "elect").unwrap();
    assert_eq!(elected["leader"], 3);
    assert!(elected["epoch"].is_string());
}
