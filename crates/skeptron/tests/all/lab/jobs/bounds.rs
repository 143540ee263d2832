//! What the lab refuses, and that it ends what nobody waits for.

use std::thread;

use serde_json::{Value, json};

use crate::lab::server::Lab;

const PATHS: [&str; 6] = [
    "/lab/compare",
    "/lab/check",
    "/lab/assumptions",
    "/lab/quorum",
    "/lab/structure",
    "/lab/optimise",
];

#[test]
fn a_body_that_is_no_question_is_refused() {
    let lab = Lab::start();
    for path in PATHS {
        for body in ["", "{", "[7]", "7", "null", "\"x\"", "{\"nobody\": 1}", "\u{1F600}"] {
            let answer = lab.ask("POST", path, "", body);
            assert!(answer.json(400)["error"].is_string(), "{path} {body}");
        }
    }
    let wrong = lab.error("/lab/check", &json!({ "algorithm": "lamport", "loss": -1 }));
    assert!(wrong.contains("-1"), "{wrong}");
    let unknown = lab.error("/lab/compare", &json!({ "nodes": [4], "node": 3 }));
    assert!(unknown.contains("`node`"), "{unknown}");
}

#[test]
fn mistakes_are_told_as_on_the_command_line() {
    let lab = Lab::start();
    for (path, asked, said) in [
        ("/lab/compare", json!({ "nodes": [4], "algorithms": ["lampert"] }), "did you mean"),
        ("/lab/compare", json!({ "nodes": [4], "algorithms": ["bully"] }), "elects a leader"),
        ("/lab/compare", json!({ "nodes": [1] }), "at least 2 nodes"),
        ("/lab/compare", json!({ "nodes": [4], "latency": "soon" }), "soon"),
        ("/lab/compare", json!({ "nodes": [4], "seeds": 0 }), "at least one run"),
        (
            "/lab/compare",
            json!({ "nodes": [4], "elections": true, "latency": "2" }),
            "cannot be used",
        ),
        ("/lab/check", json!({ "algorithm": "maekawaa" }), "did you mean `maekawa`"),
        ("/lab/check", json!({ "algorithm": "--all" }), "no algorithm"),
        ("/lab/check", json!({ "algorithm": "lamport", "order": "none" }), "`fifo` or `any`"),
        ("/lab/check", json!({ "algorithm": "lamport", "victims": "P1" }), "--crashes"),
        ("/lab/check", json!({ "algorithm": "lamport", "ring": "descending" }), "--ring"),
        ("/lab/quorum", json!({}), "either"),
        ("/lab/quorum", json!({ "kind": "grid" }), "how many nodes"),
        ("/lab/quorum", json!({ "kind": "grid", "nodes": 4, "height": 2 }), "--height"),
        ("/lab/quorum", json!({ "kind": "fano", "of": "P8" }), "P8"),
        ("/lab/quorum", json!({ "kind": "fano", "p": 2.0 }), "2"),
        ("/lab/structure", json!({}), "which structure"),
        ("/lab/optimise", json!({}), "--rates"),
        ("/lab/structure", json!({ "text": "{}" }), "request"),
    ] {
        let error = lab.error(path, &asked);
        assert!(error.contains(said), "{path} {asked}: {error}");
    }
}

#[test]
fn no_file_is_read() {
    let lab = Lab::start();
    let file = "Cargo.toml";
    for (path, asked) in [
        ("/lab/compare", json!({ "nodes": [4], "latency": "file:Cargo.toml" })),
        ("/lab/compare", json!({ "nodes": [4], "latency": "matrix:Cargo.toml" })),
        ("/lab/compare", json!({ "nodes": [4], "section": "file:Cargo.toml" })),
        ("/lab/check", json!({ "algorithm": "maekawa", "quorum": file })),
        ("/lab/check", json!({ "algorithm": "sanders", "structure": file })),
        ("/lab/check", json!({ "algorithm": "raymond", "tree": file })),
        ("/lab/check", json!({ "algorithm": "raymond", "disk": "search" })),
        ("/lab/check", json!({ "algorithm": "spanning-tree", "graph": file })),
        ("/lab/quorum", json!({ "kind": file })),
        ("/lab/structure", json!({ "what": file })),
        ("/lab/structure", json!({ "what": "maekawa", "quorum": file })),
    ] {
        let error = lab.error(path, &asked);
        assert!(error.contains("the lab reads no files"), "{path} {asked}: {error}");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_begins() {
    let lab = Lab::start();
    let list = |count: usize| vec!["1"; count].join(",");
    let weights = vec![1; 1001];
    let sizes: Vec<usize> = (2..15).collect();
    for (path, asked) in [
        ("/lab/compare", json!({ "nodes": [257] })),
        ("/lab/compare", json!({ "nodes": sizes })),
        ("/lab/compare", json!({ "nodes": [4], "entries": 20_001 })),
        ("/lab/compare", json!({ "nodes": [4], "seeds": 101 })),
        ("/lab/compare", json!({ "nodes": [4], "elections": true, "seeds": 1001 })),
        ("/lab/compare", json!({ "nodes": [4], "algorithms": vec!["lamport"; 65] })),
        ("/lab/check", json!({ "algorithm": "lamport", "nodes": 14 })),
        ("/lab/check", json!({ "algorithm": "maekawa", "quorum": "projective:4" })),
        ("/lab/check", json!({ "algorithm": "lamport", "requests": list(9000) })),
        ("/lab/quorum", json!({ "kind": "majority", "nodes": 1001 })),
        ("/lab/quorum", json!({ "kind": "weighted", "weights": weights })),
        ("/lab/quorum", json!({ "kind": "wall", "rows": [1, 1_000_000_000] })),
        ("/lab/quorum", json!({ "kind": "tree", "height": 30 })),
        ("/lab/quorum", json!({ "text": "nodes 1001\n1 2\n" })),
        ("/lab/structure", json!({ "what": "lamport", "nodes": 201 })),
        ("/lab/optimise", json!({ "rates": list(41) })),
    ] {
        let error = lab.error(path, &asked);
        assert!(error.contains("too many"), "{path} {asked}: {error}");
    }
}

/// A search of minutes.
fn endless() -> Value {
    json!({ "algorithm": "lamport", "nodes": 5, "requests": "3" })
}

#[test]
fn closing_a_stream_ends_its_job() {
    let lab = Lab::start();
    let places = thread::available_parallelism().map_or(1, usize::from);
    let mut busy: Vec<_> = (0..places).map(|_| lab.post("/lab/check", &endless())).collect();
    // Each is at work.
    for answer in &mut busy {
        assert!(answer.any(|(name, value)| name == "progress" && value["states"] != 0));
    }
    let mut waiting = lab.post("/lab/quorum", &json!({ "kind": "fano" }));
    let (name, progress) = waiting.next().unwrap();
    assert_eq!(name, "progress");
    assert!(progress["label"].as_str().unwrap().contains("waiting"), "{progress}");
    drop(busy);
    assert_eq!(waiting.last().unwrap().0, "result", "there is a place again");
}

#[test]
fn a_comparison_ends_within_a_run() {
    let lab = Lab::start();
    let places = thread::available_parallelism().map_or(1, usize::from);
    // A token that goes round ten thousand times between two requests.
    let asked = json!({ "algorithms": ["token-ring"], "nodes": [8, 9, 10, 11], "latency": "0.001",
                        "entries": 20_000, "seeds": 100 });
    let mut busy: Vec<_> = (0..places).map(|_| lab.post("/lab/compare", &asked)).collect();
    for answer in &mut busy {
        assert!(answer.any(|(name, _)| name == "rows"));
    }
    drop(busy);
    lab.result("/lab/quorum", &json!({ "kind": "fano" }));
}
