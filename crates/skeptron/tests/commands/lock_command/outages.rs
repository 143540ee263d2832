//! Outages do not look like contention: exit codes, and what is said.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lock_command::members::{Site, present};
use crate::lock_command::node::{ready, run};
use crate::lock_command::processes::{Ended, Process, Up, eventually, skeptron};

fn no_wait(url: &str, lock: &str) -> Ended {
    run(&["lock", lock, "--no-wait", "--endpoint", url, "--", "true"])
}

/// A member whose leases last so long, and its address.
fn start(site: &Site, lease: &str, number: usize, words: &[&str]) -> (Process, String) {
    let mut command = site.command(number, words);
    command.env("SKEPTRON_LEASE_LENGTH", lease);
    ready(Process::spawn(command))
}

/// Three members that vote.
fn three(site: &Site, lease: &str) -> [(Process, String); 3] {
    let words: [&[&str]; 3] = [&["--init"], &[], &[]];
    let mut number = 0;
    let nodes = words.map(|words| {
        number += 1;
        start(site, lease, number, words)
    });
    eventually("three vote", || present(&nodes[0].1) == (vec![1, 2, 3], vec![1, 2, 3]));
    nodes
}

#[test]
fn a_dead_member_is_not_taken_for_a_holder() {
    let site = Site::new();
    let [(first, url), (second, second_url), (third, _)] = three(&site, "10s");
    let mut command = skeptron();
    command.args(["lock", "held", "--owner", "deploy@web1", "--endpoint", &second_url]);
    let mut holder = Process::spawn(command);
    let fence = holder.line();
    third.signal(Signal::SIGKILL);
    third.end();
    let held = no_wait(&url, "held");
    assert_eq!(held.code, 75, "{}", held.stderr);
    assert!(held.stderr.contains("held by deploy@web1 at P2 for "), "{}", held.stderr);
    assert!(held.stderr.contains(&format!(", fence {fence} (")), "{}", held.stderr);
    let held = run(&["lock", "held", "--wait", "100ms", "--endpoint", &url, "--", "true"]);
    assert_eq!(held.code, 75, "{}", held.stderr);
    assert!(held.stderr.contains("timed out after 100ms waiting for `held`: held by deploy@web1"));

    // What P3 may have is withheld; all others are granted, and nothing is said to be held.
    let mut names = (0..).map(|number| format!("never-used/{number}"));
    let refused = loop {
        let ended = no_wait(&url, &names.next().unwrap());
        match ended.code {
            0 => {}
            _ => break ended,
        }
    };
    assert_eq!(refused.code, 71, "{}", refused.stderr);
    assert!(refused.stderr.contains("the cluster cannot grant it now: P3 "), "{}", refused.stderr);
    assert!(!refused.stderr.contains("held by"), "{}", refused.stderr);

    // Without a majority all leases end, and a session is refused for that.
    second.signal(Signal::SIGKILL);
    second.end();
    eventually("its lease ends", || {
        let refused = no_wait(&url, "another");
        assert_ne!(refused.code, 75, "{}", refused.stderr);
        refused.code == 71 && refused.stderr.contains("lease")
    });
    first.signal(Signal::SIGKILL);
    first.end();
    holder.signal(Signal::SIGKILL);
    holder.end();
}

/// Whoever waits for as long as it takes goes on through an outage in which its session ends.
#[test]
fn a_waiter_outlasts_an_outage() {
    let site = Site::new();
    let [(first, url), (second, second_url), (third, _)] = three(&site, "1s");
    let mut command = skeptron();
    command.args(["lock", "held", "--ttl", "2s", "--endpoint", &second_url]);
    let mut holder = Process::spawn(command);
    holder.line();
    let mut command = skeptron();
    command.args(["lock", "held", "--ttl", "2s", "--endpoint", &url, "--", "echo", "served"]);
    let mut waiter = Process::spawn(command);
    eventually("it waits", || {
        let listed = run(&["locks", "--json", "--endpoint", &url]);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        listed["locks"][0]["waiters"] == 1
    });
    for node in [second, third] {
        node.signal(Signal::SIGKILL);
        node.end();
    }
    eventually("no lease is left", || no_wait(&url, "another").code == 71);
    let (second, _) = start(&site, "1s", 2, &[]);
    let (third, _) = start(&site, "1s", 3, &[]);
    assert_eq!(waiter.line(), "served");
    assert_eq!(waiter.end().code, 0);
    for node in [first, second, third] {
        node.signal(Signal::SIGKILL);
        node.end();
    }
    holder.signal(Signal::SIGKILL);
    holder.end();
}

#[test]
fn sessions_are_listed_without_their_keys_and_within_80_columns() {
    let up = Up::start(&["--nodes", "2"]);
    let long = "x".repeat(60);
    let mut holder = up.lock(&long, &["--owner", "somebody-with-a-long-name@host:1"], &[]).spawn();
    holder.line();
    let waiter = up.lock_at(1, &long, &[], &["true"]).spawn();
    eventually("it waits", || up.waiters(&long) == 1);
    let sessions = run(&["sessions", "--endpoint", up.url()]);
    assert_eq!(sessions.code, 0, "{}", sessions.stderr);
    for table in [&sessions.stdout, &up.table()] {
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{table}");
    }
    let listed = run(&["sessions", "--json", "--endpoint", up.url()]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        (&listed["complete"], listed["sessions"].as_array().unwrap().len()),
        (&true.into(), 2)
    );
    let nodes = |holds: &str| -> Vec<u64> {
        let all = listed["sessions"].as_array().unwrap().iter().filter(|it| it[holds] == 1);
        all.map(|it| it["node"].as_u64().unwrap()).collect()
    };
    assert_eq!((nodes("holds"), nodes("waits")), (vec![1], vec![2]));
    holder.signal(Signal::SIGTERM);
    assert_eq!((holder.end().code, waiter.end().code), (0, 0));
    let none = run(&["sessions", "--endpoint", up.url()]);
    assert_eq!(none.stdout, "No session that you may see is open.\n");
}
