//! What many runs with different seeds come to.

use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use comfy_table::Table;
use indicatif::ParallelProgressIterator as _;
use rayon::prelude::*;
use skeptron_sim::Violation;

use super::super::Verdict;
use super::super::interrupt;
use super::super::table::{number, table};
use super::{SimArgs, print};
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

/// What was judged of the run with one seed.
pub(super) struct Judged<'a> {
    pub(super) seed: u64,
    pub(super) violations: &'a [Violation],
    /// Whether somebody waited for ever, where that is asked.
    pub(super) stalled: Option<bool>,
}

/// The name of a figure, and what it is in a run that has it.
pub(super) type Figure<R> = (&'static str, fn(&R) -> Option<f64>);

impl SimArgs {
    /// Makes a run for each seed and prints what they come to.
    pub(super) fn summarise<R: Send>(
        &self,
        (algorithm, nodes): (&'static str, usize),
        seeds: RangeInclusive<u64>,
        report: impl Fn(u64) -> Result<R> + Send + Sync,
        judged: fn(&R) -> Judged<'_>,
        figures: &[Figure<R>],
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let planned = (seeds.end() - seeds.start()).saturating_add(1);
        let reports = reports(seeds, report)?;
        let estimate = |(name, figure): &Figure<R>| {
            let values: Vec<f64> = reports.iter().filter_map(figure).collect();
            (!values.is_empty()).then(|| (*name, Estimate::of(&values)))
        };
        let figures: Vec<_> = figures.iter().filter_map(estimate).collect();
        let has_failed = |run: &Judged| !run.violations.is_empty() || run.stalled == Some(true);
        let failures: Vec<_> = reports.iter().map(judged).filter(has_failed).collect();
        if self.json {
            let figures: serde_json::Map<_, _> = figures
                .iter()
                .map(|(name, estimate)| (name.replace(' ', "_"), serde_json::json!(estimate)))
                .collect();
            let failures: Vec<_> = failures.iter().map(|run| self.failure(run)).collect();
            let summary = serde_json::json!({
                "algorithm": algorithm, "nodes": nodes, "runs": reports.len(),
                "planned": planned, "failed": failures.len(), "figures": figures, "failures": failures,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?;
        } else {
            writeln!(out, "{algorithm} · {nodes} nodes · {} runs", reports.len())?;
            writeln!(out, "{}", figure_table(&figures))?;
            writeln!(out, "{} of {} runs failed", failures.len(), reports.len())?;
            if let Some(first) = failures.first() {
                print::violations(first.violations, &self.command_of(first.seed), out)?;
            }
        }
        let verdict = if failures.is_empty() { Verdict::Fine } else { Verdict::Violated };
        let so_far = format!("{} of {planned} runs were made", reports.len());
        Ok(interrupt::verdict(&so_far, verdict))
    }

    /// A run that failed, with the command that shows it again.
    fn failure(&self, run: &Judged) -> serde_json::Value {
        let mut value = serde_json::json!({
            "seed": run.seed, "violations": run.violations, "command": self.command_of(run.seed),
        });
        if let Some(stalled) = run.stalled {
            value["stalled"] = stalled.into();
        }
        value
    }
}

fn figure_table(figures: &[(&'static str, Estimate)]) -> Table {
    let mut rows = table(["figure", "mean over seeds", "95 % interval", "least", "most"]);
    for (name, estimate) in figures {
        let interval = format!("± {}", number(estimate.half_width));
        rows.add_row([
            name.to_string(),
            number(estimate.mean),
            interval,
            number(estimate.min),
            number(estimate.max),
        ]);
    }
    rows
}
