//! `skeptron up` and `skeptron lock` as real processes: exit codes, environment, signals, locks that
//! are lost, holders that die.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::lock_command::processes::{Process, Up, eventually, skeptron};

/// Says `ready` and its fence, then holds until its input ends.
const UNTIL_INPUT_ENDS: &str = "echo ready $SKEPTRON_FENCE; cat";

#[test]
fn the_exit_code_is_that_of_the_command() {
    let up = Up::start(&[]);
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill $$", 143)] {
        let ended = up.lock("codes", &[], &["sh", "-c", script]).spawn_and_end();
        assert_eq!(ended.code, code, "{script}: {}", ended.stderr);
        assert_eq!(ended.stderr, "", "{script}");
    }
    let ended = up.lock("codes", &[], &["no-such-command"]).spawn_and_end();
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (127, "error: command not found: `no-such-command`\n")
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-executable");
    fs::write(&file, "").unwrap();
    let ended = up.lock("codes", &[], &[file.to_str().unwrap()]).spawn_and_end();
    assert_eq!(ended.code, 126, "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot be run"), "{}", ended.stderr);
}

#[test]
fn without_a_node_the_exit_code_says_so() {
    // Nobody listens at port 1.
    for words in [&["lock", "a"][..], &["status"], &["locks"]] {
        let mut command = skeptron();
        command.args(words).args(["--endpoint", "http://127.0.0.1:1"]);
        if words[0] == "lock" {
            command.args(["--", "true"]);
        }
        let ended = Process::spawn(command).end();
        assert_eq!(ended.code, 69, "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: cannot reach a node"), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn the_command_has_lock_and_fence_in_its_environment_and_its_own_streams() {
    let up = Up::start(&[]);
    let script = "read line; echo $line $SKEPTRON_LOCK $SKEPTRON_FENCE; echo trouble >&2";
    let mut fences = Vec::new();
    for _ in 0..2 {
        let mut process = up.lock("orders/42", &[], &["sh", "-c", script]).spawn();
        process.input().write_all(b"hello\n").unwrap();
        let ended = process.end();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, "trouble\n"));
        let words: Vec<&str> = ended.stdout.split_whitespace().collect();
        let ["hello", "orders/42", fence] = words[..] else { panic!("{}", ended.stdout) };
        fences.push(fence.parse::<u64>().unwrap());
    }
    assert!(fences[0] < fences[1], "{fences:?}");
}

#[test]
fn signals_are_passed_on() {
    let up = Up::start(&[]);
    for (name, signal) in [
        ("TERM", Signal::SIGTERM),
        ("INT", Signal::SIGINT),
        ("HUP", Signal::SIGHUP),
        ("QUIT", Signal::SIGQUIT),
        ("USR1", Signal::SIGUSR1),
        ("USR2", Signal::SIGUSR2),
    ] {
        let script = format!(
            "trap 'echo heard {name}; exit 42' {name}; echo ready; while :; do sleep 0.05; done"
        );
        let mut process = up.lock("signals", &[], &["sh", "-c", &script]).spawn();
        assert_eq!(process.line(), "ready");
        process.signal(signal);
        let ended = process.end();
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (42, &*format!("heard {name}\n")),
            "{}",
            ended.stderr
        );
    }
    // One that does not care dies of it, with all that it has started.
    let mut process = up.lock("signals", &[], &["sh", "-c", "sleep 300 & echo $!; wait"]).spawn();
    let sleeper: i32 = process.line().parse().unwrap();
    process.signal(Signal::SIGTERM);
    assert_eq!(process.end().code, 143);
    eventually("what it started ends, too", || !is_running(sleeper));
    // It gave the lock back.
    assert_eq!(up.lock("signals", &["--no-wait"], &["true"]).spawn_and_end().code, 0);
}

#[test]
fn who_need_not_wait_is_told_at_once_and_who_waits_is_told_in_time() {
    let up = Up::start(&[]);
    let mut holder = up.lock("busy", &[], &["sh", "-c", UNTIL_INPUT_ENDS]).spawn();
    assert!(holder.line().starts_with("ready"));
    for node in 0..3 {
        let ended = up.lock_at(node, "busy", &["--no-wait"], &["true"]).spawn_and_end();
        assert_eq!(ended.code, 75, "{}", ended.stderr);
        assert!(ended.stderr.contains("leave out --no-wait"), "{}", ended.stderr);
    }
    let began = Instant::now();
    let ended = up.lock_at(1, "busy", &["--wait", "300ms"], &["true"]).spawn_and_end();
    assert_eq!(ended.code, 75, "{}", ended.stderr);
    assert!(ended.stderr.contains("timed out after 300ms"), "{}", ended.stderr);
    assert!(began.elapsed() >= Duration::from_millis(300));
    let ended = up.lock_at(1, "busy", &["--no-wait", "--quiet"], &["true"]).spawn_and_end();
    assert_eq!((ended.code, ended.stderr.as_str()), (75, ""));
    holder.close_input();
    assert_eq!(holder.end().code, 0);
    assert_eq!(up.lock_at(2, "busy", &["--wait", "20s"], &["true"]).spawn_and_end().code, 0);
}

#[test]
fn a_signal_ends_the_wait_and_the_listing_shows_who_is_there() {
    let up = Up::start(&[]);
    let mut holder =
        up.lock("queue", &["--owner", "first"], &["sh", "-c", UNTIL_INPUT_ENDS]).spawn();
    let fence = holder.line().strip_prefix("ready ").unwrap().to_string();
    let waiter = up.lock_at(1, "queue", &["--verbose"], &["true"]).spawn();
    eventually("it waits", || up.waiters("queue") == 1);
    let listing = up.listing();
    let lock = &listing["locks"][0];
    assert_eq!(lock["name"], "queue");
    assert_eq!(lock["holder"]["owner"], "first");
    assert_eq!(lock["holder"]["fence"], fence, "all digits, as a string");
    let table = up.table();
    let epoch = fence.parse::<u64>().unwrap() >> 40;
    let shown = format!("{fence} ({epoch}·1)");
    assert!(table.contains(&shown), "with epoch and counter: {table}");
    assert_eq!(lock["holder"]["node"], 1);
    assert_eq!(lock["waiting"], serde_json::json!([{ "node": 2, "waiters": 1 }]));
    assert_eq!(listing["silent"], serde_json::json!([]));
    waiter.signal(Signal::SIGTERM);
    let ended = waiter.end();
    assert_eq!(ended.code, 143, "{}", ended.stderr);
    assert!(ended.stderr.contains("gave up waiting for `queue`"), "{}", ended.stderr);
    eventually("the queue is empty", || up.waiters("queue") == 0);
    holder.close_input();
    assert_eq!(holder.end().code, 0);
}

#[test]
fn whoever_loses_the_lock_is_ended() {
    let up = Up::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let gently = format!(
        "trap 'echo told > {}; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
        told.display()
    );
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let ttl = ["--ttl", "1s", "--kill-after", "300ms"];
    let mut obedient = up.lock("a", &ttl, &["sh", "-c", &gently]).spawn();
    let mut defiant = up.lock("b", &ttl, &["sh", "-c", stubborn]).spawn();
    assert_eq!((obedient.line().as_str(), defiant.line().as_str()), ("ready", "ready"));
    up.kill();
    for (name, process) in [("a", obedient), ("b", defiant)] {
        let ended = process.end();
        assert_eq!(ended.code, 76, "{}", ended.stderr);
        // The shell has a word to say on its own end, too.
        let lost = format!("error: the lock `{name}` (fence ");
        assert!(ended.stderr.contains(&lost), "{}", ended.stderr);
        assert!(ended.stderr.contains("·1)"), "{}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(told).unwrap(), "told\n");
}

#[test]
fn a_cluster_that_is_told_to_end_tells_the_holders() {
    let up = Up::start(&[]);
    let mut holder = up.lock("a", &["--ttl", "1s"], &["sh", "-c", UNTIL_INPUT_ENDS]).spawn();
    assert!(holder.line().starts_with("ready"));
    assert_eq!(up.end(Signal::SIGTERM), 0);
    assert_eq!(holder.end().code, 76);
}

#[test]
fn the_lock_of_a_killed_holder_goes_to_the_next_and_a_killed_waiter_leaves_the_queue() {
    let up = Up::start(&[]);
    let held = ["sh", "-c", "echo ready $$; exec sleep 300"];
    let mut holder = up.lock("a", &["--ttl", "1s"], &held).spawn();
    let said = holder.line();
    let command: i32 = said.strip_prefix("ready ").unwrap().parse().unwrap();
    let waiter = up.lock_at(1, "a", &["--ttl", "1s"], &["true"]).spawn();
    eventually("it waits", || up.waiters("a") == 1);
    let next = up.lock_at(2, "a", &["--wait", "30s"], &["true"]).spawn();
    eventually("both wait", || up.waiters("a") == 2);
    waiter.signal(Signal::SIGKILL);
    eventually("the killed one has left", || up.waiters("a") == 1);
    holder.signal(Signal::SIGKILL);
    eventually("its command does not go on alone", || !is_running(command));
    let ended = next.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    waiter.end();
    holder.end();
}

/// A counter in a file that nothing but the lock protects.
#[test]
fn sixteen_times_twenty_five_increments_lose_none() {
    let up = Up::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let (counter, fences) = (folder.path().join("counter"), folder.path().join("fences"));
    fs::write(&counter, "0\n").unwrap();
    let script = format!(
        "read n < {counter}; echo $((n + 1)) > {counter}; echo $SKEPTRON_FENCE >> {fences}",
        counter = counter.display(),
        fences = fences.display()
    );
    std::thread::scope(|scope| {
        for client in 0..16 {
            let (up, script) = (&up, &script);
            scope.spawn(move || {
                for _ in 0..25 {
                    let ended = up
                        .lock_at(client % 3, "counter", &[], &["sh", "-c", script])
                        .spawn_and_end();
                    assert_eq!(ended.code, 0, "{}", ended.stderr);
                }
            });
        }
    });
    assert_eq!(number_in(&counter), 16 * 25);
    let fences: Vec<u64> =
        fs::read_to_string(fences).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(fences.len(), 16 * 25);
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}

#[test]
fn a_port_that_is_taken_is_named_with_the_option_that_changes_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = skeptron();
    command.args(["up", "--nodes", "1", "--port", &port]);
    let ended = Process::spawn(command).end();
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains(&port) && ended.stderr.contains("--port"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn what_up_suggests_works_as_it_stands() {
    let mut command = skeptron();
    command.args(["up", "--port", "0"]);
    let mut up = Process::spawn(command);
    let mut suggested = Vec::new();
    loop {
        let line = up.line();
        match line.trim().strip_prefix("skeptron ") {
            Some(words) => suggested.push(words.replace("sleep 20", "sleep 0.1")),
            None if line.contains("Ctrl-C") => break,
            None => {}
        }
    }
    assert_eq!(suggested.len(), 3, "{suggested:?}");
    for (words, said) in suggested.iter().zip(["fence", "my turn", "No lock"]) {
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("{} {words}", env!("CARGO_BIN_EXE_skeptron")));
        let ended = Process::spawn(shell).end();
        assert_eq!(ended.code, 0, "{words}: {}", ended.stderr);
        assert!(ended.stdout.contains(said), "{words}: {}", ended.stdout);
    }
    up.signal(Signal::SIGINT);
    assert_eq!(up.end().code, 0);
}

/// Neither ended nor waiting to be buried.
fn is_running(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn number_in(file: &Path) -> u64 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

#[test]
fn ctrl_c_at_a_terminal_reaches_the_command_once() {
    // It makes the terminal.
    let script = Command::new("script").arg("--version").output();
    if !script.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("util-linux")) {
        let _ =
            fs::write("/dev/stderr", "SKIPPED: Ctrl-C at a terminal needs util-linux' script\n");
        return;
    }
    let up = Up::start(&["--nodes", "1"]);
    let counting = r#"n=0; trap "n=\$((n+1))" INT; echo ready; while [ $n = 0 ]; do sleep 0.05; done;
                      sleep 0.5; sleep 0.5; read line; echo total $n $line"#;
    let lock = up.lock("tty", &[], &["sh", "-c"]).command;
    let words: Vec<_> = [lock.get_program()].into_iter().chain(lock.get_args()).collect();
    let words: Vec<_> = words.into_iter().map(|word| word.to_str().unwrap()).collect();
    let mut command = Command::new("script");
    command.env("SHELL", "/bin/sh");
    // `exec`: a shell of script's own between the two would take the key for itself.
    command.args(["-qefc", &format!("exec {} '{counting}'", words.join(" ")), "/dev/null"]);
    let mut terminal = Process::spawn(command);
    assert_eq!(terminal.line(), "ready");
    terminal.input().write_all(b"\x03").unwrap();
    terminal.input().write_all(b"typed\n").unwrap();
    let said = std::iter::repeat_with(|| terminal.line()).find(|line| line.contains("total"));
    assert!(said.as_ref().is_some_and(|said| said.ends_with("total 1 typed")), "{said:?}");
    assert_eq!(terminal.end().code, 0);
}

/// As under cron.
#[test]
fn streams_that_are_closed_are_no_reason_to_fail() {
    let up = Up::start(&["--nodes", "1"]);
    let mut command = up.lock("a", &[], &["true"]).command;
    command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
}
