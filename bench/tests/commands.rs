//! `skeptron-bench`: what it says, and that it leaves nothing behind. SKEPTRON_BIN names the program to measure.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

fn bench(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron-bench"));
    command.env("TMPDIR", folder);
    command
}

/// Two rounds of so many seconds.
fn locks(folder: &Path, seconds: &str, services: &str) -> Command {
    let mut command = bench(folder);
    command.args(["locks", "--rounds", "2", "--seconds", seconds, "--only", services]);
    command
}

/// As short as can be, with nothing to be found but what is in the folder.
fn locks_alone(folder: &Path, services: &str) -> Command {
    let mut command = locks(folder, "0.05", services);
    command.env("PATH", folder);
    command
}

fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A program that does what the lines of shell say.
fn pretend(folder: &Path, name: &str, lines: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_row_is_measured_and_judged() {
    let folder = TempDir::new().unwrap();
    let services =
        "bare,coordinator,embedded,api,api-unix,native,native-tls,native-one,native-pool";
    let rows = judged(&locks(folder.path(), "0.05", services).arg("--json").output().unwrap());
    assert_eq!(rows.len(), 33);
    let again = rows.iter().find(|row| row["workload"] == "again").unwrap();
    // The first entry may have to fetch the lock from its home.
    let messages = again["messages"].as_f64().unwrap();
    assert!(messages < 0.01, "whoever had the lock last asks nobody, but {messages} were sent");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn etcd_and_redis_are_measured_where_they_are_installed() {
    for (service, program) in [("etcd", "etcd"), ("redis", "redis-server")] {
        if !is_installed(program) {
            println!("SKIPPED: {program} is not installed");
            continue;
        }
        let folder = TempDir::new().unwrap();
        // Clients of etcd that contend wait for a tenth of a second.
        let mut bench = locks(folder.path(), "0.5", &format!("coordinator,{service}"));
        let rows = judged(&bench.arg("--json").output().unwrap());
        assert_eq!(rows.len(), 8, "{rows:?}");
    }
}

/// The rows, each of which has plausible figures and no violation.
fn judged(output: &Output) -> Vec<Value> {
    let document = json(output);
    let rows = document["rows"].as_array().unwrap();
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let [low, high] = [0, 1].map(|k| row["cycles_per_second_range"][k].as_f64().unwrap());
        let median = number("cycles_per_second");
        // A busy machine may leave a short round without a cycle.
        assert!(low <= median && median <= high && 0.0 < high, "{row}");
        assert!(number("p50_ns") <= number("p99_ns"), "{row}");
        assert_eq!(row.get("violation"), None);
    }
    rows.clone()
}

/// A debug build on a busy machine: the bounds only tell figures from nonsense.
#[test]
fn every_crash_is_measured() {
    let folder = TempDir::new().unwrap();
    let mut bench = bench(folder.path());
    bench.args(["failover", "--rounds", "1", "--locks", "4", "--held", "500"]);
    bench.args(["--without", "etcd", "--json"]);
    let document = json(&bench.output().unwrap());
    let rows = document["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    let pauses = [
        "follower-killed",
        "held-at-follower",
        "leader-killed",
        "held-at-leader",
        "view-change",
        "kept-in-change",
    ];
    assert_eq!(names, [&pauses[..], &["again"]].concat());
    for row in &rows[..pauses.len()] {
        let [median, longest] = ["median_ms", "longest_ms"].map(|key| row[key].as_f64().unwrap());
        assert!(0.0 < median && median <= longest && longest < 30_000.0, "{row}");
        // Nobody gets the lock of a killed member before its lease is over.
        let is_held = row["what"].as_str().unwrap().starts_with("held");
        assert!(!is_held || median > 1_000.0, "{row}");
    }
    let rate = rows[pauses.len()]["cycles_per_second"].as_f64().unwrap();
    assert!((1_000.0..1e8).contains(&rate), "{rate} cycles/s");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_not_installed_is_said_with_the_remedy() {
    let folder = TempDir::new().unwrap();
    let output = locks_alone(folder.path(), "bare,etcd,redis").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\netcd × 3: not installed: apt-get install etcd-server\n"), "{said}");
    assert!(said.contains("\nRedis × 1: not installed: apt-get install redis-server\n"), "{said}");
}

#[test]
fn a_server_that_does_not_start_is_said_with_the_end_of_its_log() {
    let folder = TempDir::new().unwrap();
    pretend(folder.path(), "etcd", "echo no luck today >&2; exit 3");
    let document = json(&locks_alone(folder.path(), "bare,etcd").arg("--json").output().unwrap());
    let row = document["rows"].as_array().unwrap().iter().find(|row| row["service"] == "etcd");
    let why = row.unwrap()["absent"].as_str().unwrap();
    assert!(why.contains("exit status: 3") && why.contains("no luck today"), "{why}");
}

/// The server in question never answers; the bench is told to end while it waits for it.
#[test]
fn an_interrupted_bench_stops_what_it_started() {
    let folder = TempDir::new().unwrap();
    let noted = folder.path().join("pid");
    let lines = format!(
        "echo $$ > '{0}.new'; /bin/mv '{0}.new' '{0}'; exec /bin/sleep 600",
        noted.display()
    );
    pretend(folder.path(), "redis-server", &lines);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut bench = locks_alone(folder.path(), "bare,redis");
        let mut running = bench.stderr(Stdio::null()).spawn().unwrap();
        let server = until(|| fs::read_to_string(&noted).ok());
        let server = Pid::from_raw(server.trim().parse().unwrap());
        fs::remove_file(&noted).unwrap();
        assert!(kill(server, None).is_ok(), "it runs");
        kill(Pid::from_raw(running.id() as i32), signal).unwrap();
        let status = until(|| running.try_wait().unwrap());
        assert_eq!(status.code(), Some(2), "{signal}");
        assert!(kill(server, None).is_err(), "{signal}: the server is stopped");
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "{signal}: its folder is removed");
    }
}

fn until<T>(attempt: impl FnMut() -> Option<T>) -> T {
    let (start, mut attempt) = (Instant::now(), attempt);
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never happens");
        std::thread::sleep(Duration::from_millis(10));
    }
}
