//! `skeptron elect`.

use anyhow::Result;
use clap::Args;

use super::Verdict;
use super::lock::{Leads, LockArgs};

/// Of the command, since those of `skeptron lock` would come with its options.
pub(super) const EXAMPLES: &str = "Examples:
  skeptron elect scheduler -- ./scheduler             run a command while this machine leads
  skeptron elect scheduler --value 10.0.0.7:80 -- ./scheduler
                                                      … and publish its address
  skeptron elect scheduler --again -- ./scheduler     … and campaign again after a loss
  skeptron elect scheduler --value $(hostname)        lead until Ctrl-C, and print the term
  skeptron leader scheduler --watch                   who leads, and every change

An election is a lock with a value: whoever holds it leads, and the fence of its entry is its term.
CMD finds the name in SKEPTRON_LOCK and the term in SKEPTRON_TERM and SKEPTRON_FENCE: a number that
rises from leader to leader. CMD is started once every member with observers knows the leader, and
gets signals, TERM and KILL as with `skeptron lock`: the commands of two leaders never run at once.

Exit codes: that of CMD, 128+S if signal S ended it, or
   2  bad input, or the node rejects the request, or a certificate is not accepted
  69  no node is reachable
  71  the cluster cannot grant it now: members are unreachable, or the node is not a member;
      an accepted request keeps waiting with --again, or unless --wait or --no-wait limits it
  75  not elected within --wait, or not immediately with --no-wait
  76  the lead was lost while CMD ran, without --again
 126  CMD cannot be run
 127  CMD was not found";

#[derive(Debug, Args)]
pub(crate) struct ElectArgs {
    /// Value shown to observers, up to 4096 bytes, for example an address [default: empty]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    value: String,
    /// Campaign again if the lead is lost while CMD runs
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    lock: LockArgs,
}

impl ElectArgs {
    pub(crate) fn run(self) -> Result<Verdict> {
        let ElectArgs { value, again, lock } = self;
        lock.lead(Leads { value, again })
    }
}
