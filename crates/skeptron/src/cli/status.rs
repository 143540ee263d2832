//! `skeptron status`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use skeptron_net::client::Client;
use skeptron_net::report::{LinkState, ServiceReport, Status};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::reach::ReachArgs;
use super::runtime;
use super::table::table;
use super::voters;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron status
  skeptron status --endpoint http://127.0.0.1:7471 --json | jq '.members[].link'

Exit codes: 0 all members are linked, 1 one is not or the node has halted, 2 bad input, 69 no node can be reached.")]
pub(crate) struct StatusArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

impl StatusArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let config = self.reach.question()?;
        let status = runtime::on_one_thread(async {
            Client::status(&config).await.map_err(failure::of_client)
        })?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?;
        } else {
            print(&status, out)?;
        }
        let down = status.members.iter().any(|member| member.link == LinkState::Down);
        Ok(if down || status.halted.is_some() { Verdict::Violated } else { Verdict::Fine })
    }
}

/// Who decides about members, and for how long this node may act without them.
fn print_views(status: &Status, out: &mut impl Write) -> Result<()> {
    let ServiceReport { kind, leader, term, voters, voter_halted, .. } = &status.views;
    if kind == "fixed" {
        return Ok(());
    }
    if kind == "etcd" {
        write!(out, "{}", voters::in_etcd(&status.views))?;
    } else {
        let voters: Vec<String> = voters.iter().map(|voter| voter.node.to_string()).collect();
        let leads =
            leader.map_or("nobody is known to lead".to_string(), |it| format!("{it} leads"));
        match voters.is_empty() {
            true => write!(out, "no voter has answered yet")?,
            false => write!(out, "views by {}; {leads}", voters.join(", "))?,
        }
        if let Some(term) = term {
            write!(out, ", term {term}")?;
        }
        if !voters.is_empty() {
            write!(out, "; {}", voters::may_fail(&status.views))?;
        }
    }
    match status.lease_left_ms {
        Some(left) => writeln!(out, "; lease of {}: {} left", status.node, lasted(left))?,
        None => writeln!(out)?,
    }
    if let Some(why) = voter_halted {
        writeln!(out, "{} does not vote: {why}", status.node)?;
    }
    Ok(())
}

fn print(status: &Status, out: &mut impl Write) -> Result<()> {
    let Status { cluster, node, version, epoch, algorithm, .. } = status;
    let up = lasted(status.up_ms);
    let leaving = if status.leaving { " · leaving" } else { "" };
    writeln!(out, "{node} of `{cluster}` · version {version} · up {up} · epoch {epoch}{leaving}")?;
    write!(out, "locks by {algorithm}")?;
    for (prefix, algorithm) in &status.prefixes {
        write!(out, ", {prefix}… by {algorithm}")?;
    }
    let Status { known_locks, held_locks, waiters, sessions, .. } = status;
    writeln!(
        out,
        "\nhere {known_locks} known, {held_locks} held, {waiters} waiting, {sessions} sessions"
    )?;
    if let Some(why) = &status.halted {
        writeln!(out, "{node} grants nothing: {why}")?;
    }
    print_views(status, out)?;
    for awaited in &status.awaited {
        writeln!(
            out,
            "{awaited} has not been met yet: locks whose home is {node} are not granted before"
        )?;
    }
    if !status.away.is_empty() {
        let away: Vec<String> = status.away.iter().map(ToString::to_string).collect();
        let since = status.away_ms.map_or_else(String::new, |ms| format!(" for {}", lasted(ms)));
        writeln!(
            out,
            "{} not heard of{since}, but may still hold locks: {} withheld until back or certainly gone",
            away.join(", "),
            status.withheld_locks
        )?;
    }
    let mut rows = table(["member", "address", "link", "connected", "on the way", "trouble"]);
    for member in &status.members {
        let link = match member.link {
            LinkState::Own => "itself",
            LinkState::Up => "up",
            LinkState::Down => "DOWN",
        };
        let own = member.link == LinkState::Own;
        let of_link = |text: String| if own { String::new() } else { text };
        rows.add_row([
            member.node.to_string(),
            member.address.clone(),
            link.to_string(),
            of_link(format!("{}×", member.connects)),
            of_link(member.unacknowledged.to_string()),
            member.trouble.clone().unwrap_or_default(),
        ]);
    }
    writeln!(out, "{rows}")?;
    Ok(())
}
