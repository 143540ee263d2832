//! How to reach a node: options that all commands share which ask one.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use skeptron_client::tls::Identity;
use skeptron_client::{ClientConfig, ClientError, Endpoint, Protocol};

/// A node, and in which form its answer is printed.
#[derive(Args, Clone, Debug)]
pub(crate) struct AskArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

/// Where a node is, and who asks.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReachArgs {
    /// Address of a node: HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:PATH; may be repeated or
    /// a list separated by commas, of which the first that can grant is used; HOST:PORT alone is https
    /// with --tls
    #[arg(long, value_name = "URL", help_heading = "Node", value_delimiter = ',')]
    #[arg(env = "SKEPTRON_ENDPOINT", hide_env_values = true)]
    #[arg(default_value = "http://127.0.0.1:7470")]
    endpoint: Vec<Given>,
    /// Token of the node's API; better set in the environment, where other users cannot see it
    #[arg(long, value_name = "TEXT", help_heading = "Node")]
    #[arg(env = "SKEPTRON_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The folder with ca.pem, client-NAME.pem and client-NAME.key, for https; with a token ca.pem is
    /// enough
    #[arg(long, value_name = "FOLDER", help_heading = "Node")]
    #[arg(env = "SKEPTRON_TLS", hide_env_values = true)]
    tls: Option<PathBuf>,
    /// Client certificate in that folder to use [default: the only one]
    #[arg(long, value_name = "NAME", help_heading = "Node", requires = "tls")]
    client: Option<String>,
    /// How to speak to the node. Only for debugging, so that no help lists it
    #[arg(long, value_name = "HOW", help_heading = "Node", default_value = "auto", hide = true)]
    #[arg(env = "SKEPTRON_PROTOCOL", hide_env_values = true)]
    protocol: Speaks,
}

/// How sessions and observers speak to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Speaks {
    /// Natively, and by HTTP where that is not spoken
    Auto,
    /// Only by HTTP
    Http,
    /// Only natively
    Native,
}

/// An endpoint as it was given.
#[derive(Clone, Debug)]
struct Given {
    endpoint: Endpoint,
    /// Whether it said only where, not how.
    bare: bool,
}

impl FromStr for Given {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        Ok(Given { endpoint: text.parse()?, bare: Endpoint::is_bare(text) })
    }
}

impl Given {
    fn endpoint(&self, tls: bool) -> Endpoint {
        let endpoint = self.endpoint.clone();
        if tls && self.bare { endpoint.over_tls() } else { endpoint }
    }
}

impl ReachArgs {
    /// What the client must know; `ttl` and `owner` matter to those who open a session.
    pub(crate) fn config(&self, ttl: Duration, owner: String) -> Result<ClientConfig> {
        let tls = self.tls.is_some();
        let endpoints: Vec<Endpoint> = self.endpoint.iter().map(|it| it.endpoint(tls)).collect();
        let secure = endpoints.iter().any(|endpoint| matches!(endpoint, Endpoint::Https(_)));
        let identity = match &self.tls {
            Some(folder) => Some(self.identity(folder)?),
            None if secure => bail!(
                "https requires certificates: pass the folder made by `skeptron tls init` with --tls"
            ),
            None => None,
        };
        let token = self.token.clone();
        let protocol = match self.protocol {
            Speaks::Auto => Protocol::Auto,
            Speaks::Http => Protocol::Http,
            Speaks::Native => Protocol::Native,
        };
        Ok(ClientConfig { endpoints, token, identity, ttl, owner, discovery: true, protocol })
    }

    /// For questions that need no session.
    pub(crate) fn question(&self) -> Result<ClientConfig> {
        self.config(Duration::from_secs(10), String::new())
    }

    fn identity(&self, folder: &Path) -> Result<Identity> {
        let name = match &self.client {
            Some(name) => format!("client-{name}"),
            None => match only_client(folder)? {
                Some(name) => name,
                None if self.token.is_some() => return Ok(Identity::without_certificate(folder)?),
                None => {
                    let shown = folder.display();
                    bail!(
                        "{shown} has no client certificate; create one with `skeptron tls add {shown} \
                         --client NAME`, or pass a token with --token"
                    )
                }
            },
        };
        Ok(Identity::read(folder, &name)?)
    }
}

/// The only client that has a certificate in the folder; none if no client has.
fn only_client(folder: &Path) -> Result<Option<String>> {
    let shown = folder.display();
    let files = std::fs::read_dir(folder).with_context(|| format!("--tls {shown}"))?;
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let is_client = |name: String| {
        let stem = name.strip_suffix(".pem")?;
        stem.starts_with("client-").then(|| stem.to_string())
    };
    let mut clients: Vec<String> = names.filter_map(is_client).collect();
    clients.sort();
    match clients.as_slice() {
        [only] => Ok(Some(only.clone())),
        [] => Ok(None),
        several => bail!(
            "{shown} has certificates of several clients ({}); choose one with --client",
            several.iter().map(|name| &name["client-".len()..]).collect::<Vec<_>>().join(", ")
        ),
    }
}
