//! From settings to what a node and its API are started with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use skeptron_net::api::{ApiConfig, Quota};
use skeptron_net::tls::Identity;
use skeptron_net::{
    Config, ConfigError, Deadlocks, Drift, EtcdConfig, EtcdTls, Init, LeaseSettings, Limits,
    MemberId, Membership, Pace, Plan, Plans, Security, VoterConfig,
};
use tracing_subscriber::EnvFilter;

use super::super::logs::{self, Format};
use super::super::{duration, names};
use super::roles;
use super::settings::{Prefix, Settings};

/// Everything that a node is started with.
#[derive(Debug)]
pub(super) struct Configured {
    /// The node.
    pub(super) node: Config,
    /// Its API.
    pub(super) api: ApiConfig,
    /// Where it answers clients of etcd.
    pub(super) etcd: Vec<String>,
    /// Whether the API serves the page, too.
    pub(super) lab: bool,
    /// How long it waits for holders when it is told to end.
    pub(super) grace: Duration,
    /// Which logs it writes.
    pub(super) filter: EnvFilter,
    /// How they look.
    pub(super) format: Format,
    /// Where those for auditors are kept, too.
    pub(super) audit: Option<PathBuf>,
}

impl Configured {
    /// Checks the settings and reads the certificates. With an epoch a new cluster begins after it.
    ///
    /// # Errors
    /// With the place of what is wrong.
    pub(super) fn new(settings: &Settings, init_after: Option<u64>) -> Result<Self> {
        let Some(node) = MemberId::new(settings.number("node")?) else {
            bail!("{}: nodes are counted from 1", settings.place("node"))
        };
        let membership = membership(settings, node, init_after)?;
        let identity = with_revoked(settings, identity(settings, node)?)?;
        let level = settings.text("log.level").unwrap_or_default();
        let configured = Configured {
            api: api(settings, identity.as_ref())?,
            etcd: settings.addresses("api.etcd", skeptron_etcd_api::DEFAULT_ADDRESS),
            lab: settings.switch("api.lab")?,
            node: Config {
                cluster: settings.text("cluster").unwrap_or_default().to_string(),
                node,
                listen: settings.text("listen").map(str::to_string),
                security: security(settings, identity)?,
                plans: all_plans(settings)?,
                membership,
                handovers: settings.number("handovers")?,
                deadlocks: settings.word(
                    "deadlocks",
                    [("report", Deadlocks::Report), ("refuse-youngest", Deadlocks::RefuseYoungest)],
                )?,
                pace: pace(settings)?,
                limits: limits(settings)?,
                // The rest follows when it listens.
                api: settings.list("api.advertise"),
            },
            grace: settings.time("shutdown_grace")?,
            filter: logs::filter(level).with_context(|| settings.place("log.level"))?,
            format: settings
                .word("log.format", [("text", Format::Text), ("json", Format::Json)])?,
            audit: settings.path("log.audit"),
        };
        let fine = configured.node.check();
        fine.map_err(|error| anyhow!("{}: {error}", settings.place(key_of(&error))))?;
        Ok(configured)
    }
}

/// Which setting is to blame.
fn key_of(error: &ConfigError) -> &'static str {
    match error {
        ConfigError::ClusterName(_) => "cluster",
        ConfigError::Advertised(_) | ConfigError::ManyAdvertised { .. } => "api.advertise",
        ConfigError::PlainBeyondLoopback { .. }
        | ConfigError::SameAddress { .. }
        | ConfigError::NoVoters => "voters",
        ConfigError::NoMember { .. } | ConfigError::InitElsewhere { .. } => "node",
        ConfigError::WrongSize { .. } | ConfigError::PinnedLayout { .. } => "algorithm",
        ConfigError::TwoAddresses { .. } => "address",
        ConfigError::NoData { .. } => "data",
        ConfigError::LateEpoch { .. } => "--epoch-after",
        ConfigError::NoEndpoints | ConfigError::Endpoint(_) => "etcd.endpoints",
        ConfigError::NoEtcdAuthority(_) => "etcd.tls.authority",
    }
}

/// Who decides, and what this node is to them.
/// Who decides who belongs to the cluster.
#[derive(Clone, Copy)]
enum Deciders {
    Voters,
    Etcd,
}

fn membership(settings: &Settings, node: MemberId, init_after: Option<u64>) -> Result<Membership> {
    let deciders = [("voters", Deciders::Voters), ("etcd", Deciders::Etcd)];
    Ok(match settings.word("views", deciders)? {
        Deciders::Voters => Membership::Voters(voters(settings, node, init_after)?),
        Deciders::Etcd => {
            ensure!(
                init_after.is_none(),
                "--init: a cluster in etcd begins with its first node by itself"
            );
            Membership::Etcd(etcd(settings)?)
        }
    })
}

fn etcd(settings: &Settings) -> Result<EtcdConfig> {
    let Some(address) = settings.text("address") else {
        bail!("address: give the `address` at which the others find this node, HOST:PORT")
    };
    let [authority, certificate, key] =
        ["etcd.tls.authority", "etcd.tls.certificate", "etcd.tls.key"]
            .map(|key| settings.read(key));
    let own = match (certificate?, key?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => bail!("etcd.tls.certificate and etcd.tls.key are needed together"),
    };
    let tls = match (authority?, own) {
        (Some(authority), own) => Some(EtcdTls { authority, own }),
        (None, None) => None,
        (None, Some(_)) => bail!("etcd.tls.authority is needed with a certificate"),
    };
    Ok(EtcdConfig {
        address: host_and_port(address).with_context(|| settings.place("address"))?,
        endpoints: settings.list("etcd.endpoints"),
        tls,
        prefix: settings.text("etcd.prefix").unwrap_or_default().to_string(),
        lease: lease(settings)?,
    })
}

fn voters(settings: &Settings, node: MemberId, init_after: Option<u64>) -> Result<VoterConfig> {
    let at = || settings.place("voters");
    let mut voters = BTreeMap::new();
    for (place, text) in settings.list("voters").iter().enumerate() {
        let (id, address) = voter(place, text).with_context(at)?;
        if voters.insert(id, address).is_some() {
            bail!("{}: {id} is listed twice", at());
        }
    }
    ensure!(
        !voters.is_empty(),
        "no voters are named: list under `voters` the 1, 3 or 5 nodes that decide who belongs to the \
         cluster, as in voters = [\"10.0.0.1:7570\"]; `skeptron up` starts a cluster to try without any file"
    );
    let address = match (settings.text("address"), voters.get(&node)) {
        (Some(text), _) => host_and_port(text).with_context(|| settings.place("address"))?,
        (None, Some(listed)) => listed.clone(),
        (None, None) => bail!(
            "address: {node} is none of the voters, so they cannot know where it is: give its `address`, \
             HOST:PORT"
        ),
    };
    let lease = lease(settings)?;
    let init = init_after.map(|epoch_after| Init { lease, epoch_after });
    Ok(VoterConfig { address, voters, data: settings.path("data"), init })
}

fn lease(settings: &Settings) -> Result<LeaseSettings> {
    let lease = settings.time("lease.length")?;
    let (shortest, longest) = (LeaseSettings::SHORTEST, LeaseSettings::LONGEST);
    ensure!(
        (shortest..=longest).contains(&lease),
        "{}: it must be from {} to {}",
        settings.place("lease.length"),
        duration::written(shortest),
        duration::written(longest)
    );
    Ok(LeaseSettings { lease, drift: drift(settings)? })
}

fn drift(settings: &Settings) -> Result<Drift> {
    let ppm = settings.number("lease.drift_ppm")?;
    ensure!(
        ppm < 100_000,
        "{}: {ppm} is too large; below 100000",
        settings.place("lease.drift_ppm")
    );
    Ok(Drift { ppm })
}

/// `HOST:PORT`, whose place is its number, or `K=HOST:PORT`.
fn voter(place: usize, text: &str) -> Result<(MemberId, String)> {
    let Some((number, address)) = text.split_once('=') else {
        return Ok((MemberId::at(place), host_and_port(text)?));
    };
    Ok((names::member(number).with_context(|| format!("`{text}`"))?, host_and_port(address)?))
}

fn host_and_port(text: &str) -> Result<String> {
    let text = text.trim();
    let (host, port) = text.rsplit_once(':').unwrap_or_default();
    let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    ensure!(
        is_host && port.parse::<u16>().is_ok(),
        "`{text}` is no address; write HOST:PORT, as in 10.0.0.1:7570"
    );
    Ok(text.to_string())
}

/// From the folder, or from three files.
fn identity(settings: &Settings, node: MemberId) -> Result<Option<Identity>> {
    const FILES: [&str; 3] = ["tls.authority", "tls.certificate", "tls.key"];
    let given: Vec<&str> = FILES.into_iter().filter(|key| settings.text(key).is_some()).collect();
    match (settings.path("tls.folder"), given.len()) {
        (None, 0) => Ok(None),
        (Some(folder), 0) => {
            let name = format!("node-{}", node.number());
            let read = Identity::read(&folder, &name);
            Ok(Some(read.with_context(|| settings.place("tls.folder"))?))
        }
        (Some(_), _) => bail!(
            "{}: the folder has all certificates already; leave out one of the two",
            settings.place(given[0])
        ),
        (None, 3) => {
            let [authority, certificate, key] = FILES.map(|key| settings.read(key));
            // All three were given, so none is missing.
            let (authority, certificate, key) =
                (authority?.unwrap_or_default(), certificate?.unwrap_or_default(), key?);
            let key = key.unwrap_or_default();
            Ok(Some(Identity { authority, certificate, key, revoked: None }))
        }
        (None, _) => {
            bail!("{}: {} are needed together", settings.place(given[0]), FILES.join(", "))
        }
    }
}

/// With the list of revoked certificates that is named, if one is.
fn with_revoked(settings: &Settings, identity: Option<Identity>) -> Result<Option<Identity>> {
    match (settings.read("tls.crl")?, identity) {
        (Some(revoked), Some(identity)) => {
            Ok(Some(Identity { revoked: Some(revoked), ..identity }))
        }
        (Some(_), None) => bail!(
            "{}: there are no certificates; name their folder as tls.folder",
            settings.place("tls.crl")
        ),
        (None, identity) => Ok(identity),
    }
}

fn security(settings: &Settings, identity: Option<Identity>) -> Result<Security> {
    match (identity, settings.switch("insecure")?) {
        (Some(_), true) => bail!(
            "{}: there are certificates as well; leave out one of the two",
            settings.place("insecure")
        ),
        (Some(identity), false) => Ok(Security::Tls(identity)),
        (None, false) => bail!(
            "nodes prove to each other who they are: make certificates with `skeptron tls init` and \
             name their folder as tls.folder (for `join` --tls), or set insecure = true (--insecure) if \
             all are on this machine"
        ),
        (None, true) => Ok(Security::Insecure),
    }
}

/// Each view gets a layout of its own size.
fn all_plans(settings: &Settings) -> Result<Plans> {
    let named = |algorithm: &str| Ok(Plan::named(names::mutex(algorithm)?.name)?);
    let default: Result<Plan> = named(settings.text("algorithm").unwrap_or(Plan::DEFAULT));
    let mut plans = Plans::new(default.with_context(|| settings.place("algorithm"))?);
    for Prefix { values, origin } in &settings.prefixes {
        let value = |key: &str| values.get(key).map(String::as_str).unwrap_or_default();
        let plan = named(value("algorithm")).with_context(|| origin.to_string())?;
        plans = plans.with_prefix(value("prefix"), plan);
    }
    Ok(plans)
}

fn pace(settings: &Settings) -> Result<Pace> {
    let pace =
        Pace { first: settings.time("pace.first")?, longest: settings.time("pace.longest")? };
    ordered(settings, "pace.first", "pace.longest", pace.first <= pace.longest)?;
    Ok(pace)
}

fn limits(settings: &Settings) -> Result<Limits> {
    let limits = Limits {
        frame_bytes: settings.number("limits.frame_bytes")?,
        congested_bytes: settings.number("limits.congested_bytes")?,
        resend_bytes: settings.number("limits.resend_bytes")?,
        locks: settings.number("limits.locks")?,
        waiters: settings.number("limits.waiters")?,
        backoff_first: settings.time("limits.backoff_first")?,
        backoff_longest: settings.time("limits.backoff_longest")?,
        silence: settings.time("limits.silence")?,
    };
    let Limits { congested_bytes, resend_bytes, backoff_first, backoff_longest, .. } = limits;
    let (first, longest) = ("limits.backoff_first", "limits.backoff_longest");
    ordered(settings, first, longest, backoff_first <= backoff_longest)?;
    let (congested, resend) = ("limits.congested_bytes", "limits.resend_bytes");
    ordered(settings, congested, resend, congested_bytes <= resend_bytes)?;
    for (key, least) in
        [("limits.frame_bytes", 1 << 16), ("limits.locks", 1), ("limits.waiters", 1)]
    {
        at_least(settings, key, least)?;
    }
    ensure!(!limits.silence.is_zero(), "{}: it must be above 0", settings.place("limits.silence"));
    Ok(limits)
}

fn at_least(settings: &Settings, key: &str, least: u64) -> Result<()> {
    let number: u64 = settings.number(key)?;
    ensure!(number >= least, "{}: {number} is too small; at least {least}", settings.place(key));
    Ok(())
}

fn ordered(settings: &Settings, low: &str, high: &str, is_ordered: bool) -> Result<()> {
    ensure!(is_ordered, "{}: it is above {high}", settings.place(low));
    Ok(())
}

fn api(settings: &Settings, identity: Option<&Identity>) -> Result<ApiConfig> {
    let ttl = (settings.time("api.ttl_shortest")?, settings.time("api.ttl_longest")?);
    ordered(settings, "api.ttl_shortest", "api.ttl_longest", ttl.0 <= ttl.1)?;
    ensure!(!ttl.0.is_zero(), "{}: it must be above 0", settings.place("api.ttl_shortest"));
    let token = match (settings.text("api.token"), settings.read("api.token_file")?) {
        (Some(_), Some(_)) => bail!(
            "{}: there is an api.token as well; leave out one of the two",
            settings.place("api.token_file")
        ),
        (Some(token), None) => Some(token.to_string()),
        (None, from_file) => from_file,
    };
    let identity = match (settings.switch("api.tls")?, identity) {
        (false, _) => None,
        (true, Some(identity)) => Some(identity.clone()),
        (true, None) => bail!(
            "{}: there are no certificates; name their folder as tls.folder",
            settings.place("api.tls")
        ),
    };
    Ok(ApiConfig {
        listen: settings.list("api.listen"),
        advertise: settings.given_list("api.advertise"),
        unix: settings.path("api.unix"),
        token,
        identity,
        ttl,
        sessions: settings.number("api.sessions")?,
        connections: settings.number("api.connections")?,
        quota: quota(settings)?,
        roles: roles::all(settings)?,
    })
}

fn quota(settings: &Settings) -> Result<Quota> {
    let limit = |key: &str| {
        let most: usize = settings.number(key)?;
        Ok::<_, anyhow::Error>((most > 0).then_some(most))
    };
    Ok(Quota {
        connections: limit("api.quota_connections")?,
        address_connections: limit("api.quota_address_connections")?,
        sessions: limit("api.quota_sessions")?,
        waiters: limit("api.quota_waiters")?,
        names: limit("api.quota_names")?,
        observers: limit("api.quota_observers")?,
    })
}
