//! Whatever a program does wrong is said in one line that names the question.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use skeptron_check::{Options, Scenario, check};
use skeptron_core::Setup;
use skeptron_core::catalogue::Order;
use skeptron_foreign::{load, load_within};
use skeptron_sim::{Options as SimOptions, Scenario as SimScenario, run};

use crate::has;

/// A node enters when it asks; what comes before the loop may change that.
const PROGRAM: &str = r#"
import json, sys, time, os

def tell(answer):
    print(json.dumps(answer), flush=True)

def describe():
    return {"skeptron": 1, "messages": {"GO": {"to": "node"}}}

def init(q):
    return {"state": {"n": 0}}

def step(q):
    asks = q["input"]["do"] == "request"
    return {"state": q["state"], "effects": [{"do": "enter"}] if asks else []}

def effect(**effect):
    return lambda q: {"state": q["state"], "effects": [effect]}

def end(code):
    sys.exit(code)

# HERE

for line in sys.stdin:
    q = json.loads(line)
    tell(describe() if q["ask"] == "describe" else init(q) if q["ask"] == "init" else step(q))
"#;

/// The program with these lines in it, in a file of its own.
fn program(folder: &tempfile::TempDir, lines: &str) -> String {
    let path = folder.path().join("program.py");
    fs::write(&path, PROGRAM.replace("# HERE", lines)).unwrap();
    path.to_str().unwrap().into()
}

/// What is said when it is loaded, or else when it is run.
fn said(lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let name = program(&folder, lines);
    let error = match load_within(&name, Duration::from_secs(5)) {
        Err(error) => error.to_string(),
        Ok(info) => {
            let scenario = SimScenario { entries: 200, ..SimScenario::new(Setup::new(3).unwrap()) };
            run(info, &scenario, &SimOptions::default()).unwrap_err().to_string()
        }
    };
    assert!(!error.contains('\n'), "one line: {error}");
    error.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{error}")).to_string()
}

const DESCRIBE: &str = r#"; the question was {"ask":"describe"}"#;
const INIT: &str = r#"; the question was {"ask":"init","me":1,"nodes":2}"#;
const STEP: &str =
    r#"; the question was {"ask":"step","input":{"do":"start"},"me":1,"nodes":3,"state":{"n":0}}"#;

#[test]
fn each_mistake_is_named_with_its_question() {
    if !has("python3") {
        return;
    }
    for (lines, why, question) in [
        ("end(3)", "it ended (exit status: 3)", DESCRIBE),
        ("x = {}['stamp']", "it ended (exit status: 1, saying: KeyError: 'stamp')", DESCRIBE),
        (
            "print('hello')",
            "it said `hello` where a line of JSON was expected; print to standard error instead",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 2, 'messages': []}",
            "its answer is wrong: skeptron: version 2 is not known; this is 1",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 1}",
            "its answer is wrong: missing field `messages` at line 1 column 15",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 1, 'messages': {'GO': {'to': 'nodes'}}}",
            "its answer is wrong: messages.GO.to: `nodes` is no type; use any, node, clock, requests or stamp, or several of one as in node-set or stamp-list",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 1, 'messages': ['A', 'A']}",
            "its answer is wrong: messages: there are two kinds `A`",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 1, 'messages': [], 'claims': [{'of': 'messages', 'exactly': '2(N'}]}",
            "its answer is wrong: claims[0]: `2(N` is no formula: a bracket is not closed before ``",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 1, 'messages': [], 'family': 'x'}",
            "its answer is wrong: family: `x` is none; use central, permission, quorum or token",
            DESCRIBE,
        ),
        (
            "describe = lambda: {'skeptron': 1, 'messages': [], 'variables': {'m': 'node'}}",
            "its answer is wrong: state: the variable `m` is missing",
            INIT,
        ),
        (
            "describe = lambda: {'skeptron': 1, 'messages': [], 'fires': ['1 request']}",
            "its answer is wrong: fires[0]: write RULE INPUT | CONDITIONS | REASON",
            DESCRIBE,
        ),
        (
            "init = lambda q: {}",
            "its answer is wrong: state: an object is expected, not null",
            INIT,
        ),
        (
            "init = lambda q: {'stat': {}}",
            "its answer is wrong: stat: there is no such field; use state",
            INIT,
        ),
        (
            "init = lambda q: {'state': {'n': 0.5}}",
            "its answer is wrong: state.n: numbers are whole and below 2^63, and 0.5 is not",
            INIT,
        ),
        ("step = lambda q: end(4)", "it ended (exit status: 4)", STEP),
        ("step = lambda q: os.kill(os.getpid(), 9)", "it ended (signal: 9 (SIGKILL))", STEP),
        (
            "step = lambda q: {}['stamp']",
            "it ended (exit status: 1, saying: KeyError: 'stamp')",
            STEP,
        ),
        (
            "step = lambda q: print('debugging') or {'state': {}}",
            "it said `debugging` where a line of JSON was expected; print to standard error instead",
            STEP,
        ),
        ("step = lambda q: [q]", "its answer is wrong: answer: an object is expected, not [", STEP),
        (
            "step = lambda q: {'state': q['state'], 'effects': 7}",
            "its answer is wrong: effects: 7 is no list",
            STEP,
        ),
        (
            "step = effect(do='sned')",
            "its answer is wrong: effects[0]: there is no effect `sned`; use send, broadcast or enter",
            STEP,
        ),
        (
            "step = effect(to=2)",
            "its answer is wrong: effects[0]: `do` is missing: send, broadcast or enter",
            STEP,
        ),
        (
            "step = effect(do='send', to=4, message={'kind': 'GO', 'to': 1})",
            "its answer is wrong: effects[0].to: 4 is no node; they are numbered from 1 to 3",
            STEP,
        ),
        (
            "step = effect(do='send', to=1, message={'kind': 'GO', 'to': 1})",
            "its answer is wrong: effects[0].to: P1 sends a message to itself; change its state instead",
            STEP,
        ),
        (
            "step = effect(do='broadcast', message={'kind': 'STOP'})",
            "its answer is wrong: effects[0].message: `STOP` is no kind of message; there are GO",
            STEP,
        ),
        (
            "step = effect(do='broadcast', message={'kind': 'GO'})",
            "its answer is wrong: effects[0].message: `to` is missing, which GO carries",
            STEP,
        ),
        (
            "step = effect(do='broadcast', message={'kind': 'GO', 'to': 1, 'x': 1})",
            "its answer is wrong: effects[0].message: GO carries no `x`; declare it first",
            STEP,
        ),
        (
            "step = effect(do='broadcast', message={'kind': 'GO', 'to': 0})",
            "its answer is wrong: effects[0].message.to: 0 is no node; they are numbered from 1 to 3",
            STEP,
        ),
        (
            "step = effect(do='broadcast')",
            "its answer is wrong: effects[0].message: an object is expected, not null",
            STEP,
        ),
        (
            "count = [0]\ndef step(q):\n    count[0] += 1\n    return {'state': {'n': count[0]}}",
            "it gave two answers, `{\"state\":{\"n\":1}}` and `{\"state\":{\"n\":2}}`; it must be a pure function of what it is asked",
            STEP,
        ),
    ] {
        let error = said(lines);
        assert!(error.starts_with(why), "{lines}:\n{error}\n{why}");
        assert!(error.ends_with(question), "{lines}:\n{error}\n{question}");
    }
}

#[test]
fn a_program_that_sleeps_is_late() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = program(&folder, "step = lambda q: time.sleep(600)");
    let info = load_within(&name, Duration::from_secs(2)).unwrap();
    let scenario = Scenario::new(Setup::new(3).unwrap(), 1, Order::Fifo);
    let error = check(info, &scenario, &Options::default()).unwrap_err().to_string();
    assert_eq!(error, format!("{name}: it did not answer within 2 s{STEP}"));
}

/// The memory of a node belongs into its state: a program that keeps it elsewhere is found out, later if need be.
#[test]
fn a_program_that_remembers_is_found_out() {
    if !has("python3") {
        return;
    }
    let error = said(
        "count = [0]\ndef step(q):\n    count[0] += 1\n    more = 2 if count[0] > 80 else 1\n    asks = \
         q['input']['do'] == 'request'\n    return {'state': {'n': q['state']['n'] + more}, 'effects': \
         [{'do': 'enter'}] if asks else []}",
    );
    assert!(error.starts_with("it gave two answers"), "{error}");
}

#[test]
fn what_is_no_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let said = |name: &str| load(&path(name)).unwrap_err().to_string();
    assert_eq!(said("none.py"), format!("{}: there is no such file", path("none.py")));
    fs::create_dir(path("folder.py")).unwrap();
    assert_eq!(
        said("folder.py"),
        format!("{}: it is no file; name the program itself", path("folder.py"))
    );
    fs::write(path("plain"), "#!/bin/sh\n").unwrap();
    assert_eq!(
        said("plain"),
        format!(
            "{}: it is not executable; make it so with chmod +x, or let its name end in .py or .js",
            path("plain")
        )
    );
    fs::write(path("nobody"), "#!/nowhere/interpreter\n").unwrap();
    fs::set_permissions(path("nobody"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(said("nobody").contains("it cannot be started: "), "{}", said("nobody"));
}

/// Any language will do.
#[test]
fn a_shell_script_is_executed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("always");
    let script = r#"#!/bin/sh
while read -r line; do
  case "$line" in
    *describe*) echo '{"skeptron": 1, "messages": ["GO"]}' ;;
    *init*) echo '{"state": {}}' ;;
    *request*) echo '{"state": {}, "effects": [{"do": "enter"}]}' ;;
    *) echo '{"state": {}}' ;;
  esac
done
"#;
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let info = load(path.to_str().unwrap()).unwrap();
    assert_eq!(info.title, "always");
    let report =
        check(info, &Scenario::new(Setup::new(2).unwrap(), 1, Order::Fifo), &Options::default());
    assert!(!report.unwrap().holds(), "everybody enters at once");
}
