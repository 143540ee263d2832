//! `skeptron status`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use skeptron_client::Client;
use skeptron_net::report::{Drain, LinkState, ServiceReport, Status};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::reach::AskArgs;
use super::runtime;
use super::table::{folded, keep_whole, table};
use super::voters;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron status
  skeptron status --endpoint http://127.0.0.1:7471 --json | jq '.members[].link'

Exit codes: 0 all members are linked, 1 one is not, or the node has halted or was drained, 2 bad input, 69 no node is reachable.")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    node: AskArgs,
}

impl StatusArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let config = self.node.reach.question()?;
        let status = runtime::on_one_thread(async {
            Client::status(&config).await.map_err(failure::of_client)
        })?;
        if self.node.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?;
        } else {
            print(&status, out)?;
        }
        let down = status.members.iter().any(|member| member.link == LinkState::Down);
        Ok(if down || status.halted.is_some() || status.drain.is_some() {
            Verdict::Violated
        } else {
            Verdict::Fine
        })
    }
}

/// Who decides about members, and for how long this node may act without them.
fn views(status: &Status) -> Vec<String> {
    let ServiceReport { kind, leader, term, voters, voter_halted, .. } = &status.views;
    let mut said = match kind.as_str() {
        "fixed" => return Vec::new(),
        "etcd" => voters::in_etcd(&status.views),
        _ if voters.is_empty() => "no voter has answered yet".to_string(),
        _ => {
            let voters: Vec<String> = voters.iter().map(|voter| voter.node.to_string()).collect();
            let leads = leader.map_or("no known leader".to_string(), |it| format!("{it} leads"));
            let term = term.map_or_else(String::new, |term| format!(", term {term}"));
            let may_fail = voters::may_fail(&status.views);
            format!("views by {}; {leads}{term}; {may_fail}", voters.join(", "))
        }
    };
    if let Some(left) = status.lease_left_ms {
        said += &format!("; lease of {}: {} left", status.node, lasted(left));
    }
    let halted = voter_halted.iter().map(|why| format!("{} does not vote: {why}", status.node));
    std::iter::once(said).chain(halted).collect()
}

fn print(status: &Status, out: &mut impl Write) -> Result<()> {
    let Status { cluster, node, version, epoch, algorithm, .. } = status;
    let up = lasted(status.up_ms);
    let leaving = match status.drain {
        Some(Drain::Draining) => " · DRAINING",
        Some(Drain::Drained) => " · DRAINED",
        None if status.leaving => " · leaving",
        None => "",
    };
    let prefixes = status.prefixes.iter().map(|(prefix, by)| format!(", {prefix}… by {by}"));
    let Status { known_locks, held_locks, waiters, sessions, .. } = status;
    let mut said = vec![
        format!("{node} of `{cluster}` · version {version} · up {up} · epoch {epoch}{leaving}"),
        format!("locks by {algorithm}{}", prefixes.collect::<String>()),
        format!(
            "here {known_locks} known, {held_locks} held, {waiters} waiting, {sessions} sessions"
        ),
    ];
    said.extend(status.halted.iter().map(|why| format!("{node} grants nothing: {why}")));
    if status.drain == Some(Drain::Drained) {
        said.push(format!(
            "{node} serves no clients and is not a member: `skeptron drain --undo` lets it serve again"
        ));
    }
    said.extend(views(status));
    said.extend(status.awaited.iter().map(|awaited| {
        format!("{awaited} has not been met yet: locks whose home is {node} are not granted before")
    }));
    if !status.away.is_empty() {
        let away: Vec<String> = status.away.iter().map(ToString::to_string).collect();
        let since = status.away_ms.map_or_else(String::new, |ms| format!(" for {}", lasted(ms)));
        said.push(format!(
            "{} not heard of{since}, but may still hold locks: {} withheld until back or certainly gone",
            away.join(", "),
            status.withheld_locks
        ));
    }
    writeln!(out, "{}", folded(&said.join("\n")))?;
    if status.members.is_empty() {
        return Ok(());
    }
    let mut rows = table(["member", "address", "link", "connected", "on the way", "trouble"]);
    for member in &status.members {
        let link = match member.link {
            LinkState::Own => "itself".to_string(),
            LinkState::Up => "up".to_string(),
            LinkState::Down => format!("DOWN for {}", lasted(member.down_ms.unwrap_or(0))),
        };
        let own = member.link == LinkState::Own;
        let of_link = |text: String| if own { String::new() } else { text };
        rows.add_row([
            member.node.to_string(),
            member.address.clone(),
            link,
            of_link(format!("{}×", member.connects)),
            of_link(member.unacknowledged.to_string()),
            member.trouble.clone().unwrap_or_default(),
        ]);
    }
    keep_whole(&mut rows, &["address", "link"]);
    writeln!(out, "{rows}")?;
    Ok(())
}
