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
use super::reach::ReachArgs;
use super::runtime;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron locks deploy                               who holds it, and with which fence
  skeptron unlock deploy --fence 1099511627783 --reason 'its script hangs, ticket 812'
  skeptron unlock deploy --fence 1099511627783 --now  do not wait until its holder must know

Whoever holds the lock with that fence has lost it. A client learns that with its next sign of
life, and `skeptron lock` then ends its command; its session and its other locks stay. The next
one gets the lock when the former holder gives it back, or when it must know by its own clock:
never two believe to hold it. With --now the next one gets it at once, while the former holder
may believe in it for as long as is printed: then only the fence protects what the lock guards.

Any node of the cluster takes this order, if the client may administer it (`admin` in
`[[api.roles]]`); its audit log has who broke what, and why.

Exit codes: 0 it is broken, 2 bad input, or it was refused: nobody holds it, or with another
fence, 69 no node can be reached.")]
pub(crate) struct UnlockArgs {
    /// Which lock
    #[arg(value_name = "NAME")]
    name: String,
    /// The fence of the entry that is to end, as `skeptron locks` shows it: a later holder is not touched
    #[arg(long, value_name = "NUMBER")]
    fence: Fence,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// Let the next one have it at once, although its holder may not know yet
    #[arg(long)]
    now: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

impl UnlockArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let UnlockArgs { name: lock, fence, reason, now, json, reach } = self;
        let config = reach.question()?;
        let unlock = Unlock { lock, fence, reason, now };
        let asked = async { Client::unlock(&config, &unlock).await.map_err(failure::of_client) };
        let unlocked = runtime::on_one_thread(asked)?;
        match json {
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
        (true, 0) => "others may have it now".to_string(),
        (true, _) => format!(
            "others may have it now, while its former holder may believe in it for {left} more: only the \
             fence protects"
        ),
        (false, _) => format!("others get it in {left} at most, when its former holder must know"),
    };
    format!("`{lock}` (fence {fence:#}) at {node} is broken; {next}.")
}
