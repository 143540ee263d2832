//! Settings: who overrides whom, what is said of mistakes, and that the documentation has them all.

use std::fs;
use std::path::Path;

use skeptron_net::{Membership, VoterConfig};
use tempfile::TempDir;

use super::configure::Configured;
use super::fields::{Field, Settings, Table as _};
use super::settings::Loaded;
use super::{mistakes, print};

/// The settings of a file of this text in this folder, in this environment.
fn load(folder: &TempDir, text: &str, variables: &[(&str, &str)]) -> anyhow::Result<Loaded> {
    let path = folder.path().join("node.toml");
    fs::write(&path, text).unwrap();
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    };
    Loaded::load(Some(&path), variable, &[])
}

/// A voter that lacks nothing.
const VOTER: [(&str, &str); 3] = [
    ("SKEPTRON_VOTERS", "127.0.0.1:7570"),
    ("SKEPTRON_DATA", "data"),
    ("SKEPTRON_INSECURE", "true"),
];

fn complaint(text: &str, variables: &[(&str, &str)], init_after: Option<u64>) -> String {
    let folder = TempDir::new().unwrap();
    let configured =
        load(&folder, text, variables).and_then(|settings| Configured::new(&settings, init_after));
    let said = format!("{:#}", configured.map(drop).expect_err(text));
    // Without the folder of the test, whose name is another one each time.
    let named = said.find("node.toml: ").map(|at| said[at..].to_string());
    named.unwrap_or(said)
}

fn assert_complaints(cases: &[(&str, &str)], variables: &[(&str, &str)]) {
    for (text, expected) in cases {
        let said = complaint(text, variables, None);
        assert!(said.starts_with(expected), "{text}\n said: {said}\n  not: {expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

fn voters_of(configured: &Configured) -> &VoterConfig {
    match &configured.node.membership {
        Membership::Voters(config) => config,
        Membership::Fixed(_) | Membership::Etcd(_) => panic!("nodes have voters"),
    }
}

#[test]
fn a_voter_alone_needs_little() {
    let folder = TempDir::new().unwrap();
    let settings = load(&folder, "", &VOTER).unwrap();
    let configured = Configured::new(&settings, None).unwrap();
    assert_eq!(configured.node.address(), "127.0.0.1:7570");
    assert_eq!(voters_of(&configured).data, Some(folder.path().join("data")));
    assert_eq!(voters_of(&configured).init, None);
    assert_eq!(configured.node.limits, skeptron_net::Limits::default());
    assert_eq!(configured.node.pace, skeptron_net::Pace::default());
    let usual = skeptron_net::api::ApiConfig::default();
    assert_eq!(format!("{:?}", configured.api), format!("{usual:?}"));
    let first = Configured::new(&settings, Some(0)).unwrap();
    assert_eq!(voters_of(&first).init, Some(skeptron_net::Init::default()));
}

#[test]
fn voters_have_their_place_or_the_number_that_is_said() {
    let text = "node = 9\naddress = \"[::1]:9\"\nvoters = [\"127.0.0.1:1\", \"7=127.0.0.7:7\", \
                \"localhost:3\"]\n[lease]\nlength = \"5s\"\ndrift_ppm = 200\n";
    let folder = TempDir::new().unwrap();
    let settings = load(&folder, text, &[("SKEPTRON_INSECURE", "true")]).unwrap();
    let configured = Configured::new(&settings, None).unwrap();
    let voters = voters_of(&configured);
    let listed: Vec<_> = voters.voters.iter().map(|(id, at)| (id.number(), at.as_str())).collect();
    assert_eq!(listed, [(1, "127.0.0.1:1"), (3, "localhost:3"), (7, "127.0.0.7:7")]);
    assert_eq!((voters.address.as_str(), &voters.data), ("[::1]:9", &None));
    // A cluster begins at a voter, and with the leases that are set.
    let text = text.replace("node = 9\naddress = \"[::1]:9\"", "node = 1\ndata = \"d\"");
    let settings = load(&folder, &text, &[("SKEPTRON_INSECURE", "true")]).unwrap();
    let first = Configured::new(&settings, Some(57)).unwrap();
    let init = voters_of(&first).init.unwrap();
    assert_eq!((init.lease.lease.as_secs(), init.lease.drift.ppm, init.epoch_after), (5, 200, 57));
}

#[test]
fn mistakes_about_voters_are_named() {
    let cases = [
        ("", "no voters are named: list under `voters` the 1, 3 or 5 nodes"),
        (
            "members = [\"127.0.0.1:1\"]",
            "node.toml: line 1: members: members come and go now: list under `voters`",
        ),
        ("tree = \"star\"", "node.toml: line 1: tree: the number of members changes"),
        (
            "[[prefix]]\nprefix = \"a\"\nalgorithm = \"raymond\"\ntree = \"star\"",
            "node.toml: line 4: prefix.tree: the number of members changes",
        ),
        ("voters = \"a\"", "node.toml: line 1: voters: it must be a list"),
        (
            "voters = [1]",
            "node.toml: line 1: voters: it must be a list of texts in quotes, not of a whole number",
        ),
        (
            "voters = [\"10.0.0.1\"]",
            "node.toml: line 1: voters: `10.0.0.1` is no address; write HOST:PORT",
        ),
        ("voters = [\":7570\"]", "node.toml: line 1: voters: `:7570` is no address"),
        ("voters = [\"::1:7570\"]", "node.toml: line 1: voters: `::1:7570` is no address"),
        ("voters = [\"a:70000\"]", "node.toml: line 1: voters: `a:70000` is no address"),
        ("voters = [\"x=a:1\"]", "node.toml: line 1: voters: `x=a:1`: `x` is no node"),
        ("voters = [\"a:1\", \"1=b:1\"]", "node.toml: line 1: voters: P1 is listed twice"),
        (
            "node = 2\nvoters = [\"127.0.0.1:1\"]",
            "address: P2 is none of the voters, so they cannot know where it is",
        ),
        (
            "address = \"there\"\nvoters = [\"127.0.0.1:1\"]",
            "node.toml: line 1: address: `there` is no address",
        ),
        (
            "address = \"127.0.0.1:2\"\nvoters = [\"127.0.0.1:1\"]\ndata = \"d\"\ninsecure = true",
            "node.toml: line 1: address: P1 is at 127.0.0.1:1 among the voters, but its own address",
        ),
        (
            "voters = [\"127.0.0.1:1\"]\ninsecure = true",
            "data: P1 is one of the voters and needs a folder for its log; set `data`",
        ),
        (
            "voters = [\"127.0.0.1:1\", \"127.0.0.1:1\"]\ndata = \"d\"\ninsecure = true",
            "node.toml: line 1: voters: P1 and P2 have the same address 127.0.0.1:1",
        ),
        ("voters = [\"127.0.0.1:1\"]\ndata = \"d\"", "nodes prove to each other who they are"),
        (
            "insecure = true\nvoters = [\"10.0.0.1:1\"]\ndata = \"d\"",
            "node.toml: line 2: voters: 10.0.0.1:1 is not on the loopback interface",
        ),
    ];
    assert_complaints(&cases, &[]);
    let leases = [
        (
            "lease.length = \"99ms\"",
            "node.toml: line 1: lease.length: it must be from 100ms to 10m",
        ),
        ("lease.drift_ppm = 100000", "node.toml: line 1: lease.drift_ppm: 100000 is too large"),
    ];
    assert_complaints(&leases, &VOTER);
    let said = complaint("", &[("SKEPTRON_MEMBERS", "127.0.0.1:1")], None);
    assert!(said.starts_with("SKEPTRON_MEMBERS: members come and go now"), "{said}");
    let elsewhere =
        "node = 2\nvoters = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\ndata = \"d\"\ninsecure = true";
    let said = complaint(elsewhere, &[], Some(0));
    assert!(said.contains("a new cluster begins at P1, the first of the voters"), "{said}");
    let said = complaint("", &VOTER, Some(u64::MAX));
    assert!(said.starts_with("--epoch-after: a new cluster cannot begin after epoch"), "{said}");
}

#[test]
fn the_environment_overrides_the_file_and_the_file_the_default() {
    let text = "cluster = \"a\"\nhandovers = 3\n[api]\nsessions = 7\n[pace]\nfirst = \"2ms\"\n";
    // A name that looks like a number stays a name.
    let variables = [
        ("SKEPTRON_CLUSTER", "5"),
        ("SKEPTRON_API_LISTEN", "127.0.0.1:1, 127.0.0.1:2"),
        ("SKEPTRON_HANDOVERS", ""),
        ("SKEPTRON_PREFIX", "x/=raymond,y=z/=maekawa"),
    ];
    let folder = TempDir::new().unwrap();
    let settings = load(&folder, text, &[&variables[..], &VOTER].concat()).unwrap();
    let configured = Configured::new(&settings, None).unwrap();
    assert_eq!(configured.node.cluster, "5");
    assert_eq!(configured.node.handovers, 3);
    assert_eq!(configured.node.pace.first.as_millis(), 2);
    assert_eq!(configured.api.sessions, 7);
    assert_eq!(configured.api.listen, ["127.0.0.1:1", "127.0.0.1:2"]);
    let prefixes: Vec<_> = configured.node.plans.prefixes().collect();
    assert_eq!(prefixes, [("y=z/", "maekawa"), ("x/", "raymond")]);
    assert_eq!(settings.origin("cluster"), "SKEPTRON_CLUSTER");
    assert!(settings.origin("api.sessions").ends_with("node.toml: line 4"));
    assert_eq!(settings.origin("node"), "default");
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
        (
            "node = \"two\"",
            "node.toml: line 1: node: it must be a whole number from 0 up, not the text \"two\"",
        ),
        ("node = -1", "node.toml: line 1: node: `-1`: it must be a whole number from 0 up"),
        ("node = 0", "node.toml: line 1: node: nodes are counted from 1"),
        ("handovers = 5000000000", "node.toml: line 1: handovers: 5000000000 is too large"),
        (
            "shutdown_grace = 5",
            "node.toml: line 1: shutdown_grace: it must be a duration in quotes",
        ),
        (
            "shutdown_grace = \"5\"",
            "node.toml: line 1: shutdown_grace: `5` is no duration: write a whole number and its unit",
        ),
        ("api = 3", "node.toml: line 1: `api` is a table; write [api] and its keys below"),
        ("\n[apj]", "node.toml: line 2: there is no setting `apj`"),
        (
            "[node]\na = 1",
            "node.toml: line 1: node: it must be a whole number from 0 up, not a table",
        ),
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
        ("cluster = \"\"", "node.toml: line 1: cluster: a cluster's name has 1 to 100 bytes"),
        (
            "limits.frame_bytes = 1",
            "node.toml: line 1: limits.frame_bytes: 1 is too small; at least 65536",
        ),
    ];
    assert_complaints(&cases, &VOTER);
    let said = complaint("insecure = \"yes\"", &[], None);
    assert!(
        said.starts_with("node.toml: line 1: insecure: it must be true or false, not the text"),
        "{said}"
    );
    let said = complaint("", &[("SKEPTRON_NODE", "two")], None);
    assert!(
        said.starts_with(
            "SKEPTRON_NODE: it must be a whole number from 0 up, not the text \"two\""
        ),
        "{said}"
    );
    let said = complaint("", &[("SKEPTRON_API_LAB", "yes")], None);
    assert_eq!(said, "SKEPTRON_API_LAB: it must be true or false, not the text \"yes\"");
    let said = complaint("", &[("SKEPTRON_PREFIX", "orders/")], None);
    assert!(
        said.starts_with("SKEPTRON_PREFIX: `orders/` is no prefix with its algorithm"),
        "{said}"
    );
}

#[test]
fn a_variable_that_is_no_setting_is_noticed() {
    let names = ["PATH", "SKEPTRON_LOCK", "SKEPTRON_NODE", "SKEPTRON_PREFIX", "SKEPTRON_API_LISTN"];
    let said = mistakes::misspelt(names.into_iter().map(str::to_string));
    let expected = "SKEPTRON_API_LISTN is no setting of a node; did you mean `api.listen`?";
    assert_eq!(said, [expected]);
}

#[test]
fn what_is_printed_can_be_read_again_and_tells_no_secret() {
    let text = "cluster = \"a \\\" b\"\napi.token = \"geheim\"\napi.listen = []\n[[prefix]]\n\
                prefix = \"x\"\nalgorithm = \"raymond\"\n";
    let folder = TempDir::new().unwrap();
    let settings = load(&folder, text, &[]).unwrap();
    let mut printed = Vec::new();
    print::print(&settings, &mut printed).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    assert!(!printed.contains("geheim"), "{printed}");
    let again = load(&folder, &printed, &[]).unwrap();
    let value = |loaded: &Loaded, key| Some(toml::Value::try_from(loaded.value(key)?).unwrap());
    let keys = Settings::fields().into_iter().map(|field| field.key).chain(["prefix"]);
    for key in keys.filter(|key| *key != "api.token") {
        assert_eq!(value(&again, key), value(&settings, key), "{key}");
    }
}

/// As `docs/configuration.md` has them.
fn documented() -> String {
    let row = |(field, about): (&Field, String)| {
        let default = match &field.default {
            None => "–".to_string(),
            Some(value) => match value.as_str() {
                Some(text) => format!("`{text}`"),
                None => format!("`{}`", toml::Value::try_from(value).unwrap()),
            },
        };
        format!("| `{}` | {default} | `{}` | {about} |\n", field.key, field.variable())
    };
    let head = "| setting | default | variable | what it is |\n|---|---|---|---|\n";
    let fields = Settings::fields();
    head.to_string() + &fields.iter().zip(Settings::about()).map(row).collect::<String>()
}

#[test]
fn the_documentation_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = fs::read_to_string(path).unwrap();
    let expected = documented();
    assert!(page.contains(&expected), "docs/configuration.md should have\n\n{expected}");
    for (list, fields) in Settings::lists() {
        for field in fields {
            let name = field.key.strip_prefix(list).and_then(|key| key.strip_prefix('.')).unwrap();
            assert!(page.contains(&format!("`{name}`")), "{}", field.key);
        }
    }
}

#[test]
fn views_may_be_kept_in_etcd() {
    let folder = TempDir::new().unwrap();
    let text = "views = 'etcd'\naddress = '127.0.0.1:7570'\ninsecure = true\n\
                etcd.endpoints = ['http://127.0.0.1:2379']";
    let settings = load(&folder, text, &[]).unwrap();
    let configured = Configured::new(&settings, None).unwrap();
    let Membership::Etcd(config) = &configured.node.membership else {
        panic!("etcd was asked for")
    };
    assert_eq!(config.endpoints, ["http://127.0.0.1:2379"]);
    assert_eq!(config.prefix, "/skeptron");
    for (text, expected) in [
        ("views = 'etcd'\ninsecure = true", "address: give the `address`"),
        ("views = 'raft'", "node.toml: line 1: views: `raft` is none of voters, etcd"),
        ("views = 'etcd'\naddress = '127.0.0.1:1'\ninsecure = true", "etcd.endpoints"),
    ] {
        let said = complaint(text, &[], None);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn clients_of_etcd_are_answered_where_it_is_said() {
    let folder = TempDir::new().unwrap();
    let voter = "voters = ['127.0.0.1:7570']\ndata = 'd'\ninsecure = true\n";
    let etcd = |text: &str, variables: &[(&str, &str)]| {
        let settings = load(&folder, &format!("{voter}{text}"), variables).unwrap();
        Configured::new(&settings, None).unwrap().etcd
    };
    assert_eq!(etcd("", &[]), [""; 0]);
    assert_eq!(etcd("api.etcd = true", &[]), ["127.0.0.1:2379"]);
    assert_eq!(etcd("api.etcd = ['127.0.0.1:1', '[::1]:2']", &[]), ["127.0.0.1:1", "[::1]:2"]);
    assert_eq!(etcd("api.etcd = true", &[("SKEPTRON_API_ETCD", "false")]), [""; 0]);
    assert_eq!(etcd("", &[("SKEPTRON_API_ETCD", "true")]), ["127.0.0.1:2379"]);
    assert_eq!(etcd("", &[("SKEPTRON_API_ETCD", "127.0.0.1:1")]), ["127.0.0.1:1"]);
    let said = format!("{:#}", load(&folder, "api.etcd = 2379", &[]).unwrap_err());
    assert!(said.contains("true, false, or a list"), "{said}");
}

#[test]
fn roles_are_read_and_their_mistakes_named() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("boss.token"), "geheim\n").unwrap();
    let text = "[[api.roles]]\nname = 'web'\ncertificate = 'ci'\nlock = ['deploy/']\nlist = ['*']\n\
                [[api.roles]]\nname = 'boss'\ntoken_file = 'boss.token'\nadmin = true\n";
    let settings = load(&folder, text, &VOTER).unwrap();
    let roles = Configured::new(&settings, None).unwrap().api.roles;
    assert_eq!((roles[0].name.as_str(), roles[0].certificate.as_deref()), ("web", Some("ci")));
    assert_eq!(
        (&roles[0].lock[..], &roles[0].list[..], roles[0].admin),
        (&["deploy/".to_string()][..], &["*".to_string()][..], false)
    );
    assert_eq!((roles[1].token.as_deref(), roles[1].admin), (Some("geheim"), true));
    let mut printed = Vec::new();
    print::print(&settings, &mut printed).unwrap();
    let again = load(&folder, &String::from_utf8(printed).unwrap(), &VOTER).unwrap();
    assert_eq!(Configured::new(&again, None).unwrap().api.roles, roles);
    let cases = [
        ("api.roles = 3", "node.toml: line 1: `api.roles` is a table; write [[api.roles]]"),
        ("[[api.roles]]\ntoken = 'a'", "node.toml: line 1: this [[api.roles]] lacks its `name`"),
        ("[[api.roles]]\nname = 'a'", "node.toml: line 1: nobody can have the role `a`"),
        ("[[api.roles]]\nnam = 'a'", "node.toml: line 2: a [[api.roles]] has no `nam`"),
        (
            "[[api.roles]]\nname = 'a'\nlock = 'b'",
            "node.toml: line 3: api.roles.lock: it must be a list",
        ),
        (
            "[[api.roles]]\nname = 'a/b'\ntoken = 't'",
            "node.toml: line 1: `a/b`: the name of a role",
        ),
        (
            "[[api.roles]]\nname = 'a'\ntoken = 't'\n[[api.roles]]\nname = 'b'\ntoken = 't'",
            "node.toml: line 4: `b` is known by the same token",
        ),
        ("tls.crl = 'crl.pem'", "node.toml: line 1: tls.crl: "),
    ];
    assert_complaints(&cases, &VOTER);
}
