//! Counters that only a lock protects.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter in memory: read, given time for others to interfere, and written.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    value: AtomicU64,
    /// Who entered with which fence, in the order of entries.
    entries: Mutex<Vec<(usize, u64)>>,
}

impl Counter {
    /// Adds one, as the holder of the lock with this fence.
    pub(crate) async fn add_one(&self, asker: usize, fence: u64) {
        let value = self.value.load(Ordering::Acquire);
        self.entries.lock().unwrap().push((asker, fence));
        tokio::task::yield_now().await;
        self.value.store(value + 1, Ordering::Release);
    }

    /// Panics unless so many were added, one after the other; who did, in order.
    pub(crate) fn judge(&self, expected: u64) -> Vec<usize> {
        let value = self.value.load(Ordering::Acquire);
        assert_eq!(value, expected, "{} increments were lost", expected - value.min(expected));
        let (askers, fences): (Vec<usize>, Vec<u64>) =
            self.entries.lock().unwrap().iter().copied().unzip();
        judge_fences(&fences, expected);
        askers
    }
}

/// A counter in a file, which a shell reads and writes.
#[derive(Debug)]
pub(crate) struct CounterFile {
    value: PathBuf,
    fences: PathBuf,
}

impl CounterFile {
    /// Begins with 0.
    pub(crate) fn new(folder: &Path) -> Self {
        let file = CounterFile { value: folder.join("value"), fences: folder.join("fences") };
        fs::write(&file.value, "0\n").unwrap();
        fs::write(&file.fences, "").unwrap();
        file
    }

    /// The shell's part: adds one and notes the fence.
    pub(crate) fn script(&self) -> String {
        let (value, fences) = (self.value.display(), self.fences.display());
        format!(
            "read n < '{value}'; echo $SKEPTRON_FENCE >> '{fences}'; echo $((n + 1)) > '{value}'"
        )
    }

    /// Panics unless so many were added, one after the other.
    pub(crate) fn judge(&self, expected: u64) {
        let value = fs::read_to_string(&self.value).unwrap();
        assert_eq!(value.trim(), expected.to_string(), "increments of the file were lost");
        let fences = fs::read_to_string(&self.fences).unwrap();
        let fences: Vec<u64> = fences.lines().map(|fence| fence.parse().unwrap()).collect();
        judge_fences(&fences, expected);
    }
}

fn judge_fences(fences: &[u64], expected: u64) {
    assert_eq!(fences.len() as u64, expected);
    let falling = fences.windows(2).find(|pair| pair[0] >= pair[1]);
    assert_eq!(falling, None, "fences rise from entry to entry");
}

/// Nobody holds a lock here: the counter must notice.
#[tokio::test]
#[should_panic(expected = "1 increments were lost")]
async fn without_a_lock_increments_are_lost() {
    let counter = Counter::default();
    tokio::join!(counter.add_one(0, 1), counter.add_one(1, 2));
    counter.judge(2);
}

#[tokio::test]
#[should_panic(expected = "fences rise")]
async fn a_fence_seen_twice_is_noticed() {
    let counter = Counter::default();
    counter.add_one(0, 5).await;
    counter.add_one(0, 5).await;
    counter.judge(2);
}
