//! What the checker finds is a run: it can be written, read and replayed, and it shows what it says.

use std::process::{Command, Output};

use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron::cli::check::{CheckArgs, Refutation};
use skeptron_check::Property;
use skeptron_core::catalogue::{self, Breaks, Broken, Layout};
use skeptron_sim::replay::{Replayed, replay};
use skeptron_sim::trace::{ClockKind, Format, Picture, Trace, What};
use skeptron_testing::sample;

/// Writes a run in every format, with clocks and without, and reads and replays it.
fn is_writable(words: &str, trace: &Trace) -> Replayed {
    for (format, _) in Format::ALL {
        for clocks in [None, Some(ClockKind::Lamport), Some(ClockKind::Vector)] {
            let mut out = Vec::new();
            let picture = Picture { clocks, ..Picture::default() };
            trace.write_picture(format, picture, &mut out).unwrap();
            assert!(!out.is_empty(), "{words}: {format}");
            if format == Format::JsonLines {
                let read = Trace::read(&out[..]).unwrap_or_else(|error| panic!("{words}: {error}"));
                assert_eq!(read, *trace, "{words}");
            }
        }
    }
    replay(trace).unwrap_or_else(|error| panic!("{words}: {error}"))
}

/// Shows a counterexample in every form; it shows what it says.
fn follow(words: &str, Refutation { property, trace, diagram }: &Refutation) {
    assert!(!diagram.is_empty(), "{words}: {property}");
    let replayed = is_writable(words, trace);
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
        let search = |words: &str| CheckArgs::parse(words).unwrap().refutations().unwrap();
        let expected = match broken.breaks {
            Breaks::Safety => Property::Exclusion,
            Breaks::Liveness => Property::Progress,
            Breaks::Starvation => Property::Starvation,
            Breaks::Order => Property::Order,
            Breaks::Refused => Property::Refused,
            Breaks::Agreement => Property::Agreement,
            Breaks::Validity => Property::Validity,
            Breaks::Termination => Property::Termination,
            Breaks::Convergence => Property::Convergence,
        };
        let shows = |found: &[Refutation]| found.iter().any(|r| r.property == expected);
        let mut found = search(&words);
        assert!(!found.is_empty(), "{words}");
        if !shows(&found) {
            // Something else breaks sooner.
            found = search(&format!("{words} --keep-going"));
        }
        assert!(shows(&found), "{words}: {expected}");
        found.iter().for_each(|refutation| follow(&words, refutation));
    }
}

/// A system with several equal messages in flight, whose counterexample could not be drawn once.
#[test]
fn equal_messages_in_flight_can_be_shown() {
    assert!(try_out("check raymond-drops-asked -n 3 --tree line --requests 2 --keep-going") > 0);
}

/// A node sends two messages to another in one step, and these arrive in any order: which is which was mistaken once.
#[test]
fn messages_of_one_step_can_be_shown_in_any_order() {
    let system = "quorum-readers-writers-keeps-grant -n 2 --requests 2 --duplicate 1 --order any";
    assert!(try_out(&format!("check {system} --threads 1 --keep-going")) > 0);
}

/// How many of the small settings are tried; all of them with `SKEPTRON_SETTINGS=all`.
const SETTINGS: usize = 60;

/// Whatever is found or run in any variant, in every small setting and with everything decided, can be
/// drawn, written in every format and replayed. Prints the seed that chose the settings.
#[test]
fn whatever_happens_in_any_variant_can_be_shown() {
    let settings = sample("settings of variants", settings(), SETTINGS);
    let tried = |words: &String| {
        let result = std::panic::catch_unwind(|| try_out(words));
        result.map_err(|_| words.clone())
    };
    let results: Vec<Result<usize, String>> = settings.iter().map(tried).collect();
    let failed: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(failed.is_empty(), "failed: {failed:#?}");
    let found: usize = results.into_iter().flatten().sum();
    assert!(found > settings.len() / 4, "{found} runs in {} settings", settings.len());
}

/// Every variant with every layout, size, channel and fault that is small.
fn settings() -> Vec<String> {
    let mut settings = Vec::new();
    let mut add = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
        settings.push(words.join(" "));
    };
    for info in catalogue::all() {
        let layouts: &[&str] = match info.layout {
            Layout::Tree => &["--tree line", "--tree star"],
            Layout::Clusters => &["--clusters square"],
            Layout::Quorums => &["--quorum all", "--quorum majority", "--quorum singleton"],
            Layout::Structure => &["--structure lamport", "--structure ricart-agrawala"],
            Layout::Arbitration => &["--arbitration nearest", "--arbitration smallest-sequence"],
            _ => &[""],
        };
        for layout in layouts {
            for size in ["-n 2 --requests 1", "-n 2 --requests 2", "-n 3 --requests 1,2,1"] {
                for trouble in [
                    "--bypass 1",
                    "--order any",
                    "--loss 1",
                    "--duplicate 1 --order any",
                    "--crashes 1",
                    "--no-reduction",
                ] {
                    let search = "--keep-going --max-memory 32M";
                    add(&["check", info.name, layout, size, trouble, search]);
                }
            }
            for trouble in [
                "",
                "--latency exp:1 --order any",
                "--loss 0.1",
                "--duplicate 0.3 --latency uniform:0.1..2 --order any",
                "--crash 2@3..9 --pause 1@2..4",
            ] {
                add(&["sim", info.name, layout, "-n 3 --entries 9 --seed 5", trouble]);
            }
        }
    }
    for info in catalogue::elections() {
        for trouble in
            ["", "--crashes 1", "--crashes 1 --restarts 1", "--premature 1", "--suspicions 1"]
        {
            for size in ["-n 2", "-n 3 --calls 1"] {
                let search = "--keep-going --max-memory 32M";
                add(&["check", info.name, size, trouble, search]);
            }
        }
        for trouble in ["", "--crash 4@0..9", "--loss 0.1", "--detector imperfect:1,0.1 --until 20"]
        {
            add(&["sim", info.name, "-n 4 --seed 5", trouble]);
        }
    }
    settings
}

/// Runs a command in this process, and draws, writes and replays whatever comes of it; returns how many
/// runs that are.
fn try_out(words: &str) -> usize {
    if let Some(words) = words.strip_prefix("sim ") {
        let trace = SimOptions::parse(words).unwrap().trace(Files::Disk).unwrap();
        is_writable(words, &trace);
        return 1;
    }
    let args = CheckArgs::parse(words.strip_prefix("check ").unwrap()).unwrap();
    let found = args.refutations().unwrap_or_else(|error| panic!("{words}: {error:#}"));
    found.iter().for_each(|refutation| follow(words, refutation));
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
            for refutation in CheckArgs::parse(&words).unwrap().refutations().unwrap() {
                follow(&words, &refutation);
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

    let walked = read("check lamport -n 3 --walks 20 --shard 1/2 --json");
    assert_eq!(walked["command"], "skeptron check lamport -n 3 --walks 20 --shard 1/2");

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

/// What the lectures say of Singhal's algorithm, as docs/checker.md lists it: of the repair and as published.
#[test]
fn the_lemmas_of_singhals_algorithm_hold_or_are_refuted() {
    let page = include_str!("../../../../docs/checker.md");
    let rows =
        page.lines().filter(|line| line.ends_with(" holds |") || line.ends_with(" refuted |"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split('|').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), 8);
    for row in rows {
        for (variant, verdict) in ["singhal", "singhal-1989"].into_iter().zip(&row[3..]) {
            let name = row[1].trim_matches('`');
            let words = format!("{variant} -n 3 --requests 2 --invariant {name}");
            let found = CheckArgs::parse(&words).unwrap().refutations().unwrap();
            assert_eq!(found.is_empty(), *verdict == "holds", "{words}");
        }
    }
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
        "--from run.jsonl --at 12 --requests 1,0,2",
        "bully -n 3 --initiators P1,P2 --calls 1 --detector perfect:2 --order any --crashes 1 --victims P3 \
         --restarts 1 --premature 1 --suspicions 1",
    ] {
        let args = CheckArgs::parse(words).unwrap();
        assert_eq!(args.ask.command(), format!("skeptron check {words}"));
        let again = CheckArgs::parse(args.ask.command().strip_prefix("skeptron check").unwrap());
        assert_eq!(again.unwrap(), args);
    }
}
