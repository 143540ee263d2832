//! `skeptron voters`.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use skeptron_client::{Client, Order};
use skeptron_net::MemberId;
use skeptron_net::report::{ServiceReport, Status, VoterState, VoterStatus};

use super::Verdict;
use super::duration::{self, lasted};
use super::failure;
use super::members::Presence;
use super::names;
use super::order::OrderArgs;
use super::reach::AskArgs;
use super::runtime;
use super::table::{folded, table};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skeptron voters                     who votes, and who leads
  skeptron voters add 4               make P4 a voter
  skeptron voters replace 2 4         P4 votes instead of P2, whose machine is lost
  skeptron voters replace 2 2         P2 starts again with an empty log after a disk loss
  skeptron voters remove 4
  skeptron voters lease 5s            leases of 5 seconds
  skeptron voters --json | jq .leader               `views` of GET /v1/status

Any node of the cluster accepts these changes; a majority of the voters must be up. Use 1, 3 or 5
voters: of 3 one may fail, of 5 two. The state of each voter is what the leader knows: up, behind (its
log is incomplete) or silent (it does not answer). The raft id is that of its vote, not the member's
number.

Exit codes: 0 all voters are up, 1 one is not, nobody leads or etcd is unreachable, 2 bad input,
or the request was rejected, 69 no node is reachable, 75 it was not decided in time.")]
pub(crate) struct VotersArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    node: AskArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a member a voter
    Add(OneArgs),
    /// Remove a voter; it stays a member
    Remove(OneArgs),
    /// Replace a voter by another member, or by itself if its log is lost
    Replace(ReplaceArgs),
    /// Change the length of leases
    Lease(LeaseArgs),
}

#[derive(Debug, Args)]
struct OneArgs {
    /// Which member, as in 4 or P4
    #[arg(value_name = "K", value_parser = names::member)]
    member: MemberId,
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Debug, Args)]
struct ReplaceArgs {
    /// Voter to remove
    #[arg(value_parser = names::member)]
    old: MemberId,
    /// Member to add
    #[arg(value_parser = names::member)]
    new: MemberId,
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Debug, Args)]
struct LeaseArgs {
    /// Length, as in 5s: a shorter lease releases the locks of a dead member sooner, a longer one tolerates
    /// longer pauses
    #[arg(value_name = "TIME", value_parser = duration::some)]
    lease: Duration,
    /// Bound on the drift of clocks, in parts per million [default: unchanged]
    #[arg(long, value_name = "PPM")]
    drift_ppm: Option<u32>,
    #[command(flatten)]
    order: OrderArgs,
}

impl VotersArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let Some(command) = self.command else {
            let config = self.node.reach.question()?;
            let asked = async { Client::status(&config).await.map_err(failure::of_client) };
            return print(runtime::on_one_thread(asked)?, self.node.json, out);
        };
        let (order, args) = match command {
            Command::Add(OneArgs { member, order }) => (Order::AddVoter { member }, order),
            Command::Remove(OneArgs { member, order }) => (Order::RemoveVoter { member }, order),
            Command::Replace(ReplaceArgs { old, new, order }) => {
                (Order::ReplaceVoter { old, new }, order)
            }
            Command::Lease(LeaseArgs { lease, drift_ppm, order }) => {
                let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
                (Order::Lease { lease_ms, drift_ppm }, order)
            }
        };
        let is_count = matches!(order, Order::AddVoter { .. } | Order::RemoveVoter { .. });
        let status = runtime::on_one_thread(args.carry_out(order))?;
        let (count, _) = status.views.voting();
        print(status, args.json, out)?;
        if is_count && count > 0 && count % 2 == 0 {
            // If nobody listens, no harm is done.
            let _ = writeln!(
                io::stderr(),
                "warning: {count} voters tolerate no more failures than {}; use 1, 3 or 5",
                count - 1
            );
        }
        Ok(Verdict::Fine)
    }
}

fn print(mut status: Status, json: bool, out: &mut impl Write) -> Result<Verdict> {
    status.views.voters.sort_by_key(|voter| (voter.node, voter.seat));
    let views = &status.views;
    let halted = views.voter_halted.as_deref();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(views)?)?;
    } else {
        print_table(&status, out)?;
    }
    let is_up = |voter: &VoterStatus| voter.state == VoterState::Up;
    let all_well = halted.is_none() && views.trouble.is_none() && views.voters.iter().all(is_up);
    Ok(if all_well { Verdict::Fine } else { Verdict::Violated })
}

fn print_table(status: &Status, out: &mut impl Write) -> Result<()> {
    let views = &status.views;
    if views.kind == "fixed" {
        writeln!(out, "The members of `{}` are fixed; there are no voters.", status.cluster)?;
        return Ok(());
    }
    if views.kind == "etcd" {
        let said = format!("`{}` · {}; there are no voters", status.cluster, in_etcd(views));
        writeln!(out, "{}", folded(&said))?;
        return Ok(());
    }
    let mut said = vec![format!("`{}`", status.cluster)];
    said.push(match views.leader {
        Some(leader) => format!("{leader} leads"),
        None => "no known leader".to_string(),
    });
    said.extend(views.term.map(|term| format!("term {term}")));
    said.extend(views.lease_ms.map(|lease_ms| format!("leases of {}", lasted(lease_ms))));
    said.push(may_fail(views));
    writeln!(out, "{}", folded(&said.join(" · ")))?;
    let mut rows = table(["voter", "address", "votes", "state", "member", "raft id"]);
    for voter in &views.voters {
        rows.add_row([
            voter.node.to_string(),
            voter.address.clone().unwrap_or_default(),
            if voter.votes { "yes" } else { "soon: it gets the log" }.to_string(),
            state(voter),
            Presence::of(voter.node, status).word().to_string(),
            voter.seat.to_string(),
        ]);
    }
    writeln!(out, "{rows}")?;
    for voter in views.voters.iter().filter(|voter| voter.state == VoterState::Silent) {
        let number = voter.node.number();
        let said = match Presence::of(voter.node, status) {
            Presence::Member => format!(
                "{0} runs, but its voter does not answer: `skeptron status` there says why; if its log is \
                 lost, `skeptron voters replace {number} {number}` lets it begin anew",
                voter.node
            ),
            Presence::Unknown => format!(
                "the voter of {0} does not answer: `skeptron status` at {0} says why, if it runs",
                voter.node
            ),
            Presence::Away | Presence::Gone => format!(
                "{} is down or cut off: bring it back, or give its vote to another member by `skeptron voters \
                 replace {number} K`",
                voter.node
            ),
        };
        writeln!(out, "{}", folded(&said))?;
    }
    if let Some(why) = &views.voter_halted {
        writeln!(out, "{}", folded(&format!("{} does not vote: {why}", status.node)))?;
    }
    Ok(())
}

/// Where the views are, if etcd decides.
pub(super) fn in_etcd(views: &ServiceReport) -> String {
    let stands = match &views.trouble {
        None => "which answers".to_string(),
        Some(why) => format!("which does NOT ANSWER: {why}"),
    };
    format!("views are kept in etcd at {}, {stands}", views.endpoints.join(", "))
}

/// How many more may fail, and not how many might if all were up.
pub(super) fn may_fail(views: &ServiceReport) -> String {
    let (all, up) = views.voting();
    let stands = if up == all { format!("all {all} up") } else { format!("{up} of {all} up") };
    match views.may_fail() {
        None if views.leader.is_none() => "whether a majority is up is not known here".to_string(),
        None => format!("{stands}: NO MAJORITY"),
        Some(0) => format!("{stands}: none may fail"),
        Some(more) => format!("{stands}: {more} may fail"),
    }
}

fn state(voter: &VoterStatus) -> String {
    match (voter.state, voter.silent_ms) {
        (VoterState::Unknown, _) => "?".to_string(),
        (VoterState::Up, _) => "up".to_string(),
        (VoterState::Behind, _) => "BEHIND".to_string(),
        (VoterState::Silent, None) => "SILENT".to_string(),
        (VoterState::Silent, Some(ms)) => format!("SILENT for {}", lasted(ms)),
    }
}
