//! All nodes of a cluster are restarted, one after another.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::lock_command::members::{Site, present};
use crate::lock_command::node::{ready, run};
use crate::lock_command::processes::{Process, eventually, skeptron};

/// Whoever had to wait for one would be noticed on a busy machine, too.
const LEASE: Duration = Duration::from_secs(120);

#[test]
fn nobody_loses_a_lock_or_waits_for_a_lease() {
    let site = Site::new();
    let start = |number: usize, words: &[&str]| {
        let mut command = site.command(number, words);
        command.env("SKEPTRON_LEASE_LENGTH", "120s").env("SKEPTRON_SHUTDOWN_GRACE", "1s");
        ready(Process::spawn(command))
    };
    let mut nodes = vec![start(1, &["--init"]), start(2, &[]), start(3, &[])];
    let everybody = (vec![1, 2, 3], vec![1, 2, 3]);
    eventually("three vote", || present(&nodes[0].1) == everybody);
    let urls: Vec<&str> = nodes.iter().map(|(_, url)| url.as_str()).collect();
    let mut command = skeptron();
    command.args(["lock", "held", "--ttl", "300s", "--endpoint", &urls.join(","), "--"]);
    command.args(["sh", "-c", "echo $SKEPTRON_FENCE; read -r _; true"]);
    let mut holder = Process::spawn(command);
    let fence = holder.line();

    for number in 0..nodes.len() {
        let begun = Instant::now();
        let other = nodes[(number + 1) % nodes.len()].1.clone();
        let (node, _) = nodes.remove(number);
        node.signal(Signal::SIGTERM);
        let ended = node.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let free = run(&["lock", "free", "--wait", "100s", "--endpoint", &other, "--", "true"]);
        assert_eq!(free.code, 0, "{}", free.stderr);
        nodes.insert(number, start(number + 1, &[]));
        eventually("it is back", || present(&other) == everybody);
        eventually("it is held as before", || {
            let listed = run(&["locks", "--json", "--endpoint", &other]);
            let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
            let rows = listed["locks"].as_array().unwrap();
            rows.iter().any(|row| row["holder"]["fence"] == json!(fence))
        });
        assert!(begun.elapsed() < LEASE, "somebody waited for a lease");
    }
    holder.close_input();
    let ended = holder.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for (node, _) in nodes {
        node.signal(Signal::SIGKILL);
        node.end();
    }
}
