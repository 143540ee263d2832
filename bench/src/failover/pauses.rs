//! Clients that take locks in turn, and how long each lock stood still when a member was killed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::locks::report::median;
use crate::locks::workload::Locker;

/// Between two entries of one lock.
const PAUSE: Duration = Duration::from_millis(10);
/// Until clients have met every lock.
const WARM_UP: Duration = Duration::from_secs(1);
/// How long locks are watched before the kill, and at least after it: longer than a lease.
const WATCH: Duration = Duration::from_secs(4);
/// How long a lock may stand still before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What one kill cost each lock, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    pub after: Vec<f64>,
    /// The same before the kill.
    pub calm: Vec<f64>,
}

type Entries = Arc<Mutex<Vec<Instant>>>;

/// Lets each pair of clients take a lock of its own in turn, does `kill` meanwhile, and goes on until
/// `recovered` and until all locks have been watched long enough. Also gives the time of the kill and
/// what `recovered` gave.
pub(super) async fn watch<L: Locker, T>(
    pairs: Vec<[L; 2]>,
    kill: impl FnOnce() -> Result<()>,
    recovered: impl Future<Output = Result<T>>,
) -> Result<(Pauses, Instant, T)> {
    let mut clients = JoinSet::new();
    let mut locks: Vec<Entries> = Vec::new();
    for (number, pair) in pairs.into_iter().enumerate() {
        let entries = Entries::default();
        locks.push(entries.clone());
        clients.spawn(take_turns(pair, format!("bench/failover/{number}"), entries));
    }
    sleep(WARM_UP).await;
    let begin = Instant::now();
    sleep(WATCH).await;
    let killed = Instant::now();
    kill()?;
    let settled = async {
        sleep(WATCH).await;
        let recovered = recovered.await?;
        // Whoever stands still now is waited for: a pause that is cut off would look short.
        let end = Instant::now();
        for entries in &locks {
            while entries_of(entries).last().is_none_or(|&last| last < end) {
                sleep(PAUSE).await;
            }
        }
        anyhow::Ok(recovered)
    };
    let settled = tokio::time::timeout(PATIENCE, settled).await;
    let recovered = settled.context("a lock stands still for a minute after the kill")??;
    let mut pauses = Pauses::default();
    for entries in &locks {
        let (calm, after) = stood_still(&entries_of(entries), begin, killed)
            .context("a lock was hardly entered before the kill: the machine is too busy")?;
        pauses.calm.push(calm);
        pauses.after.push(after);
    }
    Ok((pauses, killed, recovered))
}

fn entries_of(entries: &Entries) -> Vec<Instant> {
    entries.lock().expect("nothing panics under this lock").clone()
}

/// The longest time between two entries from `begin` to the kill, and from the kill on, both less the
/// usual one, in milliseconds.
fn stood_still(entries: &[Instant], begin: Instant, killed: Instant) -> Option<(f64, f64)> {
    let ms = |pair: &[Instant]| (pair[1] - pair[0]).as_secs_f64() * 1e3;
    let before = || entries.windows(2).filter(|pair| begin <= pair[0] && pair[1] < killed).map(ms);
    let after = entries.windows(2).filter(|pair| killed <= pair[1]).map(ms);
    let usual = median(before())?;
    let beyond = |gaps: f64| (gaps - usual).max(0.0);
    Some((beyond(before().fold(0.0, f64::max)), beyond(after.fold(0.0, f64::max))))
}

/// For ever. Whoever is refused tries again: that is part of the pause.
async fn take_turns<L: Locker>(mut pair: [L; 2], lock: String, entries: Entries) {
    loop {
        for client in &mut pair {
            while client.acquire(&lock).await.is_err() {
                sleep(PAUSE).await;
            }
            entries.lock().expect("nothing panics under this lock").push(Instant::now());
            while client.release().await.is_err() {
                sleep(PAUSE).await;
            }
            sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::stood_still;

    #[test]
    fn a_pause_is_the_longest_gap_less_the_usual_one() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        // The gap around the kill counts as after it; what was before the beginning counts nowhere.
        let entries = [0, 900, 910, 920, 935, 945, 1445, 1455].map(at);
        let (calm, after) = stood_still(&entries, at(900), at(1000)).unwrap();
        assert_eq!((calm.round(), after.round()), (5.0, 490.0));
        assert_eq!(stood_still(&entries[..2], at(900), at(1000)), None, "nothing to compare with");
    }
}
