//! `skeptron elect` and `skeptron leader` as real processes.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lock_command::processes::{Ended, Process, Up, skeptron};

const UNTIL_INPUT_ENDS: &str = "echo $SKEPTRON_LOCK $SKEPTRON_TERM $SKEPTRON_FENCE; cat";

fn elect(up: &Up, node: usize, options: &[&str]) -> Process {
    let mut command = skeptron();
    command.args(["elect", "boss", "--endpoint", up.endpoint(node)]).args(options);
    command.args(["--", "sh", "-c", UNTIL_INPUT_ENDS]);
    Process::spawn(command)
}

fn leader(up: &Up, node: usize, options: &[&str]) -> Process {
    let mut command = skeptron();
    command.args(["leader", "boss", "--endpoint", up.endpoint(node)]).args(options);
    Process::spawn(command)
}

/// The term of the entry in which the command runs.
fn term(process: &mut Process) -> u64 {
    let line = process.line();
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["boss", term, fence] = words[..] else { panic!("{line}") };
    assert_eq!(term, fence);
    term.parse().unwrap()
}

fn value(line: &str) -> (Value, u64) {
    let told: Value = serde_json::from_str(line).unwrap();
    let term = told["term"].as_str().map_or(0, |term| term.parse().unwrap());
    (told["leader"]["value"].clone(), term)
}

#[test]
fn a_command_runs_while_it_leads_and_every_node_shows_who_does() {
    let up = Up::start(&[]);
    let Ended { code, stdout, .. } = leader(&up, 2, &[]).end();
    assert_eq!((code, stdout.as_str()), (1, "nobody leads `boss`\n"));
    let mut watching = leader(&up, 1, &["--watch", "--json"]);
    assert_eq!(value(&watching.line()), (Value::Null, 0));

    let mut first = elect(&up, 0, &["--value", "one", "--owner", "me", "--ttl", "1s"]);
    let first_term = term(&mut first);
    assert_eq!(value(&watching.line()), ("one".into(), first_term));
    let Ended { code, stdout, .. } = leader(&up, 2, &[]).end();
    let (epoch, counter) = (first_term >> 40, first_term & ((1 << 40) - 1));
    let expected = format!("me leads `boss` at P1, term {first_term} ({epoch}·{counter}): one\n");
    assert_eq!((code, stdout), (0, expected));
    let refused = elect(&up, 2, &["--no-wait"]).end();
    assert_eq!(refused.code, 75, "{}", refused.stderr);

    // The next one leads when the first one is dead.
    let mut second = elect(&up, 2, &["--value", "two"]);
    first.signal(Signal::SIGKILL);
    let second_term = term(&mut second);
    assert!(second_term > first_term);
    assert_eq!(value(&watching.line()), (Value::Null, first_term));
    assert_eq!(value(&watching.line()), ("two".into(), second_term));
    second.close_input();
    assert_eq!(second.end().code, 0);
    assert_eq!(value(&watching.line()), (Value::Null, second_term));
    watching.signal(Signal::SIGTERM);
}
