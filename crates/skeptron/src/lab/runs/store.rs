//! The runs that are kept: as many as fit, those that are looked at for sure, the others by when they
//! were asked for last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::play::{Played, Score};
use crate::lab::refusal::Refusal;

/// So many runs are kept.
const MOST_RUNS: usize = 500;
/// So many records are kept, of all runs together; one takes about half a kilobyte.
const MOST_RECORDS: usize = 2_000_000;

/// A run, and what became of it. Whoever looks at it holds it: then it is kept.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) score: Score,
    played: watch::Sender<Arc<Played>>,
}

impl Run {
    pub(super) fn new(score: Score, played: Played) -> Self {
        Run { score, played: watch::Sender::new(Arc::new(played)) }
    }

    /// As it is now.
    pub(super) fn played(&self) -> Arc<Played> {
        Arc::clone(&self.played.borrow())
    }
}

/// All runs by their names, which nobody can guess.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    runs: HashMap<String, Place>,
    /// Counts how often a run was asked for.
    now: u64,
}

#[derive(Debug)]
struct Place {
    run: Arc<Run>,
    asked_at: u64,
}

impl Store {
    /// Keeps a run, and says by which name.
    pub(super) fn keep(&self, run: Run) -> Result<String, Refusal> {
        let id = skeptron_net::api::unguessable().ok_or(Refusal::NoRandomness)?;
        let id = format!("{id:032x}");
        let mut kept = self.lock();
        kept.make_room(run.played().records().len())?;
        let asked_at = kept.tick();
        kept.runs.insert(id.clone(), Place { run: Arc::new(run), asked_at });
        Ok(id)
    }

    /// The run of that name.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Run>, Refusal> {
        let mut kept = self.lock();
        let now = kept.tick();
        let place = kept.runs.get_mut(id).ok_or(Refusal::NoSuchRun)?;
        place.asked_at = now;
        Ok(Arc::clone(&place.run))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Lets runs go until one more of so many records fits.
    fn make_room(&mut self, records: usize) -> Result<(), Refusal> {
        while self.runs.len() >= MOST_RUNS || self.records() + records > MOST_RECORDS {
            let unseen = self.runs.iter().filter(|(_, place)| Arc::strong_count(&place.run) == 1);
            let Some((oldest, _)) = unseen.min_by_key(|(_, place)| place.asked_at) else {
                return Err(Refusal::TooManyRuns(self.runs.len()));
            };
            let oldest = oldest.clone();
            self.runs.remove(&oldest);
        }
        Ok(())
    }

    fn records(&self) -> usize {
        self.runs.values().map(|place| place.run.played().records().len()).sum()
    }
}
