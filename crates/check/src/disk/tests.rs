//! A search on disk says what the search in memory says, wherever it was interrupted.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use skeptron_core::catalogue::{self, Order};
use skeptron_core::topology::{Structure, Tree};
use skeptron_core::{NodeId, Setup};

use super::manifest::{read_whole, write_atomically};
use super::{Disk, DiskError};
use crate::{CrashWhen, Faults, Options, Progress, Report, Scenario, ScenarioError, check};

fn setup(n: usize) -> Setup {
    let quorums = skeptron_quorum::quorums(&skeptron_quorum::default_for(n), n).unwrap();
    Setup::new(n)
        .unwrap()
        .with_structure(Structure::maekawa(&quorums))
        .and_then(|setup| setup.with_quorums(quorums))
        .and_then(|setup| setup.with_tree(Tree::balanced(n, 2)))
        .unwrap()
}

/// Saved after every level and whenever possible.
fn often(folder: &Path, resume: bool) -> Disk<'_> {
    Disk { folder, resume, save_every: Duration::ZERO }
}

/// Everything that an answer says, apart from time and memory.
fn answer(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let verdicts = report.verdicts.iter();
    let verdicts: Vec<_> =
        verdicts.map(|v| (v.property, v.holds, v.counterexample.clone())).collect();
    let Report { states, transitions, depth, complete, reduction, .. } = *report;
    (states, transitions, depth, complete, reduction, verdicts)
}

fn ask(name: &str, scenario: &Scenario, options: &Options<'_>) -> Result<Report, ScenarioError> {
    check(catalogue::find(name).unwrap(), scenario, options)
}

fn systems() -> Vec<(&'static str, Scenario)> {
    let of = |requests: u8, order| Scenario::new(setup(3), requests, order);
    let crashing = |crash_when| {
        let faults = Faults { crashes: 1, crash_when, ..Faults::default() };
        Scenario { faults, ..of(1, Order::Fifo) }
    };
    let losing = Faults { losses: 1, duplicates: 1, ..Faults::default() };
    vec![
        ("ricart-agrawala", of(2, Order::Any)),
        ("lamport", of(1, Order::Fifo)),
        ("lamport", of(1, Order::Any)),
        ("maekawa", of(1, Order::Any)),
        ("naimi-trehel", of(3, Order::Any)),
        ("token-ring", of(2, Order::Fifo)),
        ("ricart-agrawala-no-tie-break", of(2, Order::Fifo)),
        ("ricart-agrawala-no-clock-update", of(2, Order::Fifo)),
        ("suzuki-kasami", crashing(CrashWhen::Holding)),
        ("central", crashing(CrashWhen::Any)),
        ("raymond", Scenario { faults: losing, ..of(1, Order::Fifo) }),
        ("singhal-1989", Scenario { requests: vec![1, 1, 2], ..of(1, Order::Fifo) }),
    ]
}

#[test]
fn a_search_on_disk_says_what_the_one_in_memory_says() {
    for (name, scenario) in systems() {
        for (keep_going, reduction) in [(true, true), (false, false)] {
            let options = Options { threads: 2, keep_going, reduction, ..Options::default() };
            let expected = ask(name, &scenario, &options).unwrap();
            for threads in [1, 2] {
                let dir = tempfile::tempdir().unwrap();
                let disk = Some(Disk::new(dir.path(), false));
                let options = Options { threads, disk, ..options };
                let found = ask(name, &scenario, &options).unwrap();
                assert_eq!(answer(&found), answer(&expected), "{name} on {threads} threads");
                // What has ended is answered again without another search.
                let disk = Some(Disk::new(dir.path(), true));
                let again = ask(name, &scenario, &Options { disk, ..options }).unwrap();
                assert_eq!(answer(&again), answer(&expected), "{name} again");
            }
        }
    }
}

/// With so little memory a level takes many runs, and runs are merged more than once. What is held stays below
/// the limit.
#[test]
fn little_memory_suffices_and_is_kept_to() {
    let scenario = Scenario::new(Setup::new(4).unwrap(), 3, Order::Any);
    let whole = Options { reduction: false, threads: 1, ..Options::default() };
    let expected = ask("central", &scenario, &whole).unwrap();
    for threads in [1, 2] {
        let max_memory = 2 << 20;
        assert!(expected.peak_bytes > 2 * max_memory, "{}", expected.peak_bytes);
        let dir = tempfile::tempdir().unwrap();
        let disk = Some(Disk::new(dir.path(), false));
        let options = Options { max_memory, threads, disk, ..whole };
        let found = ask("central", &scenario, &options).unwrap();
        assert_eq!(answer(&found), answer(&expected));
        assert!(found.peak_bytes < max_memory, "{} bytes", found.peak_bytes);
        assert!(found.disk_bytes > max_memory as u64, "{} bytes on disk", found.disk_bytes);
    }
}

/// Stops a search after so many looks at how far it is, again and again and each time later, and goes on until it ends.
fn stopped_again_and_again(options: Options<'_>, ask: impl Fn(&Options<'_>) -> Report) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let (mut resume, mut patience) = (false, 1);
    loop {
        let (stop, looks) = (AtomicBool::new(false), AtomicU64::new(0));
        let progress = |_: Progress| {
            let so_far = looks.fetch_add(1, Ordering::Relaxed);
            stop.store(so_far + 1 >= patience, Ordering::Relaxed);
        };
        let options = Options {
            progress: Some(&progress),
            stop: Some(&stop),
            disk: Some(often(dir.path(), resume)),
            ..options
        };
        let found = ask(&options);
        if !stop.load(Ordering::Relaxed) {
            assert!(resume, "it was never stopped");
            return found;
        }
        (resume, patience) = (true, patience + 4);
    }
}

#[test]
fn a_search_that_is_stopped_again_and_again_says_the_same() {
    for (name, scenario) in systems() {
        for reduction in [true, false] {
            let options = Options { threads: 2, reduction, ..Options::default() };
            let expected = ask(name, &scenario, &options).unwrap();
            let found =
                stopped_again_and_again(options, |options| ask(name, &scenario, options).unwrap());
            assert_eq!(answer(&found), answer(&expected), "{name}");
        }
    }
}

#[test]
fn too_little_memory_ends_a_search_that_more_memory_continues() {
    let scenario = Scenario::new(setup(3), 2, Order::Any);
    let options = Options { threads: 1, ..Options::default() };
    let expected = ask("maekawa", &scenario, &options).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let small =
        Options { max_memory: 1 << 20, disk: Some(Disk::new(dir.path(), false)), ..options };
    let found = ask("maekawa", &scenario, &small).unwrap();
    assert!(found.out_of_memory && !found.complete && found.holds());
    let disk = Some(Disk::new(dir.path(), true));
    let found = ask("maekawa", &scenario, &Options { disk, ..options }).unwrap();
    assert_eq!(answer(&found), answer(&expected));
}

/// A search of which something was saved, in a folder.
fn begun(folder: &Path) -> (Scenario, Options<'_>) {
    let scenario = Scenario::new(setup(3), 2, Order::Any);
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress| stop.store(progress.depth > 12, Ordering::Relaxed);
    let options = Options { threads: 1, reduction: false, ..Options::default() };
    let stopped = Options {
        progress: Some(&progress),
        stop: Some(&stop),
        disk: Some(often(folder, false)),
        ..options
    };
    assert!(!ask("ricart-agrawala", &scenario, &stopped).unwrap().complete);
    (scenario, Options { disk: Some(often(folder, true)), ..options })
}

fn refused(scenario: &Scenario, options: &Options<'_>) -> DiskError {
    match ask("ricart-agrawala", scenario, options) {
        Err(ScenarioError::Disk(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_question_is_refused_and_the_difference_named() {
    let dir = tempfile::tempdir().unwrap();
    let (scenario, options) = begun(dir.path());
    let more = Scenario { requests: vec![2, 2, 3], ..scenario.clone() };
    let how = "scenario.requests is [2,2,2] there and [2,2,3] here";
    assert!(refused(&more, &options).to_string().contains(how));
    let other = Options { reduction: true, ..options };
    let error = refused(&scenario, &other).to_string();
    assert!(error.contains("reduction is false there and true here"), "{error}");
    let error = check(catalogue::find("lamport").unwrap(), &scenario, &options).unwrap_err();
    assert!(error.to_string().contains(r#"algorithm is "ricart-agrawala" there"#), "{error}");
    let path = dir.path().join("question.json");
    let begun: serde_json::Value = read_whole(&path).unwrap();
    let mut older = begun.clone();
    older["format"] = 0.into();
    write_atomically(&path, &older).unwrap();
    assert!(matches!(refused(&scenario, &options), DiskError::OtherVersion { .. }));
    write_atomically(&path, &begun).unwrap();
    assert!(ask("ricart-agrawala", &scenario, &options).unwrap().complete, "nothing was lost");
}

#[test]
fn a_folder_that_is_not_for_this_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (scenario, options) = begun(dir.path());
    let at = |folder, resume| Options { disk: Some(Disk::new(folder, resume)), ..options };
    assert!(matches!(refused(&scenario, &at(dir.path(), false)), DiskError::Exists(_)));
    let missing = dir.path().join("missing");
    assert!(matches!(refused(&scenario, &at(&missing, true)), DiskError::Nothing(_)));
    let deep = missing.join("deeper");
    let error = refused(&scenario, &at(&deep, false));
    assert!(matches!(&error, DiskError::Io { doing: "create", .. }), "{error}");
    let other = tempfile::tempdir().unwrap();
    assert!(matches!(refused(&scenario, &at(other.path(), true)), DiskError::Nothing(_)));
    fs::write(other.path().join("letter.txt"), "dear").unwrap();
    assert!(matches!(refused(&scenario, &at(other.path(), false)), DiskError::Foreign(_)));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1, "nothing was added to it");
    let file = other.path().join("letter.txt");
    assert!(matches!(refused(&scenario, &at(&file, false)), DiskError::Io { .. }));
}

#[test]
fn a_folder_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (scenario, options) = begun(dir.path());
    let lock = fs::File::open(dir.path().join("lock")).unwrap();
    let lock = nix::fcntl::Flock::lock(lock, nix::fcntl::FlockArg::LockExclusive).unwrap();
    assert!(matches!(refused(&scenario, &options), DiskError::InUse(_)));
    drop(lock);
    assert!(ask("ricart-agrawala", &scenario, &options).unwrap().complete);
}

/// Whatever file of a search is cut, lost or changed: it says so, or does without.
#[test]
fn damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (scenario, options) = begun(dir.path());
    let names: Vec<_> = fs::read_dir(dir.path().join("all")).unwrap().collect();
    let mut paths: Vec<_> = names.into_iter().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with("links"));
    paths.push(dir.path().join("question.json"));
    assert!(paths.len() >= 5, "{paths:?}");
    for path in paths {
        let whole = fs::read(&path).unwrap();
        if whole.is_empty() {
            continue;
        }
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 0x15;
        for damaged in [changed, whole[..whole.len() - 1].to_vec()] {
            fs::write(&path, damaged).unwrap();
            let error = refused(&scenario, &options);
            assert!(matches!(error, DiskError::Damaged { .. }), "{}: {error}", path.display());
        }
        fs::write(&path, whole).unwrap();
    }
    let expected = ask("ricart-agrawala", &scenario, &Options { disk: None, ..options }).unwrap();
    let found = ask("ricart-agrawala", &scenario, &options).unwrap();
    assert_eq!(answer(&found), answer(&expected), "nothing was lost");
}

/// A counterexample is read from the links of all levels: one that was changed is not believed.
#[test]
fn a_changed_link_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let mut scenario = Scenario::new(setup(3), 1, Order::Any);
    scenario.faults.victims = Some(vec![NodeId::new(0)]);
    scenario.faults.crashes = 1;
    let options = Options {
        reduction: false,
        disk: Some(Disk::new(dir.path(), false)),
        ..Options::default()
    };
    assert!(!ask("lamport", &scenario, &options).unwrap().holds());
    for entry in fs::read_dir(dir.path().join("all")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("links") {
            let mut bytes = fs::read(&path).unwrap();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let disk = Some(Disk::new(dir.path(), true));
    match ask("lamport", &scenario, &Options { disk, ..options }) {
        Err(ScenarioError::Disk(DiskError::Damaged { .. })) => {}
        other => panic!("{other:?}"),
    }
}

/// Elections have another model, whose judge is numbered too, and nodes that come back.
#[test]
fn elections_on_disk_are_those_in_memory() {
    use crate::{ElectionFaults, ElectionScenario, check_election};
    let faults = ElectionFaults { crashes: 1, restarts: 1, ..ElectionFaults::default() };
    let premature = ElectionFaults { premature: 1, ..ElectionFaults::default() };
    for (name, nodes, faults) in [("bully", 2, faults), ("bully", 3, premature)] {
        let info = catalogue::find_election(name).unwrap();
        let setup = Setup::new(nodes).unwrap();
        let scenario = ElectionScenario { faults, ..ElectionScenario::new(setup, Order::Fifo) };
        let options = Options { threads: 2, keep_going: true, ..Options::default() };
        let expected = check_election(info, &scenario, &options).unwrap();
        let ask = |options: &Options<'_>| check_election(info, &scenario, options).unwrap();
        let found = stopped_again_and_again(options, ask);
        assert_eq!(answer(&found), answer(&expected), "{name}");
    }
}
