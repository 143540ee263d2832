//! From settings to what a node and its API are started with.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use skeptron_net::api::ApiConfig;
use skeptron_net::tls::Identity;
use skeptron_net::{
    Config, ConfigError, Limits, MemberId, Membership, Pace, Plan, Plans, Security,
};
use tracing_subscriber::EnvFilter;

use super::super::logs::{self, Format};
use super::super::plans;
use super::super::system::SystemArgs;
use super::settings::{Prefix, Settings};

/// Everything that a node is started with.
#[derive(Debug)]
pub(super) struct Configured {
    /// The node.
    pub(super) node: Config,
    /// Its API.
    pub(super) api: ApiConfig,
    /// Whether that serves the page, too.
    pub(super) lab: bool,
    /// How long it waits for holders when it is told to end.
    pub(super) grace: Duration,
    /// Which logs it writes.
    pub(super) filter: EnvFilter,
    /// How they look.
    pub(super) format: Format,
}

impl Configured {
    /// Checks the settings and reads the certificates.
    ///
    /// # Errors
    /// With the place of what is wrong.
    pub(super) fn new(settings: &Settings) -> Result<Self> {
        let members = settings.list("members");
        let node = node_id(settings, members.len())?;
        let identity = identity(settings, node)?;
        let level = settings.text("log.level").unwrap_or_default();
        let configured = Configured {
            api: api(settings, identity.as_ref())?,
            lab: settings.switch("api.lab")?,
            node: Config {
                cluster: settings.text("cluster").unwrap_or_default().to_string(),
                node,
                listen: settings.text("listen").map(str::to_string),
                security: security(settings, identity, members.len())?,
                plans: all_plans(settings, members.len())?,
                membership: Membership::Fixed(members),
                handovers: settings.number("handovers")?,
                pace: pace(settings)?,
                limits: limits(settings)?,
            },
            grace: settings.time("shutdown_grace")?,
            filter: logs::filter(level).with_context(|| settings.place("log.level"))?,
            format: settings
                .word("log.format", [("text", Format::Text), ("json", Format::Json)])?,
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
        ConfigError::PlainBeyondLoopback { .. } | ConfigError::SameAddress { .. } => "members",
        ConfigError::NoMember { .. } | ConfigError::InitElsewhere { .. } => "node",
        ConfigError::WrongSize { .. } | ConfigError::PinnedLayout { .. } => "algorithm",
        ConfigError::NoVoters | ConfigError::TwoAddresses { .. } => "voters",
        ConfigError::NoData { .. } => "data",
        ConfigError::LateEpoch { .. } => "--epoch-after",
        ConfigError::NoEndpoints | ConfigError::Endpoint(_) => "etcd.endpoints",
        ConfigError::NoEtcdAuthority(_) => "etcd.tls.authority",
    }
}

fn node_id(settings: &Settings, members: usize) -> Result<MemberId> {
    let number: u32 = settings.number("node")?;
    let Some(node) = MemberId::new(number) else {
        bail!("{}: nodes are counted from 1", settings.place("node"))
    };
    ensure!(
        node.place() < members,
        "{}: this is node {number}, but there are only {members} members; list its address, too",
        settings.place("node")
    );
    Ok(node)
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
            Ok(Some(Identity { authority, certificate, key: key.unwrap_or_default() }))
        }
        (None, _) => {
            bail!("{}: {} are needed together", settings.place(given[0]), FILES.join(", "))
        }
    }
}

/// A member that is alone has nobody to speak to.
fn security(settings: &Settings, identity: Option<Identity>, members: usize) -> Result<Security> {
    match (identity, settings.switch("insecure")?) {
        (Some(_), true) => bail!(
            "{}: there are certificates as well; leave out one of the two",
            settings.place("insecure")
        ),
        (Some(identity), false) => Ok(Security::Tls(identity)),
        (None, false) if members > 1 => bail!(
            "nodes prove to each other who they are: make certificates with `skeptron tls init` and \
             name their folder as tls.folder, or set insecure = true if all are on this machine"
        ),
        (None, _) => Ok(Security::Insecure),
    }
}

fn all_plans(settings: &Settings, nodes: usize) -> Result<Plans> {
    let default = plan(settings, nodes, |key| settings.text(key))
        .with_context(|| settings.place("algorithm"))?;
    let mut plans = Plans::new(default);
    for Prefix { values, origin } in &settings.prefixes {
        let value = |key: &str| values.get(key).map(String::as_str);
        let plan = plan(settings, nodes, value).with_context(|| origin.to_string())?;
        plans = plans.with_prefix(value("prefix").unwrap_or_default(), plan);
    }
    Ok(plans)
}

/// The plan that these values say, layouts being named as for `skeptron sim`.
fn plan<'a>(
    settings: &Settings,
    nodes: usize,
    value: impl Fn(&str) -> Option<&'a str>,
) -> Result<Plan> {
    let system = SystemArgs {
        nodes: Some(nodes),
        coordinator: value("coordinator").map(str::to_string),
        quorum: settings.layout(value("quorum")),
        structure: settings.layout(value("structure")),
        tree: settings.layout(value("tree")),
        arbitration: value("arbitration").map(str::to_string),
        ring: None,
        graph: settings.layout(value("graph")),
        clocks: None,
    };
    let algorithm = value("algorithm").unwrap_or(Plan::DEFAULT);
    Ok(plans::plan(algorithm, &system, nodes)?.0)
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
        unix: settings.path("api.unix"),
        token,
        identity,
        ttl,
        sessions: settings.number("api.sessions")?,
        connections: settings.number("api.connections")?,
    })
}
