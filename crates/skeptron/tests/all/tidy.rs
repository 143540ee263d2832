//! The tree itself is tested: what every algorithm must have, and what no file may contain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use skeptron::cli::explain::docs;
use skeptron_core::catalogue::{self, Broken, Entry};
use skeptron_core::claims::Published;
use skeptron_core::{Claim, Figures, Formula};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text files of the repository: tracked, or new and not ignored.
fn files() -> Vec<(String, String)> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    let names = String::from_utf8(listing.stdout).unwrap();
    let read = |name: &str| Some((name.to_string(), fs::read_to_string(root().join(name)).ok()?));
    names.lines().filter_map(read).collect()
}

#[test]
fn every_algorithm_is_explained() {
    catalogue::all().for_each(is_explained);
    catalogue::elections().for_each(is_explained);
}

fn is_explained<C>(info: &Entry<C>) {
    let name = info.name;
    assert!(info.idea.len() > 100, "{name}: the idea takes more than one short sentence");
    assert!(info.rules.len() >= 3, "{name}: at least three rules");
    assert!(!info.notes.is_empty(), "{name}: notes on assumptions and pitfalls");
    assert!(!info.fires.is_empty(), "{name}: the steps that follow its rules");
    for line in info.fires {
        let rule = line.split(' ').next().and_then(|number| number.parse::<usize>().ok());
        assert!(rule.is_some_and(|rule| (1..=info.rules.len()).contains(&rule)), "{name}: {line}");
        assert_eq!(
            line.split('|').count(),
            3,
            "{name}: rule and input | what holds | reason: {line}"
        );
    }
    assert!(!info.title.is_empty(), "{name}: a title");
    let words = info.paper.split(|c: char| !c.is_ascii_digit());
    let years = words.filter_map(|word| word.parse().ok());
    let is_year = |year: u32| (1960..2030).contains(&year);
    assert!(years.into_iter().any(is_year), "{name}: the year of `{}`", info.paper);
    let sentences = info.rules.iter().chain(info.notes);
    for text in sentences.chain([&info.idea]) {
        assert!(text.trim_end().ends_with(['.', ':']), "{name}: no sentence: {text}");
        assert!(!text.contains("  "), "{name}: two blanks in: {text}");
    }
}

#[test]
fn every_claim_is_a_number() {
    for info in catalogue::all() {
        for n in 2..=64u32 {
            let n = f64::from(n);
            let k = n.sqrt().ceil();
            // Consistent figures: a quorum, a tree and bounds that a system of N could have.
            let figures = Figures {
                n,
                k,
                capacity: k.min(n - 1.0),
                diameter: n - 1.0,
                distance: 1.0,
                apart: 1.0,
                id: n,
                low: k,
                high: 7.0 * k,
            };
            for Published { quantity, claim, .. } in info.claims.figures {
                is_number(&format!("{}, {quantity}", info.name), claim, &figures);
            }
        }
    }
}

fn is_number(what: &str, claim: &Claim, figures: &Figures) {
    let low = claim.low.value(figures);
    let high = claim.high.value(figures);
    let typical = claim.typical.map_or(low, |typical| typical.value(figures));
    let place = format!("{what}, N = {}: {claim}", figures.n);
    // Where chance decides how long something takes, there is no highest value.
    let unbounded = claim.high == Formula("∞");
    assert!([low, typical].iter().all(|v| v.is_finite() && *v >= 0.0), "{place}");
    assert_eq!(high.is_infinite(), unbounded, "{place}");
    assert!(low <= typical && typical <= high, "{place}: {low} {typical} {high}");
}

#[test]
fn every_case_of_an_election_has_a_name_a_situation_and_figures() {
    for info in catalogue::elections() {
        let cases = info.claims.cases;
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len(), "{}: two cases of one name", info.name);
        assert!(!cases.is_empty() && !info.claims.survives.ends_with('.'), "{}", info.name);
        for case in cases {
            let what = format!("{}, {}", info.name, case.name);
            assert!(!case.when.is_empty() && !case.when.ends_with('.'), "{what}: {}", case.when);
            for n in case.least_nodes()..=64 {
                let figures = Figures { n: n as f64, ..Figures::default() };
                is_number(&what, &case.messages, &figures);
                case.time.iter().for_each(|time| is_number(&what, time, &figures));
            }
        }
    }
}

/// The names of all algorithms of both kinds, and what is wrong with them.
fn names() -> impl Iterator<Item = (&'static str, Option<Broken>)> {
    let mutexes = catalogue::all().map(|info| (info.name, info.broken));
    mutexes.chain(catalogue::elections().map(|info| (info.name, info.broken)))
}

#[test]
fn names_are_unique_and_telling() {
    let all: Vec<&str> = names().map(|(name, _)| name).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
    for (name, broken) in names() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(plain), "{name}");
        if let Some(broken) = broken {
            assert!(docs::sound_one_of(name).is_some(), "{name} begins with no sound one's name");
            let commands = [broken.shown_by, broken.refuted_by];
            assert!(commands.iter().all(|options| options.starts_with("-n ")), "{name}");
            assert!(!broken.flaw.is_empty(), "{name}");
        }
    }
}

/// Each file beside the shared ones is an algorithm of the catalogue, and the other way round.
#[test]
fn every_algorithm_has_its_file() {
    let rules = ["arbiter", "candidate", "mod", "permission", "queue", "rules", "stage"];
    let kinds = ["mode", "shared", "usage"];
    let shared = [&rules[..], &kinds].concat();
    let mutexes = catalogue::all().map(|info| info.name).collect();
    assert_eq!(names_in_files("crates/core/src/mutex", &shared, &mutexes), mutexes);
    let shared = ["circle", "claims", "mod", "stage", "storm"];
    let elections = catalogue::elections().map(|info| info.name).collect();
    assert_eq!(names_in_files("crates/core/src/election", &shared, &elections), elections);
}

fn names_in_files<'a>(
    folder: &str,
    shared: &[&str],
    names: &BTreeSet<&'a str>,
) -> BTreeSet<&'a str> {
    let mut listed = BTreeSet::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().to_string();
        if path.extension().is_none_or(|e| e != "rs") || shared.contains(&stem.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let here = names.iter().filter(|name| text.contains(&format!("\"{name}\"")));
        let here: Vec<&str> = here.copied().collect();
        assert!(!here.is_empty(), "{} holds no algorithm of the catalogue", path.display());
        listed.extend(here);
    }
    listed
}

#[test]
fn every_algorithm_has_a_golden_run_and_no_golden_run_is_left_over() {
    let folder = root().join("crates/skeptron/tests/snapshots");
    let found: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().to_string())
        .filter_map(|name| Some(name.strip_prefix("golden_runs__")?.strip_suffix(".snap")?.into()))
        .collect();
    let elections = catalogue::elections().filter(|info| info.broken.is_none());
    let names = catalogue::sound().map(|info| info.name).chain(elections.map(|info| info.name));
    let sound: BTreeSet<String> = names.map(str::to_string).collect();
    assert_eq!(found, sound);
}

#[test]
fn the_docs_are_what_the_tool_writes() {
    let folder = root().join("docs/algorithms");
    let files = docs::files().unwrap();
    for (name, content) in &files {
        let there = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(
            there == *content,
            "docs/algorithms/{name} is out of date; run `{}`",
            docs::COMMAND
        );
    }
    let written: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().to_string();
        assert!(written.contains(name.as_str()), "docs/algorithms/{name} belongs to nothing");
    }
}

#[test]
fn files_are_short_and_finished() {
    // Split, so that this file does not contain what it forbids.
    let unfinished =
        [["TO", "DO"], ["FIX", "ME"], ["todo", "!("], ["unimplemented", "!("], ["dbg", "!("]];
    let machine = [["/wo", "rk/"], ["/tmp", "/h"], ["/ro", "ot/"], ["/ho", "me/"]];
    for (name, text) in files() {
        if name.ends_with(".rs") {
            let lines = text.lines().count();
            assert!(lines < 600, "{name} has {lines} lines; split it");
            for word in unfinished.map(|parts| parts.concat()) {
                assert!(!text.contains(&word), "{name} contains {word}");
            }
        }
        for path in machine.map(|parts| parts.concat()) {
            assert!(!text.contains(&path), "{name} names {path}, a place on one machine");
        }
    }
}

/// A file of tests that no `mod` names is never run, and a binary of its own is linked once more.
#[test]
fn every_file_of_tests_is_a_module_of_one_binary() {
    let all: BTreeMap<PathBuf, String> =
        files().into_iter().map(|(name, text)| (PathBuf::from(name), text)).collect();
    let in_tests = |path: &Path| {
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        parts.len() > 3 && parts[0] == "crates" && parts[2] == "tests"
    };
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let files = all.keys().filter(|path| in_tests(path) && is_rust(path));
    let mut modules = 0;
    for file in files.filter(|file| !file.ends_with("main.rs")) {
        let module = if file.ends_with("mod.rs") { file.parent().unwrap() } else { file.as_path() };
        let (folder, name) = (module.parent().unwrap(), module.file_stem().unwrap());
        let above = [folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
        let declared = format!("mod {};", name.display());
        let is_shared = folder.ends_with("shared");
        let shared = format!("#[path = \"../shared/{}.rs\"]", name.display());
        let is_declared = above.iter().any(|file| {
            all.get(file).is_some_and(|text| text.lines().any(|line| line.ends_with(&declared)))
        }) || is_shared && all.values().any(|text| text.contains(&shared));
        assert!(is_declared, "{}: no `{declared}` in tests/all", file.display());
        modules += 1;
    }
    assert!(modules > 100, "{modules}");
}

/// A program that only asks for locks must not build servers, consensus and algorithms.
#[test]
fn the_client_crate_stays_small() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", "skeptron-client", "-e", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains("skeptron-types"), "{crates:?}");
    let ours = crates.iter().filter(|name| name.starts_with("skeptron-"));
    assert_eq!(ours.count(), 2, "the client and the types: {crates:?}");
    for server in ["axum", "rcgen", "raft", "prometheus-client", "tonic"] {
        assert!(!crates.contains(server), "{server}");
    }
}
