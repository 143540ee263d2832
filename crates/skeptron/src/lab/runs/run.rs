//! A run that is kept: what it is made from, and what became of it after all that a hand did.

use std::sync::Arc;

use tokio::sync::watch;

use super::play::{Played, RunSpec};

/// A run. A hand may change what becomes of it while others read.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) spec: RunSpec,
    /// Only one act is played at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    now: watch::Sender<Version>,
}

/// What became of it so far.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) played: Arc<Played>,
    /// From which record on the version of that number differs from the one before; only those that no
    /// later one has made needless.
    cuts: Vec<(u64, usize)>,
}

impl Version {
    /// How many records are the same as in an earlier version.
    pub(super) fn same_as(&self, number: u64) -> usize {
        let cut = self.cuts.iter().find(|(since, _)| *since > number);
        cut.map_or(usize::MAX, |&(_, from)| from)
    }
}

impl Run {
    pub(super) fn new(spec: RunSpec, played: Played) -> Self {
        let version = Version { number: 0, played: Arc::new(played), cuts: Vec::new() };
        Run { spec, turn: tokio::sync::Mutex::default(), now: watch::Sender::new(version) }
    }

    /// As it is now.
    pub(super) fn played(&self) -> Arc<Played> {
        Arc::clone(&self.now.borrow().played)
    }

    /// As it is now, and then.
    pub(super) fn follow(&self) -> watch::Receiver<Version> {
        self.now.subscribe()
    }

    /// It becomes another run from some record on.
    pub(super) fn change(&self, played: Played) {
        self.now.send_modify(|version| {
            let both = version.played.records().iter().zip(played.records());
            let same = both.take_while(|(old, new)| old == new).count();
            version.number += 1;
            version.cuts.retain(|&(_, from)| from < same);
            version.cuts.push((version.number, same));
            version.played = Arc::new(played);
        });
    }
}
