//! `skeptron unlock`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use skeptron_client::{Client, Unlock, Unlocked};
use skeptron_net::Fence;

use super::Verdict;
use super::duration;
use super::failure;
use super::reach::AskArgs;
use super::runtime;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron locks deploy                               who holds it, and with which fence
  skeptron unlock deploy --fence 1099511627783 --reason 'its script hangs, ticket 812'
  skeptron unlock deploy --fence 1099511627783 --now  do not wait for its holder

The holder with that fence loses the lock. Its client learns this with its next keep-alive, and
`skeptron lock` then terminates its command; the session and its other locks are not affected. The
next waiter gets the lock when the former holder releases it, or when that holder must know by its
own clock that it is lost: two clients never believe that they hold it. With --now the next waiter
gets it at once, while the former holder may believe that it holds it for the printed time: then only
the fence protects the resource.

Any node of the cluster accepts this request from clients with `admin` in `[[api.roles]]`; its audit
log has who broke what, and why.

Exit codes: 0 it is broken, 2 bad input, or the request was rejected: nobody holds the lock, or with
another fence, 69 no node is reachable.")]
pub(crate) struct UnlockArgs {
    /// Name of the lock
    #[arg(value_name = "NAME")]
    name: String,
    /// Fence of the entry to end, as `skeptron locks` shows it: a later holder is not affected
    #[arg(long, value_name = "NUMBER")]
    fence: Fence,
    /// Reason, for the audit log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// Grant it to the next waiter at once, although its holder may not know yet
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    node: AskArgs,
}

impl UnlockArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let UnlockArgs { name: lock, fence, reason, now, node } = self;
        let config = node.reach.question()?;
        let unlock = Unlock { lock, fence, reason, now };
        let asked = async { Client::unlock(&config, &unlock).await.map_err(failure::of_client) };
        let unlocked = runtime::on_one_thread(asked)?;
        match node.json {
            true => writeln!(out, "{}", serde_json::to_string(&unlocked)?)?,
            false => writeln!(out, "{}", told(&unlocked))?,
        }
        Ok(Verdict::Fine)
    }
}

fn told(unlocked: &Unlocked) -> String {
    let Unlocked { lock, fence, node, handed_on, believed_ms } = unlocked;
    let left = duration::written(Duration::from_millis(*believed_ms));
    let next = match (handed_on, believed_ms) {
        (true, 0) => "it can be granted now".to_string(),
        (true, _) => format!(
            "it can be granted now, while its former holder may believe for {left} more that it holds it: \
             only the fence protects"
        ),
        (false, _) => {
            format!("it can be granted in at most {left}, when its former holder must know")
        }
    };
    format!("`{lock}` (fence {fence:#}) at {node} is broken; {next}.")
}
