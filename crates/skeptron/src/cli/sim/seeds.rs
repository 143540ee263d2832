//! What many runs with different seeds come to.

use std::io::Write;
use std::ops::RangeInclusive;

use anyhow::Result;
use indicatif::ParallelProgressIterator as _;
use rayon::prelude::*;
use skeptron_sim::Violation;

use super::super::Verdict;
use super::super::estimate::Estimate;
use super::super::table::{number, table};
use super::print;

/// The reports of all seeds, in their order, made by all cores.
pub(super) fn reports<R: Send>(
    seeds: RangeInclusive<u64>,
    report: impl Fn(u64) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    let seeds: Vec<u64> = seeds.collect();
    let progress = super::progress_bar(seeds.len() as u64);
    let one = |&seed: &u64| report(seed);
    let reports = seeds.par_iter().progress_with(progress.clone()).map(one).collect();
    progress.finish_and_clear();
    reports
}

/// A run that failed.
pub(super) struct Failure<'a> {
    pub(super) seed: u64,
    pub(super) violations: &'a [Violation],
    /// Whether somebody waited for ever, where that is asked.
    pub(super) stalled: Option<bool>,
    /// Shows it again.
    pub(super) command: String,
}

/// All runs together.
pub(super) struct Summary<'a> {
    pub(super) algorithm: &'static str,
    pub(super) nodes: usize,
    pub(super) runs: usize,
    pub(super) figures: &'a [(&'static str, Estimate)],
    pub(super) failures: &'a [Failure<'a>],
}

impl Summary<'_> {
    pub(super) fn write(&self, json: bool, out: &mut impl Write) -> Result<Verdict> {
        if json {
            self.write_json(out)?
        } else {
            self.write_table(out)?
        }
        Ok(if self.failures.is_empty() { Verdict::Fine } else { Verdict::Violated })
    }

    fn write_json(&self, out: &mut impl Write) -> Result<()> {
        let figures: serde_json::Map<_, _> = self
            .figures
            .iter()
            .map(|(name, estimate)| (name.replace(' ', "_"), serde_json::json!(estimate)))
            .collect();
        let failure = |failure: &Failure| {
            let mut value = serde_json::json!({
                "seed": failure.seed, "violations": failure.violations, "command": failure.command,
            });
            if let Some(stalled) = failure.stalled {
                value["stalled"] = stalled.into();
            }
            value
        };
        let failures: Vec<_> = self.failures.iter().map(failure).collect();
        let summary = serde_json::json!({
            "algorithm": self.algorithm, "nodes": self.nodes, "runs": self.runs,
            "failed": failures.len(), "figures": figures, "failures": failures,
        });
        Ok(writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?)
    }

    fn write_table(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "{} · {} nodes · {} runs", self.algorithm, self.nodes, self.runs)?;
        let mut rows = table(["figure", "mean over seeds", "95 % interval", "least", "most"]);
        for (name, estimate) in self.figures {
            let interval = format!("± {}", number(estimate.half_width));
            rows.add_row([
                name.to_string(),
                number(estimate.mean),
                interval,
                number(estimate.min),
                number(estimate.max),
            ]);
        }
        writeln!(out, "{rows}")?;
        writeln!(out, "{} of {} runs failed", self.failures.len(), self.runs)?;
        if let Some(first) = self.failures.first() {
            print::violations(first.violations, &first.command, out)?;
        }
        Ok(())
    }
}
