//! A lock is broken by an administrator.

use std::fs;

use crate::lock_command::node::{free_addresses, ready, run};
use crate::lock_command::processes::{Process, skeptron};

#[test]
fn a_broken_lock_ends_its_command_and_the_audit_log_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit.log");
    let [address, _] = free_addresses();
    let mut command = skeptron();
    command.args(["node", "--json", "--init", "--insecure"]);
    command.env("SKEPTRON_VOTERS", &address).env("SKEPTRON_DATA", folder.path().join("data"));
    command.env("SKEPTRON_API_LISTEN", "127.0.0.1:0").env("SKEPTRON_LOG_AUDIT", &audit);
    let (_node, url) = ready(Process::spawn(command));
    let mut command = skeptron();
    command.args(["lock", "deploy", "--endpoint", &url, "--"]);
    command.args(["sh", "-c", "echo $SKEPTRON_FENCE; exec sleep 600"]);
    let mut holder = Process::spawn(command);
    let fence = holder.line();

    let unlock = |fence: &str| {
        let reason = "its script hangs";
        run(&["unlock", "deploy", "--fence", fence, "--reason", reason, "--endpoint", &url])
    };
    let another: u64 = fence.parse::<u64>().unwrap() + 1;
    let refused = unlock(&another.to_string());
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(refused.stderr.contains("deploy"), "{}", refused.stderr);
    let broken = unlock(&fence);
    assert_eq!(broken.code, 0, "{}", broken.stderr);
    assert!(broken.stdout.contains("is broken; it can be granted in"), "{}", broken.stdout);
    let ended = holder.end();
    assert_eq!(ended.code, 76, "{}", ended.stderr);

    let audit = fs::read_to_string(audit).unwrap();
    // Both tries are there, the second one as done.
    let tries: Vec<&str> = audit.lines().filter(|line| line.contains("its script hangs")).collect();
    assert!(tries.len() == 2 && tries[0].contains("\"outcome\":\"failed\""), "{audit}");
    assert!(tries[1].contains(&fence) && tries[1].contains("\"outcome\":\"done\""), "{audit}");
    let next = run(&["lock", "deploy", "--wait", "30s", "--endpoint", &url, "--", "true"]);
    assert_eq!(next.code, 0, "{}", next.stderr);
}
