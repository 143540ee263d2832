//! Whatever becomes of what a node logs, it goes on.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::Signal;

use crate::lock_command::node::{free_addresses, ready, run};
use crate::lock_command::processes::{Process, eventually, skeptron};

/// A voter and a member that log everything there; each holds a lock after the other.
fn locks_work(folder: &Path, errors: impl Fn() -> Stdio) {
    let addresses = free_addresses();
    let nodes = ["1", "2"].map(|number| {
        let mut command = skeptron();
        command.args(["node", "--json", "--insecure"]).args((number == "1").then_some("--init"));
        command.env("SKEPTRON_NODE", number).env("SKEPTRON_VOTERS", &addresses[0]);
        let own = if number == "1" { &addresses[0] } else { &addresses[1] };
        command.env("SKEPTRON_ADDRESS", own).env("SKEPTRON_DATA", folder.join(number));
        command.env("SKEPTRON_API_LISTEN", "127.0.0.1:0").env("SKEPTRON_LOG_LEVEL", "trace");
        ready(Process::spawn_complaining_to(errors(), command))
    });
    for round in 0..3 {
        for (_, url) in &nodes {
            let ended = run(&["lock", "a", "--endpoint", url, "--wait", "30s", "--", "true"]);
            assert_eq!(ended.code, 0, "round {round}: {}", ended.stderr);
        }
    }
    for (node, url) in nodes.into_iter().rev() {
        eventually("it is well", || run(&["status", "--endpoint", &url]).code == 0);
        node.signal(Signal::SIGTERM);
        assert_eq!(node.end().code, 0);
    }
}

#[test]
fn a_full_disk_for_logs_breaks_no_node() {
    let folder = tempfile::tempdir().unwrap();
    locks_work(folder.path(), || File::options().write(true).open("/dev/full").unwrap().into());
}

#[test]
fn logs_that_nobody_reads_break_no_node() {
    let folder = tempfile::tempdir().unwrap();
    let (unread, mut full) = std::io::pipe().unwrap();
    let errors = full.try_clone().unwrap();
    // It is stuck as soon as the pipe is full, and keeps it full.
    std::thread::spawn(move || while full.write_all(&[b'x'; 4096]).is_ok() {});
    locks_work(folder.path(), || errors.try_clone().unwrap().into());
    drop(unread);
}
