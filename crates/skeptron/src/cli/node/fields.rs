//! Every setting of a node: its key, what it takes, its default and what it is for. The file, the
//! environment, `--print-config` and the documentation all go by these tables.

use std::collections::BTreeMap;

use figment::value::Value;
use serde::Deserialize;
use skeptron_net::api::ApiConfig;
use skeptron_net::{Deadlocks, LeaseSettings, Limits, Pace, Plan};

use super::super::duration::written;
use super::super::logs::Format;
use super::kinds::{Addresses, Deciders, Kind, Secret, Time};

/// One setting.
pub(super) struct Field {
    /// Where it stands in the file: `api.listen` is `listen` in the table `[api]`.
    pub(super) key: &'static str,
    /// What it takes, for an error.
    pub(super) takes: &'static str,
    /// Whether it is never shown.
    pub(super) is_secret: bool,
    /// What it is if nobody says anything; none if it is nothing then.
    pub(super) default: Option<Value>,
    of_variable: fn(&str) -> Value,
}

impl Field {
    fn new<K: Kind>(key: &'static str) -> Self {
        let (takes, is_secret) = (K::TAKES, K::IS_SECRET);
        Field { key, takes, is_secret, default: None, of_variable: K::of_variable }
    }

    fn or(self, default: impl Into<Value>) -> Self {
        Field { default: Some(default.into()), ..self }
    }

    /// The environment variable that overrides the file.
    pub(super) fn variable(&self) -> String {
        format!("SKEPTRON_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// What a text in that variable means.
    pub(super) fn of_variable(&self, text: &str) -> Value {
        (self.of_variable)(text)
    }
}

/// A table of settings.
pub(super) trait Table {
    /// Its settings and those of the tables within, without lists.
    fn fields() -> Vec<Field>;

    /// The lists of tables in it, each with the settings of one of its tables.
    fn lists() -> Vec<(&'static str, Vec<Field>)>;

    /// What each of them is for.
    #[cfg(test)]
    fn about() -> Vec<String>;
}

/// Declares tables: for each setting what it is for and `key: type = default;`, then the tables within, then
/// the lists of tables. A setting of a list has no default.
macro_rules! tables {
    ($(
        struct $table:ident in $outer:literal {
            $( $(#[doc = $about:literal])+ $name:ident: $kind:ty $(= $default:expr)?; )+
        }
        $( tables { $( $inner:ident: $type:ident, )+ } )?
        $( lists { $( $list:ident: $element:ident, )+ } )?
    )+) => { $(
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $table {
            $( $(#[doc = $about])+ pub(super) $name: $kind, )+
            $( $( pub(super) $inner: $type, )+ )?
            $( $( #[serde(default)] pub(super) $list: BTreeMap<String, $element>, )+ )?
        }

        impl Table for $table {
            fn fields() -> Vec<Field> {
                let own = vec![ $(
                    Field::new::<$kind>(concat!($outer, stringify!($name)))$(.or($default))?,
                )+ ];
                [own, $( $( $type::fields(), )+ )?].into_iter().flatten().collect()
            }

            fn lists() -> Vec<(&'static str, Vec<Field>)> {
                let own =
                    vec![ $( $( (concat!($outer, stringify!($list)), $element::fields()), )+ )? ];
                [own, $( $( $type::lists(), )+ )?].into_iter().flatten().collect()
            }

            #[cfg(test)]
            fn about() -> Vec<String> {
                let own = vec![ $( [$($about.trim()),+].join(" "), )+ ];
                [own, $( $( $type::about(), )+ )?].concat()
            }
        }
    )+ };
}

tables! {
    struct Settings in "" {
        /// The cluster's name; nodes of another one are refused
        cluster: String = "skeptron";
        /// Which member this is, counted from 1
        node: u32 = 1;
        /// Who decides who belongs to the cluster: `voters` among the nodes, or an `etcd` cluster that exists
        views: Deciders = "voters";
        /// Where the voters are, `HOST:PORT`, P1 first, or with a number as in `7=10.0.0.7:7570`: 1, 3 or 5
        /// members that decide who belongs to the cluster
        voters: Option<Vec<String>>;
        /// Where the others find this node, `HOST:PORT`; without it, its place among the voters
        address: Option<String>;
        /// Where this node listens for the others; without it, its address
        listen: Option<String>;
        /// The folder in which a voter keeps its log; a member without it cannot become a voter
        data: Option<String>;
        /// Plain TCP between nodes, which is for one machine only; also `--insecure`
        insecure: bool = false;
        /// The algorithm that guards the locks
        algorithm: String = Plan::DEFAULT;
        /// How many more of those who wait at this node get a lock in one turn of the node; 0: nodes take
        /// turns, not clients
        handovers: u32 = 64;
        /// What becomes of sessions that wait for each other for ever: report, in log, metrics and events, or
        /// refuse-youngest, which ends the wait that began last
        deadlocks: Deadlocks = "report";
        /// How long a node that is told to end waits for locks that are held at it
        shutdown_grace: Time = "10s";
    }
    tables {
        lease: LeaseTable,
        etcd: EtcdTable,
        tls: TlsTable,
        pace: PaceTable,
        log: LogTable,
        api: ApiTable,
        limits: LimitsTable,
    }
    lists { prefix: Prefix, }

    struct LeaseTable in "lease." {
        /// How long a member that is not heard of counts as alive, in a cluster that begins with `--init`;
        /// later `skeptron voters lease` changes it
        length: Time = written(LeaseSettings::default().lease);
        /// By how much a clock may run too fast or too slow, in parts per million, likewise
        drift_ppm: u32 = LeaseSettings::default().drift.ppm;
    }

    struct EtcdTable in "etcd." {
        /// With `views = "etcd"`: where etcd serves clients, `http://HOST:PORT` or `https://HOST:PORT`
        endpoints: Option<Vec<String>>;
        /// What all keys in etcd begin with
        prefix: String = "/skeptron";
    }
    tables { tls: EtcdTlsTable, }

    struct EtcdTlsTable in "etcd.tls." {
        /// For `https`: the certificate of etcd's authority, PEM
        authority: Option<String>;
        /// For `https`: the certificate that etcd wants to see, PEM
        certificate: Option<String>;
        /// For `https`: that certificate's key, PEM
        key: Option<String>;
    }

    struct TlsTable in "tls." {
        /// The folder with `ca.pem`, `node-K.pem` and `node-K.key` that `skeptron tls init` made
        folder: Option<String>;
        /// Instead of the folder: the authority's certificate, PEM
        authority: Option<String>;
        /// Instead of the folder: this node's certificate, PEM
        certificate: Option<String>;
        /// Instead of the folder: the certificate's key, PEM
        key: Option<String>;
        /// The authority's list of revoked certificates, PEM; without it, `crl.pem` of the folder if there is
        /// one
        crl: Option<String>;
    }

    struct PaceTable in "pace." {
        /// How long an idle token rests at first
        first: Time = written(Pace::default().first);
        /// How long an idle token rests at most
        longest: Time = written(Pace::default().longest);
    }

    struct LogTable in "log." {
        /// Which logs to write: `error`, `warn`, `info`, `debug`, `trace`, or by module as in
        /// `info,skeptron_net::link=debug`
        level: String = "info";
        /// How logs look: `text` or `json`
        format: Format = "text";
        /// A file to which what administrators do and what is refused is appended, too, as JSON
        audit: Option<String>;
    }

    struct ApiTable in "api." {
        /// Where clients are answered, `HOST:PORT`; `[]` for nowhere
        listen: Vec<String> = ApiConfig::default().listen;
        /// Where clients reach this node, `HOST:PORT` or `https://HOST:PORT`, as clients of the others are
        /// told; without it, where it listens
        advertise: Option<Vec<String>>;
        /// Where clients of etcd are answered in its protocol (leases, locks, elections), `["HOST:PORT"]`;
        /// `true` is `127.0.0.1:2379`
        etcd: Addresses = false;
        /// A Unix socket at which clients are answered, too
        unix: Option<String>;
        /// Whoever shows this token is let in
        token: Option<Secret>;
        /// The file with the token
        token_file: Option<String>;
        /// Clients are answered over TLS, and whoever shows a certificate is let in
        tls: bool = false;
        /// The shortest TTL of a session
        ttl_shortest: Time = written(ApiConfig::default().ttl.0);
        /// The longest TTL of a session
        ttl_longest: Time = written(ApiConfig::default().ttl.1);
        /// Sessions at most
        sessions: usize = ApiConfig::default().sessions;
        /// Connections of clients at most
        connections: usize = ApiConfig::default().connections;
        /// Connections of one client at most; 0 for no limit
        quota_connections: usize = 0;
        /// Connections from one address at most; 0 for no limit
        quota_address_connections: usize = 0;
        /// Sessions of one client at most; 0 for no limit
        quota_sessions: usize = 0;
        /// Acquires of one client that wait at most; 0 for no limit
        quota_waiters: usize = 0;
        /// Lock names that one client holds or waits for at most; 0 for no limit
        quota_names: usize = 0;
        /// Observers of elections of one client at most; 0 for no limit
        quota_observers: usize = 0;
        /// Whether the web page that shows the cluster is served there, too, at `/`
        lab: bool = true;
    }
    lists { roles: RoleTable, }

    struct LimitsTable in "limits." {
        /// Lock names that the node knows at most
        locks: usize = Limits::default().locks;
        /// Waiters for one lock at most
        waiters: usize = Limits::default().waiters;
        /// The largest frame between two nodes
        frame_bytes: usize = Limits::default().frame_bytes;
        /// A lock that needs a member which has so much left to acknowledge begins no new request
        congested_bytes: usize = Limits::default().congested_bytes;
        /// A member is not listened to while it has so much left to acknowledge
        resend_bytes: usize = Limits::default().resend_bytes;
        /// The shortest wait before a member is connected to again
        backoff_first: Time = written(Limits::default().backoff_first);
        /// The longest wait before a member is connected to again
        backoff_longest: Time = written(Limits::default().backoff_longest);
        /// A member of which nothing is heard for so long is connected to anew
        silence: Time = written(Limits::default().silence);
    }

    struct Prefix in "prefix." {
        /// The algorithm for the locks whose names begin with `prefix`
        algorithm: String;
        /// How their names begin
        prefix: String;
    }

    struct RoleTable in "api.roles." {
        /// What audit logs call it
        name: String;
        /// Whoever shows this token has the role
        token: Option<Secret>;
        /// The file with the token
        token_file: Option<String>;
        /// Whoever shows a certificate of this name has the role
        certificate: Option<String>;
        /// The beginnings of the names of locks that it may take
        lock: Option<Vec<String>>;
        /// The beginnings of the names of locks that it may see
        list: Option<Vec<String>>;
        /// Whether it administers the cluster
        admin: Option<bool>;
    }
}
