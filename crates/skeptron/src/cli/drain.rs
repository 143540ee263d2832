//! `skeptron drain`.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use skeptron_client::{Client, ClientConfig, Drained};
use skeptron_net::report::{Drain, Status};

use super::Verdict;
use super::duration;
use super::failure::{self, Failure};
use super::reach::AskArgs;
use super::runtime;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron drain                                      the node on this machine stops serving clients
  skeptron drain --undo                               it serves again
  skeptron drain --endpoint https://10.0.0.4:7470 --tls certs --wait 5m

The node accepts no more requests and tells its clients to move: those that know another endpoint
continue there with their locks and fences, or continue to wait. Then it leaves the cluster: nobody
waits for its lease, and no lock depends on its machine. Its process keeps running, and its voter
keeps voting. It serves again after --undo or a restart.

A client that knows no other endpoint loses its locks when the node's current lease expires; the node
waits for that. The only member cannot be drained, nor a node with fixed members.

Exit codes: 0 done, 2 bad input, or the request was rejected, 69 no node is reachable, 75 it was not
done in time (draining continues).")]
pub(crate) struct DrainArgs {
    /// Serve clients again
    #[arg(long)]
    undo: bool,
    /// Wait at most this long until it is done
    #[arg(long, value_name = "TIME", value_parser = duration::some, default_value = "60s")]
    wait: Duration,
    #[command(flatten)]
    node: AskArgs,
}

const EVERY: Duration = Duration::from_millis(100);

impl DrainArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let status = runtime::on_one_thread(self.carry_out())?;
        let node = status.node;
        if self.node.json {
            let drained = Drained { node, drain: status.drain };
            writeln!(out, "{}", serde_json::to_string(&drained)?)?;
        } else if self.undo {
            writeln!(out, "{node} serves clients.")?;
        } else {
            let votes = status.views.voters.iter().any(|it| it.node == node && it.votes);
            let part = if votes { "It still votes" } else { "It still runs" };
            writeln!(out, "{node} is drained: it has no clients and is not a member.")?;
            writeln!(out, "{part}; `skeptron drain --undo` or a restart lets it serve again.")?;
        }
        Ok(Verdict::Fine)
    }

    /// Gives the order, and waits until the node says that it is done.
    async fn carry_out(&self) -> Result<Status> {
        let mut config = self.node.reach.question()?;
        // One that drains is not to be taken for another.
        config.endpoints.truncate(1);
        Client::drain(&config, self.undo).await.map_err(failure::of_client)?;
        let until = Instant::now() + self.wait;
        loop {
            let status = look(&config).await?;
            let Some(stage) = self.stage(&status) else { return Ok(status) };
            if Instant::now() >= until {
                let remedy = "draining continues; `skeptron status` shows the progress".to_string();
                return Err(Failure::Undecided { wait: self.wait, stage, remedy }.into());
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// What is left to be done, if anything is.
    fn stage(&self, status: &Status) -> Option<String> {
        let Status { node, held_locks, .. } = status;
        match (self.undo, status.drain) {
            (false, Some(Drain::Drained)) => None,
            (false, Some(Drain::Draining)) => {
                Some(format!("{node} still has {held_locks} locks of clients that have not moved"))
            }
            (false, None) => Some(format!("{node} was told to serve again meanwhile")),
            (true, None) if !status.leaving && status.halted.is_none() => None,
            (true, None) => Some(format!("{node} has not rejoined the cluster")),
            (true, Some(_)) => Some(format!("{node} was drained again meanwhile")),
        }
    }
}

async fn look(config: &ClientConfig) -> Result<Status> {
    Client::status(config).await.map_err(failure::of_client)
}
