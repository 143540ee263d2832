//! Every setting of a node: its key, what it takes, its default and what it is for. The file, the
//! environment, `--print-config` and the documentation all go by this list.

use skeptron_net::api::ApiConfig;
use skeptron_net::{LeaseSettings, Limits, Pace, Plan};

use super::super::duration::written;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Where it stands in the file: `api.listen` is `listen` in the table `[api]`.
    pub(super) key: &'static str,
    /// What it takes.
    pub(super) kind: Kind,
    /// What it is if nobody says anything; none if it is nothing then.
    pub(super) default: Option<Raw>,
    /// What it is for; for one without a default also what happens then.
    pub(super) about: &'static str,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text.
    Text,
    /// Text that is never shown.
    Secret,
    /// Texts.
    List,
    /// A whole number.
    Number,
    /// A duration.
    Time,
    /// True or false.
    Switch,
    /// Addresses, or true for the usual one, or false for none.
    Addresses,
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    /// One.
    One(String),
    /// Those of a list.
    Many(Vec<String>),
}

impl Field {
    /// The environment variable that overrides the file.
    pub(super) fn variable(&self) -> String {
        format!("SKEPTRON_{}", self.key.replace('.', "_").to_uppercase())
    }
}

fn field(key: &'static str, kind: Kind, default: impl ToString, about: &'static str) -> Field {
    let default = match (kind, default.to_string()) {
        (_, nothing) if nothing.is_empty() => None,
        (Kind::List, one) => Some(Raw::Many(vec![one])),
        (_, one) => Some(Raw::One(one)),
    };
    Field { key, kind, default, about }
}

/// What to do instead of a setting that former versions had.
pub(super) fn former(key: &str) -> Option<&'static str> {
    match key {
        "members" => Some(
            "members come and go now: list under `voters` the 1, 3 or 5 that decide about that, set \
             `data`, and begin the cluster once with `skeptron node --init`",
        ),
        "coordinator" | "quorum" | "structure" | "tree" | "graph" | "arbitration" => Some(
            "the number of members changes, so each view gets a layout of its own size: leave it out",
        ),
        _ => None,
    }
}

/// All settings, in the order in which they are explained.
pub(super) fn all() -> Vec<Field> {
    let mut fields = basics();
    fields.extend(behaviour());
    fields.extend(api());
    fields.extend(limits());
    fields
}

fn basics() -> Vec<Field> {
    use Kind::{List, Number, Switch, Text, Time};
    let lease = LeaseSettings::default();
    vec![
        field("cluster", Text, "skeptron", "The cluster's name; nodes of another one are refused"),
        field("node", Number, 1, "Which member this is, counted from 1"),
        field(
            "views",
            Text,
            "voters",
            "Who decides who belongs to the cluster: `voters` among the nodes, or an `etcd` cluster that exists",
        ),
        field(
            "voters",
            List,
            "",
            "Where the voters are, `HOST:PORT`, P1 first, or with a number as in `7=10.0.0.7:7570`: 1, 3 or \
             5 members that decide who belongs to the cluster",
        ),
        field(
            "address",
            Text,
            "",
            "Where the others find this node, `HOST:PORT`; without it, its place among the voters",
        ),
        field(
            "listen",
            Text,
            "",
            "Where this node listens for the others; without it, its address",
        ),
        field(
            "data",
            Text,
            "",
            "The folder in which a voter keeps its log; a member without it cannot become a voter",
        ),
        field(
            "lease.length",
            Time,
            written(lease.lease),
            "How long a member that is not heard of counts as alive, in a cluster that begins with \
             `--init`; later `skeptron voters lease` changes it",
        ),
        field(
            "lease.drift_ppm",
            Number,
            lease.drift.ppm,
            "By how much a clock may run too fast or too slow, in parts per million, likewise",
        ),
        field(
            "etcd.endpoints",
            List,
            "",
            "With `views = \"etcd\"`: where etcd serves clients, `http://HOST:PORT` or `https://HOST:PORT`",
        ),
        field("etcd.prefix", Text, "/skeptron", "What all keys in etcd begin with"),
        field(
            "etcd.tls.authority",
            Text,
            "",
            "For `https`: the certificate of etcd's authority, PEM",
        ),
        field(
            "etcd.tls.certificate",
            Text,
            "",
            "For `https`: the certificate that etcd wants to see, PEM",
        ),
        field("etcd.tls.key", Text, "", "For `https`: that certificate's key, PEM"),
        field(
            "insecure",
            Switch,
            false,
            "Plain TCP between nodes, which is for one machine only; also `--insecure`",
        ),
        field(
            "tls.folder",
            Text,
            "",
            "The folder with `ca.pem`, `node-K.pem` and `node-K.key` that `skeptron tls init` made",
        ),
        field("tls.authority", Text, "", "Instead of the folder: the authority's certificate, PEM"),
        field("tls.certificate", Text, "", "Instead of the folder: this node's certificate, PEM"),
        field("tls.key", Text, "", "Instead of the folder: the certificate's key, PEM"),
        field(
            "tls.crl",
            Text,
            "",
            "The authority's list of revoked certificates, PEM; without it, `crl.pem` of the folder if there \
             is one",
        ),
    ]
}

fn behaviour() -> Vec<Field> {
    use Kind::{Number, Text, Time};
    let pace = Pace::default();
    vec![
        field("algorithm", Text, Plan::DEFAULT, "The algorithm that guards the locks"),
        field(
            "handovers",
            Number,
            64,
            "How many more of those who wait at this node get a lock in one turn of the node; 0: nodes take turns, not clients",
        ),
        field(
            "deadlocks",
            Text,
            "report",
            "What becomes of sessions that wait for each other for ever: report, in log, metrics and events, or refuse-youngest, which ends the wait that began last",
        ),
        field("pace.first", Time, written(pace.first), "How long an idle token rests at first"),
        field("pace.longest", Time, written(pace.longest), "How long an idle token rests at most"),
        field(
            "shutdown_grace",
            Time,
            "10s",
            "How long a node that is told to end waits for locks that are held at it",
        ),
        field(
            "log.level",
            Text,
            "info",
            "Which logs to write: `error`, `warn`, `info`, `debug`, `trace`, or by module as in \
             `info,skeptron_net::link=debug`",
        ),
        field("log.format", Text, "text", "How logs look: `text` or `json`"),
        field(
            "log.audit",
            Text,
            "",
            "A file to which what administrators do and what is refused is appended, too, as JSON",
        ),
    ]
}

fn api() -> Vec<Field> {
    use Kind::{Addresses, List, Number, Secret, Switch, Text, Time};
    let api = ApiConfig::default();
    let (shortest, longest) = api.ttl;
    vec![
        field(
            "api.listen",
            List,
            api.listen.join(","),
            "Where clients are answered, `HOST:PORT`; `[]` for nowhere",
        ),
        field(
            "api.advertise",
            List,
            "",
            "Where clients reach this node, `HOST:PORT` or `https://HOST:PORT`, as clients of the others are \
             told; without it, where it listens",
        ),
        field(
            "api.etcd",
            Addresses,
            false,
            "Where clients of etcd are answered in its protocol (leases, locks, elections), `[\"HOST:PORT\"]`; \
             `true` is `127.0.0.1:2379`",
        ),
        field("api.unix", Text, "", "A Unix socket at which clients are answered, too"),
        field("api.token", Secret, "", "Whoever shows this token is let in"),
        field("api.token_file", Text, "", "The file with the token"),
        field(
            "api.tls",
            Switch,
            false,
            "Clients are answered over TLS, and whoever shows a certificate is let in",
        ),
        field("api.ttl_shortest", Time, written(shortest), "The shortest TTL of a session"),
        field("api.ttl_longest", Time, written(longest), "The longest TTL of a session"),
        field("api.sessions", Number, api.sessions, "Sessions at most"),
        field("api.connections", Number, api.connections, "Connections of clients at most"),
        field(
            "api.quota_connections",
            Number,
            0,
            "Connections of one client at most; 0 for no limit",
        ),
        field(
            "api.quota_address_connections",
            Number,
            0,
            "Connections from one address at most; 0 for no limit",
        ),
        field("api.quota_sessions", Number, 0, "Sessions of one client at most; 0 for no limit"),
        field(
            "api.quota_waiters",
            Number,
            0,
            "Acquires of one client that wait at most; 0 for no limit",
        ),
        field(
            "api.quota_names",
            Number,
            0,
            "Lock names that one client holds or waits for at most; 0 for no limit",
        ),
        field(
            "api.quota_observers",
            Number,
            0,
            "Observers of elections of one client at most; 0 for no limit",
        ),
        field(
            "api.lab",
            Switch,
            true,
            "Whether the web page that shows the cluster is served there, too, at `/`",
        ),
    ]
}

fn limits() -> Vec<Field> {
    use Kind::{Number, Time};
    let limits = Limits::default();
    vec![
        field("limits.locks", Number, limits.locks, "Lock names that the node knows at most"),
        field("limits.waiters", Number, limits.waiters, "Waiters for one lock at most"),
        field(
            "limits.frame_bytes",
            Number,
            limits.frame_bytes,
            "The largest frame between two nodes",
        ),
        field(
            "limits.congested_bytes",
            Number,
            limits.congested_bytes,
            "A lock that needs a member which has so much left to acknowledge begins no new request",
        ),
        field(
            "limits.resend_bytes",
            Number,
            limits.resend_bytes,
            "A member is not listened to while it has so much left to acknowledge",
        ),
        field(
            "limits.backoff_first",
            Time,
            written(limits.backoff_first),
            "The shortest wait before a member is connected to again",
        ),
        field(
            "limits.backoff_longest",
            Time,
            written(limits.backoff_longest),
            "The longest wait before a member is connected to again",
        ),
        field(
            "limits.silence",
            Time,
            written(limits.silence),
            "A member of which nothing is heard for so long is connected to anew",
        ),
    ]
}
