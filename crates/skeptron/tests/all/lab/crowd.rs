//! Many at once.

use std::io::Write as _;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::server::{Answer, Lab};

#[test]
fn hundreds_read_at_once() {
    const READERS: usize = 300;
    let lab = Lab::start();
    let run = lab.run(&json!({ "sim": { "algorithm": "lamport", "nodes": 5, "entries": 30 } }));
    let whole = lab.told(&run);
    assert!(whole.records.len() > 600, "more than are told at once: {}", whole.records.len());
    let all_have_read = Barrier::new(READERS + 1);
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut stream = lab.get(&run);
                assert_eq!(stream.next().unwrap().1, whole.header);
                let (records, _) = stream.rest(0);
                all_have_read.wait();
                assert_eq!(records, whole.records);
                assert_eq!(stream.next().unwrap().0, "cut");
                assert_eq!(stream.rest(0).0[0]["kind"], "crash");
            });
        }
        // All of them are open, and all are told what a hand does.
        all_have_read.wait();
        let act = json!({ "after": 0, "t": 0, "do": "crash", "node": 1 });
        lab.post(&format!("{run}/acts"), &act).json(200);
    });
}

#[test]
fn whoever_does_not_read_holds_nobody_up() {
    let lab = Lab::start();
    let sim = json!({ "algorithm": "lamport", "nodes": 10, "entries": 500 });
    let run = lab.run(&json!({ "sim": sim }));
    let deaf: Vec<Answer> = (0..100).map(|_| lab.get(&run)).collect();
    let records = lab.told(&run).records.len();
    assert!(records > 10_000, "more than fits into the sockets: {records}");
    assert_eq!(lab.get("/lab/about").status, 200);
    drop(deaf);
}

#[test]
fn many_runs_are_made_at_once() {
    let lab = Lab::start();
    let request = |seed: u64| json!({ "sim": { "algorithm": "suzuki-kasami", "entries": 20, "latency": "exp:1", "seed": seed } });
    let one = |seed| lab.told(&lab.run(&request(seed)));
    let first = one(1);
    thread::scope(|scope| {
        for seed in 0..40 {
            let (one, first) = (&one, &first);
            scope.spawn(move || assert_eq!(one(seed).records == first.records, seed == 1));
        }
    });
}

/// Requests by the million, which take hours and are not recorded.
#[test]
fn a_run_that_nobody_waits_for_holds_nobody_up() {
    let lab = Lab::start();
    let endless = json!({ "sim": {
        "algorithm": "central", "workload": "poisson:1000", "section": "1000", "entries": 100_000
    } });
    for _ in 0..8 {
        let body = endless.to_string();
        let mut stream = lab.connect();
        let (host, length) = (&lab.host, body.len());
        write!(
            stream,
            "POST /lab/runs HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    lab.run(&json!({ "sim": { "algorithm": "central", "entries": 1 } }));
}

/// The oldest runs that nobody looks at go; a run that is looked at stays.
#[test]
fn what_nobody_looks_at_is_forgotten_in_the_end() {
    let lab = Lab::start();
    let request = json!({ "sim": { "algorithm": "central", "nodes": 2, "entries": 1 } });
    let (seen, forgotten) = (lab.run(&request), lab.run(&request));
    let mut looking = lab.get(&seen);
    looking.next().unwrap();
    for _ in 0..500 {
        lab.run(&request);
    }
    assert_eq!(lab.get(&seen).status, 200);
    assert_eq!(lab.get(&forgotten).status, 404);
}
