//! `skeptron locks`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use skeptron_client::{Client, Mode};
use skeptron_net::MemberId;
use skeptron_net::report::{
    Deadlock, ListedLock, LockListing, LockQueue, SessionListing, Stuck, deadlocks,
};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::reach::AskArgs;
use super::runtime;
use super::table::{narrow_table, show};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron locks                      what is held or waited for, at all nodes
  skeptron locks orders/              only names with this prefix
  skeptron locks --watch              again every second
  skeptron locks --deadlocks          cycles of waiting sessions
  skeptron locks --json | jq '.locks[] | select(.waiters > 0) | .name'

The JSON is that of GET /v1/locks.

A deadlock is a number of sessions of which each waits for a lock that only others of them hold. Break
one with `skeptron unlock`, or take locks in the order of their names, as `skeptron lock A B` does.

Exit codes: 0 the listing is complete, 1 a member has not answered: its locks are missing, or
with --deadlocks there is one, 2 bad input, 69 no node is reachable.")]
pub(crate) struct LocksArgs {
    /// Prefix of the names [default: all]
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,
    /// Repeat every second until Ctrl-C; with --json one line each
    #[arg(long)]
    watch: bool,
    /// Show sessions that wait for each other in a cycle instead
    #[arg(long, conflicts_with = "prefix")]
    deadlocks: bool,
    #[command(flatten)]
    node: AskArgs,
}

const EVERY: Duration = Duration::from_secs(1);

impl LocksArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let config = self.node.reach.question()?;
        runtime::on_one_thread(async {
            loop {
                if self.deadlocks {
                    let listing = Client::sessions(&config).await.map_err(failure::of_client)?;
                    let found = Found::new(&listing);
                    show(self.node.json, self.watch, &found, out, Found::print)?;
                    if !self.watch {
                        let is_fine = found.complete && found.deadlocks.is_empty();
                        return Ok(if is_fine { Verdict::Fine } else { Verdict::Violated });
                    }
                    tokio::time::sleep(EVERY).await;
                    continue;
                }
                let listing = Client::locks(&config, &self.prefix).await;
                let listing = listing.map_err(failure::of_client)?;
                show(self.node.json, self.watch, &listing, out, print_table)?;
                if !self.watch {
                    return Ok(if listing.complete { Verdict::Fine } else { Verdict::Violated });
                }
                tokio::time::sleep(EVERY).await;
            }
        })
    }
}

/// What `--deadlocks` shows.
#[derive(Debug, Serialize)]
struct Found {
    deadlocks: Vec<Deadlock>,
    silent: Vec<MemberId>,
    complete: bool,
}

impl Found {
    fn new(listing: &SessionListing) -> Self {
        Found {
            deadlocks: deadlocks(&listing.sessions),
            silent: listing.silent.clone(),
            complete: listing.complete,
        }
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let quoted = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        if self.deadlocks.is_empty() {
            writeln!(out, "No sessions wait for each other for ever.")?;
        }
        for (number, Deadlock { sessions }) in self.deadlocks.iter().enumerate() {
            writeln!(out, "deadlock {} of {} sessions", number + 1, sessions.len())?;
            for Stuck { session, node, owner, holds, waits, .. } in sessions {
                let owner = if owner.is_empty() { "somebody" } else { owner };
                let holds = match holds.as_slice() {
                    [] => "nothing that they wait for".to_string(),
                    some => quoted(some),
                };
                let waits = quoted(waits);
                writeln!(out, "  {owner} ({session} at {node}) holds {holds}, waits for {waits}")?;
            }
        }
        print_missing(&self.silent, "sessions there are missing", out)
    }
}

fn print_table(listing: &LockListing, out: &mut impl Write) -> Result<()> {
    if listing.locks.is_empty() {
        writeln!(out, "No lock that you may see is held or waited for.")?;
    } else {
        let mut rows = narrow_table(["lock", "node", "owner", "fence", "there for", "waiting"]);
        for lock in &listing.locks {
            rows.add_row(row(lock));
        }
        writeln!(out, "{rows}")?;
    }
    print_missing(&listing.silent, "what is held and waited for there is missing", out)
}

/// Says what a listing lacks, if it is not complete.
pub(super) fn print_missing(silent: &[MemberId], what: &str, out: &mut impl Write) -> Result<()> {
    if !silent.is_empty() {
        let silent: Vec<String> = silent.iter().map(MemberId::to_string).collect();
        writeln!(out, "Not complete: no answer from {}; {what}.", silent.join(", "))?;
    }
    Ok(())
}

fn row(lock: &ListedLock) -> [String; 6] {
    let by_node = |LockQueue { node, waiters }: &LockQueue| format!("{node} {waiters}");
    let waiting = match lock.waiting.as_slice() {
        [] => "0".to_string(),
        some => {
            let places: Vec<String> = some.iter().map(by_node).collect();
            format!("{} ({})", lock.waiters, places.join(", "))
        }
    };
    let [node, owner, fence, held] = match &lock.holder {
        None => ["–", "", "", ""].map(String::from),
        Some(holder) => [
            holder.node.to_string(),
            match holder.mode {
                Mode::EXCLUSIVE => holder.owner.clone(),
                mode => format!("{} ({mode}, {} inside)", holder.owner, lock.inside),
            },
            format!("{:#}", holder.fence),
            lasted(holder.held_ms),
        ],
    };
    [lock.name.clone(), node, owner, fence, held, waiting]
}
