//! What many runs with different seeds come to.

use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use indicatif::ParallelProgressIterator as _;
use rayon::prelude::*;
use skeptron_sim::Violation;

use super::super::Verdict;
use super::super::interrupt;
use super::super::table::{number, table};
use super::print;
use crate::ask::compare::Estimate;

/// Each report is kept until the end.
const MOST_SEEDS: u64 = 1_000_000;

/// `FROM..TO`, both ends included.
pub(crate) fn parse_seeds(range: &str) -> Result<RangeInclusive<u64>> {
    let ends =
        range.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    match ends {
        Some((from, to)) if from > to => bail!("--seeds is `{range}`, which ends before it begins"),
        Some((from, to)) if to - from >= MOST_SEEDS => {
            bail!("--seeds is `{range}`; at most {MOST_SEEDS} seeds can be run at once")
        }
        Some((from, to)) => Ok(from..=to),
        None => bail!("--seeds is `{range}`; write FROM..TO, as in 1..500"),
    }
}

/// How many seeds these are.
pub(super) fn count(seeds: &RangeInclusive<u64>) -> u64 {
    (seeds.end() - seeds.start()).saturating_add(1)
}

/// The reports of all seeds, in their order, made by all cores; of fewer if somebody interrupts.
pub(super) fn reports<R: Send>(
    seeds: RangeInclusive<u64>,
    report: impl Fn(u64) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    let seeds: Vec<u64> = seeds.collect();
    let progress = super::progress_bar(seeds.len() as u64);
    let stop = interrupt::listen();
    let one = |&seed: &u64| {
        // Before the next one is begun, and if one was ended half-way.
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let report = report(seed);
        (report.is_ok() || !interrupt::came()).then_some(report)
    };
    let reports = seeds.par_iter().progress_with(progress.clone()).filter_map(one).collect();
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
    /// How many there were to be.
    pub(super) planned: u64,
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
        let verdict = if self.failures.is_empty() { Verdict::Fine } else { Verdict::Violated };
        let so_far = format!("{} of {} runs were made", self.runs, self.planned);
        Ok(interrupt::verdict(&so_far, verdict))
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
            "planned": self.planned, "failed": failures.len(), "figures": figures, "failures": failures,
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
