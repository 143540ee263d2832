//! What the checker finds is a run: it can be written, read and replayed, and it shows what it says.

use std::process::{Command, Output};

use skeptron::cli::check::CheckArgs;
use skeptron_check::Property;
use skeptron_core::catalogue::{self, Breaks, Broken, Layout};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Format, Trace, What};

/// Writes, reads and replays a counterexample.
fn follow(words: &str, property: Property, trace: &Trace) {
    let mut lines = Vec::new();
    trace.write(Format::JsonLines, &mut lines).unwrap();
    let read = Trace::read(&lines[..]).unwrap_or_else(|error| panic!("{words}: {error}"));
    assert_eq!(read, *trace, "{words}");
    let replayed = replay(&read).unwrap_or_else(|error| panic!("{words}, {property}: {error}"));
    match property {
        Property::Exclusion | Property::Fence => {
            let judged = replayed.violations.iter().any(|v| v.property == property.name());
            assert!(judged, "{words}: {property}");
        }
        Property::Progress => assert!(!replayed.waiting.is_empty(), "{words}"),
        Property::Refused => assert!(replayed.refused > 0, "{words}"),
        Property::Starvation => assert!(!replayed.waiting.is_empty(), "{words}"),
        _ => {}
    }
    let found = trace.records.last().map(|record| &record.what);
    assert!(
        matches!(found, Some(What::Violation { property: name, .. }) if name == property.name()),
        "{words}"
    );
    for (format, _) in Format::ALL {
        let mut out = Vec::new();
        trace.write(format, &mut out).unwrap();
        assert!(!out.is_empty(), "{words}: {format}");
    }
}

/// Those of both kinds.
fn broken_variants() -> impl Iterator<Item = (&'static str, Broken)> {
    let mutexes = catalogue::all().filter_map(|info| Some((info.name, info.broken?)));
    mutexes.chain(catalogue::elections().filter_map(|info| Some((info.name, info.broken?))))
}

/// Every broken variant is refuted by the command that its page gives, in the way it says.
#[test]
fn every_broken_variant_is_refuted_and_replayed() {
    for (name, broken) in broken_variants() {
        let words = format!("{name} {}", broken.refuted_by);
        let search = |words: &str| CheckArgs::parse(words).unwrap().counterexamples().unwrap();
        let expected = match broken.breaks {
            Breaks::Safety => Property::Exclusion,
            Breaks::Liveness => Property::Progress,
            Breaks::Starvation => Property::Starvation,
            Breaks::Order => Property::Order,
            Breaks::Refused => Property::Refused,
            Breaks::Agreement => Property::Agreement,
            Breaks::Validity => Property::Validity,
            Breaks::Termination => Property::Termination,
        };
        let shows = |found: &[(Property, Trace)]| found.iter().any(|(p, _)| *p == expected);
        let mut found = search(&words);
        assert!(!found.is_empty(), "{words}");
        if !shows(&found) {
            // Something else breaks sooner.
            found = search(&format!("{words} --keep-going"));
        }
        assert!(shows(&found), "{words}: {expected}");
        for (property, trace) in &found {
            follow(&words, *property, trace);
        }
    }
}

/// Whatever is found in any variant, in several small systems and with everything decided, is a run that
/// can be drawn, written in every format and replayed.
#[test]
fn whatever_is_found_can_be_shown() {
    let mut found = 0;
    for info in catalogue::all() {
        let layouts: &[&str] = match info.layout {
            Layout::Tree => &["--tree line", "--tree star"],
            Layout::Quorums => &["--quorum all", "--quorum majority"],
            Layout::Structure => &["--structure lamport", "--structure ricart-agrawala"],
            Layout::Arbitration => &["--arbitration nearest", "--arbitration smallest-sequence"],
            _ => &[""],
        };
        for layout in layouts {
            for system in
                ["-n 2 --requests 2", "-n 3 --requests 1,2,1", "-n 2 --requests 2 --order any"]
            {
                // One layout of three nodes is enough: their states are many.
                if system.starts_with("-n 3") && *layout != layouts[0] {
                    continue;
                }
                let words = format!("{} {layout} {system} --keep-going --bypass 1", info.name);
                found += show_all(&words);
            }
        }
        if info.layout == Layout::Tree {
            found += show_all(&format!("{} -n 3 --tree line --requests 2 --keep-going", info.name));
        }
    }
    assert!(found > 200, "{found}");
}

/// Draws, writes and replays whatever is found; returns how many that are.
fn show_all(words: &str) -> usize {
    let args = CheckArgs::parse(words).unwrap();
    let found = args.counterexamples().unwrap();
    for (property, trace) in &found {
        follow(words, *property, trace);
    }
    if !found.is_empty() {
        assert_eq!(args.diagrams().unwrap().len(), found.len(), "{words}");
    }
    found.len()
}

/// What faults do to sound algorithms is a run, too.
#[test]
fn faults_are_replayed() {
    let mixes = [
        "--loss 1",
        "--duplicate 1 --order any",
        "--duplicate 2",
        "--crashes 1",
        "--crashes 1 --crash-when holding --victims P1",
        "--crashes 1 --loss 1 --duplicate 1 --order any",
    ];
    let mut found = 0;
    for info in catalogue::sound() {
        for mix in mixes {
            let structure =
                if info.layout == Layout::Structure { "--structure lamport" } else { "" };
            let words = format!("{} -n 2 {structure} --keep-going {mix}", info.name);
            for (property, trace) in CheckArgs::parse(&words).unwrap().counterexamples().unwrap() {
                follow(&words, property, &trace);
                found += 1;
            }
        }
    }
    assert!(found > 50, "{found}");
}

fn skeptron(folder: &std::path::Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
    command.current_dir(folder).args(words.split_whitespace()).output().unwrap()
}

/// The files of `--trace` hold the counterexample, which the simulator replays; without one there is
/// no file.
#[test]
fn traces_are_written_if_there_is_something_to_show() {
    let folder = tempfile::tempdir().unwrap();
    let files = "--trace run.jsonl --trace run.txt --trace run.svg";
    let written = || ["run.jsonl", "run.txt", "run.svg"].map(|f| folder.path().join(f).exists());

    let found = skeptron(folder.path(), &format!("check central -n 2 --crashes 1 {files}"));
    assert_eq!(found.status.code(), Some(1));
    assert_eq!(written(), [true; 3]);
    let replayed = skeptron(folder.path(), "sim --replay run.jsonl --timeline");
    let text = String::from_utf8(replayed.stdout).unwrap();
    assert_eq!(replayed.status.code(), Some(0), "a crash is no violation of a judge: {text}");
    for line in [
        "skeptron check central -n 2 --crashes 1",
        "REQUEST → P1 is lost: the receiver is down",
        "P2 violates progress: P2 waits for ever",
        "waiting at the end: P2",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }

    let nothing = skeptron(folder.path(), &format!("check central -n 2 {files}"));
    assert_eq!(nothing.status.code(), Some(0));
    assert_eq!(written(), [false; 3], "what is left would be of another system");
}

/// What programs read: the fields that are promised, and a counterexample as steps.
#[test]
fn json_has_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let read = |words: &str| -> serde_json::Value {
        let output = skeptron(folder.path(), words);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let sound = read("check ricart-agrawala -n 2 --requests 1,2 --order any --json");
    assert_eq!(sound["algorithm"], "ricart-agrawala");
    assert_eq!(sound["nodes"], 2);
    assert_eq!(sound["requests"], serde_json::json!([1, 2]));
    assert_eq!(sound["complete"], true);
    assert_eq!(sound["reduction"], true);
    for number in ["states", "transitions", "depth", "seconds"] {
        assert!(sound[number].as_f64().unwrap() > 0.0, "{number}");
    }
    let properties = sound["properties"].as_array().unwrap();
    assert_eq!(properties.len(), Property::MUTEX.len() + 1);
    assert!(sound["endless_states"].as_u64().unwrap() > 0);
    let judged = Property::MUTEX.iter().chain(&[Property::Starvation]);
    for (judged, property) in properties.iter().zip(judged) {
        assert_eq!(judged["name"], property.name());
        assert_eq!(judged["holds"], true);
        assert!(judged["trace_length"].is_null());
    }

    let broken = read("check ricart-agrawala-no-tie-break -n 2 --json");
    let exclusion = &broken["properties"][0];
    assert_eq!(exclusion["holds"], false);
    let steps = exclusion["counterexample"]["steps"].as_array().unwrap();
    assert_eq!(exclusion["trace_length"], steps.len());
    assert_eq!(steps[0], serde_json::json!({"request": 2}));
    assert!(broken["properties"][1]["holds"].is_null(), "the search ended at the first violation");
}

/// Questions beyond what is promised: a round that repeats, an overtaking, the dearest run.
#[test]
fn questions_have_answers_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let read = |words: &str| -> (Option<i32>, serde_json::Value) {
        let output = skeptron(folder.path(), words);
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let nearest = "check singhal -n 4 --arbitration nearest --requests 1,1,0,1";
    let (code, starving) = read(&format!("{nearest} --judge starvation --json"));
    let judged = &starving["properties"][0];
    assert_eq!((code, &judged["name"]), (Some(1), &"starvation".into()));
    let run = &judged["counterexample"];
    assert_eq!(run["node"], 4, "{run}");
    assert!(run["cycle"].as_u64().unwrap() < run["steps"].as_array().unwrap().len() as u64);

    let (code, order) = read("check token-ring --judge order,order-by-time --json");
    assert_eq!(code, Some(1));
    let holds: Vec<_> =
        order["properties"].as_array().unwrap().iter().map(|p| &p["holds"]).collect();
    assert_eq!(holds, [&serde_json::json!(true), &serde_json::json!(false)]);

    let (code, dear) = read("check singhal --requests 2 --maximise messages --json");
    assert_eq!((code, &dear["value"], &dear["bound"]), (Some(0), &20.into(), &30.0.into()));
    assert_eq!((&dear["entries"], &dear["complete"]), (&6.into(), &true.into()));
}

/// A command that is printed searches the same again.
#[test]
fn commands_are_understood() {
    for words in [
        "lamport",
        "lamport -n 4 --requests 1,1,2,0 --order any --keep-going",
        "central --coordinator P2 --requests 2 --requesters 2 --loss 1 --duplicate 2",
        "raymond --tree line --crashes 1 --crash-when holding --victims P1,P3 --no-reduction",
        "singhal --arbitration nearest",
        "token-ring --judge order,order-by-time,starvation",
        "token-ring --judge exclusion --bypass 2",
        "singhal --requests 2 --maximise messages",
        "central --minimise delay",
        "bully -n 3 --initiators P1,P2 --calls 1 --detector perfect:2 --order any --crashes 1 --victims P3 \
         --restarts 1 --premature 1 --suspicions 1",
    ] {
        let args = CheckArgs::parse(words).unwrap();
        assert_eq!(args.command(), format!("skeptron check {words}"));
        let again = CheckArgs::parse(args.command().strip_prefix("skeptron check").unwrap());
        assert_eq!(again.unwrap(), args);
    }
}
