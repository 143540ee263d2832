//! How to reach a node: options that all commands share which ask one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use skeptron_net::client::{ClientConfig, Endpoint};
use skeptron_net::tls::Identity;

/// Where a node is, and who asks.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReachArgs {
    /// Where a node answers: http://HOST:PORT, https://HOST:PORT or unix:PATH; of several, given
    /// again or separated by commas, the first that answers is taken
    #[arg(long, value_name = "URL", help_heading = "Node", value_delimiter = ',')]
    #[arg(env = "SKEPTRON_ENDPOINT", hide_env_values = true)]
    #[arg(default_value = "http://127.0.0.1:7470")]
    endpoint: Vec<Endpoint>,
    /// The token that the node asks for; rather by environment, where other users do not see it
    #[arg(long, value_name = "TEXT", help_heading = "Node")]
    #[arg(env = "SKEPTRON_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The folder with ca.pem, client-NAME.pem and client-NAME.key, for https
    #[arg(long, value_name = "FOLDER", help_heading = "Node")]
    #[arg(env = "SKEPTRON_TLS", hide_env_values = true)]
    tls: Option<PathBuf>,
    /// Which client of that folder this is [default: the only one in it]
    #[arg(long, value_name = "NAME", help_heading = "Node", requires = "tls")]
    client: Option<String>,
}

impl ReachArgs {
    /// What the client must know; `ttl` and `owner` matter to those who open a session.
    pub(crate) fn config(&self, ttl: Duration, owner: String) -> Result<ClientConfig> {
        let secure = self.endpoint.iter().any(|endpoint| matches!(endpoint, Endpoint::Https(_)));
        let identity = match &self.tls {
            Some(folder) => Some(self.identity(folder)?),
            None if secure => bail!(
                "https needs certificates: name the folder that `skeptron tls init` made by --tls"
            ),
            None => None,
        };
        let (endpoints, token) = (self.endpoint.clone(), self.token.clone());
        Ok(ClientConfig { endpoints, token, identity, ttl, owner })
    }

    /// For questions that need no session.
    pub(crate) fn question(&self) -> Result<ClientConfig> {
        self.config(Duration::from_secs(10), String::new())
    }

    fn identity(&self, folder: &Path) -> Result<Identity> {
        let name = match &self.client {
            Some(name) => format!("client-{name}"),
            None => only_client(folder)?,
        };
        Ok(Identity::read(folder, &name)?)
    }
}

fn only_client(folder: &Path) -> Result<String> {
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
        [only] => Ok(only.clone()),
        [] => bail!(
            "{shown} has no certificate of a client; make one with `skeptron tls add {shown} --client NAME`"
        ),
        several => bail!(
            "{shown} has certificates of several clients ({}); say which by --client",
            several.iter().map(|name| &name["client-".len()..]).collect::<Vec<_>>().join(", ")
        ),
    }
}
