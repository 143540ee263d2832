//! `skeptron leave`.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use skeptron_client::{Client, ClientError};
use skeptron_net::MemberId;

use super::Verdict;
use super::duration;
use super::failure::{self, Failure};
use super::reach::AskArgs;
use super::runtime;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron leave                                      the node on this machine leaves and exits
  skeptron leave --endpoint https://10.0.0.4:7470 --tls certs

The same as the signal TERM: the node accepts no more requests, waits up to `shutdown_grace` for
its locks to be released, hands over its tokens, leaves the cluster and exits; nobody waits for its
lease. A service manager with Restart=always starts it again, which is a clean restart. A voter
keeps its vote: if it will not come back, run `skeptron voters remove K` first.

Exit codes: 0 it has exited, 2 bad input, or the request was rejected, 69 no node is reachable,
75 it has not exited in time.")]
pub(crate) struct LeaveArgs {
    /// Wait at most this long until it has exited
    #[arg(long, value_name = "TIME", value_parser = duration::some, default_value = "60s")]
    wait: Duration,
    #[command(flatten)]
    node: AskArgs,
}

/// What `--json` says.
#[derive(Serialize)]
struct Left {
    node: MemberId,
    left: bool,
    voter: bool,
}

const EVERY: Duration = Duration::from_millis(100);

impl LeaveArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let Left { node, left, voter } = runtime::on_one_thread(self.leave())?;
        if self.node.json {
            writeln!(out, "{}", serde_json::to_string(&Left { node, left, voter })?)?;
        } else {
            writeln!(out, "{node} has left.")?;
            if voter {
                writeln!(
                    out,
                    "It still has a vote: if it does not come back, run `skeptron voters remove {}` at \
                     another node.",
                    node.number()
                )?;
            }
        }
        Ok(Verdict::Fine)
    }

    async fn leave(&self) -> Result<Left> {
        let mut config = self.node.reach.question()?;
        // One that leaves is not to be taken for another.
        config.endpoints.truncate(1);
        let before = Client::status(&config).await.map_err(failure::of_client)?;
        let node = Client::leave(&config).await.map_err(failure::of_client)?;
        let voter = before.views.voters.iter().any(|voter| voter.node == node && voter.votes);
        let until = Instant::now() + self.wait;
        loop {
            match Client::status(&config).await {
                Err(ClientError::Unreachable(_)) => return Ok(Left { node, left: true, voter }),
                // Whoever answers there now has begun later.
                Ok(status) if status.up_ms < before.up_ms => {
                    return Ok(Left { node, left: true, voter });
                }
                _ if Instant::now() >= until => {
                    let stage = format!("{node} has not ended yet");
                    let remedy =
                        "it waits for what is held at it: see `skeptron locks`".to_string();
                    return Err(Failure::Undecided { wait: self.wait, stage, remedy }.into());
                }
                _ => tokio::time::sleep(EVERY).await,
            }
        }
    }
}
