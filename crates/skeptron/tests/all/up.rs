//! `skeptron up` as a process: what it says, what it survives, and what it leaves behind.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Up {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Up {
    fn start(folder: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
        command.args(["up", "--port", "0", "--json"]).args(options).env("TMPDIR", folder);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Up { child, lines }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn interrupt(mut self) -> ExitStatus {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// What is there, as the lab's page is told.
fn ask(url: &str, method: &str, path: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n");
    let length =
        format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{length}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (from, to) = (answer.find('{').unwrap(), answer.rfind('}').unwrap());
    serde_json::from_str(&answer[from..=to]).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn members_are_killed_and_restarted_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut up = Up::start(folder.path(), &[]);
    let ready = up.line();
    assert_eq!(ready["voters"], serde_json::json!([1, 2, 3]), "{ready}");
    assert!(!is_empty(folder.path()), "the voters' logs are there");
    let (lab, third) = (ready["lab"].as_str().unwrap(), ready["nodes"][2]["api"].as_str().unwrap());
    let reached = || TcpStream::connect(third.strip_prefix("http://").unwrap()).is_ok();
    let status = || ask(lab, "GET", "/lab/cluster", "")["status"].take();
    assert!(reached());
    assert_eq!(status()["members"], serde_json::json!([1, 2, 3]));
    let killed = ask(lab, "POST", "/lab/cluster/act", r#"{"node":3,"act":"kill"}"#);
    assert_eq!(killed["status"]["nodes"][2]["state"], "killed", "{killed}");
    until("its API answers no more", || !reached());
    until("the others go on", || status()["members"] == serde_json::json!([1, 2]));
    ask(lab, "POST", "/lab/cluster/act", r#"{"node":3,"act":"restart"}"#);
    assert!(reached(), "at the same port");
    until("it is back", || status()["nodes"][2]["state"] == "member");
    assert!(up.interrupt().success());
    assert!(is_empty(folder.path()), "the folder is removed");
}

#[test]
fn a_layout_for_some_members_only_keeps_them_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--nodes", "4", "--algorithm", "raymond", "--tree", "star"];
    let mut up = Up::start(folder.path(), &options);
    let ready = up.line();
    assert_eq!(ready["voters"], serde_json::json!([]), "{ready}");
    let lab = ready["lab"].as_str().unwrap();
    let refused = ask(lab, "POST", "/lab/cluster/act", r#"{"node":3,"act":"kill"}"#);
    assert!(refused["error"].as_str().unwrap().contains("layout"), "{refused}");
    assert!(up.interrupt().success());
    assert!(is_empty(folder.path()));
}

#[test]
fn locks_stay_exclusive_while_members_are_killed_and_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--nodes", "5", "--chaos", "--seed", "7", "--for", "15s"];
    let mut up = Up::start(folder.path(), &options);
    assert_eq!(up.line()["ready"], true);
    let mut acts = 0;
    let summary = loop {
        let line = up.line();
        if line["act"].is_null() {
            break line;
        }
        acts += 1;
    };
    assert_eq!(summary["violations"], 0, "{summary}");
    assert_eq!(summary["acts"], acts, "{summary}");
    assert!(acts > 0 && summary["entries"].as_u64().unwrap() > 100, "{summary}");
    assert!(up.child.wait().unwrap().success());
    assert!(is_empty(folder.path()));
}
