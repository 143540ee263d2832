//! `skeptron up --chaos`: kills, restarts and separates members while clients take locks.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use skeptron_net::report::Status;
use skeptron_net::{MemberId, Node};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::judge::{Account, Judge};
use crate::cli::Verdict;
use crate::cli::runtime::Signals;
use crate::lab::{ActError, Live};

/// Fewer locks than clients, so that they are wanted by several.
const LOCKS: [&str; 4] = ["chaos/a", "chaos/b", "chaos/c", "chaos/d"];
const CLIENTS_PER_NODE: usize = 2;
/// A client gives up after that, and looks whether its node is another one now.
const CLIENT_WAITS: Duration = Duration::from_secs(1);
/// The cluster has this long to do what an act asks for.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
/// In the end every member must get every lock in this time.
const SERVED_WITHIN: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);

/// What is asked for.
pub(super) struct Chaos {
    pub(super) seed: u64,
    pub(super) lasts: Option<Duration>,
    pub(super) json: bool,
    /// How many members vote, P1 first.
    pub(super) voters: usize,
}

/// What is done to the cluster.
enum Act {
    Kill(MemberId),
    Restart(MemberId),
    Cut(BTreeSet<MemberId>),
    Heal,
}

/// What was done, and what the cluster did.
#[derive(Serialize)]
struct Done {
    at_ms: u64,
    act: &'static str,
    nodes: BTreeSet<MemberId>,
    epoch: u64,
    members: BTreeSet<MemberId>,
    leader: Option<MemberId>,
    /// How long the cluster took; none if it took too long.
    took_ms: Option<u64>,
}

#[derive(Serialize)]
struct Summary {
    seed: u64,
    lasted_ms: u64,
    acts: u64,
    epoch: u64,
    entries: u64,
    lost: u64,
    violations: u64,
    told: Vec<String>,
}

/// A generator that is the same on every machine (SplitMix64).
struct Chance(u64);

impl Chance {
    /// Uniform in `0 … n−1`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ z >> 31) * n as u128) >> 64) as usize
    }

    fn milliseconds(&mut self, low: usize, high: usize) -> Duration {
        Duration::from_millis((low + self.below(high - low)) as u64)
    }
}

impl Chaos {
    /// Until its time is over or a signal comes; then everything is mended and must work.
    pub(super) async fn run(
        &self,
        live: &Arc<Live>,
        signals: &mut Signals,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let began = Instant::now();
        if !self.json {
            writeln!(out, "\nChaos with seed {}; Ctrl-C ends it.", self.seed)?;
            out.flush()?;
        }
        let judge = Arc::new(Judge::default());
        let mut clients = JoinSet::new();
        for place in 0..live.nodes().len() * CLIENTS_PER_NODE {
            let chance = Chance(self.seed ^ (place as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03));
            let node = MemberId::at(place / CLIENTS_PER_NODE);
            clients.spawn(client(Arc::clone(live), node, Arc::clone(&judge), chance));
        }
        let mut acts = 0;
        let acting = async {
            let mut chance = Chance(self.seed);
            loop {
                sleep(chance.milliseconds(300, 1500)).await;
                if let Some(act) = self.choose(live, &mut chance) {
                    let done = perform(live, &act, began).await?;
                    acts += 1;
                    self.tell(&done, out)?;
                }
            }
        };
        let time = async {
            match self.lasts {
                Some(lasts) => sleep(lasts).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            failed = acting => return failed,
            _ = signals.next() => {}
            () = time => {}
        }
        clients.shutdown().await;
        let mut account = judge.account();
        // Whoever was inside lets go.
        drop(judge);
        // Another signal ends it without a last look.
        match signals.unless(mend(live)).await {
            Ok(Ok(())) => {}
            Ok(Err(stuck)) => account.violated(stuck),
            Err(_) => {}
        }
        self.sum_up(live, (began.elapsed(), acts), account, out)
    }

    /// Something that leaves a majority of the voters, and at least one member, able to go on.
    fn choose(&self, live: &Live, chance: &mut Chance) -> Option<Act> {
        let killed: Vec<MemberId> = live.killed().into_iter().collect();
        let apart: BTreeSet<MemberId> = live.apart().into_iter().flatten().collect();
        let ids = live.nodes().iter().map(Node::id).collect::<Vec<_>>();
        let out = |id: &MemberId| killed.contains(id) || apart.contains(id);
        let spare = (self.voters - 1) / 2;
        let votes = |id: &MemberId| id.place() < self.voters;
        let left = spare.saturating_sub(ids.iter().filter(|id| out(id) && votes(id)).count());
        let well: Vec<MemberId> = ids.into_iter().filter(|id| !out(id)).collect();
        let mut acts = Vec::new();
        if !killed.is_empty() {
            acts.push(Act::Restart(killed[chance.below(killed.len())]));
        }
        if !apart.is_empty() {
            acts.push(Act::Heal);
        }
        let free: Vec<MemberId> =
            well.iter().copied().filter(|id| left > 0 || !votes(id)).collect();
        if well.len() > 1 && !free.is_empty() {
            let first = free[chance.below(free.len())];
            acts.push(Act::Kill(first));
            if apart.is_empty() {
                // Perhaps with some who do not vote.
                let others = well.iter().copied().filter(|id| !votes(id) && *id != first);
                let mut group: BTreeSet<MemberId> =
                    others.filter(|_| chance.below(3) == 0).collect();
                group.insert(first);
                acts.push(Act::Cut(group));
            }
        }
        let drawn = chance.below(acts.len().max(1));
        acts.into_iter().nth(drawn)
    }

    fn tell(&self, done: &Done, out: &mut impl Write) -> Result<()> {
        if self.json {
            writeln!(out, "{}", serde_json::to_string(done)?)?;
        } else {
            let Done { at_ms, act, nodes, epoch, members, leader, took_ms } = done;
            let led = leader.map_or(String::new(), |leader| format!(", led by {leader}"));
            let what = match took_ms {
                Some(ms) => format!("after {:.1} s", *ms as f64 / 1e3),
                None => format!("not yet as they should after {} s", SETTLED_WITHIN.as_secs()),
            };
            let act = format!("{act} {}", listed(nodes));
            writeln!(
                out,
                "{:>7.1} s  {act:<16} epoch {epoch}: {} {what}{led}",
                *at_ms as f64 / 1e3,
                listed(members)
            )?;
        }
        Ok(out.flush()?)
    }

    fn sum_up(
        &self,
        live: &Live,
        (lasted, acts): (Duration, u64),
        account: Account,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let Account { entries, lost, violations, told } = account;
        let epoch = best(&live.nodes()).map_or(0, |status| status.epoch);
        let summary = Summary {
            seed: self.seed,
            lasted_ms: ms(lasted),
            acts,
            epoch,
            entries,
            lost,
            violations,
            told,
        };
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&summary)?)?;
        } else {
            writeln!(
                out,
                "\n{acts} acts in {:.0} s, {epoch} views, {entries} entries, of which {lost} were lost with \
                 their member (seed {}).",
                lasted.as_secs_f64(),
                self.seed
            )?;
            for what in &summary.told {
                writeln!(out, "VIOLATED: {what}")?;
            }
            if violations == 0 {
                writeln!(
                    out,
                    "Never two inside, every fence higher, and everybody is served again."
                )?;
            }
        }
        out.flush()?;
        Ok(if violations == 0 { Verdict::Fine } else { Verdict::Violated })
    }
}

async fn perform(live: &Live, act: &Act, began: Instant) -> Result<Done> {
    let at_ms = ms(began.elapsed());
    let since = Instant::now();
    let (name, nodes) = match act {
        Act::Kill(id) => ("kill", BTreeSet::from([*id])),
        Act::Restart(id) => ("restart", BTreeSet::from([*id])),
        Act::Cut(group) => ("cut off", group.clone()),
        Act::Heal => ("heal", live.apart().into_iter().flatten().collect()),
    };
    let done = match act {
        Act::Kill(id) => live.kill(*id).await,
        Act::Restart(id) => live.restart(*id).await,
        Act::Cut(group) => live.separate(vec![group.clone()]).await,
        Act::Heal => live.separate(Vec::new()).await,
    };
    match done {
        // Somebody did it from the page a moment before.
        Ok(()) | Err(ActError::Killed(_) | ActError::Runs(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let is_settled = settled(live, SETTLED_WITHIN).await;
    let status = best(&live.nodes());
    Ok(Done {
        at_ms,
        act: name,
        nodes,
        epoch: status.as_ref().map_or(0, |status| status.epoch),
        members: status.iter().flat_map(|status| &status.members).map(|it| it.node).collect(),
        leader: status.and_then(|status| status.views.leader),
        took_ms: is_settled.then(|| ms(since.elapsed())),
    })
}

/// Waits until the members that can are in a view of their own, and only they.
async fn settled(live: &Live, within: Duration) -> bool {
    let began = Instant::now();
    loop {
        let (killed, apart) = (live.killed(), live.apart());
        let is_well = |id| !killed.contains(&id) && !apart.iter().any(|group| group.contains(&id));
        let mut well = live.nodes();
        well.retain(|node| is_well(node.id()));
        let ids: Vec<MemberId> = well.iter().map(Node::id).collect();
        let agrees =
            |node: &Node| node.view().is_some_and(|view| view.ids().eq(ids.iter().copied()));
        if well.iter().all(|node| agrees(node) && node.status().halted.is_none()) {
            return true;
        }
        if began.elapsed() > within {
            return false;
        }
        sleep(LOOK).await;
    }
}

/// Brings everybody back, and lets each member take each lock.
async fn mend(live: &Live) -> Result<(), String> {
    let failed = |error: ActError| error.to_string();
    live.separate(Vec::new()).await.map_err(failed)?;
    for id in live.killed() {
        live.restart(id).await.map_err(failed)?;
    }
    if !settled(live, SERVED_WITHIN).await {
        return Err("not all members were back after everything was mended".to_string());
    }
    for node in live.nodes() {
        for lock in LOCKS {
            match node.lock_within(lock, SERVED_WITHIN).await {
                Ok(Some(guard)) => drop(guard),
                Ok(None) => return Err(format!("{} waited in vain for `{lock}`", node.id())),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
    Ok(())
}

/// Takes locks at one member, as long as it is asked to.
async fn client(live: Arc<Live>, at: MemberId, judge: Arc<Judge>, mut chance: Chance) {
    loop {
        sleep(chance.milliseconds(0, 20)).await;
        let Some(node) = live.nodes().into_iter().find(|node| node.id() == at) else { return };
        let lock = LOCKS[chance.below(LOCKS.len())];
        let asked = node.lock_within_as(lock, "chaos", CLIENT_WAITS).await;
        let Ok(Some(guard)) = asked else { continue };
        let fence = guard.fence();
        let guard = Arc::new(guard);
        let held = Arc::clone(&guard);
        judge.enter(lock, at, fence, move || held.is_valid());
        sleep(chance.milliseconds(1, 20)).await;
        judge.leave(lock, at, fence);
        drop(guard);
    }
}

/// Whoever is in the latest view.
fn best(nodes: &[Node]) -> Option<Status> {
    let statuses = nodes.iter().map(Node::status).filter(|status| status.halted.is_none());
    statuses.max_by_key(|status| status.epoch)
}

fn listed(ids: &BTreeSet<MemberId>) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
