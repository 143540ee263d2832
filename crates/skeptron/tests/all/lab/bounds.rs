//! What the lab refuses, and what it survives.

use std::io::Write as _;

use serde_json::{Value, json};

use super::server::{Answer, Lab};

#[test]
fn a_body_that_is_no_run_is_refused() {
    let lab = Lab::start();
    for body in ["", "{", "[]", "7", "null", "\"x\"", "{\"nobody\": 1}", "\u{1F600}", "{}"] {
        let answer = lab.ask("POST", "/lab/runs", "", body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json(400)["error"].is_string());
    }
    let deep = "[".repeat(50_000);
    assert_eq!(lab.ask("POST", "/lab/runs", "", &deep).status, 400);
    for (request, said) in [
        (json!({ "sim": { "algorithm": "lamport", "node": 3 } }), "`node`"),
        (json!({ "sim": { "algorithm": "lamport", "nodes": "3" } }), "string \"3\""),
        (json!({ "sim": { "algorithm": "lamport" }, "scenario": "x" }), "exactly one"),
        (json!({ "sim": { "algorithm": "lamport" }, "extra": 1 }), "`extra`"),
    ] {
        let error = lab.error("/lab/runs", &request);
        assert!(error.contains(said), "{request}: {error}");
    }
}

#[test]
fn mistakes_are_told_as_on_the_command_line() {
    let lab = Lab::start();
    let sim = |more: Value| {
        let mut sim = json!({ "algorithm": "lamport", "nodes": 3 });
        sim.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "sim": sim })
    };
    for (more, said) in [
        (json!({ "algorithm": "lampert" }), "did you mean `lamport`"),
        (json!({ "algorithm": "--replay" }), "no algorithm"),
        (json!({ "algorithm": "" }), "no algorithm"),
        (json!({ "nodes": 0 }), "at least one node"),
        (json!({ "nodes": 101 }), "at most 100"),
        (json!({ "nodes": 1_000_000_000_000u64 }), "at most 100"),
        (
            json!({ "algorithm": "maekawa", "nodes": null, "quorum": "projective:11" }),
            "at most 100",
        ),
        (json!({ "ring": "descending" }), "takes no --ring"),
        (json!({ "latency": "soon" }), "no distribution"),
        (json!({ "order": "lifo" }), "`fifo` or `any`"),
        (json!({ "loss": 2.0 }), "between 0 and 1"),
        (json!({ "crash": ["9@1"] }), "only 3 nodes"),
        (json!({ "entries": 0 }), "at least 1"),
        (json!({ "initiators": "all" }), "for elections"),
        (json!({ "algorithm": "bully", "section": "1" }), "elects a leader"),
    ] {
        let error = lab.error("/lab/runs", &sim(more.clone()));
        assert!(error.contains(said), "{more}: {error}");
    }
}

#[test]
fn no_file_is_read() {
    let lab = Lab::start();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for sim in [
        json!({ "algorithm": "lamport", "latency": format!("file:{file}") }),
        json!({ "algorithm": "lamport", "latency": format!("matrix:{file}") }),
        json!({ "algorithm": "lamport", "section": format!("file:{file}") }),
        json!({ "algorithm": "lamport", "think": format!("file:{file}") }),
        json!({ "algorithm": "lamport", "workload": format!("file:{file}") }),
        json!({ "algorithm": "maekawa", "quorum": file }),
        json!({ "algorithm": "sanders", "structure": file }),
        json!({ "algorithm": "raymond", "tree": file }),
        json!({ "algorithm": "spanning-tree", "graph": file }),
    ] {
        let error = lab.error("/lab/runs", &json!({ "sim": sim }));
        assert!(error.contains("the lab reads no files"), "{sim}: {error}");
    }
}

#[test]
fn a_trace_is_read_with_care() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": { "algorithm": "central", "nodes": 3, "entries": 2 } }));
    let text = lab.get(&format!("{run}/export?format=jsonl")).text();
    let huge = text.replacen("\"nodes\":3", "\"nodes\":9000000", 1);
    let cut = text.lines().take(4).collect::<Vec<_>>().join("\n");
    let other = text.replacen("\"do\":\"request\"", "\"do\":\"release\"", 1);
    for (text, said) in [
        ("", "trace"),
        ("{}", "line 1"),
        ("\u{0}", "line 1"),
        (&huge, "at most 100"),
        (&cut, "line"),
        (&other, "line"),
    ] {
        let error = lab.error("/lab/runs", &json!({ "trace": text }));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_run_without_end_ends_at_the_limit() {
    let lab = Lab::start();
    let told = lab.told_sim(&json!({ "algorithm": "lamport", "nodes": 20, "entries": 1_000_000 }));
    assert_eq!(told.end["reason"], "limit");
    let records = told.records.len();
    assert!((100_000..101_000).contains(&records), "{records}");
    assert_eq!(told.verdict("progress")["holds"], Value::Null);
    assert_eq!(told.verdict("exclusion")["holds"], true);
}

#[test]
fn large_bodies_are_refused() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": { "algorithm": "central", "entries": 1 } }));
    let act = format!("{}{}", " ".repeat(65 << 10), json!({ "after": 0, "t": 0, "do": "mend" }));
    assert_eq!(lab.ask("POST", &format!("{run}/acts"), "", &act).status, 413);
    let mut stream = lab.connect();
    write!(stream, "POST /lab/runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", lab.host)
        .unwrap();
    write!(stream, "Content-Length: {}\r\n\r\n", 33 << 20).unwrap();
    let part = vec![b' '; 1 << 16];
    // It may be told before everything is sent.
    for _ in 0..(33 << 20) / part.len() {
        if stream.write_all(&part).is_err() {
            break;
        }
    }
    assert_eq!(Answer::begin(stream).status, 413);
}

#[test]
fn a_body_that_never_comes_is_not_waited_for() {
    let lab = Lab::start();
    let mut stream = lab.connect();
    write!(stream, "POST /lab/runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", lab.host)
        .unwrap();
    write!(stream, "Content-Length: 100\r\n\r\n{{").unwrap();
    let answer = Answer::begin(stream);
    assert_eq!(answer.status, 408);
    assert!(answer.json(408)["error"].is_string());
}

#[test]
fn queries_are_checked() {
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": { "algorithm": "central", "entries": 1 } }));
    for (query, status) in [
        ("states", 400),
        ("states?chunk=-1", 400),
        ("states?chunk=x", 400),
        ("states?chunk=0&more=1", 400),
        ("states?chunk=18446744073709551615", 422),
        ("export", 400),
        ("export?format=exe", 422),
        ("export?format=../svg", 422),
    ] {
        let answer = lab.get(&format!("{run}/{query}"));
        assert_eq!(answer.status, status, "{query}");
        assert!(answer.json(status)["error"].is_string());
    }
}
