//! `skeptron check --disk`: real processes that are killed, stopped, refused and continued.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::signals::heed_signals;

/// Searches that take a few seconds: one in which everything holds, one that ends with a counterexample.
const SYSTEMS: [&str; 2] = [
    "lamport -n 3 --requests 2 --no-reduction --judge exclusion,progress,messages",
    "ricart-agrawala -n 3 --requests 2,2,3 --duplicate 1 --keep-going --no-reduction",
];

fn skeptron(words: &str, disk: Option<(&Path, bool)>) -> Command {
    heed_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
    command.arg("check").args(words.split(' ')).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some((folder, resume)) = disk {
        command.arg("--disk").arg(folder).args(["--max-memory", "16M"]);
        if resume {
            command.arg("--resume");
        }
    }
    command
}

/// What an answer says, apart from time and memory.
fn answer(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    let mut answer: Value = serde_json::from_slice(&output.stdout).expect(&error);
    let fields = answer.as_object_mut().unwrap();
    for field in ["seconds", "peak_bytes", "disk_bytes", "command"] {
        fields.remove(field);
    }
    answer
}

/// Waits until the search has saved so many states.
fn wait_for_states(child: &mut Child, folder: &Path, states: u64) {
    let manifest = folder.join("all/manifest.json");
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let saved = fs::read(&manifest).ok();
        let saved = saved.and_then(|text| {
            serde_json::from_slice::<Value>(text.split(|&byte| byte == b'\n').next()?).ok()
        });
        if saved.is_some_and(|saved| saved["states"].as_u64() >= Some(states)) {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        assert!(Instant::now() < deadline, "nothing is saved");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_search_that_is_killed_again_and_again_says_what_one_in_memory_says() {
    for words in SYSTEMS {
        let words = format!("{words} --json");
        let expected = skeptron(&words, None).output().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("search");
        for (resume, states) in [(false, 100_000), (true, 1_000_000)] {
            let mut child = skeptron(&words, Some((&folder, resume))).spawn().unwrap();
            wait_for_states(&mut child, &folder, states);
            // On Unix this is SIGKILL.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let found = skeptron(&words, Some((&folder, true))).output().unwrap();
        assert_eq!(found.status.code(), expected.status.code(), "{words}");
        assert_eq!(answer(&found), answer(&expected), "{words}");
        assert_eq!(expected.status.code(), Some(i32::from(words.contains("duplicate"))));
    }
}

#[test]
fn an_interrupted_search_says_how_to_continue_it_and_its_folder_is_for_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("search");
    let mut child = skeptron(SYSTEMS[0], Some((&folder, false))).spawn().unwrap();
    wait_for_states(&mut child, &folder, 1000);
    let other = skeptron(SYSTEMS[0], Some((&folder, true))).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("another process is searching in this folder"), "{said}");
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130));
    let said = String::from_utf8(stopped.stdout).unwrap();
    let continued = said.lines().find_map(|line| line.strip_prefix("continue it  skeptron check "));
    let continued = continued.unwrap_or_else(|| panic!("{said}"));
    let words = format!("{continued} --json");
    let found = skeptron(&words, None).output().unwrap();
    let expected = skeptron(&format!("{} --json", SYSTEMS[0]), None).output().unwrap();
    assert_eq!(answer(&found), answer(&expected));
}

/// A limit on the size of files stands for a disk that is full: writing fails in the middle.
#[test]
fn a_full_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("search");
    let command = skeptron(SYSTEMS[0], Some((&folder, false)));
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let script = format!("trap '' XFSZ; ulimit -f 200; exec {}", words.join(" "));
    let full = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8(full.stderr).unwrap();
    assert_eq!(full.status.code(), Some(2), "{said}");
    assert!(said.contains("make room and continue with --resume"), "{said}");
    let words = format!("{} --json", SYSTEMS[0]);
    let found = skeptron(&words, Some((&folder, true))).output().unwrap();
    let expected = skeptron(&words, None).output().unwrap();
    assert_eq!(answer(&found), answer(&expected));
}
