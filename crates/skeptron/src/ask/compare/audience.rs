//! Who follows a comparison while it is made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rayon::prelude::*;

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
                Err(_) if self.stop.load(Ordering::SeqCst) => Ok(Vec::new()),
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
