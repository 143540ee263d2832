//! `skeptron elect`.

use anyhow::Result;
use clap::Args;

use super::Verdict;
use super::lock::{Leads, LockArgs};

/// Of the command, since those of `skeptron lock` would come with its options.
pub(super) const EXAMPLES: &str = "Examples:
  skeptron elect scheduler -- ./scheduler             run it while this machine leads
  skeptron elect scheduler --value 10.0.0.7:80 -- ./scheduler
                                                      … and show the others where
  skeptron elect scheduler --again -- ./scheduler     … and campaign again after a loss
  skeptron elect scheduler --value $(hostname)        lead until Ctrl-C, and print the term
  skeptron leader scheduler --watch                   who leads, and every change

An election is a lock with a value: whoever holds it leads, and the fence of its entry is its term.
CMD finds the name in SKEPTRON_LOCK and the term in SKEPTRON_TERM and SKEPTRON_FENCE: a number that
rises from leader to leader. CMD is started once every member with observers knows the leader, and
gets signals, TERM and KILL as with `skeptron lock`: no two leaders' commands run at once.

Exit codes: that of CMD, 128+S if signal S ended it, or
   2  bad input, or the node refuses, or one side does not accept the other's certificate
  69  no node can be reached
  71  the cluster cannot grant now: members that must agree are unreachable, or the node is not one;
      once a node has taken it, it waits through that with --again, and unless --wait or --no-wait
      limits it
  75  not elected: not in time, or not at once with --no-wait
  76  the lead was lost while CMD ran, without --again
 126  CMD cannot be run
 127  there is no CMD of that name";

#[derive(Debug, Args)]
pub(crate) struct ElectArgs {
    /// What observers are shown, up to 4096 bytes: an address, say [default: nothing]
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
