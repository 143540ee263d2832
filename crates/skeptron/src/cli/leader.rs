//! `skeptron leader`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use skeptron_client::Client;
use skeptron_net::{Leader, Leadership};

use super::Verdict;
use super::failure;
use super::reach::AskArgs;
use super::runtime;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron leader scheduler                 who leads
  skeptron leader scheduler --watch         … and every change, one line each
  skeptron leader scheduler --json | jq -r .leader.value

With --watch no leader is skipped as long as the node answers; if leaders may have been missed,
because another node had to be used, the output says so.

Exit codes: 0 somebody leads, 1 nobody does, 2 bad input, or the request was rejected, 69 no node is
reachable, 71 the node cannot tell: it is not a member, or cannot reach the others.")]
pub(crate) struct LeaderArgs {
    /// Name of the election
    name: String,
    /// Keep showing every change until Ctrl-C; with --json one line each
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    node: AskArgs,
}

impl LeaderArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let config = self.node.reach.question()?;
        runtime::on_one_thread(async {
            if !self.watch {
                let seen = Client::leader(&config, &self.name).await.map_err(failure::of_client)?;
                self.print(&seen, out)?;
                return Ok(if seen.leader.is_some() { Verdict::Fine } else { Verdict::Violated });
            }
            let mut observer = Client::observe(&config, &self.name).map_err(failure::of_client)?;
            loop {
                let seen = observer.next().await.map_err(failure::of_client)?;
                self.print(&seen, out)?;
            }
        })
    }

    fn print(&self, seen: &Leadership, out: &mut impl Write) -> Result<()> {
        if self.node.json {
            writeln!(out, "{}", serde_json::to_string(seen)?)?;
        } else {
            writeln!(out, "{}", self.line(seen))?;
        }
        out.flush()?;
        Ok(())
    }

    fn line(&self, seen: &Leadership) -> String {
        let name = &self.name;
        let missed = if seen.missed { " (leaders before may have been missed)" } else { "" };
        let Some(Leader { term, value, owner, node, .. }) = &seen.leader else {
            return format!("nobody leads `{name}`{missed}");
        };
        let who = if owner.is_empty() { "somebody" } else { owner };
        let value = if value.is_empty() { String::new() } else { format!(": {value}") };
        format!("{who} leads `{name}` at {node}, term {term:#}{missed}{value}")
    }
}
