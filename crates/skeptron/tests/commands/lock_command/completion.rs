//! What a shell is told when somebody presses Tab.

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::lock_command::members::Site;
use crate::lock_command::node::run;
use crate::lock_command::processes::{Process, eventually, skeptron};

/// What can follow these words, the last of which is begun; as the scripts ask.
fn candidates(words: &[&str]) -> Vec<String> {
    let mut command = skeptron();
    command.args(["--", "skeptron"]).args(words).env("SKEPTRON_COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).env("_CLAP_IFS", "\n");
    let ended = Process::spawn(command).end();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{words:?}");
    ended.stdout.lines().map(|line| line.trim().to_string()).collect()
}

#[test]
fn names_that_are_fixed_are_known_without_a_node() {
    assert!(candidates(&["si"]).contains(&"sim".to_string()));
    assert!(candidates(&["sim", "ray"]).contains(&"raymond".to_string()));
    assert!(candidates(&["sim", "bul"]).contains(&"bully".to_string()));
    assert!(
        candidates(&["sim", "maekawa", "--quorum", "proj"]).contains(&"projective".to_string())
    );
    assert!(candidates(&["sim", "raymond", "--tree", "st"]).contains(&"star".to_string()));
    assert!(candidates(&["drain", "--un"]).contains(&"--undo".to_string()));
}

#[test]
fn locks_and_members_are_asked_of_the_node() {
    let site = Site::new();
    let (node, url) = site.begin_calmly();
    let hold = |name: &str| {
        let mut command = skeptron();
        command.args(["lock", name, "--endpoint", &url]);
        let mut held = Process::spawn(command);
        held.line();
        held
    };
    let held = [hold("orders/41"), hold("orders/42"), hold("jobs")];
    for command in ["lock", "locks"] {
        // On a busy machine the node may be too slow for a Tab.
        let found = || candidates(&[command, "--endpoint", &url, "ord"]);
        eventually(command, || found() == ["orders/41", "orders/42"]);
    }
    let with_equals = format!("--endpoint={url}");
    eventually("with =", || candidates(&["lock", &with_equals, "j"]) == ["jobs"]);
    for words in [&["voters", "add"][..], &["voters", "replace", "2"], &["members", "remove"]] {
        let line = [words, &["--endpoint", &url, ""]].concat();
        eventually("members", || candidates(&line).contains(&"1".to_string()));
    }
    let named = || candidates(&["voters", "remove", "--endpoint", &url, "P"]);
    eventually("by name", || named() == ["P1"]);

    // The script that a shell reads does the same.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("completion.bash");
    std::fs::write(&script, run(&["completions", "bash"]).stdout).unwrap();
    let asked = format!(
        "source {}; COMP_WORDS=(skeptron locks --endpoint '{url}' ord); COMP_CWORD=4; COMP_TYPE=9; \
         _clap_complete_skeptron skeptron ord '{url}' 2> /dev/null; echo \"${{COMPREPLY[*]}}\"",
        script.display()
    );
    let beside = std::path::Path::new(env!("CARGO_BIN_EXE_skeptron")).parent().unwrap();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap());
    eventually("bash knows them", || {
        let mut bash = Command::new("bash");
        bash.args(["-c", &asked]).env_remove("SKEPTRON_ENDPOINT").env("PATH", &path);
        let said = Process::spawn(bash).end();
        said.stdout.contains("orders/41") && said.stdout.contains("orders/42")
    });
    for held in held {
        held.signal(Signal::SIGTERM);
        held.end();
    }
    node.signal(Signal::SIGTERM);
    node.end();
}

#[test]
fn a_node_that_does_not_answer_is_not_waited_for_nor_complained_of() {
    // It takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (format!("http://{}", silent.local_addr().unwrap()), silent);
    for url in ["http://127.0.0.1:1", &silent.0] {
        let began = Instant::now();
        assert_eq!(candidates(&["lock", "--endpoint", url, "a"]), Vec::<String>::new());
        assert!(!candidates(&["voters", "add", "--endpoint", url, ""]).contains(&"1".into()));
        assert!(began.elapsed() < Duration::from_secs(30), "{url}");
    }
}
