//! Whoever corrects a program runs it again without more ado.

use std::fs;

use skeptron_core::Setup;
use skeptron_core::mutex::foreign;
use skeptron_foreign::{load, reload};
use skeptron_sim::{Options, Scenario, run};

use crate::has;

const SHELL: &str = r#"#!/bin/sh
while read -r line; do
  case "$line" in
    *describe*) echo '{"skeptron": 1, "messages": [], "title": "TITLE"}' ;;
    *init*) echo '{"state": {}}' ;;
    *request*) echo '{"state": {}, "effects": [{"do": "EFFECT"}]}' ;;
    *) echo '{"state": {}}' ;;
  esac
done
"#;

#[test]
fn a_program_that_was_changed_or_has_failed_is_started_anew() {
    use std::os::unix::fs::PermissionsExt as _;
    if !has("sh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let name = path.to_str().unwrap();
    let write = |title: &str, effect: &str| {
        fs::write(&path, SHELL.replace("TITLE", title).replace("EFFECT", effect)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let scenario = Scenario { entries: 3, ..Scenario::new(Setup::new(1).unwrap()) };
    write("wrong", "entre");
    assert!(reload(name).unwrap().is_none(), "nobody has named it");
    let wrong = load(name).unwrap();
    assert!(std::ptr::eq(load(name).unwrap(), wrong), "it is started once");
    let failure = run(wrong, &scenario, &Options::default()).unwrap_err().to_string();
    assert!(failure.contains("there is no effect `entre`"), "{failure}");
    let again = reload(name).unwrap().unwrap();
    assert!(!std::ptr::eq(again, wrong), "it failed");
    write("correct", "enter");
    let right = reload(name).unwrap().unwrap();
    assert_eq!(right.title, "correct");
    assert!(run(right, &scenario, &Options::default()).unwrap().report.is_fine());
    let known = foreign::all().into_iter().filter(|loaded| loaded.info().name == name);
    assert_eq!(known.count(), 1);
    let closed = run(again, &scenario, &Options::default());
    assert!(closed.unwrap_err().to_string().contains("it was loaded anew"), "of the old one");
}
