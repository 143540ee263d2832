//! No two commands run under one lock at once, whoever is killed or stopped, and whatever a command
//! does to go on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::lock_command::members::{Site, present};
use crate::lock_command::node::ready;
use crate::lock_command::processes::{Process, Up, eventually, skeptron};

/// Files in which commands say when they ran, in seconds since the machine started.
struct Times {
    folder: PathBuf,
}

impl Times {
    fn new(folder: &Path) -> Self {
        Times { folder: folder.to_path_buf() }
    }

    /// A loop that TERM does not end, and that says again and again that it runs.
    fn runs(&self, who: &str) -> String {
        let file = self.folder.join(who);
        format!(
            "trap '' TERM INT HUP; while read now rest < /proc/uptime; do echo $now >> {}; \
             sleep 0.01; done",
            file.display()
        )
    }

    /// A command with three such loops: itself, a child, and one in a session of its own, whose
    /// parent ends at once.
    fn stubborn(&self) -> String {
        let [itself, child, orphan] = ["itself", "child", "orphan"].map(|who| self.runs(who));
        let orphan = orphan.replace('$', "\\$");
        format!("(setsid sh -c \"{orphan}\" &); ({child}) & {itself}")
    }

    fn all_run(&self, who: &[&str]) -> bool {
        who.iter().all(|who| self.folder.join(who).exists())
    }

    /// When the last of them said so the last time. Whoever still runs gets time to say so.
    fn last(&self, who: &[&str]) -> f64 {
        std::thread::sleep(Duration::from_millis(500));
        let last = |who: &&str| {
            let text = fs::read_to_string(self.folder.join(who)).unwrap();
            text.lines().last().unwrap().parse::<f64>().unwrap()
        };
        who.iter().map(last).fold(0.0, f64::max)
    }
}

const ALL: [&str; 3] = ["itself", "child", "orphan"];

/// Says when it begins.
const NEXT: [&str; 3] = ["sh", "-c", "read now rest < /proc/uptime; echo $now"];

fn lock(url: &str, options: &[&str], words: &[&str]) -> Process {
    let mut command: Command = skeptron();
    command.args(["lock", "a", "--endpoint", url]).args(options).arg("--").args(words);
    Process::spawn(command)
}

/// What the next holder says of its beginning.
fn begun(next: Process) -> f64 {
    let ended = next.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stdout.trim().parse().unwrap()
}

/// The holder's node gets into trouble; another node serves the next one.
fn the_next_waits_for_the_end_when_the_node_gets(trouble: Signal) {
    let site = Site::new();
    let start = |number: usize, words: &[&str]| {
        let mut command = site.command(number, words);
        command.env("SKEPTRON_LEASE_LENGTH", "2s");
        ready(Process::spawn(command))
    };
    let nodes = [start(1, &["--init"]), start(2, &[]), start(3, &[])];
    let (troubled, url) = &nodes[2];
    eventually("three vote", || present(url) == (vec![1, 2, 3], vec![1, 2, 3]));
    let times = Times::new(site.path());
    let holder = lock(url, &["--no-discovery"], &["sh", "-c", &times.stubborn()]);
    eventually("it runs", || times.all_run(&ALL));
    let next = lock(&nodes[0].1, &[], &NEXT);
    troubled.signal(trouble);
    let begun = begun(next);
    let ended = holder.end();
    assert!(times.last(&ALL) <= begun, "{} {begun}", times.last(&ALL));
    assert_eq!(ended.code, 76, "{}", ended.stderr);
    assert!(ended.stderr.contains("it was ended in time"), "{}", ended.stderr);
}

#[test]
fn the_next_command_waits_for_the_end_of_one_whose_node_is_killed() {
    the_next_waits_for_the_end_when_the_node_gets(Signal::SIGKILL);
}

#[test]
fn the_next_command_waits_for_the_end_of_one_whose_node_is_stopped() {
    the_next_waits_for_the_end_when_the_node_gets(Signal::SIGSTOP);
}

#[test]
fn a_command_does_not_outlive_its_lock_while_its_holder_is_stopped() {
    let up = Up::start(&["--nodes", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let times = Times::new(folder.path());
    let holder = lock(up.url(), &["--ttl", "2s"], &["sh", "-c", &times.stubborn()]);
    eventually("it runs", || times.all_run(&ALL));
    holder.signal(Signal::SIGSTOP);
    let begun = begun(lock(up.url(), &[], &NEXT));
    assert!(times.last(&ALL) <= begun, "{} {begun}", times.last(&ALL));
    holder.signal(Signal::SIGCONT);
    let ended = holder.end();
    assert_eq!(ended.code, 76, "{}", ended.stderr);
    assert!(ended.stderr.contains("it was killed"), "{}", ended.stderr);
}

#[test]
fn a_command_does_not_outlive_its_lock_when_its_holder_is_killed() {
    let up = Up::start(&["--nodes", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let times = Times::new(folder.path());
    let [child, itself] = ["child", "itself"].map(|who| times.runs(who));
    let script = format!("({child}) & {itself}");
    let holder = lock(up.url(), &["--ttl", "2s"], &["sh", "-c", &script]);
    let both = ["child", "itself"];
    eventually("it runs", || times.all_run(&both));
    holder.signal(Signal::SIGKILL);
    let begun = begun(lock(up.url(), &[], &NEXT));
    assert!(times.last(&both) <= begun, "{} {begun}", times.last(&both));
}

#[test]
fn what_a_command_leaves_behind_goes_on_after_it_has_ended() {
    let up = Up::start(&["--nodes", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let (flag, file) = (folder.path().join("flag"), folder.path().join("late"));
    let late =
        format!("until [ -e {} ]; do sleep 0.02; done; echo > {}", flag.display(), file.display());
    let script = format!("({late}) > /dev/null 2>&1 & exit 3");
    let ended = lock(up.url(), &[], &["sh", "-c", &script]).end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    fs::write(flag, "").unwrap();
    eventually("it went on", || file.exists());
}

#[test]
fn a_time_to_end_that_leaves_no_time_to_run_is_refused_and_one_that_is_too_long_is_shortened() {
    let up = Up::start(&["--nodes", "1"]);
    let ended = lock(up.url(), &["--ttl", "5s", "--kill-after", "5s"], &["true"]).end();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: --kill-after 5s is not shorter than --ttl 5s"));
    let ended = lock(up.url(), &["--ttl", "10s", "--kill-after", "9s"], &["true"]).end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("instead of --kill-after 9s"), "{}", ended.stderr);
}
