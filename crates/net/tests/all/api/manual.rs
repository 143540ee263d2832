//! The examples of `docs/api.md`, run as they stand there.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use axum::Router;
use serde_json::Value;
use skeptron_net::api::{Api, Listeners};
use skeptron_net::{Cluster, LeaseSettings, Plan, Plans};

use crate::api::site::{config, eventually};

const MANUAL: &str = include_str!("../../../../../docs/api.md");
/// Where the Python client is.
const PYTHON_CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");
/// Comes between the outputs of two examples.
const RULE: &str = "@@@";

/// Three nodes that vote, as `skeptron up` starts them.
struct Trio {
    apis: Vec<Api>,
    _cluster: Cluster,
    _folder: tempfile::TempDir,
}

impl Trio {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut listeners = Vec::new();
        for _ in 0..3 {
            listeners.push(Listeners::bind(&config()).await.unwrap());
        }
        let url =
            |listeners: &Listeners| format!("http://{}", listeners.addresses().next().unwrap());
        let urls: Vec<String> = listeners.iter().map(url).collect();
        let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
        // Longer than any step takes on a busy machine.
        let lease = LeaseSettings { lease: Duration::from_secs(30), ..LeaseSettings::default() };
        let storage = (folder.path(), lease);
        let starting = Cluster::start_voting_with(3, 3, plans, storage, |config| {
            config.api = vec![urls[config.node.place()].clone()];
        });
        let cluster = starting.await.unwrap();
        let mut apis = Vec::new();
        for (node, listeners) in cluster.nodes.iter().zip(listeners) {
            let api = Api::start_at(node.clone(), config(), listeners, Router::new()).await;
            apis.push(api.unwrap());
        }
        // Each of them tells where the others are, and no fence is of a view before.
        let is_whole = |node: &skeptron_net::Node| node.status().members.len() == 3;
        eventually(async || cluster.nodes.iter().all(is_whole)).await;
        for node in &cluster.nodes {
            node.ready().await;
        }
        Trio { apis, _cluster: cluster, _folder: folder }
    }

    fn address(&self) -> SocketAddr {
        self.apis[0].addresses()[0]
    }
}

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
                let value = match (name.as_str(), value) {
                    (_, Value::Null) => Value::Null,
                    ("session" | "held_ms" | "valid_ms" | "life" | "epoch", _) => Value::Bool(true),
                    // Their ports are free ones.
                    ("nodes", Value::Array(nodes)) => nodes.len().into(),
                    (_, value) => settled(value),
                };
                (name, value)
            })
            .collect(),
        Value::Array(values) => values.into_iter().map(settled).collect(),
        Value::String(text) => Value::String(without_epochs(&timeless(&text))),
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

/// A text whose fences are those of the first view: how many there were before depends on how fast nodes came.
fn without_epochs(text: &str) -> String {
    const COUNTERS: u64 = 1 << 40;
    let is_other = |c: char| !c.is_ascii_digit();
    let numbers = text.split(is_other).filter_map(|digits| digits.parse::<u64>().ok());
    let Some(fence) = numbers.filter(|number| *number > COUNTERS).max() else {
        return text.to_string();
    };
    let (epoch, counter) = (fence / COUNTERS, fence % COUNTERS);
    text.replace(&fence.to_string(), &format!("fence {counter}"))
        .replace(&format!("({epoch}·{counter})"), &format!("(·{counter})"))
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
    let site = Trio::start().await;
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
}

/// The examples in Python are one program. What each `print` says stands behind it.
#[tokio::test(flavor = "multi_thread")]
async fn the_examples_in_python_are_true() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no python3 to run the examples of docs/api.md with");
        return;
    }
    let site = Trio::start().await;
    let program = blocks("python").join("\n");
    let printing = program.lines().filter(|line| line.trim_start().starts_with("print("));
    let promised: Vec<&str> = printing.filter_map(|line| Some(line.split_once("# ")?.1)).collect();
    let program = program.replace("http://127.0.0.1:7470", &format!("http://{}", site.address()));
    let mut python = Command::new("python3");
    python.args(["-W", "error", "-c", &program]).env("PYTHONPATH", PYTHON_CLIENT);
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    let run = tokio::task::block_in_place(|| python.output()).unwrap();
    let output = String::from_utf8(run.stdout).unwrap();
    let said: Vec<String> = output.lines().map(without_epochs).collect();
    let promised: Vec<String> = promised.into_iter().map(without_epochs).collect();
    assert!(promised.len() > 5);
    assert_eq!(said, promised, "{}", String::from_utf8_lossy(&run.stderr));
}
