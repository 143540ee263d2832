//! Makes the runs of a sweep that are still to be made.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::super::sim::progress_bar;
use super::super::{duration, interrupt};
use super::folder::{Journal, Runs, line};
use crate::ask::sweep::{Measured, Prepared, Sweep};

/// So many runs of a point share the system that is built for it.
const MOST_TOGETHER: usize = 16;

/// Makes them, on all threads, in a mixed order: so those that are done tell how long the others take.
/// Ends early, without error, when a signal comes.
///
/// # Errors
/// If one cannot be run; unless the sweep leaves such points out, that is said before the first run.
pub(super) fn all(
    name: &str,
    runs: &mut Runs<'_>,
    todo: &[usize],
    journal: &Journal,
) -> Result<()> {
    let sweep = runs.sweep;
    let stop = interrupt::listen();
    let is_one_point = |a: &usize, b: &usize| sweep.run(*a).0 == sweep.run(*b).0;
    let points: Vec<&[usize]> = todo.chunk_by(is_one_point).collect();
    if !sweep.skips_impossible {
        let point = |job: &&[usize]| sweep.run(job[0]).0;
        let possible = |job: &&[usize]| prepared(name, sweep, point(job)).map(drop);
        let wrong =
            points.par_iter().map(possible).find_first(|it| it.is_err() || interrupt::came());
        wrong.unwrap_or(Ok(()))?;
    }
    let mut jobs: Vec<&[usize]> =
        points.into_iter().flat_map(|runs| runs.chunks(MOST_TOGETHER)).collect();
    jobs.sort_by_key(|job| crc32fast::hash(&job[0].to_le_bytes()));
    let progress = Progress::new(todo.len());
    let made = Mutex::new(Vec::new());
    let ended = jobs.par_iter().try_for_each(|job| {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (point, _) = sweep.run(job[0]);
        let system = match prepared(name, sweep, point) {
            Ok(system) => Some(system),
            Err(_) if sweep.skips_impossible => None,
            Err(error) => return Err(error),
        };
        for &run in *job {
            let measured = match &system {
                None => Ok(Measured::impossible()),
                Some(system) => system.run(sweep.run(run).1, stop),
            };
            let measured = match measured {
                Err(_) if interrupt::came() => return Ok(()),
                Err(error) => return Err(sweep.blame(name, point, &error)),
                Ok(measured) => measured,
            };
            let line = line(sweep, run, &measured);
            journal.append(&line)?;
            made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((run, line));
            progress.tick();
        }
        Ok(())
    });
    progress.bar.finish_and_clear();
    for (run, line) in made.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        runs.add(run, line);
    }
    ended
}

fn prepared(name: &str, sweep: &Sweep, point: usize) -> Result<Prepared> {
    Prepared::new(sweep.options(point)?).map_err(|error| sweep.blame(name, point, &error))
}

/// A bar on a terminal, and a line now and then where there is none, as in the log of a batch.
struct Progress {
    bar: ProgressBar,
    begin: Instant,
    all: usize,
    /// How many are done, and when that was last said.
    done: Mutex<(usize, Instant)>,
}

/// How often a log is told.
const SAY_EVERY: Duration = Duration::from_secs(60);

impl Progress {
    fn new(all: usize) -> Self {
        let begin = Instant::now();
        Progress { bar: progress_bar(all as u64), begin, all, done: Mutex::new((0, begin)) }
    }

    fn tick(&self) {
        self.bar.inc(1);
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.0 += 1;
        if done.1.elapsed() < SAY_EVERY || std::io::stderr().is_terminal() {
            return;
        }
        done.1 = Instant::now();
        let left = self.begin.elapsed().mul_f64((self.all - done.0) as f64 / done.0 as f64);
        let left = duration::lasted(left.as_millis() as u64);
        // If nobody listens, the files tell.
        let _ = writeln!(std::io::stderr(), "{} of {} runs, about {left} left", done.0, self.all);
    }
}
