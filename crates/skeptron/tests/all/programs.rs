//! Algorithms that are programs of their own, as a student uses them. What a program can get wrong is told apart in the
//! tests of `foreign`; here are the commands and the lab.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lab::server::Lab;

const README: &str = include_str!("../../../../examples/own-algorithm/README.md");

/// Whether tests of programs in that language can run here; if not, that is said.
fn has(interpreter: &str) -> bool {
    let found = Command::new(interpreter).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: there is no {interpreter} to run programs with");
    }
    found
}

/// A student's folder, with a copy of the examples.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-algorithm");
    for entry in fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

/// The command in that folder.
fn skeptron(folder: &TempDir, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skeptron"))
        .args(words.split(' '))
        .current_dir(folder.path())
        .env("SKEPTRON_PROGRAM_TIMEOUT", if words.contains("sleeps") { "1" } else { "60" })
        .env("COLUMNS", "120")
        .output()
        .unwrap()
}

/// What it prints, with that exit code.
fn printed(folder: &TempDir, words: &str, code: i32) -> String {
    let ran = skeptron(folder, words);
    let text = String::from_utf8(ran.stdout).unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(code), "{words}\n{text}\n{errors}");
    text
}

/// The one line that it says of a failure, after what the program itself has said.
fn failure(folder: &TempDir, words: &str) -> String {
    let ran = skeptron(folder, words);
    let errors = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{words}\n{errors}");
    assert!(ran.stdout.is_empty(), "no result beside the failure: {words}");
    let ours: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(ours.len(), 1, "{words}\n{errors}");
    ours[0].strip_prefix("error: ").unwrap().to_string()
}

/// The blocks of the README in that language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&*fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// What the README shows of a command is what it prints; `…` stands for lines that are left out.
fn is_shown(shown: &str, folder: &TempDir, code: i32) {
    let (command, shown) = shown.split_once('\n').unwrap();
    let words = command.strip_prefix("$ skeptron ").unwrap();
    let text = printed(folder, words, code);
    // Cells of a table are filled with blanks.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    let mut rest = text.as_str();
    for part in shown.split("…\n") {
        let place = rest.find(part.trim_end());
        let place = place.unwrap_or_else(|| panic!("{command}\n{part}\nis not in\n{text}"));
        rest = &rest[place..];
    }
}

/// From the template to a wrong algorithm, its counterexample, and the correction.
#[test]
fn the_walk_of_the_readme_leads_there() {
    if !has("python3") {
        return;
    }
    let folder = folder();
    let (code, outputs) = (blocks("python"), blocks("console"));
    let [first, line, third] = code[..] else { panic!("three steps: {code:?}") };
    let [refuted, refuted_again, proved] = outputs[..] else { panic!("three: {outputs:?}") };
    let write = |text: &str| fs::write(folder.path().join("polite.py"), text).unwrap();
    write(first);
    is_shown(refuted, &folder, 1);
    let second = first.replace("        if self.inside:\n", line);
    assert_ne!(first, second);
    write(&second);
    let two = printed(&folder, "check ./polite.py -n 2 --requests 3", 0);
    assert!(!two.contains("VIOLATED"), "{two}");
    is_shown(refuted_again, &folder, 1);
    write(third);
    is_shown(proved, &folder, 0);
}

/// A counterexample is drawn, recorded, and replayed under the program's name.
#[test]
fn a_counterexample_is_drawn_and_replayed() {
    if !has("python3") {
        return;
    }
    let folder = folder();
    fs::write(folder.path().join("polite.py"), blocks("python")[0]).unwrap();
    let traces = "--trace run.jsonl --trace run.svg --trace run.html --trace run.tex";
    printed(&folder, &format!("check ./polite.py -n 2 {traces}"), 1);
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    assert!(read("run.jsonl").starts_with(r#"{"skeptron":1,"algorithm":"./polite.py""#));
    assert!(read("run.svg").contains("MAY_I"));
    assert!(read("run.html").contains("MAY_I") && read("run.tex").contains("YES"));
    let replayed = printed(&folder, "sim ./polite.py --replay run.jsonl", 1);
    assert!(replayed.contains("exclusion"), "{replayed}");
    let from = printed(&folder, "check ./polite.py --from run.jsonl --at 2", 1);
    assert!(from.contains("VIOLATED"), "{from}");
    let unnamed = failure(&folder, "sim --replay run.jsonl");
    assert!(unnamed.contains("`skeptron sim ./polite.py --replay FILE`"), "{unnamed}");
    let other = failure(&folder, "sim ./template.py --replay run.jsonl");
    assert!(other.contains("which runs only where you name it"), "{other}");
}

#[test]
fn programs_are_compared_explained_and_run_as_the_catalogue_is() {
    for (interpreter, file) in [("python3", "ricart_agrawala.py"), ("node", "ricart_agrawala.js")] {
        if !has(interpreter) {
            continue;
        }
        let folder = folder();
        let page = printed(&folder, &format!("explain ./{file}"), 0);
        assert!(page.contains("Ricart–Agrawala in") && page.contains("2(N−1)"), "{page}");
        let hash = |algorithm: &str| {
            let told = printed(&folder, &format!("sim {algorithm} -n 4 --entries 60 --json"), 0);
            serde_json::from_str::<Value>(&told).unwrap()["trace_hash"].clone()
        };
        assert_eq!(hash(&format!("./{file}")), hash("ricart-agrawala"));
        let compared =
            format!("compare ricart-agrawala ./{file} -n 3 --entries 40 --seeds 2 --json");
        let rows: Vec<Value> = serde_json::from_str(&printed(&folder, &compared, 0)).unwrap();
        let of = |name: &str| -> Vec<Value> {
            let rows = rows.iter().filter(|row| row["algorithm"] == name).cloned();
            let unnamed = rows.map(|mut row| {
                row["algorithm"] = Value::Null;
                row
            });
            unnamed.collect()
        };
        assert!(!of("ricart-agrawala").is_empty());
        assert_eq!(of("ricart-agrawala"), of(&format!("./{file}")));
    }
}

/// Programs that fail, by name; each is a step that does something wrong.
const FAILING: [(&str, &str, &str); 6] = [
    (
        "crashes.py",
        "raise KeyError('stamp')",
        "it ended (exit status: 1, saying: KeyError: 'stamp')",
    ),
    ("sleeps.py", "time.sleep(600)", "it did not answer within 1 s"),
    ("garbage.py", "print('hello', file=out)", "it said `hello` where a line of JSON was expected"),
    (
        "effect.py",
        "node._effects.append({'do': 'jump'})",
        "its answer is wrong: effects[0]: there is no effect `jump`",
    ),
    (
        "kind.py",
        "node.broadcast('HELLO')",
        "its answer is wrong: effects[0].message: `HELLO` is no kind of message; there are REQUEST, GRANT, RELEASE",
    ),
    ("impure.py", "node.queue.append(random.randrange(10**9))", "it gave two answers"),
];

#[test]
fn a_failing_program_gives_one_line_that_names_the_question() {
    if !has("python3") {
        return;
    }
    let folder = folder();
    let template = fs::read_to_string(folder.path().join("template.py")).unwrap();
    for (file, line, why) in FAILING {
        let begun = "import random, sys, time\nout = sys.stdout\n";
        let wrong = format!("    def request(node):\n        {line}\n\n    def not_asked(self):");
        let text = template.replace("    def request(self):", &wrong).replace("node-list", "any");
        fs::write(folder.path().join(file), format!("{begun}{text}")).unwrap();
        for command in ["sim {} -n 3", "check {}", "compare {} -n 3 --seeds 1 --entries 9"] {
            let said = failure(&folder, &command.replace("{}", &format!("./{file}")));
            assert!(said.starts_with(&format!("./{file}: {why}")), "{command}: {said}");
            let question = r#"; the question was {"ask":"step","input":{"do":"request"},"me":"#;
            assert!(said.contains(question), "{command}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_run_is_said_before_anything_is() {
    let folder = folder();
    fs::write(folder.path().join("plain"), "echo").unwrap();
    for (words, why) in [
        ("sim ./none.py -n 3", "./none.py: there is no such file"),
        ("check ./plain", "./plain: it is not executable; make it so with chmod +x"),
        ("explain ./none.js", "./none.js: there is no such file"),
        ("compare lamport ./none.py", "./none.py: there is no such file"),
        ("lab --algorithm ./none.py", "--algorithm: ./none.py: there is no such file"),
        ("storm --algorithm ./none.py", "./none.py is a program that was not started"),
    ] {
        assert!(failure(&folder, words).starts_with(why), "{words}: {}", failure(&folder, words));
    }
    let lost = Command::new(env!("CARGO_BIN_EXE_skeptron"))
        .args(["sim", "./template.py"])
        .current_dir(folder.path())
        .env("PATH", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(lost.stderr).unwrap();
    assert!(said.contains("./template.py: python3, which runs it, was not found"), "{said}");
}

/// A program may change between two parts of a search.
#[test]
fn programs_are_not_searched_on_disk() {
    if !has("python3") {
        return;
    }
    let folder = folder();
    let said = failure(&folder, "check ./template.py --disk search");
    assert!(said.contains("is a program; only built-in algorithms are searched on disk"), "{said}");
    assert!(!folder.path().join("search").exists());
}

/// The lab plays, checks and survives a program, and takes it up again when it is corrected.
#[test]
fn the_lab_offers_the_programs_that_it_was_given() {
    if !has("python3") {
        return;
    }
    let folder = folder();
    let path = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
    let code = blocks("python");
    fs::write(path("polite.py"), code[0]).unwrap();
    let name = path("polite.py");
    let lab = Lab::start_with(&["--algorithm", &name]);
    let all = lab.get("/lab/algorithms").json(200);
    let info = all.as_array().unwrap().iter().find(|info| info["name"] == name.as_str()).unwrap();
    assert_eq!((&info["title"], &info["kind"]), (&json!("polite"), &json!("mutex")));
    let sim = json!({ "algorithm": name, "nodes": 3, "entries": 3, "workload": "closed" });
    let run = lab.run(&json!({ "sim": sim }));
    let told = lab.told(&run);
    assert!(told.records.iter().any(|record| record["label"] == "MAY_I"), "{:?}", told.records);
    assert!(lab.get(&format!("{run}/states?chunk=0")).status < 300);
    let file = lab.get(&format!("{run}/export?format=svg"));
    assert!(file.headers.contains("filename=\"polite.svg\""), "{}", file.headers);

    // Check finds the mistake, and Play shows it.
    let asked = json!({ "algorithm": name, "nodes": 2 });
    let (event, checked) = lab.post("/lab/check", &asked).last().unwrap();
    assert_eq!(event, "result", "{checked}");
    let properties = checked["properties"].as_array().unwrap();
    let violated = properties.iter().find(|property| property["name"] == "exclusion").unwrap();
    let played = lab.told(&lab.run(&json!({ "trace": violated["trace"] })));
    assert!(played.records.iter().any(|record| record["kind"] == "violation"));

    // It fails: that is said, and the lab goes on.
    fs::write(path("polite.py"), code[0].replace("self.wants = True", "self.want.x = True"))
        .unwrap();
    let said = lab.error("/lab/check", &asked);
    assert!(said.contains("AttributeError") && said.contains("the question was"), "{said}");
    let said = lab.error("/lab/runs", &json!({ "sim": sim }));
    assert!(said.contains("the question was"), "{said}");
    lab.run(&json!({ "sim": { "algorithm": "lamport" } }));

    // It is corrected: the lab need not be started again.
    fs::write(path("polite.py"), code[2]).unwrap();
    let (event, checked) = lab.post("/lab/check", &asked).last().unwrap();
    assert_eq!((event.as_str(), &checked["complete"]), ("result", &json!(true)), "{checked}");

    // Nothing else is started from the page.
    let other = json!({ "algorithm": path("template.py"), "nodes": 2 });
    let said = lab.error("/lab/check", &other);
    assert!(said.contains("is a program that was not started"), "{said}");
    let said = lab.error("/lab/runs", &json!({ "sim": other }));
    assert!(said.contains("is a program that was not started"), "{said}");
}
