//! The runs that are kept: as many as fit, those that are looked at for sure, the others by when they
//! were asked for last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::run::Run;
use crate::lab::refusal::Refusal;

/// So many runs are kept.
const MOST_RUNS: usize = 500;
/// All of them together take about so many bytes.
const MOST_BYTES: usize = 1 << 30;

/// All runs by their names, which nobody can guess.
#[derive(Debug, Default)]
pub(super) struct RunStore {
    kept: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    runs: HashMap<String, StoredRun>,
    /// Counts how often a run was asked for.
    now: u64,
}

#[derive(Debug)]
struct StoredRun {
    run: Arc<Run>,
    asked_at: u64,
}

impl RunStore {
    /// Keeps a run, and says by which name.
    pub(super) fn keep(&self, run: Run) -> Result<String, Refusal> {
        let id = skeptron_net::api::unguessable().ok_or(Refusal::NoRandomness)?;
        let id = format!("{id:032x}");
        let mut kept = self.lock();
        kept.make_room(run.played().bytes(), MOST_RUNS, MOST_BYTES)?;
        let asked_at = kept.tick();
        kept.runs.insert(id.clone(), StoredRun { run: Arc::new(run), asked_at });
        Ok(id)
    }

    /// Makes room for what a run that is kept becomes, of so many bytes.
    pub(super) fn make_room_for(&self, run: &Run, bytes: usize) -> Result<(), Refusal> {
        let more = bytes.saturating_sub(run.played().bytes());
        self.lock().make_room(more, usize::MAX, MOST_BYTES)
    }

    /// The run of that name. Whoever holds it looks at it.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Run>, Refusal> {
        let mut kept = self.lock();
        let now = kept.tick();
        let place = kept.runs.get_mut(id).ok_or(Refusal::NoSuchRun)?;
        place.asked_at = now;
        Ok(Arc::clone(&place.run))
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runs {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Lets runs go until one more of so many bytes fits.
    fn make_room(&mut self, more: usize, runs: usize, bytes: usize) -> Result<(), Refusal> {
        while self.runs.len() >= runs || self.bytes() + more > bytes {
            let unseen = self.runs.iter().filter(|(_, place)| Arc::strong_count(&place.run) == 1);
            let Some((oldest, _)) = unseen.min_by_key(|(_, place)| place.asked_at) else {
                return Err(Refusal::TooManyRuns(self.runs.len()));
            };
            let oldest = oldest.clone();
            self.runs.remove(&oldest);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.runs.values().map(|place| place.run.played().bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stop;
    use super::super::play::RunSpec;
    use super::*;
    use crate::ask::{Request as _, SimOptions};

    fn run() -> Run {
        let options = SimOptions::parse("central -n 2 --entries 1").unwrap();
        let spec = RunSpec::of_options(options, Vec::new()).unwrap();
        let played = spec.play(Vec::new(), &Stop::default()).unwrap();
        Run::new(spec, played)
    }

    #[test]
    fn the_run_that_nobody_asked_for_longest_goes_first() {
        let store = RunStore::default();
        let ids: Vec<String> = (0..3).map(|_| store.keep(run()).unwrap()).collect();
        store.find(&ids[0]).unwrap();
        let seen = store.find(&ids[1]).unwrap();
        store.lock().make_room(1, 3, MOST_BYTES).unwrap();
        assert!(store.find(&ids[2]).is_err());
        store.lock().make_room(1, 2, MOST_BYTES).unwrap();
        assert!(store.find(&ids[0]).is_err());
        // Whatever is looked at stays, and then there is no room for more.
        assert!(store.lock().make_room(1, 1, MOST_BYTES).is_err());
        drop(seen);
        store.lock().make_room(1, 1, MOST_BYTES).unwrap();
        assert!(store.find(&ids[1]).is_err());
    }

    #[test]
    fn a_run_that_grows_makes_others_go() {
        let store = RunStore::default();
        let [grown, other] = [(); 2].map(|()| store.keep(run()).unwrap());
        let grown = store.find(&grown).unwrap();
        store.make_room_for(&grown, MOST_BYTES).unwrap();
        assert!(store.find(&other).is_err());
        assert!(store.make_room_for(&grown, 2 * MOST_BYTES).is_err());
    }

    #[test]
    fn bytes_are_bounded_too() {
        let store = RunStore::default();
        let ids: Vec<String> = (0..3).map(|_| store.keep(run()).unwrap()).collect();
        let each = run().played().bytes();
        store.lock().make_room(each, 100, 3 * each).unwrap();
        assert!(store.find(&ids[0]).is_err() && store.find(&ids[1]).is_ok());
    }
}
