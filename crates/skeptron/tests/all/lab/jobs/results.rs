//! Each job's result is what the command of the same name prints.

use serde_json::{Value, json};
use skeptron_sim::trace::{Trace, What};

use super::{cli, words_of};
use crate::lab::server::Lab;

#[test]
fn compare_says_what_the_command_says() {
    let lab = Lab::start();
    let asked =
        json!({ "algorithms": ["lamport", "maekawa"], "nodes": [2, 4], "entries": 40, "seeds": 2 });
    let events = lab.events("/lab/compare", &asked);
    let result = &events.last().unwrap().1;
    let printed = cli("compare lamport maekawa -n 2,4 --entries 40 --seeds 2 --json");
    assert_eq!(result["rows"], printed);
    assert_eq!(cli(&(words_of(&result["command"]) + " --json")), printed);
    let rows = printed.as_array().unwrap();
    let told = events.iter().filter(|(name, _)| name == "rows");
    let told: Vec<&Value> = told.flat_map(|(_, rows)| rows.as_array().unwrap()).collect();
    assert_eq!(told.len(), rows.len());
    assert!(rows.iter().all(|row| told.contains(&row)), "every row is told as it comes");
    for figure in ["jain", "longest_bypass", "load_balance"] {
        let of_it = || rows.iter().filter(|row| row["figure"] == figure);
        assert_eq!(of_it().count(), 4);
        assert!(
            of_it().all(|row| row["measured"].is_object() && row["claim"].is_null()),
            "{figure}"
        );
    }
    assert!(events.iter().any(|(name, progress)| name == "progress" && progress["total"] == 16));
}

#[test]
fn a_curve_goes_through_the_claims_of_the_rows() {
    let lab = Lab::start();
    let asked = json!({ "algorithms": ["raymond", "maekawa"], "nodes": [3, 7], "entries": 20 });
    let result = lab.result("/lab/compare", &asked);
    let rows = result["rows"].as_array().unwrap();
    let curves = result["curves"].as_array().unwrap();
    for row in rows.iter().filter(|row| row["claim"].is_object()) {
        let is_its = |curve: &&Value| {
            curve["algorithm"] == row["algorithm"] && curve["figure"] == row["figure"]
        };
        let curve = curves.iter().find(is_its).expect("each claim has its line");
        let points = curve["points"].as_array().unwrap();
        assert_eq!(points.len(), 5, "3, 4, 5, 6, 7");
        let here = points.iter().find(|point| point["nodes"] == row["nodes"]).unwrap();
        for value in ["low", "typical", "high"] {
            assert_eq!(here[value], row["claim"][value]);
        }
    }
}

#[test]
fn elections_are_compared_as_the_command_does() {
    let lab = Lab::start();
    let asked = json!({ "algorithms": ["bully", "ring"], "elections": true, "nodes": [3, 5] });
    let result = lab.result("/lab/compare", &asked);
    assert_eq!(result["rows"], cli("compare --elections bully ring -n 3,5 --json"));
    let curves = result["curves"].as_array().unwrap();
    assert!(curves.iter().all(|curve| curve["case"].is_string()));
    assert!(curves.iter().any(|curve| curve["points"].as_array().unwrap().len() == 3));
}

fn assert_same_search(result: &Value, printed: &Value) {
    for field in ["states", "transitions", "depth", "complete", "out_of_memory", "command"] {
        assert_eq!(result[field], printed[field], "{field}");
    }
    let all = |value: &Value| value["properties"].as_array().unwrap().clone();
    assert_eq!(all(result).len(), all(printed).len());
    for (told, printed) in all(result).iter().zip(all(printed)) {
        for field in ["name", "holds", "trace_length"] {
            assert_eq!(told[field], printed[field], "{field}");
        }
        assert_eq!(told["trace"].is_string(), printed["counterexample"].is_object());
    }
}

#[test]
fn check_says_what_the_command_says() {
    let lab = Lab::start();
    let asked = json!({ "algorithm": "ricart-agrawala", "nodes": 3, "order": "any" });
    let events = lab.events("/lab/check", &asked);
    assert!(events.iter().any(|(name, value)| name == "progress" && value["states"].is_u64()));
    let printed = cli("check ricart-agrawala -n 3 --order any --json");
    assert_same_search(&events.last().unwrap().1, &printed);
}

#[test]
fn a_counterexample_is_a_run_to_play() {
    let lab = Lab::start();
    for (asked, command) in [
        (
            json!({ "algorithm": "ricart-agrawala-no-tie-break", "nodes": 2, "keep_going": true }),
            "check ricart-agrawala-no-tie-break -n 2 --keep-going --json",
        ),
        (
            json!({ "algorithm": "suzuki-kasami", "crashes": 1, "crash_when": "holding",
                    "victims": "P1", "requests": "1" }),
            "check suzuki-kasami --requests 1 --crashes 1 --crash-when holding --victims P1 --json",
        ),
        (
            json!({ "algorithm": "bully", "nodes": 3, "premature": 1, "calls": 1 }),
            "check bully -n 3 --calls 1 --premature 1 --json",
        ),
    ] {
        let result = lab.result("/lab/check", &asked);
        assert_same_search(&result, &cli(command));
        let properties = result["properties"].as_array().unwrap();
        let broken = properties.iter().find(|property| property["trace"].is_string());
        let text = broken.expect("something breaks")["trace"].as_str().unwrap();
        let trace = Trace::read(text.as_bytes()).unwrap();
        skeptron_sim::replay::replay(&trace).unwrap();
        let last = trace.records.last().map(|record| &record.what);
        assert!(matches!(last, Some(What::Violation { .. })), "{asked}");
    }
}

#[test]
fn the_cells_of_the_table_are_what_their_commands_say() {
    let lab = Lab::start();
    for elections in [false, true] {
        let mut told = lab.post("/lab/assumptions", &json!({ "elections": elections }));
        let (name, table) = told.next().unwrap();
        assert_eq!(name, "table");
        assert_eq!(table["conditions"].as_array().unwrap().len(), 7);
        let cells: Vec<Value> =
            told.filter(|(name, _)| name == "cell").map(|(_, cell)| cell).take(4).collect();
        for cell in cells {
            let printed = cli(&(words_of(&cell["command"]) + " --json"));
            assert_eq!(cell["states"], printed["states"], "{}", cell["command"]);
            let again = lab.result("/lab/check", &cell["request"]);
            assert_same_search(&again, &printed);
            let breaks = cell["properties"].as_array().unwrap();
            let runs = breaks.iter().filter(|property| property["trace"].is_string()).count();
            assert_eq!(runs, usize::from(cell["holds"] == false), "{cell}");
        }
    }
}

#[test]
fn quorums_are_told_and_drawn_as_by_the_command() {
    let lab = Lab::start();
    for (asked, command) in [
        (json!({ "kind": "grid", "nodes": 9 }), "quorum grid -n 9"),
        (json!({ "kind": "wall", "rows": [1, 2, 3] }), "quorum wall --rows 1,2,3"),
        (
            json!({ "kind": "weighted", "weights": [3, 1, 1], "p": 0.2 }),
            "quorum weighted --weights 3,1,1 --p 0.2",
        ),
        (json!({ "kind": "projective", "order": 3, "of": "P5" }), "quorum projective --order 3"),
        (json!({ "kind": "tree", "height": 2, "picture": "none" }), "quorum tree --height 2"),
        (
            json!({ "kind": "majority", "nodes": 3, "capacities": [1.0, 2.0, 2.0],
                    "latencies": [1.0, 1.0, 5.0] }),
            "quorum majority -n 3 --capacities 1,2,2 --latencies 1,1,5",
        ),
        (json!({ "kind": "best", "nodes": 7 }), "quorum best -n 7"),
    ] {
        let result = lab.result("/lab/quorum", &asked);
        let printed = cli(&format!("{command} --json"));
        assert_eq!(result["report"], printed, "{command}");
        assert_eq!(printed["candidates"].is_array(), asked["kind"] == "best");
        assert_eq!(cli(&(words_of(&result["command"]) + " --json")), printed);
        match result["svg"].as_str() {
            Some(svg) => assert!(skeptron_markup::elements(svg).unwrap().contains_key("svg")),
            None => assert_eq!(asked["picture"], "none"),
        }
    }
    let of = |node: &str| lab.result("/lab/quorum", &json!({ "kind": "fano", "of": node }));
    assert_ne!(of("P1")["svg"], of("P4")["svg"], "each shows its own quorum");
}

#[test]
fn quorums_may_come_as_text() {
    let lab = Lab::start();
    let told = |text: &str| lab.result("/lab/quorum", &json!({ "text": text }));
    let result = told("1: 1 2\n2: 2 3\n3: 3 1\n");
    assert_eq!(result["report"]["nodes"], 3);
    assert_eq!(result["report"]["conditions"]["intersecting"], true);
    assert!(result["svg"].is_string());
    let apart = told("[[1],[2]]");
    assert!(apart["report"]["conditions"]["violation"].is_string());
    assert!(apart["svg"].is_null());
    let wrong = lab.error("/lab/quorum", &json!({ "text": "1 2\n2 x\n" }));
    assert!(wrong.contains("line 2") && wrong.contains("`x`"), "{wrong}");
}

#[test]
fn structures_are_judged_and_searched_as_by_the_command() {
    let lab = Lab::start();
    for (asked, command) in [
        (json!({ "what": "sanders-4" }), "structure sanders-4"),
        (
            json!({ "what": "maekawa", "quorum": "grid", "nodes": 9 }),
            "structure maekawa --quorum grid -n 9",
        ),
        (json!({ "what": "star:P2", "rates": "1,5,1" }), "structure star:P2 --rates 1,5,1"),
        (
            json!({ "rates": "4,3,2,1", "busiest": 0.5 }),
            "structure optimise --rates 4,3,2,1 --busiest 0.5",
        ),
    ] {
        let searched = command.starts_with("structure optimise");
        let path = if searched { "/lab/optimise" } else { "/lab/structure" };
        let result = lab.result(path, &asked);
        let printed = cli(&format!("{command} --json"));
        assert_eq!(result["report"], printed, "{command}");
        assert_eq!(printed["valid"], true);
        assert_eq!(cli(&(words_of(&result["command"]) + " --json")), printed);
    }
    let text = json!({ "request": [[1], [2]], "inform": [[1], [2]] }).to_string();
    let judged = lab.result("/lab/structure", &json!({ "text": text }));
    assert_eq!(judged["report"]["valid"], false);
    assert!(judged["report"]["violation"].is_object());
}
