//! Clusters of three processes, one of which is killed.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skeptron_net::Plan;
use tokio::time::sleep;

use super::pauses::{Pauses, watch};
use crate::locks::etcd::Etcd;
use crate::locks::ours::{Apart, Way};
use crate::locks::workload::Locker as _;

const NODES: usize = 3;
/// The lock that a client of the killed node holds.
const HELD: &str = "bench/failover/held";
/// How long a cluster may take until all vote.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    Follower,
    Leader,
}

impl Victim {
    fn place(self, leader: usize) -> usize {
        match self {
            Victim::Leader => leader,
            Victim::Follower => (leader + 1) % NODES,
        }
    }
}

/// Starts our nodes, kills one, and says what that cost locks of its peers, and in milliseconds how
/// long a lock that a client of it held was not to be had by another.
pub(super) async fn ours(plan: &Plan, locks: usize, victim: Victim) -> Result<(Pauses, f64)> {
    let mut nodes = Apart::start(plan, NODES).await?;
    let victim = victim.place(leader(&nodes).await?);
    let survivors = [(victim + 1) % NODES, (victim + 2) % NODES];
    let mut pairs = Vec::new();
    for _ in 0..locks {
        let [first, second] = survivors.map(|place| nodes.client(Way::Http, place));
        pairs.push([first.await?, second.await?]);
    }
    let mut holder = nodes.client(Way::Http, victim).await?;
    holder.acquire(HELD).await?;
    let mut waiter = nodes.client(Way::Http, survivors[0]).await?;
    let waiting = tokio::spawn(async move {
        waiter.acquire(HELD).await?;
        let entered = Instant::now();
        waiter.release().await?;
        anyhow::Ok(entered)
    });
    let kill = || nodes.kill(victim);
    let (pauses, killed, entered) = watch(pairs, kill, async { waiting.await? }).await?;
    ensure!(killed < entered, "a lock that is held was granted to another client");
    Ok((pauses, (entered - killed).as_secs_f64() * 1e3))
}

/// The place of the node that leads the voters, once all vote.
async fn leader(nodes: &Apart) -> Result<usize> {
    let start = Instant::now();
    loop {
        let views = nodes.status(0).await?.views;
        let voting = views.voters.iter().filter(|voter| voter.votes).count();
        if let Some(leader) = views.leader.filter(|_| voting == NODES) {
            return Ok(leader.place());
        }
        ensure!(start.elapsed() < PATIENCE, "{voting} of {NODES} nodes vote");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Kills one member of etcd, and says what that cost locks.
pub(super) async fn etcd(mut etcd: Etcd, locks: usize, victim: Victim) -> Result<Pauses> {
    let victim = victim.place(etcd.leader().await?);
    let survivors = [(victim + 1) % NODES, (victim + 2) % NODES];
    let mut pairs = Vec::new();
    for _ in 0..locks {
        let [first, second] = survivors.map(|place| etcd.client(place));
        pairs.push([first.await?, second.await?]);
    }
    let (pauses, ..) = watch(pairs, || etcd.kill(victim), async { Ok(()) }).await?;
    Ok(pauses)
}
