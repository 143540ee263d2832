//! `skeptron node` and `skeptron tls` as real processes.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::lock_command::processes::{Ended, Process, eventually, skeptron};

/// A node that has said that it is ready, and where it answers.
pub(crate) fn ready(mut node: Process) -> (Process, String) {
    let said: serde_json::Value = serde_json::from_str(&node.line()).unwrap();
    assert_eq!(said["ready"], true);
    let url = said["api"][0].as_str().unwrap().to_string();
    (node, url)
}

pub(crate) fn run(words: &[&str]) -> Ended {
    let mut command = skeptron();
    command.args(words);
    Process::spawn(command).end()
}

#[test]
fn a_node_alone_tells_systemd_serves_and_ends_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let manager = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    manager.set_read_timeout(Some(crate::lock_command::processes::PATIENCE)).unwrap();
    let mut command = skeptron();
    command.args(["node", "--json", "--init", "--insecure"]);
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    command.env("SKEPTRON_VOTERS", &free_addresses()[0]).env("SKEPTRON_API_LISTEN", "127.0.0.1:0");
    command.env("SKEPTRON_DATA", folder.path().join("data"));
    command.env("SKEPTRON_API_TOKEN", "open sesame").env("SKEPTRON_LOG_FORMAT", "json");
    let (node, url) = ready(Process::spawn(command));
    let mut told = [0; 64];
    let length = manager.recv(&mut told).unwrap();
    assert_eq!(&told[..length], b"READY=1");
    let refused = run(&["lock", "a", "--endpoint", &url, "--", "true"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let token = ["--token", "open sesame", "--endpoint", &url];
    assert_eq!(run(&[&["lock", "a"], &token[..], &["--", "true"]].concat()).code, 0);
    let status = run(&[&["status"], &token[..]].concat());
    assert!(status.stdout.starts_with("P1 of `skeptron`"), "{}", status.stdout);
    node.signal(Signal::SIGTERM);
    let ended = node.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("open sesame"), "{}", ended.stderr);
    for line in ended.stderr.lines() {
        let log: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(log["level"].is_string(), "{line}");
    }
}

/// Two addresses where nobody listens just now.
pub(crate) fn free_addresses() -> [String; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().to_string())
}

fn write_config(folder: &Path, voters: &[String; 2]) -> String {
    let file = folder.join("cluster.toml");
    let text = format!(
        "cluster = \"orders\"\nvoters = {voters:?}\ntls.folder = \"certs\"\n[api]\n\
         listen = [\"127.0.0.1:0\"]\ntls = true\n[[prefix]]\nprefix = \"jobs/\"\nalgorithm = \"raymond\"\n"
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_string()
}

#[test]
fn two_nodes_with_certificates_share_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    let certs = certs.to_str().unwrap();
    let made =
        run(&["tls", "init", certs, "--cluster", "orders", "--nodes", "1", "--client", "alice"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert_eq!(run(&["tls", "init", certs, "--nodes", "1"]).code, 2, "nothing is overwritten");
    let added = run(&["tls", "add", certs, "--node", "2", "--host", "2=localhost"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let config = write_config(folder.path(), &free_addresses());
    let nodes = ["1", "2"].map(|number| {
        let mut command = skeptron();
        command.args(["node", "--json", "--config", &config]).env("SKEPTRON_NODE", number);
        command.args((number == "1").then_some("--init"));
        command.env("SKEPTRON_DATA", folder.path().join(number));
        ready(Process::spawn(command))
    });
    let reach = |node: usize| ["--endpoint", &nodes[node].1, "--tls", certs];
    eventually("both have met", || {
        let listed = run(&[&["members", "--json"], &reach(0)[..]].concat());
        let members = serde_json::from_str::<serde_json::Value>(&listed.stdout).unwrap();
        listed.code == 0 && members["members"].as_array().unwrap().len() == 2
    });
    for lock in ["a", "jobs/a"] {
        let mut fences = Vec::new();
        for node in [0, 1, 0] {
            let script = "echo $SKEPTRON_FENCE";
            let words = [&["lock", lock], &reach(node)[..], &["--", "sh", "-c", script]].concat();
            let ended = run(&words);
            assert_eq!(ended.code, 0, "{}", ended.stderr);
            fences.push(ended.stdout.trim().parse::<u64>().unwrap());
        }
        assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    }
    let stranger = run(&["status", "--endpoint", &nodes[0].1]);
    assert_eq!(stranger.code, 2, "{}", stranger.stderr);
    for (node, _) in nodes {
        node.signal(Signal::SIGTERM);
        let ended = node.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
}

#[test]
fn an_address_in_use_and_an_even_number_of_voters_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().map(|at| (at.to_string(), taken)).unwrap();
    let command = |words: &[&str], voters: &str| {
        let mut command = skeptron();
        command.args(["node", "--insecure"]).args(words).env("SKEPTRON_VOTERS", voters);
        command.env("SKEPTRON_DATA", folder.path()).env("SKEPTRON_API_LISTEN", "127.0.0.1:0");
        Process::spawn(command).end()
    };
    let ended = command(&["--init"], &taken.0);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("in use").count(), 1, "{}", ended.stderr);
    let two = command(&["--check"], &free_addresses().join(","));
    assert_eq!(two.code, 0, "{}", two.stderr);
    assert!(two.stdout.contains("Warning: 2 voters: neither of them may fail"), "{}", two.stdout);
}
