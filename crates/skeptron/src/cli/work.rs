//! How much of a long piece of work a process does: its share of the runs, and on how many threads.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use rayon::{ThreadPool, ThreadPoolBuilder};

const MOST_THREADS: usize = 1024;

/// Threads for work: as many as were asked for, or one per core.
pub(super) fn pool(threads: Option<usize>) -> Result<ThreadPool> {
    let threads = threads.unwrap_or_else(rayon::current_num_threads);
    ensure!(
        (1..=MOST_THREADS).contains(&threads),
        "--threads is {threads}; from 1 to {MOST_THREADS} are possible"
    );
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// `K/N`: of N processes that share the runs this is the K-th. It makes every N-th run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    place: usize,
    of: usize,
}

impl Shard {
    /// A process that makes all runs.
    pub(super) const WHOLE: Shard = Shard { place: 1, of: 1 };

    /// How many shards there are.
    pub(super) fn of(self) -> usize {
        self.of
    }

    /// All of them.
    pub(super) fn all(self) -> impl Iterator<Item = Shard> {
        (1..=self.of).map(move |place| Shard { place, ..self })
    }

    /// Which one it is, counted from 0.
    pub(super) fn place(self) -> usize {
        self.place - 1
    }

    /// Whether it makes the run of that number, counted from 0.
    pub(super) fn has(self, run: usize) -> bool {
        run % self.of == self.place()
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "write K/N with K from 1 to N, as in 2/8";
        let (place, of) = text.split_once('/').ok_or(FORM)?;
        let (place, of) = place.parse().ok().zip(of.parse().ok()).ok_or(FORM)?;
        if (1..=of).contains(&place) { Ok(Shard { place, of }) } else { Err(FORM) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.place, self.of)
    }
}

impl serde::Serialize for Shard {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_of_one_shard() {
        for of in 1..=5 {
            let shards: Vec<Shard> =
                (1..=of).map(|place| format!("{place}/{of}").parse().unwrap()).collect();
            for run in 0..23 {
                assert_eq!(shards.iter().filter(|shard| shard.has(run)).count(), 1);
            }
        }
        for wrong in ["", "1", "0/3", "4/3", "a/b", "1/0", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
