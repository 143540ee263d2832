//! `skeptron locks`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use skeptron_net::MemberId;
use skeptron_net::client::{Client, ClientConfig};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::reach::ReachArgs;
use super::runtime;
use super::table::{show, table};
use listing::{Listing, Lock, Queue};

pub(super) mod listing;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron locks                      what is held or waited for, at all nodes
  skeptron locks orders/              only names that begin like that
  skeptron locks --watch              again every second
  skeptron locks --json | jq '.locks[] | select(.waiters > 0) | .name'

Exit codes: 0 all members have answered, 1 one has not, 2 bad input, 69 no node can be reached.")]
pub(crate) struct LocksArgs {
    /// How the names begin [default: all]
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,
    /// Again every second, until Ctrl-C; with --json one line each
    #[arg(long)]
    watch: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

const EVERY: Duration = Duration::from_secs(1);

impl LocksArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let config = self.reach.question()?;
        runtime::on_one_thread(async {
            loop {
                let listing = self.ask(&config).await?;
                self.print(&listing, out)?;
                if !self.watch {
                    let complete = listing.silent.is_empty();
                    return Ok(if complete { Verdict::Fine } else { Verdict::Violated });
                }
                tokio::time::sleep(EVERY).await;
            }
        })
    }

    async fn ask(&self, config: &ClientConfig) -> Result<Listing> {
        let (seen, silent) =
            Client::locks(config, &self.prefix).await.map_err(failure::of_client)?;
        Ok(Listing::new(seen, silent))
    }

    fn print(&self, listing: &Listing, out: &mut impl Write) -> Result<()> {
        show(self.json, self.watch, listing, out, print_table)
    }
}

fn print_table(listing: &Listing, out: &mut impl Write) -> Result<()> {
    if listing.locks.is_empty() {
        writeln!(out, "No lock is held or waited for.")?;
    } else {
        let mut rows =
            table(["lock", "holder", "owner", "fence", "held for", "waiting", "algorithm"]);
        for lock in &listing.locks {
            rows.add_row(row(lock));
        }
        writeln!(out, "{rows}")?;
    }
    if !listing.silent.is_empty() {
        let silent: Vec<String> = listing.silent.iter().map(MemberId::to_string).collect();
        writeln!(out, "No answer from {}: what is held there is missing.", silent.join(", "))?;
    }
    Ok(())
}

fn row(lock: &Lock) -> [String; 7] {
    let by_node = |Queue { node, waiters }: &Queue| format!("{node} {waiters}");
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
            holder.owner.clone(),
            format!("{:#}", holder.fence),
            lasted(holder.held_ms),
        ],
    };
    [lock.name.clone(), node, owner, fence, held, waiting, lock.algorithm.clone()]
}
