//! `skeptron up` as a process: what it says, what it survives, and what it leaves behind.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lock_command::processes::{Process, eventually, skeptron};

struct Up(Process);

impl Up {
    fn start(folder: &Path, options: &[&str]) -> Self {
        let mut command = skeptron();
        command.args(["up", "--port", "0", "--json"]).args(options).env("TMPDIR", folder);
        Up(Process::spawn_complaining_to(Stdio::inherit(), command))
    }

    fn line(&mut self) -> Value {
        let line = self.0.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Its exit code.
    fn interrupt(self) -> i32 {
        self.0.signal(Signal::SIGINT);
        self.0.end().code
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
    eventually("its API answers no more", || !reached());
    eventually("the others go on", || status()["members"] == serde_json::json!([1, 2]));
    ask(lab, "POST", "/lab/cluster/act", r#"{"node":3,"act":"restart"}"#);
    assert!(reached(), "at the same port");
    eventually("it is back", || status()["nodes"][2]["state"] == "member");
    assert_eq!(up.interrupt(), 0);
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
    assert_eq!(up.interrupt(), 0);
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
    assert_eq!(up.0.end().code, 0);
    assert!(is_empty(folder.path()));
}
