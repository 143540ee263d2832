//! Orders to the voters: given, and waited for until the cluster shows them.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use skeptron_client::{Client, ClientConfig, ClientError, Order};
use skeptron_net::MemberId;
use skeptron_net::report::{Status, VoterStatus};

use super::duration;
use super::failure::{self, Failure};
use super::reach::ReachArgs;

/// How an order is given.
#[derive(Args, Clone, Debug)]
pub(crate) struct OrderArgs {
    /// Wait at most this long until it is decided
    #[arg(long, value_name = "TIME", value_parser = duration::some, default_value = "30s")]
    wait: Duration,
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

/// How often is looked whether an order is decided.
const EVERY: Duration = Duration::from_millis(200);
/// How long a member that was removed, but runs, may take to enter again.
const BACK_WITHIN: Duration = Duration::from_secs(2);

impl OrderArgs {
    /// Gives the order, again while the voters are busy, and waits until the cluster shows it.
    pub(super) async fn carry_out(&self, order: Order) -> Result<Status> {
        let config = self.reach.question()?;
        let mut progress =
            Progress { order, until: Instant::now() + self.wait, said: String::new() };
        let before = Client::status(&config).await.map_err(failure::of_client)?;
        let seat = progress.give(&config, self.wait).await?;
        loop {
            let status = Client::status(&config).await.map_err(failure::of_client)?;
            match (stage(order, seat, &before, &status), order) {
                (Some(stage), _) => progress.wait(stage, self.wait).await?,
                (None, Order::RemoveMember { member }) => return settled(&config, member).await,
                (None, _) => return Ok(status),
            }
        }
    }
}

/// A member that was removed but runs enters again in a moment: that is to be seen.
async fn settled(config: &ClientConfig, member: MemberId) -> Result<Status> {
    let until = Instant::now() + BACK_WITHIN;
    loop {
        let status = Client::status(config).await.map_err(failure::of_client)?;
        let is_back = status.members.iter().any(|known| known.node == member);
        if is_back || Instant::now() >= until {
            return Ok(status);
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Which life of a member is in the view, if it is.
fn life(member: MemberId, status: &Status) -> Option<&str> {
    let known = status.members.iter().find(|known| known.node == member)?;
    Some(known.life.as_deref().unwrap_or_default())
}

/// An order that is not decided yet.
struct Progress {
    order: Order,
    until: Instant,
    said: String,
}

impl Progress {
    async fn give(&mut self, config: &ClientConfig, wait: Duration) -> Result<Option<u64>> {
        loop {
            match Client::order(config, self.order).await {
                Ok(ordered) => return Ok(ordered.seat),
                Err(ClientError::Busy(why)) => self.wait(why, wait).await?,
                Err(error) => return Err(failure::of_client(error)),
            }
        }
    }

    /// Says what is waited for, once each, and waits a moment.
    async fn wait(&mut self, stage: String, wait: Duration) -> Result<()> {
        if Instant::now() >= self.until {
            let remedy = remedy(self.order);
            return Err(Failure::Undecided { wait, stage, remedy }.into());
        }
        // A time that runs down is not news.
        let news: String = stage.chars().filter(|it| !it.is_ascii_digit()).collect();
        if news != self.said {
            // If nobody listens, the order is carried out all the same.
            let _ = writeln!(io::stderr(), "waiting: {stage}");
            self.said = news;
        }
        tokio::time::sleep(EVERY).await;
        Ok(())
    }
}

/// What is left to be done, if anything is.
fn stage(order: Order, seat: Option<u64>, before: &Status, status: &Status) -> Option<String> {
    let voters = &status.views.voters;
    let of = |member| voters.iter().filter(move |voter| voter.node == member);
    let new = |member| {
        let is_new = |voter: &&VoterStatus| Some(voter.seat) >= seat;
        match of(member).rfind(is_new) {
            Some(voter) if voter.votes => None,
            Some(_) => Some(format!("{member} is being sent the log")),
            None => Some(format!("{member} will become a voter")),
        }
    };
    let gone = |member| {
        let is_old = |voter: &VoterStatus| seat.is_none_or(|seat| voter.seat < seat);
        of(member).any(is_old).then(|| format!("{member} still votes"))
    };
    match order {
        Order::AddVoter { member } => new(member),
        Order::ReplaceVoter { old, new: member } => new(member).or_else(|| gone(old)),
        Order::RemoveVoter { member } => gone(member),
        Order::RemoveMember { member } => {
            let former = life(member, before);
            let is_there = former.is_some() && life(member, status) == former;
            (is_there || status.away.contains(&member))
                .then(|| format!("{member} is still a member"))
        }
        // A member that does not vote is not told the length.
        Order::Lease { lease_ms, .. } => status
            .views
            .lease_ms
            .filter(|&present| present != lease_ms)
            .map(|_| "the new length is being decided".to_string()),
    }
}

fn remedy(order: Order) -> String {
    match order {
        Order::AddVoter { member } | Order::ReplaceVoter { new: member, .. } => format!(
            "a voter needs a folder (`data`): `skeptron status` at {member} shows what is wrong, \
             `skeptron voters remove {}` cancels the change",
            member.number()
        ),
        _ => "`skeptron voters` shows who votes, and who leads".to_string(),
    }
}
