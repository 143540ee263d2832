//! What clients do with locks, and how long it takes them.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::judge::Judge;

/// Somebody who takes locks, one at a time.
pub(crate) trait Locker: Send + 'static {
    /// Waits for the lock; its fence, if the service has such a thing.
    fn acquire(&mut self, lock: &str) -> impl Future<Output = Result<Option<u64>>> + Send;

    /// Gives back what it holds.
    fn release(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Who asks for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Workload {
    /// A message there and back, no lock at all.
    RoundTrip,
    /// One client, one lock, no clock read but at the end of a batch.
    Again,
    /// One client, one lock, every cycle timed.
    Alone,
    /// One client that takes one lock at two nodes in turn: ask there, get it here.
    Fetch,
    /// Two clients at two nodes, one lock.
    Pair,
    /// Eight clients, spread over the nodes, one lock.
    Eight,
    /// Sixteen clients, spread over the nodes, each asking for one of 64 locks at random.
    Many,
}

impl Workload {
    /// How it is called in the table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Workload::RoundTrip => "round trip",
            Workload::Again => "1 client, again",
            Workload::Alone => "1 client",
            Workload::Fetch => "1 client, 2 nodes",
            Workload::Pair => "2 clients, 1 lock",
            Workload::Eight => "8 clients, 1 lock",
            Workload::Many => "16 clients, 64 locks",
        }
    }

    /// How many clients take part.
    pub(super) fn clients(self) -> usize {
        match self {
            Workload::RoundTrip | Workload::Again | Workload::Alone | Workload::Fetch => 1,
            Workload::Pair => 2,
            Workload::Eight => 8,
            Workload::Many => 16,
        }
    }

    /// How many locks they share.
    pub(super) fn locks(self) -> usize {
        if self == Workload::Many { 64 } else { 1 }
    }

    /// Cycles between two looks at the clock. A cycle of a fraction of a microsecond would otherwise
    /// be measured together with the clock.
    fn batch(self) -> u32 {
        if self == Workload::Again { 64 } else { 1 }
    }
}

/// What was seen in one round of one row.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Complete cycles per second.
    pub cycles_per_second: f64,
    /// Entries by another client than the one before, per second.
    pub handovers_per_second: f64,
    /// How long the cycles took, in nanoseconds.
    pub times: Histogram<u64>,
    /// Cycles of each client.
    pub of_clients: Vec<u64>,
}

/// How long a client may be stuck beyond the end of a round before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lets `lockers` do the workload for so long, after a tenth of that to warm up. The judge's counters
/// go on from round to round.
pub(crate) async fn run<L: Locker>(
    lockers: Vec<L>,
    workload: Workload,
    names: &Arc<[String]>,
    judge: &Arc<Judge>,
    span: Duration,
) -> Result<Sample> {
    let barrier = Arc::new(Barrier::new(lockers.len()));
    // The same for all: whoever is kept from starting is late, not measured at another time.
    let start = Arc::new(OnceLock::new());
    let warm_up = span / 10;
    let (entries, handovers) = (judge.entries(), judge.handovers());
    let mut clients = JoinSet::new();
    for (client, locker) in lockers.into_iter().enumerate() {
        let shift =
            Shift { workload, client, names: names.clone(), judge: judge.clone(), warm_up, span };
        let (barrier, start) = (barrier.clone(), start.clone());
        clients.spawn(async move {
            barrier.wait().await;
            shift.work(locker, *start.get_or_init(Instant::now)).await
        });
    }
    let all = async {
        let mut tallies = Vec::new();
        while let Some(tally) = clients.join_next().await {
            tallies.push(tally??);
        }
        anyhow::Ok(tallies)
    };
    let Ok(tallies) = tokio::time::timeout(warm_up + span + PATIENCE, all).await else {
        bail!("a client got no lock for {} s: the service is stuck", PATIENCE.as_secs());
    };
    let mut tallies = tallies?;
    judge.compare(entries + tallies.iter().map(|tally| tally.entries).sum::<u64>());
    tallies.sort_by_key(|tally| tally.client);
    let mut times = new_histogram();
    for tally in &tallies {
        times.add(&tally.times)?;
    }
    let per_second = |count: u64| count as f64 / span.as_secs_f64();
    let all_entries = judge.entries() - entries;
    let measured: u64 = tallies.iter().map(|tally| tally.measured).sum();
    // Hand-overs are counted from the beginning, the warm-up included.
    let share = (judge.handovers() - handovers) as f64 / all_entries.max(1) as f64;
    Ok(Sample {
        cycles_per_second: per_second(measured),
        handovers_per_second: per_second(measured) * share,
        times,
        of_clients: tallies.iter().map(|tally| tally.measured).collect(),
    })
}

/// From 1 ns to a minute, three digits.
pub(super) fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order")
}

/// What one client has to do.
struct Shift {
    workload: Workload,
    client: usize,
    names: Arc<[String]>,
    judge: Arc<Judge>,
    warm_up: Duration,
    span: Duration,
}

/// What one client did.
struct Tally {
    client: usize,
    entries: u64,
    /// Of these, within the time that counts.
    measured: u64,
    times: Histogram<u64>,
}

impl Shift {
    async fn work<L: Locker>(self, mut locker: L, start: Instant) -> Result<Tally> {
        let mut tally =
            Tally { client: self.client, entries: 0, measured: 0, times: new_histogram() };
        let mut draw = Draw::new(self.client);
        let (counts_from, ends) = (start + self.warm_up, start + self.warm_up + self.span);
        let batch = self.workload.batch();
        let mut before = Instant::now();
        loop {
            for _ in 0..batch {
                let lock = draw.below(self.names.len());
                let fence = locker.acquire(&self.names[lock]).await?;
                self.judge.visit(lock, self.client, fence);
                locker.release().await?;
            }
            tally.entries += u64::from(batch);
            let now = Instant::now();
            if now > ends {
                return Ok(tally);
            }
            if before >= counts_from {
                let each = (now - before).as_nanos() / u128::from(batch);
                tally.times.saturating_record(u64::try_from(each).unwrap_or(u64::MAX));
            }
            if now >= counts_from {
                tally.measured += u64::from(batch);
            }
            before = now;
        }
    }
}

/// Draws locks: the same ones in every run.
struct Draw(u64);

impl Draw {
    fn new(client: usize) -> Self {
        Draw((client as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, count: usize) -> usize {
        if count == 1 {
            return 0;
        }
        // Xorshift: enough to spread clients over locks.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % count
    }
}
