//! The examples of `docs/api.md`, run as they stand there.

use std::process::Command;

use serde_json::Value;

use crate::site::Site;

const MANUAL: &str = include_str!("../../../../docs/api.md");
/// Where the Python client is.
const PYTHON_CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");
/// Comes between the outputs of two examples.
const RULE: &str = "@@@";

/// The contents of the blocks of that language, in order, and what stands between is of no concern.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    MANUAL.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// What differs from run to run is made the same.
fn settled(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let varies = matches!(name.as_str(), "session" | "held_ms") && !value.is_null();
                let value = if varies { Value::Bool(true) } else { settled(value) };
                (name, value)
            })
            .collect(),
        Value::Array(values) => values.into_iter().map(settled).collect(),
        Value::String(text) => Value::String(timeless(&text)),
        other => other,
    }
}

/// A text without for how long somebody holds something.
fn timeless(text: &str) -> String {
    match text.split_once(" for ").zip(text.split_once(", fence")) {
        Some(((before, _), (_, after))) => format!("{before}, fence{after}"),
        None => text.to_string(),
    }
}

fn read(text: &str) -> Value {
    settled(serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_are_true() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no curl to run the examples of docs/api.md with");
        return;
    }
    let site = Site::start().await;
    let commands = blocks("sh");
    let script = commands.join(&format!("\necho '{RULE}'\n"));
    let script = script.replace("http://127.0.0.1:7470", &format!("http://{}", site.address()));
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(folder.path());
    let run = tokio::task::block_in_place(|| shell.output()).unwrap();
    let output = String::from_utf8(run.stdout).unwrap();
    let said = output.split(RULE).map(str::trim).filter(|output| !output.is_empty()).map(read);
    let promised = blocks("json").into_iter().map(read);
    let (said, promised): (Vec<Value>, Vec<Value>) = (said.collect(), promised.collect());
    assert!(promised.len() > 8);
    assert_eq!(said, promised, "{}", String::from_utf8_lossy(&run.stderr));
    site.stop().await;
}

/// The examples in Python are one program. What each `print` says stands behind it.
#[tokio::test(flavor = "multi_thread")]
async fn the_examples_in_python_are_true() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no python3 to run the examples of docs/api.md with");
        return;
    }
    let site = Site::start().await;
    let program = blocks("python").join("\n");
    let printing = program.lines().filter(|line| line.trim_start().starts_with("print("));
    let promised: Vec<&str> = printing.filter_map(|line| Some(line.split_once("# ")?.1)).collect();
    let program = program.replace("http://127.0.0.1:7470", &format!("http://{}", site.address()));
    let mut python = Command::new("python3");
    python.args(["-W", "error", "-c", &program]).env("PYTHONPATH", PYTHON_CLIENT);
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    let run = tokio::task::block_in_place(|| python.output()).unwrap();
    let output = String::from_utf8(run.stdout).unwrap();
    let said: Vec<&str> = output.lines().collect();
    assert!(promised.len() > 5);
    assert_eq!(said, promised, "{}", String::from_utf8_lossy(&run.stderr));
    site.stop().await;
}
