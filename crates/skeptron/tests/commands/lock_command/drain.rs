//! `skeptron drain` with real nodes.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::lock_command::members::{Site, present};
use crate::lock_command::node::run;
use crate::lock_command::processes::{Ended, Process, eventually, skeptron};

/// A client that knows two nodes, the drained one first.
fn lock(urls: &[&str], script: &str) -> Process {
    let mut command = skeptron();
    command.args(["lock", "a", "--ttl", "40s", "--endpoint", &urls.join(","), "--"]);
    command.args(["sh", "-c", script]);
    Process::spawn(command)
}

fn json(ended: &Ended) -> Value {
    assert!(!ended.stdout.is_empty(), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn locks(url: &str) -> Value {
    json(&run(&["locks", "--json", "--endpoint", url]))["locks"][0].clone()
}

#[test]
fn holder_and_waiter_go_on_elsewhere_when_their_node_is_drained() {
    let site = Site::new();
    let (first, url) = site.begin_calmly();
    let (second, _) = site.start(2, &[]);
    let (third, drained) = site.start(3, &[]);
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    let mut holder = lock(&[&drained, &url], "echo $SKEPTRON_FENCE; read -r _; echo still");
    let fence = holder.line();
    let waiter = lock(&[&drained, &url], "echo $SKEPTRON_FENCE");
    eventually("one holds, one waits, both at P3", || {
        let lock = locks(&url);
        (&lock["holder"]["node"], &lock["waiters"]) == (&json!(3), &json!(1))
    });

    for _ in 0..2 {
        let ended = run(&["drain", "--json", "--endpoint", &drained]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert_eq!(json(&ended), json!({"node": 3, "drain": "drained"}));
    }
    eventually("both are at P1", || {
        let lock = locks(&url);
        let holder = (&lock["holder"]["node"], &lock["holder"]["fence"]);
        holder == (&json!(1), &json!(fence)) && lock["waiters"] == 1
    });
    assert_eq!(present(&url), (vec![1, 2], vec![1, 2, 3]), "it votes, and is no member");
    let status = run(&["status", "--endpoint", &drained]);
    assert!(status.stdout.contains("DRAINED") && status.code == 1, "{}", status.stdout);
    let voters = run(&["voters", "--endpoint", &drained]);
    assert!(!voters.stdout.contains("GONE"), "it does not know who is a member: {}", voters.stdout);
    let refused = run(&["lock", "b", "--no-discovery", "--endpoint", &drained, "--", "true"]);
    assert!(refused.stderr.contains("P3 is drained"), "{}", refused.stderr);
    assert_ne!(refused.code, 0);

    holder.close_input();
    let ended = holder.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "still\n"), "{}", ended.stderr);
    let next = waiter.end();
    assert_eq!(next.code, 0, "{}", next.stderr);
    assert!(next.stdout.trim().parse::<u64>().unwrap() > fence.parse().unwrap());

    let undone = run(&["drain", "--undo", "--endpoint", &drained]);
    assert_eq!((undone.code, undone.stdout.as_str()), (0, "P3 serves clients.\n"));
    assert_eq!(run(&["lock", "b", "--endpoint", &drained, "--", "true"]).code, 0);

    // A drained node ends like any other, and serves when it is started again.
    assert_eq!(run(&["drain", "--endpoint", &drained]).code, 0);
    third.signal(Signal::SIGTERM);
    let ended = third.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (third, again) = site.start(3, &[]);
    assert_eq!(run(&["lock", "b", "--endpoint", &again, "--", "true"]).code, 0);
    for node in [third, second, first] {
        node.signal(Signal::SIGTERM);
        let ended = node.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
}

#[test]
fn the_only_member_is_not_drained() {
    let site = Site::new();
    let mut command = site.command(1, &["--init"]);
    command.env("SKEPTRON_VOTERS", site.address(1)).env("SKEPTRON_LEASE_LENGTH", "10s");
    let (node, url) = crate::lock_command::node::ready(Process::spawn(command));
    let refused = run(&["drain", "--json", "--endpoint", &url]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let said: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert!(said["error"].as_str().unwrap().contains("P1 is the only member"), "{said}");
    assert_eq!(run(&["lock", "a", "--endpoint", &url, "--", "true"]).code, 0);
    node.signal(Signal::SIGTERM);
    node.end();
}
