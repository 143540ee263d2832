//! Settings: who overrides whom, what is said of mistakes, and that the documentation has them all.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::configure::Configured;
use super::fields::{self, Field, Raw};
use super::print;
use super::settings::{self, Origin, Prefix, Settings};

/// The settings of a file of this text in this folder, in this environment.
fn load(folder: &TempDir, text: &str, variables: &[(&str, &str)]) -> anyhow::Result<Settings> {
    let path = folder.path().join("node.toml");
    fs::write(&path, text).unwrap();
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    };
    Settings::load(Some(&path), variable, false)
}

fn complaint(text: &str, variables: &[(&str, &str)]) -> String {
    let folder = TempDir::new().unwrap();
    let configured = load(&folder, text, variables).and_then(|settings| Configured::new(&settings));
    let said = format!("{:#}", configured.map(drop).expect_err(text));
    // Without the folder of the test, whose name is another one each time.
    let named = said.find("node.toml: ").map(|at| said[at..].to_string());
    named.unwrap_or(said)
}

#[test]
fn all_defaults_make_a_node_alone() {
    let settings = Settings::load(None, |_| None, false).unwrap();
    let configured = Configured::new(&settings).unwrap();
    assert_eq!(configured.node.address(), "127.0.0.1:7570");
    assert_eq!(configured.node.limits, skeptron_net::Limits::default());
    assert_eq!(configured.node.pace, skeptron_net::Pace::default());
    let usual = skeptron_net::api::ApiConfig::default();
    assert_eq!(format!("{:?}", configured.api), format!("{usual:?}"));
}

#[test]
fn the_environment_overrides_the_file_and_the_file_the_default() {
    let text = "cluster = \"a\"\nhandovers = 3\n[api]\nsessions = 7\n[pace]\nfirst = \"2ms\"\n";
    let variables = [
        ("SKEPTRON_CLUSTER", "b"),
        ("SKEPTRON_API_LISTEN", "127.0.0.1:1, 127.0.0.1:2"),
        ("SKEPTRON_HANDOVERS", ""),
        ("SKEPTRON_PREFIX", "x/=raymond,y=z/=maekawa"),
    ];
    let folder = TempDir::new().unwrap();
    let settings = load(&folder, text, &variables).unwrap();
    let configured = Configured::new(&settings).unwrap();
    assert_eq!(configured.node.cluster, "b");
    assert_eq!(configured.node.handovers, 3);
    assert_eq!(configured.node.pace.first.as_millis(), 2);
    assert_eq!(configured.api.sessions, 7);
    assert_eq!(configured.api.listen, ["127.0.0.1:1", "127.0.0.1:2"]);
    let prefixes: Vec<_> = configured.node.plans.prefixes().collect();
    assert_eq!(prefixes, [("y=z/", "maekawa"), ("x/", "raymond")]);
    let origin = |key: &str| settings.setting(key).unwrap().origin.clone();
    assert_eq!(origin("cluster"), Origin::Environment("SKEPTRON_CLUSTER".into()));
    assert!(matches!(origin("api.sessions"), Origin::File { line: 4, .. }));
    assert_eq!(origin("node"), Origin::Default);
}

#[test]
fn mistakes_are_named_with_their_line_and_what_was_meant() {
    let cases = [
        (
            "clustr = \"a\"",
            "node.toml: line 1: there is no setting `clustr`; did you mean `cluster`?",
        ),
        (
            "\n\n[api]\ntokn = \"a\"",
            "node.toml: line 4: there is no setting `api.tokn`; did you mean `api.token`?",
        ),
        (
            "sessions = 3",
            "node.toml: line 1: there is no setting `sessions`; did you mean `api.sessions`?",
        ),
        ("node = 1\nnode = 2", "node.toml: line 2: duplicate key"),
        ("node = [", "node.toml: line 1: "),
        ("node = \"two\"", "node.toml: line 1: node: it must be a whole number, not a text"),
        ("node = -1", "node.toml: line 1: node: `-1`: it must be a whole number from 0 up"),
        ("node = 0", "node.toml: line 1: node: nodes are counted from 1"),
        (
            "node = 2",
            "node.toml: line 1: node: this is node 2, but there are only 1 members; list its address, too",
        ),
        ("handovers = 5000000000", "node.toml: line 1: handovers: 5000000000 is too large"),
        ("insecure = \"yes\"", "node.toml: line 1: insecure: it must be true or false, not a text"),
        (
            "shutdown_grace = 5",
            "node.toml: line 1: shutdown_grace: it must be a duration in quotes",
        ),
        (
            "shutdown_grace = \"5\"",
            "node.toml: line 1: shutdown_grace: `5` is no duration: write a whole number and its unit",
        ),
        ("members = \"a\"", "node.toml: line 1: members: it must be a list"),
        (
            "members = [1]",
            "node.toml: line 1: members: it must be a list of texts in quotes, not of a whole number",
        ),
        ("api = 3", "node.toml: line 1: `api` is a table; write [api] and its keys below"),
        (
            "prefix = \"a\"",
            "node.toml: line 1: `prefix` is a table; write [[prefix]] and its keys below",
        ),
        ("[[prefix]]\nprefix = \"a\"", "node.toml: line 1: this [[prefix]] lacks its `algorithm`"),
        ("[[prefix]]\nprefx = \"a\"", "node.toml: line 2: a [[prefix]] has no `prefx`"),
        (
            "[[prefix]]\nprefix = \"a\"\nalgorithm = \"raymnd\"",
            "node.toml: line 1: there is no algorithm named `raymnd`",
        ),
        (
            "algorithm = \"singhal-1989\"",
            "node.toml: line 1: algorithm: singhal-1989 is broken on purpose",
        ),
        ("algorithm = \"bully\"", "node.toml: line 1: algorithm: bully elects a leader"),
        ("tree = \"star\"", "algorithm: naimi-trehel takes no --tree"),
        (
            "log.format = \"jsn\"",
            "node.toml: line 1: log.format: `jsn` is none of text, json; did you mean `json`?",
        ),
        ("log.level = \"loud\"", "node.toml: line 1: log.level: `loud` is no level of logs"),
        ("log.level = \"a=b=c\"", "node.toml: line 1: log.level: `a=b=c` is no filter of logs"),
        ("[pace]\nfirst = \"1s\"", "node.toml: line 2: pace.first: it is above pace.longest"),
        (
            "api.token = \"a\"\napi.token_file = \"node.toml\"",
            "node.toml: line 2: api.token_file: there is an api.token as well",
        ),
        ("api.tls = true", "node.toml: line 1: api.tls: there are no certificates"),
        (
            "tls.key = \"k\"",
            "node.toml: line 1: tls.key: tls.authority, tls.certificate, tls.key are needed together",
        ),
        ("members = [\"127.0.0.1:1\", \"127.0.0.1:2\"]", "nodes prove to each other who they are"),
        (
            "insecure = true\nmembers = [\"10.0.0.1:1\"]",
            "node.toml: line 2: members: 10.0.0.1:1 is not on the loopback interface",
        ),
        ("cluster = \"\"", "node.toml: line 1: cluster: a cluster's name has 1 to 100 bytes"),
        (
            "limits.frame_bytes = 1",
            "node.toml: line 1: limits.frame_bytes: 1 is too small; at least 65536",
        ),
    ];
    for (text, expected) in cases {
        let said = complaint(text, &[]);
        assert!(said.starts_with(expected), "{text}\n said: {said}\n  not: {expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let said = complaint("", &[("SKEPTRON_NODE", "two")]);
    assert!(said.starts_with("SKEPTRON_NODE: `two`: it must be a whole number"), "{said}");
    let said = complaint("", &[("SKEPTRON_PREFIX", "orders/")]);
    assert!(
        said.starts_with("SKEPTRON_PREFIX: `orders/` is no prefix with its algorithm"),
        "{said}"
    );
}

#[test]
fn a_variable_that_is_no_setting_is_noticed() {
    let names = ["PATH", "SKEPTRON_LOCK", "SKEPTRON_NODE", "SKEPTRON_PREFIX", "SKEPTRON_API_LISTN"];
    let said = settings::misspelt(names.into_iter().map(str::to_string));
    let expected = "SKEPTRON_API_LISTN is no setting of a node; did you mean `api.listen`?";
    assert_eq!(said, [expected]);
}

#[test]
fn what_is_printed_can_be_read_again_and_tells_no_secret() {
    let text = "cluster = \"a \\\" b\"\napi.token = \"geheim\"\napi.listen = []\n[[prefix]]\n\
                prefix = \"x\"\nalgorithm = \"raymond\"\ntree = \"star\"\n";
    let folder = TempDir::new().unwrap();
    let settings = load(&folder, text, &[]).unwrap();
    let mut printed = Vec::new();
    print::print(&settings, &mut printed).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    assert!(!printed.contains("geheim"), "{printed}");
    let again = load(&folder, &printed, &[]).unwrap();
    for field in fields::all().iter().filter(|field| field.key != "api.token") {
        let raw = |settings: &Settings| settings.setting(field.key).map(|s| s.raw.clone());
        assert_eq!(raw(&again), raw(&settings), "{}", field.key);
    }
    let values = |settings: &Settings| -> Vec<_> {
        settings.prefixes.iter().map(|prefix: &Prefix| prefix.values.clone()).collect()
    };
    assert_eq!(values(&again), values(&settings));
}

/// As `docs/configuration.md` has them.
fn documented(fields: &[Field]) -> String {
    let row = |field: &Field| {
        let default = match &field.default {
            None => "–".to_string(),
            Some(Raw::One(text)) => format!("`{text}`"),
            Some(Raw::Many(texts)) => format!("`[\"{}\"]`", texts.join("\", \"")),
        };
        format!("| `{}` | {default} | `{}` | {} |\n", field.key, field.variable(), field.about)
    };
    let head = "| setting | default | variable | what it is |\n|---|---|---|---|\n";
    fields.iter().map(row).fold(head.to_string(), |table, row| table + &row)
}

#[test]
fn the_documentation_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = fs::read_to_string(path).unwrap();
    let expected = documented(&fields::all());
    assert!(page.contains(&expected), "docs/configuration.md should have\n\n{expected}");
    for key in Prefix::KEYS {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}
