//! `check --from`: searches that begin in the middle of a recorded run.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron::cli::check::{CheckArgs, Refutation};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Format, Trace, What};

fn simulated(words: &str) -> Trace {
    SimOptions::parse(words).unwrap().trace(Files::Disk).unwrap()
}

fn write(trace: &Trace, path: &Path) {
    trace.write(Format::JsonLines, &mut File::create(path).unwrap()).unwrap();
}

/// What can follow so many steps of a run in a file.
fn found(path: &Path, at: usize, more: &str) -> Vec<Refutation> {
    let words = format!("--from {} --at {at} {more}", path.display());
    let args = CheckArgs::parse(&words).unwrap();
    args.refutations().unwrap_or_else(|error| panic!("{words}: {error:#}"))
}

/// From every step of all sorts of runs: what is found begins with that very run, can be replayed, and
/// ends where it says.
#[test]
fn what_is_found_continues_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut continued = 0;
    for (words, more) in [
        ("ricart-agrawala -n 3 --entries 3 --latency exp:1 --order any --seed 3", "--requests 1"),
        ("lamport -n 3 --entries 2 --latency exp:1 --order any --seed 4", "--requests 1,0,1"),
        ("ricart-agrawala -n 3 --entries 4 --loss 0.2 --seed 5", "--requests 0"),
        ("suzuki-kasami -n 3 --entries 4 --crash P2@3 --seed 5", "--requests 1"),
        ("central -n 3 --entries 3 --pause P2@1..4 --crash P3@2", "--requests 1 --crashes 1"),
        ("maekawa -n 3 --entries 3 --duplicate 0.4 --latency exp:1 --order any", "--requests 0"),
        ("naimi-trehel -n 4 --entries 3 --loss 0.2 --duplicate 0.2 --order any", "--requests 0"),
        ("token-ring -n 3 --entries 2", "--requests 1"),
        ("bully-short-timeout -n 3 --initiators all@0", "--calls 0"),
        ("bully -n 3 --crash P3@1 --loss 0.2 --seed 3", "--calls 0"),
        ("bully -n 2 --crash P2@1..6 --latency uniform:0.2..1.8 --seed 4", "--calls 1 --crashes 1"),
        ("bully -n 3 --initiators all@0 --pause P2@1..4", "--calls 0 --premature 1"),
        ("bully-deaf-while-asking -n 3 --crash P3@1..6", "--calls 0"),
        ("ring-no-alarm -n 3 --initiators all@0", "--calls 0 --crashes 1"),
        ("ring -n 2 --crash P2@1 --duplicate 0.3", "--calls 1 --suspicions 1 --restarts 1"),
        ("itai-rodeh -n 2 --initiators all@0", "--calls 0"),
    ] {
        let run = simulated(words);
        write(&run, &path);
        let steps = run.steps();
        for at in (1..=steps).step_by(1 + steps / 12) {
            for Refutation { property, trace, .. } in found(&path, at, more) {
                let said = format!("{words}, after {at}: {property}");
                replay(&trace).unwrap_or_else(|error| panic!("{said}: {error}"));
                let last = trace.records.last().map(|record| &record.what);
                let Some(What::Violation { property: name, .. }) = last else { panic!("{said}") };
                assert_eq!(name, property.name(), "{said}");
                // What the run had done by then is there, word for word.
                let ends = |(index, what): &(usize, &What)| *index > 0 && what.is_input();
                let whats = run.records.iter().map(|record| &record.what).enumerate();
                let begins: Vec<usize> = whats.filter(ends).map(|(index, _)| index).collect();
                let kept = at.checked_sub(1).map_or(0, |at| begins.get(at).copied().unwrap_or(0));
                let same = run.records.iter().zip(&trace.records).take_while(|(a, b)| a == b);
                let same = same.count();
                assert!(
                    same >= kept || same + 1 == trace.records.len(),
                    "{said}: {same} of {kept}"
                );
                continued += usize::from(trace.records.len() > same + 1);
            }
        }
    }
    assert!(continued > 20, "{continued}");
}

/// A run in which something is wrong already says so, and where.
#[test]
fn a_state_that_is_wrong_already_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let args = CheckArgs::parse("lamport -n 2 --order any").unwrap();
    let Refutation { property, trace: run, .. } = args.refutations().unwrap().remove(0);
    write(&run, &path);
    let told = found(&path, run.steps(), "--requests 0");
    assert_eq!((told[0].property, told.len()), (property, 1));
    let whats = |trace: &Trace| -> Vec<What> {
        trace.records.iter().map(|record| record.what.clone()).collect()
    };
    assert_eq!(whats(&told[0].trace).last(), whats(&run).last());
    // Before the last step it is still to come.
    let ahead = found(&path, run.steps() - 1, "--requests 0");
    assert_eq!(whats(&ahead[0].trace), whats(&run));
}

fn skeptron(folder: &Path, words: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
    let output = command.current_dir(folder).args(words.split_whitespace()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The command line says what it found from there, in words, in JSON and as a run; and why not.
#[test]
fn the_command_line_begins_where_a_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made = skeptron(at, "sim lamport -n 3 --order any --entries 1 --trace run.jsonl");
    assert_eq!(made.0, Some(0), "{}", made.2);

    let (code, text, error) = skeptron(at, "check --from run.jsonl --at 2 --trace more.jsonl");
    assert_eq!(code, Some(1), "{text}{error}");
    for part in ["after 2 steps of a run", "further steps", "from here on everything is explored"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(skeptron(at, "sim --replay more.jsonl").0, Some(1));

    let (code, json, _) = skeptron(at, "check --from run.jsonl --at 2 --requests 1 --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["after"]), (Some(1), &2.into()));
    assert_eq!(json["command"], "skeptron check --from run.jsonl --at 2 --requests 1");
    assert!(json["properties"][0]["trace_length"].as_u64().unwrap() > 2);

    let refused = |words: &str, why: &str| {
        let (code, _, error) = skeptron(at, words);
        assert_eq!(code, Some(2), "{words}: {error}");
        assert!(error.contains(why), "{words}: {error}");
    };
    refused("check central --from run.jsonl", "run of lamport, and central is to be checked");
    refused("check --from run.jsonl --at 999", "--at is 999, but the run has");
    refused("check --from run.jsonl -n 4", "cannot be used with");
    refused("check --from nowhere.jsonl", "nowhere.jsonl");
    refused("check --at 3 central", "--from");
    let text = std::fs::read_to_string(at.join("run.jsonl")).unwrap();
    std::fs::write(at.join("damaged.jsonl"), text.replacen("{\"t\":1}", "{\"t\":9}", 1)).unwrap();
    refused("check --from damaged.jsonl", "the trace is not what the nodes do");
    refused("check --from run.jsonl --at 0 --requests 0", "nobody asks");
    std::fs::write(at.join("none.jsonl"), "nothing").unwrap();
    refused("check --from none.jsonl", "none.jsonl");
    let bully = skeptron(at, "sim bully -n 3 --trace bully.jsonl");
    assert_eq!(bully.0, Some(0), "{}", bully.2);
    refused("check --from bully.jsonl --requests 1", "--requests is for mutual exclusion");
    refused("check --from run.jsonl --calls 1", "--calls is for elections");
    let text = std::fs::read_to_string(at.join("bully.jsonl")).unwrap();
    let old = text.replacen(",\"bounds\":{\"length\":1000}", "", 1);
    assert_ne!(text, old);
    std::fs::write(at.join("old.jsonl"), old).unwrap();
    refused("check --from old.jsonl", "does not say in which bounds its alarms count");
    skeptron(at, "sim central -n 3 --entries 3 --crash P2@1..4 --trace back.jsonl");
    refused("check --from back.jsonl", "comes back in the run so far");
}

/// An election goes on with the alarms that are set, and what is found is checked from there again: its steps say
/// when bounds pass.
#[test]
fn an_election_goes_on_with_its_alarms() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let run = simulated("bully-short-timeout -n 3 --initiators 1@0");
    write(&run, &path);
    // P1 has asked the higher ones, and its alarm may ring before their answers come.
    let Refutation { property, trace, diagram } = found(&path, 1, "--calls 0").remove(0);
    assert_eq!(property.name(), "validity", "{diagram}");
    let rang = trace.records.iter().any(|record| matches!(record.what, What::Expire { .. }));
    assert!(rang, "{diagram}");
    let bounds = trace.header.bounds.unwrap();
    assert_eq!((bounds.length, bounds.steps_from), (1000, Some(0)));

    let longer = folder.path().join("found.jsonl");
    write(&trace, &longer);
    let steps = trace.steps();
    for at in 1..=steps {
        let again = found(&longer, at, "--calls 0").remove(0);
        assert_eq!(again.property, property, "after {at}");
        if at + 1 == steps {
            assert_eq!(again.trace.records, trace.records, "after {at}");
        }
    }
    // A correct one in the same place waits for the answers.
    let run = simulated("bully -n 3 --initiators 1@0");
    write(&run, &path);
    for at in 1..=run.steps() {
        assert!(found(&path, at, "--calls 0").is_empty(), "after {at}");
    }
}
