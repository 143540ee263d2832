//! Who follows a comparison while it is made.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use rayon::prelude::*;

use super::super::interrupt;
use super::super::sim::progress_bar;

/// Hears what was measured as it comes, and may end it all.
pub(crate) struct Audience<'a, R> {
    /// Is told the rows of each scenario.
    pub(crate) hears: &'a (dyn Fn(&[R]) + Sync),
    /// Ends the work soon after it becomes true.
    pub(crate) stop: &'a Arc<AtomicBool>,
}

impl<R: Send> Audience<'_, R> {
    /// Does all jobs, on all cores; the rows are in the order of the jobs.
    pub(super) fn attend<J: Sync>(
        &self,
        jobs: &[J],
        measure: impl Fn(&J) -> Result<Vec<R>> + Sync,
    ) -> Result<Vec<R>> {
        let one = |job| {
            match measure(job) {
                // The rows of the others count.
                Err(_) if interrupt::came() => Ok(Vec::new()),
                Err(error) => Err(error),
                Ok(rows) => {
                    (self.hears)(&rows);
                    Ok(rows)
                }
            }
        };
        let rows: Vec<Vec<R>> = jobs.par_iter().map(one).collect::<Result<_>>()?;
        Ok(rows.into_iter().flatten().collect())
    }
}

/// Whoever sits at the terminal: a bar shows how many of the jobs are done, and Ctrl-C ends the work
/// with the rows that there are.
pub(super) fn at_terminal<R>(
    jobs: usize,
    work: impl FnOnce(&Audience<'_, R>) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let bar = progress_bar(jobs as u64);
    let rows = work(&Audience { hears: &|_| bar.inc(1), stop: interrupt::listen() });
    bar.finish_and_clear();
    rows
}
