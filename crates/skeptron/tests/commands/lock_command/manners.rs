//! What `skeptron lock` says, and how it is told where to ask.

use std::fs;

use nix::sys::signal::Signal;

use crate::lock_command::node::{free_addresses, ready, run};
use crate::lock_command::processes::{Process, Up, eventually, skeptron};
use crate::signals::has_signal;

#[test]
fn without_a_command_the_lock_is_held_until_a_signal() {
    let up = Up::start(&["--nodes", "1"]);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut holder = up.lock("a", &[], &[]).spawn();
        let fence: u64 = holder.line().parse().unwrap();
        assert_eq!(up.listing()["locks"][0]["holder"]["fence"], fence.to_string());
        holder.signal(signal);
        let ended = holder.end();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        assert_eq!(up.lock("a", &["--no-wait"], &["true"]).spawn_and_end().code, 0);
    }
}

#[test]
fn who_waits_is_told_for_whom() {
    let up = Up::start(&["--nodes", "1"]);
    let mut holder = up.lock("a", &["--owner", "deploy@web1"], &[]).spawn();
    let fence = holder.line();
    let mut waiter = up.lock("a", &["--verbose"], &["true"]).spawn();
    let said = waiter.complaint_until("held by");
    assert!(said.contains("waiting for `a`: held by deploy@web1 at P1 for "), "{said}");
    assert!(said.contains(&format!("fence {fence} (")), "{said}");
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.end().code, 0);
    assert_eq!(waiter.end().code, 0);
}

/// As under cron, which sets no USER.
#[test]
fn the_owner_is_the_user_that_the_system_knows() {
    let up = Up::start(&["--nodes", "1"]);
    let known = std::process::Command::new("id").arg("-un").output().unwrap();
    let user = String::from_utf8(known.stdout).unwrap().trim().to_string();
    for stale in [None, Some("somebody-else")] {
        let mut lock = up.lock("a", &[], &[]);
        lock.command.env_remove("USER").env_remove("LOGNAME");
        if let Some(stale) = stale {
            lock.command.env("USER", stale);
        }
        let mut holder = lock.spawn();
        holder.line();
        let owner = up.listing()["locks"][0]["holder"]["owner"].as_str().unwrap().to_string();
        assert!(owner.starts_with(&format!("{user}@")), "{owner}");
        holder.signal(Signal::SIGTERM);
        assert_eq!(holder.end().code, 0);
    }
}

#[test]
fn an_endpoint_needs_no_scheme() {
    let up = Up::start(&["--nodes", "1"]);
    let bare = up.url().strip_prefix("http://").unwrap();
    let status = run(&["status", "--endpoint", bare]);
    assert_eq!(status.code, 0, "{}", status.stderr);
    let port = bare.rsplit_once(':').unwrap().1;
    let locked = run(&["lock", "a", "--endpoint", &format!("localhost:{port}"), "--", "true"]);
    assert_eq!(locked.code, 0, "{}", locked.stderr);
}

#[test]
fn over_tls_a_token_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (certs, trusted) = (path("certs"), path("trusted"));
    let made = run(&["tls", "init", &certs, "--nodes", "1"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    fs::create_dir(&trusted).unwrap();
    fs::copy(format!("{certs}/ca.pem"), format!("{trusted}/ca.pem")).unwrap();
    let mut command = skeptron();
    command.args(["node", "--json", "--init"]).env("SKEPTRON_NODE", "1");
    command.env("SKEPTRON_VOTERS", &free_addresses()[0]).env("SKEPTRON_DATA", path("data"));
    command.env("SKEPTRON_TLS_FOLDER", &certs).env("SKEPTRON_API_TLS", "true");
    command.env("SKEPTRON_API_LISTEN", "127.0.0.1:0").env("SKEPTRON_API_TOKEN", "open sesame");
    let (node, url) = ready(Process::spawn(command));
    let bare = url.strip_prefix("https://").unwrap();
    for endpoint in [&*url, bare] {
        let reach = ["--endpoint", endpoint, "--tls", &trusted];
        let with = [&["status"], &reach[..], &["--token", "open sesame"]].concat();
        eventually("it answers", || run(&with).code == 0);
        let wrong = run(&[&["status"], &reach[..], &["--token", "wrong"]].concat());
        assert_eq!(wrong.code, 2, "{}", wrong.stderr);
        let without = run(&[&["status"], &reach[..]].concat());
        assert_eq!(without.code, 2, "{}", without.stderr);
        assert!(without.stderr.contains("--token"), "{}", without.stderr);
    }
    node.signal(Signal::SIGTERM);
    assert_eq!(node.end().code, 0);
}

#[test]
fn long_work_that_is_interrupted_says_so_and_leaves_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, "old").unwrap();
    let page = file.to_str().unwrap();
    let long: [&[&str]; 4] = [
        &["sim", "lamport", "-n", "30", "--seeds", "1..1000000"],
        &["check", "lamport", "-n", "4", "--requests", "3"],
        &["storm", "--seeds", "1..1000000"],
        &["compare", "-n", "200,250", "--seeds", "1000", "--html", page],
    ];
    for words in long {
        let mut command = skeptron();
        command.args(words);
        let process = Process::spawn(command);
        eventually("it listens", || has_signal(process.id(), "SigCgt:", Signal::SIGINT));
        process.signal(Signal::SIGINT);
        let ended = process.end();
        assert_eq!(ended.code, 130, "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("interrupted: "), "{words:?}: {}", ended.stderr);
        assert!(
            !ended.stdout.is_empty() && !ended.stdout.contains("violation"),
            "{}",
            ended.stdout
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn whoever_asks_for_json_is_refused_in_json() {
    let refused = run(&["locks", "--json", "--endpoint", "127.0.0.1:1"]);
    let said: serde_json::Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!((refused.code, &said["exit_code"]), (69, &serde_json::json!(69)));
    assert!(said["error"].as_str().unwrap().starts_with("cannot reach a node"), "{said}");
}
