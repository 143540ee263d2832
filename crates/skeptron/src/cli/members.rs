//! `skeptron members`.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use skeptron_client::{Client, Order};
use skeptron_net::MemberId;
use skeptron_net::report::{LinkState, Status};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::names;
use super::order::OrderArgs;
use super::reach::AskArgs;
use super::runtime;
use super::table::{fitted, folded, keep_whole, show, table};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skeptron members                            who belongs to the cluster, as this node sees it
  skeptron members --watch                    repeat every second
  skeptron members --json | jq '.members[] | select(.link == \"down\") | .node'
                                              from GET /v1/status
  skeptron members remove 4 --certainly-off   skip the lease of a machine that is off

Members join by `skeptron node` or `skeptron join`, and leave by `skeptron leave` or TERM; a crashed
member is removed automatically when its lease has expired.

A member that is AWAY does not answer the voters, but its lease may still be valid; a voter that is
GONE is not a member until it is started again.

Exit codes: 0 all members are linked, 1 one is not or the node grants nothing, or a removed member
is running and has rejoined, 2 bad input, or the request was rejected, 69 no node is reachable,
75 it was not decided in time.")]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Repeat every second until Ctrl-C; with --json one line each
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    node: AskArgs,
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
    /// Confirm that its process has ended: a running one believes in its locks until its lease expires,
    /// and others would hold them too
    #[arg(long)]
    certainly_off: bool,
    #[command(flatten)]
    order: OrderArgs,
}

/// What a table shows.
struct Listing {
    cluster: String,
    /// Who answers.
    node: MemberId,
    epoch: u64,
    lease_left_ms: Option<u64>,
    halted: Option<String>,
    /// Also who is away, and voters that are no members at present.
    members: Vec<Member>,
}

struct Member {
    node: MemberId,
    address: String,
    /// Where clients reach it.
    api: Vec<String>,
    state: Presence,
    part: Part,
    link: Option<LinkState>,
    trouble: Option<String>,
}

/// Whether a node belongs to the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It does.
    Member,
    /// It is not heard of, but its lease may still run.
    Away,
    /// It does not.
    Gone,
    /// The node that was asked is no member itself, and has no view.
    Unknown,
}

impl Presence {
    pub(super) fn of(node: MemberId, status: &Status) -> Self {
        if status.members.is_empty() {
            Presence::Unknown
        } else if status.members.iter().any(|member| member.node == node) {
            Presence::Member
        } else if status.away.contains(&node) {
            Presence::Away
        } else {
            Presence::Gone
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Presence::Member => "yes",
            Presence::Away => "AWAY",
            Presence::Gone => "GONE",
            Presence::Unknown => "?",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let config = self.node.reach.question()?;
        runtime::on_one_thread(async {
            loop {
                let status = Client::status(&config).await.map_err(failure::of_client)?;
                show(self.node.json, self.watch, &status, out, |status, out| {
                    Listing::new(status).print(out)
                })?;
                if !self.watch {
                    return Ok(Listing::new(&status).verdict());
                }
                tokio::time::sleep(EVERY).await;
            }
        })
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
        let is_back = Presence::of(member, &status) == Presence::Member;
        show(order.json, false, &status, out, |status, out| Listing::new(status).print(out))?;
        if !is_back {
            return Ok(Verdict::Fine);
        }
        // If nobody listens, the exit code says it.
        let _ = writeln!(
            io::stderr(),
            "warning: {member} was removed, but it was not off: it runs and has entered again. What it held \
             was free for others at once, while its clients may have believed in it until its lease ended: \
             compare fences where it counts"
        );
        Ok(Verdict::Violated)
    }
}

impl Listing {
    fn new(status: &Status) -> Self {
        let absent = status.views.voters.iter().map(|voter| voter.node);
        let mut absent: Vec<(MemberId, Presence)> = absent
            .chain(status.away.iter().copied())
            .map(|id| (id, Presence::of(id, status)))
            .filter(|(_, state)| matches!(state, Presence::Away | Presence::Gone))
            .collect();
        absent.sort_by_key(|(id, _)| *id);
        absent.dedup();
        let Status { node, epoch, lease_left_ms, members, views, .. } = status;
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
            .iter()
            .map(|it| Member {
                node: it.node,
                address: it.address.clone(),
                api: it.api.clone(),
                state: Presence::Member,
                part: part(it.node),
                link: Some(it.link),
                trouble: it.trouble.clone(),
            })
            .collect();
        for (id, state) in absent {
            let mut known = views.voters.iter().filter(|voter| voter.node == id);
            rows.push(Member {
                node: id,
                address: known.find_map(|voter| voter.address.clone()).unwrap_or_default(),
                api: Vec::new(),
                state,
                part: part(id),
                link: None,
                trouble: None,
            });
        }
        rows.sort_by_key(|row| row.node);
        let cluster = status.cluster.clone();
        let (node, epoch, lease_left_ms) = (*node, *epoch, *lease_left_ms);
        let halted = match status.drain {
            Some(_) => Some("it was drained and is not a member".to_string()),
            None => status.halted.clone(),
        };
        Listing { cluster, node, epoch, lease_left_ms, halted, members: rows }
    }

    fn verdict(&self) -> Verdict {
        let is_down =
            |it: &Member| it.link != Some(LinkState::Up) && it.link != Some(LinkState::Own);
        let down = self.members.iter().any(is_down);
        if down || self.halted.is_some() { Verdict::Violated } else { Verdict::Fine }
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let Listing { cluster, node, epoch, .. } = self;
        let lease = self.lease_left_ms.map(|left| format!(" · its lease: {} left", lasted(left)));
        let lease = lease.unwrap_or_default();
        let said = format!("`{cluster}` as {node} sees it · epoch {epoch}{lease}");
        writeln!(out, "{}", folded(&said))?;
        if let Some(why) = &self.halted {
            writeln!(out, "{}", folded(&format!("{node} grants nothing: {why}")))?;
        }
        if self.members.is_empty() {
            return Ok(());
        }
        let mut rows = table(["member", "address", "clients", "part", "link", "trouble"]);
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
                None => row.state.word(),
            };
            let trouble = match row.state {
                Presence::Member => row.trouble.clone().unwrap_or_default(),
                Presence::Away => "not heard of; its lease may still run".to_string(),
                Presence::Gone => "no member: drained, down or cut off; it has a vote".to_string(),
                Presence::Unknown => String::new(),
            };
            rows.add_row([
                row.node.to_string(),
                row.address.clone(),
                row.api.join(" "),
                part.to_string(),
                link.to_string(),
                trouble,
            ]);
        }
        let without = fitted(&mut rows, &["clients"]);
        keep_whole(&mut rows, &["address", "link"]);
        writeln!(out, "{rows}")?;
        if let Some(without) = without {
            writeln!(out, "{}", folded(&without))?;
        }
        Ok(())
    }
}
