//! `skeptron members`.

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use serde::Serialize;
use skeptron_net::MemberId;
use skeptron_net::client::{Client, Order};
use skeptron_net::report::{LinkState, Status};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::names;
use super::order::OrderArgs;
use super::reach::ReachArgs;
use super::runtime;
use super::table::{show, table};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skeptron members                            who belongs to the cluster, as this node sees it
  skeptron members --watch                    again every second
  skeptron members --json | jq '.members[] | select(.link == \"down\") | .node'
  skeptron members remove 4 --certainly-off   do not wait for the lease of a machine that is off

Members come by `skeptron node` or `skeptron join`, and go by `skeptron leave` or TERM; one that
died is removed when its lease has ended, without any order.

Exit codes: 0 all members are linked, 1 one is not or the node grants nothing, 2 bad input, or it
was refused, 69 no node can be reached, 75 it was not decided in time.")]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Again every second, until Ctrl-C; with --json one line each
    #[arg(long)]
    watch: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Remove a member that is certainly off, without waiting for its lease
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
struct RemoveArgs {
    /// Which member, as in 4 or P4
    #[arg(value_name = "K", value_parser = names::member)]
    member: MemberId,
    /// Its process does not run any more: one that does believes in its locks until its lease ends,
    /// and others would have them as well
    #[arg(long)]
    certainly_off: bool,
    #[command(flatten)]
    order: OrderArgs,
}

/// What `--json` says.
#[derive(Serialize)]
struct Listing {
    cluster: String,
    /// Who answers.
    node: MemberId,
    epoch: u64,
    lease_left_ms: Option<u64>,
    halted: Option<String>,
    /// Also voters that are no members at present.
    members: Vec<Member>,
}

#[derive(Serialize)]
struct Member {
    node: MemberId,
    address: String,
    /// Whether it belongs to the view.
    member: bool,
    part: Part,
    link: Option<LinkState>,
    trouble: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    Leader,
    Voter,
    Learner,
    Member,
}

const EVERY: Duration = Duration::from_secs(1);

impl MembersArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(Command::Remove(args)) = self.command {
            return args.run(out);
        }
        let config = self.reach.question()?;
        runtime::on_one_thread(async {
            loop {
                let status = Client::status(&config).await.map_err(failure::of_client)?;
                let listing = Listing::new(status);
                self.print(&listing, out)?;
                if !self.watch {
                    return Ok(listing.verdict());
                }
                tokio::time::sleep(EVERY).await;
            }
        })
    }

    fn print(&self, listing: &Listing, out: &mut impl Write) -> Result<()> {
        show(self.json, self.watch, listing, out, Listing::print)
    }
}

impl RemoveArgs {
    fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let RemoveArgs { member, certainly_off, order } = self;
        ensure!(
            certainly_off,
            "a member that still runs believes in its locks until its lease ends, and is then removed by \
             itself; if {member} is certainly off, say so by --certainly-off"
        );
        let status = runtime::on_one_thread(order.carry_out(Order::RemoveMember { member }))?;
        let listing = Listing::new(status);
        match order.json {
            true => writeln!(out, "{}", serde_json::to_string_pretty(&listing)?)?,
            false => listing.print(out)?,
        }
        Ok(Verdict::Fine)
    }
}

impl Listing {
    fn new(status: Status) -> Self {
        let Status { cluster, node, epoch, lease_left_ms, halted, members, views, .. } = status;
        let part = |id: MemberId| {
            let seat =
                views.voters.iter().filter(|voter| voter.node == id).max_by_key(|it| it.votes);
            match seat {
                Some(seat) if seat.votes && views.leader == Some(id) => Part::Leader,
                Some(seat) if seat.votes => Part::Voter,
                Some(_) => Part::Learner,
                None => Part::Member,
            }
        };
        let mut rows: Vec<Member> = members
            .into_iter()
            .map(|it| Member {
                node: it.node,
                address: it.address,
                member: true,
                part: part(it.node),
                link: Some(it.link),
                trouble: it.trouble,
            })
            .collect();
        for voter in &views.voters {
            if rows.iter().all(|row| row.node != voter.node) {
                rows.push(Member {
                    node: voter.node,
                    address: voter.address.clone().unwrap_or_default(),
                    member: false,
                    part: part(voter.node),
                    link: None,
                    trouble: None,
                });
            }
        }
        rows.sort_by_key(|row| row.node);
        Listing { cluster, node, epoch, lease_left_ms, halted, members: rows }
    }

    fn verdict(&self) -> Verdict {
        let down = self.members.iter().any(|it| it.link == Some(LinkState::Down) || !it.member);
        if down || self.halted.is_some() { Verdict::Violated } else { Verdict::Fine }
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let Listing { cluster, node, epoch, .. } = self;
        write!(out, "`{cluster}` as {node} sees it · epoch {epoch}")?;
        match self.lease_left_ms {
            Some(left) => writeln!(out, " · its lease: {} left", lasted(left))?,
            None => writeln!(out)?,
        }
        if let Some(why) = &self.halted {
            writeln!(out, "{node} grants nothing: {why}")?;
        }
        let mut rows = table(["member", "address", "part", "link", "trouble"]);
        for row in &self.members {
            let part = match row.part {
                Part::Leader => "voter, leads",
                Part::Voter => "voter",
                Part::Learner => "voter soon",
                Part::Member => "",
            };
            let link = match row.link {
                Some(LinkState::Own) => "itself",
                Some(LinkState::Up) => "up",
                Some(LinkState::Down) => "DOWN",
                None => "NO MEMBER",
            };
            rows.add_row([
                row.node.to_string(),
                row.address.clone(),
                part.to_string(),
                link.to_string(),
                row.trouble.clone().unwrap_or_default(),
            ]);
        }
        writeln!(out, "{rows}")?;
        Ok(())
    }
}
