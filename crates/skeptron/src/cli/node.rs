//! `skeptron node`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::Verdict;
use super::{names, runtime};
use configure::Configured;
use settings::{Given, Loaded};

mod configure;
mod fields;
mod file;
pub(crate) mod join;
mod kinds;
mod mistakes;
mod print;
mod roles;
mod serve;
mod settings;
mod systemd;
#[cfg(test)]
mod tests;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron node --config node.toml --init             begin a new cluster, once, at its first voter
  skeptron node --config node.toml                    every later start, and every other node
  skeptron node --config node.toml --check            is it fine?
  skeptron node --config node.toml --print-config     what counts, and who said so?
  SKEPTRON_NODE=2 skeptron node --config cluster.toml the same file for all, but for the number

A node needs at least `voters`, which 1, 3 or 5 of the nodes are, and a voter its folder `data`.
Every setting has a variable that overrides the file, as SKEPTRON_API_LISTEN does for listen in
the table [api]; docs/configuration.md describes them all, docs/running.md shows whole clusters,
and `skeptron up` starts one to try. The node is ready when it has entered the cluster. On TERM or
INT it passes on what it has, leaves the cluster, and ends; on a second one it ends at once. On HUP
it reads certificates, the list of revoked ones, tokens, roles and the level of logs again.

Exit codes: 0 it was told to end, 2 bad input, or the cluster does not let it in, 70 a part of it
panicked, 74 a voter's disk failed.")]
pub(crate) struct NodeArgs {
    /// The file with the settings, TOML
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Begin a new cluster at this node, the first of the voters
    #[arg(long)]
    init: bool,
    /// Begin it above this epoch, so that fences go on rising where a cluster that was lost ended
    #[arg(long, value_name = "EPOCH", requires = "init", value_parser = names::whole::<u64>)]
    #[arg(default_value = "0", hide_default_value = true)]
    epoch_after: u64,
    /// Plain TCP between nodes, which is for one machine only
    #[arg(long)]
    insecure: bool,
    /// Only check the settings
    #[arg(long)]
    check: bool,
    /// Only show the settings, each with where it is from
    #[arg(long, conflicts_with_all = ["check", "json"])]
    print_config: bool,
    /// When ready, say so as one line of JSON; with --check, what was found
    #[arg(long)]
    json: bool,
}

impl NodeArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let insecure = self.insecure.then(|| Given::by("--insecure", "insecure", true));
        let options: Vec<Given> = insecure.into_iter().collect();
        let loaded = Loaded::load(self.config.as_deref(), variable, &options)?;
        if self.print_config {
            print::print(&loaded, out)?;
        }
        let configured = Configured::new(&loaded, self.init.then_some(self.epoch_after))?;
        if self.check {
            let (summary, warning) =
                (serve::summary(&configured.node), serve::even_voters(&configured.node));
            if self.json {
                let found =
                    serde_json::json!({ "fine": true, "node": summary, "warning": warning });
                writeln!(out, "{found}")?;
            } else {
                writeln!(out, "Fine: {summary}.")?;
                warning.iter().try_for_each(|warning| writeln!(out, "Warning: {warning}."))?;
            }
        }
        if self.check || self.print_config {
            return Ok(Verdict::Fine);
        }
        let again = || {
            let loaded = Loaded::load(self.config.as_deref(), variable, &options)?;
            Configured::new(&loaded, None)
        };
        runtime::on_half_of_the_cores(serve::serve(configured, false, &again, self.json, out))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
