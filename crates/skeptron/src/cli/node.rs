//! `skeptron node`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use clap::Args;
use serde::Serialize;
use skeptron_net::api::Api;
use skeptron_net::{MemberId, Membership, Node, Security};

use super::Verdict;
use super::logs;
use super::runtime::{self, Signals};
use crate::lab::{self, Lab, Live, Page};
use configure::Configured;
use settings::Settings;

mod configure;
mod fields;
mod file;
mod print;
mod settings;
mod systemd;
#[cfg(test)]
mod tests;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron node --config node.toml
  skeptron node --config node.toml --check            is it fine?
  skeptron node --config node.toml --print-config     what counts, and who said so?
  SKEPTRON_NODE=2 skeptron node --config cluster.toml the same file for all, but for the number
  skeptron node                                       one node alone, all settings by default

Every setting has a default, and a variable that overrides the file, as SKEPTRON_API_LISTEN does for
listen in the table [api]; docs/configuration.md describes them all. On TERM or INT the node passes
on what it has, and ends; on a second one it ends at once.")]
pub(crate) struct NodeArgs {
    /// The file with the settings, TOML
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Plain TCP between nodes, which is for one machine only
    #[arg(long)]
    insecure: bool,
    /// Only check the settings
    #[arg(long)]
    check: bool,
    /// Only show the settings, each with where it is from
    #[arg(long, conflicts_with = "check")]
    print_config: bool,
    /// When ready, say so as one line of JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` says when the node is ready.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    cluster: &'a str,
    node: MemberId,
    listen: &'a str,
    api: Vec<String>,
}

impl NodeArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let variable = |name: &str| std::env::var(name).ok();
        let settings = Settings::load(self.config.as_deref(), variable, self.insecure)?;
        if self.print_config {
            print::print(&settings, out)?;
        }
        let configured = Configured::new(&settings)?;
        if self.check {
            writeln!(out, "Fine: {}.", summary(&configured))?;
        }
        if self.check || self.print_config {
            return Ok(Verdict::Fine);
        }
        runtime::on_all_cores(self.serve(configured, out))
    }

    async fn serve(self, configured: Configured, out: &mut impl Write) -> Result<Verdict> {
        let what = summary(&configured);
        let Configured { node: config, api, lab, grace, filter, format } = configured;
        logs::start(filter, format);
        let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        settings::misspelt(variables).iter().for_each(|what| tracing::warn!("{what}"));
        let mut signals = Signals::listen(&Signals::ENDING)?;
        let (cluster, listen) = (config.cluster.clone(), config.listen_address().to_string());
        let scheme = if api.identity.is_some() { "https" } else { "http" };
        let unix = api.unix.clone();
        let node = Node::start(config).await?;
        let live = Live::alone(node.clone());
        let page = match lab {
            // Those who wait for locks need the machine more than simulations do.
            true => lab::router(Lab {
                page: Page::Embedded,
                runs: false,
                cluster: Some(Arc::clone(&live)),
            }),
            false => Router::new(),
        };
        let api = Api::start_with(node.clone(), api, page).await?;
        let urls = api.addresses().iter().map(|address| format!("{scheme}://{address}"));
        let sockets = unix.iter().map(|path| format!("unix:{}", path.display()));
        let urls: Vec<String> = urls.chain(sockets).collect();
        live.answers_at(vec![urls.clone()]);
        if self.json {
            let node = node.id();
            let ready = Ready { ready: true, cluster: &cluster, node, listen: &listen, api: urls };
            writeln!(out, "{}", serde_json::to_string(&ready)?)?;
        } else {
            let clients = if urls.is_empty() { "nobody".into() } else { urls.join(", ") };
            writeln!(out, "Ready: {what}; nodes at {listen}, clients at {clients}.")?;
        }
        out.flush()?;
        systemd::notify("READY=1");
        let signal = signals.next().await;
        tracing::info!(%signal, grace_ms = grace.as_millis() as u64, "leaving");
        systemd::notify("STOPPING=1");
        let leaving = async {
            node.leave();
            node.idle_within(grace).await;
            // Nobody gets a lock whose holder may still believe that it has it.
            api.drain().await;
            node.shutdown(Duration::ZERO).await;
            api.shutdown().await;
        };
        Ok(match signals.unless(leaving).await {
            Ok(()) => Verdict::Fine,
            Err(signal) => Verdict::Exited(runtime::exit_code(signal)),
        })
    }
}

/// The node in a few words.
fn summary(configured: &Configured) -> String {
    let config = &configured.node;
    let (node, cluster) = (config.node, &config.cluster);
    let members = match &config.membership {
        Membership::Fixed(members) => members.len().to_string(),
        Membership::Voters(config) => config.voters.len().to_string(),
        Membership::Etcd(_) => "those in etcd".to_string(),
    };
    let algorithms: Vec<&str> = config.plans.all().map(|plan| plan.info().name).collect();
    let links = match config.security {
        Security::Tls(_) => "TLS",
        Security::Insecure => "plain TCP",
    };
    format!("{node} of {members} in `{cluster}`, {}, {links}", algorithms.join(" and "))
}
