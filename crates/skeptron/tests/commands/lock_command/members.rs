//! Members that come and go, as real processes: `node --init`, `join`, `members`, `voters`, `leave`.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::lock_command::node::{ready, run};
use crate::lock_command::processes::{Ended, Process, eventually, skeptron};

/// A cluster whose three voters are configured.
pub(crate) struct Site {
    folder: TempDir,
    addresses: Vec<String>,
}

impl Site {
    pub(crate) fn new() -> Self {
        let listeners: Vec<TcpListener> =
            (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let address = |it: &TcpListener| it.local_addr().unwrap().to_string();
        let addresses = listeners.iter().map(address).collect();
        Site { folder: TempDir::new().unwrap(), addresses }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn address(&self, number: usize) -> &str {
        &self.addresses[number - 1]
    }

    pub(crate) fn command(&self, number: usize, words: &[&str]) -> Command {
        let mut command = skeptron();
        command.args(["node", "--json", "--insecure"]).args(words);
        command.env("SKEPTRON_NODE", number.to_string());
        command.env("SKEPTRON_VOTERS", self.addresses[..3].join(","));
        command.env("SKEPTRON_DATA", self.path().join(number.to_string()));
        command.env("SKEPTRON_LEASE_LENGTH", "1s").env("SKEPTRON_API_LISTEN", "127.0.0.1:0");
        command
    }

    /// The first node of a cluster whose leases outlast the pauses of a busy machine.
    pub(crate) fn begin_calmly(&self) -> (Process, String) {
        let mut command = self.command(1, &["--init"]);
        command.env("SKEPTRON_LEASE_LENGTH", "10s");
        ready(Process::spawn(command))
    }

    pub(crate) fn start(&self, number: usize, words: &[&str]) -> (Process, String) {
        ready(Process::spawn(self.command(number, words)))
    }

    fn join(&self, words: &[&str]) -> Process {
        let mut command = skeptron();
        command.args(["join", "--json", "--insecure", "--api", "127.0.0.1:0"]).args(words);
        Process::spawn(command)
    }
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|_| panic!("{} {}", ended.stdout, ended.stderr))
}

/// The numbers of the present members, and of those that vote, as a node says.
pub(crate) fn present(url: &str) -> (Vec<u64>, Vec<u64>) {
    let number = |it: &Value| it["node"].as_u64().unwrap();
    let listed = json(&run(&["members", "--json", "--endpoint", url]));
    let members = listed["members"].as_array().unwrap().iter();
    let voters = json(&run(&["voters", "--json", "--endpoint", url]));
    let votes = voters["voters"].as_array().unwrap().iter().filter(|it| it["votes"] == true);
    let mut votes: Vec<u64> = votes.map(number).collect();
    votes.sort_unstable();
    (members.map(number).collect(), votes)
}

fn fence(url: &str, lock: &str) -> u64 {
    let ended = run(&["lock", lock, "--endpoint", url, "--", "sh", "-c", "echo $SKEPTRON_FENCE"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stdout.trim().parse().unwrap()
}

#[test]
fn members_come_and_go_and_voters_are_replaced() {
    let site = Site::new();
    let (first, url) = site.start(1, &["--init"]);
    let (second, _) = site.start(2, &[]);
    let (third, third_url) = site.start(3, &[]);
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    let begun = fence(&third_url, "a");

    // A fourth one needs no more than the address of one voter.
    let voter = format!("2={}", site.addresses[1]);
    let data = site.path().join("4");
    let (fourth, fourth_url) =
        ready(site.join(&[&voter, "--node", "4", "--data", data.to_str().unwrap()]));
    eventually("four are members", || present(&url) == (vec![1, 2, 3, 4], vec![1, 2, 3]));
    assert!(fence(&fourth_url, "a") > begun);

    // One dies. Nobody waits for long, and another one gets its vote.
    third.signal(Signal::SIGKILL);
    third.end();
    let after_death = fence(&fourth_url, "a");
    eventually("it is removed", || present(&url).0 == [1, 2, 4]);
    let replaced = run(&["voters", "replace", "3", "4", "--json", "--endpoint", &fourth_url]);
    assert_eq!(replaced.code, 0, "{}", replaced.stderr);
    assert_eq!(present(&url), (vec![1, 2, 4], vec![1, 2, 4]));

    // A leader is replaced by itself: leadership is handed over first, and its log begins anew.
    let again = run(&["voters", "replace", "1", "1", "--endpoint", &fourth_url]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(present(&fourth_url), (vec![1, 2, 4], vec![1, 2, 4]));
    let longer = run(&["voters", "lease", "2s", "--json", "--endpoint", &fourth_url]);
    assert_eq!(json(&longer)["lease_ms"], 2000, "{}", longer.stderr);

    // What cannot be is refused.
    for (words, expected) in [
        (&["voters", "add", "4"][..], "P4 is already a voter"),
        (&["voters", "add", "9"], "P9 is not a member, and a voter must be one"),
        (&["voters", "remove", "9"], "P9 is not a voter"),
        (&["voters", "lease", "50ms"], "the lease must be from 100 ms to 10 minutes"),
        (&["members", "remove", "9", "--certainly-off"], "P9 is not a member"),
        (&["members", "remove", "2"], "a member that still runs believes in its locks"),
    ] {
        let refused = run(&[words, &["--endpoint", &url]].concat());
        assert_eq!(refused.code, 2, "{words:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
    }

    // One leaves cleanly, and is a member no more when the command has ended.
    let left = run(&["leave", "--endpoint", &fourth_url]);
    assert_eq!(left.code, 0, "{}", left.stderr);
    assert!(left.stdout.contains("run `skeptron voters remove 4`"), "{}", left.stdout);
    assert_eq!(fourth.end().code, 0);
    assert_eq!(present(&url).0, [1, 2]);
    let removed = run(&["voters", "remove", "4", "--endpoint", &url]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let warned = "warning: 2 voters tolerate no more failures than 1";
    assert!(removed.stderr.contains(warned), "{}", removed.stderr);
    assert!(fence(&url, "a") > after_death);
    for node in [second, first] {
        node.signal(Signal::SIGTERM);
        let ended = node.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
}

#[test]
fn a_cluster_begins_once_and_goes_on_from_its_log() {
    let site = Site::new();
    let alone = |words: &[&str]| {
        let mut command = site.command(1, words);
        command.env("SKEPTRON_VOTERS", &site.addresses[0]);
        Process::spawn(command)
    };
    let (node, url) = ready(alone(&["--init", "--epoch-after", "57"]));
    let first = fence(&url, "a");
    assert_eq!(first >> 40, 58, "the first epoch follows the one that was given");
    node.signal(Signal::SIGKILL);
    node.end();
    let twice = alone(&["--init"]).end();
    assert_eq!(twice.code, 2, "{}", twice.stderr);
    assert!(twice.stderr.contains("a cluster is initialised only once"), "{}", twice.stderr);
    assert_eq!(twice.stderr.matches("only once").count(), 1, "{}", twice.stderr);
    assert!(twice.stderr.contains("start this node without --init"), "{}", twice.stderr);
    let (node, url) = ready(alone(&[]));
    assert!(fence(&url, "a") > first, "fences rise over the death of all nodes");
    node.signal(Signal::SIGTERM);
    let ended = node.end();
    assert_eq!(ended.code, 0);
    // What was decided before this start was told then.
    let lines = |what: &str| ended.stderr.lines().filter(|line| line.contains(what)).count();
    assert_eq!(lines("P1 joined at"), 1, "{}", ended.stderr);
    assert_eq!(lines("P1 leads the voters"), 1, "{}", ended.stderr);
}

#[test]
fn a_member_that_was_not_off_is_reported_and_voters_that_do_not_answer_are_shown() {
    let site = Site::new();
    let (first, url) = site.start(1, &["--init"]);
    let (second, _) = site.start(2, &[]);
    let (third, third_url) = site.start(3, &[]);
    eventually("all voters are up", || {
        let table = run(&["voters", "--endpoint", &third_url]);
        table.code == 0 && table.stdout.contains("all 3 up: 1 may fail")
    });

    // The order is carried out, but the member was not off.
    let voter = &site.addresses[0];
    let (fourth, _) = ready(site.join(&[voter, "--node", "4"]));
    let removed = run(&["members", "remove", "4", "--certainly-off", "--endpoint", &url]);
    assert_eq!(removed.code, 1, "{}", removed.stderr);
    assert!(removed.stderr.contains("P4 was removed, but it was not off"), "{}", removed.stderr);
    let refused = run(&["voters", "add", "4", "--endpoint", &url]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("P4 has no folder for a voter's log"), "{}", refused.stderr);
    drop(fourth);

    // P2 dies, and comes back with an empty disk.
    second.signal(Signal::SIGKILL);
    second.end();
    let listed = || run(&["voters", "--endpoint", &url]);
    eventually("its voter is silent", || listed().stdout.contains("SILENT for"));
    let table = listed();
    assert_eq!(table.code, 1);
    assert!(table.stdout.contains("2 of 3 up: none may fail"), "{}", table.stdout);
    eventually("it is gone", || run(&["members", "--endpoint", &url]).stdout.contains("GONE"));
    std::fs::remove_dir_all(site.path().join("2")).unwrap();
    let (second, second_url) = site.start(2, &[]);
    eventually("it says that it does not vote", || {
        listed().stdout.contains("P2 runs, but its voter does not answer")
    });
    let table = listed();
    assert!(table.code == 1 && table.stdout.contains("none may fail"), "{}", table.stdout);
    let replaced = run(&["voters", "replace", "2", "2", "--endpoint", &second_url]);
    assert_eq!(replaced.code, 0, "{}", replaced.stderr);
    eventually("all voters are up again", || listed().stdout.contains("all 3 up: 1 may fail"));
    for node in [third, second, first] {
        node.signal(Signal::SIGTERM);
        node.end();
    }
}

/// What is on the disk is then unknown, and only a restart finds out.
#[test]
fn a_voter_whose_disk_fails_ends_its_process() {
    let site = Site::new();
    let (node, _) = {
        let mut command = site.command(1, &["--init"]);
        command.env("SKEPTRON_VOTERS", &site.addresses[0]);
        ready(Process::spawn(command))
    };
    node.signal(Signal::SIGTERM);
    node.end();
    // Every file may have 0 bytes, and whoever writes more is told instead of killed.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" node --insecure"]);
    command.arg(env!("CARGO_BIN_EXE_skeptron")).env("SKEPTRON_VOTERS", &site.addresses[0]);
    command.env("SKEPTRON_DATA", site.path().join("1")).env("SKEPTRON_API_LISTEN", "127.0.0.1:0");
    let ended = Process::spawn(command).end();
    assert_eq!(ended.code, 74, "{}", ended.stderr);
    assert!(ended.stderr.contains("its log cannot be written"), "{}", ended.stderr);
}

#[test]
fn a_node_says_what_it_waits_for_and_why_it_is_refused() {
    let site = Site::new();
    // Nobody has begun the cluster.
    let mut waiting = Process::spawn(site.command(2, &[]));
    let told = waiting.complaint_until("waits to enter the cluster");
    assert!(told.contains("P1: 127.0.0.1:"), "{told}");
    assert!(told.contains("start P1 once with --init"), "{told}");
    // Whoever joins has a cluster in mind that exists.
    let mut joining = site.join(&[&site.addresses[0], "--node", "4"]);
    let told = joining.complaint_until("waits to enter the cluster");
    assert!(told.contains("no voter has let it in yet") && !told.contains("--init"), "{told}");
    drop(joining);
    waiting.signal(Signal::SIGTERM);
    assert_eq!(waiting.end().code, 0, "it can be told to end meanwhile");
    let (first, url) = site.start(1, &["--init"]);
    let mut command = site.command(2, &[]);
    command.env("SKEPTRON_ALGORITHM", "maekawa");
    let refused = Process::spawn(command).end();
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("the cluster does not let P2 in: algorithms differ"),
        "{}",
        refused.stderr
    );
    // A second process with the number of a member that lives.
    let mut double = site.join(&[
        &site.addresses[0],
        "--node",
        "1",
        "--data",
        "x",
        "--address",
        &site.addresses[3],
    ]);
    let told = double.complaint_until("error: ");
    assert!(told.contains("its own address"), "{told}");
    double.end();
    let embedded = crate::lock_command::processes::Up::start(&["--nodes", "1"]);
    let kept = run(&["leave", "--endpoint", embedded.url()]);
    assert_eq!(kept.code, 2, "{}", kept.stderr);
    assert!(kept.stderr.contains("cannot be stopped through the API"), "{}", kept.stderr);
    assert_eq!(present(&url).0, [1]);
    drop(first);
}

#[test]
fn a_command_that_was_given_one_node_outlives_it() {
    let site = Site::new();
    let (_first, url) = site.start(1, &["--init"]);
    let (_second, _) = site.start(2, &[]);
    let (third, third_url) = site.start(3, &[]);
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    let listed = json(&run(&["members", "--json", "--endpoint", &url]));
    assert_eq!(listed["members"][2]["api"], serde_json::json!([third_url]));
    let lock = |options: &[&str]| {
        let mut command = skeptron();
        command.args(["lock", "a", "--endpoint", &third_url]).args(options);
        command.args(["--", "sh", "-c", "echo $SKEPTRON_FENCE; read line; echo done"]);
        Process::spawn(command)
    };
    let mut holder = lock(&[]);
    let held: u64 = holder.line().parse().unwrap();
    let mut waiter = lock(&[]);
    let rows = || {
        let listed = json(&run(&["locks", "--json", "--endpoint", &url]));
        listed["locks"].as_array().unwrap().clone()
    };
    eventually("it waits", || rows().iter().any(|row| row["waiters"] == 1));
    third.signal(Signal::SIGKILL);
    third.end();
    let fence = held.to_string();
    let is_held = |row: &Value| row["holder"]["fence"] == fence.as_str();
    eventually("both have moved", || {
        let rows = rows();
        rows.iter().any(is_held) && rows.iter().any(|row| row["waiters"] == 1)
    });
    writeln!(holder.input()).unwrap();
    assert_eq!(holder.line(), "done");
    assert_eq!(holder.end().code, 0);
    let next: u64 = waiter.line().parse().unwrap();
    assert!(next > held);
    waiter.close_input();
    assert_eq!(waiter.end().code, 0);
}

/// Whoever holds something at a node that an operator ends, and knows another one, goes on there.
#[test]
fn no_command_loses_its_lock_when_its_node_is_told_to_end() {
    let site = Site::new();
    let (_first, url) = site.begin_calmly();
    let (_second, _) = site.start(2, &[]);
    let mut third = site.command(3, &[]);
    third.env("SKEPTRON_SHUTDOWN_GRACE", "1s");
    let (third, third_url) = ready(Process::spawn(third));
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    let lock = |number: usize| {
        let (name, urls) = (number.to_string(), format!("{third_url},{url}"));
        let mut command = skeptron();
        command.args(["lock", &name, "--endpoint", &urls, "--"]);
        command.args(["sh", "-c", "echo $SKEPTRON_FENCE; read -r _; true"]);
        Process::spawn(command)
    };
    let mut holders: Vec<Process> = (0..8).map(lock).collect();
    let fences: Vec<String> = holders.iter_mut().map(Process::line).collect();
    let held = || -> Vec<(u64, String)> {
        let listed = json(&run(&["locks", "--json", "--endpoint", &url]));
        let holder = |row: &Value| {
            let (node, fence) = (&row["holder"]["node"], &row["holder"]["fence"]);
            Some((node.as_u64()?, fence.as_str()?.to_string()))
        };
        listed["locks"].as_array().unwrap().iter().filter_map(holder).collect()
    };
    let at = |node: u64| fences.iter().map(|fence| (node, fence.clone())).collect::<Vec<_>>();
    assert_eq!(held(), at(3));
    third.signal(Signal::SIGTERM);
    assert_eq!(third.end().code, 0);
    eventually("all have moved", || held() == at(1));
    // By the time there, not since the grant.
    let table = run(&["locks", "--endpoint", &url]).stdout;
    assert!(table.lines().next().unwrap().contains("there for"), "{table}");
    for mut holder in holders {
        holder.close_input();
        let ended = holder.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
}
