//! The files in `deploy/`: whatever they say to the binary it understands, and every metric that they
//! watch is one that a node serves.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use yaml_rust2::{Yaml, YamlLoader};

use crate::lock_command::members::Site;
use crate::lock_command::node::{free_addresses, run};
use crate::lock_command::processes::{Process, eventually, skeptron};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn text(name: &str) -> String {
    fs::read_to_string(deploy().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The documents of a YAML file.
fn documents(name: &str) -> Vec<Value> {
    let documents = YamlLoader::load_from_str(&text(name));
    documents.unwrap_or_else(|error| panic!("{name}: {error}")).iter().map(as_json).collect()
}

fn as_json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::String(text) | Yaml::Real(text) => text.as_str().into(),
        Yaml::Integer(number) => (*number).into(),
        Yaml::Boolean(is_true) => (*is_true).into(),
        Yaml::Array(items) => items.iter().map(as_json).collect(),
        Yaml::Hash(map) => {
            let named =
                |(key, value): (&Yaml, &Yaml)| (key.as_str().unwrap().to_string(), as_json(value));
            Value::Object(map.iter().map(named).collect())
        }
        Yaml::Null => Value::Null,
        Yaml::Alias(_) | Yaml::BadValue => panic!("it is not plain"),
    }
}

const MANIFESTS: [&str; 3] =
    ["kubernetes/skeptron.yaml", "kubernetes/init.yaml", "kubernetes/members.yaml"];

fn of_kind(name: &str, kind: &str) -> Value {
    let found = documents(name).into_iter().find(|it| it["kind"] == kind);
    found.unwrap_or_else(|| panic!("{name} has no {kind}"))
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_string()).collect()
}

/// Whether these words are a command line; nothing is done.
fn understood(words: &[String]) {
    let mut command = skeptron();
    let ended = Process::spawn({
        command.args(words).arg("--help");
        command
    })
    .end();
    assert_eq!(ended.code, 0, "{words:?}: {}", ended.stderr);
}

/// What lies behind `skeptron` in a line, up to where the shell goes on.
fn behind_skeptron(line: &str) -> Option<Vec<String>> {
    let (_, words) = line.split_once("skeptron ")?;
    let words =
        words.split_whitespace().take_while(|word| !["&", ">", "||", "&&", ";"].contains(word));
    Some(words.map(String::from).collect())
}

fn config_map() -> String {
    let map = of_kind("kubernetes/config.yaml", "ConfigMap");
    map["data"]["node.toml"].as_str().unwrap().to_string()
}

fn pod(name: &str, kind: &str) -> Value {
    of_kind(name, kind)["spec"]["template"]["spec"].clone()
}

#[test]
fn settings_are_fine_for_each_of_the_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    let certs = certs.to_str().unwrap();
    assert_eq!(run(&["tls", "init", certs, "--nodes", "3"]).code, 0);
    assert_eq!(run(&["tls", "add", certs, "--node", "101"]).code, 0);
    let check = |settings: &str, node: &str, address: Option<&str>| {
        let file = folder.path().join("node.toml");
        fs::write(&file, settings).unwrap();
        let mut command = skeptron();
        command.args(["node", "--check", "--json", "--config"]).arg(&file);
        command.env("SKEPTRON_NODE", node).env("SKEPTRON_TLS_FOLDER", certs);
        command.envs(address.map(|address| ("SKEPTRON_ADDRESS", address)));
        let ended = Process::spawn(command).end();
        assert_eq!(ended.code, 0, "P{node}: {}", ended.stderr);
        let found: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&found["fine"], &found["warning"]), (&json!(true), &Value::Null));
        let part = if address.is_some() { "member" } else { "voter" };
        assert!(found["node"].as_str().unwrap().contains(part), "{found}");
    };
    for settings in [text("node.toml"), config_map()] {
        for node in ["1", "2", "3"] {
            check(&settings, node, None);
        }
        check(&settings, "101", Some("skeptron-member-101.skeptron:7570"));
    }
}

#[test]
fn every_command_line_is_understood() {
    let unit = text("skeptron.service");
    let started = unit.lines().filter(|line| line.starts_with("ExecStart"));
    let started: Vec<_> = started.filter_map(behind_skeptron).collect();
    assert_eq!(started.len(), 2);
    started.iter().for_each(|words| understood(words));

    let dockerfile = text("Dockerfile");
    let health = dockerfile.lines().filter(|line| line.trim().starts_with("CMD skeptron"));
    let health: Vec<_> = health.filter_map(behind_skeptron).collect();
    assert_eq!(health, [["status"]]);
    let listed = |name: &str| -> Vec<String> {
        let line = dockerfile.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        serde_json::from_str(line).unwrap()
    };
    assert_eq!(listed("ENTRYPOINT "), ["skeptron"]);
    understood(&listed("CMD "));

    for name in [MANIFESTS[0], MANIFESTS[2]] {
        let container = pod(name, "StatefulSet")["containers"][0].clone();
        understood(&words(&container["args"]));
        let hook = words(&container["lifecycle"]["preStop"]["exec"]["command"]);
        assert_eq!(hook[0], "skeptron");
        understood(&hook[1..]);
    }
    let script = words(&pod(MANIFESTS[1], "Job")["containers"][0]["args"]).remove(0);
    let said: Vec<_> = script.lines().filter_map(behind_skeptron).collect();
    assert_eq!(said.len(), 3);
    said.iter().for_each(|words| understood(words));
}

#[test]
fn the_image_runs_as_nobody_and_keeps_no_secret() {
    let dockerfile = text("Dockerfile");
    let lines: Vec<&str> = dockerfile.lines().filter(|line| !line.starts_with('#')).collect();
    let stages = lines.iter().filter(|line| line.starts_with("FROM ")).count();
    assert_eq!(stages, 2);
    assert!(lines.contains(&"USER 10001:10001"));
    assert!(lines.iter().any(|line| line.starts_with("HEALTHCHECK ")));
    let secret =
        |line: &&&str| ["TOKEN", "SECRET", "PASSWORD", ".key"].iter().any(|it| line.contains(it));
    assert_eq!(lines.iter().find(secret), None);
    let copied = lines.iter().find(|line| line.starts_with("COPY --from=build")).unwrap();
    let name = Path::new(env!("CARGO_BIN_EXE_skeptron")).file_name().unwrap().to_str().unwrap();
    assert!(copied.ends_with(&format!("/usr/local/bin/{name}")), "{copied}");
}

#[test]
fn the_manifests_agree_with_each_other() {
    let set = of_kind(MANIFESTS[0], "StatefulSet");
    let settings: toml::Table = config_map().parse().unwrap();
    let (name, service) = (&set["metadata"]["name"], &set["spec"]["serviceName"]);
    assert_eq!(of_kind(MANIFESTS[0], "Service")["metadata"]["name"], *service);
    let (replicas, first) = (
        set["spec"]["replicas"].as_u64().unwrap(),
        set["spec"]["ordinals"]["start"].as_u64().unwrap(),
    );
    let pods: Vec<toml::Value> = (first..first + replicas)
        .map(|k| {
            format!("{}-{k}.{}:7570", name.as_str().unwrap(), service.as_str().unwrap()).into()
        })
        .collect();
    assert_eq!(settings["voters"].as_array().unwrap(), &pods);
    let claim = &set["spec"]["volumeClaimTemplates"][0]["metadata"]["name"];
    let first_claim = format!("{}-{}-{first}", claim.as_str().unwrap(), name.as_str().unwrap());
    assert_eq!(
        of_kind(MANIFESTS[1], "PersistentVolumeClaim")["metadata"]["name"],
        first_claim.as_str()
    );
    let budget = of_kind(MANIFESTS[0], "PodDisruptionBudget");
    assert_eq!(budget["spec"]["selector"], set["spec"]["selector"]);
    for (file, kind) in [(0, "StatefulSet"), (1, "Job"), (2, "StatefulSet")] {
        let pod = pod(MANIFESTS[file], kind);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["runAsUser"], 10001);
        let container = &pod["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        let templates = &of_kind(MANIFESTS[file], kind)["spec"]["volumeClaimTemplates"];
        let named = |list: &Value, key: &str| -> BTreeSet<String> {
            let list = list.as_array().into_iter().flatten();
            list.map(|it| it.pointer(key).unwrap().as_str().unwrap().to_string()).collect()
        };
        let mut volumes = named(&pod["volumes"], "/name");
        volumes.extend(named(templates, "/metadata/name"));
        assert_eq!(named(&container["volumeMounts"], "/name"), volumes, "{}", MANIFESTS[file]);
        for (probe, path) in
            [("startupProbe", "/live"), ("livenessProbe", "/live"), ("readinessProbe", "/ready")]
        {
            if let Some(get) = container[probe].get("httpGet") {
                assert_eq!((&get["path"], &get["scheme"]), (&json!(path), &json!("HTTPS")));
            }
        }
    }
}

/// The script of the job, with what the container would have.
#[test]
fn the_job_begins_a_cluster_and_does_so_once() {
    let script = words(&pod(MANIFESTS[1], "Job")["containers"][0]["args"]).remove(0);
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    assert_eq!(run(&["tls", "init", certs.to_str().unwrap(), "--nodes", "3"]).code, 0);
    fs::write(folder.path().join("node.toml"), config_map()).unwrap();
    let script = script
        .replace("/etc/skeptron/node.toml", folder.path().join("node.toml").to_str().unwrap());
    let [voter, other] = free_addresses();
    let socket = folder.path().join("api.sock");
    let begin = || {
        let mut command = Command::new("sh");
        let beside = Path::new(env!("CARGO_BIN_EXE_skeptron")).parent().unwrap();
        let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap());
        command.args(["-ec", &script]).env("PATH", path).env("SKEPTRON_NODE", "1");
        command.env("SKEPTRON_VOTERS", format!("{voter},{other},127.0.0.1:1"));
        command.env("SKEPTRON_LISTEN", &voter).env("SKEPTRON_API_LISTEN", "127.0.0.1:0");
        command.env("SKEPTRON_API_UNIX", &socket);
        command.env("SKEPTRON_ENDPOINT", format!("unix:{}", socket.display()));
        command.env("SKEPTRON_DATA", folder.path().join("data")).env("SKEPTRON_TLS_FOLDER", &certs);
        Process::spawn(command).end()
    };
    let begun = begin();
    assert_eq!(begun.code, 0, "{} {}", begun.stdout, begun.stderr);
    let again = begin();
    assert_ne!(again.code, 0, "{} {}", again.stdout, again.stderr);
    assert!(again.stderr.contains("there is already a voter's log here"), "{}", again.stderr);
}

/// All names of metrics that a text mentions.
fn mentioned(text: &str) -> BTreeSet<String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let names = text.split(|it| !is_part(it)).filter(|it| it.starts_with("skeptron_"));
    names.map(String::from).collect()
}

fn get(url: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let asked = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The names under which a node serves its metrics.
fn served(url: &str) -> BTreeSet<String> {
    let answer = get(url, "/metrics", "localhost");
    let mut names = BTreeSet::new();
    for line in answer.lines() {
        let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' '))
        else {
            continue;
        };
        let endings: &[&str] = match kind {
            "counter" => &["_total"],
            // The docs speak of the whole.
            "histogram" => &["_bucket", "_sum", "_count", ""],
            _ => &[""],
        };
        names.extend(endings.iter().map(|ending| format!("{name}{ending}")));
    }
    names
}

#[test]
fn alerts_and_dashboard_use_only_metrics_that_a_node_serves() {
    let site = Site::new();
    let (node, url) = site.begin_calmly();
    let (other, _) = site.start(2, &[]);
    // Some are served only when there is something to tell: a peer, and somebody who was refused.
    get(&url, "/metrics", "evil.example");
    let of_links = "skeptron_link_unacknowledged_bytes";
    eventually("there is a link", || served(&url).contains(of_links));
    let served = served(&url);
    for node in [other, node] {
        node.signal(Signal::SIGTERM);
        node.end();
    }
    assert!(served.len() > 30, "{served:?}");
    let rules = &documents("prometheus-alerts.yaml")[0]["groups"][0]["rules"];
    let rules = rules.as_array().unwrap();
    let mut watched = BTreeSet::new();
    for rule in rules {
        let said = [&rule["alert"], &rule["expr"], &rule["annotations"]["summary"]];
        assert!(said.iter().all(|it| it.is_string()), "{rule}");
        watched.extend(mentioned(rule["expr"].as_str().unwrap()));
    }
    assert!(rules.len() >= 10 && watched.len() >= 10, "{watched:?}");
    let dashboard: Value = serde_json::from_str(&text("grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let shown: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(shown.len() > 20);
    watched.extend(shown.into_iter().flat_map(mentioned));
    watched.extend(mentioned(&dashboard["templating"].to_string()));
    let unknown: Vec<_> = watched.difference(&served).collect();
    assert!(unknown.is_empty(), "no node serves {unknown:?}");
    // What the docs tell people to watch is there, too.
    let docs = fs::read_to_string(deploy().join("../docs/running.md")).unwrap();
    let unknown: Vec<_> = mentioned(&docs).into_iter().filter(|it| !served.contains(it)).collect();
    assert!(unknown.is_empty(), "docs/running.md: no node serves {unknown:?}");
}
