//! `skeptron lock --shared`, `--permits`, several names and `--reentrant`, and `locks --deadlocks`, as real
//! processes at three nodes.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lock_command::node::run;
use crate::lock_command::processes::{Process, Up, eventually, skeptron};

/// Says `ready` and its fence, then holds until its input ends.
const UNTIL_INPUT_ENDS: &str = "echo ready $SKEPTRON_FENCE; cat";

fn holding(up: &Up, node: usize, name: &str, options: &[&str]) -> (Process, u64) {
    let mut holder = up.lock_at(node, name, options, &["sh", "-c", UNTIL_INPUT_ENDS]).spawn();
    let fence = holder.line().strip_prefix("ready ").unwrap().parse().unwrap();
    (holder, fence)
}

fn is_free(up: &Up, node: usize, name: &str, options: &[&str]) -> bool {
    let options: Vec<&str> = options.iter().copied().chain(["--wait", "300ms"]).collect();
    let ended = up.lock_at(node, name, &options, &["true"]).spawn_and_end();
    assert!([0, 75].contains(&ended.code), "{} {}", ended.code, ended.stderr);
    ended.code == 0
}

#[test]
fn readers_at_all_nodes_run_together_and_a_writer_alone() {
    let up = Up::start(&[]);
    let readers = [0, 1, 2].map(|node| holding(&up, node, "catalogue", &["--shared"]));
    assert!(readers.windows(2).all(|pair| pair[0].1 < pair[1].1), "fences rise");
    let lock = &up.listing()["locks"][0];
    assert_eq!((&lock["inside"], &lock["holder"]["mode"]), (&3.into(), &"shared".into()));
    assert!(up.table().contains("(shared, 3"), "{}", up.table());
    assert!(!is_free(&up, 1, "catalogue", &[]));
    // The writer that gave up keeps nobody out.
    assert!(is_free(&up, 2, "catalogue", &["--shared"]));
    for (mut reader, _) in readers {
        reader.close_input();
        assert_eq!(reader.end().code, 0);
    }
    let (writer, fence) = holding(&up, 1, "catalogue", &[]);
    assert!(fence > 0 && !is_free(&up, 0, "catalogue", &["--shared"]));
    drop(writer);
}

/// Of a semaphore whose holder is killed, its permit goes to the next one after its TTL.
#[test]
fn permits_are_counted_and_come_back_from_the_dead() {
    let up = Up::start(&[]);
    let two = ["--permits", "2", "--ttl", "2s"];
    let (first, _) = holding(&up, 0, "gpus", &two);
    let (mut second, _) = holding(&up, 1, "gpus", &two);
    assert!(!is_free(&up, 2, "gpus", &two));
    first.signal(Signal::SIGKILL);
    let (third, _) = holding(&up, 2, "gpus", &two);
    second.close_input();
    assert_eq!(second.end().code, 0);
    drop(third);
}

#[test]
fn several_locks_are_held_together() {
    let up = Up::start(&[]);
    let both = |node: usize, names: [&str; 2], script: &str| {
        let mut command = skeptron();
        command.args(["lock", names[0], names[1], "--endpoint", up.endpoint(node), "--"]);
        command.args(["sh", "-c", script]);
        Process::spawn(command)
    };
    let ended = both(0, ["b", "a"], "echo $SKEPTRON_FENCES; echo $SKEPTRON_LOCK").end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (fences, first) = ended.stdout.split_once('\n').unwrap();
    let fences: Value = serde_json::from_str(fences).unwrap();
    assert!(fences["a"].is_string() && fences["b"].is_string(), "{fences}");
    assert_eq!(first, "a\n", "in the order of their names");
    // Opposite orders do not wait for each other for ever.
    let crowd: Vec<Process> = (0..8)
        .map(|k| both(k % 3, if k % 2 == 0 { ["a", "b"] } else { ["b", "a"] }, "sleep 0.02"))
        .collect();
    assert!(crowd.into_iter().all(|process| process.end().code == 0));
    // All or none.
    let (_holder, _) = holding(&up, 2, "b", &[]);
    let mut command = skeptron();
    command.args(["lock", "a", "b", "--wait", "300ms", "--endpoint", up.endpoint(0), "--", "true"]);
    let ended = Process::spawn(command).end();
    assert_eq!(ended.code, 75, "{}", ended.stderr);
    assert!(is_free(&up, 1, "a", &[]));
}

#[test]
fn a_lock_is_taken_again_only_under_the_command_that_holds_it() {
    let up = Up::start(&[]);
    let program = env!("CARGO_BIN_EXE_skeptron");
    let again = format!("{program} lock x --reentrant --no-wait -- echo inside $SKEPTRON_LOCK");
    let ended = up.lock("x", &[], &["sh", "-c", &again]).spawn_and_end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "inside x\n"), "{}", ended.stderr);
    let without = format!("{program} lock x --no-wait --endpoint {} -- true", up.url());
    assert_eq!(up.lock("x", &[], &["sh", "-c", &without]).spawn_and_end().code, 75);
    // Whoever has only its variables does not run under it.
    let (_holder, _) = holding(&up, 0, "x", &[]);
    let mut command = skeptron();
    command.env("SKEPTRON_HOLDER", u32::MAX.to_string());
    command.env("SKEPTRON_FENCES", r#"{"x": "7"}"#);
    command.args(["lock", "x", "--reentrant", "--no-wait", "--endpoint", up.endpoint(1)]);
    command.args(["--", "true"]);
    assert_eq!(Process::spawn(command).end().code, 75);
}

#[test]
fn sessions_that_wait_for_each_other_are_shown() {
    let up = Up::start(&[]);
    let show = || run(&["locks", "--deadlocks", "--endpoint", up.url()]);
    let none = show();
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (0, "No sessions wait for each other for ever.\n")
    );
    // One session each, by the API: the command line takes its names in order.
    let client = |node: usize, name: &str| {
        let asked = format!(r#"{{"ttl_ms": 60000, "owner": "{name}"}}"#);
        let opened = post(&up, node, "/v1/sessions", &asked);
        (node, opened["session"].as_str().unwrap().to_string())
    };
    // At two nodes: neither of them sees the whole cycle by itself.
    let (alice, bob) = (client(0, "alice"), client(1, "bob"));
    let acquire = |session: &str, lock: &str, wait: &str| {
        format!(r#"{{"session": "{session}", "lock": "{lock}"{wait}}}"#)
    };
    post(&up, alice.0, "/v1/acquire", &acquire(&alice.1, "a", ""));
    post(&up, bob.0, "/v1/acquire", &acquire(&bob.1, "b", ""));
    let waiting = [(&alice, "b"), (&bob, "a")].map(|((node, session), lock)| {
        let (url, body) = (up.endpoint(*node).to_string(), acquire(session, lock, ""));
        std::thread::spawn(move || post_to(&url, "/v1/acquire", &body))
    });
    eventually("both wait", || up.waiters("a") == 1 && up.waiters("b") == 1);
    let told = show();
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(told.stdout.contains("deadlock 1 of 2 sessions"), "{}", told.stdout);
    assert!(told.stdout.contains("holds `a`, waits for `b`"), "{}", told.stdout);
    let json = run(&["locks", "--deadlocks", "--json", "--endpoint", up.url()]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["deadlocks"][0]["sessions"].as_array().map(Vec::len), Some(2));
    up.end(Signal::SIGTERM);
    for thread in waiting {
        thread.join().unwrap();
    }
}

fn post(up: &Up, node: usize, path: &str, body: &str) -> Value {
    post_to(up.endpoint(node), path, body)
}

/// As simple as HTTP can be. Null if the node has gone.
fn post_to(url: &str, path: &str, body: &str) -> Value {
    use std::io::{Read as _, Write as _};
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}");
    write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or_default()
}
