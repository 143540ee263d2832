//! `skeptron voters`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use skeptron_net::MemberId;
use skeptron_net::client::{Client, Order};
use skeptron_net::report::{Status, VoterStatus};

use super::Verdict;
use super::duration::{self, lasted};
use super::failure;
use super::names;
use super::order::OrderArgs;
use super::reach::ReachArgs;
use super::runtime;
use super::table::table;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skeptron voters                     who votes, and who leads
  skeptron voters add 4               P4 is to vote, too
  skeptron voters replace 2 4         P4 is to vote instead of P2, whose machine is lost
  skeptron voters replace 2 2         P2 is to begin anew, its disk was lost or emptied
  skeptron voters remove 4
  skeptron voters lease 5s            how long a member that is not heard of counts as alive

Any node of the cluster takes these orders; a majority of the voters must be up. 1, 3 or 5 voters
are sensible: of 3 one may fail, of 5 two.

Exit codes: 0 fine, 1 a voter is no member now or does not vote, 2 bad input, or it was refused,
69 no node can be reached, 75 it was not decided in time.")]
pub(crate) struct VotersArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a member a voter
    Add(OneArgs),
    /// Take the vote of a voter away; it stays a member
    Remove(OneArgs),
    /// Give the place of one voter to another member, or to itself if its log is lost
    Replace(ReplaceArgs),
    /// Change how long leases are
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
    /// Which voter goes
    #[arg(value_parser = names::member)]
    old: MemberId,
    /// Which member comes
    #[arg(value_parser = names::member)]
    new: MemberId,
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Debug, Args)]
struct LeaseArgs {
    /// As in 5s: shorter frees the locks of a dead member sooner, longer bears longer troubles
    #[arg(value_name = "TIME", value_parser = duration::some)]
    lease: Duration,
    /// By how much a clock may run too fast or too slow, in parts per million [default: as it is]
    #[arg(long, value_name = "PPM")]
    drift_ppm: Option<u32>,
    #[command(flatten)]
    order: OrderArgs,
}

/// What `--json` says.
#[derive(Serialize)]
struct Listing<'a> {
    cluster: &'a str,
    leader: Option<MemberId>,
    term: Option<u64>,
    lease_ms: Option<u64>,
    drift_ppm: Option<u32>,
    voters: &'a [VoterStatus],
    halted: Option<&'a str>,
}

impl VotersArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let Some(command) = self.command else {
            let config = self.reach.question()?;
            let asked = async { Client::status(&config).await.map_err(failure::of_client) };
            return print(runtime::on_one_thread(asked)?, self.json, out);
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
        let status = runtime::on_one_thread(args.carry_out(order))?;
        print(status, args.json, out)?;
        Ok(Verdict::Fine)
    }
}

fn print(mut status: Status, json: bool, out: &mut impl Write) -> Result<Verdict> {
    status.views.voters.sort_by_key(|voter| (voter.node, voter.seat));
    let views = &status.views;
    let halted = views.voter_halted.as_deref();
    if json {
        let listing = Listing {
            cluster: &status.cluster,
            leader: views.leader,
            term: views.term,
            lease_ms: views.lease_ms,
            drift_ppm: views.drift_ppm,
            voters: &views.voters,
            halted,
        };
        writeln!(out, "{}", serde_json::to_string_pretty(&listing)?)?;
    } else {
        print_table(&status, out)?;
    }
    let is_away = |voter: &VoterStatus| status.members.iter().all(|it| it.node != voter.node);
    let all_well = halted.is_none() && !views.voters.iter().any(is_away);
    Ok(if all_well { Verdict::Fine } else { Verdict::Violated })
}

fn print_table(status: &Status, out: &mut impl Write) -> Result<()> {
    let views = &status.views;
    if views.kind == "fixed" {
        writeln!(out, "The members of `{}` are fixed; nobody votes.", status.cluster)?;
        return Ok(());
    }
    write!(out, "`{}`", status.cluster)?;
    match views.leader {
        Some(leader) => write!(out, " · {leader} leads")?,
        None => write!(out, " · nobody is known to lead")?,
    }
    if let Some(term) = views.term {
        write!(out, " · term {term}")?;
    }
    if let Some(lease_ms) = views.lease_ms {
        write!(out, " · leases of {}", lasted(lease_ms))?;
    }
    let votes = views.voters.iter().filter(|voter| voter.votes).count();
    writeln!(out, " · {} of {votes} may fail", votes.saturating_sub(1) / 2)?;
    let mut rows = table(["voter", "address", "votes", "member"]);
    for voter in &views.voters {
        let present = status.members.iter().any(|member| member.node == voter.node);
        rows.add_row([
            voter.node.to_string(),
            voter.address.clone().unwrap_or_default(),
            if voter.votes { "yes" } else { "soon: it gets the log" }.to_string(),
            if present { "yes" } else { "NO" }.to_string(),
        ]);
    }
    writeln!(out, "{rows}")?;
    if let Some(why) = &views.voter_halted {
        writeln!(out, "{} does not vote: {why}", status.node)?;
    }
    Ok(())
}
