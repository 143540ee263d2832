//! Whoever asks for JSON gets JSON, also when it is refused; and what a command shows of a node is what
//! the node says.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lock_command::members::Site;
use crate::lock_command::node::run;
use crate::lock_command::processes::{Process, skeptron};

/// A refusal is one line of JSON with the exit code.
fn refused(words: &[&str], code: i32) {
    let ended = run(words);
    assert_eq!(ended.code, code, "{words:?}: {}", ended.stderr);
    let said: Value = serde_json::from_str(&ended.stderr)
        .unwrap_or_else(|error| panic!("{words:?}: {error}: {}", ended.stderr));
    assert!(said["error"].as_str().is_some_and(|error| !error.is_empty()), "{words:?}: {said}");
    assert_eq!(said["exit_code"], code, "{words:?}: {said}");
}

#[test]
fn every_command_refuses_bad_input_in_json() {
    let commands: [&[&str]; 35] = [
        &["up", "--nodes", "0"],
        &["up", "--algorithm", "nothing"],
        &["lab", "--port", "x"],
        &["lock"],
        &["lock", "a", "--ttl", "soon"],
        &["lock", "a", "--endpoint", "ftp://a"],
        &["locks", "--endpoint", "ftp://a"],
        &["status", "--endpoint", "https://a"],
        &["node", "--config", "there is none"],
        &["node", "--check"],
        &["node", "--print-config"],
        &["join"],
        &["join", "127.0.0.1:1"],
        &["leave", "--wait", "x"],
        &["drain", "--wait", "x"],
        &["members", "--endpoint", ""],
        &["members", "remove", "4"],
        &["members", "remove", "x", "--certainly-off"],
        &["voters", "add"],
        &["voters", "replace", "1"],
        &["voters", "lease", "long"],
        &["tls", "init", "/dev/null/certs"],
        &["tls", "add", "there is none", "--node", "1"],
        &["tls", "renew", "there is none"],
        &["tls", "list", "there is none"],
        &["tls", "revoke", "there is none"],
        &["list", "--no-such-option"],
        &["explain", "nothing"],
        &["sim", "nothing"],
        &["compare", "-n", "0"],
        &["check", "nothing"],
        &["storm", "--seeds", "x"],
        &["quorum", "nothing"],
        &["structure", "nothing"],
        &["structure", "optimise"],
    ];
    for words in commands {
        refused(&[words, &["--json"]].concat(), 2);
    }
    refused(&["no-such-command", "--json"], 2);
    refused(&["completions", "tcsh", "--json"], 2);
}

#[test]
fn a_node_that_does_not_answer_is_told_in_json() {
    let endpoint = ["--json", "--endpoint", "http://127.0.0.1:1"];
    let commands: [&[&str]; 9] = [
        &["lock", "a"],
        &["locks"],
        &["status"],
        &["leave"],
        &["drain"],
        &["members"],
        &["members", "remove", "4", "--certainly-off"],
        &["voters"],
        &["voters", "add", "4"],
    ];
    for words in commands {
        refused(&[words, &endpoint[..]].concat(), 69);
    }
}

fn get(url: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let asked = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

/// All names in it, with where they stand; lists count as their first item.
fn shape(value: &Value, at: &str, names: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            names.push(format!("{at}/{name}"));
            shape(value, &format!("{at}/{name}"), names);
        }),
        Value::Array(list) => list.iter().take(1).for_each(|value| shape(value, at, names)),
        _ => {}
    }
}

#[test]
fn commands_show_what_the_api_says() {
    let site = Site::new();
    let (node, url) = site.start(1, &["--init"]);
    let mut command = skeptron();
    command.args(["lock", "held", "--endpoint", &url, "--", "sh", "-c", "echo held; read -r _"]);
    let mut holder = Process::spawn(command);
    assert_eq!(holder.line(), "held");
    let status = get(&url, "/v1/status");
    let shapes = |value: &Value| {
        let mut names = Vec::new();
        shape(value, "", &mut names);
        names
    };
    let (locks, sessions) = (get(&url, "/v1/locks"), get(&url, "/v1/sessions"));
    assert_eq!(locks["locks"].as_array().unwrap().len(), 1);
    for (words, said) in [
        ("status", &status),
        ("members", &status),
        ("voters", &status["views"]),
        ("locks", &locks),
        ("sessions", &sessions),
    ] {
        let ended = run(&[words, "--json", "--endpoint", &url]);
        let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(shapes(&shown), shapes(said), "{words}");
    }
    let explained: Value =
        serde_json::from_str(&run(&["explain", "raymond", "--json"]).stdout).unwrap();
    let listed: Value = serde_json::from_str(&run(&["list", "--json"]).stdout).unwrap();
    assert!(listed.as_array().unwrap().contains(&explained));
    holder.close_input();
    assert_eq!(holder.end().code, 1, "`read` meets the end of its input");
    node.signal(Signal::SIGTERM);
    node.end();
}
