//! From settings to what a node and its API are started with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use skeptron_net::api::{ApiConfig, Quota};
use skeptron_net::tls::Identity;
use skeptron_net::{
    Config, ConfigError, Drift, EtcdConfig, EtcdTls, Init, LeaseSettings, Limits, MemberId,
    Membership, Pace, Plan, Plans, Security, VoterConfig,
};
use tracing_subscriber::EnvFilter;

use super::super::logs::{self, Format};
use super::super::{duration, names};
use super::fields::{EtcdTable, LeaseTable, PaceTable, Prefix};
use super::kinds::{Deciders, Secret, Time};
use super::roles;
use super::settings::Loaded;

/// Everything that a node is started with.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) node: Config,
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
    pub(super) fn new(loaded: &Loaded, init_after: Option<u64>) -> Result<Self> {
        let settings = &loaded.settings;
        let Some(node) = MemberId::new(settings.node) else {
            bail!("{}: nodes are counted from 1", loaded.place("node"))
        };
        let membership = membership(loaded, node, init_after)?;
        let identity = with_revoked(loaded, identity(loaded, node)?)?;
        let filter = logs::filter(&settings.log.level);
        let configured = Configured {
            api: api(loaded, identity.as_ref())?,
            etcd: settings.api.etcd.or_usual(skeptron_etcd_api::DEFAULT_ADDRESS),
            lab: settings.api.lab,
            node: Config {
                cluster: settings.cluster.clone(),
                node,
                listen: settings.listen.clone(),
                security: security(loaded, identity)?,
                plans: all_plans(loaded)?,
                membership,
                handovers: settings.handovers,
                deadlocks: settings.deadlocks,
                pace: pace(loaded)?,
                limits: limits(loaded)?,
                // The rest follows when it listens.
                api: settings.api.advertise.clone().unwrap_or_default(),
            },
            grace: settings.shutdown_grace.0,
            filter: filter.with_context(|| loaded.place("log.level"))?,
            format: settings.log.format,
            audit: loaded.path(&settings.log.audit),
        };
        let fine = configured.node.check();
        fine.map_err(|error| anyhow!("{}: {error}", loaded.place(key_of(&error))))?;
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

fn membership(loaded: &Loaded, node: MemberId, init_after: Option<u64>) -> Result<Membership> {
    Ok(match loaded.settings.views {
        Deciders::Voters => Membership::Voters(voters(loaded, node, init_after)?),
        Deciders::Etcd => {
            ensure!(
                init_after.is_none(),
                "--init: a cluster in etcd begins with its first node by itself"
            );
            Membership::Etcd(etcd(loaded)?)
        }
    })
}

fn etcd(loaded: &Loaded) -> Result<EtcdConfig> {
    let EtcdTable { endpoints, prefix, tls } = &loaded.settings.etcd;
    let Some(address) = &loaded.settings.address else {
        bail!("address: give the `address` at which the others find this node, HOST:PORT")
    };
    let authority = loaded.read("etcd.tls.authority", &tls.authority)?;
    let certificate = loaded.read("etcd.tls.certificate", &tls.certificate)?;
    let own = match (certificate, loaded.read("etcd.tls.key", &tls.key)?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => bail!("etcd.tls.certificate and etcd.tls.key are needed together"),
    };
    let tls = match (authority, own) {
        (Some(authority), own) => Some(EtcdTls { authority, own }),
        (None, None) => None,
        (None, Some(_)) => bail!("etcd.tls.authority is needed with a certificate"),
    };
    Ok(EtcdConfig {
        address: host_and_port(address).with_context(|| loaded.place("address"))?,
        endpoints: endpoints.clone().unwrap_or_default(),
        tls,
        prefix: prefix.clone(),
        lease: lease(loaded)?,
    })
}

fn voters(loaded: &Loaded, node: MemberId, init_after: Option<u64>) -> Result<VoterConfig> {
    let at = || loaded.place("voters");
    let settings = &loaded.settings;
    let mut voters = BTreeMap::new();
    for (place, text) in settings.voters.iter().flatten().enumerate() {
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
    let address = match (&settings.address, voters.get(&node)) {
        (Some(text), _) => host_and_port(text).with_context(|| loaded.place("address"))?,
        (None, Some(listed)) => listed.clone(),
        (None, None) => bail!(
            "address: {node} is none of the voters, so they cannot know where it is: give its `address`, \
             HOST:PORT"
        ),
    };
    let lease = lease(loaded)?;
    let init = init_after.map(|epoch_after| Init { lease, epoch_after });
    Ok(VoterConfig { address, voters, data: loaded.path(&settings.data), init })
}

fn lease(loaded: &Loaded) -> Result<LeaseSettings> {
    let LeaseTable { length: Time(lease), drift_ppm: ppm } = loaded.settings.lease;
    let (shortest, longest) = (LeaseSettings::SHORTEST, LeaseSettings::LONGEST);
    ensure!(
        (shortest..=longest).contains(&lease),
        "{}: it must be from {} to {}",
        loaded.place("lease.length"),
        duration::written(shortest),
        duration::written(longest)
    );
    ensure!(ppm < 100_000, "{}: {ppm} is too large; below 100000", loaded.place("lease.drift_ppm"));
    Ok(LeaseSettings { lease, drift: Drift { ppm } })
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
fn identity(loaded: &Loaded, node: MemberId) -> Result<Option<Identity>> {
    let tls = &loaded.settings.tls;
    let files = [
        ("tls.authority", &tls.authority),
        ("tls.certificate", &tls.certificate),
        ("tls.key", &tls.key),
    ];
    let given = files.iter().find(|(_, name)| name.is_some());
    match (loaded.path(&tls.folder), given) {
        (None, None) => Ok(None),
        (Some(folder), None) => {
            let name = format!("node-{}", node.number());
            let read = Identity::read(&folder, &name);
            Ok(Some(read.with_context(|| loaded.place("tls.folder"))?))
        }
        (Some(_), Some((key, _))) => bail!(
            "{}: the folder has all certificates already; leave out one of the two",
            loaded.place(key)
        ),
        (None, Some((given, _))) => {
            let (at, all) = (loaded.place(given), files.map(|(key, _)| key).join(", "));
            let together = || anyhow!("{at}: {all} are needed together");
            ensure!(files.iter().all(|(_, name)| name.is_some()), together());
            let [authority, certificate, key] =
                files.map(|(key, name)| loaded.read(key, name)?.ok_or_else(together));
            let (authority, certificate, key) = (authority?, certificate?, key?);
            Ok(Some(Identity { authority, certificate, key, revoked: None }))
        }
    }
}

/// With the list of revoked certificates that is named, if one is.
fn with_revoked(loaded: &Loaded, identity: Option<Identity>) -> Result<Option<Identity>> {
    match (loaded.read("tls.crl", &loaded.settings.tls.crl)?, identity) {
        (Some(revoked), Some(identity)) => {
            Ok(Some(Identity { revoked: Some(revoked), ..identity }))
        }
        (Some(_), None) => bail!(
            "{}: there are no certificates; name their folder as tls.folder",
            loaded.place("tls.crl")
        ),
        (None, identity) => Ok(identity),
    }
}

fn security(loaded: &Loaded, identity: Option<Identity>) -> Result<Security> {
    match (identity, loaded.settings.insecure) {
        (Some(_), true) => bail!(
            "{}: there are certificates as well; leave out one of the two",
            loaded.place("insecure")
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
fn all_plans(loaded: &Loaded) -> Result<Plans> {
    let named = |algorithm: &str| Ok(Plan::named(names::mutex(algorithm)?.name)?);
    let default: Result<Plan> = named(&loaded.settings.algorithm);
    let mut plans = Plans::new(default.with_context(|| loaded.place("algorithm"))?);
    for (place, Prefix { algorithm, prefix }) in &loaded.settings.prefix {
        let origin = || loaded.origin(&format!("prefix.{place}")).to_string();
        plans = plans.with_prefix(prefix, named(algorithm).with_context(origin)?);
    }
    Ok(plans)
}

fn pace(loaded: &Loaded) -> Result<Pace> {
    let PaceTable { first: Time(first), longest: Time(longest) } = loaded.settings.pace;
    ordered(loaded, "pace.first", "pace.longest", first <= longest)?;
    Ok(Pace { first, longest })
}

fn limits(loaded: &Loaded) -> Result<Limits> {
    let table = &loaded.settings.limits;
    let limits = Limits {
        frame_bytes: table.frame_bytes,
        congested_bytes: table.congested_bytes,
        resend_bytes: table.resend_bytes,
        locks: table.locks,
        waiters: table.waiters,
        backoff_first: table.backoff_first.0,
        backoff_longest: table.backoff_longest.0,
        silence: table.silence.0,
    };
    let Limits { congested_bytes, resend_bytes, backoff_first, backoff_longest, .. } = limits;
    let (first, longest) = ("limits.backoff_first", "limits.backoff_longest");
    ordered(loaded, first, longest, backoff_first <= backoff_longest)?;
    let (congested, resend) = ("limits.congested_bytes", "limits.resend_bytes");
    ordered(loaded, congested, resend, congested_bytes <= resend_bytes)?;
    for (key, number, least) in [
        ("limits.frame_bytes", limits.frame_bytes, 1 << 16),
        ("limits.locks", limits.locks, 1),
        ("limits.waiters", limits.waiters, 1),
    ] {
        ensure!(number >= least, "{}: {number} is too small; at least {least}", loaded.place(key));
    }
    above_zero(loaded, "limits.silence", limits.silence)?;
    Ok(limits)
}

fn above_zero(loaded: &Loaded, key: &str, time: Duration) -> Result<()> {
    ensure!(!time.is_zero(), "{}: it must be above 0", loaded.place(key));
    Ok(())
}

fn ordered(loaded: &Loaded, low: &str, high: &str, is_ordered: bool) -> Result<()> {
    ensure!(is_ordered, "{}: it is above {high}", loaded.place(low));
    Ok(())
}

fn api(loaded: &Loaded, identity: Option<&Identity>) -> Result<ApiConfig> {
    let table = &loaded.settings.api;
    let ttl = (table.ttl_shortest.0, table.ttl_longest.0);
    ordered(loaded, "api.ttl_shortest", "api.ttl_longest", ttl.0 <= ttl.1)?;
    above_zero(loaded, "api.ttl_shortest", ttl.0)?;
    let token = match (&table.token, loaded.read("api.token_file", &table.token_file)?) {
        (Some(_), Some(_)) => bail!(
            "{}: there is an api.token as well; leave out one of the two",
            loaded.place("api.token_file")
        ),
        (Some(Secret(token)), None) => Some(token.clone()),
        (None, from_file) => from_file,
    };
    let identity = match (table.tls, identity) {
        (false, _) => None,
        (true, Some(identity)) => Some(identity.clone()),
        (true, None) => bail!(
            "{}: there are no certificates; name their folder as tls.folder",
            loaded.place("api.tls")
        ),
    };
    let quota = |most: usize| (most > 0).then_some(most);
    Ok(ApiConfig {
        listen: table.listen.clone(),
        advertise: table.advertise.clone(),
        unix: loaded.path(&table.unix),
        token,
        identity,
        ttl,
        sessions: table.sessions,
        connections: table.connections,
        quota: Quota {
            connections: quota(table.quota_connections),
            address_connections: quota(table.quota_address_connections),
            sessions: quota(table.quota_sessions),
            waiters: quota(table.quota_waiters),
            names: quota(table.quota_names),
            observers: quota(table.quota_observers),
        },
        roles: roles::all(loaded)?,
    })
}
